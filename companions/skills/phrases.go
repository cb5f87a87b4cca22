package skills

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Phrases are what a skill has the device say by itself, where no model puts it into words: sentences by their name, in each language
// by its code. What is in braces is filled in.
type Phrases map[string]map[string]string

// In is a sentence in a language, in English where that has none, with its gaps filled: name, text, name, text, …
func (p Phrases) In(language, name string, gaps ...string) string {
	text, there := p[name][language]
	if !there {
		text = p[name]["en"]
	}
	pairs := slices.Clone(gaps)
	for i := 0; i+1 < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

var gap = regexp.MustCompile(`\{[a-z]+\}`)

// Lack is what is not there: a language in which a sentence is missing, or says less or more than in English. For tests.
func (p Phrases) Lack(languages ...string) (all []string) {
	gaps := func(text string) []string { return slices.Sorted(slices.Values(gap.FindAllString(text, -1))) }
	for name, in := range p {
		for _, l := range append([]string{"en"}, languages...) {
			if in[l] == "" || !slices.Equal(gaps(in[l]), gaps(in["en"])) {
				all = append(all, fmt.Sprintf("%s in %s: %q", name, l, in[l]))
			}
		}
	}
	slices.Sort(all)
	return all
}
