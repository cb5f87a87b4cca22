package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// visitor is somebody who calls.
type visitor struct {
	ClaimFunc
	began int
	ends  []string
}

func newVisitor() *visitor {
	v := &visitor{}
	v.Run = func(ctx context.Context, _ <-chan []int16, write func([]int16) error) error {
		v.began++
		return write(tone(time.Minute, 1))
	}
	v.Ended = func(how turn.EndedHow) { v.ends = append(v.ends, how.String()) }
	return v
}

// offers has somebody call.
func (g *rig) offers(v *visitor) func() {
	g.t.Helper()
	withdraw, err := g.Offer(g.t.Context(), v.ClaimFunc)
	if err != nil {
		g.t.Fatal(err)
	}
	g.settle()
	return withdraw
}

// A press answers what rings, and begins no turn; the next one hangs up, if it is no bounce.
func TestAPressAnswersWhatRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		v := newVisitor()
		g.offers(v)
		if !g.has("cue ringing") || v.began > 0 {
			t.Fatalf("it does not ring, or has begun: %q", g.take())
		}
		if _, err := g.Offer(t.Context(), newVisitor().ClaimFunc); !errors.Is(err, ErrBusy) {
			t.Errorf("a second one is told %v", err)
		}
		g.press()
		time.Sleep(100 * time.Millisecond)
		g.press() // a bounce
		g.settle()
		if v.began != 1 || len(v.ends) > 0 || !g.has("mic lent") {
			t.Fatalf("began %d times, ended %q, %q", v.began, v.ends, g.take())
		}
		if _, err := g.Offer(t.Context(), newVisitor().ClaimFunc); !errors.Is(err, ErrBusy) {
			t.Errorf("in a call another one is told %v", err)
		}
		time.Sleep(2 * time.Second)
		g.press()
		time.Sleep(time.Second)
		g.settle()
		wantEqual(t, "ends", v.ends, []string{"hung up"})
		if ends := g.ends(); len(ends) > 0 {
			t.Errorf("turns began: %q", ends)
		}
		g.quiet()
	})
}

// Whoever rings and is not answered has one end, however that came; and the device is free.
func TestWhatRingsAndIsNotAnswered(t *testing.T) {
	for name, end := range map[string]func(g *rig, withdraw func()){
		"given up":  func(_ *rig, withdraw func()) { withdraw(); withdraw() },
		"refused":   func(g *rig, _ func()) { g.Hush(g.Now(), g.speaker.Drop()) },
		"shut down": func(g *rig, _ func()) { _ = g.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				v := newVisitor()
				withdraw := g.offers(v)
				time.Sleep(5 * time.Second)
				end(g, withdraw)
				g.settle()
				wantEqual(t, "ends", v.ends, []string{"stopped"})
				if v.began > 0 {
					t.Error("it began")
				}
				if name != "shut down" {
					g.quiet()
				}
			})
		})
	}
}

// While a person speaks, and in the answer, nothing rings; afterwards it does.
func TestRingingWaitsForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		id := g.utter(time.Second)
		v := newVisitor()
		withdraw := g.offers(v)
		g.respond(id, "r1")
		g.speak(id, "r1", time.Second, 5)
		g.finish(id, "r1")
		time.Sleep(100 * time.Millisecond)
		g.settle()
		if g.has("cue ringing") {
			t.Errorf("it rang during the turn")
		}
		time.Sleep(2 * time.Second)
		g.settle()
		if lines := g.take(); !slices.Contains(lines, "cue ringing") {
			t.Errorf("it does not ring after the turn: %q", lines)
		}
		g.press()
		g.settle()
		if v.began != 1 {
			t.Error("the press did not answer it")
		}
		withdraw()
		g.settle()
		if len(v.ends) > 0 {
			t.Error("who has been answered cannot give up ringing any more")
		}
		g.press()
		time.Sleep(time.Second)
		g.press()
		time.Sleep(time.Second)
		g.quiet()
	})
}

// An announcement waits for what rings, as for a call; one that is to end a call does not, and it rings afterwards.
func TestAnnouncementsAndWhatRings(t *testing.T) {
	for priority, waits := range map[inject.Priority]bool{inject.Normal: true, inject.BlockBehindComms: true, inject.Preempt: false} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			g.answering(time.Second)
			withdraw := g.offers(newVisitor())
			g.take()
			said := g.Inject("tea", priority, "", time.Minute)
			time.Sleep(5 * time.Second)
			g.settle()
			if got := len(said) == 0; got != waits {
				t.Errorf("%v waits %v; want %v", priority, got, waits)
			}
			if lines := g.take(); !waits && !strings.Contains(strings.Join(lines, ","), "cue ringing") {
				t.Errorf("after it nothing rings: %q", lines)
			}
			withdraw()
			time.Sleep(5 * time.Second)
			g.settle()
			if len(said) == 0 {
				t.Errorf("%v is never said", priority)
			}
			g.voice.set(nil)
			g.quiet()
		})
	}
}

// What plays gives way to what rings, and to the call, and goes on at the sample that was heard last.
func TestABookAndACallThatComesIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(20 * time.Second)
		g.plays(b.StreamFunc)
		time.Sleep(3 * time.Second)
		g.settle()
		from := g.Now()
		g.offers(newVisitor())
		time.Sleep(5 * time.Second)
		g.press()
		time.Sleep(10 * time.Second)
		g.press()
		g.settle()
		if heard := g.contentIn(from+50*time.Millisecond, g.Now()); heard > 0 {
			t.Errorf("%v of the book were heard meanwhile", heard)
		}
		time.Sleep(30 * time.Second)
		g.settle()
		g.whole(200)
		g.quiet()
	})
}
