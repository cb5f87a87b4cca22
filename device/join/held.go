package join

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"conch/audio"
)

// Was anything said while the button was held? A vowel is two things at once that a kitchen seldom is: louder than the room was a
// moment ago, and periodic at the pitch of a voice.
//
//	24 kHz ─> 4 kHz ─> 20 ms frames ─> dB over the room's own floor   (the 10th percentile of the utterance itself)
//	                              └──> resemblance to itself one pitch period ago (autocorrelation over 40 ms, 70 to 350 Hz)
//
// Water, a fan and a kettle are loud and not periodic; hum is periodic and always there; what falls or clatters rings, but dies away
// from its first moment on, where a vowel is held.
const (
	levelFrame = audio.Rate / 50 // samples of 24 kHz
	levelDown  = 6
	levelSpan  = 2 * levelFrame / levelDown // samples of 4 kHz that are compared
	levelMost  = 12 * 50                    // frames of an utterance that are kept; of a longer one the first: it was a question, or is a stuck button
	pitchLow   = audio.Rate / levelDown / 70
	pitchHigh  = audio.Rate / levelDown / 350

	overFloor   = 7.0   // dB
	resemblance = 0.62  // of 1
	leastFloor  = -72.0 // dBFS: below, a microphone's own noise comes and goes
	vowel       = 5     // frames, 100 ms, without a pause
	ringing     = 6.0   // dB that a vowel may fall in that time; a plate in a room falls by more
	heldLeast   = 12    // frames at which that was so: a sentence has 20 and more, a kitchen 8 at most (TestSomebodySpoke)
)

// levels are those of the latest utterance of a turn. The verdict is ready whenever the button asks: its goroutine, which sees the
// next edge, waits for nobody.
type levels struct {
	// owned by the microphone's goroutine
	id     string
	meter  speechMeter
	judged int // frames that the verdict knows

	// atomic
	last  atomic.Int64 // when a frame came
	spoke atomic.Bool
}

// of takes what was captured of an utterance, on the microphone's goroutine.
func (l *levels) of(id string, now time.Duration, pcm []int16) {
	if l.id != id {
		l.id, l.meter, l.judged = id, speechMeter{}, 0
		l.spoke.Store(false)
	}
	l.meter.add(pcm)
	if l.meter.frames-l.judged >= vowel {
		l.judged = l.meter.frames
		l.spoke.Store(l.meter.spoken())
	}
	l.last.Store(int64(now))
}

// quiet judges the utterance whose last frame came within staleLevel; without one: true.
func (l *levels) quiet(now time.Duration) bool {
	return now-time.Duration(l.last.Load()) > staleLevel || !l.spoke.Load()
}

// speechMeter measures an utterance frame by frame.
type speechMeter struct {
	sum, n int     // of levelDown samples, on the way down to 4 kHz
	past   float32 // of the high-pass
	before float32 // its input
	recent [levelSpan]float32
	filled int // of recent, since the last frame: the first half is the frame before
	db     [levelMost]float32
	voiced [levelMost]bool
	frames int
}

func (m *speechMeter) add(pcm []int16) {
	for _, s := range pcm {
		m.sum += int(s)
		if m.n++; m.n < levelDown {
			continue
		}
		x := float32(m.sum) / (levelDown * 32768)
		m.sum, m.n = 0, 0
		m.past = 0.8*m.past + 0.9*(x-m.before) // below about 140 Hz there are steps, doors and mains
		m.before = x
		m.recent[levelSpan/2+m.filled] = m.past
		if m.filled++; m.filled == levelSpan/2 {
			m.frame()
			copy(m.recent[:levelSpan/2], m.recent[levelSpan/2:])
			m.filled = 0
		}
	}
}

func (m *speechMeter) frame() {
	if m.frames == levelMost {
		return
	}
	energy := float32(0)
	for _, x := range m.recent[levelSpan/2:] {
		energy += x * x
	}
	m.db[m.frames] = float32(10 * math.Log10(float64(energy)/(levelSpan/2)+1e-12))
	m.voiced[m.frames] = m.periodic()
	m.frames++
}

// periodic compares the last 40 ms with themselves.
func (m *speechMeter) periodic() bool {
	x := &m.recent
	var upTo [levelSpan + 1]float32 // energy of what is before
	for i, v := range x {
		upTo[i+1] = upTo[i] + v*v
	}
	for lag := pitchHigh; lag <= pitchLow; lag++ {
		like := float32(0)
		for i, v := range x[lag:] {
			like += v * x[i]
		}
		a, b := upTo[levelSpan]-upTo[lag], upTo[levelSpan-lag]
		if like > 0 && like*like >= resemblance*resemblance*a*b {
			return true
		}
	}
	return false
}

// spoken judges what was measured.
func (m *speechMeter) spoken() bool { return m.held() >= heldLeast }

// held counts the frames at which a vowel had been held for as long as makes it one.
func (m *speechMeter) held() int {
	if m.frames == 0 {
		return 0
	}
	sorted := slices.Clone(m.db[:m.frames])
	slices.Sort(sorted)
	floor := max(leastFloor, sorted[m.frames/10])
	held, run := 0, 0
	for i, db := range m.db[:m.frames] {
		if run++; !m.voiced[i] || db < floor+overFloor {
			run = 0
		}
		if run >= vowel && db >= m.db[i-vowel+1]-ringing {
			held++
		}
	}
	return held
}
