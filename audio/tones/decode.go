package tones

// The gates. By chance one tone in 16 is the right one.
const (
	// inStep is how many of the 12 tones of the known pairs must be heard before a code is looked for: in noise, at one look in
	// 1,300. A search has a bound, so this saves work and decides nothing.
	inStep = 5
	// accept is how many of all 52 tones must agree with a code. By chance some code of the million agrees with 21 of the 40
	// that carry it once in some 10^8 searches, and an hour of noise, speech or music brings about 60 of these
	// (TestNothingIsHeardWhereNoCodeIs). In rooms, frames that were understood had 35 and more.
	accept = 26
)

// groups are the (set, half) in which one tone is the loudest at any time.
const groups = sets * 2

// Decoder listens for tones. It belongs to one goroutine.
type Decoder struct {
	down     resampler
	recent   [window]float32 // at the decoder's rate, a ring
	at       int             // where the oldest of it stands
	due      int             // samples until the next look
	spectrum spectrum

	loudest [slots * perSlot][groups]uint8 // of each look, a ring: the tone that was the loudest
	looks   int                            // where the oldest stands

	code, score int // the best so far of a frame that was understood; score 0: none
	patience    int // looks since

	searches uint64 // for tests
}

// NewDecoder listens to mono sound of so many samples a second (8,000 to 192,000; others are taken for the nearest of these).
func NewDecoder(samplesPerSecond int) *Decoder {
	d := &Decoder{due: hop}
	d.down.init((max(rate, min(192000, samplesPerSecond)) + 12) / 25 * 25)
	d.spectrum.init()
	d.forget()
	return d
}

// Feed takes what was heard next, in pieces of any size, and says when a code was understood; each frame is told once, and of
// several in one piece the last. It allocates nothing but the code.
func (d *Decoder) Feed(pcm []int16) (code string, ok bool) {
	found := -1
	for len(pcm) > 0 {
		x, n, out := d.down.next(pcm)
		pcm = pcm[n:]
		if !out {
			break
		}
		d.recent[d.at] = x
		d.at = (d.at + 1) % window
		if d.due--; d.due == 0 {
			d.due = hop
			if c := d.look(); c >= 0 {
				found = c
			}
		}
	}
	if found < 0 {
		return "", false
	}
	return format(found), true
}

// forget makes everything that was heard look like no tone.
func (d *Decoder) forget() {
	d.code, d.score, d.patience = -1, 0, 0
	for i := range d.loudest {
		for g := range d.loudest[i] {
			d.loudest[i][g] = alphabet
		}
	}
}

// look takes one FFT and says which code is complete; -1: none.
func (d *Decoder) look() int {
	d.hear()
	d.consider()
	if d.score == 0 {
		return -1
	}
	if d.patience++; d.patience < perSlot {
		return -1
	}
	code := d.code
	d.forget()
	return code
}

// hear takes the FFT.
func (d *Decoder) hear() {
	bins := d.spectrum.of(&d.recent, d.at)
	row := &d.loudest[d.looks]
	d.looks = (d.looks + 1) % len(d.loudest)
	for g := range groups {
		set, half := g%sets, g/sets
		row[g] = alphabet
		most := float32(0)
		for n := range alphabet {
			if e := bins[bin(set, half, n)]; e > most {
				most, row[g] = e, uint8(n)
			}
		}
	}
}

// consider looks whether a frame ends here. The look that hears a frame best is not the first that hears it, so what was
// understood waits for a slot's time for a better one.
func (d *Decoder) consider() {
	var heard [slots][2]uint8
	for i := range heard {
		row := &d.loudest[(d.looks+i*perSlot+perSlot-1)%len(d.loudest)]
		heard[i] = [2]uint8{row[i%sets], row[sets+i%sets]}
	}
	hits := 0
	for i := 0; i < slots; i += stride {
		hits += agree(heard[i], scramble[i])
	}
	if hits < inStep {
		return
	}
	d.searches++
	code, score := search(&heard)
	if score += hits; score > d.score && score >= accept {
		d.code, d.score = code, score
	}
}

// agree counts the tones of a slot that are those of a symbol.
func agree(heard [2]uint8, symbol byte) int {
	n := 0
	if heard[0] == symbol>>4 {
		n++
	}
	if heard[1] == symbol&15 {
		n++
	}
	return n
}

// search finds the code that most of the data slots agree with. Every three slots name a code or none; there are 1140 of them.
func search(heard *[slots][2]uint8) (best, score int) {
	var xs, ys [datas]byte
	n := 0
	x := byte(0)
	for i := range heard {
		if known(i) {
			continue
		}
		x++
		if heard[i][0] < alphabet && heard[i][1] < alphabet {
			xs[n], ys[n] = x, div((heard[i][0]<<4|heard[i][1])^scramble[i], stretch[i])
			n++
		}
	}
	best = -1
	for i := range n {
		for j := i + 1; j < n; j++ {
			for k := j + 1; k < n; k++ {
				code, ok := solve([symbols]byte{xs[i], xs[j], xs[k]}, [symbols]byte{ys[i], ys[j], ys[k]})
				if !ok || code == best {
					continue
				}
				if s := votes(heard, code); s > score {
					best, score = code, s
				}
			}
		}
	}
	return best, score
}

func votes(heard *[slots][2]uint8, code int) int {
	var word [slots]byte
	codeword(code, &word)
	s := 0
	for i := range heard {
		if !known(i) {
			s += agree(heard[i], word[i])
		}
	}
	return s
}
