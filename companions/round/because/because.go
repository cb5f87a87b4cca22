// Package because has the reasons of a room: codes with arguments, of which each reader makes a sentence.
package because

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Reason is one as a code and its arguments, name and value in turn. Each reader makes the sentence in its own language; The text
// beside it is the same in English, for the log and for older devices. Empty: a model's reason, or an older device's.
//
// The values of who and by are companions and people, by id, with spaces between them; n is a count; what is a word that was said.
type Reason string

// gap stands between the code and the arguments; no id and no printable text has it.
const gap = "\x1f"

// Bounds of a reason that comes from elsewhere.
const (
	maxBecause     = 1 << 10 // bytes
	maxBecauseArgs = 8
)

// Of makes a reason.
func Of(code string, args ...string) Reason {
	return Reason(strings.Join(append([]string{code}, args...), gap))
}

// Code is a key of Sentences, unless a later version's device has made it; empty: there is none.
func (b Reason) Code() string {
	code, _, _ := strings.Cut(string(b), gap)
	return code
}

// Args are the names and values.
func (b Reason) Args() []string {
	parts := strings.Split(string(b), gap)[1:]
	return parts[:len(parts)/2*2]
}

// People are the ids in the value of an argument; false: it names none.
func People(name, value string) ([]string, bool) {
	if name != "who" && name != "by" {
		return nil, false
	}
	return strings.Fields(value), true
}

// MarshalJSON is an array: the code, then names and values.
func (b Reason) MarshalJSON() ([]byte, error) {
	return json.Marshal(strings.Split(string(b), gap))
}

// UnmarshalJSON takes what others wrote. What it cannot be is no reason to lose a vote: the English reason stands.
func (b *Reason) UnmarshalJSON(data []byte) error {
	*b = ""
	var parts []string
	if len(data) > maxBecause || json.Unmarshal(data, &parts) != nil || len(parts)%2 == 0 || len(parts) > 1+maxBecauseArgs {
		return nil //nolint:nilerr // see above
	}
	if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, gap) }) {
		*b = Reason(strings.Join(parts, gap))
	}
	return nil
}

// English is the sentence in English; name is what to call somebody.
func (b Reason) English(name func(string) string) string {
	var pairs []string
	args := b.Args()
	if len(args) == 0 {
		return sentences[b.Code()]
	}
	for i := 0; i < len(args); i += 2 {
		value := args[i+1]
		if who, ok := People(args[i], value); ok {
			value = strings.Join(named(who, name), " and ")
		}
		pairs = append(pairs, "{"+args[i]+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(sentences[b.Code()])
}

func named(who []string, name func(string) string) []string {
	out := make([]string, len(who))
	for i, x := range who {
		out[i] = name(x)
	}
	return out
}

// IDs leaves people their ids, where no names are known: those who read put the names in.
func IDs(who string) string { return who }

// Count is a number as an argument.
func Count(n int) string { return strconv.Itoa(n) }

// Sentences are all reasons that a device may give, by code, in English. device/language has them in each language, below [why].
func Sentences() map[string]string { return sentences }

var sentences = map[string]string{
	// what is owed
	"addressed":      "{by} addressed it",
	"addressed_too":  "{by} addressed it too, as number {n}",
	"handed":         "{by} handed over to it",
	"was_addressed":  "{who} was addressed",
	"were_addressed": "{who} were addressed",
	"next":           "{who} is next",
	"next_itself":    "it was addressed too, and is next",
	"adds":           "it adds to the answer",
	"was_asked":      "{who} was asked",
	"asked_back":     "{by} asked it back",
	"was_asked_back": "{who} was asked back",
	"for_person":     "the question is for the person",
	"only_one":       "it is the only companion here",
	"goes_on":        "the person goes on with what it said",
	"goes_on_with":   "the person goes on with what {who} said",
	"lost":           "the person does not understand what it said",
	"lost_with":      "the person does not understand what {who} said",
	"meant":          "that is for {who}",
	"manners":        "the person sets the manners of the room",
	"no_answer":      "the person wants no answer",
	"away":           "the companion that is called is not here any more",
	"spoken_to":      "{what} is spoken to",
	"asked_for":      "the person asks for it",
	"one_of":         "the person asks one of several",
	"others":         "the person asks the others",
	"hush":           "the person wants quiet",
	"all_one":        "the person speaks to all, and one answer will do",
	"all":            "the person speaks to all of them",
	"any_of":         "the person asks any of them",
	"excludes":       "the person asks for somebody else",
	"goodbye":        "a goodbye to nobody in particular needs no answer",
	"says_goodbye":   "the person says goodbye",
	"greets":         "the person greets",
	"introduces":     "the person says who is speaking",
	"thanks":         "thanks and yes need no answer",
	"nothing_back":   "there is nothing to take back",
	"other_field":    "the person turns to another field",
	"asks":           "the person asks",

	// what it is worth
	"nothing_open":    "nothing is open",
	"unanswered":      "it spoke last, and nobody has answered",
	"skill":           "“{what}” is asked for, and it can do that",
	"expertise":       "it knows about “{what}”",
	"views":           "everybody is asked for a view",
	"open":            "a person asks, and it is nobody's field",
	"relevance":       "the message is about its field",
	"relevance_new":   "the message is about its field, and it has not spoken about that",
	"talkative":       "it likes to join in",
	"reserved":        "it does not like to join in",
	"spoke_last":      "it spoke last",
	"long_silent":     "it has not spoken for {n} turns",
	"explains":        "the speaker is confused, and it explains well",
	"calms":           "the speaker is frustrated, and it explains well",
	"ideas":           "the speaker is excited, and it has ideas",
	"two_talk":        "{who} are talking to each other",
	"silence":         "nobody has spoken for a while, and something is open",
	"mentioned":       "it is mentioned",
	"just_called":     "it just spoke to the speaker by name",
	"just_was_called": "the speaker just spoke to it by name",
	"waits":           "its question waits for an answer",
	"called":          "it spoke to the speaker by name before",
	"was_called":      "the speaker spoke to it by name before",
	"topic":           "the message goes on with what it said",
	"just_spoke":      "it spoke directly before",
	"exchange":        "it and the speaker have been talking",
	"near":            "it was near in the conversation",
	"settings":        "it is set to join in more",
	"held_back":       "it is set to join in less",
	"little":          "it has too little to say about that",
	"nothing":         "it has nothing to add",

	// what is forbidden
	"absent":          "it is not in the room",
	"muted":           "it is muted",
	"itself":          "it said that itself",
	"chain":           "{n} companion turns without a person are the limit",
	"excluded":        "the speaker asked for somebody else",
	"handoffs":        "{by} handed over to it, but only {n} hand-offs in a row are followed",
	"extras":          "{n} additions to an answer are the limit",
	"room_asked_only": "the companions of this room speak only when asked",
	"asked_only":      "it speaks only when asked",
	"share":           "it had more than {n} % of the last companion turns",
	"room_quiet":      "the room was told to be quiet",
	"whispered":       "it was said to {who} alone",
	"answered_alone":  "it was said to a person alone",

	// the choice
	"refused":       "its vote was refused",
	"late":          "no vote in time",
	"over":          "the conversation is over",
	"listens":       "it only listens",
	"most":          "it has the most to say",
	"was_called_on": "{who} was called on",
	"more":          "{who} has more to say",
	"longer":        "it has as much to say, and {who} has not spoken for longer",
	"draw":          "it has as much to say, and the draw for this message fell on {who}",
	"private":       "it was said in private",
	"nobody_here":   "no companion is here",
	"no_votes":      "no vote came in time",
	"not_enough":    "nobody has enough to say",

	// what became of it
	"left_nobody": "no companion is left that could answer",
	"newer":       "a newer question came",
	"no_claim":    "nothing came of it",
	"gone":        "its device is gone",
}
