package web_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"

	"conch/device/control"
)

// size is what a page has in its memory.
type size struct{ nodes, listeners, heap float64 }

func (s size) String() string {
	return fmt.Sprintf("%.0f nodes, %.0f listeners, %.2f MB", s.nodes, s.listeners, s.heap/1e6)
}

// size is that of the page, when what is not needed has been thrown away.
func (b *tab) size() (s size) {
	b.t.Helper()
	call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		switch m.Name {
		case "Nodes":
			s.nodes = m.Value
		case "JSEventListeners":
			s.listeners = m.Value
		case "JSHeapUsedSize":
			s.heap = m.Value
		}
	}
	return s
}

// minute is what happens in a minute of a busy evening, told to a page at a pace: event waits for its turn.
func (h *house) minute(n int, event func() bool) bool {
	speaker := places[n%len(places)]
	id := fmt.Sprintf("h%d", n)
	h.question(places[(n+1)%len(places)].device, id, fmt.Sprintf("question number %d, and some words more", n), speaker.id)
	words := "An answer of several words, that grows while it is heard, and is cut now and then."
	for i := range 40 {
		if !event() {
			return false
		}
		at := len(words) * i / 40
		h.does(speaker.device, control.Doing{
			State: "IN_RESPONSE", Level: (i * 7) % 100, Floor: speaker.id, Turn: "t-" + id, Who: speaker.name, Heard: words[:at], Rest: words[at:],
		})
		if i%10 == 0 {
			s := h.picture(speaker.device).Status
			s.Turns, s.Volume = uint64(n), 40+i
			h.happens(speaker.device, control.EventStatus, s)
		}
	}
	heard := words
	if n%3 == 0 {
		heard = words[:20]
		h.happens(speaker.device, control.EventPress, nil)
	}
	h.turn(speaker.id, "t-"+id, words, heard, float64(n%20)+1)
	h.does(speaker.device, control.Doing{State: "IDLE"})
	return event()
}

// A thousand events a second for ten seconds: the page keeps up or is told that it is behind, and does not grow.
func TestAThousandEventsASecond(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	call(b, performance.Enable, performance.EnableParams{})
	told := 0
	flood := func(d time.Duration, from int) (n int) {
		begun, sent := time.Now(), 0
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		event := func() bool {
			for ; float64(sent) >= time.Since(begun).Seconds()*1000; <-tick.C {
			}
			sent++
			told++
			return time.Since(begun) < d
		}
		for n = from; h.minute(n, event); n++ {
		}
		return n + 1
	}
	n := flood(2*time.Second, 0)
	before := b.size()
	n = flood(10*time.Second, n)
	h.question("kitchen", "last", "the last question", "")
	b.until(`[...document.querySelectorAll('.bubble.ask .heard')].some((e) => e.textContent === 'the last question')`)
	after := b.size()
	bubbles := js[int](b, `document.querySelectorAll('.bubble').length`)
	t.Logf("%d minutes of an evening, %d moments: %v after two seconds, %v after twelve; %d bubbles", n, told, before, after, bubbles)
	if bubbles > 60 {
		t.Errorf("%d bubbles; at most 60", bubbles)
	}
	if after.nodes > before.nodes+600 || after.listeners > before.listeners+50 || after.heap > before.heap+2e6 {
		t.Errorf("the page grows: %v, then %v", before, after)
	}
}

// An hour of an evening, at sixty times its pace; make soak has the hour itself.
func TestAnHourOfEvents(t *testing.T) {
	t.Parallel()
	pace := time.Second // a minute
	if os.Getenv("CONCH_TEST_SOAK") != "" {
		pace = time.Minute
	} else if testing.Short() {
		t.Skip("an hour of events takes a minute (without -short it is told)")
	}
	h := build(t, houseOptions{})
	b := h.visit(telephone)
	call(b, performance.Enable, performance.EnableParams{})
	ctx, cancel := context.WithTimeout(t.Context(), 70*pace)
	defer cancel()
	tick := time.NewTicker(pace / 42)
	defer tick.Stop()
	event := func() bool {
		select {
		case <-tick.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var sizes []size
	for n := range 60 {
		if !h.minute(n, event) {
			t.Fatalf("the hour ended after %d minutes", n)
		}
		if n == 19 || n == 39 || n == 59 {
			sizes = append(sizes, b.size())
		}
	}
	t.Logf("after 20, 40 and 60 minutes: %v; %v; %v", sizes[0], sizes[1], sizes[2])
	if first, last := sizes[0], sizes[2]; last.nodes > 3*first.nodes+600 || last.heap > first.heap+2e6 || sizes[2].heap > sizes[1].heap+1e6 {
		t.Errorf("the page grows: %v", sizes)
	}
	b.until(`document.querySelectorAll('.bubble').length === 60`)
	b.until(`document.querySelectorAll('#silences i:not([hidden])').length >= 60`)
}
