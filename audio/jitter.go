package audio

import "time"

// Speech that comes unevenly is buffered as much as its unevenness asks for, and even speech not at all (TURNS.md 6):
//
//	callback ─> arrivals: how late did samples come, so that how many had to be buffered?  ─┐ at the end of an answer
//	         ─> it ran dry, and goes on with more: a hole ──────────────────────────────────┴─> jitter ─> extra
//
// Within an answer each hole makes the next step of the ladder. The next answer begins with what the last one would have
// needed, also when its line was slow throughout: one wait is better than a stutter. All of it is pure, and owned by the
// callback.

// The ladder, in samples: nothing, 200, 400, 800 ms, and for lines that are slow throughout, steps of 400 ms more.
const (
	extraFirst = Rate / 5
	extraHole  = Rate * 8 / 10 // holes alone ask for no more: a pause and then more speech
	extraMost  = Rate * 32 / 10

	pauseAfter  = Rate             // samples: who is silent for so long pauses, and no buffer would have helped
	forgetAfter = 60 * time.Second // without unevenness
)

// jitter is what is known of the line.
type jitter struct {
	extra  int           // samples to buffer on top of the usual
	uneven time.Duration // when that was last needed
}

// now is what to buffer.
func (j jitter) now(at time.Duration) int {
	if at-j.uneven > forgetAfter {
		return 0
	}
	return j.extra
}

// hole is what is known after a hole, in speech that needed so many samples so far.
func (j jitter) hole(at time.Duration, need int) jitter {
	was := j.now(at)
	extra := max(extraFirst, min(2*was, extraHole), min(ladder(need), extraHole), was)
	return jitter{extra: extra, uneven: at}
}

// learn is what is known after speech that needed so many samples, of which usual are always there. A tenth is added for
// an answer that lasts longer.
func (j jitter) learn(at time.Duration, need, usual int) jitter {
	if need <= usual {
		return j
	}
	return jitter{extra: max(j.now(at), ladder(need+need/10)), uneven: at}
}

// ladder is the first step that is enough.
func ladder(need int) int {
	step := extraFirst
	for step < need && step < extraMost {
		step += min(step, 2*extraFirst)
	}
	return step
}

// arrivals is how the samples of a source have come, in samples of the card's time.
type arrivals struct {
	base, from uint64 // when the present stretch began, and the samples before it
	seen, at   uint64 // samples so far, and when the last of them came
	need       int    // samples that had to be buffered at the beginning of a stretch, so that it never ran dry
}

// saw takes note of how many samples there are at a time.
func (a arrivals) saw(at, written uint64) arrivals {
	if written == a.seen {
		return a
	}
	if a.seen == 0 || at-a.at > pauseAfter {
		a.base, a.from = at, a.seen
	}
	// Up to now the samples of this stretch could have been played; if they last less long, the beginning had to be later
	// by the difference, and what came until then is what had to be buffered.
	took, had := at-a.base, a.seen-a.from
	if took > had {
		a.need = max(a.need, int((took-had)*had/took))
	}
	a.seen, a.at = written, at
	return a
}
