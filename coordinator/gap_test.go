package coordinator

import (
	"testing"
	"time"
)

// played is a source of which so much has been heard.
type played struct {
	Source
	heard int
}

func (p *played) Heard() int { return p.heard }

// A gap is where it is heard, however much has been written, through whichever source, and whatever was skipped.
func TestAGapIsWhereItIsHeard(t *testing.T) {
	var p pauses
	src := &played{}
	at := func(d time.Duration) bool {
		src.heard = int(d*rate/time.Second) - p.begun
		return p.now()
	}
	want := func(what string, d time.Duration, gap bool) {
		t.Helper()
		if got := at(d); got != gap {
			t.Errorf("%s: a gap at %v = %v; want %v", what, d, got, gap)
		}
	}
	written := 0
	write := func(d time.Duration, value int16) {
		pcm := tone(d, value)
		p.wrote(written, pcm)
		written += len(pcm)
	}
	const s, ms = time.Second, time.Millisecond
	if p.now() {
		t.Error("a gap before anything sounds")
	}
	p.moved(src, 0)
	write(2*s, 3000)
	write(699*ms, gapLevel) // 2 s
	write(s, -3000)
	for range 8 {
		write(100*ms, -gapLevel) // 3.699 s
	}
	write(s, 3000)
	write(2*s, 0) // 5.499 s
	want("in words", s, false)
	want("too short", 2300*ms, false)
	want("before the end of a paragraph", 3690*ms, false)
	want("at its end", 3700*ms, true)
	src.heard = 0
	p.moved(src, written-int(3799*rate/1000)) // 3.7 s
	want("through another source", 4400*ms, true)
	want("behind it", 4500*ms, false)
	want("in the silence that goes on", 5500*ms, true)

	p.skipped(int(6 * s * rate / s))
	written = int(6 * s * rate / s)
	want("with what was skipped", 6*s, false)
	write(650*ms, 0)
	want("shorter without it", 6100*ms, false)
	write(50*ms, 0)
	want("long enough", 6100*ms, true)
}
