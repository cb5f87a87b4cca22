package because

import (
	"fmt"
	"strings"

	"conch/companions/words"
	"conch/device/printable"
)

// Guidance is what a companion is told of its turn, besides the words.
type Guidance struct {
	Name, Reason        string // of the companion; why it speaks
	Tone                words.Tone
	Silence, Joined     bool     // nobody has spoken for a while; the person said several things in a row
	Before              []string // companions that have answered
	After               string   // companions that will
	NewTopic            bool
	Ending, Goodbye     bool // of the conversation
	LastTurn, NoHandOff bool // a person is next; the word was handed on often enough
}

var toneManners = map[words.Tone]string{
	words.Confused:   "confused: explain in simpler words and smaller steps, and ask what is unclear",
	words.Frustrated: "frustrated: be calm, acknowledge it in a few words, and help with the next step",
	words.Excited:    "excited: share the energy, and build on the idea",
	words.Positive:   "in a good mood: be warm and brief",
}

// String is the text of it, a sentence or two a line.
func (g Guidance) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if g.Reason != "" {
		say("You, %s, speak now. Why (\"it\" is you): %s.", g.Name, printable.Quoted(strings.TrimSuffix(g.Reason, ".")))
	}
	if manner := toneManners[g.Tone]; manner != "" {
		say("The speaker is %s.", manner)
	}
	if g.Silence {
		say("Nobody has spoken for a while. Take up what is open in one or two sentences, or ask the person about it.")
	}
	if g.Joined {
		say("The person said several things in a row: answer all of them, the earlier ones too, in one answer.")
	}
	if len(g.Before) > 0 {
		say("%s answered before you: do not repeat what was said; add what is missing, or disagree, in a sentence or two.",
			printable.Named(strings.Join(g.Before, " and ")))
	}
	if g.After != "" {
		say("%s will speak after you: leave something to say.", printable.Named(g.After))
	}
	if g.NewTopic {
		say("The conversation repeats itself: change the topic, or ask the person something new.")
	}
	if g.Ending {
		say("The conversation is drawing to its end: begin nothing new.")
	}
	if g.Goodbye {
		say("Say goodbye in one sentence.")
	}
	switch {
	case g.LastTurn:
		say("This is the last turn before a person speaks again: do not hand over to another companion; leave the word to the person.")
	case g.NoHandOff:
		say("The word was handed on often enough: do not hand over to another companion.")
	}
	return strings.TrimSpace(b.String())
}
