package device

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/skills"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// Tools on a whole device: the real voice and its protocol, the toolbox, the coordinator, the mix, a twin card.

// skill is one whose tools a test writes down, each without arguments.
type skill map[string]func(skills.Context) (skills.Result, error)

func (s skill) Tools() []skills.Tool {
	var tools []skills.Tool
	for name, f := range s {
		tools = append(tools, skills.Tool{Name: name, Handler: func(ctx skills.Context, _ json.RawMessage) (skills.Result, error) { return f(ctx) }})
	}
	return tools
}

func handsOf(t testing.TB, log *slog.Logger, s skill, done func(turn.ID, string)) coordinator.Tools {
	t.Helper()
	box := companions.NewToolbox(log, time.Now)
	if err := box.Add("test", s); err != nil {
		t.Fatal(err)
	}
	return toolbox{box, "ada", done}
}

func TestAStreamThatDoesNotWaitIsToldSo(t *testing.T) {
	for _, live := range []bool{false, true} {
		box := handsOf(t, slog.New(slog.DiscardHandler), skill{"play": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.AudioStream{Live: live}}, nil
		}}, func(turn.ID, string) {})
		r := box.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: "play", Args: "{}"})
		if r.Effect != turn.EffectAudioStream || r.Stream.Live != live {
			t.Errorf("%+v of a stream that says Live: %v", r, live)
		}
	}
}

// A skill is told the companion that called, also in a turn that names nobody: that is the first one's.
func TestAToolKnowsWhoCalls(t *testing.T) {
	box := handsOf(t, slog.New(slog.DiscardHandler), skill{"who": func(c skills.Context) (skills.Result, error) { return skills.Result{Output: c.Companion}, nil }},
		func(turn.ID, string) {})
	for who, want := range map[turn.Who]string{"": "ada", "ben": "ben"} {
		r := box.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Who: who, Name: "who", Args: "{}"})
		if r.Output != fmt.Sprintf("result of who (test): %q", want) {
			t.Errorf("a call of %q is %s's; want %q's", who, r.Output, want)
		}
	}
}

// What conch doctor asks a voice with is what the device itself would.
func TestADoctorOffersTheToolsOfTheDevice(t *testing.T) {
	names := func(all []turn.ToolSpec) (names []string) {
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names
	}
	b := newBox(t, boxOptions{})
	box, err := b.newTools()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(Tools(&b.cfg)), names(box.Specs()); !slices.Equal(got, want) {
		t.Errorf("offers %v\nthe device has %v", got, want)
	}
}

// caller is a mind that calls what it is asked for ("wait, wait, stop"), with words before, and narrates what came back.
type caller struct{}

func (caller) Think(t rehearsal.Thought) rehearsal.Reply {
	if len(t.Outputs) > 0 {
		return rehearsal.Reply{Text: strings.Join(t.Outputs, " ")}
	}
	words, names, _ := strings.Cut(t.Words, ":")
	if words == "" {
		words = t.Prompt // of an injected turn
	}
	r := rehearsal.Reply{Text: words}
	for name := range strings.FieldsSeq(names) {
		r.Calls = append(r.Calls, rehearsal.Call{Name: name, Args: "{}"})
	}
	return r
}

// ordered counts the orders of a kind that are still in the recorder.
func (b *box) ordered(name string) (n int) {
	for _, l := range b.coordinator.Recent() {
		if l.Order && l.Name == name {
			n++
		}
	}
	return n
}

// TURNS.md 2: the model is told what was heard, and of an answer that was heard whole that is nothing. A press comes while a
// tool works, long after the last word: the silence between two rounds.
func TestAPressInTheSilenceBetweenTwoRoundsCutsNothing(t *testing.T) {
	b := newBox(t, boxOptions{mind: caller{}, tools: skill{
		"wait": func(ctx skills.Context) (skills.Result, error) { <-ctx.Done(); return skills.Result{}, ctx.Err() },
		"look": func(skills.Context) (skills.Result, error) { return skills.Result{Output: "a long one"}, nil },
	}})
	rec := b.nextTurn(func() {
		b.question("let me see:wait")
		b.state(turn.AwaitingNextResponse)
		b.until("a voice", func() bool { return b.audible() }) // the tool may be called before the first sample sounds
		quiet := 0                                             // looks in a row: a machine that stands still is silent, too
		b.until("silent", func() bool {
			quiet++
			if b.audible() {
				quiet = 0
			}
			return quiet > 100
		})
		b.hand.Press()
		b.state(turn.Listening)
		b.hand.Release()
	})
	if rec.Reason != "interrupted" || rec.HeardMS != 700 || rec.SpeechMS != 700 || !rec.Whole {
		t.Errorf("%s, heard %v of %v ms, whole %v; want it interrupted after all of 700 ms", rec.Reason, rec.HeardMS, rec.SpeechMS, rec.Whole)
	}
	if s := rec.Sentence("", "Ada"); strings.Contains(s, "cut") {
		t.Errorf("the answer that was heard is told as %q", s)
	}
	if n := b.ordered("TruncateItem") + b.ordered("DeleteItem"); n != 0 {
		t.Errorf("the model was told of %d cuts; want none", n)
	}
	// The second round begins behind the silence, and is cut where it was cut.
	rec = b.nextTurn(func() {
		b.question("let me see:look")
		b.until("in the second round", func() bool { return len(b.turnsEnded()) == 2 && b.responses() >= 3 && b.Speaking() })
		b.pause(1500 * time.Millisecond)
		b.hand.Press()
		b.state(turn.Listening)
		b.hand.Release()
	})
	if rec.Reason != "interrupted" || rec.HeardMS <= 700 || rec.HeardMS >= 6700 || rec.SpeechMS != 6700 || rec.Whole {
		t.Errorf("%s, heard %v of %v ms, whole %v; want it cut in the second round", rec.Reason, rec.HeardMS, rec.SpeechMS, rec.Whole)
	}
	var cuts []string
	for _, l := range b.coordinator.Recent() {
		if l.Order && (l.Name == "TruncateItem" || l.Name == "DeleteItem") {
			cuts = append(cuts, l.String())
		}
	}
	if len(cuts) != 1 || b.ordered("TruncateItem") != 1 {
		t.Errorf("the model was told of the cuts %q; want the second item alone", cuts)
	}
}

// responses counts those that were done.
func (b *box) responses() (n int) {
	for _, l := range b.coordinator.Recent() {
		if !l.Order && l.Name == "ResponseDone" {
			n++
		}
	}
	return n
}

// A caller of Say who leaves takes back what nobody has begun to say. A skill that injects is told what became of it.
func TestWhoAsksForAnAnnouncementIsToldOrTakesItBack(t *testing.T) {
	t.Parallel()
	told := make(chan skills.Outcome, 1)
	var b *box
	b = newBox(t, boxOptions{mind: caller{}, tools: skill{
		"remind": func(skills.Context) (skills.Result, error) {
			b.desk.Announce("test", skills.Announcement{Text: "tea", Done: func(o skills.Outcome) { told <- o }})
			return skills.Result{Output: "yes"}, nil
		},
	}})
	b.question("endless")
	b.until("speaking", b.Speaking)
	ctx, leave := context.WithCancel(t.Context())
	said := make(chan error, 1)
	go func() {
		_, err := b.Say(ctx, "nobody waits for this", inject.Injection{})
		said <- err
	}()
	b.until("queued", func() bool { return strings.Contains(b.log.text(), "inject.queued") })
	leave()
	if err := <-said; err == nil {
		t.Error("Say has an outcome though its caller left")
	}
	b.until("taken back", func() bool { return strings.Contains(b.log.text(), "outcome=expired") })
	b.hand.Press()
	b.state(turn.Listening)
	b.hand.Release()
	b.quiet()
	for _, r := range b.turnsEnded() {
		if r.Source == turn.SourceInject.String() {
			t.Errorf("it was said all the same: %+v", r)
		}
	}
	b.asked.Add(1) // the injected turn
	b.ask("short:remind")
	b.until("told", func() bool { return len(told) == 1 })
	if got := <-told; got != skills.OutcomeDelivered {
		t.Errorf("the skill was told %q; want delivered", got)
	}
}
