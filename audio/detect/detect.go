// Package detect decides whether a recording holds speech: a press that brought none is a hush, and nothing is sent of it (TURNS.md 1).
//
//	samples ─> high pass 150 Hz ─> level of each 10 ms, dB ─> frames above the floor and above what rings on ─> Holds
//
// In doubt it is speech. Whatever changes its level as speech does counts: a whisper, a far voice, a song or a television in the room. What
// stands still (noise, a fan, hum), what is short (a click), and what only rings on (the room after the loudspeaker fell silent) does not.
package detect

import (
	"math"
	"slices"
)

// Rate of the samples, a second.
const Rate = 24000

const frame = Rate / 100 // samples

// Our choices; TestWhatIsSpeech measures them.
const (
	above   = 6.0   // dB over the floor
	decay   = 0.6   // dB a frame: a room that takes a second for 60 dB
	step    = 3.0   // dB under a frame: the next one is as loud
	first   = 6.0   // dB over the first frame: what sounded before may ring on
	least   = 7     // frames that count …
	within  = 40    // … among so many
	long    = 100   // frames above the floor of the room: then it is speech, whatever it is
	deepest = -75.0 // dB: no room is more quiet
	steady  = 5.0   // dB between the quiet and the loud frames of what stands still
	longest = 60 * Rate / frame
	history = 8 // recordings
)

// Detector listens to one recording after the other. It is no set of goroutines: its user calls one method at a time.
type Detector struct {
	levels []float64
	sum    float64
	n      int

	x1, x2, y1, y2 float64 // of the filter

	floors []float64 // of the last recordings
}

// New makes a detector that knows nothing of the room.
func New() *Detector { return &Detector{levels: make([]float64, 0, longest)} }

// Begin forgets the recording before, and keeps what it told of the room.
func (d *Detector) Begin() {
	d.levels, d.sum, d.n = d.levels[:0], 0, 0
	d.x1, d.x2, d.y1, d.y2 = 0, 0, 0, 0
}

// A second-order high pass at 150 Hz (Butterworth).
var b0, b1, b2, a1, a2 = func() (float64, float64, float64, float64, float64) {
	w := 2 * math.Pi * 150 / Rate
	alpha, c := math.Sin(w)/math.Sqrt2, math.Cos(w)
	a0 := 1 + alpha
	return (1 + c) / 2 / a0, -(1 + c) / a0, (1 + c) / 2 / a0, -2 * c / a0, (1 - alpha) / a0
}()

// Add takes samples of the recording, mono, in order. What comes after a minute is not looked at.
func (d *Detector) Add(pcm []int16) {
	for _, s := range pcm {
		x := float64(s) / 32768
		y := b0*x + b1*d.x1 + b2*d.x2 - a1*d.y1 - a2*d.y2
		d.x1, d.x2, d.y1, d.y2 = x, d.x1, y, d.y1
		d.sum += y * y
		if d.n++; d.n == frame {
			if len(d.levels) < longest {
				d.levels = append(d.levels, max(deepest, 10*math.Log10(d.sum/frame+1e-12)))
			}
			d.sum, d.n = 0, 0
		}
	}
}

// Holds reports whether the recording holds speech.
func (d *Detector) Holds() bool {
	if len(d.levels) == 0 {
		return false
	}
	sorted := slices.Sorted(slices.Values(d.levels))
	own := at(sorted, 0.1)
	floor := own
	room, known := d.room()
	if known {
		floor = min(floor, room)
	}
	zeros, _ := slices.BinarySearch(sorted, deepest+0.1) // a microphone that had not begun says nothing of what stands still
	live := sorted[min(zeros, len(sorted)-1):]
	still := at(live, 0.9)-at(live, 0.1) < steady
	d.learn(own, still)
	louder, mask, from := 0, d.levels[0]+first, 0
	var counts []int // frames that count, by their place
	for i, l := range d.levels {
		if l > floor+above {
			louder++
			if l > mask && !still {
				counts = append(counts, i)
			}
		}
		mask = max(mask-decay, l-step)
	}
	if known && louder > long {
		return true
	}
	for i := range counts {
		for counts[i]-counts[from] >= within {
			from++
		}
		if i-from+1 >= least {
			return true
		}
	}
	return false
}

// at is the level below which that share of the frames is.
func at(sorted []float64, share float64) float64 { return sorted[int(share*float64(len(sorted)-1))] }

// room is the floor of the recordings before; false: nothing is known of it.
func (d *Detector) room() (float64, bool) {
	if len(d.floors) == 0 {
		return 0, false
	}
	return slices.Min(d.floors), true
}

// learn notes the floor of a recording. What stands still is the room as it is now, whatever it was.
func (d *Detector) learn(floor float64, still bool) {
	if still && len(d.levels) >= within {
		d.floors = d.floors[:0]
	}
	if len(d.floors) == history {
		d.floors = d.floors[:copy(d.floors, d.floors[1:])]
	}
	d.floors = append(d.floors, floor)
}
