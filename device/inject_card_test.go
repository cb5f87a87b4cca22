package device

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/device/announce"
	"conch/device/config"
	"conch/device/store"
)

// What a stranger would check of injected turns and of those who play (TURNS.md 8), by what the card has played.

// 3: a producer that does not return delays neither silence nor the next answer.
func TestAProducerThatDoesNotReturnDelaysNothingOnTheCard(t *testing.T) {
	t.Parallel()
	returns, returned := make(chan struct{}), make(chan struct{})
	b := newBox(t, boxOptions{mind: prompted{}, config: func(c *config.Config) { c.Audio.CueVolume = 0 }, tools: skill{
		"read": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.AudioStream{Run: func(_ context.Context, write func([]int16) error) error {
				defer close(returned)
				err := write(whistle(bookHz, audio.Samples(30*time.Second)))
				<-returns
				return err
			}}}, nil
		},
	}})
	c := &crier{box: b}
	from := b.now()
	b.question(":read")
	c.sounds(bookHz, from)
	b.pause(300 * time.Millisecond)
	edge := b.now()
	b.Device.Hush()
	b.asked.Add(1)
	b.coordinator.Ask("old")
	c.sounds(oldHz, edge)
	select {
	case <-returned:
		t.Fatal("the producer has returned, so this shows nothing")
	default:
	}
	last := edge
	for _, x := range c.spells(bookHz, from) {
		last = x.to
	}
	t.Logf("silent %v after the hush", last-edge)
	if last > edge+100*time.Millisecond {
		t.Errorf("it sounds on for %v", last-edge)
	}
	close(returns)
	b.quiet()
}

// 8: hanging up by the button gives the book back at the sample at which the call displaced it.
func TestHangingUpGivesTheBookBackOnTheCard(t *testing.T) {
	t.Parallel()
	s := newShelf(30 * time.Second)
	tools := s.tools()
	tools["call"] = func(skills.Context) (skills.Result, error) {
		return skills.Result{Effect: skills.InputClaim{Run: func(ctx context.Context, _ <-chan []int16, _ func([]int16) error) error {
			<-ctx.Done()
			return nil
		}}}, nil
	}
	b := newBox(t, boxOptions{mind: prompted{}, tools: tools, config: func(c *config.Config) { c.Audio.CueVolume = 0 }})
	b.card.KeepTape(time.Minute)
	b.question(":play")
	b.until("playing", func() bool { return len(b.turnsEnded()) == 1 && b.audible() })
	b.pause(700 * time.Millisecond)
	sounded := b.now() - 100*time.Millisecond // what the card of a busy machine had not played by the question falls silent before it
	b.question(":call")
	b.until("in the call", func() bool { return len(b.turnsEnded()) == 2 })
	b.pause(1500 * time.Millisecond)
	b.asked.Add(-1) // a press that hangs up begins no turn
	hung := b.now()
	b.taps(50 * time.Millisecond)
	var gaps []gap
	b.until("back", func() bool {
		all, since := b.gaps(sounded)
		gaps = all
		return since > 200*time.Millisecond && all[len(all)-1].to > hung
	})
	silent, began := gaps[0].from, gaps[len(gaps)-1].to
	before := s.place(t, b, silent-30*time.Millisecond) + 30*time.Millisecond // before the fade
	after := s.place(t, b, began+50*time.Millisecond) - 50*time.Millisecond
	t.Logf("silent at %v of the book, back at %v of it, %v behind the press", before, after, began-hung)
	if d := after - before; d > 500*time.Microsecond || d < -6*time.Millisecond {
		t.Errorf("it fell silent at %v of the book and began again at %v", before, after)
	}
	b.question(":stop")
	b.until("stopped", func() bool { return len(s.ended()) > 0 })
	b.quiet()
}

// 11: whoever is told of an end announces something from there, and waits for it, and announces again from that.
func TestWhoIsToldOfAnEndMayAnnounceOnTheCard(t *testing.T) {
	t.Parallel()
	var b *box
	heard := make(chan skills.Outcome, 2)
	b = newBox(t, boxOptions{mind: prompted{}, config: func(c *config.Config) { c.Audio.CueVolume = 0 }, tools: skill{
		"read": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.AudioStream{
				Run: func(_ context.Context, write func([]int16) error) error { return write(whistle(bookHz, audio.Rate/2)) },
				Ended: func(skills.Ended, int) {
					first := make(chan skills.Outcome, 1)
					b.desk.Announce("test", skills.Announcement{Text: "the book is over", Done: func(o skills.Outcome) {
						b.desk.Announce("test", skills.Announcement{Text: "really", Done: func(o skills.Outcome) { heard <- o }})
						first <- o
					}})
					heard <- <-first
				},
			}}, nil
		},
	}})
	b.asked.Add(2)
	from := b.now()
	b.question(":read")
	for range 2 {
		if o := <-heard; o != skills.OutcomeDelivered {
			t.Errorf("outcome %q", o)
		}
	}
	b.quiet()
	long := time.Duration(0)
	for _, x := range (&crier{box: b}).spells(newHz, from) {
		long += x.to - x.from
	}
	if long < 2*660*time.Millisecond {
		t.Errorf("%v of announcements were heard; want twice 700 ms", long)
	}
}

// A power cut in the middle of an announcement that was to be kept, and another one in the middle of saying it again: it is said once more,
// says so, and is not said a third time. What the next life finds is what was on the disk while the words were heard.
func TestAnAnnouncementOverTwoPowerCuts(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	var said []string
	for life, dir := range dirs {
		func() {
			b := newBox(t, boxOptions{mind: prompted{}, config: func(c *config.Config) { c.Audio.CueVolume, c.State.Dir = 0, dir }})
			defer b.stop()
			c := &crier{box: b}
			if life == 0 {
				b.desk.Announce("test", skills.Announcement{Text: "a long pill", Durable: true})
			}
			if life > 1 {
				b.until("looked", func() bool { return strings.Contains(b.log.text(), "announce.again") == (life == 2) })
				b.quiet()
				if got := c.spells(newHz, 0); len(got) != 0 {
					t.Errorf("in life %d it sounded %v", life+1, got)
				}
			} else {
				b.asked.Add(1)
				c.sounds(newHz, 0)
			}
			if life < len(dirs)-1 { // what a power cut leaves now
				db, err := os.ReadFile(filepath.Join(dir, store.File))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dirs[life+1], store.File), db, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if life < 2 {
				b.until("said", func() bool { return len(b.turnsEnded()) == 1 })
				r := b.turnsEnded()[0]
				if r.Source != turn.SourceInject.String() || r.Reason != turn.Done.String() {
					t.Errorf("in life %d it ended as %+v", life+1, r)
				}
				said = append(said, r.Said)
			}
		}()
	}
	want := []string{announce.WordForWord("a long pill"), announce.WordForWord("You may have heard this already: a long pill")}
	if len(said) != 2 || said[0] != want[0] || said[1] != want[1] {
		t.Errorf("said %q; want %q", said, want)
	}
}
