package rehearsal

import (
	"math/rand/v2"
	"time"
)

// Brain decides what is answered. Think is called from one goroutine per response and should be quick.
type Brain interface{ Think(Thought) Reply }

// Thought is what a brain may know.
type Thought struct {
	Words        string         // of the person, typed or heard; empty when there are none
	Heard        *Heard         // set when they were spoken
	Prompt       string         // instruction for this answer alone, or the system's message that nobody has answered
	Instructions string         // the session's: who the companion is
	Outputs      []string       // of tools, not yet narrated
	Answered     bool           // the last word was the companion's own: somebody asks it to go on
	Tools        []string       // that may be called, by name
	Takes        map[string]any // JSON Schemas of their arguments, by the tool's name
	Force        string         // the tool that must be called, if any
	MustCall     bool           // some tool must be called
	InRoom       bool           // others listen and answer, too: the answer is to the last line of Talk
	Guidance     string         // in a room: why this companion was selected, and how to answer
	Talk         []Line         // what was said, the last line last
	About        string         // what the server hears and speaks with
	Language     string         // of the users, ISO 639-1; "": English
	Now          time.Time
	Rand         *rand.Rand

	hearing *hearing
	sound   []int16
	resume  bool   // the answer broke off with its connection
	said    string // the last words of it
}

// Reply is an answer: words, sound behind them, then calls.
type Reply struct {
	Text     string
	Language string // of Text, ISO 639-1; "": English
	Sound    []int16
	Calls    []Call
}

// Call of a tool. Args is JSON.
type Call struct{ Name, Args string }

// heard puts what the recognizer made of the utterance into the thought.
func (t *Thought) heard(h *hearing) {
	heard := h.heard
	heard.Failed = h.err != nil
	t.Heard, t.Words = &heard, heard.Text
	if n := len(t.Talk); n > 0 && t.Talk[n-1].Text == "" {
		t.Talk[n-1].Text = heard.Text
	}
}

// talked: there is a last line, and it has words.
func (t *Thought) talked() bool {
	return len(t.Talk) > 0 && (t.Talk[len(t.Talk)-1].Text != "" || t.Heard == nil)
}
