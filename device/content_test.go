package device

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/device/config"
)

// Content on a whole device, judged by what its card has played.

// shelf is a skill with one book, of noise, so that each stretch of it is found again on a tape.
type shelf struct {
	pcm    []int16
	frames []int16 // the same, as a card plays it

	mu   sync.Mutex
	ends []skills.Ended
	read int // samples heard, as it was told at the end
}

func newShelf(length time.Duration) *shelf {
	s := &shelf{pcm: make([]int16, audio.Samples(length))}
	x := uint32(1)
	for i := range s.pcm {
		x = x*1664525 + 1013904223
		s.pcm[i] = int16(x>>18) - 8192
	}
	s.frames = audio.Upsample(s.pcm)
	return s
}

func (s *shelf) tools() skill {
	return skill{
		"play": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.AudioStream{
				Pauses: true,
				Run:    func(_ context.Context, write func([]int16) error) error { return write(s.pcm) },
				Ended: func(how skills.Ended, heard int) {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.ends, s.read = append(s.ends, how), heard
				},
			}}, nil
		},
		"stop": func(skills.Context) (skills.Result, error) { return skills.Result{Effect: skills.CancelMedia{}}, nil },
	}
}

func (s *shelf) ended() []skills.Ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]skills.Ended(nil), s.ends...)
}

// place finds where in the book what the card played at that time is.
func (s *shelf) place(t *testing.T, b *box, at time.Duration) time.Duration {
	t.Helper()
	const window = audio.CardRate / 50
	tape := b.card.Between(at, at+20*time.Millisecond)
	best, where := 0.0, -1
	for i := 0; i+window <= len(s.frames); i++ {
		var dot, book, heard float64
		for k := 0; k < window; k += 7 {
			x, y := float64(s.frames[i+k]), float64(tape[k])
			dot, book, heard = dot+x*y, book+x*x, heard+y*y
		}
		if dot > 0 {
			if like := dot / math.Sqrt(book*heard+1); like > best {
				best, where = like, i
			}
		}
	}
	if best < 0.98 {
		t.Fatalf("at %v the card played nothing of the book (likeness %.2f)", at, best)
	}
	return audio.CardDuration(where)
}

// gap is a stretch of silence between two sounds.
type gap struct{ from, to time.Duration }

// gaps are those of 50 ms and more after a time, and for how long it has sounded since the last one.
func (b *box) gaps(after time.Duration) (all []gap, since time.Duration) {
	tape, from := b.card.Tape()
	last := after
	for i, x := range tape {
		if at := from + audio.CardDuration(i); at >= after && x != 0 {
			if at-last >= 50*time.Millisecond {
				all = append(all, gap{last, at})
			}
			last = at
		}
	}
	if len(all) > 0 {
		since = last - all[len(all)-1].to
	}
	return all, since
}

// lastBefore is when the card last played anything before a time.
func (b *box) lastBefore(before time.Duration) (last time.Duration) {
	tape, from := b.card.Tape()
	for i, x := range tape {
		if at := from + audio.CardDuration(i); at < before && x != 0 {
			last = at
		}
	}
	return last
}

// TURNS.md 4: a book goes on at the sample that was heard last, after a tap and after a question alike: nothing of it is lost, and
// no more said twice than the fade.
func TestABookGoesOnAtTheSampleThatWasHeardLast(t *testing.T) {
	t.Parallel()
	for name, rewinds := range map[string]bool{"a card that keeps what it was given": false, "a card that gives it back": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(30 * time.Second)
			b := newBox(t, boxOptions{mind: caller{}, tools: s.tools(), config: func(c *config.Config) { c.Audio.CueVolume = 0 },
				card: func(c audio.Card) audio.Card {
					c.(*twin.Card).KeepTape(time.Minute)
					if rewinds {
						c.(*twin.Card).Rewinds(time.Millisecond)
					}
					return c
				}})
			b.question(":play")
			b.until("playing", func() bool { return b.coordinator.State() == turn.Idle && len(b.turnsEnded()) == 1 && b.audible() })
			for _, by := range []struct {
				name string
				do   func()
			}{
				{"a tap", func() {
					b.hand.Press()
					b.state(turn.Listening)
					b.hand.Release()
				}},
				{"a question", func() { b.talk(300 * time.Millisecond) }},
			} {
				b.pause(700 * time.Millisecond)
				n, edge := len(b.turnsEnded()), b.now()
				by.do()
				b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
				rec := b.turnsEnded()[n]
				var gaps []gap
				sounded := edge - 100*time.Millisecond // the card of a busy machine comes late: what it had not played by the edge falls silent before it
				b.until("back", func() bool {
					all, since := b.gaps(sounded)
					gaps = all
					return since > 200*time.Millisecond && all[len(all)-1].to > rec.Ended
				})

				silent, began := gaps[0].from, gaps[len(gaps)-1].to
				for _, g := range gaps[1:] { // one before it is of a machine that came too late for the card
					if g.from < edge+50*time.Millisecond {
						silent = g.from
					}
				}
				before := s.place(t, b, silent-30*time.Millisecond) + 30*time.Millisecond // before the fade
				after := s.place(t, b, began+50*time.Millisecond) - 50*time.Millisecond
				t.Logf("%s (%s): silent after %v, back after %v more, %v from where it was", by.name, rec.Reason,
					silent-edge, began-silent, after-before)
				if d := after - before; d > 500*time.Microsecond || d < -6*time.Millisecond {
					t.Errorf("%s: it fell silent at %v of the book and began again at %v", by.name, before, after)
				}
			}
			b.question(":stop")
			b.until("stopped", func() bool { return len(s.ended()) > 0 })
			b.quiet()
			at := b.lastBefore(b.now())
			b.pause(time.Second)
			if last := b.lastBefore(b.now()); last != at || len(s.ended()) != 1 || s.ended()[0] != skills.Stopped {
				t.Errorf("after stop it sounds until %v instead of %v, ends %v", last, at, s.ended())
			}
		})
	}
}
