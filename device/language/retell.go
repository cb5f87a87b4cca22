package language

import (
	"cmp"
	"regexp"
	"slices"
	"sync"
)

// piece is a sentence of English that can be found in a longer text.
type piece struct {
	key  string
	find *regexp.Regexp // what stands before it, its arguments, what stands behind it
}

var pieces sync.Map // section to func() []piece

// Retell translates an English text piece by piece. A piece is a sentence of the section, from the beginning or a mark (; : , parenthesis)
// to the next mark. The rest, such as a name, stays as it is.
func (l Language) Retell(section, text string) string {
	if l.Code() == string(English) {
		return text
	}
	read, _ := pieces.LoadOrStore(section, sync.OnceValue(func() []piece { return piecesOf(section) }))
	for _, p := range read.(func() []piece)() {
		for from := 0; from < len(text); {
			at := p.find.FindStringSubmatchIndex(text[from:])
			if at == nil {
				break
			}
			var args []any
			for i, name := range p.find.SubexpNames() {
				if name != "" && name != "behind" && name != "before" {
					args = append(args, name, text[from+at[2*i]:from+at[2*i+1]])
				}
			}
			behind := 2 * p.find.SubexpIndex("behind")
			head := text[:from+at[3]] + l.Phrase(section+"."+p.key, args...)
			text, from = head+text[from+at[behind]:], len(head)
		}
	}
	return text
}

// piecesOf are the sentences of a section, the longest first, so that no part of one is taken for another.
func piecesOf(section string) (all []piece) {
	keys := Keys(section)
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Compare(len(English.Phrase(section+"."+b)), len(English.Phrase(section+"."+a)))
	})
	for _, key := range keys {
		text := regexp.QuoteMeta(English.Phrase(section + "." + key))
		text = hole.ReplaceAllString(text, `(?P<$1>[^;,()]+?)`)
		all = append(all, piece{key, regexp.MustCompile(`(?P<before>^|[;:,] |\()` + text + `(?P<behind>[;:,) ]|$)`)})
	}
	return all
}

// hole is an argument in a quoted text.
var hole = regexp.MustCompile(`\\\{([a-z]+)\\\}`)
