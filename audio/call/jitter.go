package call

// Bounds of the buffer, in frames. Our choices, but that of what a conversation bears: ITU-T G.114 asks for less than 150 ms from mouth to ear.
const (
	leastTarget = 2   // 20 ms
	mostTarget  = 10  // 100 ms
	slots       = 64  // frames that may wait; whatever is further away is another stream
	mostDepth   = 16  // beyond, the oldest are skipped
	window      = 50  // pulls in which the buffer is watched until it gives a frame away
	calm        = 500 // pulls without a late frame, then the target falls
	patience    = 10  // pulls with nothing at all: the other end is silent, or gone
)

// Jitter puts frames into order and has one for each pull. The frames of a number that never came are concealed; a buffer that runs dry has
// waited too little and waits longer from then on, and one that is always fuller than it has to be gives a frame away: so it follows the
// network, and two cards whose clocks differ.
type Jitter struct {
	frames [slots][Frame]int16
	has    [slots]bool
	depth  int

	next   uint16 // the number to be pulled
	plays  bool   // it has begun, or goes on
	came   bool   // next has a meaning
	target int
	empty  int // pulls in vain, in a row
	calm   int
	least  int // depth, in the window …
	pulls  int // … so far

	hide conceal

	Lost, Late, Dropped, Dry int // counted since the beginning
}

// NewJitter is an empty buffer.
func NewJitter() *Jitter { return &Jitter{target: leastTarget, least: slots} }

// Depth is how many frames wait.
func (j *Jitter) Depth() int { return j.depth }

// Target is how many are to wait.
func (j *Jitter) Target() int { return j.target }

// Put takes a frame by its number, which counts modulo 65,536. Frames of another length than Frame are cut or filled with silence.
func (j *Jitter) Put(number uint16, pcm []int16) {
	ahead := int(int16(number - j.next))
	switch {
	case !j.came, ahead >= slots, ahead <= -slots: // the first, or a stream that has begun anew
		j.has, j.depth, j.plays = [slots]bool{}, 0, false
		j.came, j.next = true, number
	case ahead < 0 && !j.plays && j.depth == 0: // nothing is played: whatever comes is the beginning
		j.next = number
	case ahead < 0:
		j.Late++
		j.grow()
		return
	}
	at := number % slots
	if j.has[at] {
		return // twice
	}
	j.has[at] = true
	j.depth++
	n := copy(j.frames[at][:], pcm)
	clear(j.frames[at][n:])
}

// grow has it wait longer: something came too late.
func (j *Jitter) grow() {
	j.target, j.calm = min(j.target+1, mostTarget), 0
	j.least, j.pulls = slots, 0
}

// Pull gives the next 10 ms; false: they are made up, of what was before, or of silence.
func (j *Jitter) Pull(out *[Frame]int16) bool {
	if !j.plays {
		j.plays = j.depth >= j.target
	}
	if !j.plays || j.depth == 0 {
		return j.starve(out)
	}
	if j.empty > 0 { // it was only late
		j.empty = 0
		j.Dry++
		j.grow()
	}
	for j.depth > mostDepth {
		j.skip()
	}
	real := j.take(out)
	j.settle(out)
	return real
}

// starve: nothing is there. The number stays: what is late is not lost, and the buffer is the longer for it.
func (j *Jitter) starve(out *[Frame]int16) bool {
	if j.plays {
		if j.empty++; j.empty >= patience {
			j.plays, j.empty = false, 0
			j.least, j.pulls = slots, 0
		}
	}
	j.hide.invent(out)
	return false
}

// take gives the frame that is due, or what may stand for it.
func (j *Jitter) take(out *[Frame]int16) bool {
	at := j.next % slots
	j.next++
	if !j.has[at] {
		j.Lost++
		j.hide.invent(out)
		return false
	}
	j.has[at] = false
	j.depth--
	*out = j.frames[at]
	j.hide.saw(out)
	return true
}

// skip forgets the frame that is due.
func (j *Jitter) skip() {
	at := j.next % slots
	if j.next++; j.has[at] {
		j.has[at] = false
		j.depth--
		j.Dropped++
	}
}

// settle gives a frame away, melted into the one before it, when the buffer was fuller than it has to be for a whole window.
func (j *Jitter) settle(out *[Frame]int16) {
	j.least = min(j.least, j.depth)
	if j.calm++; j.calm >= calm {
		j.target, j.calm = max(j.target-1, leastTarget), 0
	}
	if j.pulls++; j.pulls < window {
		return
	}
	spare := j.least - j.target
	j.least, j.pulls = slots, 0
	for ; spare > 2; spare-- { // something held everything up, and is over
		j.skip()
	}
	if at := j.next % slots; spare >= 1 && j.has[at] {
		for i := range out {
			a := float64(i) / Frame
			out[i] = clip(float64(out[i])*(1-a) + float64(j.frames[at][i])*a)
		}
		j.has[at] = false
		j.next++
		j.depth--
		j.Dropped++
		j.hide.saw(out)
	}
}
