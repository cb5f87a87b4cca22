package cascade

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// A server that loads its models for a minute when it is first asked: nobody is told that the voice is ready before. After hours of
// silence it has forgotten them. Then the press has it load them again, a question that comes too early waits, and is answered.
func TestColdStartOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, cascadetest.Script{Models: []string{"m"}, Cold: time.Minute}, nil)
		defer w.end()
		if e := w.first(turn.SessionReady{}).(turn.SessionReady); e.At < time.Minute || e.At > 62*time.Second {
			t.Errorf("ready after %v; want the minute that it takes", e.At)
		}
		w.press("t-1")
		w.done(1)
		time.Sleep(5 * time.Hour)
		pressed := w.Now()
		w.press("t-2")
		lost := w.first(turn.SessionLost{}).(turn.SessionLost)
		if took := lost.At - pressed; took > 8*time.Second || lost.Fatal {
			t.Errorf("that it loads is told after %v (%+v); want within the patience of a turn", took, lost)
		}
		w.nth(turn.SessionReady{}, 2)
		if d := w.done(2); d.Turn != "t-2" || d.Status != turn.ResponseCompleted {
			t.Errorf("%+v\n%s", d, w.story())
		}
	})
}

// A server that hung, and has forgotten the request that it hung with, is well: a press finds that out, however long the request is still
// waited for. Who presses all the time asks no more than once in a while; and without a press it is the limit of the request.
func TestAPressFindsAServerThatHungWell(t *testing.T) {
	for _, row := range []struct {
		name        string
		press       time.Duration // after the beginning; 0: nobody does
		ready, most time.Duration
	}{
		{"a press", time.Minute, time.Minute, 62 * time.Second},
		{"nobody", 0, 3 * time.Minute, 3*time.Minute + 10*time.Second},
		{"too early to tell", 20 * time.Second, 3 * time.Minute, 3*time.Minute + 10*time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			began := sync.OnceValue(time.Now) // of virtual time: when it is asked first
			within(t, cascadetest.Script{Models: []string{"m"}, Before: func(_ http.ResponseWriter, r *http.Request, stage string) bool {
				if stage == cascadetest.Chat && time.Since(began()) < 40*time.Second {
					<-r.Context().Done()
					return true
				}
				return false
			}}, nil, func(w *world) {
				if row.press > 0 {
					time.Sleep(row.press)
					w.press("t-1")
				}
				if at := w.first(turn.SessionReady{}).(turn.SessionReady).At; at < row.ready || at > row.most {
					t.Errorf("ready after %v; want %v to %v", at, row.ready, row.most)
				}
				if row.press > 0 {
					if d := w.done(1); d.Turn != "t-1" || d.Status != turn.ResponseCompleted {
						t.Errorf("%+v", d)
					}
				}
			})
		})
	}
	within(t, cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Hang: true})}, nil, func(w *world) {
		for i := range 170 {
			w.c.Do(turn.ClearInput{Turn: turn.ID(fmt.Sprintf("t-%d", i))})
			time.Sleep(time.Second) // virtual
		}
		if n := len(w.chain.Requests(cascadetest.Chat)); n < 3 || n > 6 {
			t.Errorf("%d requests in 170 s of presses; want one, and one more each half minute", n)
		}
	})
}

// One that takes as long as a person speaks is warm when the button is released.
func TestAPressWarms(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}, Cold: 3 * time.Second}, nil, func(w *world) {
		time.Sleep(5 * time.Hour)
		w.c.Do(turn.ClearInput{Turn: "t-1"})
		time.Sleep(4 * time.Second) // a person speaks
		w.c.Append("t-1", cascadetest.Sound(4, kit.Rate))
		release := w.Now()
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.done(1)
		if first, _ := w.span("t-1"); first-release > 500*time.Millisecond {
			t.Errorf("the first sound came %v after the release", first-release)
		}
		n := len(w.chain.Requests(cascadetest.Chat))
		w.press("t-2")
		w.done(2)
		if k := len(w.chain.Requests(cascadetest.Chat)) - n; k != 1 {
			t.Errorf("%d requests for the next answer: what is warm is not warmed", k)
		}
	})
}

// While nobody can be reached a question waits; with the network it is asked, once.
func TestTheNetworkIsGoneAndComesBack(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
		w.mu.Lock()
		w.down = true
		w.mu.Unlock()
		w.client.CloseIdleConnections()
		w.press("t-1")
		if e := w.first(turn.SessionLost{}).(turn.SessionLost); e.Say != turn.WordsOffline || e.Fatal {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Minute)
		w.mu.Lock()
		w.down = false
		w.mu.Unlock()
		w.c.Nudge()
		if d := w.done(1); d.Turn != "t-1" || d.Status != turn.ResponseCompleted {
			t.Errorf("%+v", d)
		}
		time.Sleep(time.Minute)
		if n := len(w.chain.Requests(cascadetest.Hear)); n != 3 { // warmed twice, asked once
			t.Errorf("%d requests for a transcript", n)
		}
	})
}

// In a room the release only brings the transcript. What others say comes in between, also while nobody can be asked, and the answer is
// asked for when this companion is selected, with the guidance at the end; or never.
func TestInARoomTheAnswerWaitsForTheSelection(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
		n := len(w.chain.Requests(cascadetest.Chat))
		w.say("t-1")
		w.first(turn.Transcribed{})
		w.c.Do(turn.AddText{Role: "user", Text: "[Ben in kitchen] I can do that."})
		time.Sleep(time.Minute)
		if k := len(w.chain.Requests(cascadetest.Chat)) - n; k != 0 {
			t.Errorf("%d answers were asked for", k)
		}
		w.c.Do(turn.CreateResponse{Turn: "t-1", Prompt: "In the room: be brief."})
		w.done(1)
		want := []string{"system: You are Ada.", "user: hello there\n[Ben in kitchen] I can do that.\n(For you alone: In the room: be brief.)"}
		if got := w.last(); !slices.Equal(got, want) {
			t.Errorf("asked with\n%q\nwant\n%q", got, want)
		}
		w.say("t-2") // another one is selected
		w.nth(turn.Transcribed{}, 2)
		w.c.Do(turn.AddText{Role: "user", Text: "[Ben] Done."})
		w.say("t-3")
		w.nth(turn.Transcribed{}, 3)
		w.c.Do(turn.CreateResponse{Turn: "t-3"})
		w.done(2)
		got := strings.Join(w.last(), "|")
		if !strings.HasSuffix(got, "assistant: Hello there.|user: hello there\n[Ben] Done.\nhello there") {
			t.Errorf("asked with %q", got)
		}
	})
}

// A question that is kept is heard whole when it is asked at last.
func TestAKeptQuestionIsAsked(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
		w.mu.Lock()
		w.down = true
		w.mu.Unlock()
		w.client.CloseIdleConnections()
		w.press("t-1")
		w.first(turn.SessionLost{})
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		w.c.Do(turn.KeepInput{Turn: "t-1"})
		w.mu.Lock()
		w.down = false
		w.mu.Unlock()
		w.nth(turn.SessionReady{}, 2)
		time.Sleep(time.Second)
		w.c.Do(turn.ClearInput{Turn: "t-2", Kept: "t-1"})
		w.c.Do(turn.CommitInput{Turn: "t-2"})
		w.c.Do(turn.CreateResponse{Turn: "t-2"})
		w.done(1)
		if q := w.asked(cascadetest.Hear); q.Samples != 16000 {
			t.Errorf("%d samples were heard; want all 16000 of the kept question", q.Samples)
		}
		if got := w.last(); !slices.Equal(got, []string{"system: You are Ada.", "user: hello there"}) {
			t.Errorf("asked with %q", got)
		}
	})
}

// What the household allows in a day is an end in words, also where the server does not count; and the count is kept.
func TestTheCeilingOfTheDay(t *testing.T) {
	var kept []byte
	in(t, cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Text: "One two three four five six seven."})}, func(s *voice.Settings, c *voice.Companion, _ *Config) {
		s.CeilingTokens, s.PriceIn = 10, 1e6
		c.Save = func(b []byte) error { kept = b; return nil }
	}, func(w *world) {
		w.press("t-1")
		w.done(1)
		w.press("t-2")
		if e := w.first(turn.ResponseRefused{}).(turn.ResponseRefused); e.Turn != "t-2" || e.Say != turn.WordsCeiling {
			t.Errorf("%+v", e)
		}
		if u := w.c.usage.Usage(); u.Refusing == "" || u.Today.Cost <= 0 || u.Today.HeardSeconds < 2 || u.Today.SaidSeconds <= 0 {
			t.Errorf("%+v", u)
		}
		if err := w.c.usage.Reset(); err != nil {
			t.Error(err)
		}
		w.press("t-3")
		w.done(2)
	})
	if !strings.Contains(string(kept), `"day"`) {
		t.Errorf("kept %s", kept)
	}
}

// What was said before is part of the conversation after a restart, and what is said is handed over to be kept.
func TestTheConversationOutlivesTheProcess(t *testing.T) {
	var kept []voice.Line
	in(t, cascadetest.Script{Models: []string{"m"}}, func(_ *voice.Settings, c *voice.Companion, _ *Config) {
		c.Recall = []voice.Line{{Role: "user", Text: "I am Tom."}, {Role: "assistant", Text: "Hello, Tom."}}
		c.Keep = func(l []voice.Line) error { kept = l; return nil }
	}, func(w *world) {
		w.press("t-1")
		w.done(1)
		if got := w.last(); !slices.Equal(got, []string{"system: You are Ada.", "user: I am Tom.", "assistant: Hello, Tom.", "user: hello there"}) {
			t.Errorf("asked with %q", got)
		}
	})
	if n := len(kept); n != 4 || kept[3].Text != "Hello there." {
		t.Errorf("kept %+v", kept)
	}
}

// An answer that breaks off goes on where the person had heard it, when the coordinator asks for that.
func TestAnAnswerThatBrokeOffGoesOn(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
		if q.N == 1 {
			return cascadetest.Reply{Text: "Once upon a time. There was a king. He had a daughter.", Pace: 10, Cut: 9}
		}
		return cascadetest.Reply{Text: "He had a daughter."}
	}}, nil, func(w *world) {
		w.press("t-1")
		if d := w.done(1); d.Status != turn.ResponseFailed || d.Say != turn.WordsLostMidway {
			t.Errorf("%+v", d)
		}
		w.c.Do(turn.CreateResponse{Turn: "t-1", Resume: true})
		w.done(2)
		if q := w.last(); !strings.Contains(q[len(q)-1], `"Once upon a time. There was a king."`) || !strings.Contains(q[len(q)-1], "Go on from there") {
			t.Errorf("asked with %q", q)
		}
	})
}

// Where this machine hears by itself, it says so: who answers is what is missing.
func TestICanHearYouBut(t *testing.T) {
	have(t, "pocketsphinx_continuous")
	in(t, cascadetest.Script{Models: []string{"m"}}, own("", "hear", "pocketsphinx"), func(w *world) {
		w.mu.Lock()
		w.down = true
		w.mu.Unlock()
		w.client.CloseIdleConnections()
		w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "hello"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		if e := w.first(turn.SessionLost{}).(turn.SessionLost); e.Say != turn.WordsHearOnly || e.Fatal {
			t.Errorf("%+v", e)
		}
	})
}
