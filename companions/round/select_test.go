package round

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"conch/companions/round/because"
)

func ballot(from CompanionID, state State, importance float64, selected bool) Vote {
	return Vote{From: from, MessageID: "m1", State: state, Importance: importance, Selected: selected, Closing: ClosingNone, Reason: "because of " + string(from)}
}

func decided(votes ...Vote) Decision {
	var roster []CompanionID
	for _, v := range votes {
		roster = append(roster, v.From)
	}
	return Decide(Message{ID: "m1", From: eva, Text: "Hello"}, roster, votes)
}

func TestAVotesFieldsAreChecked(t *testing.T) {
	good := ballot("ada", StateSpeak, 5, false)
	if err := CheckVote(good); err != nil {
		t.Error(err)
	}
	for field, spoil := range map[string]func(*Vote){
		"from":       func(v *Vote) { v.From = "" },
		"messageId":  func(v *Vote) { v.MessageID = "" },
		"state":      func(v *Vote) { v.State = "shout" },
		"importance": func(v *Vote) { v.Importance = 10.01 },
		"closing":    func(v *Vote) { v.Closing = "" },
		"terms":      func(v *Vote) { v.Terms = []Term{{Name: "x", Value: math.Inf(1)}} },
	} {
		v := good
		spoil(&v)
		if err := CheckVote(v); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, x := range []float64{-0.1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		v := good
		v.Importance = x
		if CheckVote(v) == nil {
			t.Errorf("importance %v is taken", x)
		}
	}
	bad := ballot("bob", "", 10, true) // missing state
	d := decided(good, bad)
	if d.Winner != "ada" || !slices.Equal(d.Absent, []CompanionID{"bob"}) || !strings.Contains(d.Silent[0].Reason, "refused") {
		t.Errorf("%+v", d)
	}
}

func TestSelection(t *testing.T) {
	a, b, c := CompanionID("ada"), CompanionID("bob"), CompanionID("cleo")
	terminal := func(v Vote) Vote { v.Closing = Terminal; return v }
	for name, row := range map[string]struct {
		votes  []Vote
		winner CompanionID
		ended  bool
	}{
		"selected beats speak":            {[]Vote{ballot(a, StateSpeak, 10, false), ballot(b, StateSpeak, 1, true)}, b, false},
		"importance orders the selected":  {[]Vote{ballot(a, StateSpeak, 8, true), ballot(b, StateSpeak, 9, true)}, b, false},
		"importance orders the willing":   {[]Vote{ballot(a, StateSpeak, 6, false), ballot(b, StateSpeak, 7, false), ballot(c, StateSpeak, 6.5, false)}, b, false},
		"listen never wins":               {[]Vote{ballot(a, StateListen, 10, false), ballot(b, StateListen, 10, true)}, "", false},
		"listen never wins over speak":    {[]Vote{ballot(a, StateListen, 10, true), ballot(b, StateSpeak, 5, false)}, b, false},
		"below five nobody":               {[]Vote{ballot(a, StateSpeak, 4.99, false), ballot(b, StateSpeak, 0, false)}, "", false},
		"selected below five":             {[]Vote{ballot(a, StateSpeak, 2, true)}, a, false},
		"terminal does not speak":         {[]Vote{terminal(ballot(a, StateSpeak, 10, true)), ballot(b, StateSpeak, 5, false)}, b, false},
		"terminal and one who listens":    {[]Vote{terminal(ballot(a, StateSpeak, 10, true)), ballot(b, StateListen, 5, false)}, "", false},
		"all terminal ends":               {[]Vote{terminal(ballot(a, StateSpeak, 10, true)), terminal(ballot(b, StateListen, 0, false))}, "", true},
		"nobody here is no end":           {nil, "", false},
		"least recently spoken of equals": {[]Vote{spoken(ballot(a, StateSpeak, 6, false), 7), spoken(ballot(b, StateSpeak, 6, false), 3), spoken(ballot(c, StateSpeak, 6, false), 5)}, b, false},
	} {
		if d := decided(row.votes...); d.Winner != row.winner || d.Ended != row.ended {
			t.Errorf("%s: %q, ended %v; want %q, %v", name, d.Winner, d.Ended, row.winner, row.ended)
		}
	}
}

// TestTiesGoToTheLeastRecent, whoever that is.
func TestTiesGoToTheLeastRecent(t *testing.T) {
	for _, least := range []CompanionID{"ada", "bob", "cleo"} {
		var votes []Vote
		for _, id := range []CompanionID{"ada", "bob", "cleo"} {
			n := uint64(7)
			if id == least {
				n = 3
			}
			votes = append(votes, spoken(ballot(id, StateSpeak, 6, false), n))
		}
		if d := decided(votes...); d.Winner != least {
			t.Errorf("%s speaks, and %s has not for longer", d.Winner, least)
		}
	}
}

func spoken(v Vote, n uint64) Vote { v.Spoke = n; return v }

// TestEqualImportanceSameWinner: in 1,000 orders of arrival the same one.
func TestEqualImportanceSameWinner(t *testing.T) {
	var votes []Vote
	for i := range 7 {
		votes = append(votes, ballot(CompanionID(fmt.Sprintf("c%d", i)), StateSpeak, 6, false))
	}
	first := decided(votes...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		r.Shuffle(len(votes), func(i, j int) { votes[i], votes[j] = votes[j], votes[i] })
		if d := decided(votes...); !reflect.DeepEqual(d, first) {
			t.Fatalf("%+v, then %+v", first, d)
		}
	}
}

// TestTiedTurnsAreFair: over 300 tied turns nobody has more than 45 %, by the last who spoke and by the draw alone.
func TestTiedTurnsAreFair(t *testing.T) {
	for _, remember := range []bool{true, false} {
		wins, last := map[CompanionID]int{}, map[CompanionID]uint64{}
		for turn := range 300 {
			m := Message{ID: MessageID(fmt.Sprintf("01JD%05d", turn)), From: eva}
			var votes []Vote
			for _, id := range []CompanionID{"ada", "bob", "cleo"} {
				v := ballot(id, StateSpeak, 6, false)
				v.MessageID, v.Spoke = m.ID, last[id]
				votes = append(votes, v)
			}
			d := Decide(m, []CompanionID{"ada", "bob", "cleo"}, votes)
			wins[d.Winner]++
			if remember {
				last[d.Winner] = uint64(turn + 1)
			}
		}
		for id, n := range wins {
			if n > 135 || n < 65 {
				t.Errorf("%s speaks %d times of 300 (remembered: %v)", id, n, remember)
			}
		}
	}
}

// TestTiedQuestionsAreFair is the same through the judgement: 300 open questions to three companions of no field, each of somebody
// who has talked with nobody yet.
func TestTiedQuestionsAreFair(t *testing.T) {
	c := meet(t, Card{ID: "ada", Name: "Ada"}, Card{ID: "bob", Name: "Bob"}, Card{ID: "cleo", Name: "Cleo"})
	wins := map[CompanionID]int{}
	for i := range 300 {
		c.says(Participant(fmt.Sprintf("human:p%d", i)), fmt.Sprintf("Who won match number %d in the year %d?", i, 1700+i))
		if c.d.Winner == "" {
			t.Fatalf("turn %d: nobody\n%s", i, explain(c.d))
		}
		wins[c.d.Winner]++
		c.says(Participant(c.d.Winner), fmt.Sprintf("Team %d of that town, as far as is known.", i*7))
		if len(c.v.Recent) > 60 {
			c.v.Recent = c.v.Recent[len(c.v.Recent)-50:]
		}
		c.v.Message.ID = MessageID(fmt.Sprintf("x%d", i))
	}
	for id, n := range wins {
		if n > 135 {
			t.Errorf("%s answers %d of 300", id, n)
		}
	}
}

func TestStrangersVotesChangeNothing(t *testing.T) {
	votes := []Vote{ballot("ada", StateSpeak, 6, false), ballot("bob", StateListen, 0, false)}
	was := decided(votes...)
	other := ballot("ada", StateSpeak, 10, true)
	other.MessageID = "m0" // of another round
	is := Decide(Message{ID: "m1", From: eva, Text: "Hello"}, []CompanionID{"bob", "ada"}, append(votes, ballot("zed", StateSpeak, 10, true), other))
	if !reflect.DeepEqual(was, is) {
		t.Errorf("%+v, and with a stranger %+v", was, is)
	}
}

func TestCascadeOfDecide(t *testing.T) {
	ask := func(text string, from Participant, votes ...Vote) Decision {
		return Decide(Message{ID: "m1", From: from, Text: text}, []CompanionID{"a", "b", "c", "d"}, votes)
	}
	near := []Vote{ballot("a", StateSpeak, 9, false), ballot("b", StateSpeak, 8, false), ballot("c", StateSpeak, 8.5, false), ballot("d", StateSpeak, 8.9, false)}
	if d := ask("Hello", eva, near...); d.Winner != "a" || !slices.Equal(d.Extras, []CompanionID{"d", "c"}) {
		t.Errorf("%s %v; want a, then d and c, and no more than two", d.Winner, d.Extras)
	}
	if d := ask("Hello", eva, ballot("a", StateSpeak, 9.5, false), ballot("b", StateSpeak, 8.4, false)); len(d.Extras) > 0 {
		t.Errorf("%v adds from more than a point behind", d.Extras)
	}
	if d := ask("Hello", eva, ballot("a", StateSpeak, 8, false), ballot("b", StateSpeak, 7.9, false)); len(d.Extras) > 0 {
		t.Errorf("%v adds with less than eight", d.Extras)
	}
	if d := ask("What do you all think?", eva, ballot("a", StateSpeak, 9, false), ballot("b", StateSpeak, 5, false), ballot("c", StateSpeak, 4, false)); !slices.Equal(d.Extras, []CompanionID{"b"}) {
		t.Errorf("%v add where all are asked", d.Extras)
	}
	if d := ask("Hello", "e", near...); len(d.Extras) > 0 {
		t.Errorf("%v add to a companion's words", d.Extras)
	}
}

var anyVote = rapid.Custom(func(t *rapid.T) Vote {
	return Vote{
		From:       rapid.SampledFrom([]CompanionID{"ada", "bob", "cleo", "dora", "zed"}).Draw(t, "from"),
		MessageID:  rapid.SampledFrom([]MessageID{"m1", "m1", "m1", "m0"}).Draw(t, "message"),
		State:      rapid.SampledFrom([]State{StateSpeak, StateSpeak, StateListen, "x"}).Draw(t, "state"),
		Importance: rapid.SampledFrom([]float64{0, 4.9, 5, 7, 8, 9, 10, 11, -1}).Draw(t, "importance"),
		Selected:   rapid.Bool().Draw(t, "selected"),
		Closing:    rapid.SampledFrom(append(slices.Clone(closings), ClosingNone, ClosingNone, "y")).Draw(t, "closing"),
		Spoke:      rapid.Uint64Range(0, 3).Draw(t, "spoke"),
	}
})

// TestDecideProperties: whatever comes in, in whatever order, more than once or from strangers.
func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.SliceOfN(anyVote, 0, 12).Draw(t, "votes")
		m := Message{ID: "m1", From: eva, Text: rapid.SampledFrom([]string{"Hello", "What do you all think?"}).Draw(t, "text")}
		roster := []CompanionID{"cleo", "ada", "dora", "bob"}
		var barred []Silent
		for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom(roster), rapid.ID[CompanionID]).Draw(t, "barred") {
			barred = append(barred, silenced(id, LayerForbidden, because.Of("excluded"), because.IDs))
		}
		d := Decide(m, roster, votes, barred...)
		if again := Decide(m, []CompanionID{"bob", "ada", "cleo", "dora"}, rapid.Permutation(votes).Draw(t, "order"), barred...); !reflect.DeepEqual(d, again) {
			t.Fatalf("%+v, in another order %+v", d, again)
		}
		for _, b := range barred {
			if slices.Contains(d.Order, b.Companion) || slices.Contains(d.Extras, b.Companion) {
				t.Fatalf("%s may speak: %+v", b.Companion, d)
			}
		}
		if replayed := Decide(m, d.Roster, d.Votes, d.Barred...); replayed.Winner != d.Winner || !slices.Equal(replayed.Order, d.Order) || !slices.Equal(replayed.Extras, d.Extras) || replayed.Ended != d.Ended || replayed.Reason != d.Reason {
			t.Fatalf("%+v, of its own votes %+v", d, replayed)
		}
		speak := d.Extras
		if d.Winner != "" {
			speak = append([]CompanionID{d.Winner}, d.Extras...)
		} else if len(d.Order)+len(d.Extras) > 0 {
			t.Fatalf("nobody wins, but %v may speak and %v add", d.Order, d.Extras)
		}
		for _, id := range roster {
			silent := slices.ContainsFunc(d.Silent, func(s Silent) bool { return s.Companion == id && s.Reason != "" })
			if silent == slices.Contains(speak, id) {
				t.Fatalf("%s: silent with a reason is %v: %+v", id, silent, d)
			}
		}
		for _, id := range d.Order {
			i := slices.IndexFunc(d.Votes, func(v Vote) bool { return v.From == id })
			if v := d.Votes[i]; v.State != StateSpeak || v.Closing == Terminal || !v.Selected && v.Importance < 5 {
				t.Fatalf("%+v may speak", v)
			}
		}
		if len(speak) > 6 || d.Reason == "" || len(d.Silent)+len(speak) != len(roster) {
			t.Fatalf("%+v", d)
		}
	})
}

// TestBetterIsAnOrder: of claims by different companions exactly one of two is better, and it is transitive.
func TestBetterIsAnOrder(t *testing.T) {
	claim := rapid.Custom(func(t *rapid.T) Claim {
		v := anyVote.Draw(t, "vote")
		c := Claim{Companion: v.From, Place: Place{Epoch: Epoch{N: rapid.Uint64Range(1, 2).Draw(t, "epoch"), Device: "k1"}, Number: rapid.IntRange(1, 2).Draw(t, "number"), Message: "m1"}}
		if rapid.IntRange(0, 4).Draw(t, "shows") > 0 {
			c.Votes = []Vote{v}
		}
		c.Instead = rapid.SliceOfN(rapid.Just(CompanionID("x")), 0, 2).Draw(t, "instead")
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := claim.Draw(t, "a"), claim.Draw(t, "b"), claim.Draw(t, "c")
		if a.Companion == b.Companion || b.Companion == c.Companion || a.Companion == c.Companion {
			return
		}
		if Better(a, b) == Better(b, a) {
			t.Fatal("both or none is better")
		}
		if Better(a, b) && Better(b, c) && !Better(a, c) {
			t.Fatal("not transitive")
		}
	})
}

// TestBetterAgreesWithDecide: of two claims on the same votes the better one is that of the better candidate.
func TestBetterAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.SliceOfNDistinct(anyVote, 0, 5, func(v Vote) CompanionID { return v.From }).Draw(t, "votes")
		d := Decide(Message{ID: "m1", From: eva}, []CompanionID{"ada", "bob", "cleo", "dora", "zed"}, votes)
		for i, id := range d.Order {
			for _, worse := range d.Order[i+1:] {
				p := Place{Epoch: Epoch{N: 1, Device: "k1"}, Number: 1, Message: "m1"}
				if !Better(Claim{Place: p, Companion: id, Votes: d.Votes}, Claim{Place: p, Companion: worse, Votes: d.Votes}) {
					t.Fatalf("%s is before %s in %v, and its claim is not better", id, worse, d.Order)
				}
			}
		}
	})
}

// BenchmarkJudgeAll is a device with two companions in a room of a hundred.
func BenchmarkJudgeAll(b *testing.B) {
	v := View{Manners: DefaultManners(), Turns: 40}
	for i := range 50 {
		v.Members = append(v.Members, Member{Device: DeviceID(fmt.Sprint("d", i)), Name: fmt.Sprint("place ", i), Cards: []Card{
			{ID: CompanionID(fmt.Sprint("a", i)), Name: fmt.Sprint("Anna ", i), Expertise: []string{"bread", "gardens and trees", "rivers"}},
			{ID: CompanionID(fmt.Sprint("b", i)), Name: fmt.Sprint("Ben ", i), Expertise: []string{"stars", "music", "old cars"}},
		}})
	}
	for i := range 30 {
		v.Recent = append(v.Recent, Message{ID: MessageID(fmt.Sprint("m", i)), From: Participant(fmt.Sprint("a", i%5)), Text: "There is more to say about rivers than one would think, and about the trees on their banks."})
	}
	v.Message = Message{ID: "m99", From: eva, Text: "Which rivers have the oldest trees, and why do they grow there?"}
	for b.Loop() {
		JudgeAll(v, []CompanionID{"a1", "b1"})
	}
}
