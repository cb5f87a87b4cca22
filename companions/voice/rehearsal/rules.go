package rehearsal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// tables are what a person tells the device to do, in the order in which they are asked: what skills do, each in a file of its own, before
// the rest.
var tables = [][]aRule{
	intercom, // before servers: "call the kitchen" is no tool
	servers,
	radio, // before timers: "sleep timer" is its
	library,
	timerRules,
	reminderRules,
	noteRules,
	house,
	controls,
}

// commanded answers what the device is told to do, whatever it may mean to a companion's card.
func commanded(t Thought, words []string) (Reply, bool) {
	if words = plainly(words, normal(name(t.Instructions))); onlyTells(words) {
		return ask(tellings, t, words)
	}
	for _, table := range tables {
		if reply, ok := ask(table, t, words); ok {
			return reply, true
		}
	}
	return Reply{}, false
}

// tellings is what is noted of what a person only tells.
var tellings = []aRule{{hasTaken, acknowledged}}

// Rules is the companion of the rehearsal: keywords in, plain sentences out. Deterministic for a given Thought.
// pocketsphinx mishears, so that a rule asks for as few words as can carry its meaning.
type Rules struct{}

// Think answers.
func (Rules) Think(t Thought) Reply {
	t.Language = cmp.Or(t.Language, english)
	if text, ok := wordForWord(t.Prompt); ok && !t.InRoom {
		return t.written(text)
	}
	if len(t.Outputs) > 0 {
		return say(narrate(t.Outputs))
	}
	words := normal(t.Words)
	if t.Force != "" {
		return Reply{Calls: []Call{{t.Force, argsFor(t.Force, words)}}}
	}
	talk := t.talked()
	switch {
	case t.InRoom && talk:
		s := newScene(t)
		return s.inRoom()
	case t.Words != "" && t.Prompt == "":
	case t.Prompt != "":
		return t.written(prompted(t.Prompt))
	case t.Heard == nil && t.Answered:
		return say("I have said all I know. Press and ask me something.")
	case t.Heard == nil:
		return say("Hello. I am " + name(t.Instructions) + ". Press and ask me something.")
	case t.Heard.Level >= quiet && t.Language != english:
		r, _ := t.foreign()
		return r
	case !t.Heard.Words:
		r := say(fmt.Sprintf("I heard %s at %d decibels, but I have no ears for words: install pocketsphinx. This is what I heard.",
			seconds(t.Heard.Length.Seconds()), int(t.Heard.Level)))
		r.Sound = t.sound[:min(len(t.sound), 15*Rate)]
		return r
	case t.Heard.Failed:
		return say("I heard " + seconds(t.Heard.Length.Seconds()) +
			" of sound, but making words of it took too long. This machine is busy. Please ask me again.")
	case t.Heard.Level < quiet:
		return say("I heard only silence for " + seconds(t.Heard.Length.Seconds()) + ". Is the microphone on?")
	default:
		return say("I heard " + seconds(t.Heard.Length.Seconds()) + " of sound, but no word that I know. Please say it again, a little slower.")
	}
	s := newScene(t)
	if len(s.topics) > 0 { // a companion with a card, alone
		if reply, ok := s.known(words); ok {
			return reply
		}
	}
	if aboutTheRoom[0].match(words) {
		if reply, ok := whySpoke(t, words); ok {
			return reply
		}
	}
	if reply, ok := commanded(t, words); ok {
		return reply
	}
	if reply, ok := ask(smallTalk, t, words); ok {
		return reply
	}
	if t.MustCall && len(t.Tools) > 0 {
		return Reply{Calls: []Call{{t.Tools[0], argsFor(t.Tools[0], words)}}}
	}
	if r, ok := t.foreign(); ok {
		return r
	}
	return say(fmt.Sprintf("I understood: %s. %s", strings.TrimRight(t.Words, ".!? "), aboutRehearsal))
}

func say(text string) Reply { return Reply{Text: text} }

// wordForWord finds text that is to be spoken as it stands: conch say, and prompts that insist.
func wordForWord(prompt string) (string, bool) {
	low := strings.ToLower(prompt)
	for _, mark := range []string{"word for word:", "say exactly:", "repeat exactly:", "verbatim:"} {
		if len(low) != len(prompt) { // a letter whose lower case has another length: positions would not agree
			break
		}
		if i := strings.Index(low, mark); i >= 0 {
			if text := strings.TrimSpace(unquoted(prompt[i+len(mark):])); text != "" {
				return text, true
			}
		}
	}
	return "", false
}

// prompted answers an instruction: what it asks to be told is told, without the asking.
func prompted(prompt string) string {
	p := strings.TrimSpace(unquoted(prompt))
	low := strings.ToLower(p)
	for _, lead := range []string{"tell the person this, in your own words: ",
		"tell the room that ", "tell the person that ", "tell the user that ", "tell them that ", "say that ", "announce that ",
		"say: ", "say "} {
		if len(low) == len(p) && strings.HasPrefix(low, lead) {
			p = p[len(lead):]
			break
		}
	}
	return p
}

// narrate tells what tools returned.
func narrate(outputs []string) string {
	var all []string
	for _, o := range outputs {
		all = append(all, cmp.Or(plain(o), "Done."))
	}
	return clip(strings.Join(all, " "), 1000)
}

func seconds(s float64) string {
	if s = float64(int(s*10+0.5)) / 10; s == 1 {
		return "1 second"
	}
	return strconv.FormatFloat(s, 'f', -1, 64) + " seconds"
}
