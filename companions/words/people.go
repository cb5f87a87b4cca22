package words

import (
	"slices"
	"strings"
	"unicode"
)

// people are the names by which somebody is called who is no companion and not known here: "Max, can you set the table?", "thank you, Max",
// "Mum?". matches are the names that are known.
func (s *scan) people(matches []match) (names []string) {
	for i, w := range s.words {
		if w.cjk && i > 0 || slices.ContainsFunc(matches, func(m match) bool { return m.i <= i && i < m.j }) {
			continue
		}
		if s.callsPerson(i) {
			names = append(names, s.text[w.start:w.end])
		}
	}
	return names
}

func (s *scan) callsPerson(i int) bool {
	w, gap, before := s.words[i], s.gap(i+1), strings.TrimSpace(s.gap(i))
	kin := s.v.has(cueKin, w.text)
	name := kin || s.likeName(i)
	if !name || i > 0 && s.v.has(cueFunction, s.words[i-1].text) && before == "" && !s.greet[i] && !s.start[i] {
		return false
	}
	over := i == len(s.words)-1 || strings.ContainsAny(gap, ".!?؟。！？\n")
	set := strings.ContainsAny(gap, ",:،、，")
	right := s.lineAfter(i + 1)
	switch {
	case s.start[i] && set && (s.cased || kin):
		return s.spokenTo(right) || s.greet[i] || kin || strings.HasSuffix(strings.TrimSpace(s.text), "!")
	case s.start[i] && over && (kin || i == 0 && s.cased && strings.ContainsAny(gap, "?!")), s.greet[i] && over && (s.cased || kin):
		return true
	case s.start[i] && strings.TrimSpace(gap) == "": // as a recogniser writes
		return s.v.begins(cueYouDo, right)
	case over && (before == "," || before == "،"):
		return s.cased && (kin || i > 1)
	}
	return false
}

// likeName says whether a word may be a name: in a text with capital letters it has one, and it is no word that rules know.
func (s *scan) likeName(i int) bool {
	w := s.words[i]
	script := scriptOf(firstRune(w.text))
	if s.cased && !unicode.IsUpper(firstRune(s.text[w.start:])) || len(w.text) < 2 || script != "latin" && script != "cyrillic" {
		return false
	}
	for _, c := range []cue{
		cueFunction, cueOpener, cueGreeting, cueGreetingMore, cueQuestion, cueImperative, cueGoesOn, cueContinue, cueApproval, cueCommon, cueNoName,
		cueEveryone, cueOneOf, cueOthers, cueBare, cueSecond, cueReference, cueHush, cueHello, cueClarify, cueConfused, cueExcited, cueFrustrated,
	} {
		if s.v.has(c, w.text) {
			return false
		}
	}
	return !s.v.every().has(cueNoName, w.text) && strings.IndexFunc(w.text, unicode.IsDigit) < 0
}
