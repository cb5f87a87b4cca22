package twin

import (
	"math"
	"math/rand/v2"
	"time"

	"conch/audio"
)

// Air is what lies in a room between a loudspeaker and a microphone: what is heard is weaker, blurred by the walls and
// covered with noise.
//
//	played ─> gain ─┬─────────────────────────> direct ──┐
//	                └─> 4 combs ─> 2 all-passes ─> walls ─┴─> + noise ─> heard
//
// The walls are Schroeder's reverberator (J. Audio Eng. Soc. 10, 1962, p. 219): combs whose loops lose 60 dB in RT60, and
// all-passes that make their echoes dense. Direct and reverberant sound are equally strong, as at the room's critical distance:
// farther away it would be weaker above all, and that is what the noise is for. Frames are CardRate. Not for use by two
// goroutines at once.
type Air struct {
	snr    float64 // dB, of the loudest 20 ms heard so far to the noise, over the whole band
	combs  [4]delayLine
	passes [2]delayLine
	walls  float64 // gain of the combs' sum
	random *rand.Rand

	loudest float64 // mean square of the loudest stretch of the direct sound so far
	sum     float64 // of squares of the stretch that is being judged
	frames  int     // in sum
}

// Bounds of what a room may be, and what it is where nobody says.
const (
	airGain    = 0.3                   // of a loudspeaker's sound at a microphone across the table
	airStretch = audio.CardRate / 50   // frames by which loudness is judged
	airHush    = 15.0                  // RMS of the noise where nothing has sounded yet
	airPass    = 0.7                   // gain of Schroeder's all-passes
	MinRT60    = 50 * time.Millisecond // our bounds: a wardrobe,
	MaxRT60    = 2 * time.Second       // and a bare stairwell
	MaxSNR     = 60.0                  // dB; more is no noise at all

	DefaultRT60 = 500 * time.Millisecond // a furnished living room
	DefaultSNR  = 15.0                   // dB: somebody talks in the next room
)

// Delays in ms, as Schroeder chose them: without a common divisor.
var (
	combDelays = [4]float64{29.7, 37.1, 41.1, 43.7}
	passDelays = [2]float64{5.0, 1.7}
)

// NewAir is that of a room in which nothing has sounded yet. The same seed makes the same noise.
func NewAir(rt60 time.Duration, snr float64, seed uint64) *Air {
	a := &Air{snr: snr, random: rand.New(rand.NewPCG(seed, 0))}
	energy := 0.0 // of the combs' echoes to noise of energy one
	for i, delay := range combDelays {
		g := math.Pow(10, -3*delay/1000/rt60.Seconds()) // 60 dB are 10^-3 in amplitude
		a.combs[i] = newDelayLine(delay, g)
		energy += 1 / (1 - g*g)
	}
	a.walls = 1 / math.Sqrt(energy)
	for i, delay := range passDelays {
		a.passes[i] = newDelayLine(delay, airPass)
	}
	return a
}

// Through makes of frames what is heard of them, in place.
func (a *Air) Through(frames []int16) {
	noise := max(airHush, math.Sqrt(a.loudest)*math.Pow(10, -a.snr/20))
	for i, x := range frames {
		direct := airGain * float64(x)
		a.judge(direct)
		y := direct + a.late(direct) + noise*a.random.NormFloat64()
		frames[i] = int16(max(math.MinInt16, min(math.MaxInt16, math.Round(y))))
	}
}

// late is what the walls make of the direct sound.
func (a *Air) late(direct float64) (sum float64) {
	for i := range a.combs {
		sum += a.combs[i].comb(direct)
	}
	sum *= a.walls
	for i := range a.passes {
		sum = a.passes[i].pass(sum)
	}
	return sum
}

// judge keeps the loudest stretch.
func (a *Air) judge(direct float64) {
	a.sum += direct * direct
	if a.frames++; a.frames == airStretch {
		a.loudest = max(a.loudest, a.sum/airStretch)
		a.sum, a.frames = 0, 0
	}
}

// delayLine is a delay with a loop around it.
type delayLine struct {
	ring []float64
	at   int
	gain float64
}

func newDelayLine(delayMS, gain float64) delayLine {
	return delayLine{ring: make([]float64, int(delayMS/1000*audio.CardRate)), gain: gain}
}

// comb gives the echoes of x: the first after one delay, each of the next after another and weaker by gain.
func (e *delayLine) comb(x float64) float64 {
	y := e.ring[e.at]
	e.ring[e.at] = x + e.gain*y
	e.step()
	return y
}

// pass lets all frequencies through alike and smears them in time.
func (e *delayLine) pass(x float64) float64 {
	delayed := e.ring[e.at]
	v := x + e.gain*delayed
	e.ring[e.at] = v
	e.step()
	return delayed - e.gain*v
}

func (e *delayLine) step() {
	if e.at++; e.at == len(e.ring) {
		e.at = 0
	}
}
