package talk

import (
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// Effect is an order: data only, carried out in the order given.
type Effect interface{ effect() }

// Orders to the room.
type (
	// TellPress takes the floor for a turn that nobody asked for, as a press takes it: the only way that nobody can miss.
	TellPress struct{ Turn turn.ID }
	// TellWords: what a person asked here.
	TellWords struct {
		Turn      turn.ID
		Text      string
		To        []round.Participant
		Whispered bool // To is one companion, and nobody else may know
	}
	// TellLate: the words of a turn that TellWords told of without them. Answered: whoever heard it answers, without a round.
	TellLate struct {
		TellWords
		Answered bool
	}
	// TellPressEnded: nothing came of a turn that began here, and nothing will.
	TellPressEnded struct {
		Turn   turn.ID
		Reason string
	}
	// TellBegan: the answer is heard.
	TellBegan struct {
		Place     round.Place
		Companion round.CompanionID
	}
	// TellKnown: all of it is known, and goes on for Left from At.
	TellKnown struct {
		Place     round.Place
		Companion round.CompanionID
		Text      string
		At, Left  time.Duration
	}
	// TellEnded: it is over. Once for each Granted.
	TellEnded struct{ round.SpeechEnded }
)

// Orders to the coordinator, the voices and the speaker.
type (
	// Post tells the coordinator of a floor: FloorGranted, of which nothing is heard before FloorOpened, FloorOpened, or VoteLost.
	Post struct{ turn.Event }
	// Hush silences the device.
	Hush struct{ Why string }
	// Remember puts a message into a companion's conversation. Own: it said that itself, before a restart.
	Remember struct {
		Companion round.CompanionID
		Own       bool
		Message   round.Message
	}
	// SayWords tells the person why nobody answers, unless somebody has pressed since Generation.
	SayWords struct {
		Turn       turn.ID
		Words      turn.Words
		Generation uint64
		Why        string
	}
)

func (TellPress) effect()      {}
func (TellWords) effect()      {}
func (TellLate) effect()       {}
func (TellPressEnded) effect() {}
func (TellBegan) effect()      {}
func (TellKnown) effect()      {}
func (TellEnded) effect()      {}
func (Post) effect()           {}
func (Hush) effect()           {}
func (Remember) effect()       {}
func (SayWords) effect()       {}
