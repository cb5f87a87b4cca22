package coordinator

import (
	"time"

	"conch/coordinator/turn"
)

// What others are told of speech while it sounds: the room counts who speaks from the first sample that is heard, and
// opens the next round as soon as the words are known (ROOM.md 3.6).

// SpeechKind is what has become known of a turn's speech.
type SpeechKind uint8

// Kinds of SpeechEvent, in the order in which a turn has them, each at most once, and before its Record.
const (
	SpeechBegan SpeechKind = iota // its first sample has left the card
	SpeechKnown                   // the answer is complete in words, and what is left is to hear it
)

func (k SpeechKind) String() string { return [...]string{"began", "known"}[k] }

// SpeechEvent is said of a turn that is heard. A turn of which nothing is heard has none.
type SpeechEvent struct {
	Turn turn.ID
	Who  turn.Who
	Kind SpeechKind
	At   time.Duration // began: when the first sample sounded, by the card's clock; known: now
	Left time.Duration // known: how long it goes on from At
	Text string        // known: all of it
}

// beginPoll is how often the card is asked whether speech that was written has begun to be heard. Our choice: a period.
const beginPoll = 5 * time.Millisecond

// told is what has been said of which turn.
type told struct {
	turn  turn.ID
	began bool
	known bool
}

// speechBegins says that speech is on its way to the speaker.
func (r *runner) speechBegins() bool {
	s := r.speech
	return s != nil && !s.held && s.turn == r.m.Turn() && s.written.Load() > 0 && (r.told.turn != s.turn || !r.told.began)
}

// tellSpeech looks whether the live turn's speech has begun, and whether all of it is known.
func (r *runner) tellSpeech() {
	s := r.speech
	if s == nil || s.held || s.turn != r.m.Turn() {
		return
	}
	if r.told.turn != s.turn {
		r.told = told{turn: s.turn}
	}
	if r.told.known || r.told.began && !r.m.Complete() {
		return
	}
	heard := r.heardBefore + s.src.Heard()
	if heard == 0 || r.m.Speech() == 0 { // of samples that were written and not yet counted, the machine knows nothing
		return
	}
	if !r.told.began {
		r.tellBegan(s.turn, r.m.Who(), heard)
		r.fact(turn.SpeechHeard{At: r.now(), Turn: s.turn, Samples: heard})
	}
	if r.m.Complete() {
		r.tellKnown(s.turn, r.m.Who(), max(0, samples(r.m.Speech()-heard)))
	}
}

// tellEnded makes up for what the end of a turn overtook.
func (r *runner) tellEnded(id turn.ID, s turn.Summary) {
	if s.Heard == 0 {
		return
	}
	if r.told.turn != id {
		r.told = told{turn: id}
	}
	if !r.told.began {
		r.tellBegan(id, s.Who, s.Heard)
	}
	if !r.told.known && s.Reason == turn.Done {
		r.tellKnown(id, s.Who, 0)
	}
}

func (r *runner) tellBegan(id turn.ID, who turn.Who, heard int) {
	r.told.began = true
	r.c.o.OnSpeech(SpeechEvent{Turn: id, Who: who, Kind: SpeechBegan, At: r.now() - samples(heard)})
}

func (r *runner) tellKnown(id turn.ID, who turn.Who, left time.Duration) {
	r.told.known = true
	_, said := r.texts.take(id)
	r.c.o.OnSpeech(SpeechEvent{Turn: id, Who: who, Kind: SpeechKnown, At: r.now(), Left: left, Text: said})
}
