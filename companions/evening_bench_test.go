package companions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"conch/companions"
	"conch/companions/chattest"
	"conch/companions/roomtest"
	"conch/companions/round"
	"conch/companions/voice/rehearsal"
	"conch/device/benchtest"
)

// spoken is a line of the evening, and at which device it is said.
type spoken struct {
	device, text string
	last         bool // of its talk
}

// evening are the lines of testdata/evening.txt.
func evening(tb testing.TB) (lines []spoken) {
	tb.Helper()
	data, err := os.ReadFile("testdata/evening.txt")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		device, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(line, "#"):
		case ok:
			lines = append(lines, spoken{device: device, text: text})
		case len(lines) > 0:
			lines[len(lines)-1].last = true
		}
	}
	lines[len(lines)-1].last = true
	return lines
}

// votesBy is how a room of the evening votes.
type votesBy struct {
	votes string  // room.votes
	sure  float64 // as device/room sets it
	loud  bool    // the model wants everybody to speak, whatever was said; else it agrees with the rules
	apart bool    // each companion has a device of its own

	calls, answers float64 // promised at most, of each a message
}

func (v votesBy) String() string {
	name := v.votes + map[bool]string{true: "-always-10"}[v.loud]
	return name + map[bool]string{true: "/three-devices", false: "/one-device"}[v.apart]
}

// bill is what an evening has cost.
type bill struct {
	messages, answers, heard int // of people; asked of a voice; of those, that could be heard
	calls, bytes             int // of the model for votes, and what they sent
}

// handler takes a client's requests to a server without a network, since virtual time waits for none.
type handler struct{ http.Handler }

func (h handler) RoundTrip(q *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w.Result(), nil
}

// ballots answer as a model would.
func (v votesBy) ballots(r chattest.Request) chattest.Reply {
	var asked struct {
		Rules []map[string]any `json:"votes_of_the_rules"`
	}
	if err := json.Unmarshal([]byte(r.User), &asked); err != nil {
		return chattest.Reply{Status: http.StatusBadRequest}
	}
	for _, b := range asked.Rules {
		b["closing"], b["reason"] = "none", "so the model says"
		if v.loud {
			b["state"], b["importance"] = "speak", 10
		}
	}
	data, _ := json.Marshal(map[string]any{"intent": "statement", "tone": "neutral", "votes": asked.Rules})
	return chattest.Reply{Content: string(data)}
}

// talker is the rehearsal voice's words for one who answers: it knows what everybody has said.
type talker struct {
	mu    sync.Mutex
	lines []rehearsal.Line
}

func (k *talker) says(who, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, rehearsal.Line{Who: who, Text: text})
	k.lines = k.lines[max(0, len(k.lines)-12):]
}

func (k *talker) answer(p round.Prepare) string {
	c := card(p.Companion)
	k.mu.Lock()
	t := rehearsal.Thought{Instructions: c.Instructions(companions.RoomContext{Place: "home"}), InRoom: true, Guidance: p.Guidance}
	for _, l := range k.lines {
		if l.Mine = l.Who == c.Name; l.Mine {
			l.Who = ""
		}
		t.Talk = append(t.Talk, l)
	}
	k.mu.Unlock()
	text := rehearsal.Rules{}.Think(t).Text
	if text == "" {
		text = "I am on it." // it would call a tool
	}
	k.says(c.Name, text)
	return text
}

// spend plays the evening so many times in virtual time.
func (v votesBy) spend(t *testing.T, lines []spoken, times int) (b bill) {
	server := chattest.New(t, chattest.Options{Reply: v.ballots})
	synctest.Test(t, func(t *testing.T) {
		h, words := roomtest.NewHouse(1), &talker{}
		h.Slack(time.Second)
		at := map[string]*roomtest.Device{}
		var refiners []*companions.ModelRefiner
		add := func(name string, ids ...round.CompanionID) {
			p := living(ids...)
			p.Answer = words.answer
			if v.votes != "rules" {
				cards := p.Options.Cards
				m, err := companions.NewRefiner(companions.RefinerConfig{
					URL: server.URL, Model: "test", Now: h.Now, Client: &http.Client{Transport: handler{server}}, Cards: func() []companions.Card { return cards },
				})
				if err != nil {
					t.Fatal(err)
				}
				refiners = append(refiners, m)
				p.Options.Refiner, p.Options.Round.VoteBudget, p.Options.Round.Sure = m, 700*time.Millisecond, v.sure
			}
			at[name] = h.Add(name, p)
		}
		if v.apart {
			add("kitchen", "ada")
			add("bedroom", "ben")
			add("hall", "cleo")
		} else {
			add("kitchen", "ada", "ben", "cleo")
			at["bedroom"], at["hall"] = at["kitchen"], at["kitchen"]
		}
		meet()
		for range times {
			for _, l := range lines {
				words.says("", l.text)
				at[l.device].Ask(l.text)
				b.messages++
				pause := 4 * time.Second
				if l.last {
					pause = 90 * time.Second // in which one may step in, and the thread ends
				}
				for quiet := time.Duration(0); quiet < pause; quiet += 250 * time.Millisecond { // nobody talks into an answer
					after(250 * time.Millisecond)
					for _, d := range at {
						if d.Room.Taken() || d.Stage.Jobs() > 0 {
							quiet = 0
						}
					}
				}
			}
		}
		b.heard = len(h.Utterances())
		for name, d := range at {
			if d.Name == name { // once each
				b.answers += len(d.Stage.Prepared())
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range refiners {
			m.Close()
		}
	})
	for _, r := range server.Requests() {
		b.calls++
		b.bytes += len(r.Body)
	}
	return b
}

// BenchmarkEvening is what an evening costs: 300 messages of a person to a room of three (a hundred lines, three times), in virtual time,
// with the shipped room and client and the rehearsal voice's words, at a stand-in for a chat server that counts what it is asked. One call
// is for all companions of a device. An answer is asked of a voice each time; a message is transcribed once, where it is said. The last
// rows are the worst: a model for which everything is worth an answer.
func BenchmarkEvening(b *testing.B) {
	lines := evening(b)
	const times = 3
	for _, v := range []votesBy{
		{votes: "rules", apart: true, answers: 1},
		{votes: "auto", sure: round.CertainFrom, apart: true, calls: 0.6, answers: 1},
		{votes: "auto", sure: round.CertainFrom, calls: 0.2, answers: 1},
		{votes: "model", apart: true, calls: 3, answers: 1},
		{votes: "auto", sure: round.CertainFrom, apart: true, loud: true, calls: 0.6, answers: 3},
		{votes: "model", apart: true, loud: true, calls: 3 * 2, answers: 3}, // room.calls a device; room.extras and the answer
	} {
		b.Run(v.String(), func(b *testing.B) {
			var got bill
			play := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) { got = v.spend(t, lines, times) }}
			all := func(string, string) (bool, error) { return true, nil }
			for b.Loop() {
				if !testing.RunTests(all, []testing.InternalTest{play}) { // a benchmark has no virtual time of its own
					b.Fatal("the evening was not as it should be")
				}
			}
			per := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
			note := fmt.Sprintf("%d messages, as many transcripts; %d answers, %d of them heard; %d calls for votes, of %.1f kB each", got.messages,
				got.answers, got.heard, got.calls, per(got.bytes, got.calls)/1000)
			b.Log(note)
			benchtest.AtMost(b, "calls for votes a message", per(got.calls, got.messages), v.calls, "calls", note)
			benchtest.AtMost(b, "answers a message", per(got.answers, got.messages), v.answers, "answers", note)
			b.ReportMetric(float64(got.calls), "vote-calls")
			b.ReportMetric(float64(got.answers), "answers")
			b.ReportMetric(float64(got.messages), "transcripts")
		})
	}
}

// BenchmarkDecision is what a device takes from a person's words to its decision, by rules, with three companions: the shipped Step, which
// reads the line, votes for all three and decides. The lines are those of the evening, each after the twenty-four before it. What is held
// against a bound is the time of the thread that does it: who else's turn it was is in the other figures.
func BenchmarkDecision(b *testing.B) {
	var cards []round.Card
	for _, c := range companions.DefaultCards() {
		cards = append(cards, c.Card)
	}
	type asked struct {
		m    round.Machine
		said round.Said
	}
	var all []asked
	var before []round.Message
	for i, l := range evening(b) {
		said := round.Said{At: time.Minute, ID: round.MessageID(fmt.Sprint("m", i)), Text: l.text}
		m, _ := round.Step(round.New(round.Config{Self: "kitchen", Cards: cards, Recent: before}), round.Tick{At: time.Minute})
		all = append(all, asked{m, said})
		before = append(before, round.Message{ID: said.ID, From: round.Human("kitchen"), Text: l.text, Number: 2*i + 1, Metadata: round.PersonMetadata(l.text, nil)})
		if d := decision(round.Step(m, said)); d == nil {
			b.Fatalf("%q is not decided", l.text)
		} else if d.Winner != "" {
			answer := fmt.Sprintf("As for %s: so it is, number %d.", l.text, i)
			before = append(before, round.Message{ID: said.ID + "a", From: round.Participant(d.Winner), Text: answer, Number: 2*i + 2, Metadata: round.PersonMetadata(answer, nil)})
		}
		before = before[max(0, len(before)-24):]
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := func() time.Duration {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		return time.Duration(t.Nano())
	}
	var took, whole benchtest.Figures
	watch := benchtest.Start(b)
	for n := 0; b.Loop(); n++ {
		a := all[n%len(all)]
		at, used := benchtest.Now(), own()
		_, _ = round.Step(a.m, a.said)
		took = append(took, benchtest.Sample{At: at, MS: (own() - used).Seconds() * 1000})
		whole = append(whole, benchtest.Sample{At: at, MS: (benchtest.Now() - at).Seconds() * 1000})
	}
	stalls := watch.Stop()
	for name, f := range map[string]benchtest.Figures{"cpu-ms": took, "ms": whole} {
		b.ReportMetric(benchtest.Quantile(f.Sorted(), 0.5), name+"/p50")
		b.ReportMetric(benchtest.Quantile(f.Sorted(), 0.99), name+"/p99")
	}
	benchtest.Judge(b, took, stalls, benchtest.Promise{What: "words to decision, processor's time", Bound: 1.5, Share: 0.5},
		benchtest.Promise{What: "words to decision, processor's time", Bound: 5, Share: 0.01})
}

// decision is the one of a step.
func decision(_ round.Machine, effects []round.Effect) *round.Decision {
	for _, e := range effects {
		if e, ok := e.(round.Record); ok && e.Entry.Decision != nil {
			return e.Entry.Decision
		}
	}
	return nil
}
