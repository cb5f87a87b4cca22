package talk

import (
	"slices"
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// Our choices.
const (
	// transcriptPatience is how long the words of an utterance may take once the server has it: longer than any transcription
	// we have seen, shorter than the room's patience with a person.
	transcriptPatience = 4 * time.Second
	// abandonPatience is how long the end of an answer that was given up is waited for: a cut takes milliseconds.
	abandonPatience = 500 * time.Millisecond

	maxQuestions = 8
	maxSaid      = 16
	maxExcused   = 16
)

// Machine is what this device knows of the conversation it is in. The zero value knows of none. It is a value: Step returns
// another one.
type Machine struct {
	questions []question          // the latest turns that began here, the newest last
	answers   []answer            // what the room has granted and not heard the end of, in order: one sounds, one gets ready
	said      []said              // the latest that was granted, the newest last: what became of it, the companions' sessions know
	began     int                 // questions so far
	failed    round.MessageID     // the last message to which an answer failed
	excused   []round.CompanionID // muted ones of whom a person was told, the newest last
	owing     Unanswered          // whose caller is told once the turn has ended, which would cut the words
	trouble   turn.Words          // what a companion of this device failed with, until it is said
}

// question is a turn that began here.
type question struct {
	turn  turn.ID
	cause turn.Cause
	alone bool // answered without a round
	told  bool // the room has its words, or knows that there are none
	to    []round.Participant
	mute  bool          // the room was told that there are none: they may still come
	due   time.Duration // when the words are not waited for any more; 0: they are not due

	began   bool // alone: the answer sounds, and the room does not know the question yet
	isKnown bool // alone: all of the answer is known
	known   SpeechKnown
	over    bool
	record  TurnEnded // once it is over
}

// answer is one of a companion that lives here.
type answer struct {
	place     round.Place
	companion round.CompanionID // as the room calls it
	turn      turn.ID
	opened    bool          // it may be heard
	alone     bool          // it was answered without the room, which is told of it when it says Opened
	cued      bool          // the room has said Opened
	abandon   string        // why it is given up; empty: it is not
	due       time.Duration // when the end of one that is given up is not waited for any more
	before    int           // questions that had begun here when it was granted: a later one cuts it
}

type said struct {
	place     round.Place
	companion round.CompanionID
}

// Wake is when DeadlinePassed is due; false: never.
func (m Machine) Wake() (at time.Duration, ok bool) {
	note := func(due time.Duration) {
		if due != 0 && (!ok || due < at) {
			at, ok = due, true
		}
	}
	for _, q := range m.questions {
		note(q.due)
	}
	for _, a := range m.answers {
		note(a.due)
	}
	return at, ok
}

// clone has Step change nothing of the machine that it was given.
func (m Machine) clone() Machine {
	m.questions, m.answers, m.said = slices.Clone(m.questions), slices.Clone(m.answers), slices.Clone(m.said)
	m.excused = slices.Clone(m.excused)
	return m
}
