package words

import (
	"slices"
	"strings"
	"unicode"
)

// Reading is what a text says about whom it is for.
type Reading struct {
	Called    []string // in the order named
	Asked     []string // not spoken to, and it is for them: "ask Ada", "Ada should answer that", "is Ada there?"
	Excluded  []string // "not you, Ada", "everybody but Ada"
	Mentioned []string // named in any way
	People    []string // called by names that are no companion's, as far as is known here: "Max, dinner!", "Mum?"
	OneOf     bool     // "Ada or Ben": one of the called
	First     bool     // "Ada first, then the others"

	named [][2]int // which words are names
}

// Read finds the names in a text and how they are used (ROOM.md 4.2). A name is a vocative where the sentence begins or ends with it
// and a comma, colon or the end of the sentence sets it apart; after "@", a greeting or words that give the turn ("over to"); before
// words that only fit somebody spoken to ("can you"). It is none inside a quotation, code, an e-mail or another address, in the
// genitive, or where the sentence is about the person.
func (n *Names) Read(text string) (r Reading) {
	text = clip(text)
	if text == "" {
		return r
	}
	ws := words(text)
	return n.read(text, ws, n.of.vocab(ws), true)
}

// read is Read; where people who are not known here do not matter they are not looked for.
func (n *Names) read(text string, ws []word, v vocab, strangers bool) (r Reading) {
	s := scan{text: text, words: ws, v: v, code: strings.Count(text, "`") > 1, slash: strings.IndexByte(text, '/')}
	s.cased = strings.IndexFunc(text, unicode.IsUpper) >= 0
	for i := 0; i < len(s.words); i++ {
		m, ok := n.match(&s, i)
		if !ok {
			m, ok = n.sounds(&s, i)
		}
		if ok {
			s.matches = append(s.matches, m)
			i = m.j - 1
		}
	}
	if len(s.matches) == 0 && !strangers {
		return r
	}
	s.mark()
	if len(s.matches) > 0 {
		s.dropQuoted()
	}
	all := s.matches
	var dismissed []match
	for len(s.matches) > 0 {
		group := s.group()
		s.matches = s.matches[len(group):]
		called, excluded := s.judge(group)
		if group[0].heard { // that far from the name it is one only where somebody is called
			group = slices.DeleteFunc(slices.Clone(group), func(m match) bool { return m.heard && !has(called, m) && !has(excluded, m) })
			if len(group) == 0 {
				continue
			}
		}
		if called == nil && excluded == nil {
			r.Asked = add(r.Asked, s.asked(group))
		}
		if len(called) > 0 && s.v.says(cueDismiss, s.lineAfter(called[len(called)-1].j)) {
			dismissed = append(dismissed, called...)
		}
		r.OneOf = r.OneOf || len(called) > 1 && s.either(called)
		r.First = r.First || len(called) > 0 && s.v.has(cueThenName, s.wordAt(group[len(group)-1].j)) && s.v.says(cueOthers, s.lineAfter(group[len(group)-1].j))
		r.Mentioned, r.Called, r.Excluded = add(r.Mentioned, group), add(r.Called, called), add(r.Excluded, excluded)
	}
	for _, m := range dismissed { // "Ben, you are off duty. Ada, ..."
		if len(r.Called) > 1 {
			r.Called = slices.DeleteFunc(r.Called, func(o string) bool { return o == m.who })
			r.Excluded = add(r.Excluded, []match{m})
		}
	}
	if strangers {
		r.People = s.people(all)
	}
	for _, m := range all {
		r.named = append(r.named, [2]int{m.i, m.j})
	}
	return r
}

func has(list []match, m match) bool {
	return slices.ContainsFunc(list, func(o match) bool { return o.i == m.i })
}

// wordAt is a word of the text, empty beyond its end.
func (s *scan) wordAt(i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i].text
}

func add(to []string, of []match) []string {
	for _, m := range of {
		if !slices.Contains(to, m.who) {
			to = append(to, m.who)
		}
	}
	return to
}

// mark computes where sentences begin.
func (s *scan) mark() {
	s.start = make([]bool, len(s.words)+1)
	s.greet = make([]bool, len(s.words)+1)
	from := 0 // of the sentence
	polite := false
	for i, w := range s.words {
		gap := s.gap(i)
		if i == 0 || strings.ContainsAny(gap, ".!?؟…。！？\n;") {
			s.start[i], from, polite = true, w.start, false
			continue
		}
		p := s.words[i-1].text
		greeting, opener := s.v.has(cueGreeting, p), s.v.has(cueOpener, p)
		greeted := greeting && !(p == "thank") || polite && s.v.has(cueGreetingMore, p)
		if s.start[i-1] && (opener || greeting) || s.start[i-1] && polite && s.v.has(cueGreetingMore, p) {
			s.start[i] = true
			s.greet[i] = greeted && strings.TrimSpace(gap) == ""
			polite = polite || greeting || p == "good"
			continue
		}
		if w.start > from && spaceless(firstRune(s.text[from:])) && w.start-from < 24 {
			s.start[i] = s.v.written(cueOpener, strings.TrimRight(s.text[from:w.start], "、，, "))
		}
	}
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
	between := strings.ToLower(s.withoutHonorific(s.text[a.end:b.start]))
	between = strings.TrimSuffix(strings.TrimSpace(between), "@")
	between = strings.Trim(between, " ,、，・/&+")
	return between == "" || s.v.written(cueJoiner, between)
}

// either says whether "or" stands between the last two.
func (s *scan) either(group []match) bool {
	a, b := group[len(group)-2], group[len(group)-1]
	return s.v.written(cueEither, strings.Trim(strings.ToLower(s.text[a.end:b.start]), " ,、，"))
}

func (s *scan) withoutHonorific(after string) string {
	return strings.TrimPrefix(after, s.v.prefix(cueHonorific, after))
}

// judge says who of a group is called, and who is excluded.
func (s *scan) judge(group []match) (called, excluded []match) {
	first, last := group[0], group[len(group)-1]
	left := s.lineBefore(first.i)
	if not := s.v.end(cueNegation, left); not != "" && !strings.ContainsAny(s.gap(first.i), ".!?;:") {
		if strings.ContainsAny(s.gap(first.i), ",") && !s.v.ends(cueSecond, not) {
			left = " "
		} else {
			return s.unlike(group)
		}
	}
	if len(group) > 1 && s.v.begins(cueNegated, s.textAfter(last)) { // "Benじゃなくて"
		return nil, group
	}
	if n := len(group); n > 1 && strings.TrimSpace(s.text[group[n-2].end:last.start]) == "" && s.v.has(cueReport, s.wordAt(last.j)) {
		if group = group[:n-1]; s.start[first.i] { // "Ben Ada says ...": that is what Ada says
			return group, nil
		}
		last = group[n-2]
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
		!s.v.says(cueJoiner, " "+strings.ToLower(s.text[first.end:last.start])+" ") {
		return group[:1], nil // "Ada, Bob went home"
	}
	return called, nil
}

func comma(gap string) bool {
	gap = strings.TrimSpace(gap)
	return gap == "," || gap == ":" || gap == "，" || gap == "、" || gap == "،"
}

// partings stand before a name that a sentence ends with.
var partings = strings.Fields(", ، ， 、 — – - ... …")

// vocative says whether the names from first to last are spoken to; left is the line of words before them.
func (s *scan) vocative(first, last match, left string) bool {
	after := s.withoutHonorific(s.text[last.end:])
	right := s.lineAfter(last.j)
	if t, ok := genitive(after); ok {
		return strings.HasPrefix(strings.ToLower(t[:min(len(t), len(" turn"))]), " turn")
	}
	gap := after // up to the next word
	if i := strings.IndexFunc(after, letter); i >= 0 {
		gap = after[:i]
	}
	if strings.Contains(gap, "=") || strings.HasPrefix(gap, "(") || strings.HasPrefix(gap, ")") {
		return false
	}
	over := strings.TrimSpace(after) == "" || strings.ContainsAny(gap, "?!.؟？！。…\n")
	set := over || strings.ContainsAny(gap, ",:;،，、：；—–") || strings.Contains(gap, " -")
	if first.start > 0 && s.text[first.start-1] == '@' && first.i == last.i {
		return true
	}
	if s.v.prefix(cueCueAfterName, after) != "" {
		return s.start[first.i] || over
	}
	if first.heard && s.words[first.i].text != last.words[0] && !s.near(first, last, gap, right) {
		return false
	}
	if s.start[first.i] {
		if set && !s.listGoesOn(gap, right) && !s.apposition(after) || s.greet[first.i] {
			return true
		}
		return !first.plain && s.v.begins(cueStart, right) && strings.TrimSpace(strings.Trim(gap, "[]")) == ""
	}
	if s.v.ends(cueGiveTurn, left) && !strings.ContainsAny(s.gap(first.i), ".!?:") {
		return true
	}
	before := strings.TrimSpace(strings.Trim(s.gap(first.i), "@[]"))
	parted := slices.ContainsFunc(partings, func(p string) bool { return strings.HasSuffix(before, p) })
	switch {
	case parted && over:
		return true
	case parted && set: // in the middle: "so what, Ada, do you think"
		return s.spokenTo(right)
	case before == "" && !first.plain && (s.v.ends(cueHello, left) || s.v.ends(cueGoodbye, left)): // "good night Ada good night Ben"
		return true
	case before == "" && (over || set) && !first.plain:
		return s.v.ends(cueEnd, left)
	case before == "" && !first.plain && strings.TrimSpace(gap) == "": // "tell me Ada what is it"
		return s.v.ends(cueEnd, left) && s.v.begins(cueStart, right) && questionLike(s.v, right)
	case strings.HasSuffix(left, " and ") && set && !over: // "..., and Ada, what do you think?"
		return s.spokenTo(right)
	}
	return false
}

// near says whether a word that only sounds like a name stands where one is called: where people put no comma, a recogniser put no sign.
func (s *scan) near(first, last match, gap, right string) bool {
	if first.sure {
		return true
	}
	return strings.TrimSpace(gap) == "" && (s.greet[first.i] || s.start[first.i] && s.v.begins(cueStart, right))
}

// listGoesOn: "Ada, and ..." or ", who came" go on about the person, not to it.
func (s *scan) listGoesOn(gap, right string) bool {
	return strings.TrimSpace(gap) == "," && s.v.begins(cueAbout, right)
}

// apposition: "Ada, my grandmother, used to bake" says who Ada is.
func (s *scan) apposition(after string) bool {
	parts := strings.SplitN(after, ",", 3)
	if len(parts) < 3 || strings.TrimSpace(parts[0]) != "" || strings.ContainsAny(parts[1], ".!?:") {
		return false
	}
	who, rest := words(parts[1]), phrase(words(parts[2]))
	f := strings.Fields(rest)
	clause := func(w word) bool { return s.v.has(cueAuxiliary, w.text) } // "Ada, my bread is burnt, ...": it is told to Ada
	return len(who) > 1 && len(who) < 5 && s.v.has(cueDeterminer, who[0].text) && !slices.ContainsFunc(who, clause) &&
		!questionLike(s.v, rest) && !s.v.begins(cueImperative, rest) && !slices.ContainsFunc(f, func(w string) bool { return s.v.has(cueSecond, w) })
}

// spokenTo says whether words speak to somebody.
func (s *scan) spokenTo(line string) bool {
	f := strings.Fields(line)
	return slices.ContainsFunc(f[:min(len(f), 9)], func(w string) bool { return s.v.has(cueSecond, w) }) ||
		s.v.begins(cueQuestion, line) || s.v.begins(cueImperative, line)
}

// asked are those of a group whom the words are for although they do not speak to them.
func (s *scan) asked(group []match) []match {
	first, last := group[0], group[len(group)-1]
	left, right := s.lineBefore(first.i), s.lineAfter(last.j)
	after := s.text[last.end:]
	if _, theirs := genitive(after); theirs { // "ask Ben's mother"
		return nil
	}
	switch {
	case first.plain && !s.cased, strings.ContainsAny(s.gap(first.i), ",.!?:;"):
		return nil
	case s.v.ends(cueAskBefore, left) && left != " ":
		return group
	case s.v.ends(cueWantBefore, left) && (s.v.begins(cueAskAfter, right) || strings.HasPrefix(right, " to ")):
		return group
	case (s.start[first.i] || s.v.ends(cueThenName, left) || s.v.ends(cueAuxiliary, left) || s.v.ends(cueReportBefore, left)) && s.v.begins(cueAskAfter, right):
		return group
	case s.v.ends(cueAuxiliary, left) && s.v.begins(cueAround, right) && len(strings.Fields(right)) < 4 && strings.ContainsAny(after, "?") == s.cased:
		return group
	case s.v.ends(cueWhatDoes, left) && s.v.begins(cueThinkSay, right):
		return group
	case s.v.ends(cueYouAre, left) && right == " ":
		return group
	}
	return nil
}

// genitive says whether what follows a name makes it a possessor, and gives the rest.
func genitive(after string) (string, bool) {
	for _, p := range []string{"'s", "’s", "'S", "’S"} {
		if rest, ok := strings.CutPrefix(after, p); ok && !unicode.IsLetter(firstRune(rest)) {
			return rest, true
		}
	}
	return after, startsWith(after, []string{"' ", "’ ", "の"})
}

// textAfter is what follows a name, as phrase makes it.
func (s *scan) textAfter(m match) string { return s.lineAfter(m.j) }

// unlike is a group that is left out. What follows its last name without a sign may be for that one: "not you Ada, Cleo tell me".
func (s *scan) unlike(group []match) (called, excluded []match) {
	last := group[len(group)-1]
	if len(group) > 1 && strings.TrimSpace(s.text[group[len(group)-2].end:last.start]) == "" {
		right := s.lineAfter(last.j)
		if s.v.begins(cueStart, right) || s.v.begins(cueImperative, right) {
			return []match{last}, group[:len(group)-1]
		}
	}
	return nil, group
}

// lineBefore is the few words before word i, lineAfter those from word j on, each as phrase makes them. A sentence's end bounds both.
func (s *scan) lineBefore(i int) string {
	from := i - 1
	for from > max(0, i-5) && !s.sentenceEnds(from) {
		from--
	}
	return phrase(s.words[max(0, from):i])
}

func (s *scan) lineAfter(j int) string {
	to := j + 1
	for to < min(len(s.words), j+10) && !s.sentenceEnds(to) {
		to++
	}
	return phrase(s.words[min(j, len(s.words)):min(to, len(s.words))])
}

// sentenceEnds says whether a sentence ends before word i.
func (s *scan) sentenceEnds(i int) bool { return strings.ContainsAny(s.gap(i), ".!?؟\n") }
