package round

import (
	"strings"
	"testing"
)

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
