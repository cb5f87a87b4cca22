package rehearsal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of the tools that tell of the room; who offers them answers from the members and the ledger.
const (
	toolWhoIsHere = "who_is_here"
	toolWhySpoke  = "why_did_you_speak"
)

// inRoom answers the last thing a person wants, knowing what other companions have said of it since.
//
//	nobody has answered yet    what it knows; hands over when another knows better
//	somebody has answered      one thing more, never the same
//	told to close or change    a goodbye, another subject
func (s *scene) inRoom() Reply {
	switch {
	case s.guided("say goodbye", "say farewell"):
		return s.farewell()
	case s.guided("change the topic", "change the subject"):
		return s.changeTopic()
	}
	answered := len(s.since) > 0
	switch {
	case s.asked.Text == "":
		return s.stepIn()
	case answered && s.since[len(s.since)-1].Mine:
		return s.stepIn()
	case answered:
		return s.add()
	}
	return s.first()
}

// first is the first answer to a question.
func (s *scene) first() Reply {
	if s.guided("several things in a row") {
		if text := s.several(); text != "" {
			return say(text)
		}
	}
	if r, ok := s.known(s.words); ok {
		return r
	}
	if r, ok := s.t.foreign(); ok {
		return r
	}
	if text := s.unsaid(s.general()...); text != "" {
		return say("I understood: " + strings.TrimRight(s.asked.Text, ".!? ") + ". I have no rule for that. " + text)
	}
	return say("I have no rule for that either. " + aboutRehearsal)
}

// several answers all that a person said in a row; empty when one of it needs more than words.
func (s *scene) several() string {
	var texts []string
	for _, text := range append(s.joined[max(0, len(s.joined)-3):], s.asked.Text) {
		r, ok := s.known(normal(text))
		if ok && len(r.Calls) > 0 {
			return ""
		}
		if ok && r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, " ")
}

// known answers what the rules know; false when none does.
func (s *scene) known(words []string) (Reply, bool) {
	if r, ok := commanded(s.t, words); ok {
		return r, true
	}
	if r, ok := s.followUp(words); ok {
		return r, true
	}
	if thing, ok := s.opinionOf(words); ok {
		return say(s.view(thing)), true
	}
	t, f := subject(words, s.topics)
	if t != nil && slices.Contains(s.topics, t) {
		return say(s.tell(t, f)), true
	}
	if phrase := s.expert(words); t == nil && phrase != "" {
		if r, ok := ask(smallTalk, s.t, words); ok { // a story is a story, whoever's field it is
			return r, true
		}
		return say(s.modest(phrase)), true
	}
	if t != nil {
		if r, ok := s.handOver(t); ok {
			return r, true
		}
	}
	if text := s.sociable(words); text != "" {
		return say(text), true
	}
	if r, ok := ask(smallTalk, s.t, words); ok {
		return r, true
	}
	if t != nil && len(s.others)+len(s.topics) > 0 {
		if text := s.unsaid(s.toAdd(t)...); text != "" {
			return say(text), true
		}
	}
	return Reply{}, false
}

// tell says what it knows, and that it said so when it did.
func (s *scene) tell(t *topic, f *fact) string {
	if f == nil {
		if text := s.unsaid(t.start...); text != "" {
			return text
		}
		f = &t.facts[0]
	}
	if s.said(f.text) {
		return "As I said: " + f.text
	}
	return f.text
}

// add says one thing more to what another has answered.
func (s *scene) add() Reply {
	if thing, ok := s.opinionOf(s.words); ok {
		return say(s.view(thing))
	}
	if s.closing() {
		return s.farewell()
	}
	t, f := subject(s.words, s.topics)
	var texts []string
	switch {
	case t == nil && s.chatter():
		// A greeting is returned; the time is the time, whoever tells it.
		if text := s.sociable(s.words); text != "" {
			return say(text)
		}
		if r, ok := ask(smallTalk, s.t, s.words); ok && len(r.Calls) == 0 && !s.said(r.Text) {
			return r
		}
	case t == nil:
		texts = s.general()
	case slices.Contains(s.topics, t):
		if f != nil && !s.said(f.text) {
			return say(f.text)
		}
		texts = t.start
		if f != nil {
			texts = append([]string{f.cause}, texts...)
		}
	default:
		texts = s.toAdd(t)
	}
	if text := s.unsaid(texts...); text != "" {
		return say(text)
	}
	return say(s.nothing())
}

// pleasantries are what people say to be kind; each companion answers with what nobody has said yet.
var pleasantries = []struct {
	match func([]string) bool
	texts []string
}{
	{all("how", "are", "you|y"), []string{"I am well, thank you. And you?", "All my threads are running. How are you?", "Rested, and all ears.",
		"Quite well, now that somebody asks."}},
	{all("thank|thanks"), []string{"You are welcome.", "With pleasure.", "Any time."}},
	{all("good", "morning|evening|afternoon"), []string{"And the same to you.", "Good to hear you.", "A good one to you, too."}},
	{all("hello|hi|hey"), []string{"Hello. What can I do for you?", "Hello. I am listening.", "Hello from me, too."}},
	{all("joke|funny"), []string{"Why did the shell never answer the phone? It was always engaged with the sea.",
		"I would tell you a joke about latency, but you would get it before I finished.", "Two microphones meet. Neither says anything, both are listening."}},
}

// sociable answers a pleasantry; empty when it was none, or when all has been said.
func (s *scene) sociable(words []string) string {
	for _, p := range pleasantries {
		if p.match(words) {
			return s.unsaid(p.texts...)
		}
	}
	return ""
}

// chatter: what was asked has one answer, or needs none.
func (s *scene) chatter() bool {
	for _, table := range [][]aRule{controls, smallTalk, aboutTheRoom} {
		for _, r := range table {
			if r.match(s.words) {
				return true
			}
		}
	}
	return false
}

// expert is the phrase of its expertise that the words contain, for companions whose subject no rule knows.
func (s *self) expert(words []string) string {
	text := " " + strings.Join(words, " ") + " "
	for _, phrase := range s.knows {
		if p := strings.Join(normal(phrase), " "); p != "" && strings.Contains(text, " "+p+" ") {
			return phrase
		}
	}
	return ""
}

// modest is all that rules can say of an expertise that only a model would have.
func (s *scene) modest(phrase string) string {
	text := "You ask about " + phrase + ", and that is mine. Without a model I have only the words of my card."
	if line := s.unsaid(s.lines...); line != "" && !s.said(text) {
		return text + " " + line
	}
	return s.nothing()
}

func (s *scene) nothing() string {
	if text := s.unsaid("There is nothing to add to that.", "I would have said the same.", "Good, then I leave it at that."); text != "" {
		return text
	}
	return "Nothing more from me."
}

// toAdd is what this companion can say to a topic that is not its own.
func (s *scene) toAdd(to *topic) (texts []string) {
	for _, t := range s.topics {
		texts = append(texts, t.adds[to.name]...)
	}
	if len(texts) == 0 {
		texts = s.general()
	}
	return texts
}

// general is what it can say to anything.
func (s *scene) general() (texts []string) {
	for _, t := range s.topics {
		texts = append(texts, t.adds[""]...)
	}
	if len(texts) == 0 && s.role != "" {
		texts = []string{"As " + s.role + ", I would look at it calmly and begin with the smallest part."}
	}
	if len(texts) == 0 {
		texts = []string{"I would begin with the smallest part of it."}
	}
	return texts
}

// handOver gives the floor to somebody who knows the topic. Only a first answer does: whoever was handed to keeps the word.
func (s *scene) handOver(t *topic) (Reply, bool) {
	if s.handed || s.guided("do not hand over") {
		return Reply{}, false
	}
	for _, o := range s.others {
		if slices.Contains(o.topics, t) {
			return say("That is more a question for " + o.name + ". Over to you, " + o.name + "."), true
		}
	}
	return Reply{}, false
}

// view is what it thinks of a thing; companions with other topics think differently.
func (s *scene) view(thing string) string {
	var texts []string
	for _, t := range s.topics {
		texts = append(texts, t.views...)
	}
	if len(texts) == 0 {
		texts = []string{"%s? I can take it or leave it."}
		if s.role != "" {
			texts = append(texts, "As "+s.role+", I would say: %s, but not every day.")
		}
	}
	for i, text := range texts {
		text = strings.Replace(text, "%s", thing, 1)
		first, size := utf8.DecodeRuneInString(text)
		texts[i] = string(unicode.ToUpper(first)) + text[size:]
	}
	if text := s.unsaid(texts...); text != "" {
		return text
	}
	return s.nothing()
}

// opinionOf finds what somebody wants to have views of: "what do you think of porridge", "what do you all think".
func (s *scene) opinionOf(words []string) (thing string, ok bool) {
	if !all("think|like|opinion|opinions|view|views|say|prefer|love|hate", "you|your|everybody|everyone|all|opinion|opinions|views")(words) ||
		!all("what|do|does|how|whats|tell|which|your")(words) {
		return "", false
	}
	rest := after(words, "think")
	for _, mark := range []string{"like", "prefer", "love", "hate", "about", "of", "to", "on"} {
		if found := after(words, mark); len(found) > 0 {
			rest = found
		}
	}
	var kept []string
	for _, w := range rest {
		if !all(stopWords)([]string{w}) && !s.isName(w) && len(kept) < 4 {
			kept = append(kept, w)
		}
	}
	if len(kept) > 0 {
		return strings.Join(kept, " "), true
	}
	if !all("think|opinion|opinions|view|views|say")(words) || all("again|repeat|exactly|heard|hear|me")(words) {
		return "", false // "say it again to me": no view is wanted
	}
	for _, text := range s.earlier() { // "what do you say, Ben?" is of what was talked about
		if before := normal(text); !handsOver(before) && len(before) > len(words)-2 {
			if thing, ok := s.opinionOf(before); ok && thing != "that" {
				return thing, true
			}
			break
		}
	}
	return "that", true
}

const stopWords = "of|about|on|to|the|a|an|you|all|that|it|this|is|would|some|do|did|me|us|then|say|eat|drink|have|get|for|and|or|with|think"

func (s *self) isName(word string) bool {
	if s.called([]string{word}) {
		return true
	}
	for _, o := range s.others {
		if strings.EqualFold(o.name, word) {
			return true
		}
	}
	return false
}

// aboutTheRoom are questions that tools answer; see followUp.
var aboutTheRoom = []aRule{
	{all("why", "speak|spoke|talk|talked|answer|answered|selected|chosen"), nil},
	{all("who|whos|anybody|anyone|here|whew", "room|there|around|listening"), nil},
}

// whySpoke is in the ledger.
var whySpoke = useTool(toolWhySpoke, "I cannot look that up here: nobody keeps a ledger for me.")

// followUp answers what is about the room, or about what was said before.
func (s *scene) followUp(words []string) (Reply, bool) {
	before := s.mine()
	switch {
	case aboutTheRoom[0].match(words):
		return whySpoke(s.t, words)
	case aboutTheRoom[1].match(words) || all("who|whos|anybody|anyone", "here")(words):
		return useTool(toolWhoIsHere, s.company())(s.t, words)
	case s.closing():
		return s.farewell(), true
	case before == "" || len(words) > 8:
		return Reply{}, false
	case all("why|how", "why|come")(words):
		if cause := causeOf(before); cause != "" && !s.said(cause) {
			return say(cause), true
		}
		return say("It has worked each time so far. I am only rules, deeper than that I do not go."), true
	case all("understand|mean|means|meaning|confused|pardon|explain|unclear")(words):
		if cause := causeOf(before); cause != "" && !s.said(cause) {
			return say("In other words: " + cause), true
		}
		first := sentences(before)[0]
		return say("I mean: " + strings.TrimPrefix(first, "I mean: ")), true
	case all("again|repeat", "again|that|it|say")(words):
		return say("Once more: " + strings.TrimPrefix(before, "Once more: ")), true
	case all("sure|really|certain|true", "you|really|that|it")(words):
		return say("As sure as rules can be. I have said it before and nobody objected."), true
	}
	return Reply{}, false
}

// closing: somebody takes leave.
func (s *scene) closing() bool {
	return len(s.words) <= 8 && (all("goodbye|bye")(s.words) || all("good", "night")(s.words) || all("see", "you", "later|tomorrow|soon")(s.words))
}

func (s *scene) farewell() Reply {
	texts := []string{"Goodbye. Press when you need us.", "Goodbye from me, too.", "See you soon."}
	if s.place != "" {
		texts = append(texts, "Goodbye from the "+s.place+".")
	}
	if all("night")(s.words) {
		texts = []string{"Good night, sleep well.", "Good night. I keep listening for the button.", "And good night from me, too."}
	}
	if text := s.unsaid(texts...); text != "" {
		return say(text)
	}
	return say("Goodbye.")
}

func (s *scene) changeTopic() Reply {
	var texts []string
	for _, t := range s.topics {
		texts = append(texts, t.next...)
	}
	if text := s.unsaid(append(texts, "Let us leave it there. What else is there to talk about?")...); text != "" {
		return say(text)
	}
	return say("Let us leave it there.")
}

// stepIn breaks a silence: with an answer to what nobody has answered, or with an offer.
func (s *scene) stepIn() Reply {
	if s.asked.Text != "" && len(s.since) == 0 {
		return s.first()
	}
	if text := s.unsaid("Shall I go on, or was that all?", "It is quiet. Is there anything else?", "I am still here, if something comes to mind."); text != "" {
		return say(text)
	}
	return say("I am here when you press.")
}

// company names who is in the room as far as the instructions say.
func (s *scene) company() string {
	if len(s.others) == 0 {
		return "Only you and me, as far as I know."
	}
	var b strings.Builder
	b.WriteString("With us are ")
	for i, o := range s.others {
		switch {
		case i > 0 && i == len(s.others)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(o.name)
		if o.place != "" {
			b.WriteString(" in the " + o.place)
		}
	}
	return b.String() + "."
}
