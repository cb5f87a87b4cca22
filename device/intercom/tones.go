package intercom

import (
	"math"
	"time"
)

// sounds of a telephone: the tones of ITU-T E.180, one after another.
type sound []struct {
	hz     float64
	length time.Duration
}

var (
	ringback = sound{{425, time.Second}, {0, 3 * time.Second}}
	over     = sound{{425, 150 * time.Millisecond}, {0, 150 * time.Millisecond}, {425, 150 * time.Millisecond}, {0, 100 * time.Millisecond}}
)

const (
	rate  = 24000
	loud  = 4000
	edges = 120 // samples in which a tone rises and falls
)

func tones(s sound) (pcm []int16) {
	for _, t := range s {
		n := int(t.length * rate / time.Second)
		for i := range n {
			level := min(1, float64(i)/edges, float64(n-i)/edges)
			pcm = append(pcm, int16(loud*level*math.Sin(2*math.Pi*t.hz*float64(i)/rate)))
		}
	}
	return pcm
}
