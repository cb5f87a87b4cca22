package device

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator"
	"conch/coordinator/turn"
)

// roomTalk is the device's part in the room's conversation: package talk decides, here is who feeds it and who carries out what it
// says. Facts come from the room's goroutine (roomStage), the coordinator's, the voices' and whoever sees a gesture; none of them
// waits. Whoever comes while nobody is at it takes what there is, in order, and carries it out without a lock.
type roomTalk struct {
	d    *Device
	room *companions.Room // set by wireRoom, before anything runs

	mu     sync.Mutex // guards what follows
	m      talk.Machine
	facts  []talk.Event
	taking bool // somebody is at it
	wake   *time.Timer
}

// post takes a fact, or leaves it to whoever is at it.
func (t *roomTalk) post(ev talk.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts = append(t.facts, ev)
	if t.taking {
		return
	}
	t.taking = true
	for len(t.facts) > 0 {
		var effects []talk.Effect
		t.m, effects = talk.Step(t.m, t.facts[0])
		t.facts = slices.Delete(t.facts, 0, 1)
		t.mu.Unlock()
		for _, e := range effects {
			t.carryOut(e)
		}
		t.mu.Lock()
	}
	t.taking = false
	if at, ok := t.m.Wake(); ok {
		in := max(0, at-t.d.now())
		if t.wake == nil {
			t.wake = time.AfterFunc(in, func() { t.post(talk.DeadlinePassed{At: t.d.now(), Alone: t.room.Alone(), First: t.first()}) })
		} else {
			t.wake.Reset(in)
		}
	}
}

// logTalkPanic: an order could not be carried out; the next ones are.
const logTalkPanic = "room.panic"

// carryOut does what was decided. What goes wrong in one order is no reason for the next ones to stay away.
func (t *roomTalk) carryOut(e talk.Effect) {
	defer func() {
		if p := recover(); p != nil {
			t.d.log.Error(logTalkPanic, "order", fmt.Sprintf("%T", e), "err", p, "stack", string(debug.Stack()))
		}
	}()
	d := t.d
	switch e := e.(type) {
	case talk.TellPress:
		t.room.Pressed(d.now(), string(e.Turn))
	case talk.TellWords:
		t.room.Said(string(e.Turn), e.Text, e.To)
	case talk.TellPressEnded:
		t.room.PressEnded(string(e.Turn), e.Reason)
	case talk.TellBegan:
		t.room.SpeechBegan(e.Place, e.Companion)
	case talk.TellKnown:
		t.room.SpeechKnown(e.Place, e.Companion, e.Text, max(0, e.Left-(d.now()-e.At)))
	case talk.TellEnded:
		t.room.SpeechEnded(e.SpeechEnded)
	case talk.GrantFloor:
		d.coordinator.Post(turn.FloorGranted{At: d.now(), Turn: e.Turn, Who: e.Who, Prompt: e.Prompt, Hold: true})
	case talk.OpenFloor:
		d.coordinator.Post(turn.FloorOpened{At: d.now(), Turn: e.Turn})
	case talk.LoseVote:
		d.coordinator.Post(turn.VoteLost{At: d.now(), Turn: e.Turn})
	case talk.Hush:
		roomStage{t}.Hush(e.Why)
	case talk.Remember:
		t.remember(e)
	case talk.SayWords:
		d.log.Warn(logRoomUnanswered, "turn", e.Turn, "words", e.Words, "why", e.Why)
		d.speaker.Play(phrases{d}.Phrase(e.Words), false, e.Generation)
	}
}

// logRoomUnanswered: whoever was to answer a question failed, and the person was told so.
const logRoomUnanswered = "room.unanswered"

// taken says that an announcement of this device has to wait for the room. Called by the coordinator.
func (t *roomTalk) taken() bool { return t.room != nil && t.room.Taken() }

// announces takes the floor for a turn that nobody asked for. Called by the coordinator.
func (t *roomTalk) announces(id turn.ID) {
	if t.room != nil {
		t.post(talk.Announced{Turn: id})
	}
}

// words are what was asked in a turn of this device.
func (t *roomTalk) words(id turn.ID, text string) {
	t.post(talk.WordsCame{Turn: id, Text: text, Alone: t.room.Alone(), First: t.first()})
}

// first is the companion that has the microphone, as the room calls it.
func (t *roomTalk) first() round.CompanionID { return t.d.knownAs(t.d.voices.ids[0]) }

// heard looks at what the voices report.
func (t *roomTalk) heard(ev turn.Event) {
	switch e := ev.(type) {
	case turn.Transcribed:
		t.words(e.Turn, e.Text)
	case turn.InputCommitted:
		t.post(talk.InputCommitted{At: t.d.now(), Turn: e.Turn})
	}
}

// speech is told by the coordinator what becomes of an answer.
func (t *roomTalk) speech(e coordinator.SpeechEvent) {
	switch {
	case t.room == nil:
	case e.Kind == coordinator.SpeechBegan:
		t.post(talk.SpeechBegan{Turn: e.Turn})
	case e.Kind == coordinator.SpeechKnown:
		t.post(talk.SpeechKnown{Turn: e.Turn, At: e.At, Left: e.Left, Text: e.Text})
	}
}

// ended is told by the coordinator of the end of every turn.
func (t *roomTalk) ended(r coordinator.Record) {
	t.post(talk.TurnEnded{
		Turn: r.Turn, Reason: r.Reason, Done: r.Reason == turn.Done.String(), Audible: r.Audible, Whole: r.Whole,
		Heard: time.Duration(r.HeardMS * float64(time.Millisecond)), Said: r.Said, HeardText: r.HeardText, Tools: r.Tools, Words: turn.Words(r.Words),
	})
}

// entry is told each entry of the ledger, on the room's goroutine.
func (t *roomTalk) entry(e round.Entry) {
	gen := t.d.speaker.Generation() // before it is known whether somebody pressed: a press from here on silences the words
	switch {
	case e.Kind == round.EntryFailed && e.Place != nil:
		t.post(talk.AnswerFailed{Message: e.Place.Message})
	case e.Kind == round.EntrySilent && e.Message != nil && e.Message.From == round.Human(t.d.self):
		t.post(talk.Unanswered{Message: e.Message.ID, Turn: turn.ID(e.Message.Turn), Generation: gen, Why: e.Why})
	}
}

// remember puts a message into the conversation of a companion that lives here.
func (t *roomTalk) remember(e talk.Remember) {
	v := t.d.voices.of[t.d.housed(e.Companion)]
	switch {
	case v == nil:
	case e.Own:
		v.Do(turn.AddText{Role: "assistant", Text: e.Message.Text})
	default:
		who, place := roomStage{t}.describe(e.Message.From)
		v.Do(turn.AddText{Role: "user", Text: companions.RoomLine(who, place, e.Message.Text)})
	}
}
