package turn

import "testing"

// An utterance is given up for want of a session: it is kept, that is said, and once there is one a person hears that it is asked now, and
// then it is, as a turn of its own.
func TestAKeptQuestionIsAskedWhenTheSessionIsBack(t *testing.T) {
	b := newBench(t, Config{}).run(toAsking[1:]...).run("wait 5s")
	b.wantHas("KeepInput turn=t-1", "SayWords turn=t-1 words=offline then=kept", "EndTurn turn=t-1 reason=expired")
	b.wantNot("ClearInput turn=t-1 kept=t-1")
	b.forget().run("words-said", "inject t-2 - - - true")
	b.want(`DropStale turn=t-2 event=TurnInjected why="nothing is kept, or there is no session"`)
	b.forget().run("wait 1m", "ready", "inject t-3 - - - true")
	b.want("SayWords turn=t-1 words=kept_asked")
	b.wantState(Idle)
	b.forget().run("inject t-4 - - - true")
	b.want(`DropStale turn=t-4 event=TurnInjected why="the device is not quiet"`)
	b.forget().run("words-said", "inject t-4 - - - true")
	b.want("ClearInput turn=t-4 kept=t-1", "CommitInput turn=t-4", "OpenSpeech turn=t-4", "CreateResponse turn=t-4")
	b.forget().run("started t-4 r1", "delta t-4 r1 a 2400", "done t-4 r1", "drained t-4", "wait 20m")
	b.wantHas("EndTurn turn=t-4 reason=done source=inject")
	b.wantNot("SayWords", "KeepInput")
}

// In a room it asks for a vote like any other.
func TestAKeptQuestionAsksTheRoom(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toVoting[1:]...).run("wait 5s", "words-said", "ready", "inject t-2 - - - true", "words-said", "inject t-2 - - - true")
	b.wantNot("CreateResponse")
	b.forget().run("transcribed t-2 why", "floor t-2 - true")
	b.wantHas("CreateResponse turn=t-2")
	b = newBench(t, Config{Room: true}).run(toVoting[1:]...).run("wait 5s", "words-said", "ready", "inject t-2 - - - true", "words-said", "inject t-2 - - - true")
	b.forget().run("vote-lost t-2")
	b.wantHas("EndTurn turn=t-2 reason=lost_vote source=inject")
}

func TestWhatLetsAKeptQuestionGo(t *testing.T) {
	for _, row := range []struct {
		name  string
		lines []string
		want  []string
		not   string
	}{
		{"a press, which is too short", []string{"press t-2", "capture-started t-2", "wait 50ms", "release 1200"},
			[]string{"KeepInput", "SayWords turn=t-2 words=let_go"}, "words=kept_asked"},
		{"another question", []string{"lost", "press t-2", "capture-started t-2", "wait 1s", "release 24000", "capture-ended t-2 24000", "wait 5s"},
			[]string{"KeepInput", "KeepInput turn=t-2", "SayWords turn=t-2 words=offline then=kept_instead"}, ""},
		{"a typed one", []string{"lost", "ask t-2 why", "wait 5s"}, []string{"KeepInput", "SayWords turn=t-2 words=offline then=let_go"}, ""},
		{"a hush", []string{"hush"}, []string{"KeepInput"}, "SayWords"},
		{"muting, or nothing to be remembered", []string{"let-go"}, []string{"KeepInput"}, "SayWords"},
		{"its time", []string{"wait 10m"}, []string{"KeepInput", "SayWords turn=t-1 words=kept_late"}, ""},
		{"its time, in a call", []string{"call-rings t-9 9", "press t-2", "wait 10m", "press t-3"}, []string{"KeepInput", "SayWords turn=t-1 words=kept_late"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, Config{}).run(toKept...).forget().run(row.lines...)
			b.wantHas(row.want...)
			if row.not != "" {
				b.wantNot(row.not)
			}
			if _, kept := b.m, b.m.kept.turn == "t-1"; kept {
				t.Error("it is kept all the same")
			}
		})
	}
}

func TestWhatLeavesAKeptQuestionAlone(t *testing.T) {
	for name, lines := range map[string][]string{
		"a press elsewhere in the room":       {"hush true"},
		"a press that answers a call":         {"call-rings t-9 9", "press t-2", "wait 1s", "press t-3"},
		"a press that stops an alert":         {"alert true true", "wait 1s", "press t-2"},
		"an announcement":                     {"inject t-2 tea", "started t-2 r1", "delta t-2 r1 a 240", "done t-2 r1", "drained t-2"},
		"a session that comes and goes":       {"lost", "ready", "lost", "ready"},
		"words of its asking, and no session": {"inject t-2 - - - true", "lost", "words-said"},
	} {
		if b := newBench(t, Config{}).run(toKept...).forget().run(lines...); b.m.kept.turn != "t-1" || b.m.kept.said || b.has("KeepInput") {
			t.Errorf("%s: %+v, %v", name, b.m.kept, b.orders())
		}
	}
}

func TestWhatIsNotKept(t *testing.T) {
	for name, lines := range map[string][]string{
		"a typed question":           {"ask t-1 why", "wait 5s"},
		"a key that was refused":     {"lost true key_refused", "press t-1", "capture-started t-1", "wait 1s", "release 24000"},
		"refused while it waited":    append(clone(toAsking[1:]), "lost true key_refused"),
		"too many requests":          append([]string{"lost false quota"}, append(clone(toAsking[1:]), "wait 5s")...),
		"a server that says nothing": append(clone(toAsking), "wait 10s"),
		"muted meanwhile":            append(clone(toAsking[1:]), "let-go", "wait 5s"),
	} {
		b := newBench(t, Config{}).run(lines...)
		if b.wantHas("SayWords"); b.has("KeepInput") || b.m.kept.turn != "" {
			t.Errorf("%s is kept: %v", name, b.orders())
		}
	}
	b := newBench(t, Config{}).run(toAsking[1:]...)
	b.feed(DeadlinePassed{At: b.m.deadline, Night: true})
	b.wantHas("ClearInput turn=t-1", "SayWords turn=t-1 words=offline")
	b.wantNot("KeepInput")
}

// The line goes away again before there is an answer: it is kept once more, with the time that it had left.
func TestAKeptQuestionOutlivesALineThatFlaps(t *testing.T) {
	b := newBench(t, Config{}).run(toKept...)
	until := b.m.kept.until
	b.run("inject t-2 - - - true", "words-said", "inject t-2 - - - true", "lost").forget().run("wait 5s")
	b.wantHas("KeepInput turn=t-2", "SayWords turn=t-2 words=offline then=kept", "EndTurn turn=t-2 reason=expired")
	if b.m.kept != (kept{turn: "t-2", until: until}) {
		t.Errorf("kept is %+v; want until %v", b.m.kept, until)
	}
	b.run("words-said", "ready", "inject t-3 - - - true", "words-said").forget().run("inject t-3 - - - true")
	b.wantHas("ClearInput turn=t-3 kept=t-2", "CommitInput turn=t-3")
}

// Whatever comes back by itself is waited for: a network, also where this machine hears without one, and a model that is being loaded. What
// somebody has to mend is told, and not waited for.
func TestWhatAQuestionIsKeptFor(t *testing.T) {
	for say, kept := range map[string]bool{"offline": true, "not_running": true, "hear_only": true, "no_answer": true, "quota": false, "model_refused": false} {
		b := newBench(t, Config{}).run(toAsking[1:]...).run("lost - "+say, "wait 5s")
		if kept {
			b.wantHas("KeepInput turn=t-1", "SayWords turn=t-1 words="+say+" then=kept")
		} else {
			b.wantNot("KeepInput")
		}
	}
}
