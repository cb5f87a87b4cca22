package homeassistant

import (
	"slices"
	"strings"
	"testing"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
)

// The state is what a person would say that the device does.
func TestStates(t *testing.T) {
	wrong := func(codes ...condition.Code) (all []condition.Condition) {
		for _, c := range codes {
			all = append(all, condition.Condition{Code: c})
		}
		return all
	}
	for name, c := range map[string]struct {
		p    control.Picture
		want string
	}{
		"waits":                      {control.Picture{Status: control.Status{State: "IDLE", Quiet: true}, Doing: control.Doing{State: "IDLE"}}, "idle"},
		"a radio plays":              {control.Picture{Status: control.Status{State: "IDLE"}, Doing: control.Doing{State: "IDLE"}}, "playing"},
		"muted":                      {control.Picture{Status: control.Status{State: "IDLE", Quiet: true, Muted: true}, Doing: control.Doing{State: "IDLE"}}, "muted"},
		"no loudspeaker":             {control.Picture{Status: control.Status{State: "IDLE", Quiet: true, Muted: true, Conditions: wrong(condition.SoundSpeaker)}}, "error"},
		"no network":                 {control.Picture{Status: control.Status{State: "IDLE", Quiet: true, Conditions: wrong(condition.NetworkLost)}}, "offline"},
		"a note is no matter":        {control.Picture{Status: control.Status{State: "IDLE", Quiet: true, Conditions: wrong(condition.HomeUnseen)}}, "idle"},
		"it speaks nevertheless":     {control.Picture{Status: control.Status{Conditions: wrong(condition.SoundMicrophone)}, Doing: control.Doing{State: "IN_RESPONSE"}}, "speaking"},
		"it was interrupted":         {control.Picture{Status: control.Status{State: "INTERRUPTED"}, Doing: control.Doing{State: "INTERRUPTED"}}, "idle"},
		"the status comes later":     {control.Picture{Status: control.Status{State: "IN_RESPONSE"}, Doing: control.Doing{State: "IDLE"}}, "idle"},
		"nothing is known of it yet": {control.Picture{}, "idle"},
	} {
		if got := (&view{p: c.p}).state(); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
	for state, want := range map[turn.State]string{
		turn.Idle: "idle", turn.Listening: "listening", turn.Committing: "thinking", turn.AwaitingNextResponse: "thinking", turn.InResponse: "speaking",
		turn.ApplyingFactories: "speaking", turn.Interrupted: "idle",
	} {
		v := view{p: control.Picture{Status: control.Status{State: state.String(), Quiet: true}, Doing: control.Doing{State: state.String()}}}
		if got := v.state(); got != want {
			t.Errorf("%s: %s; want %s", state, got, want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var s samples
	if _, ok := s.quantile(0.5); ok {
		t.Error("nothing measured has a median")
	}
	for i := range 250 {
		s.add(float64(i))
	}
	p50, _ := s.quantile(0.5)
	p99, _ := s.quantile(0.99)
	if p50 != 199 || p99 != 248 || len(s) != history {
		t.Errorf("median %v, 99 %% %v of %d; want 199, 248 of the last %d", p50, p99, len(s), history)
	}
	s = samples{7}
	if p99, _ := s.quantile(0.99); p99 != 7 {
		t.Errorf("of one: %v", p99)
	}
}

func stateOf(v *view, key string) string {
	for _, e := range v.entities(rules{true, true}) {
		if e.key == key {
			return e.state
		}
	}
	return "there is no " + key
}

// What happens is an event; what happened before somebody looked is none, and still counts.
func TestWhatHappens(t *testing.T) {
	ms := func(v float64) *float64 { return &v }
	cut := control.Turn{Who: "Ada", Record: coordinator.Record{Reason: turn.InterruptedByPress.String(), PressToSilence: ms(8), CommitToFirstAudio: 500}}
	whole := control.Turn{Who: "Ada", Record: coordinator.Record{Reason: turn.Done.String(), PressToSilence: ms(6), CommitToFirstAudio: 300}}
	nothing := control.Turn{Record: coordinator.Record{Reason: turn.TooShort.String()}}
	unasked := control.Turn{Record: coordinator.Record{Reason: turn.Done.String(), Source: turn.SourceInject.String(), CommitToFirstAudio: 1}}

	p := somePicture()
	p.Recent = []control.Event{event(t, control.EventTurn, cut), event(t, control.EventTurn, whole)}
	v := &view{}
	if got := v.see(event(t, control.EventPicture, p)); len(got) != 0 {
		t.Errorf("what was before is told as an event: %v", got)
	}
	var got []string
	a := someAbout()
	for _, e := range []control.Event{
		event(t, control.EventPress, nil), event(t, control.EventRelease, nil), event(t, control.EventTurn, whole), event(t, control.EventTurn, nothing),
		event(t, control.EventTurn, unasked),
		event(t, control.EventTurn, cut), {Kind: control.EventTurn, Data: []byte("no turn")}, {Kind: "another", Data: []byte("{}")},
	} {
		for _, h := range v.see(e) {
			m := a.happened(h)
			if m.retained || m.topic != a.of("button", "event") {
				t.Errorf("an event is %+v", m)
			}
			got = append(got, m.payload)
		}
	}
	want := []string{`{"event_type":"press"}`, `{"event_type":"release"}`, `{"event_type":"stop","press_to_silence_ms":8,"who":"Ada"}`}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%v\nwant\n%v", got, want)
	}
	if n := len(v.first); n != 4 {
		t.Errorf("%d first sounds are counted; want 4: nobody has asked for an announcement", n)
	}
	if p50, p99, first := stateOf(v, "silence_p50"), stateOf(v, "silence_p99"), stateOf(v, "first_sound_p50"); p50 != "6.0" || p99 != "8.0" || first != "300.0" {
		t.Errorf("silence %s, %s, first sound %s; want 6.0, 8.0, 300.0", p50, p99, first)
	}
	p.Recent = append(p.Recent, event(t, control.EventTurn, cut))
	v.see(event(t, control.EventPicture, p)) // it fell behind
	if n := len(v.silence); n != 4 {
		t.Errorf("after a second picture %d presses are counted; want 4: what is known is not counted twice", n)
	}
}

// Why somebody spoke is told; of what is private, nothing.
func TestLastReason(t *testing.T) {
	v := views(t)["in a room"]
	entry := func(e round.Entry) { v.see(event(t, control.EventEntry, e)) }
	entry(round.Entry{Kind: round.EntryRound, Decision: &round.Decision{
		Winner: "cleo", Reason: "it was called by name", Silent: []round.Silent{{Companion: "ada", Reason: "another was called"}},
	}})
	if got := stateOf(v, "reason"); got != "Cleo: it was called by name" {
		t.Errorf("reason %q", got)
	}
	if got := encode(v.whole()); !strings.Contains(got, `"silent":[{"companion":"Ada","reason":"another was called"}]`) {
		t.Errorf("attributes %s", got)
	}
	for _, e := range []round.Entry{
		{Kind: round.EntryClaim, Companion: "ada"},
		{Kind: round.EntryRound},
		{Kind: round.EntryRound, Message: &round.Message{For: hall}, Decision: &round.Decision{Winner: "ada", Reason: "a secret"}},
		{Kind: round.EntryRound, Message: &round.Message{From: "cleo"}, Decision: &round.Decision{Reason: "nobody: nothing is open"}},
	} {
		entry(e)
		if got := stateOf(v, "reason"); got != "Cleo: it was called by name" {
			t.Errorf("after %s the reason is %q", encode(e), got)
		}
	}
	entry(round.Entry{Kind: round.EntryRound, Message: &round.Message{From: round.Human(kitchen)}, Decision: &round.Decision{Reason: "nobody: all are to be silent"}})
	if got := stateOf(v, "reason"); got != "nobody: all are to be silent" {
		t.Errorf("after a person was not answered the reason is %q", got)
	}
}

// The room's counters are not told each time, and not forgotten meanwhile.
func TestRoomKeepsItsCounters(t *testing.T) {
	v := views(t)["in a room"]
	r := someRoom()
	r.Wire, r.Members[0].Cards[0].Involvement = nil, round.InvolvementOff
	v.see(event(t, control.EventRoom, r))
	if a, b := stateOf(v, "room_reconnects"), stateOf(v, "involvement_ada"); a != "2" || b != "off" {
		t.Errorf("reconnects %s, involvement %s; want 2, off", a, b)
	}
}

// What was said is nobody's business there.
func TestNoWordsAreTold(t *testing.T) {
	const secret = "the safe is behind the picture"
	p := somePicture()
	p.Doing = control.Doing{State: "IN_RESPONSE", Floor: "ada", Who: "Ada", Asked: secret, Heard: secret, Rest: secret}
	v := &view{}
	v.see(event(t, control.EventPicture, p))
	news := v.see(event(t, control.EventTurn, control.Turn{Who: "Ada", Record: coordinator.Record{
		Reason: turn.InterruptedByPress.String(), Asked: secret, Said: secret, HeardText: secret,
	}}))
	v.see(event(t, control.EventEntry, round.Entry{
		Kind: round.EntryRound, Message: &round.Message{Text: secret}, Decision: &round.Decision{Winner: "ada", Reason: "it was called by name"},
	}))
	all := someAbout().wanted(v, nil, unlimited)
	for _, h := range news {
		all = append(all, someAbout().happened(h))
	}
	if len(news) != 1 || len(all) < 20 || stateOf(v, "reason") == unknown {
		t.Fatalf("%d events, %d messages; this test would prove nothing", len(news), len(all))
	}
	for _, m := range all {
		if strings.Contains(m.payload, secret) {
			t.Errorf("%s tells what was said: %s", m.topic, m.payload)
		}
	}
}

// Entity ids are as Home Assistant makes them of such names.
func TestPlainSlugs(t *testing.T) {
	for name, want := range map[string]string{
		"Kitchen": "kitchen", "Küche": "kuche", "Ku\u0308che": "kuche", "Salle à manger": "salle_a_manger", "Große Stube 2": "grosse_stube_2", "Łódź": "lodz",
		"Smørbrød": "smorbrod", "厨房": "conch", "Bad 厨房": "bad", "ﬁne": "fine", "": "conch",
	} {
		if got := plainSlug(name); got != want {
			t.Errorf("%q is %q; want %q", name, got, want)
		}
	}
}

// A microphone that is not there is not live.
func TestMicrophoneIsOffWhereThereIsNone(t *testing.T) {
	none := []condition.Condition{{Code: condition.SoundMicrophone}}
	for _, c := range []struct {
		s    control.Status
		want string
	}{
		{control.Status{}, on},
		{control.Status{Muted: true}, off},
		{control.Status{Conditions: none}, off},
		{control.Status{Muted: true, Conditions: none}, off},
		{control.Status{Conditions: []condition.Condition{{Code: condition.SoundSpeaker}}}, on},
	} {
		for _, e := range (&view{p: control.Picture{Status: c.s}}).entities(rules{}) {
			if e.key == keyMicrophone && e.state != c.want {
				t.Errorf("%+v: %s; want %s", c.s, e.state, c.want)
			}
		}
	}
}

// Two companions whose ids are alike are two.
func TestSlugs(t *testing.T) {
	long := strings.Repeat("a", 200)
	seen := map[string]string{}
	for _, s := range []string{"ada", "a/b", "a+b", "a_b", "ÄÖ", "äö", "", long, long + "b"} {
		got := slug(s)
		if was, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", was, s, got)
		}
		if seen[got] = s; strings.ContainsAny(got, "/+# ") || len(got) > maxSlug+10 {
			t.Errorf("%q is %q", s, got)
		}
	}
	if slug("ada") != "ada" {
		t.Error("a plain id is not kept as it is")
	}
}
