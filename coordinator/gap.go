package coordinator

import (
	"slices"
	"sync"
)

// A gap is where content may be interrupted without harm: the end of a paragraph, the pause between two songs. It is found in the
// sound itself, so that whoever writes content need not know of gaps, and a book that was read aloud by anybody has its own.

// Our choices: readers pause for a quarter to half a second at a full stop and for longer behind a paragraph, and a quiet room in
// a recording is below a hundredth of its loudest sample.
const (
	gapLength = 700 * rate / 1000
	gapLevel  = 256
)

// pauses knows the gaps of what has been written and not been heard. Samples are counted as they are heard.
type pauses struct {
	mu    sync.Mutex
	from  int    // where the silence began with which what is written ends; …
	to    int    // … here
	all   []span // gaps before that
	src   Source // what sounds …
	begun int    // … from this sample on
}

type span struct{ from, to int }

func (s span) long() bool { return s.to-s.from >= gapLength }

// wrote takes what comes behind sample at.
func (p *pauses) wrote(at int, pcm []int16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range pcm {
		if x > gapLevel || x < -gapLevel {
			if g := (span{p.from, at + i}); g.long() {
				p.all = append(p.all, g)
			}
			p.from = at + i + 1
		}
	}
	p.to = at + len(pcm)
}

// moved has what comes behind sample at sound through src.
func (p *pauses) moved(src Source, at int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.src, p.begun = src, at
}

// skipped forgets what was written and is not to be heard; the next sample is at.
func (p *pauses) skipped(at int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.to, p.all = at, at, nil
}

// now tells whether what is heard at this moment lies in a gap.
func (p *pauses) now() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.src == nil {
		return false
	}
	at := p.begun + p.src.Heard()
	p.all = slices.DeleteFunc(p.all, func(g span) bool { return g.to <= at })
	last := span{p.from, p.to}
	return len(p.all) > 0 && p.all[0].from <= at || last.long() && last.from <= at
}
