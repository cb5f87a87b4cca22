package talk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

func play(events ...Event) (m Machine, out []Effect) {
	for _, ev := range events {
		var effects []Effect
		m, effects = Step(m, ev)
		out = append(out, effects...)
	}
	return m, out
}

func only[T Effect](t *testing.T, effects []Effect) (found T) {
	t.Helper()
	n := 0
	for _, e := range effects {
		if e, ok := e.(T); ok {
			found = e
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d of %T among %+v; want one", n, found, effects)
	}
	return found
}

// What was asked was done without a word, as a book that plays: that is an answer, and nobody else is asked for one.
func TestWhoActsWithoutAWordHasAnswered(t *testing.T) {
	end := ended(TurnEnded{Reason: "done", Done: true, Tools: 1}, "t-1")
	for name, way := range map[string][]Event{
		"in a room": {Asked{Turn: "t-1"}, WordsCame{"t-1", "play", true, "ada"}, mine, Opened{Place: here, Companion: "ada"}, end},
		"alone":     {Asked{Turn: "t-1", Alone: true}, end, WordsCame{"t-1", "play", true, "ada"}, mine, Opened{Place: here, Companion: "ada"}},
	} {
		_, out := play(way...)
		if e := only[TellEnded](t, out); !e.Acted || e.OK || e.Why != "done" {
			t.Errorf("%s: %+v", name, e)
		}
		only[TellWords](t, out)
	}
}

// Who is alone answers before the room has decided anything, and may have been heard whole by then. Whichever comes first, the end of
// the turn or the room's word, the room learns of an answer that was heard.
func TestAnAnswerWithoutTheRoomIsTold(t *testing.T) {
	began := []Event{Asked{Turn: "t-1", Alone: true}, SpeechBegan{"t-1"}, SpeechKnown{Turn: "t-1", Text: "hello", Left: time.Second}, WordsCame{"t-1", "hi", true, "ada"}}
	opened, end := []Event{mine, Opened{Place: here, Companion: "ada"}}, []Event{ended(whole, "t-1")}
	for name, way := range map[string][]Event{
		"the room first":      append(append(append([]Event{}, began...), opened...), end...),
		"the end first":       append(append(append([]Event{}, began...), end...), opened...),
		"the end in between":  append(append([]Event{}, began...), mine, ended(whole, "t-1"), Opened{Place: here, Companion: "ada"}),
		"the words come last": append(append([]Event{}, began[:3]...), ended(whole, "t-1"), WordsCame{"t-1", "hi", true, "ada"}, mine, Opened{Place: here, Companion: "ada"}),
	} {
		_, out := play(way...)
		if e := only[TellEnded](t, out); !e.OK || e.Cut || e.Text != "hello" || e.Why != "done" {
			t.Errorf("%s: %+v", name, e)
		}
		order := ""
		for _, e := range out {
			order += letters[fmt.Sprintf("%T", e)[len("talk."):]]
		}
		if order != "wbke" {
			t.Errorf("%s: told %q; want the words, the beginning, what it says, the end", name, order)
		}
	}
}

func TestWhoIsMeant(t *testing.T) {
	ben := []round.Participant{"ben"}
	for name, c := range map[string]struct {
		way  []Event
		text string
		to   string
	}{
		"as it was asked":              {[]Event{Asked{Turn: "t-1", To: ben}, WordsCame{"t-1", "hi", false, "ada"}}, "hi", "[ben]"},
		"everybody":                    {[]Event{Asked{Turn: "t-1"}, WordsCame{"t-1", "hi", false, "ada"}}, "hi", "[]"},
		"somebody came meanwhile":      {[]Event{Asked{Turn: "t-1", Alone: true}, WordsCame{"t-1", "hi", false, "ada"}}, "hi", "[ada]"},
		"alone still":                  {[]Event{Asked{Turn: "t-1", Alone: true}, WordsCame{"t-1", "hi", true, "ada"}}, "hi", "[]"},
		"nobody wrote it down":         {[]Event{Asked{Turn: "t-1", To: ben}, WordsCame{"t-1", " ", false, "ada"}}, round.Unwritten, "[ada]"},
		"nobody did, and time is over": {[]Event{Asked{Turn: "t-1"}, InputCommitted{0, "t-1"}, DeadlinePassed{At: transcriptPatience, First: "cleo"}}, round.Unwritten, "[cleo]"},
	} {
		_, out := play(c.way...)
		if e := only[TellWords](t, out); e.Text != c.text || fmt.Sprint(e.To) != c.to {
			t.Errorf("%s: %+v; want %q to %s", name, e, c.text, c.to)
		}
	}
}

// Words that come after the room was told that there are none are told as what they are, once, and for whom they were said.
func TestWordsComeLate(t *testing.T) {
	ben, late := []round.Participant{"ben"}, WordsCame{"t-1", "hi", false, "ada"}
	passed := []Event{InputCommitted{0, "t-1"}, DeadlinePassed{At: transcriptPatience, First: "ada"}}
	for name, c := range map[string]struct {
		asked Asked
		more  []Event
		want  string
	}{
		"to everybody":               {Asked{Turn: "t-1"}, nil, "[] false false"},
		"whispered":                  {Asked{Turn: "t-1", To: ben}, nil, "[ben] true false"},
		"the turn is over":           {Asked{Turn: "t-1"}, []Event{TurnEnded{Turn: "t-1", Reason: "interrupted"}}, "[] false false"},
		"it was answered on its own": {Asked{Turn: "t-1", Alone: true}, nil, "[ada] false true"},
		"blank ones came before":     {Asked{Turn: "t-1"}, []Event{WordsCame{"t-1", " ", false, "ada"}}, "[] false false"},
	} {
		m, out := play(append(append(append([]Event{c.asked}, passed...), c.more...), late)...)
		e := only[TellLate](t, out)
		if got := fmt.Sprint(e.To, e.Whispered, e.Answered); got != c.want || e.Text != "hi" {
			t.Errorf("%s: %s, %q; want %s", name, got, e.Text, c.want)
		}
		if _, out := Step(m, late); len(out) > 0 {
			t.Errorf("%s: told again: %+v", name, out)
		}
	}
}

// An answer that was given up ends with its turn, or half a second later; what was to silence it does not silence a newer question.
func TestGivenUp(t *testing.T) {
	before := []Event{Asked{Turn: "t-1"}, mine, Opened{Place: here, Companion: "ada"}}
	up := Abandoned{time.Second, here, "ada", "a press elsewhere"}
	_, out := play(append(before, up)...)
	only[Hush](t, out)
	m, out := play(append(before, Asked{Turn: "t-2"}, up)...)
	if e := out[len(out)-1]; e != (Effect)(Post{turn.VoteLost{At: time.Second, Turn: "t-1"}}) {
		t.Errorf("a newer question is here: %+v", e)
	}
	if at, ok := m.Wake(); !ok || at != time.Second+abandonPatience {
		t.Errorf("waits until %v, %v", at, ok)
	}
	_, out = Step(m, DeadlinePassed{At: time.Second + abandonPatience})
	if e := only[TellEnded](t, out); e.OK || e.Why != "a press elsewhere" {
		t.Errorf("%+v", e)
	}
	_, out = play(append(before, up, TurnEnded{Turn: "t-1", Reason: "interrupted", Audible: true, HeardText: "hel", Said: "hello"})...)
	if e := only[TellEnded](t, out); !e.OK || !e.Cut || e.Text != "hel" || e.Why != "a press elsewhere" {
		t.Errorf("%+v", e)
	}
}

// A question that came to nothing because everybody failed is told to the person, once, and not if he has asked again.
func TestWhyNobodyAnswers(t *testing.T) {
	failed := []Event{Asked{Turn: "t-1"}, mine, TurnEnded{Turn: "t-1", Reason: "failed", Words: turn.WordsServerError}, AnswerFailed{"m-1"}}
	silent := Unanswered{Message: "m-1", Turn: "t-1", Generation: 3}
	m, out := play(append(failed, silent)...)
	if e := only[SayWords](t, out); e.Words != turn.WordsServerError || e.Generation != 3 {
		t.Errorf("%+v", e)
	}
	if _, again := Step(m, silent); only[SayWords](t, again).Words != turn.WordsNoAnswer {
		t.Errorf("the second time: %+v", again)
	}
	for name, way := range map[string][]Event{
		"he has pressed again":  append(append([]Event{}, failed...), Asked{Turn: "t-2"}, silent),
		"nobody wanted to":      {Asked{Turn: "t-1"}, silent},
		"another one's failure": {Asked{Turn: "t-1"}, AnswerFailed{"m-0"}, silent},
	} {
		if _, out := play(way...); len(out) > 0 {
			if _, said := out[len(out)-1].(SayWords); said {
				t.Errorf("%s: %+v", name, out)
			}
		}
	}
}

// Who calls somebody that is muted is told so: once, and again when that one was unmuted in between.
func TestWhoCallsAMutedOneIsTold(t *testing.T) {
	ask := func(m Machine, id turn.ID, message round.MessageID, muted ...round.CompanionID) (Machine, bool) {
		m, _ = Step(m, Asked{Turn: id})
		early, late := Unanswered{Message: message, Turn: id, Generation: 3, Muted: muted}, TurnEnded{Turn: id, Reason: "lost_vote", Generation: 3}
		if len(message)%2 == 0 { // the room may be quicker than the turn, whose beginning would cut the words
			m, out := Step(m, early)
			if len(out) > 0 {
				t.Errorf("before the turn is over: %+v", out)
			}
			early.Generation, m.owing.Generation = 0, 0
			m, out = Step(m, late)
			out = slices.DeleteFunc(out, func(e Effect) bool { _, words := e.(SayWords); return !words })
			return m, len(out) == 1
		}
		m, _ = Step(m, late)
		m, out := Step(m, early)
		said := len(out) == 1
		if said {
			if e := only[SayWords](t, out); e.Words != turn.WordsNotAllowed || e.Generation != 3 || e.Turn != id {
				t.Errorf("%+v", e)
			}
		}
		return m, said
	}
	var m Machine
	for i, c := range []struct {
		turned string // whose manners were turned before; empty: nobody's; "*": all
		muted  []round.CompanionID
		want   bool
	}{
		{"", nil, false}, {"", []round.CompanionID{"ada"}, true}, {"", []round.CompanionID{"ada"}, false}, {"", []round.CompanionID{"ada", "ben"}, true},
		{"", []round.CompanionID{"ben"}, false}, {"ben", []round.CompanionID{"ada"}, false}, {"", []round.CompanionID{"ben"}, true},
		{"*", []round.CompanionID{"ada"}, true},
	} {
		if c.turned != "" {
			m, _ = Step(m, MannersTurned{round.CompanionID(strings.Trim(c.turned, "*"))})
		}
		var said bool
		if m, said = ask(m, turn.ID(fmt.Sprint("t-", i)), round.MessageID(fmt.Sprint("m-", strings.Repeat("x", i))), c.muted...); said != c.want {
			t.Errorf("%d: %v", i, said)
		}
	}
	for i := range 100 {
		m, _ = ask(m, turn.ID(fmt.Sprint("u-", i)), "m", round.CompanionID(fmt.Sprint("c", i)))
	}
	if len(m.excused) > maxExcused {
		t.Errorf("%d are kept", len(m.excused))
	}
	_, out := play(Asked{Turn: "t-1"}, Asked{Turn: "t-2"}, Unanswered{Message: "m-1", Turn: "t-1", Muted: []round.CompanionID{"ada"}})
	if len(out) > 0 {
		t.Errorf("a newer question is here: %+v", out)
	}
}

func TestStepLeavesItsMachineAlone(t *testing.T) {
	m, _ := play(Asked{Turn: "t-1"}, mine)
	before := fmt.Sprintf("%+v", m)
	for _, r := range rows {
		Step(m, r.ev)
		if now := fmt.Sprintf("%+v", m); now != before {
			t.Fatalf("%s changed the machine it was given:\n%s\n%s", r.name, before, now)
		}
	}
}
