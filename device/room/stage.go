package room

import (
	"fmt"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator/turn"
	"conch/device/condition"
)

// stage is the device as companions.Room sees it.
type stage struct{ *Driver }

var _ companions.Stage = stage{}

// Hush silences the device.
func (s stage) Hush(string) { s.host.Hush() }

// Prepare has a companion of this device get its answer ready.
func (s stage) Prepare(p round.Prepare) {
	who, prompt := s.housed(p.Companion), p.Guidance
	if who != p.Companion {
		prompt += "\nIn this room you are called " + s.NameOf(who) + "; whoever says that name means you."
	}
	if present := companions.Present(s.Members(), p.Companion); present != "" {
		prompt += "\n" + present
	}
	s.post(talk.Granted{
		At: s.o.Now(), Grant: p, Who: turn.Who(who), First: s.first(), Up: s.Voices.up(who), Turn: newTurn(), Prompt: companions.RoomPrompt(prompt),
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
	s.post(talk.MessageHeard{Message: m, To: slices.Clone(to), First: s.first()})
}

// Correct tells the others' sessions what was heard of an answer that was cut; the speaker's own was truncated.
func (s stage) Correct(m round.MessageID, text string) {
	said, ok := s.Room.Message(m)
	if !ok {
		return
	}
	who, _ := s.describe(said.From)
	note := fmt.Sprintf("%s was interrupted; of the last answer only this was heard: %q", who, text)
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
