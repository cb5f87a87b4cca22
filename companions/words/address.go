package words

import (
	"slices"
	"strings"
	"unicode"
)

// Reading is what a text says about whom it is for.
type Reading struct {
	Called    []string // in the order named
	Excluded  []string // "not you, Ada", "everybody but Ada"
	Mentioned []string // named in any way
}

// Read finds the names in a text and how they are used (ROOM.md 4.2). A name is a vocative where the sentence begins or ends with it
// and a comma, colon or the end of the sentence sets it apart; after "@", a greeting or words that give the turn ("over to"); before
// words that only fit somebody spoken to ("can you"). It is none inside a quotation, code, an e-mail or another address, in the
// genitive, or where the sentence is about the person.
func (n *Names) Read(text string) (r Reading) {
	text = clip(text)
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
		r.Mentioned, r.Called, r.Excluded = add(r.Mentioned, group), add(r.Called, called), add(r.Excluded, excluded)
	}
	return r
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
	between := strings.ToLower(withoutHonorific(s.text[a.end:b.start]))
	between = strings.TrimSuffix(strings.TrimSpace(between), "@")
	return slices.Contains(joiners, strings.Trim(between, " ,、，/&+"))
}

func withoutHonorific(after string) string {
	for _, h := range honorifics {
		after = strings.TrimPrefix(after, h)
	}
	return after
}

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
	after := withoutHonorific(s.text[last.end:])
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
	over := strings.TrimSpace(after) == "" || strings.ContainsAny(gap, "?!.？！。…\n")
	set := over || strings.ContainsAny(gap, ",:;，、：；—–") || strings.Contains(gap, " -")
	if first.start > 0 && s.text[first.start-1] == '@' && first.i == last.i {
		return true
	}
	if startsWith(after, spacelessCues) {
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
	parted := slices.ContainsFunc(partings, func(p string) bool { return strings.HasSuffix(before, p) })
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
	return slices.ContainsFunc(f[:min(len(f), 9)], func(w string) bool { return yours[w] }) || begins(line, questionWords) || begins(line, imperatives)
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
func (s *scan) sentenceEnds(i int) bool { return strings.ContainsAny(s.gap(i), ".!?\n") }
