package serverstest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/companions/voice/serverstest"
	"conch/coordinator/turn"
)

// What the models say.
const (
	year   = "The earth goes around its star, the sun, once in a year. That is why there is a summer."
	done   = "It is done as you wished."
	heard  = "Good morning, what is the time over there?"
	called = "<tool_call>\n{\"name\": \"set_volume\", \"arguments\": {\"percent\": 80}}\n</tool_call>"
)

// mind says these; slow is how slow it is.
func mind(slow int, more ...serverstest.Chain) serverstest.Mind {
	return serverstest.Mind{Wide: slow, Chains: append(more, serverstest.Chain{Says: year})}
}

// count is a long text: so many sentences, each of them another one.
func count(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("This is sentence %d of many.", i+1))
	}
	return strings.Join(all, " ")
}

// talk is a chain that converses with real servers, in real time; its speech is discarded.
type talk struct {
	t     *testing.T
	voice voice.Voice
	began time.Time

	mu    sync.Mutex
	facts []turn.Event
	pcm   map[turn.ID]int
}

// converse begins one. hear may be empty: then nothing is said to it.
func converse(t *testing.T, chat, hear *serverstest.Server) *talk {
	t.Helper()
	set := voice.Settings{URL: chat.URL(), ModelAssumed: true, TranscriptionAssumed: true, Patience: 20 * time.Second,
		Key: func() string { return "" }, Own: map[string]string{"speak": "espeak-ng", "hear": "pocketsphinx", "server": "llama.cpp"}}
	if hear != nil {
		set.Own["hear"] = "whisper.cpp " + hear.URL()
	}
	made, err := cascade.Kind().New(set, []voice.Companion{{Instructions: "You are Ada.", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}})
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, voice: made.Sessions[0].Voice, began: time.Now(), pcm: map[turn.ID]int{}}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = k.voice.Run(ctx, k)
	}()
	t.Cleanup(func() { stop(); <-ran })
	return k
}

func (k *talk) Post(ev turn.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.facts = append(k.facts, ev)
}

func (k *talk) Audio(_ context.Context, id turn.ID, pcm []int16) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pcm[id] += len(pcm)
	return len(pcm)
}

func (k *talk) Now() time.Duration { return time.Since(k.began) }

func (k *talk) all() []turn.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.facts)
}

// story is what has happened, for whoever reads a failure.
func (k *talk) story() string {
	var b strings.Builder
	for _, ev := range k.all() {
		if e, ok := ev.(turn.DeltaArrived); ok && e.Samples > 0 {
			continue
		}
		fmt.Fprintf(&b, "%T %+v\n", ev, ev)
	}
	return b.String()
}

func (k *talk) await(what string, so func() bool) {
	k.t.Helper()
	defer func() {
		if k.t.Failed() {
			k.t.Logf("facts:\n%s", k.story())
		}
	}()
	serverstest.Await(k.t, what, so)
}

// ready waits until it may be asked.
func (k *talk) ready() *talk {
	k.t.Helper()
	k.await("it is ready", func() bool {
		return slices.ContainsFunc(k.all(), func(ev turn.Event) bool { _, ok := ev.(turn.SessionReady); return ok })
	})
	return k
}

// ask types a question.
func (k *talk) ask(id turn.ID, text string) {
	k.voice.Do(turn.AddText{Turn: id, Role: "user", Text: text})
	k.voice.Do(turn.CreateResponse{Turn: id})
}

// text is what was said in a turn so far.
func (k *talk) text(id turn.ID) (all string) {
	for _, ev := range k.all() {
		if e, ok := ev.(turn.Spoken); ok && e.Turn == id {
			all += e.Text
		}
	}
	return strings.TrimSpace(all)
}

// ended is what a turn's last answer ended with; n is how many have.
func (k *talk) ended(id turn.ID) (last turn.ResponseDone, n int) {
	for _, ev := range k.all() {
		switch e := ev.(type) {
		case turn.ResponseDone:
			if e.Turn == id {
				last = e
				n++
			}
		case turn.ResponseRefused:
			if e.Turn == id {
				last = turn.ResponseDone{Turn: id, Status: turn.ResponseFailed, Say: e.Say}
				n++
			}
		}
	}
	return last, n
}

// answered waits for the end of the n-th answer of a turn, which has to be whole, and these words.
func (k *talk) answered(id turn.ID, n int, want string) {
	k.t.Helper()
	k.await(fmt.Sprintf("%s has answered", id), func() bool { _, have := k.ended(id); return have >= n })
	if e, _ := k.ended(id); e.Status != turn.ResponseCompleted || e.Say != "" || k.text(id) != want {
		k.t.Errorf("%s ended as %v, told %q, said %q; want %q\n%s", id, e.Status, e.Say, k.text(id), want, k.story())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if want != "" && k.pcm[id] < kit.Rate {
		k.t.Errorf("%s sounds for %d samples", id, k.pcm[id])
	}
}

// beginning waits until a turn's answer has begun to be said.
func (k *talk) beginning(id turn.ID) {
	k.t.Helper()
	k.await(fmt.Sprintf("%s begins to answer", id), func() bool { return k.text(id) != "" })
}

// say says something in a turn, and asks for the answer.
func (k *talk) say(id turn.ID) {
	k.voice.Do(turn.ClearInput{Turn: id})
	k.voice.Append(id, cascadetest.Sound(1.5, kit.Rate))
	k.voice.Do(turn.CommitInput{Turn: id})
	k.voice.Do(turn.CreateResponse{Turn: id})
}

// hears says whether a turn was written down as the ear's sentence.
func (k *talk) hears(id turn.ID) bool {
	return slices.ContainsFunc(k.all(), func(ev turn.Event) bool { e, ok := ev.(turn.Transcribed); return ok && e.Turn == id && e.Text == heard })
}

// over waits until a turn has ended in any way of which a person is told.
func (k *talk) over(id turn.ID) {
	k.t.Helper()
	k.await(fmt.Sprintf("%s is over", id), func() bool {
		_, n := k.ended(id)
		return n > 0 || slices.ContainsFunc(k.all(), func(ev turn.Event) bool { e, ok := ev.(turn.InputRefused); return ok && e.Turn == id })
	})
}

// A question by sound, through all three stages.
func TestASpokenQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	k := converse(t, serverstest.Llama(t, mind(0)).Begin(), serverstest.Whisper(t, serverstest.Ear{Writes: heard}).Begin()).ready()
	k.say("t-1")
	if k.answered("t-1", 1, year); !k.hears("t-1") {
		t.Errorf("heard something else\n%s", k.story())
	}
}

// It stands still while it writes down, and goes on. It dies, and this machine hears as well as it can; it comes back, and hears.
func TestAnEarThatStandsStillAndDies(t *testing.T) {
	t.Parallel()
	ear := serverstest.Whisper(t, serverstest.Ear{Writes: heard}).Begin()
	k := converse(t, serverstest.Llama(t, mind(0)).Begin(), ear).ready()
	ear.Freeze()
	k.say("t-1")
	<-time.After(5 * time.Second) // what is tried is a wait of that length
	ear.Thaw()
	if k.answered("t-1", 1, year); !k.hears("t-1") {
		t.Errorf("heard something else\n%s", k.story())
	}
	ear.Kill()
	k.say("t-2")
	if k.over("t-2"); k.hears("t-2") {
		t.Errorf("a dead server hears\n%s", k.story())
	}
	ear.Begin()
	n := 2
	k.await("it hears again", func() bool {
		n++
		id := turn.ID(fmt.Sprintf("t-%d", n))
		k.say(id)
		k.over(id)
		return k.hears(id)
	})
}

// A call is carried out with its arguments, its result is answered, and none of its text is said.
func TestACallIsCarriedOut(t *testing.T) {
	t.Parallel()
	chat := serverstest.Llama(t, mind(0, serverstest.Chain{When: "messages[-1].role == 'tool'", Says: done},
		serverstest.Chain{When: "'louder' in messages[-1].content", Says: called})).Begin()
	k := converse(t, chat, nil)
	k.voice.Tools([]turn.ToolSpec{{Name: "set_volume", Description: "Sets the volume.",
		Schema: []byte(`{"type":"object","properties":{"percent":{"type":"integer"}},"required":["percent"]}`)}})
	k.ready()
	k.ask("t-1", "louder please")
	k.await("t-1 has ended", func() bool { _, n := k.ended("t-1"); return n == 1 })
	var calls []turn.ToolCalled
	for _, ev := range k.all() {
		if e, ok := ev.(turn.ToolCalled); ok {
			calls = append(calls, e)
		}
	}
	if len(calls) != 1 || calls[0].Name != "set_volume" || strings.ReplaceAll(calls[0].Args, " ", "") != `{"percent":80}` || k.text("t-1") != "" {
		t.Fatalf("called %+v, said %q\n%s", calls, k.text("t-1"), k.story())
	}
	k.voice.Do(turn.SendToolOutput{Turn: "t-1", Call: calls[0].Call, Output: "done"})
	k.voice.Do(turn.CreateResponse{Turn: "t-1"})
	k.answered("t-1", 2, done)
}

// slow makes some tens of tokens a second, and a text of many sentences lasts for long.
const slow = 150_000

func counts() serverstest.Mind {
	return mind(slow, serverstest.Chain{When: "'count' in messages[-1].content and not 'year' in messages[-1].content", Says: count(60)})
}

// A press in the middle: the server is free, and the next question is answered.
func TestAPressInTheMiddleFreesTheServer(t *testing.T) {
	chat := serverstest.Llama(t, counts(), "--parallel", "1").Begin()
	k := converse(t, chat, nil).ready()
	k.ask("t-1", "count for me")
	k.beginning("t-1")
	k.voice.Do(turn.CancelResponse{Turn: "t-1"})
	k.ask("t-2", "and the year?")
	k.answered("t-2", 1, year)
	if e, n := k.ended("t-1"); n != 1 || e.Status != turn.ResponseCancelled || strings.Contains(k.text("t-1"), "sentence 60") {
		t.Errorf("the one that was cut ended as %v, said %q", e.Status, k.text("t-1"))
	}
}

// A server stands still for 5 s in the middle, and goes on.
func TestAServerThatStandsStillInTheMiddleGoesOn(t *testing.T) {
	chat := serverstest.Llama(t, counts()).Begin()
	k := converse(t, chat, nil).ready()
	k.ask("t-1", "count for me")
	k.beginning("t-1")
	chat.Freeze()
	<-time.After(5 * time.Second) // what is tried is a wait of that length
	chat.Thaw()
	k.answered("t-1", 1, count(60))
}

// A server dies in the middle: words are told. Started again, it answers the next question.
func TestAServerThatDiesInTheMiddleIsAskedAgain(t *testing.T) {
	chat := serverstest.Llama(t, counts()).Begin()
	k := converse(t, chat, nil).ready()
	k.ask("t-1", "count for me")
	k.beginning("t-1")
	chat.Kill()
	k.await("t-1 is over", func() bool { _, n := k.ended("t-1"); return n > 0 })
	if e, _ := k.ended("t-1"); e.Say == "" || e.Status == turn.ResponseCompleted {
		t.Errorf("nothing was told: %+v\n%s", e, k.story())
	}
	chat.Begin()
	k.ask("t-2", "and the year?")
	k.answered("t-2", 1, year)
}

// A server that still loads its model is waited for.
func TestAServerThatLoadsIsWaitedFor(t *testing.T) {
	chat := serverstest.Llama(t, mind(4*slow))
	chat.Start()
	serverstest.Await(t, "it loads", func() bool {
		s := chat.Health()
		if s == http.StatusOK {
			t.Fatal("it has loaded before anybody could ask: take a larger model")
		}
		return s == http.StatusServiceUnavailable
	})
	k := converse(t, chat, nil).ready()
	k.ask("t-1", "and the year?")
	k.answered("t-1", 1, year)
}

// A conversation that outgrows the context goes on, and once says that its beginning is forgotten.
func TestAConversationOutgrowsTheContext(t *testing.T) {
	t.Parallel()
	chat := serverstest.Llama(t, mind(0), "--ctx-size", "512").Begin()
	k := converse(t, chat, nil).ready()
	const forgot = "I have forgotten the beginning of this talk. "
	told := 0
	for n := range 12 {
		id := turn.ID(fmt.Sprintf("t-%d", n+1))
		k.ask(id, fmt.Sprintf("Question %d: what goes around the sun, and for how long does it do that?", n+1))
		want := year
		k.await(fmt.Sprintf("%s has answered", id), func() bool { _, have := k.ended(id); return have > 0 })
		if strings.HasPrefix(k.text(id), forgot) {
			told++
			want = forgot + year
		}
		k.answered(id, 1, want)
	}
	if told != 1 {
		t.Errorf("told %d times that the beginning is forgotten", told)
	}
}
