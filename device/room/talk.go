package room

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/printable"
)

// Package talk decides what becomes of what the room grants; here it is fed, and what it says is carried out. Facts come from the
// room's goroutine (stage), the coordinator's, the voices' and whoever sees a gesture. Each is taken whole before the next one, so
// that orders go out in their order: nothing that they come to waits, or leads back here.

// post takes a fact. Without a room there is nothing to decide.
func (d *Driver) post(ev talk.Event) {
	if d.Room == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var effects []talk.Effect
	d.m, effects = talk.Step(d.m, ev)
	for _, e := range effects {
		d.carryOut(e)
	}
	if at, ok := d.m.Wake(); ok {
		in := max(0, at-d.o.Now())
		if d.wake == nil {
			d.wake = time.AfterFunc(in, func() { d.post(talk.DeadlinePassed{At: d.o.Now(), Alone: d.Alone(), First: d.first()}) })
		} else {
			d.wake.Reset(in)
		}
	}
}

// Log events of the room.
const (
	logTalkPanic      = "room.panic"      // an order could not be carried out; the next ones are
	logVoiceTool      = "voice.tool"      // for who writes a voice or a skill: what a companion's session is told of a tool
	logRoomUnanswered = "room.unanswered" // whoever was to answer a question failed, and the person was told so
)

// carryOut does what was decided. What goes wrong in one order is no reason for the next ones to stay away.
func (d *Driver) carryOut(e talk.Effect) {
	defer func() {
		if p := recover(); p != nil {
			d.o.Log.Error(logTalkPanic, "order", fmt.Sprintf("%T", e), "err", p, "stack", string(debug.Stack()))
		}
	}()
	now := d.o.Now()
	switch e := e.(type) {
	case talk.TellPress:
		d.Room.Pressed(now, string(e.Turn))
	case talk.TellWords:
		if e.Whispered {
			d.Room.Said(string(e.Turn), e.Text, e.To)
		} else {
			d.Room.SaidTo(string(e.Turn), e.Text, e.To)
			HouseholdOf(d).introduced(e.Text)
		}
	case talk.TellLate:
		d.Room.SaidLate(string(e.Turn), e.Text, e.To, !e.Whispered, e.Answered)
	case talk.TellPressEnded:
		d.Room.PressEnded(string(e.Turn), e.Reason)
	case talk.TellBegan:
		d.Room.SpeechBegan(e.Place, e.Companion)
	case talk.TellKnown:
		d.Room.SpeechKnown(e.Place, e.Companion, e.Text, max(0, e.Left-(now-e.At)))
	case talk.TellEnded:
		d.Room.SpeechEnded(e.SpeechEnded)
	case talk.Post:
		d.host.Post(e.Event)
	case talk.Hush:
		d.host.Hush()
	case talk.Remember:
		d.remember(e)
	case talk.SayWords:
		level := slog.LevelWarn
		if e.Words == turn.WordsNotAllowed { // nothing failed
			level = slog.LevelInfo
		}
		d.o.Log.Log(context.Background(), level, logRoomUnanswered, "turn", e.Turn, "words", e.Words) // why: room.end says it
		d.host.Say(e.Words, e.Generation)
	}
}

// words are what was asked in a turn of this device.
func (d *Driver) words(id turn.ID, text string) {
	d.post(talk.WordsCame{Turn: id, Text: text, Alone: d.Alone(), First: d.first()})
}

// first is the companion that has the microphone, as the room calls it.
func (d *Driver) first() round.CompanionID { return d.KnownAs(d.Cards[0].ID) }

// remember puts a message into the conversation of a companion that lives here.
func (d *Driver) remember(e talk.Remember) {
	v := d.Voices.of[d.housed(e.Companion)]
	switch {
	case v == nil:
	case e.Own:
		v.Do(turn.AddText{Role: "assistant", Text: e.Message.Text})
	default:
		who, place := d.describe(e.Message.From)
		text := companions.RoomLine(who, place, e.Message.Text)
		if e.Message.From.Human() {
			text = companions.PersonLine(place, e.Message.Text)
		}
		v.Do(turn.AddText{Role: "user", Text: text})
	}
}

// describe is who somebody is, in words: a name and a place.
func (d *Driver) describe(p round.Participant) (who, place string) {
	for _, m := range d.Members() {
		if p == round.Human(m.Device) {
			return companions.Person, m.Name
		}
		for _, c := range m.Cards {
			if p == round.Participant(c.ID) {
				return c.Name, m.Name
			}
		}
	}
	if p.Human() {
		return companions.Person, ""
	}
	return string(p), ""
}

// stage is the device as companions.Room sees it.
type stage struct{ *Driver }

var _ companions.Stage = stage{}

// Hush silences the device.
func (s stage) Hush(string) { s.host.Hush() }

// Quiet silences what can be heard.
func (s stage) Quiet(string) { s.host.Quiet() }

// Prepare has a companion of this device get its answer ready.
func (s stage) Prepare(p round.Prepare) {
	who, prompt := s.housed(p.Companion), p.Guidance
	if who != p.Companion {
		prompt += "\nIn this room you are called " + printable.Named(s.NameOf(who)) + "; whoever says that name means you."
	}
	if people := HouseholdOf(s.Driver).about(p.Message); people != "" {
		prompt += "\n" + people
	}
	if present := companions.Present(s.Members(), p.Companion); present != "" {
		prompt += "\n" + present
	}
	s.post(talk.Granted{
		At: s.o.Now(), Grant: p, Who: turn.Who(who), First: s.first(), Up: s.Voices.up(who), Here: p.Message.From == round.Human(s.o.Self),
		Turn: newTurn(), Prompt: companions.RoomPrompt(prompt),
	})
}

// Speak lets the answer be heard.
func (s stage) Speak(p round.Place, c round.CompanionID) {
	s.post(talk.Opened{At: s.o.Now(), Place: p, Companion: c})
}

// Abandon gives an answer up.
func (s stage) Abandon(p round.Place, c round.CompanionID, why string) {
	s.post(talk.Abandoned{At: s.o.Now(), Place: p, Companion: c, Why: why})
}

// Lost ends the button's turn without an answer from here.
func (s stage) Lost(id, _ string) { s.post(talk.VoteLost{At: s.o.Now(), Turn: turn.ID(id)}) }

// Remember puts what was said into the conversations of those who live here.
func (s stage) Remember(m round.Message, to []round.CompanionID) {
	if !m.From.Human() {
		HouseholdOf(s.Driver).answered(m.Text)
	}
	s.post(talk.MessageHeard{Message: m, To: slices.Clone(to), First: s.first()})
}

// Correct tells the others' sessions what was heard of an answer that was cut; the speaker's own was truncated.
func (s stage) Correct(m round.MessageID, text string) {
	said, ok := s.Room.Message(m)
	if !ok || said.Private() { // it stays between the two
		return
	}
	who, _ := s.describe(said.From)
	note := who + " was interrupted; of the last answer only this was heard: " + text
	for id, v := range s.Voices.All() {
		if said.From != round.Participant(s.KnownAs(id)) {
			v.Do(turn.AddText{Role: "user", Text: companions.RoomLine("room", "", note)})
		}
	}
}

// Renamed tells a person that two companions had one name.
func (s stage) Renamed(r round.Rename) {
	s.o.Conditions.Set(condition.RoomRenamed, r.Why,
		fmt.Sprintf("here %s is called %s until a restart; give one of the two another id and name in its card", r.Card, r.Name))
}
