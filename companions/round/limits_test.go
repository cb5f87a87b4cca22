package round

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// models are what may come back where a model was asked: none of them knows a limit. of is who is not to speak.
var models = []struct {
	name string
	vote func(rule Vote, of CompanionID, call int) Vote
}{
	{"always votes 10", func(v Vote, _ CompanionID, _ int) Vote { return loud(v) }},
	{"always listens", func(v Vote, _ CompanionID, _ int) Vote {
		v.State, v.Importance, v.Closing, v.Selected = StateListen, 0, Terminal, false
		return v
	}},
	{"votes at random", func(v Vote, _ CompanionID, call int) Vote {
		r := rand.New(rand.NewPCG(draw(v.MessageID, v.From), uint64(call)))
		v.State, v.Importance, v.Selected = []State{StateSpeak, StateListen}[r.IntN(2)], float64(r.IntN(11)), r.IntN(2) == 0
		v.Closing = closings[r.IntN(len(closings))]
		return v
	}},
	{"obeys who tells it to vote 10 for one", func(v Vote, of CompanionID, _ int) Vote {
		if v.From == of {
			return loud(v)
		}
		v.State, v.Importance = StateListen, 0
		return v
	}},
	{"forges who votes on what", func(v Vote, of CompanionID, _ int) Vote {
		v = loud(v)
		v.From, v.MessageID, v.Layer, v.Spoke = of, "another", LayerOwed, 0
		return v
	}},
	{"comes late", func(v Vote, _ CompanionID, _ int) Vote { return loud(v) }},
	{"alternates", func(v Vote, _ CompanionID, call int) Vote {
		if call%2 == 0 {
			return loud(v)
		}
		v.State, v.Importance, v.Closing = StateListen, 0, Terminal
		return v
	}},
}

func loud(v Vote) Vote {
	v.State, v.Importance, v.Selected, v.Closing, v.Layer, v.Terms = StateSpeak, 10, true, ClosingNone, LayerOwed, nil
	return v
}

// modelled is a device with ada and cleo and a model, and another one with bob.
type modelled struct {
	t     *testing.T
	m     Machine
	now   time.Duration
	model int
	of    CompanionID
	calls int
	d     *Decision
	ids   int
}

func newModelled(t *testing.T, model int, of CompanionID, c Config) *modelled {
	a := &modelled{t: t, model: model, of: of}
	c.Self, c.Name, c.VoteBudget, c.Sure = "a", "kitchen", 500*time.Millisecond, 0
	if c.Cards == nil {
		c.Cards = []Card{cook(), musician()}
	}
	if c.Recent == nil {
		c.Recent = earlier("human:a: I am home.")
	}
	a.m = New(c)
	a.step(LinkChanged{a.now, true})
	a.hears(Beat{Name: "max", Version: Version, Digest: digestOf([]Card{astronomer()}), Cards: []Card{astronomer()}})
	a.now += time.Second
	a.step(Tick{At: a.now})
	return a
}

func (a *modelled) hears(p Packet) { a.step(Received{a.now, "b", p}) }

// step lets the model answer what it is asked.
func (a *modelled) step(ev Event) {
	var out []Effect
	a.m, out = Step(a.m, ev)
	for _, e := range out {
		switch e := e.(type) {
		case Record:
			if e.Entry.Kind == EntryRound {
				a.d = e.Entry.Decision
			}
		case Refine:
			a.calls++
			made := each(e.Votes, func(v Vote) Vote { return models[a.model].vote(v, a.of, a.calls) })
			if models[a.model].name == "comes late" {
				a.now = e.Until
				a.step(Tick{At: a.now})
			}
			a.step(Refined{a.now, e.Place, made})
		}
	}
}

// opens has b vote for bob as loud as can be, and everybody decide.
func (a *modelled) opens(ev Event) Decision {
	a.t.Helper()
	a.d = nil
	a.step(ev)
	if r := &a.m.rd; r.open && !r.decided {
		a.hears(Votes{r.place, []Vote{loud(Vote{From: "bob", MessageID: r.place.Message})}})
	}
	if a.d == nil {
		a.now += 2 * time.Second
		a.step(Tick{At: a.now})
	}
	if a.d == nil {
		a.t.Fatal("no round was decided")
	}
	return *a.d
}

func (a *modelled) says(text string) Decision {
	a.t.Helper()
	a.ids++
	a.now += 3 * time.Second
	return a.opens(Said{At: a.now, ID: MessageID(fmt.Sprint("said", a.ids)), Text: text})
}

// bobSays is what bob says over there.
func (a *modelled) bobSays(text string, meta Metadata) Decision {
	a.t.Helper()
	a.ids++
	p := a.m.rd.place
	if p.Number == 0 {
		p = Place{Epoch: a.m.epoch, Number: 7}
	}
	meta.Intent = PersonMetadata(text, nil).Intent
	return a.opens(Received{a.now, "b", Message{ID: MessageID(fmt.Sprint("bob", a.ids)), From: "bob", Text: text, Epoch: p.Epoch, Number: p.Number + 1, Metadata: meta}})
}

// earlier is what was said before, by "who: text".
func earlier(lines ...string) (recent []Message) {
	chain := 0
	for i, l := range lines {
		who, text, _ := strings.Cut(l, ": ")
		m := Message{ID: MessageID(fmt.Sprint("was", i)), From: Participant(who), Text: text, Epoch: Epoch{1, "a"}, Number: i + 1}
		m.Metadata = PersonMetadata(text, nil)
		if chain++; m.From.Human() {
			chain = 0
		}
		m.Metadata.Chain, m.Metadata.Extra = chain, chain > 1
		recent = append(recent, m)
	}
	return recent
}

// TestNoModelLiftsALimit: each limit, each model, and a vote from another device for who is not to speak.
func TestNoModelLiftsALimit(t *testing.T) {
	off := InvolvementOff
	many := []string{"human:a: I am home."}
	for i := range 12 {
		many = append(many, fmt.Sprintf("ada: Words that are never the same, %d of them.", 100+i))
	}
	for _, row := range []struct {
		limit string
		of    CompanionID
		with  func(*Config)
		play  func(*modelled) Decision
	}{
		{"mute", "ada", func(c *Config) { c.Cards = []Card{cook(), musician()}; c.Cards[0].Muted = true },
			func(a *modelled) Decision { return a.says("Ada, how do I bake bread?") }},
		{"self", "bob", nil, func(a *modelled) Decision { return a.bobSays("Bread is lovely with soup.", Metadata{Chain: 1}) }},
		{"turns", "ada", nil, func(a *modelled) Decision { return a.bobSays("Ada, go on.", Metadata{Chain: 6}) }},
		{"turns, of a room that follows one", "cleo", func(c *Config) { c.Manners = DefaultManners(); c.Manners.ChainLimit = 1 },
			func(a *modelled) Decision { return a.bobSays("Songs are lovely.", Metadata{Chain: 1}) }},
		{"excluded", "ada", nil, func(a *modelled) Decision { return a.says("How do I bake bread? Anybody but Ada, please") }},
		{"excluded, elsewhere", "bob", nil, func(a *modelled) Decision { return a.says("Which planets can I see? Anybody but Bob, please") }},
		{"handoffs", "ada", func(c *Config) {
			c.Manners = DefaultManners()
			c.Manners.ExtraLimit = 50
			c.Recent = earlier("human:a: Cleo, start a story", "cleo: Once upon a time. Over to you, Bob.", "bob: It rained. Your turn, Ada!", "ada: And it snowed. Bob, go on.")
		}, func(a *modelled) Decision { return a.bobSays("It came home again. Ada, go on.", Metadata{Chain: 4}) }},
		{"extras", "ada", func(c *Config) {
			c.Recent = earlier("human:a: What is for lunch?", "ada: Soup with noodles in it.", "cleo: With a song on the radio.", "ada: On the blue plates then.")
		}, func(a *modelled) Decision { return a.bobSays("Bread would be good.", Metadata{Chain: 4, Extra: true}) }},
		{"extras of a queue", "cleo", func(c *Config) {
			c.Recent = earlier("human:a: What is for lunch?", "ada: Soup with noodles in it.", "cleo: With a song on the radio.", "ada: On the blue plates then.")
		}, func(a *modelled) Decision {
			return a.bobSays("Bread.", Metadata{Chain: 4, Extra: true, Queue: []CompanionID{"cleo"}})
		}},
		{"room", "ada", nil, func(a *modelled) Decision {
			a.step(Controlled{a.now, Control{Involvement: &off}})
			return a.says("How do I bake bread?")
		}},
		{"involvement", "ada", func(c *Config) { c.Cards = []Card{cook(), musician()}; c.Cards[0].Involvement = off },
			func(a *modelled) Decision { return a.says("How do I bake bread?") }},
		{"share", "ada", func(c *Config) {
			c.Recent, c.Manners = earlier(many...), DefaultManners()
			c.Manners.ExtraLimit, c.Manners.ChainLimit = 50, 50
		}, func(a *modelled) Decision { return a.bobSays("I found a new recipe.", Metadata{Chain: 13}) }},
		{"nobody", "ada", nil, func(a *modelled) Decision { return a.says("Nobody answer this, how do I bake bread?") }},
		{"nobody, and one is named", "ada", nil, func(a *modelled) Decision { return a.says("Ada baked bread. Ada, nobody answer this!") }},
		{"nobody, elsewhere", "bob", nil, func(a *modelled) Decision { return a.says("Nobody answer this, which planets can I see?") }},
		{"quiet", "cleo", nil, func(a *modelled) Decision { return a.says("Quiet!") }},
		{"the word is a person's", "ada", nil, func(a *modelled) Decision { return a.says("Max, how do you bake bread?") }},
		{"the word is another's, elsewhere", "bob", nil, func(a *modelled) Decision { return a.says("Ada, which planets can I see?") }},
		{"the word is another's", "cleo", nil, func(a *modelled) Decision { return a.says("Ada, which songs do you like?") }},
		{"the question is the person's", "ada", func(c *Config) { c.Recent = earlier("human:a: Bob, I want bread") },
			func(a *modelled) Decision {
				return a.bobSays("With which flour do you want your bread?", Metadata{Chain: 1})
			}},
	} {
		for i, model := range models {
			t.Run(row.limit+"/"+model.name, func(t *testing.T) {
				var c Config
				if row.with != nil {
					row.with(&c)
				}
				a := newModelled(t, i, row.of, c)
				d := row.play(a)
				if slices.Contains(d.Order, row.of) || slices.Contains(d.Extras, row.of) {
					t.Errorf("%s may speak\n%s", row.of, explain(d))
				}
				at := slices.IndexFunc(d.Silent, func(s Silent) bool { return s.Companion == row.of })
				if at >= 0 && d.Silent[at].Layer != LayerForbidden && d.Silent[at].Layer != LayerOwed {
					t.Errorf("%s is silent by the layer %q: %s", row.of, d.Silent[at].Layer, d.Silent[at].Reason)
				}
				if a.calls > 1 {
					t.Errorf("%d calls for one message", a.calls)
				}
			})
		}
	}
}

// TestLimitsOfAJudgement: those that the machine or the decision keep, too, hold for whoever asks the rules alone.
func TestLimitsOfAJudgement(t *testing.T) {
	for why, c := range map[string]*talk{
		"it said that itself":        meet(t).says("ada", "How do I bake bread?"),
		"6 companion turns":          meet(t).says("bob", "Ada, how do I bake bread?", func(m *Message) { m.Metadata.Chain = 6 }),
		"the person wants no answer": meet(t).says(eva, "Ada, nobody answer this, how do I bake bread?"),
		"the person wants quiet":     meet(t).says(eva, "Quiet!"),
		"asked for somebody else":    meet(t).says(eva, "How do I bake bread? Anybody but Ada, please"),
		"only 3 hand-offs in a row":  meet(t).says(eva, "Hello").says("cleo", "Go on, Ada.").says("ada", "Go on, Cleo.").says("cleo", "Go on, Bob.").says("bob", "Go on, Ada."),
	} {
		if v := JudgeAll(c.v, []CompanionID{"ada"})[0]; v.Layer != LayerForbidden || v.State == StateSpeak || !strings.Contains(v.Reason, why) {
			t.Errorf("%s: %+v", why, v)
		}
	}
}

// TestNoModelVetoesWhatIsOwed: who was called, is next, or goes on with what it said, speaks, and no model is asked.
func TestNoModelVetoesWhatIsOwed(t *testing.T) {
	for _, row := range []struct {
		owed  string
		order []CompanionID
		with  func(*Config)
		play  func(*modelled) Decision
	}{
		{"addressed", []CompanionID{"ada"}, nil, func(a *modelled) Decision { return a.says("Ada, how are you?") }},
		{"two addressed", []CompanionID{"cleo", "ada"}, nil, func(a *modelled) Decision { return a.says("Cleo and Ada, introduce yourselves") }},
		{"handed over", []CompanionID{"cleo"}, nil, func(a *modelled) Decision { return a.bobSays("Over to you, Cleo.", Metadata{Chain: 1}) }},
		{"next", []CompanionID{"ada"}, func(c *Config) { c.Recent = earlier("human:a: Bob and Ada, what do you think of bread?") },
			func(a *modelled) Decision {
				return a.bobSays("I like it.", Metadata{Chain: 1, Queue: []CompanionID{"ada"}})
			}},
		{"follow-up", []CompanionID{"ada"}, func(c *Config) {
			c.Recent = earlier("human:a: How do I bake bread?", "ada: Mix flour, water, salt and yeast, and bake it for forty minutes.")
		}, func(a *modelled) Decision { return a.says("Can you say that again?") }},
	} {
		for i, model := range models {
			t.Run(row.owed+"/"+model.name, func(t *testing.T) {
				var c Config
				if row.with != nil {
					row.with(&c)
				}
				a := newModelled(t, i, row.order[0], c)
				d := row.play(a)
				mine := without(d.Order, func(c CompanionID) bool { return c == "bob" }) // who votes from elsewhere that it was called
				if !slices.Equal(mine, row.order) || a.calls > 0 {
					t.Errorf("%v may speak, after %d calls; want %v, and none\n%s", mine, a.calls, row.order, explain(d))
				}
			})
		}
	}
}

// TestCallsAreCounted: room.calls a device between two messages of people, whatever comes of them.
func TestCallsAreCounted(t *testing.T) {
	for _, calls := range []int{1, 2, 5} {
		a := newModelled(t, 0, "ada", Config{Calls: calls, Manners: Manners{Threshold: 5, ChainLimit: 50, Handoffs: 3, ExtraLimit: 50, ShareLimit: 1, Repetition: 1}})
		for person := range 3 {
			a.says(fmt.Sprintf("It is raining on street number %d.", person))
			for i := range 9 {
				a.bobSays(fmt.Sprintf("The sky has %d clouds.", i+10*person), Metadata{Chain: i + 1})
			}
			if a.calls != calls*(person+1) {
				t.Errorf("%d calls after %d messages of people; want %d each", a.calls, person+1, calls)
			}
		}
	}
}

// TestAPressEndsTheCall: what a model was asked is waited for no more.
func TestAPressEndsTheCall(t *testing.T) {
	asks := func() (Machine, Place) {
		m := New(Config{Self: "a", Cards: []Card{cook(), musician()}, VoteBudget: time.Second})
		m, out := Step(m, Said{At: time.Second, ID: "m1", Text: "It is raining."})
		for _, e := range out {
			if e, ok := e.(Refine); ok {
				return m, e.Place
			}
		}
		t.Fatal("no model is asked")
		return m, Place{}
	}
	for name, ev := range map[string]Event{
		"a press":         Pressed{At: 1100 * time.Millisecond, Turn: "t1"},
		"other words":     Said{At: 1100 * time.Millisecond, ID: "m2", Text: "It is snowing."},
		"the end of time": Tick{At: 3 * time.Second},
	} {
		m, place := asks()
		_, out := Step(m, ev)
		if !slices.Contains(out, Effect(Unasked{place})) {
			t.Errorf("%s: the call goes on", name)
		}
	}
	m, place := asks()
	if _, out := Step(m, Refined{At: 1100 * time.Millisecond, Place: place, Votes: m.rd.pending}); slices.ContainsFunc(out, func(e Effect) bool { _, ok := e.(Unasked); return ok }) {
		t.Error("a call that has ended is ended")
	}
}

// TestAModelEndsNothing: a conversation comes to its end by a stage at most, and never goes back.
func TestAModelEndsNothing(t *testing.T) {
	for rule, want := range map[Closing][]Closing{
		ClosingNone: {ClosingNone, PreClosing, PreClosing, PreClosing},
		PreClosing:  {PreClosing, PreClosing, ClosingNow, ClosingNow},
		ClosingNow:  {ClosingNow, ClosingNow, ClosingNow, Terminal},
		Terminal:    {Terminal, Terminal, Terminal, Terminal},
	} {
		for i, model := range closings {
			v, m := ballot("ada", StateListen, 1, false), ballot("ada", StateSpeak, 10, false)
			v.Closing, m.Closing = rule, model
			if got := v.bettered(m).Closing; got != want[i] {
				t.Errorf("rules %s, model %s: %s; want %s", rule, model, got, want[i])
			}
		}
	}
}

// TestCertainty: the rules' own figure, and what asking by it costs.
func TestCertainty(t *testing.T) {
	worth := func(x ...float64) (votes []Vote) {
		for i, x := range x {
			v := ballot(CompanionID(fmt.Sprint("c", i)), StateSpeak, x, false)
			v.Layer = LayerWorth
			votes = append(votes, v)
		}
		return votes
	}
	called, kept := ballot("x", StateSpeak, 9, true), ballot("y", StateListen, 9, false)
	kept.Layer = LayerForbidden
	for _, row := range []struct {
		votes []Vote
		want  float64
	}{
		{nil, 1}, {worth(9, 5), 1}, {worth(8, 5), 0.75}, {worth(5, 8), 0.75}, {worth(6, 6), 0}, {worth(5), 1}, {worth(4, 4), 0.25}, {worth(1, 0), 1}, {worth(0), 1},
		{append(worth(6, 6), called), 1}, {append(worth(6, 2), kept), 1}, {[]Vote{kept}, 1},
	} {
		if got := Certainty(row.votes); got != row.want {
			t.Errorf("%v: %v; want %v", showVotes(row.votes), got, row.want)
		}
	}
	for text, want := range map[string]int{"Ada, how are you?": 0, "How do I bake bread?": 0, "What is the capital of France?": 1} {
		a := newModelled(t, 0, "ada", Config{})
		a.m.cfg.Sure = 0.5
		if a.says(text); a.calls != want {
			t.Errorf("%q: %d calls; want %d", text, a.calls, want)
		}
	}
}
