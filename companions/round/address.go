package round

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Named is somebody and what people call them.
type Named struct {
	Who   Participant
	Names []string
}

// Addressed is whom a text addresses, in the order named (ROOM.md 4.2). A name is a vocative where the sentence begins or
// ends with it and a comma, colon or the end of the sentence sets it apart; after "@", a greeting or words that give the
// turn ("over to"); before words that only fit somebody spoken to ("can you"). It is none inside a quotation, code, an
// e-mail or another address, in the genitive, or where the sentence is about the person. It takes time linear in the text.
func Addressed(text string, names []Named) []Participant {
	return newNames(names).read(text).called
}

// names finds names in texts.
type names struct {
	first map[string][]entry // by the first word; the longest first
}

type entry struct {
	who   Participant
	words []string
	raw   string // lower case, as written
	lead  int    // bytes of raw before its first word
	plain bool   // it is a word of the language too: "will", "mark"
}

// nameMost bounds how many words a name has.
const nameMost = 6

// plainWords are names that are words as well: they need punctuation to be a vocative.
var plainWords = set(`will may mark art bill rob pat sue grace hope joy faith dawn frank jack nick rich max page rose ruby
	iris sky star echo nova sage usual so and the you all one me can do go it is are`)

func newNames(named []Named) *names {
	n := &names{first: make(map[string][]entry)}
	for _, who := range named {
		for _, name := range who.Names {
			ws := words(name)
			if len(ws) == 0 || len(ws) > nameMost*4 {
				continue
			}
			e := entry{who: who.Who, raw: strings.ToLower(strings.TrimSpace(name)), plain: len(ws) == 1 && plainWords[ws[0].text]}
			e.lead = strings.IndexFunc(e.raw, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			for _, w := range ws {
				e.words = append(e.words, w.text)
			}
			k := e.words[0]
			if !slices.ContainsFunc(n.first[k], func(o entry) bool { return o.who == e.who && o.raw == e.raw }) {
				n.first[k] = append(n.first[k], e)
			}
		}
	}
	for _, es := range n.first {
		slices.SortFunc(es, func(a, b entry) int {
			return cmp.Or(len(b.words)-len(a.words), len(b.raw)-len(a.raw), cmp.Compare(a.who, b.who), cmp.Compare(a.raw, b.raw))
		})
	}
	return n
}

// reading is what a text says about whom it is for.
type reading struct {
	called    []Participant // in the order named
	excluded  []Participant // "not you, Ada", "everybody but Ada"
	mentioned []Participant // named in any way
}

// match is a name in a text.
type match struct {
	entry
	i, j       int // words
	start, end int // bytes
}

// read finds the names in a text and how they are used.
func (n *names) read(text string) reading {
	text = clip(text)
	var r reading
	if len(n.first) == 0 || text == "" {
		return r
	}
	s := scan{text: text, words: words(text), code: strings.Count(text, "`") > 1, slash: strings.IndexByte(text, '/')}
	for i := 0; i < len(s.words); i++ {
		if m, ok := n.match(&s, i); ok {
			s.matches = append(s.matches, m)
			i = m.j - 1
		}
	}
	if len(s.matches) == 0 {
		return r
	}
	s.mark()
	s.dropQuoted()
	for len(s.matches) > 0 {
		group := s.group()
		s.matches = s.matches[len(group):]
		called, excluded := s.judge(group)
		for _, m := range group {
			r.mentioned = add(r.mentioned, m.who)
		}
		for _, m := range called {
			r.called = add(r.called, m.who)
		}
		for _, m := range excluded {
			r.excluded = add(r.excluded, m.who)
		}
	}
	return r
}

func add(to []Participant, p Participant) []Participant {
	if slices.Contains(to, p) {
		return to
	}
	return append(to, p)
}

// match finds the longest name that begins at word i.
func (n *names) match(s *scan, i int) (match, bool) {
	var found match
	ok := false
	for _, e := range n.first[s.words[i].text] {
		j := i + len(e.words)
		if ok && len(e.words) < found.j-found.i {
			break
		}
		if j > len(s.words) || !s.same(e, i) {
			continue
		}
		m := match{entry: e, i: i, j: j, start: s.words[i].start, end: s.words[j-1].end}
		raw := false
		if from := m.start - e.lead; from >= 0 && from+len(e.raw) <= len(s.text) && strings.ToLower(s.text[from:from+len(e.raw)]) == e.raw {
			if from+len(e.raw) >= m.end { // as written, signs included: "[ada]", "ada_"
				m.start, m.end, raw = from, from+len(e.raw), true
			}
		}
		if !s.apart(&m) {
			continue
		}
		if !ok || raw {
			found, ok = m, true
		}
		if raw {
			break
		}
	}
	return found, ok
}

// scan is a text being read.
type scan struct {
	text    string
	words   []word
	matches []match
	code    bool   // it holds a pair of backticks
	slash   int    // where the first slash is
	start   []bool // word i begins a sentence, openings and greetings apart
	greet   []bool // word i-1 is a greeting that a name can follow without a comma
}

// same says whether the name stands at word i, its parts held together by no more than a space, hyphen, dot or underscore.
func (s *scan) same(e entry, i int) bool {
	for k, w := range e.words {
		if s.words[i+k].text != w {
			return false
		}
		if k > 0 && strings.Trim(s.text[s.words[i+k-1].end:s.words[i+k].start], " -_.·・'’‐") != "" {
			return false
		}
	}
	return true
}

// apart says whether a match is a name standing by itself, and not part of an address, of a path, or of a longer word.
func (s *scan) apart(m *match) bool {
	for m.end < len(s.text) && strings.IndexByte("_`|^", s.text[m.end]) >= 0 && !s.code {
		m.end++ // nicknames that were taken
	}
	before, nb := utf8.DecodeLastRuneInString(s.text[:m.start])
	after, na := utf8.DecodeRuneInString(s.text[m.end:])
	next, _ := utf8.DecodeRuneInString(s.text[m.end+na:])
	last := s.words[m.j-1]
	if last.cjk {
		return s.apartSpaceless(*m, before, after)
	}
	switch {
	case strings.ContainsRune("#<=$~\\/%+&_.", before) && nb > 0 && before != '.':
		return false
	case before == '.' && m.start > 1 && s.text[m.start-2] != ' ' && s.text[m.start-2] != '.': // "www.ada"
		return false
	case before == '-' && m.start > 1 && s.text[m.start-2] != ' ' && s.text[m.start-2] != '-': // "non-ada"
		return false
	case before == '@' && m.start > 1 && !strings.ContainsRune(" ,;:(\n\t.!?", rune(s.text[m.start-2])):
		return false // "mail@ada.example"
	case strings.ContainsRune("@=\\(_", after) && na > 0:
		return false
	case after == '/' && !s.nameAt(m.end+1):
		return false
	case (after == '.' || after == '-' || after == '+') && (unicode.IsLetter(next) || unicode.IsDigit(next)):
		return false // "ada.py", "ada-like"
	case after == ':' && (next == '/' || next == '='), after == '>':
		return false
	}
	return true
}

// nameAt: after a slash another name may stand ("Ada/Bob"); a path goes on in lower case or with a dot.
func (s *scan) nameAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(i, len(s.text)):])
	return unicode.IsUpper(r) && s.slash == i-1
}

// apartSpaceless is apart for scripts that write no spaces: the script must change, or something must follow that sets a
// name apart.
func (s *scan) apartSpaceless(m match, before, after rune) bool {
	first, _ := utf8.DecodeRuneInString(s.text[m.start:])
	last, _ := utf8.DecodeLastRuneInString(s.text[:m.end])
	if kana(last) && kana(after) || kana(first) && kana(before) {
		return false // a longer word in katakana
	}
	if kana(last) || !spaceless(after) {
		return true
	}
	rest := s.text[m.end:]
	for _, p := range []string{"さん", "くん", "ちゃん", "さま", "様", "君", "は", "が", "の", "に", "と", "も", "你", "您", "请", "請", "呢", "老师", "和", "说", "說"} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

func kana(r rune) bool { return unicode.Is(unicode.Katakana, r) || r == 'ー' }

// opening words that may stand before a vocative at the beginning; greetings need no comma before the name.
var (
	openers = set(`so well and but oh ah ok okay um uh hmm now then also yes yeah yep no nope right sorry great fine please actually
		alright anyway aha good excellent wow cool nice sure exactly true agreed und also ja nein gut et oui non alors bon y si bueno pues
		listen look say tell`)
	greetings = set(`hey hi hello hiya yo thanks thx thank cheers bye goodbye dear morning evening afternoon night welcome congrats congratulations
		hallo moin servus danke tschuss salut bonjour bonsoir coucou merci hola oye gracias adios ciao ey ola`)
	secondWords = set(`you there again morning evening afternoon night me much all so very day`) // "thank you", "hi there", "good morning"
)

const spacelessOpeners = "ねえ|ねぇ|ね|おい|あの|やあ|はい|では|じゃあ|こんにちは|おはよう|ありがとう|嘿|喂|你好|嗨|嗯|好|好的|请问|谢谢|那"

// mark computes where sentences begin.
func (s *scan) mark() {
	s.start = make([]bool, len(s.words)+1)
	s.greet = make([]bool, len(s.words)+1)
	from := 0 // of the sentence
	polite := false
	for i, w := range s.words {
		gap := s.gap(i)
		if i == 0 || strings.ContainsAny(gap, ".!?…。！？\n;") {
			s.start[i], from, polite = true, w.start, false
			continue
		}
		p := s.words[i-1].text
		greeted := greetings[p] && !(p == "thank") || polite && secondWords[p]
		if s.start[i-1] && (openers[p] || greetings[p]) || s.start[i-1] && polite && secondWords[p] {
			s.start[i] = true
			s.greet[i] = greeted && strings.TrimSpace(gap) == ""
			polite = polite || greetings[p] || p == "good"
			continue
		}
		if w.start > from && spaceless(firstRune(s.text[from:])) && w.start-from < 24 {
			lead := strings.TrimRight(s.text[from:w.start], "、，, ")
			s.start[i] = strings.Contains("|"+spacelessOpeners+"|", "|"+lead+"|")
		}
	}
}

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

// gap is what stands before word i.
func (s *scan) gap(i int) string {
	from, to := 0, len(s.text)
	if i > 0 {
		from = s.words[i-1].end
	}
	if i < len(s.words) {
		to = s.words[i].start
	}
	return s.text[from:to]
}

// dropQuoted removes the matches inside quotations, code and addresses.
func (s *scan) dropQuoted() {
	zones := quotations(s.text)
	k := 0
	s.matches = slices.DeleteFunc(s.matches, func(m match) bool {
		for k < len(zones) && zones[k][1] <= m.start {
			k++
		}
		return k < len(zones) && zones[k][0] < m.end
	})
}

// group is the matches that are named together: "Ada and Bob", "Ada, Bob".
func (s *scan) group() []match {
	n := 1
	for n < len(s.matches) && s.joined(s.matches[n-1], s.matches[n]) {
		n++
	}
	return s.matches[:n]
}

func (s *scan) joined(a, b match) bool {
	between := strings.ToLower(s.text[a.end:b.start])
	for _, h := range honorifics {
		between = strings.TrimPrefix(between, h)
	}
	between = strings.TrimSuffix(strings.TrimSpace(between), "@")
	between = strings.Trim(between, " ,、，/&+")
	switch between {
	case "", "and", "und", "et", "y", "e", "or", "then", "plus", "と", "和", "跟", "・":
		return true
	}
	return false
}

var honorifics = []string{"さん", "くん", "ちゃん", "さま", "様", "君", "先生", "老师"}

// Words around a name that tell whom a sentence is for.
var (
	aboutWords = lex("who was|who is a|who is my|who has|whom|whose|and my|said|says|asked")
	negations  = lex("not|except|without|nicht|ausser|sauf|excepto|everyone but|everybody but|anyone but|anybody but|all but|not you|instead of|rather than|but not|than")
	giveTurn   = lex("over to|back to|let s ask|lets ask|let us ask|let s hear|let s hear from|lets hear from|like to hear from|want to hear from|hand over to|handing over to|hand it to|hand it over to|" +
		"pass it to|passing to|pass to|pass it on to|question for|this is for|this one is for|your turn|what about you|how about you|and you|you too|next is|take it away|go ahead|" +
		"go on|i call on|i m asking|calling on|paging|du bist dran|was ist mit dir|a toi|et toi|te toca|y tu|y usted")
	// before a name at the end of a sentence, without a comma
	endCues = lex("you|me|think|right|thanks|thank you|please|yes|no|ok|okay|again|too|now|there|here|today|then|sorry|bye|goodbye|night|morning|evening|afternoon|welcome|well|turn|" +
		"isn t it|doesn t it|don t you|hello|hi|hey|say|correct|true|du|dir|dich|toi|vous|tu|ti|usted|danke|merci|gracias|cheers|np|exactly|lol|yeah|yep|sure")
	// after a name at the beginning of a sentence, without a comma
	startCues = lex("what|whats|what s|how|hows|how s|why|when|where|please|can you|could you|would you|will you|do you|did you|are you|were you|have you|don t you|should you|should i|should we|can i|can we|could we|" +
		"may i|do we|do i|is it|is there|are there|was there|does it|does the|you|your|you re|youre|tell|give|show|explain|say|help|sing|play|stop|start|set|turn|wait|listen|continue|remind|describe|repeat|answer|" +
		"summarize|summarise|check|find|let s|add|open|close|recommend|suggest|translate|calculate|over to|go ahead|go on|i need|i m|i don t|i think|i have|any|kannst du|was|wie|wo|warum|bitte|peux tu|tu peux|puedes|que")
)

// judge says who of a group is called, and who is excluded.
func (s *scan) judge(group []match) (called, excluded []match) {
	first, last := group[0], group[len(group)-1]
	left := s.lineBefore(first.i)
	if ends(left, negations) && !strings.ContainsAny(s.gap(first.i), ".!?;:") {
		if strings.ContainsAny(s.gap(first.i), ",") && !strings.HasSuffix(left, " not you ") {
			left = " "
		} else {
			return nil, group
		}
	}
	if s.vocative(first, last, left) {
		return group, nil
	}
	for _, m := range group { // "@ada", wherever it stands
		if m.start > 0 && s.text[m.start-1] == '@' {
			called = append(called, m)
		}
	}
	if called == nil && len(group) > 1 && s.start[first.i] && !first.plain && comma(s.text[first.end:group[1].start]) &&
		!strings.Contains(" "+strings.ToLower(s.text[first.end:last.start])+" ", " and ") {
		return group[:1], nil // "Ada, Bob went home"
	}
	return called, nil
}

func comma(gap string) bool {
	gap = strings.TrimSpace(gap)
	return gap == "," || gap == ":" || gap == "，" || gap == "、"
}

// vocative says whether the names from first to last are spoken to; left is the line of words before them.
func (s *scan) vocative(first, last match, left string) bool {
	after := s.text[last.end:]
	for _, h := range honorifics {
		after = strings.TrimPrefix(after, h)
	}
	right := s.lineAfter(last.j)
	if t, ok := genitive(after); ok {
		return strings.HasPrefix(strings.ToLower(t[:min(len(t), len(" turn"))]), " turn")
	}
	gap := after // up to the next word
	if i := strings.IndexFunc(after, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }); i >= 0 {
		gap = after[:i]
	}
	if strings.Contains(gap, "=") || strings.HasPrefix(gap, "(") || strings.HasPrefix(gap, ")") {
		return false
	}
	over := strings.TrimSpace(after) == "" || strings.ContainsAny(gap, "?!.？！。…\n")
	set := over || strings.ContainsAny(gap, ",:;，、：；—–") || strings.Contains(gap, " -")
	if first.start > 0 && s.text[first.start-1] == '@' && first.i == last.i {
		return true
	}
	if s.spacelessCue(after) {
		return s.start[first.i] || over
	}
	if s.start[first.i] {
		if set && !listGoesOn(gap, right) || s.greet[first.i] {
			return true
		}
		return !first.plain && begins(right, startCues) && strings.TrimSpace(gap) == ""
	}
	if ends(left, giveTurn) && !strings.ContainsAny(s.gap(first.i), ".!?:") {
		return true
	}
	before := strings.TrimSpace(strings.TrimRight(s.gap(first.i), "@"))
	parted := strings.HasSuffix(before, ",") || strings.HasSuffix(before, "，") || strings.HasSuffix(before, "、") || strings.HasSuffix(before, "—") ||
		strings.HasSuffix(before, "–") || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "...") || strings.HasSuffix(before, "…")
	switch {
	case parted && over:
		return true
	case parted && set: // in the middle: "so what, Ada, do you think"
		return spokenTo(right)
	case before == "" && (over || set) && !first.plain:
		return ends(left, endCues)
	case strings.HasSuffix(left, " and ") && set && !over: // "..., and Ada, what do you think?"
		return spokenTo(right)
	}
	return false
}

// listGoesOn: "Ada, and ..." or ", who came" go on about the person, not to it.
func listGoesOn(gap, right string) bool {
	return strings.TrimSpace(gap) == "," && begins(right, aboutWords)
}

// spokenTo says whether words speak to somebody.
func spokenTo(line string) bool {
	f := strings.Fields(line)
	for i, w := range f {
		if i > 8 {
			break
		}
		switch w {
		case "you", "your", "yours", "please", "du", "dein", "tu", "vous", "te", "usted":
			return true
		}
	}
	return begins(line, questionWords) || begins(line, imperatives)
}

// genitive says whether what follows a name makes it a possessor, and gives the rest.
func genitive(after string) (string, bool) {
	for _, p := range []string{"'s", "’s", "'S", "’S"} {
		if rest, ok := strings.CutPrefix(after, p); ok && !unicode.IsLetter(firstRune(rest)) {
			return rest, true
		}
	}
	for _, p := range []string{"' ", "’ ", "の"} {
		if strings.HasPrefix(after, p) {
			return after, true
		}
	}
	return "", false
}

// spacelessCue: Japanese and Chinese ways to turn to somebody without a comma ("…はどう", "…呢", "…你").
func (s *scan) spacelessCue(after string) bool {
	for _, p := range []string{"はどう", "は？", "は?", "呢", "你", "您", "请", "請", "に聞", "にお願い"} {
		if strings.HasPrefix(after, p) {
			return true
		}
	}
	return false
}

// lineBefore is the few words before word i, lineAfter those from word j on, each as phrase makes them. A sentence's end
// bounds both.
func (s *scan) lineBefore(i int) string {
	from := max(0, i-5)
	for k := i - 1; k > from; k-- {
		if strings.ContainsAny(s.gap(k), ".!?\n") {
			from = k
			break
		}
	}
	return phrase(s.words[from:i])
}

func (s *scan) lineAfter(j int) string {
	to := min(len(s.words), j+10)
	for k := j + 1; k < to; k++ {
		if strings.ContainsAny(s.gap(k), ".!?\n") {
			to = k
			break
		}
	}
	return phrase(s.words[min(j, to):to])
}
