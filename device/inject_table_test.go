package device

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/skills"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
)

// The table of TURNS.md 5 on a whole device, by what its card has played. Whoever sounds has a pitch: an answer oldHz, what is injected
// newHz, and these two.
const (
	bookHz = 1300
	callHz = 1900
)

// prompted is a caller that says what it is told to say, whatever tools have returned before.
type prompted struct{ caller }

func (p prompted) Think(t rehearsal.Thought) rehearsal.Reply {
	if t.Prompt != "" {
		return rehearsal.Reply{Text: t.Prompt}
	}
	return p.caller.Think(t)
}

// crier is a device with a book whose paragraphs are four seconds long, somebody to call, and skills that announce.
type crier struct {
	*box
	mu       sync.Mutex
	outcomes []string // what was announced, and what became of it
	ends     []string // of books and calls
}

func newCrier(t *testing.T) *crier {
	s := &crier{}
	note := func(what string) func(skills.Ended) {
		return func(how skills.Ended) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ends = append(s.ends, what+" "+string(how))
		}
	}
	const paragraph, pause = 4 * time.Second, 900 * time.Millisecond
	s.box = newBox(t, boxOptions{mind: prompted{}, pace: 20, config: func(c *config.Config) { c.Audio.CueVolume = 0 }, tools: skill{
		"read": func(skills.Context) (skills.Result, error) {
			end := note("book")
			return skills.Result{Effect: skills.AudioStream{Pauses: true, Ended: func(how skills.Ended, _ int) { end(how) },
				Run: func(_ context.Context, write func([]int16) error) error {
					for range 20 {
						if err := write(append(whistle(bookHz, audio.Samples(paragraph)), make([]int16, audio.Samples(pause))...)); err != nil {
							return err
						}
					}
					return nil
				}}}, nil
		},
		"call": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.InputClaim{Ended: note("call"), Run: func(_ context.Context, _ <-chan []int16, write func([]int16) error) error {
				for {
					if err := write(whistle(callHz, audio.Samples(190*time.Millisecond))); err != nil { // whole waves
						return err
					}
				}
			}}}, nil
		},
		"stop": func(skills.Context) (skills.Result, error) { return skills.Result{Effect: skills.CancelMedia{}}, nil },
	}})
	s.card.KeepTape(5 * time.Minute)
	return s
}

// announce has a skill announce.
func (s *crier) announce(a skills.Announcement) {
	a.Done = func(o skills.Outcome) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.outcomes = append(s.outcomes, a.Text+" "+string(o))
	}
	s.desk.Announce("test", a)
}

func (s *crier) list(of *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*of)
}

// told waits for so many outcomes, and demands these.
func (s *crier) told(want ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("told of %d outcomes", len(want)), func() bool { return len(s.list(&s.outcomes)) >= len(want) })
	if got := s.list(&s.outcomes); !slices.Equal(got, want) {
		s.t.Errorf("outcomes %q; want %q", got, want)
	}
}

// said are the words of the injected turns so far.
func (s *crier) said() (all []string) {
	for _, r := range s.turnsEnded() {
		if r.Source == turn.SourceInject.String() {
			all = append(all, strings.ReplaceAll(r.Said[strings.LastIndex(r.Said, ":")+1:], `"`, ""))
		}
	}
	return all
}

// spells are when a pitch sounded after a time, gaps of less than 100 ms not counted.
func (s *crier) spells(hz float64, after time.Duration) (all []gap) {
	const window = 20 * time.Millisecond
	for at, end := after, s.now(); at+window <= end; at += window {
		if pitch(s.card.Between(at, at+window), hz) < 800 {
			continue
		}
		if n := len(all); n > 0 && at-all[n-1].to < 100*time.Millisecond {
			all[n-1].to = at + window
		} else {
			all = append(all, gap{at, at + window})
		}
	}
	return all
}

// sounds waits for a pitch after a time and says when it began.
func (s *crier) sounds(hz float64, after time.Duration) time.Duration {
	s.t.Helper()
	at := time.Duration(-1)
	s.until(fmt.Sprintf("sounding at %.0f Hz", hz), func() bool {
		if all := s.spells(hz, after); len(all) > 0 {
			at = all[0].from
		}
		return at >= 0
	})
	return at
}

// alone demands that of two pitches only one sounded at a time.
func (s *crier) alone(a, b float64, after time.Duration) {
	s.t.Helper()
	const blur = 40 * time.Millisecond
	for _, x := range s.spells(a, after) {
		for _, y := range s.spells(b, after) {
			if x.from < y.to-blur && y.from < x.to-blur {
				s.t.Errorf("%.0f Hz sounds from %v to %v, and %.0f Hz from %v to %v", a, x.from, x.to, b, y.from, y.to)
			}
		}
	}
}

var (
	normal  = skills.Announcement{Text: "normal"}
	blocks  = skills.Announcement{Text: "block", Priority: skills.BlockBehindComms}
	preempt = skills.Announcement{Text: "preempt", Priority: skills.Preempt}
)

func TestTheTableOfInjectedTurns(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		s := newCrier(t)
		var want []string
		for _, a := range []skills.Announcement{normal, blocks, preempt} {
			s.asked.Add(1)
			from := s.now()
			s.announce(a)
			s.sounds(newHz, from)
			want = append(want, a.Text+" delivered")
			s.told(want...)
			s.quiet()
		}
	})
	t.Run("a turn is live", func(t *testing.T) {
		t.Parallel()
		s := newCrier(t)
		s.asked.Add(5)
		from := s.now()
		s.question("old and long")
		s.sounds(oldHz, from)
		s.announce(normal)
		s.announce(skills.Announcement{Text: "keyed", Key: "a"})
		s.announce(blocks)
		s.until("in the tail", func() bool {
			return strings.Contains(fmt.Sprint(s.coordinator.Recent()), "ResponseDone") && s.coordinator.State() == turn.InResponse
		})
		s.announce(skills.Announcement{Text: "newer", Key: "a"})
		s.announce(preempt)
		s.announce(skills.Announcement{Text: "last"})
		s.told("keyed replaced", "preempt delivered", "block delivered", "normal delivered", "newer delivered", "last delivered")
		s.quiet()
		if got, want := s.said(), []string{" preempt", " block", " normal", " newer", " last"}; !slices.Equal(got, want) {
			t.Errorf("said %q; want %q: what is higher first, and what was first within one", got, want)
		}
		answer := s.spells(oldHz, from)
		if n := len(answer); n != 1 || answer[0].to-answer[0].from < 5900*time.Millisecond {
			t.Errorf("the answer sounded %v; want one spell of 6 s", answer)
		}
		turns, long := s.spells(newHz, from), time.Duration(0)
		for _, x := range turns {
			long += x.to - x.from
		}
		if long < 5*660*time.Millisecond || turns[0].from < answer[0].to-40*time.Millisecond {
			t.Errorf("the injected turns sounded %v; want five times 700 ms, behind %v", turns, answer)
		}
	})
	t.Run("what is being said is joined", func(t *testing.T) {
		t.Parallel()
		s := newCrier(t)
		s.asked.Add(1)
		from := s.now()
		s.announce(skills.Announcement{Text: "first", Key: "a"})
		s.sounds(newHz, from)
		s.announce(skills.Announcement{Text: "second", Key: "a"})
		s.until("told", func() bool { return len(s.list(&s.outcomes)) == 2 })
		s.quiet()
		got := s.list(&s.outcomes)
		slices.Sort(got)
		if !slices.Equal(got, []string{"first delivered", "second delivered"}) || len(s.spells(newHz, from)) != 1 {
			t.Errorf("outcomes %q, sounds %v; want both of one sound", got, s.spells(newHz, from))
		}
	})
	t.Run("content plays", func(t *testing.T) {
		t.Parallel()
		for _, row := range []struct {
			skills.Announcement
			now bool
		}{{normal, false}, {blocks, true}, {preempt, true}} {
			t.Run(row.Text, func(t *testing.T) {
				t.Parallel()
				s := newCrier(t)
				s.asked.Add(1)
				from := s.now()
				s.question(":read")
				begun := s.sounds(bookHz, from)
				s.pause(time.Second)
				asked := s.now()
				s.announce(row.Announcement)
				at := s.sounds(newHz, asked)
				s.told(row.Text + " delivered")
				s.sounds(bookHz, at) // it goes on
				s.pause(500 * time.Millisecond)
				first := s.spells(bookHz, begun)[0]
				whole := first.to-first.from > 3900*time.Millisecond
				if row.now == whole {
					t.Errorf("asked %v after the book began, it sounded from %v to %v of it, until %v; want %v",
						asked-begun, first.from-begun, first.to-begun, at-begun, map[bool]string{true: "no waiting", false: "a whole paragraph"}[row.now])
				}
				if !row.now && at > first.to+time.Second {
					t.Errorf("the paragraph ended at %v, and it began at %v: behind its gap", first.to-begun, at-begun)
				}
				s.alone(bookHz, newHz, begun)
				s.question(":stop")
				s.until("stopped", func() bool { return len(s.list(&s.ends)) == 1 })
				s.quiet()
			})
		}
	})
	t.Run("a call", func(t *testing.T) {
		t.Parallel()
		s := newCrier(t)
		s.asked.Add(3)
		from := s.now()
		s.question(":call")
		s.sounds(callHz, from)
		s.announce(normal)
		s.announce(blocks)
		s.pause(2 * time.Second)
		if got := s.spells(newHz, from); len(got) != 0 || len(s.list(&s.outcomes)) != 0 {
			t.Errorf("in the call it sounded %v, outcomes %q", got, s.list(&s.outcomes))
		}
		s.announce(preempt)
		s.told("preempt delivered", "block delivered", "normal delivered")
		s.quiet()
		s.alone(callHz, newHz, from)
		if got := s.list(&s.ends); !slices.Equal(got, []string{"call preempted"}) {
			t.Errorf("ends %q", got)
		}

		// By the button it ends otherwise, and what waited comes all the same.
		s.asked.Add(1)
		from = s.now()
		s.question(":call")
		s.sounds(callHz, from)
		s.announce(normal)
		s.pause(time.Second)
		s.asked.Add(-1) // a press that hangs up begins no turn
		s.hand.Press()
		s.told("preempt delivered", "block delivered", "normal delivered", "normal delivered")
		s.hand.Release()
		s.quiet()
		s.alone(callHz, newHz, from)
		if got := s.list(&s.ends); !slices.Equal(got, []string{"call preempted", "call hung up"}) {
			t.Errorf("ends %q", got)
		}
	})
	t.Run("no session", func(t *testing.T) {
		t.Parallel()
		s := newCrier(t)
		s.wires.refuse(true)
		s.wires.cut()
		s.until("offline", func() bool { return !s.coordinator.Online() })
		for _, row := range []struct {
			skills.Announcement
			after time.Duration
		}{{normal, 2 * time.Second}, {blocks, 2 * time.Second}, {preempt, 0}} {
			from, n := s.now(), len(s.list(&s.outcomes))
			row.TTL = 2 * time.Second
			s.announce(row.Announcement)
			s.until("said by the local voice", func() bool { return len(s.list(&s.outcomes)) == n+1 })
			if got := s.list(&s.outcomes)[n]; got != row.Text+" delivered" {
				t.Errorf("%s", got)
			}
			began := from // it sounds at once, or behind a silence
			if silent, _ := s.gaps(from); len(silent) > 0 {
				began = silent[0].to
			}
			if s.lastBefore(s.now()) <= from || began-from < row.after || row.after == 0 && began-from >= row.TTL {
				t.Errorf("%s: it sounded from %v on, asked for at %v; want it %v later", row.Text, began, from, row.after)
			}
			s.quiet()
		}
		s.wires.refuse(false)
		s.until("online", func() bool { return s.coordinator.Online() })
		s.asked.Add(1)
		from := s.now()
		s.announce(skills.Announcement{Text: "later"})
		s.sounds(newHz, from)
		s.told("normal delivered", "block delivered", "preempt delivered", "later delivered")
		s.quiet()
	})
}
