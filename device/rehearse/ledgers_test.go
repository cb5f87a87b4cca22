package rehearse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/device/control"
)

// written are entries of two devices that ledgers reads, a second apart.
type written struct {
	*report
	out  bytes.Buffer
	time time.Duration
}

func newWritten(json bool) *written {
	l := &written{}
	l.report = &report{now: func() time.Duration { return l.time }, ledgers: newLedgers(DefaultRoom())}
	l.ledgers.names["k1"], l.ledgers.names["b1"] = "kitchen", "bedroom"
	if l.text = &l.out; json {
		l.json = &l.out
	}
	return l
}

// write has devices, by the keys in front, record an entry about a message.
func (l *written) write(devices string, e round.Entry) {
	l.time += time.Second
	for _, id := range strings.Fields(devices) {
		e.Device = round.DeviceID(id)
		l.entry(l.ledgers.names[e.Device], e, "Six minutes.")
	}
}

var (
	eggs   = round.Message{ID: "M1", From: "human:k1", Text: "eggs?", Turn: "t-1", Epoch: round.Epoch{N: 1, Device: "k1"}, Number: 1}
	eggsAt = eggs.Place()
)

func decision(winner round.CompanionID) *round.Decision {
	d := &round.Decision{Winner: winner, Reason: "knows eggs, says k1", Waited: 3, Votes: []round.Vote{{From: "ada", State: round.StateSpeak, Importance: 8}}}
	if winner == "" {
		d.Reason = "nobody has anything to say"
	}
	for _, id := range []round.CompanionID{"ada", "ben"} {
		if id != winner {
			d.Silent = append(d.Silent, round.Silent{Companion: id, Reason: "not its field"})
		}
	}
	return d
}

// A round that everybody records is told once, with the claim; speech by its own device; names stand for keys.
func TestBookTellsARoundOnce(t *testing.T) {
	l := newWritten(true)
	l.write("k1 b1", round.Entry{Kind: round.EntryRound, Place: &eggsAt, Message: &eggs, Decision: decision("ada")})
	if !l.open() {
		t.Error("somebody was selected and the room counts as idle")
	}
	l.write("k1 b1", round.Entry{Kind: round.EntryClaim, Place: &eggsAt, Companion: "ada", By: "k1"})
	l.write("k1 b1", round.Entry{Kind: round.EntrySpoke, Place: &eggsAt, Companion: "ada", By: "k1", HeardMS: 900})
	l.write("k1", round.Entry{Kind: round.EntryAnswered, Place: &eggsAt, Message: &eggs})
	l.time += settle
	if l.open() {
		t.Error("the answer was given, and the room does not count as idle")
	}
	if err := l.end(nil); err != nil {
		t.Error(err)
	}
	const want = `{"event":"round","at_ms":1000,"device":"kitchen","message":{"id":"M1","from":"human:kitchen","text":"eggs?","number":1,"turn":"t-1"},"selected":"ada","reason":"knows eggs, says kitchen","votes":[{"from":"ada","messageId":"","state":"speak","importance":8,"selected":false,"closing":"","reason":"","spoke":0}],"silent":[{"companion":"ben","reason":"not its field"}],"waited_ms":3,"claim":{"companion":"ada","device":"kitchen","after_ms":1000}}
{"event":"said","at_ms":3000,"device":"kitchen","message":"M1","who":"Ada","text":"Six minutes.","heard_ms":900,"complete":true}
{"event":"outcome","at_ms":4000,"device":"kitchen","message":"M1","text":"eggs?","outcome":"answered"}
{"event":"rehearsal.end","at_ms":4500,"turns":0,"messages":1,"rounds":1,"said":1,"answered":1,"silent":0,"superseded":0,"hushed":0,"faults":0,"unanswered":0,"ok":true}
`
	if got := l.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := (talk{speaker{"kitchen", "ada"}, 2 * time.Second, 3 * time.Second}); len(l.ledgers.talks) != 1 || l.ledgers.talks[0] != want {
		t.Errorf("talks %v; want %v", l.ledgers.talks, want)
	}
}

func TestBookInWords(t *testing.T) {
	l := newWritten(false)
	l.write("k1 b1", round.Entry{Kind: round.EntryRound, Place: &eggsAt, Message: &eggs, Decision: decision("ada")})
	l.write("k1 b1", round.Entry{Kind: round.EntryClaim, Place: &eggsAt, Companion: "ada", By: "k1"})
	l.write("k1 b1", round.Entry{Kind: round.EntryFailed, Place: &eggsAt, Companion: "ada", Why: "k1 is gone"})
	l.write("b1 k1", round.Entry{Kind: round.EntryClaim, Place: &eggsAt, Companion: "ben", By: "b1"})
	l.write("b1", round.Entry{Kind: round.EntryInstead, Place: &eggsAt, Companion: "ben", By: "b1", Why: "Ada failed"})
	l.write("b1 k1", round.Entry{Kind: round.EntrySpoke, Place: &eggsAt, Companion: "ben", By: "b1", HeardMS: 900, Why: "cut"})
	l.write("k1", round.Entry{Kind: round.EntryAnswered, Place: &eggsAt, Message: &eggs})
	_ = l.end(nil)
	const want = `           person in kitchen: eggs?
             Ada speaks: knows eggs, says kitchen (3 ms)
             Ben is silent: not its field
           Ada lost the floor: kitchen is gone
           Ben takes over: Ada failed
           Ben (bedroom): Six minutes. … (cut after 0.9 s)
   7.00 s  end: 1 messages of people, 1 answered, 0 not (see why), 0 superseded, 0 without an end; 1 said, 0 hushed
`
	if got := l.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// ROOM.md 8, I2: the word of the person's own device counts, exactly once.
func TestBookFindsWhatCameToNoEnd(t *testing.T) {
	answered := round.Entry{Kind: round.EntryAnswered, Place: &eggsAt, Message: &eggs}
	silent := round.Entry{Kind: round.EntrySilent, Place: &eggsAt, Message: &eggs, Why: "nobody has anything to say"}
	decided := round.Entry{Kind: round.EntryRound, Place: &eggsAt, Message: &eggs, Decision: decision("ada")}
	for _, c := range []struct {
		name string
		play func(*written)
		want string // of the error; empty: none
	}{
		{"answered", func(l *written) { l.write("k1 b1", decided); l.write("k1", answered) }, ""},
		{"deliberately silent", func(l *written) { l.write("k1", silent) }, ""},
		{"superseded", func(l *written) {
			l.write("k1", round.Entry{Kind: round.EntrySuperseded, Place: &eggsAt, Message: &eggs})
		}, ""},
		{"nothing", func(l *written) { l.write("k1 b1", decided) }, `"eggs?", said in kitchen, has 0 outcomes []`},
		{"only another device's word", func(l *written) { l.write("k1 b1", decided); l.write("b1", answered) }, `has 0 outcomes []`},
		{"two", func(l *written) { l.write("k1", answered); l.write("k1", silent) }, `has 2 outcomes [answered silent]`},
		{"its device was killed", func(l *written) { l.write("k1 b1", decided); l.gone("kitchen") }, ""},
		{"a turn that became no message", func(l *written) {
			l.turn(control.Turn{Device: "kitchen", Record: coordinator.Record{Turn: "t-2", Source: "button", Asked: "lost?", Reason: "done"}}, 0, false, true)
		}, `"lost?", said in kitchen, never became a message (turn t-2 done)`},
	} {
		l := newWritten(true)
		c.play(l)
		err := l.end(nil)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		lines := strings.Split(strings.TrimSpace(l.out.String()), "\n")
		var end endLine
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.OK != (c.want == "") {
			t.Errorf("%s: the last line is %s, %v", c.name, lines[len(lines)-1], err)
		}
	}
}

// A round has one figure, that of the device where the person asked, as its page shows it; a silence names what asked for it.
func TestOneFigureForOneThing(t *testing.T) {
	l := newWritten(false)
	soon, late := decision("ada"), decision("ada")
	soon.Waited, late.Waited = 0, 12
	l.write("b1", round.Entry{Kind: round.EntryRound, Place: &eggsAt, Message: &eggs, Decision: soon})
	l.write("b1", round.Entry{Kind: round.EntryClaim, Place: &eggsAt, Companion: "ada", By: "k1"})
	l.write("k1", round.Entry{Kind: round.EntryRound, Place: &eggsAt, Message: &eggs, Decision: late})
	l.sounds("bedroom", "kitchen", byQuestion, 0, 450*time.Millisecond)
	l.hush("bedroom", "kitchen", byPress, 0, 31*time.Millisecond)
	const want = `           person in kitchen: eggs?
             Ada speaks: knows eggs, says kitchen (12 ms)
             Ben is silent: not its field
           bedroom sounds on, 450 ms after the question in kitchen
           bedroom is silent 31 ms after the press in kitchen
`
	if got := l.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
