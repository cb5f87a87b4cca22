package twin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/gpio"
)

// Each row is what clients do with one grip, and what becomes of it: a letter in upper case presses, in lower case lets go, "!" means that the
// client that holds it has gone. A and B are connections of one process, C and D of others.
func TestGrip(t *testing.T) {
	t.Parallel()
	owners := map[string]string{"A": "process 1", "B": "process 1", "C": "process 2"}
	for _, row := range []struct{ does, want string }{
		{"a", "-"},
		{"Aa", "P R"},
		{"Aaa", "P R -"},
		{"AAa", "P P R"},          // a release was lost
		{"AAAAAa", "P P P P P R"}, // four were
		{"Ab", "P R"},             // the same process, connected anew
		{"Ac", "P -"},             // it is another's press
		{"A!c", "P R"},            // which cannot let go any more
		{"ACa", "P P -"},          // its own press was taken over
		{"ACac", "P P - R"},       // and the other one's is not
		{"ACca", "P P R -"},       // whichever lets go first
		{"ACAc", "P P P -"},       // taken back
		{"ACAca", "P P P - R"},    // so that it is let go of by the first
		{"AC!a", "P P -"},         // the client that was taken over has let go of its own
		{"AC!aa", "P P - R"},      // a second time, of what nobody holds
		{"ABa", "P P -"},          // of one process too: it has pressed twice
		{"ABab", "P P - R"},
		{"CDEFGHIJK!c", "P P P P P P P P P -"},    // eight are remembered
		{"CDEFGHIJKL!c", "P P P P P P P P P P R"}, // one more is not
		{"CDEFGHIJKLc", "P P P P P P P P P P -"},  // and ends no press whose client is there
	} {
		var g grip
		var got []string
		gone := false
		for _, c := range row.does {
			id := strings.ToUpper(string(c))
			by := Client{ID: id, Owner: owners[id]}
			switch {
			case c == '!':
				gone = true
			case string(c) == id:
				g, gone = g.pressed(by, 1), false
				got = append(got, "P")
			default:
				next, kind := g.released(by, gone)
				g = next
				got = append(got, map[gpio.Kind]string{0: "-", gpio.Released: "R"}[kind])
			}
		}
		if s := strings.Join(got, " "); s != row.want {
			t.Errorf("%s: %s; want %s", row.does, s, row.want)
		}
	}
}

// served is a key that runs, in a bubble.
type served struct {
	*Key
	seen []string // guarded by mu: a key tells under it
}

func (s *served) latest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grip.press
}

func serve(t *testing.T) *served {
	began := time.Now()
	s := &served{Key: NewKey("key", func() time.Duration { return time.Since(began) })}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		_ = s.Run(ctx, func(e gpio.Event) { s.seen = append(s.seen, fmt.Sprint(e.At, " ", e.Kind)) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return s
}

func (s *served) saw(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.seen, want) {
		t.Errorf("%q; want %q", s.seen, want)
	}
}

func client(id string) (Client, func()) {
	gone := make(chan struct{})
	return Client{ID: id, Gone: gone}, func() { close(gone) }
}

// A key is let go of when the client that holds it has gone for five seconds; the end of another client is nothing to it.
func TestAKeyIsLetGoWhenItsClientGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := serve(t)
		a, aGoes := client("a")
		b, bGoes := client("b")
		k.Press(a)
		time.Sleep(time.Second)
		aGoes()
		time.Sleep(2 * time.Second)
		k.Press(b) // while a's five seconds run
		k.Press(b)
		time.Sleep(time.Minute)
		k.saw(t, "0s pressed", "3s pressed", "3s pressed")
		bGoes()
		time.Sleep(Orphaned - time.Millisecond)
		k.saw(t, "0s pressed", "3s pressed", "3s pressed")
		time.Sleep(time.Millisecond)
		k.saw(t, "0s pressed", "3s pressed", "3s pressed", "1m8s vanished")
		k.Press(a) // gone already
		time.Sleep(time.Minute)
		k.saw(t, "0s pressed", "3s pressed", "3s pressed", "1m8s vanished", "1m8s pressed", "1m13s vanished")
	})
}

// Two clients press, and the second goes: the first one's release ends nothing, and the key is up after five seconds all the same.
func TestAKeyIsLetGoWhenTheClientThatTookItGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := serve(t)
		a, _ := client("a")
		b, bGoes := client("b")
		k.Press(a)
		k.Press(b)
		bGoes()
		k.Release(a)
		time.Sleep(time.Minute)
		k.saw(t, "0s pressed", "0s pressed", "5s vanished")
	})
}

// A recording that has ended by itself lets the key go; that of an earlier press does not.
func TestARecordingThatEndsLetsTheKeyGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := serve(t)
		a, _ := client("a")
		k.Press(a)
		first := k.latest()
		k.Press(a)
		k.CaptureEnded(first)
		k.saw(t, "0s pressed", "0s pressed")
		k.CaptureEnded(k.latest())
		k.saw(t, "0s pressed", "0s pressed", "0s released")
		k.Release(a)
		k.saw(t, "0s pressed", "0s pressed", "0s released")
	})
}
