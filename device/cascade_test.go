package device

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions/round"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/state"
)

// chainBox is a device whose answers come from a chain of that script.
func chainBox(t *testing.T, s cascadetest.Script, change func(*config.Config)) (*box, *cascadetest.Chain) {
	t.Helper()
	chain := cascadetest.New(s)
	server := httptest.NewServer(chain)
	b := newBox(t, boxOptions{address: server.URL, config: func(c *config.Config) {
		c.Voice.Kind = "cascade"
		if change != nil {
			change(c)
		}
	}})
	t.Cleanup(func() { // behind the device's end, which is registered later and so comes first
		if n := chain.Open(); n > 0 {
			t.Errorf("%d requests are open", n)
		}
	})
	t.Cleanup(server.Close)
	return b, chain
}

// A conversation through a whole device with a chain of three stages: typed and spoken questions, a tool, and a press in the middle of a
// long answer, of which the next question knows what was heard and no more.
func TestACascadeConverses(t *testing.T) {
	t.Parallel()
	b, chain := chainBox(t, cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
		switch last := q.Messages()[len(q.Messages())-1]; {
		case strings.HasPrefix(last, "tool: "):
			return cascadetest.Reply{Text: "It is louder now.", Pace: 30}
		case strings.Contains(last, "louder"):
			return cascadetest.Reply{Calls: []cascadetest.Call{{ID: "c-1", Name: "set_volume", Args: `{"percent":80}`}}}
		case strings.HasSuffix(last, "long"): // nothing of an answer was heard: the next question stands behind this one
			return cascadetest.Reply{Text: strings.Repeat("This is one sentence of a very long story. ", 30), Pace: 100}
		}
		return cascadetest.Reply{Text: "It is three.", Pace: 30}
	}, Say: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Times: 10} }}, nil)
	b.fine()
	if r := b.ask("louder please"); r.Said == "" || r.Tools != 1 {
		t.Errorf("after a tool: %+v", r)
	}
	n := len(b.turnsEnded())
	b.question("long")
	b.until("speaking", b.Speaking)
	b.pause(patience / 60)
	b.talk(patience / 200)
	b.until("answered", func() bool { return len(b.turnsEnded()) > n+1 })
	b.quiet()
	long := b.turnsEnded()[n]
	b.answered(b.turnsEnded()[n+1])
	if long.Reason != turn.InterruptedByPress.String() || long.HeardMS < 100 {
		t.Errorf("the long answer: %+v", long)
	}
	chats := chain.Requests(cascadetest.Chat)
	all := strings.Join(chats[len(chats)-1].Messages(), "|")
	said := strings.Count(all, "This is one sentence")
	if most := int(long.HeardMS/1000/2.5) + 2; said == 0 && long.HeardMS > 1500 || said > most {
		t.Errorf("%.0f ms were heard, and the next question knows of %d sentences:\n%s", long.HeardMS, said, all)
	}
	if !strings.Contains(all, `"do":"set_volume"`) || !strings.Contains(all, "tool: ") {
		t.Errorf("the call and what came of it are not known: %s", all)
	}
}

// What every question begins with fits into the context of a small model, with all the skills that there are: who the companion is and what it
// can do. A call of a skill's one tool is a call of the tool that it names.
func TestThePromptFitsASmallModel(t *testing.T) {
	t.Parallel()
	const most = 3900 // bytes of JSON
	b, chain := chainBox(t, cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
		if last := q.Messages()[len(q.Messages())-1]; strings.HasPrefix(last, "tool: ") {
			return cascadetest.Reply{Text: strings.TrimPrefix(last, "tool: ")}
		}
		return cascadetest.Reply{Calls: []cascadetest.Call{{ID: "c-1", Name: "timers", Args: `{"do":"set_timer","seconds":600,"name":"the pasta","all":false}`}}}
	}}, func(c *config.Config) {
		c.Radio.Stations = []config.Station{{Name: "Jazz", URL: "http://radio.lan/jazz"}, {Name: "News", URL: "http://radio.lan/news"}}
	})
	if r := b.ask("ten minutes for the pasta"); r.Tools != 1 || !strings.Contains(r.Said, "the pasta") {
		t.Errorf("%d tools, said %q", r.Tools, r.Said)
	}
	body, err := json.Marshal(chain.Requests(cascadetest.Chat)[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(body))
	if len(body) > most || !bytes.Contains(body, []byte("play_radio")) {
		t.Errorf("%d bytes; want at most %d:\n%s", len(body), most, body)
	}
}

// With an address that does not say what it speaks, the server is asked: it is told what was found, and remembered, so that the next start
// need not ask; and asked again when it has become another one.
func TestWhatAServerSpeaksIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chain := cascadetest.New(cascadetest.Script{Models: []string{"m"}})
	at := httptest.NewServer(chain)
	defer at.Close()
	auto := func(c *config.Config) {
		c.Voice.Kind, c.State.Dir = "auto", dir
		c.Voice.URL = strings.Replace(c.Voice.URL, "ws://", "http://", 1)
	}
	b := newBox(t, boxOptions{address: at.URL, config: auto})
	b.answered(b.ask("short"))
	if got := b.answers.called(); !strings.HasPrefix(got, "cascade, its model at ") {
		t.Errorf("called %q", got)
	}
	if found, _ := b.found(); found(at.URL) != "cascade" || found("http://other.lan") != "" {
		t.Errorf("remembered is %q", found(at.URL))
	}
	other := newBox(t, boxOptions{config: func(c *config.Config) { // a rehearsal: a server that speaks Realtime
		auto(c)
		c.State.Dir = t.TempDir()
	}})
	other.answered(other.ask("short"))
	if got := other.answers.called(); !strings.HasPrefix(got, "realtime, ") {
		t.Errorf("called %q", got)
	}
	wrong := newBox(t, boxOptions{config: func(c *config.Config) {
		auto(c)
		c.State.Dir = t.TempDir()
		s, err := state.Open(c.State.Dir)
		if err != nil || s.Save(speaksFile, keptSpeaks{c.Voice.URL, "cascade"}) != nil {
			t.Fatal(err)
		}
	}})
	wrong.answered(wrong.ask("short"))
	if got := wrong.answers.called(); !strings.HasPrefix(got, "realtime, ") {
		t.Errorf("called %q", got)
	}
}

// Three companions, each on a device of its own, and one server for all of them that serves one request at a time: who is called answers,
// wherever it was said, the others get to know it, and nobody is left without an answer because another one's request was first.
func TestARoomOnOneServerThatServesOneAtATime(t *testing.T) {
	f := newFlat(t)
	var hears atomic.Pointer[string]
	question := func(s string) { hears.Store(&s) }
	question("ben, tell us a joke")
	chain := cascadetest.New(cascadetest.Script{Models: []string{"m"}, Single: true,
		Hear: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Text: *hears.Load(), Wait: 50 * time.Millisecond}
		},
		Chat: func(q cascadetest.Request) cascadetest.Reply {
			all := strings.Join(q.Messages(), "|")
			for _, name := range []string{"Ada", "Ben", "Cleo"} {
				if strings.Contains(strings.SplitN(all, "|", 2)[0], "You are "+name) {
					return cascadetest.Reply{Text: "This is " + name + " speaking now. And that is all.", Pace: 50, Wait: 50 * time.Millisecond}
				}
			}
			return cascadetest.Reply{Text: "Nobody."}
		}, Say: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Times: 10, Wait: 50 * time.Millisecond}
		}})
	server := httptest.NewServer(chain)
	t.Cleanup(server.Close)
	on := boxOptions{address: server.URL, config: func(c *config.Config) { c.Voice.Kind = "cascade" }}
	kitchen, hall, attic := f.raise("kitchen", "Ada", on), f.raise("hall", "Ben", on), f.raise("attic", "Cleo", on)
	f.meet()
	said := func(x *inFlat, by round.CompanionID, text string) {
		t.Helper()
		x.wait(string(by)+" has the floor", kind(round.EntryClaim, by))
		x.until(string(by)+" has said it", func() bool {
			return slices.ContainsFunc(x.turnsEnded(), func(r control.Turn) bool { return strings.Contains(r.Said, text) && r.Reason == turn.Done.String() })
		})
		f.calm()
	}
	kitchen.talk(400 * time.Millisecond) // spoken in the kitchen, answered in the hall
	said(hall, "ben", "This is Ben speaking now.")
	question("and what do you think, cleo?")
	hall.talk(400 * time.Millisecond)
	said(attic, "cleo", "This is Cleo speaking now.")
	attic.types("Ada, and you?")
	said(kitchen, "ada", "This is Ada speaking now.")
	chats := chain.Requests(cascadetest.Chat)
	last := strings.Join(chats[len(chats)-1].Messages(), "|")
	if !strings.Contains(last, "Ben") || !strings.Contains(last, "This is Cleo speaking now.") {
		t.Errorf("Ada answers without knowing what the others have said: %s", last)
	}
	if n := len(chain.Requests(cascadetest.Hear)); n < 2 {
		t.Errorf("%d requests for a transcript", n)
	}
}

// What a chain cannot do is told in words, shows as a condition, and leaves the device at rest; when it is well again, the next question is
// answered.
func TestAChainThatFailsIsTold(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		bad  cascadetest.Script
		want turn.Words
	}{
		{"wrong key", cascadetest.Script{Key: "another"}, turn.WordsKeyRefused},
		{"a web page", cascadetest.Script{Chat: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Type: "text/html", Body: "<html>Sign in</html>"}
		}}, turn.WordsElsewhere},
		{"no such model", cascadetest.Script{Chat: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Status: 404, Body: `{"error":"model 'm' not found"}`}
		}}, turn.WordsModelRefused},
		{"never answered", cascadetest.Script{Chat: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Hang: true} }}, turn.WordsNoAnswer},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b, chain := chainBox(t, cascadetest.Script{Models: []string{"m"}}, func(c *config.Config) {
				c.Turn.Commit, c.Turn.Reconnect = 3*time.Second, time.Second
			})
			row.bad.Models = []string{"m"}
			chain.Be(row.bad)
			r := b.ask("short")
			if r.Words != string(row.want) || r.Reason == turn.Done.String() {
				t.Errorf("%s: %+v; want the words %s", row.name, r, row.want)
			}
			b.until("a condition", func() bool { return b.holds(condition.VoiceLost) })
			b.state(turn.Idle)
			chain.Be(cascadetest.Script{Models: []string{"m"}})
			b.until("well again", func() bool { b.nudge(); return !b.holds(condition.VoiceLost) })
			b.answered(b.ask("short"))
		})
	}
}

// A question that was spoken while the chain is slow is kept, and asked when the chain is warm; one that was typed is told, and over. Whoever
// looks at the device is told that it is slow, and of no network.
func TestAChainThatIsSlowKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	b, chain := chainBox(t, cascadetest.Script{Models: []string{"m"}}, func(c *config.Config) {
		awake(c)
		c.Turn.Commit, c.Turn.Reconnect = 3*time.Second, time.Second
	})
	slow := cascadetest.Script{Models: []string{"m"}, Chat: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Hang: true} }}
	chain.Be(slow)
	r := b.say(500 * time.Millisecond)
	b.failed(r, turn.Expired, turn.WordsNoAnswer)
	if c := b.heard(turn.WordsKept, r.Ended+4*time.Second); c < 0.8 {
		t.Errorf("it is not said that the question is kept (likeness %.2f)", c)
	}
	if !b.holds(condition.VoiceLost) {
		t.Error("no condition says that the voice is lost")
	}
	for _, c := range b.conds.List() {
		if c.Code == condition.VoiceLost && (!strings.Contains(c.Do, "turn.commit_s") || !strings.Contains(c.Text, "nothing of an answer")) {
			t.Errorf("%+v", c)
		}
	}
	n := len(b.turnsEnded())
	b.asked.Add(1) // nobody presses for it
	chain.Be(cascadetest.Script{Models: []string{"m"}})
	b.until("well again", func() bool { b.nudge(); return !b.holds(condition.VoiceLost) })
	b.until("the end of the kept question", func() bool { return len(b.turnsEnded()) > n })
	b.quiet()
	if r := b.turnsEnded()[n]; r.Source != turn.SourceInject.String() {
		t.Errorf("it began with %q", r.Source)
	} else {
		b.answered(r)
	}
}
