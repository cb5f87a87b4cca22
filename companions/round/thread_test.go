package round

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// askedOf is whom a machine lets answer a line of the person here.
func askedOf(t *testing.T, m Machine, at time.Duration, text string) (Machine, CompanionID) {
	t.Helper()
	m, out := Step(m, Said{At: at, ID: MessageID("said" + text), Turn: "t" + text, Text: text})
	for _, e := range out {
		if p, ok := e.(Prepare); ok {
			return m, p.Companion
		}
	}
	return m, ""
}

func threadConfig() Config {
	cfg := DefaultConfig()
	cfg.Self, cfg.Name, cfg.Cards = "kitchen", "kitchen", []Card{{ID: "ada", Name: "Ada", Talkativeness: 2}, {ID: "ben", Name: "Ben"}}
	return cfg
}

// answeredBy lets the one that has been asked say something.
func answeredBy(m Machine, at time.Duration, who CompanionID, text string) Machine {
	p := m.rd.place
	for _, ev := range []Event{
		SpeechBegan{At: at, Place: p, Companion: who},
		SpeechKnown{At: at, Place: p, Companion: who, ID: MessageID("by " + text), Text: text},
		SpeechEnded{At: at, Place: p, Companion: who, OK: true, Heard: time.Second, Text: text},
	} {
		m, _ = Step(m, ev)
	}
	return m
}

// TestThreadSurvivesARestart: whoever spoke with a person last goes on with them, for as long as a thread lasts; a device that has been
// restarted knows it from its memory.
func TestThreadSurvivesARestart(t *testing.T) {
	m, who := askedOf(t, New(threadConfig()), time.Second, "Ben, tell me a story")
	if who != "ben" {
		t.Fatalf("%q is to answer; want ben", who)
	}
	m = answeredBy(m, 2*time.Second, who, "There was a king, and he had a daughter.")
	const goesOn = "the person goes on with what it said"
	why := func(m Machine, at time.Duration) string {
		m, _ = askedOf(t, m, at, "I know a better one.")
		return m.rd.decision.Reason
	}
	if got := why(m, 62*time.Second); got != goesOn {
		t.Errorf("in the thread: %s", got)
	}
	if got := why(m, 62*time.Second+1); got == goesOn {
		t.Error("the thread is over, and goes on")
	}
	cfg := threadConfig()
	cfg.Recent = m.recent
	if got := why(New(cfg), time.Second); got != goesOn {
		t.Errorf("after a restart: %s", got)
	}
	cfg.Recent = nil
	if got := why(New(cfg), time.Second); got == goesOn {
		t.Error("without a memory something goes on")
	}
}

// TestWhoHasLeftIsStillAName: it is no person's, so whoever is there answers.
func TestWhoHasLeftIsStillAName(t *testing.T) {
	m := New(threadConfig())
	m, _ = Step(m, LinkChanged{At: time.Second, Up: true})
	m, _ = Step(m, Received{At: time.Second, From: "hall", Packet: beatOf("hall", "cleo")})
	m, _ = Step(m, Received{At: time.Second, From: "hall", Packet: Beat{Left: true}})
	if _, who := askedOf(t, m, 2*time.Second, "Cleo, where are my keys?"); who != "ada" {
		t.Errorf("%q answers for who has left; want ada", who)
	}
	if _, who := askedOf(t, m, 2*time.Second, "Dora, where are my keys?"); who != "" {
		t.Errorf("%q answers what is said to a person", who)
	}
}

// TestThreadTable writes who has the thread with Eva, in each situation after each fact, into the documentation.
func TestThreadTable(t *testing.T) {
	type talk struct {
		t  Threads
		at time.Duration
	}
	say := func(who Participant) func(talk) talk {
		return func(x talk) talk { return talk{x.t.Next(Message{From: who, Text: "x"}, x.at), x.at} }
	}
	wait := func(d time.Duration) func(talk) talk { return func(x talk) talk { return talk{x.t, x.at + d} } }
	after := func(x talk, facts ...func(talk) talk) talk {
		for _, f := range facts {
			x = f(x)
		}
		return x
	}
	situations := []struct {
		letter, name string
		talk         talk
	}{
		{"n", "nobody has it", talk{}},
		{"e", "Eva has said something, and nobody has answered", after(talk{}, say(eva))},
		{"a", "Ada has it", after(talk{}, say(eva), say("ada"))},
		{"m", "Ada has it, and Max has said something", after(talk{}, say(eva), say("ada"), say(maxim))},
	}
	rows := []struct {
		label string
		fact  func(talk) talk
	}{
		{"Eva says something", say(eva)},
		{"Max says something", say(maxim)},
		{"Ada speaks", say("ada")},
		{"Ben speaks", say("ben")},
		{"Ada speaks, and Ben too", func(x talk) talk { return after(x, say("ada"), say("ben")) }},
		{"nobody, for a while", func(x talk) talk {
			x.t = x.t.Next(Message{From: eva, Metadata: Metadata{Silence: true}}, x.at)
			return x
		}},
		{"a minute passes", wait(60 * time.Second)},
		{"more than a minute", wait(60*time.Second + 1)},
	}
	var table strings.Builder
	for _, s := range situations {
		fmt.Fprintf(&table, "%s  %s\n", s.letter, s.name)
	}
	fmt.Fprintf(&table, "\n%-28s", "")
	for _, s := range situations {
		fmt.Fprintf(&table, "%-5s", s.letter)
	}
	for _, r := range rows {
		line := fmt.Sprintf("%-28s", r.label)
		for _, s := range situations {
			x := r.fact(s.talk)
			line += fmt.Sprintf("%-5s", cmp.Or(string(x.t.With(eva, x.at)), "."))
		}
		fmt.Fprintf(&table, "\n%s", strings.TrimRight(line, " "))
	}
	lines := regexp.MustCompile(` +\n`).ReplaceAllString(table.String(), "\n")
	golden(t, "testdata/threads.txt", lines+"\n")
}
