package pairing

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// TestPowerCut: the power of either side goes off before or after each of its frames. Whatever the moment, the joiner is in only if
// the opener has it at least as pending; the opener has it as in only if it is; who is left without the other says so, and the
// pair can be paired afterwards.
func TestPowerCut(t *testing.T) {
	type result struct{ admitted, kept, stored int }
	none := result{0, 0, 0}
	pending := result{1, 0, 0} // dropped by the opener after a day, or replaced by the next pairing
	inside := result{1, 1, 0}  // in; the opener learns it at the first connection
	paired := result{1, 1, 1}
	for _, c := range []struct {
		joiner bool // whose power
		kind   FrameKind
		after  bool
		want   result
		last   WindowEventKind // 0: the window is still open
	}{
		{true, FrameHello, false, none, 0},
		{true, FrameHello, true, none, 0},
		{true, FrameShare, false, none, 0},
		{true, FrameShare, true, none, 0},
		{true, FrameConfirm, false, none, 0},
		{true, FrameConfirm, true, pending, EventUnsure},
		{true, FrameStored, false, inside, EventUnsure},
		{true, FrameStored, true, paired, EventPaired},
		{false, FrameHello, false, none, 0},
		{false, FrameHello, true, none, 0},
		{false, FrameShare, false, none, 0},
		{false, FrameShare, true, none, 0},
		{false, FrameWelcome, false, pending, 0},
		{false, FrameWelcome, true, inside, 0},
	} {
		name := fmt.Sprintf("%s %s the %s", map[bool]string{true: "joiner", false: "window"}[c.joiner], map[bool]string{true: "after", false: "before"}[c.after], c.kind)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, g := open(t, nil), newGuest(t, "bedroom")
				j, w := pipe(g.id, h.id, "tls")
				hit := j
				if !c.joiner {
					hit = w
				}
				hit.on = func(end *wire, f []byte) [][]byte {
					if k, _, _ := decode(f); k != c.kind {
						return [][]byte{f}
					}
					if c.after {
						_ = end.send(f)
					}
					end.cut()
					return nil
				}
				served := make(chan error, 1)
				go func() { served <- h.Serve(context.Background(), w) }()
				_, err := g.enter(context.Background(), j)
				_ = await(served)
				synctest.Wait()
				if got := (result{len(h.admitted), len(g.kept), len(h.stored)}); got != c.want {
					t.Errorf("%+v; want %+v", got, c.want)
				}
				if len(g.kept) > len(h.admitted) || len(h.stored) > len(g.kept) {
					t.Error("half in")
				}
				if !c.joiner { // the joiner has its power, and knows
					if in := err == nil; in != (len(g.kept) == 1) {
						t.Errorf("the joiner says %v and has kept %v", err, g.kept)
					}
					h.stop() // what a window without power says is nothing
				} else if kinds := h.kinds(); c.last == 0 {
					if len(kinds) > 0 {
						t.Errorf("events %v", kinds)
					}
					h.works(t)
				} else {
					if !slices.Equal(kinds, []WindowEventKind{EventAdmitting, c.last}) {
						t.Errorf("events %v", kinds)
					}
					_ = await(h.ran)
				}
				if len(g.kept) == 0 { // and both with their power back
					again := open(t, func(c *WindowConfig) { c.Identity = h.id })
					again.id = h.id
					if _, err := g.join(again, testCode); err != nil || len(g.kept) != 1 {
						t.Errorf("paired again: %v", err)
					}
					_ = await(again.ran)
				}
			})
		})
	}
}
