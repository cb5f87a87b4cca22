package talk

import (
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// Event is a fact. First is the companion that has the microphone, as the room calls it.
type Event interface{ event() }

// Facts of this device's turns.
type (
	// Asked: a turn of this device begins, by button or typed; before anything else is known of it. Alone: it is answered
	// without a round, since nobody else is here. To are those who are meant.
	Asked struct {
		Turn  turn.ID
		Alone bool
		To    []round.Participant
		Cause turn.Cause
	}
	// Announced: a turn begins that nobody asked for, a timer or an announcement.
	Announced struct{ Turn turn.ID }
	// InputCommitted: the server has the utterance; its words are due.
	InputCommitted struct {
		At   time.Duration
		Turn turn.ID
	}
	// WordsCame: what was asked; Text is empty where it was not written down. Alone: nobody else is here now.
	WordsCame struct {
		Turn  turn.ID
		Text  string
		Alone bool
		First round.CompanionID
	}
	// SpeechBegan: the first sample of the turn's answer was heard.
	SpeechBegan struct{ Turn turn.ID }
	// SpeechKnown: all of the answer is known, and goes on for Left from At.
	SpeechKnown struct {
		Turn     turn.ID
		At, Left time.Duration
		Text     string
	}
	// TurnEnded, however it ended.
	TurnEnded struct {
		Turn      turn.ID
		Reason    string // Done says whether it is that of a turn that was done
		Done      bool
		Audible   bool          // something of the answer was heard
		Whole     bool          // cut, but in a silence: all that was said was heard
		Heard     time.Duration // of it
		Said      string        // what the answer says
		HeardText string        // what of it was heard
		Tools     int
		Words     turn.Words // said locally, when it failed
		// Generation is the speaker's, from before.
		Generation uint64
	}
)

// Facts of the room.
type (
	// Granted: a companion of this device is to get its answer ready. Who is the companion as its turn has it, which the room may
	// call differently; Up says that its voice is there; Turn is a new one, for an answer that has none. Here says that this device's own
	// person said the message.
	Granted struct {
		At     time.Duration
		Grant  round.Prepare
		Who    turn.Who
		First  round.CompanionID
		Up     bool
		Here   bool
		Turn   turn.ID
		Prompt string
	}
	// Opened: it may be heard.
	Opened struct {
		At        time.Duration
		Place     round.Place
		Companion round.CompanionID
	}
	// Abandoned: it is given up.
	Abandoned struct {
		At        time.Duration
		Place     round.Place
		Companion round.CompanionID
		Why       string
	}
	// VoteLost: the button's turn is not answered from here.
	VoteLost struct {
		At   time.Duration
		Turn turn.ID
	}
	// MessageHeard: somebody said this, and To are those who live here and hear it.
	MessageHeard struct {
		Message round.Message
		To      []round.CompanionID
		First   round.CompanionID
	}
	// AnswerFailed: whoever was to answer a message could not.
	AnswerFailed struct{ Message round.MessageID }
	// MannersTurned: somebody has turned the manners of a companion, or of all of them where none is named.
	MannersTurned struct{ Companion round.CompanionID }
	// Unanswered: nobody answers a message that a person said at this device. Generation is the speaker's, from before; Muted are those whom
	// it calls, where all of them are.
	Unanswered struct {
		Message    round.MessageID
		Turn       turn.ID
		Generation uint64
		Muted      []round.CompanionID
		Why        string
	}
)

// DeadlinePassed: it is as late as Wake said.
type DeadlinePassed struct {
	At    time.Duration
	Alone bool
	First round.CompanionID
}

func (Asked) event()          {}
func (Announced) event()      {}
func (InputCommitted) event() {}
func (WordsCame) event()      {}
func (SpeechBegan) event()    {}
func (SpeechKnown) event()    {}
func (TurnEnded) event()      {}
func (Granted) event()        {}
func (Opened) event()         {}
func (Abandoned) event()      {}
func (VoteLost) event()       {}
func (MessageHeard) event()   {}
func (AnswerFailed) event()   {}
func (MannersTurned) event()  {}
func (Unanswered) event()     {}
func (DeadlinePassed) event() {}

// acted says that what was asked was done, without a word: a book plays.
func (e TurnEnded) acted() bool { return e.Done && !e.Audible && e.Tools > 0 }
