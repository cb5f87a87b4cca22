// Package stretch plays speech faster or slower at its own pitch: pieces of the sound are laid over one another at another distance
// than they had, each from the place near its own where it fits best to what is already there (WSOLA: waveform similarity
// overlap-add, Verhelst and Roelands, 1993).
//
//	output  |--hop--|--hop--|--hop--|      block k is what follows piece k-1, fading into piece k
//	input   piece k begins near k × hop × speed, where the correlation is the greatest
package stretch

import "math"

// What may be asked for, in percent of the speed that the sound has.
const (
	Slowest = 75
	Fastest = 200
	normal  = 100
)

// Our choices, in samples at 24 kHz: half of a piece is longer than a period of any voice, and so is what is searched.
const (
	hop    = 360 // 15 ms
	search = 288 // 12 ms to each side
	coarse = 4   // so many places, and half as many samples, are passed over at the first look
)

// rising is how much of a new piece there is; the rest is what was there before.
var rising = func() (w [hop]float32) {
	for i := range w {
		w[i] = float32(0.5 - 0.5*math.Cos(math.Pi*(float64(i)+0.5)/hop))
	}
	return w
}()

// Stretcher is one sound at one speed. What comes out does not depend on how it is cut when it goes in.
type Stretcher struct {
	percent int64

	in   []float32 // what is still needed of the input, …
	base int64     // … of which the first is this one
	got  int64     // samples that came in
	put  int64     // … and went out
	next int64     // the sample that follows the piece that was laid last
}

// New is for a sound at so many percent of its speed; beyond what may be asked for, at the nearest that may.
func New(percent int) *Stretcher {
	return &Stretcher{percent: int64(min(max(percent, Slowest), Fastest))}
}

// Step takes the samples that come next and gives those that can be heard by then; no more than some 50 ms stay behind. At normal
// speed it gives back what it got.
func (s *Stretcher) Step(pcm []int16) []int16 {
	if s.percent == normal {
		return pcm
	}
	s.take(pcm)
	var out []int16
	for s.due() {
		out = s.lay(out)
	}
	s.forget()
	return out
}

// End gives what is left. All that went out is then as long as what came in, divided by the speed.
func (s *Stretcher) End() []int16 {
	if s.percent == normal {
		return nil
	}
	length := (s.got*normal + s.percent/2) / s.percent
	var out []int16
	for was := s.put; s.put < length; {
		if missing := max(s.near()+search, s.next) + hop - s.got; missing > 0 {
			s.take(make([]int16, missing))
		}
		if out = s.lay(out); s.put > length {
			out = out[:length-was]
		}
	}
	s.in, s.base, s.got, s.put, s.next = nil, 0, 0, 0, 0
	return out
}

func (s *Stretcher) take(pcm []int16) {
	for _, x := range pcm {
		s.in = append(s.in, float32(x))
	}
	s.got += int64(len(pcm))
}

// near is the sample that the next piece would begin with if none fitted better than any other.
func (s *Stretcher) near() int64 { return s.put * s.percent / normal }

// due says whether all came in that the next block is chosen from, and as much as it takes the time of: a sound that ends here is not
// to have become longer than it may be.
func (s *Stretcher) due() bool {
	return max(s.near()+search+hop, s.next+hop) <= s.got && (s.put+hop)*s.percent <= s.got*normal
}

// lay adds a block to what goes out.
func (s *Stretcher) lay(out []int16) []int16 {
	old, at := s.from(s.next), s.next // of the first piece nothing was before
	if s.put > 0 {
		at = s.best(old)
	}
	piece := s.from(at)
	for i, w := range rising {
		out = append(out, int16(math.Round(float64(old[i]+w*(piece[i]-old[i])))))
	}
	s.put, s.next = s.put+hop, at+hop
	return out
}

// from are the samples from one on.
func (s *Stretcher) from(sample int64) []float32 { return s.in[sample-s.base:] }

// best is the sample near the next piece's own place from which on the sound is most like what is there: first roughly, then exactly.
func (s *Stretcher) best(old []float32) int64 {
	near := s.near()
	first := max(near-search, 0) // and not all that is still there: how much that is depends on how the sound came
	at := near
	most := like(old, s.from(near), coarse/2)
	for d := int64(coarse); d <= search; d += coarse {
		for _, p := range [2]int64{near - d, near + d} {
			if l := like(old, s.from(max(p, first)), coarse/2); p >= first && l > most {
				at, most = p, l
			}
		}
	}
	rough := at
	most = like(old, s.from(rough), 1)
	for p := max(rough-coarse+1, first); p < min(rough+coarse, near+search+1); p++ {
		if l := like(old, s.from(p), 1); l > most {
			at, most = p, l
		}
	}
	return at
}

// like is the correlation of two pieces, as a share of what the second has of power: with its sign, squared.
func like(a, b []float32, step int) float32 {
	var product, power float32
	a, b = a[:hop], b[:hop]
	for i := 0; i < hop; i += step {
		product += a[i] * b[i]
		power += b[i] * b[i]
	}
	switch {
	case power == 0:
		return 0
	case product < 0:
		return -product * product / power
	}
	return product * product / power
}

// forget drops what no piece can begin with any more.
func (s *Stretcher) forget() {
	if n := min(s.next, s.near()-search, s.got) - s.base; n > 0 {
		s.in = s.in[:copy(s.in, s.in[n:])]
		s.base += n
	}
}
