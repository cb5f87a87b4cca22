package words

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"conch/device/spelling"
)

// cue names what a list of phrases tells. What people say is data, a file a language (ROOM.md 10), and a cue there is a list with an example
// that holds one of its phrases and a counter-example that holds none.
type cue int

// The cues, in the order of cueNames.
const (
	cueFunction     cue = iota // words that tell the language
	cueOpener                  // one word that may stand before a name at the beginning
	cueGreeting                // the same, and the name needs no comma
	cueGreetingMore            // a second word of a greeting: "hi there"
	cueHello                   // a greeting
	cueNight                   // a goodbye that one answers
	cueGoodbye
	cueApproval
	cueApprovalMore
	cueConfused
	cueClarify
	cueFrustrated
	cueExcited
	cuePositive
	cueQuestion
	cueRequest
	cueImperative
	cueAuxiliary
	cueAuxSubject
	cueBare       // a question in one word
	cueOpening    // words before the first that counts
	cueViews      // several are asked for what they think
	cueAll        // all companions, spoken to
	cueEveryone   // everybody; in a question also spoken about
	cueIntroduce  // what all of a group do
	cueOneOf      // one, whichever
	cueOthers     // those who have not spoken
	cueOneOther   // one of them
	cueNobody     // nobody shall answer
	cueDismiss    // whoever is told this shall not
	cueNegation   // before a name: not that one
	cueAbout      // after a name and a comma: it is spoken about
	cueReport     // after a name: it is spoken about
	cueGiveTurn   // before a name: it is its turn
	cueAskBefore  // before a name that is to be asked
	cueAskAfter   // after one
	cueWantBefore // before one, if words of cueAskAfter follow
	cueReportBefore
	cueWhatDoes // "what does Ada think?"
	cueThinkSay
	cueYouAre        // "you are the famous Ada"
	cueNegated       // after a name: not that one
	cueDeterminer    // begins what says who somebody is
	cueRetract       // takes back what was asked
	cueSureAuxiliary // begins nothing but a question
	cueYouDo         // after somebody's name, without a comma
	cueNoName        // begins a sentence before a comma and is nobody's name
	cueThenName      // before one that has to be followed by such words
	cueAround        // "is Ada around?"
	cueEnd           // before a name at the end of a sentence, without a comma
	cueStart         // after a name at the beginning of a sentence, without a comma
	cueSecond        // spoken to
	cueKin           // what people are called
	cueOpinion       // asks somebody who spoke for more (ROOM.md 4.3)
	cueGoesOn        // begins what continues a topic
	cueReference     // refers to what was said
	cueNoReference
	cueContinue // asks whoever has the thread for more, or the same otherwise
	cueRepair
	cuePlea // a statement that wants something
	cueHush
	cueNaming    // before a name: the speaker's own, if it is a name
	cueOwnName   // before the speaker's own name
	cueConsent   // yes to a question
	cuePlain     // names that are words as well: they need punctuation to call
	cueCommon    // words that say nothing about a topic
	cueHonorific // after a name
	cueAfterName // what sets a name apart in a script that writes no spaces
	cueCueAfterName
	cueJoiner // between names that are named together
	cueEither // ... and one of them is meant
	cueBeQuiet
	cueOnlyIfAsked
	cueTalkLess
	cueTalkMore
	cueTalkAgain
	cueMute
	cueUnmute
	cueLeaveIt
	cueJoinUs
	cueCourtesy
	cues
)

var cueNames = [cues]string{
	"function", "opener", "greeting", "greeting_more", "hello", "night", "goodbye", "approval", "approval_more", "confused", "clarify",
	"frustrated", "excited", "positive", "question", "request", "imperative", "auxiliary", "aux_subject", "bare", "opening", "views", "all",
	"everyone", "introduce", "one_of", "others", "one_other", "nobody", "dismiss", "negation", "about", "report", "give_turn", "ask_before",
	"ask_after", "want_before", "report_before", "what_does", "think_say", "you_are", "negated", "determiner", "retract", "sure_auxiliary",
	"you_do", "no_name", "then_name", "around", "end", "start", "second", "kin", "opinion", "goes_on", "reference", "no_reference", "continue",
	"repair", "plea", "hush", "naming", "own_name", "consent", "plain", "common", "honorific", "after_name", "cue_after_name", "joiner", "either", "be_quiet",
	"only_if_asked", "talk_less", "talk_more", "talk_again", "mute", "unmute", "leave_it_to_us", "join_us", "courtesy",
}

// language is a file of words.
type language struct {
	Language string // ISO 639-1
	Name     string
	Script   string // latin, cyrillic, arabic, hangul, han, japanese
	Read     bool   // by somebody who speaks it
	Cue      map[string]struct {
		Words   []string
		Example string
		Counter string
	}
}

// parseLanguage reads a file; what is wrong is said with its line and what is allowed.
func parseLanguage(name string, data []byte) (language, error) {
	var l language
	bad := func(line int, format string, args ...any) (language, error) {
		return language{}, fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
	}
	meta, err := spelling.Decode(string(data), &l)
	var parse toml.ParseError
	switch {
	case errors.As(err, &parse):
		return bad(parse.Position.Line, "%s", cmp.Or(parse.Message, err.Error()))
	case err != nil:
		return language{}, fmt.Errorf("%s: %w", name, err)
	case len(l.Language) != 2:
		return bad(max(1, lineOf(data, "language")), "language is missing: must be two letters (ISO 639-1)")
	case !slices.Contains(scripts, l.Script):
		return bad(max(1, lineOf(data, "script")), "script = %q: must be one of %s", l.Script, strings.Join(scripts, ", "))
	}
	for _, key := range meta.Undecoded() {
		return bad(lineOf(data, key[len(key)-1]), "%s: no such key; there are language, name, script, read, and words, example, counter of a cue", key)
	}
	for _, key := range meta.Keys() {
		if len(key) != 2 {
			continue
		}
		if !slices.Contains(cueNames[:], key[1]) {
			return bad(lineOf(data, "[cue."+key[1]+"]"), "[cue.%s]: no such cue; there are %s", key[1], strings.Join(cueNames[:], ", "))
		}
		for _, w := range l.Cue[key[1]].Words {
			if len(words(w)) == 0 {
				return bad(lineOf(data, "[cue."+key[1]+"]"), "[cue.%s]: %q holds no word", key[1], w)
			}
		}
	}
	return l, nil
}

// lineOf is the first line that begins with a text; 0: none.
func lineOf(data []byte, begins string) int {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if strings.HasPrefix(strings.TrimSpace(line), begins) {
			return n
		}
	}
	return 0
}

var scripts = []string{"latin", "cyrillic", "arabic", "hangul", "han", "japanese"}
