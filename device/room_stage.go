package device

import (
	"fmt"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator/turn"
	"conch/device/condition"
)

// roomStage is the device as the room sees it.
type roomStage struct{ *roomTalk }

var _ companions.Stage = roomStage{}

// Hush silences the device; a person who is being recorded here goes on (TURNS.md 2 and 6).
func (s roomStage) Hush(string) { s.d.coordinator.HushRoom(s.d.now(), s.d.speaker.Drop()) }

// Prepare has a companion of this device get its answer ready.
func (s roomStage) Prepare(p round.Prepare) {
	who, prompt := s.d.housed(p.Companion), p.Guidance
	if who != p.Companion {
		prompt += "\nIn this room you are called " + s.d.nameOf(who) + "; whoever says that name means you."
	}
	if present := companions.Present(s.room.Members(), p.Companion); present != "" {
		prompt += "\n" + present
	}
	s.post(talk.Granted{Grant: p, Who: turn.Who(who), First: s.first(), Up: s.d.voices.up(who), Turn: newTurn(), Prompt: companions.RoomPrompt(prompt)})
}

// Speak lets the answer be heard.
func (s roomStage) Speak(p round.Place, c round.CompanionID) {
	s.post(talk.Opened{Place: p, Companion: c})
}

// Abandon gives an answer up.
func (s roomStage) Abandon(p round.Place, c round.CompanionID, why string) {
	s.post(talk.Abandoned{At: s.d.now(), Place: p, Companion: c, Why: why})
}

// Lost ends the button's turn without an answer from here.
func (s roomStage) Lost(id, _ string) { s.post(talk.VoteLost{Turn: turn.ID(id)}) }

// Remember puts what was said into the conversations of those who live here.
func (s roomStage) Remember(m round.Message, to []round.CompanionID) {
	s.post(talk.MessageHeard{Message: m, To: slices.Clone(to), First: s.first()})
}

// Correct tells the others' sessions what was heard of an answer that was cut; the speaker's own was truncated.
func (s roomStage) Correct(m round.MessageID, text string) {
	recent := s.room.Recent()
	i := slices.IndexFunc(recent, func(o round.Message) bool { return o.ID == m })
	if i < 0 {
		return
	}
	said := recent[i]
	who, _ := s.describe(said.From)
	note := fmt.Sprintf("%s was interrupted; of the last answer only this was heard: %q", who, text)
	for _, c := range s.d.voices.ids {
		if said.From != round.Participant(s.d.knownAs(c)) {
			s.d.voices.of[c].Do(turn.AddText{Role: "user", Text: companions.RoomLine("room", "", note)})
		}
	}
}

// Renamed tells a person that two companions had one name.
func (s roomStage) Renamed(r round.Rename) {
	s.d.conds.Set(condition.RoomRenamed, r.Why, fmt.Sprintf("here %s is called %s until a restart; give one of the two another id and name in its card", r.Card, r.Name))
}

// describe is who somebody is, in words: a name and a place.
func (s roomStage) describe(p round.Participant) (who, place string) {
	for _, m := range s.room.Members() {
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
