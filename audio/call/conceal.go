package call

// Concealment, after ITU-T G.711 Appendix I: what is missing is the last period of what was, again and again, fading.
const (
	past      = 4 * Frame // what is remembered
	shortest  = 60        // a period: 400 Hz …
	longest   = 2 * Frame // … to 50 Hz
	compared  = 2 * Frame
	wholeFor  = Frame // at full level for 10 ms, …
	fadesFor  = 5 * Frame
	joinedFor = 48 // … and what comes afterwards begins beneath it: 2 ms
)

// conceal invents what is missing.
type conceal struct {
	before [past]int16 // what was heard last, made up or not
	period int
	made   int // samples made up in a row
}

// saw takes a frame that is really there; after a gap it begins out of what was made up.
func (c *conceal) saw(pcm *[Frame]int16) {
	if c.made > 0 {
		for i := range joinedFor {
			a := float64(i+1) / (joinedFor + 1)
			pcm[i] = clip(float64(pcm[i])*a + c.next(i)*(1-a))
		}
	}
	c.made = 0
	c.keep(pcm)
}

// next is the i-th sample behind what was heard last, if that went on.
func (c *conceal) next(i int) float64 {
	level := 1.0
	if n := c.made + i; n > wholeFor {
		level = max(0, 1-float64(n-wholeFor)/fadesFor)
	}
	return level * float64(c.before[past-c.period+i%c.period])
}

// invent makes a frame up.
func (c *conceal) invent(out *[Frame]int16) {
	if c.made == 0 {
		c.period = c.find()
	}
	if c.made > wholeFor+fadesFor {
		clear(out[:])
	} else {
		// The period is kept as it was at its full level: fading is counted from the beginning of the gap.
		var period [longest]int16
		copy(period[:c.period], c.before[past-c.period:])
		for i := range out {
			out[i] = clip(c.next(i))
		}
		for i := range period[:c.period] { // turned on by what was used of it
			c.before[past-c.period+i] = period[(i+Frame)%c.period]
		}
	}
	c.made += Frame
}

func (c *conceal) keep(pcm *[Frame]int16) {
	copy(c.before[:], c.before[Frame:])
	copy(c.before[past-Frame:], pcm[:])
}

// find is the lag at which what was heard last is most like itself.
func (c *conceal) find() int {
	best, at := 0.0, longest
	last := c.before[past-compared:]
	for lag := shortest; lag <= longest; lag++ {
		var dot, energy float64
		for i := 0; i < compared; i += 2 {
			x, y := float64(last[i]), float64(c.before[past-compared-lag+i])
			dot, energy = dot+x*y, energy+y*y
		}
		if dot > 0 {
			if like := dot * dot / (energy + 1); like > best*1.0001 {
				best, at = like, lag
			}
		}
	}
	return at
}
