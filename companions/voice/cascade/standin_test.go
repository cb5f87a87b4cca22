package cascade

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// able is a program of this machine that hears and speaks, and counts how often.
type able struct {
	stage
	heard, said atomic.Int32
	texts       sync.Map // number of the call, from 1 -> what was said
}

func (p *able) String() string { return "flite" }

func (p *able) hear(context.Context, []int16, string) (string, error) {
	p.heard.Add(1)
	return "heard here", nil
}

func (p *able) say(_ context.Context, text, _ string, on func([]int16) bool) error {
	p.texts.Store(p.said.Add(1), text)
	on(cascadetest.Sound(1, kit.Rate))
	return nil
}

// A stage that is bad from the beginning, of which this machine can do the work: the voice is ready all the same, what is wrong is told, and
// the stage does it again once it is mended, without a restart.
func TestAStageThatIsBadFromTheStartIsDoneHere(t *testing.T) {
	aac := "\xff\xf1\x50\x80" + strings.Repeat("\x00", 200)
	for _, row := range []struct {
		name   string
		bad    cascadetest.Script
		change func(*voice.Settings, *voice.Companion, *Config)
		told   string // "": nothing that mends it is played
		ear    bool
		never  bool
	}{
		{name: "speech as AAC", bad: cascadetest.Script{Say: with(200, "audio/aac", aac)}, told: "voice.speak (done by flite of this machine)|AAC"},
		{name: "speech refused", bad: cascadetest.Script{Say: with(401, "application/json", `{"error":"no"}`)}, told: "voice.speak|status 401"},
		{name: "speech that hangs", bad: cascadetest.Script{Say: says(cascadetest.Reply{Hang: true})}, told: "voice.speak|nothing of speech"},
		{name: "hearing refused", bad: cascadetest.Script{Hear: with(401, "application/json", `{"error":"no"}`)}, told: "voice.hear|status 401", ear: true},
		{name: "hearing that is garbage", bad: cascadetest.Script{Hear: with(200, "application/json", `{"text": "hel`)}, told: "voice.hear|cannot be read", ear: true},
		{name: "hearing that hangs", bad: cascadetest.Script{Hear: says(cascadetest.Reply{Hang: true})}, told: "voice.hear|nothing of a transcript", ear: true},
		{name: "a program that is not there", change: own("", "speak", "piper /nowhere/en.onnx"), told: "voice.speak|\"piper\" is not installed", never: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var parts, whys []string
				row.bad.Models = []string{"m"}
				here := &able{}
				w := start(t, row.bad, func(s *voice.Settings, c *voice.Companion, cfg *Config) {
					c.Refused = func(p []string, why string) {
						mu.Lock()
						defer mu.Unlock()
						parts, whys = append(parts, strings.Join(p, ",")), append(whys, why)
					}
					if row.change != nil {
						row.change(s, c, cfg)
					}
				}, func(c *Client) { c.here, c.heres = here, here })
				defer w.end()
				if e := w.first(turn.SessionReady{}).(turn.SessionReady); e.At > 10*time.Second {
					t.Errorf("ready after %v", e.At)
				}
				w.answer("t-1", "Hello there.")
				if row.ear != (here.heard.Load() > 0) || row.ear == (here.said.Load() > 0) {
					t.Errorf("this machine heard %d times, and spoke %d times", here.heard.Load(), here.said.Load())
				}
				part, why, _ := strings.Cut(row.told, "|")
				mu.Lock()
				if n := len(parts); n == 0 || !strings.HasPrefix(parts[n-1], part) || !strings.Contains(whys[n-1], why) {
					t.Errorf("told %q, %q; want %q", parts, whys, row.told)
				}
				mu.Unlock()
				if row.never {
					return
				}
				w.chain.Be(cascadetest.Script{Models: []string{"m"}})
				w.c.Do(turn.ClearInput{Turn: "t-2"}) // a press has it looked at
				time.Sleep(4 * time.Minute)          // virtual; without one it is half a minute, or the limit of a request that hangs
				before := here.heard.Load() + here.said.Load()
				w.answer("t-3", "Hello there.")
				if n := here.heard.Load() + here.said.Load() - before; n > 0 {
					t.Errorf("what is mended is still done by this machine, %d times", n)
				}
				mu.Lock()
				defer mu.Unlock()
				if p := parts[len(parts)-1]; p != "" {
					t.Errorf("told at the end that it goes without %q", p)
				}
				if lost := w.lost(); slices.ContainsFunc(lost, func(turn.Words) bool { return true }) {
					t.Errorf("sessions lost: %q", lost)
				}
			})
		})
	}
}

// A server that breaks in the middle of a sentence: this machine says the rest, and the answer is asked for and paid once.
func TestTheRestOfASentenceIsSaidHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "The first train of the morning leaves at seven from the platform behind the old station."
		here := &able{}
		w := start(t, cascadetest.Script{Models: []string{"m"}}, nil, func(c *Client) { c.here, c.heres = here, here })
		defer w.end()
		w.first(turn.SessionReady{})
		w.chain.Be(cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Text: text}), Say: says(cascadetest.Reply{Cut: 1500})})
		before := len(w.chain.Requests(cascadetest.Chat)) // of practice
		w.press("t-1")
		if d := w.done(1); d.Status != turn.ResponseCompleted {
			t.Errorf("%+v", d)
		}
		var parts []string
		for i := range here.said.Load() {
			part, _ := here.texts.Load(i + 1)
			parts = append(parts, part.(string))
		}
		slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(strings.Index(text, a), strings.Index(text, b)) }) // made side by side
		// The second piece was asked for meanwhile, or not: then all of it is said here.
		rest := strings.Join(parts, " ")
		foreign := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
		if foreign || len(parts) == 0 || !strings.HasSuffix(text, parts[len(parts)-1]) || len(rest) < len(text)/2 || len(rest) > len(text)*9/10 {
			t.Errorf("this machine says %q", parts)
		}
		if n := len(w.chain.Requests(cascadetest.Chat)) - before; n != 1 {
			t.Errorf("%d requests for one answer", n)
		}
	})
}

func TestRemaining(t *testing.T) {
	for _, row := range []struct {
		text    string
		seconds float64
		want    string
	}{
		{"It is three.", 0, "It is three."}, {"It is three.", 0.3, "is three."}, {"It is three.", 5, "three."},
		{"Größer als je zuvor.", 0.5, "als je zuvor."}, {"Donaudampfschifffahrt", 1, "Donaudampfschifffahrt"}, {"", 1, ""},
	} {
		if got := remaining(row.text, int(row.seconds*kit.Rate)); got != row.want {
			t.Errorf("after %.1f s of %q: %q; want %q", row.seconds, row.text, got, row.want)
		}
	}
}

// A network that was away takes nothing from the servers: the first question after it is heard and answered by them.
func TestWhatComesBackWithTheNetworkIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := &able{}
		w := start(t, cascadetest.Script{Models: []string{"m"}}, nil, func(c *Client) { c.here, c.heres = here, here })
		defer w.end()
		w.first(turn.SessionReady{})
		down := func(is bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.down = is
		}
		down(true)
		w.client.CloseIdleConnections()
		w.press("t-1")
		w.first(turn.SessionLost{})
		time.Sleep(20 * time.Second) // virtual
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		before := here.heard.Load() + here.said.Load()
		down(false)
		w.c.Nudge()
		w.nth(turn.SessionReady{}, 2)
		w.answer("t-2", "Hello there.")
		if n := here.heard.Load() + here.said.Load() - before; n > 0 {
			t.Errorf("this machine did a part %d times", n)
		}
	})
}
