package companions

import (
	"context"
	"time"

	"conch/companions/round"
)

// What a Room needs of others; device wires them. No method blocks.

// Bus carries packets to the other devices. A device without a broker has none.
type Bus interface {
	// Send publishes under this device's name. What cannot be sent now is dropped: a late vote is worse than none.
	Send(round.Packet)
}

// Stage is the device as the room sees it: a voice for its companions, and silence. The room's own goroutine calls it, so that
// silence waits for nobody else's turn to run, and a stage that hangs is seen by whoever watches the room (Room.Call).
type Stage interface {
	// Hush silences the device: a person pressed elsewhere.
	Hush(why string)
	// Quiet silences what can be heard at this instant; what is only being made ready goes on.
	Quiet(why string)
	// Prepare lets a companion get its answer ready; nothing may be heard before Speak. The stage reports what becomes of
	// it by Room.SpeechBegan, SpeechKnown and SpeechEnded, the last one exactly once.
	Prepare(round.Prepare)
	// Speak lets it be heard.
	Speak(round.Place, round.CompanionID)
	// Abandon ends what was prepared or is being said; SpeechEnded follows.
	Abandon(p round.Place, c round.CompanionID, why string)
	// Lost ends the button's turn without an answer from here.
	Lost(turn, why string)
	// Remember tells the companions living here what was said in the room; not those whom it was kept from.
	Remember(m round.Message, to []round.CompanionID)
	// Correct tells them that of a message only text was heard.
	Correct(id round.MessageID, text string)
	// Renamed tells the device that a companion of its own is called differently in this room.
	Renamed(round.Rename)
}

// Refiner makes better votes with a language model.
type Refiner interface {
	// Refine asks for the votes of the companions in r.Votes, in one call at most, and calls done once, from any goroutine, at the latest
	// at deadline or when ctx ends: then nobody waits for them any more. A vote that the model did not improve comes back as the rules
	// made it, with the reason in it.
	Refine(ctx context.Context, r round.Refine, deadline time.Duration, done func([]round.Vote))
}

// emptyStage is a device without a voice: what it is to say has failed.
type emptyStage struct{ r *Room }

func (s emptyStage) Prepare(p round.Prepare) {
	s.r.SpeechEnded(round.SpeechEnded{Place: p.Place, Companion: p.Companion, Why: "this device has no voice"})
}
func (emptyStage) Hush(string)                                    {}
func (emptyStage) Quiet(string)                                   {}
func (emptyStage) Speak(round.Place, round.CompanionID)           {}
func (emptyStage) Abandon(round.Place, round.CompanionID, string) {}
func (emptyStage) Lost(string, string)                            {}
func (emptyStage) Remember(round.Message, []round.CompanionID)    {}
func (emptyStage) Correct(round.MessageID, string)                {}
func (emptyStage) Renamed(round.Rename)                           {}
