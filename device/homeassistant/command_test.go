package homeassistant

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"conch/device/control"
	"conch/device/printable"
)

// What may be wanted, and what becomes of it.
func TestCommands(t *testing.T) {
	v := views(t)["in a room"]
	long, longer := strings.Repeat("ä", maxSay), strings.Repeat("ä", maxSay+1)
	for _, c := range []struct {
		topic, payload string
		may            bool
		want           string // path and body; else the problem
	}{
		{"stop", "PRESS", false, "/hush"},
		{"stop", "", false, "not a value of this entity"},
		{"stop", "press", false, "not a value of this entity"},
		{"microphone", "OFF", false, `/mute {"muted":true}`},
		{"microphone", "ON", false, "homeassistant.may_listen is false"},
		{"microphone", "ON", true, `/mute {"muted":false}`},
		{"microphone", "TOGGLE", true, "not a value of this entity"},
		{"talk", "ON", false, "no such entity"},
		{"talk", "OFF", false, "no such entity"},
		{"talk", "ON", true, "/press"},
		{"talk", "OFF", true, "/release"},
		{"volume", "0", false, `/volume {"percent":0}`},
		{"volume", "55.0", false, `/volume {"percent":55}`},
		{"volume", "100", false, `/volume {"percent":100}`},
		{"volume", "100.5", false, "not a value of this entity"},
		{"volume", "-1", false, "not a value of this entity"},
		{"volume", "NaN", false, "not a value of this entity"},
		{"volume", "0x10", false, "not a value of this entity"},
		{"volume", "loud", false, "not a value of this entity"},
		{"involvement", "off", false, `/room/control {"involvement":"off"}`},
		{"involvement_ada", "high", false, `/room/control {"companion":"ada","involvement":"high"}`},
		{"involvement_ada", "", false, "not a value of this entity"},
		{"involvement_cleo", "high", false, "no such entity"}, // lives elsewhere
		{"say", "Dinner is ready.", false, `/say {"text":"Dinner is ready."}`},
		{"say", long, false, `/say {"text":"` + long + `"}`},
		{"say", longer, false, "too long"},
		{"announce", longer, false, `/say {"text":"` + longer + `"}`},
		{"announce", strings.Repeat("x", maxPayload+1), false, "too long"},
		{"announce", `{"text":"Fire!","priority":"preempt","ttl":"10s"}`, false, `/say {"text":"Fire!","priority":"preempt","ttl":"10s"}`},
		{"announce", `{"text":"Fire!","key":"timer.1"}`, false, `/say {"text":"Fire!"}`}, // what a skill says is not replaced by it
		{"announce", `{"text":"Fire!","priority":"shout"}`, false, "not a value of this entity"},
		{"announce", `{"text":"a"} and more`, false, "not a value of this entity"},
		{"announce", `{"text": broken`, false, "not a value of this entity"},
		{"announce", `{"text": 42}`, false, "not a value of this entity"},
		{"say", `{}`, false, "not text"},
		{"say", `{just braces}`, false, `/say {"text":"{just braces}"}`},
		{"say", " \n ", false, "not text"},
		{"say", "a\x00b\u202ec\nd", false, "/say {\"text\":\"a\ufffdbc d\"}"},
		{"say", "\xff\xfe", false, "not text"},
		{"state", "idle", true, "no such entity"},
		{"button", `{"event_type":"press"}`, true, "no such entity"},
		{"floor", "ada", true, "no such entity"},
		{"say/more", "x", true, "no such entity"},
		{"", "x", true, "no such entity"},
	} {
		a := someAbout()
		a.mayListen = c.may
		r, why := a.decode(v.entities(a.rules), a.of(c.topic, "set"), []byte(c.payload))
		got := string(why)
		if why == "" {
			if got = r.path; r.body != nil {
				got += " " + encode(r.body)
			}
		}
		if got != c.want {
			t.Errorf("%s %.80q, may listen %t: %.200s; want %.200s", c.topic, c.payload, c.may, got, c.want)
		}
	}
	a := someAbout()
	for _, topic := range []string{a.of("stop", "state"), "conch-ha/other/stop/set", "conch/room/stop/set", a.base() + "/set", "homeassistant/status", ""} {
		if r, why := a.decode(v.entities(a.rules), topic, []byte("PRESS")); why != noEntity {
			t.Errorf("%s is obeyed: %+v", topic, r)
		}
	}
}

// Whoever floods is held up; whoever wants silence is not.
func TestGate(t *testing.T) {
	var g gate
	loud := request{path: "/volume"}
	passed := func(r request, times int, now time.Duration) (n int) {
		for range times {
			if g.pass(r, now) == "" {
				n++
			}
		}
		return n
	}
	if n := passed(loud, 1000, 0); n != burst {
		t.Errorf("%d of 1000 at once pass; want %d", n, burst)
	}
	if n := passed(request{quiet: true}, 1000, 0); n != burst {
		t.Errorf("of a flood of other things %d wishes for silence pass; want %d", n, burst)
	}
	if n := passed(loud, 1000, time.Second); n != perSecond {
		t.Errorf("a second later %d pass; want %d", n, perSecond)
	}
	if n := passed(loud, 1000, time.Hour); n != burst {
		t.Errorf("an hour later %d pass; want %d", n, burst)
	}
	g = gate{}
	say := func(words string, now time.Duration) problem { return g.pass(request{words: words}, now) }
	for _, c := range []struct {
		words string
		at    time.Duration
		want  problem
	}{
		{"dinner", 0, ""}, {"dinner", time.Second, said}, {"bed", time.Second, ""}, {"dinner", time.Second, ""}, {"dinner", 4 * time.Second, ""},
	} {
		if got := say(c.words, c.at); got != c.want {
			t.Errorf("%q after %s: %q; want %q", c.words, c.at, got, c.want)
		}
	}
}

// Nothing that comes makes more of itself than a request that the socket knows, and nothing opens the microphone that may not.
func FuzzCommand(f *testing.F) {
	for _, key := range []string{"stop", "microphone", "talk", "volume", "involvement", "involvement_ada", "say", "announce", "state", "../say"} {
		for _, payload := range []string{"PRESS", "ON", "OFF", "50", "off", "Hello.", `{"text":"x","ttl":"5s"}`, `{"text":`, "\xff", "1e309", "\u202e"} {
			f.Add(key, []byte(payload))
		}
	}
	v := views(f)["in a room"]
	a := someAbout()
	a.rules = rules{}
	all := v.entities(a.rules)
	paths := []string{"/hush", "/mute", "/volume", "/room/control", "/say"}
	f.Fuzz(func(t *testing.T, key string, payload []byte) {
		r, why := a.decode(all, a.of(key, "set"), payload)
		if why != "" {
			if r.path != "" {
				t.Fatalf("%q is refused (%s), and asks for %s", payload, why, r.path)
			}
			return
		}
		if !slices.Contains(paths, r.path) || r.holds {
			t.Fatalf("%s %q asks for %s", key, payload, r.path)
		}
		text, err := json.Marshal(r.body)
		if err != nil || len(text) > 8*maxPayload || !utf8.Valid(text) {
			t.Fatalf("%s %q: %v, %d bytes", key, payload, err, len(text))
		}
		switch body := r.body.(type) {
		case map[string]bool:
			if !body["muted"] {
				t.Fatalf("%q lifts a mute", payload)
			}
		case control.SayRequest:
			if !printable.IsText(body.Text) || body.Key != "" {
				t.Fatalf("%q is said as %+v", payload, body)
			}
		case control.VolumeRequest:
			if _, err := body.Percentage(0); err != nil || body.Percent == nil {
				t.Fatalf("%q: %v", payload, err)
			}
		}
	})
}
