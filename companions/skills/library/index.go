package library

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"conch/companions/skills"
)

// work is what somebody asks for: a file, or a folder, whose files are its chapters.
type work struct {
	name     string // as somebody would say it
	key      string // its file or folder
	from, to int    // its titles
	words    int    // of its name
	folder   bool
}

// index finds works by their words. It is made once for a list of titles, and never changes.
type index struct {
	titles []skills.Title
	works  []work
	words  map[string][]int32 // where they are
	known  []string           // all words, in order of length
}

func newIndex(titles []skills.Title) *index {
	x := &index{titles: slices.Clone(titles), words: map[string][]int32{}}
	slices.SortStableFunc(x.titles, func(a, b skills.Title) int { return natural(a.File, b.File) })
	folders := map[string]int{}
	for i, t := range x.titles {
		x.add(work{name: t.Name, key: t.File, from: i, to: i + 1})
		for dir := path.Dir(t.File); dir != "." && dir != "/"; dir = path.Dir(dir) {
			n, ok := folders[dir]
			if !ok {
				n = len(x.works)
				folders[dir] = n
				name := strings.NewReplacer("_", " ", "/", ", ").Replace(dir)
				x.add(work{name: name, key: dir, from: i, to: i, folder: true})
			}
			x.works[n].to = i + 1
		}
	}
	for w := range x.words {
		x.known = append(x.known, w)
	}
	slices.SortFunc(x.known, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return x
}

func (x *index) add(w work) {
	n := int32(len(x.works))
	for _, word := range slices.Compact(slices.Sorted(slices.Values(wordsOf(w.name)))) {
		x.words[word] = append(x.words[word], n)
		w.words++
	}
	x.works = append(x.works, w)
}

// find are the works that what was said fits best: with most of its words, the rare ones before the frequent ones, and of those that
// have as many, the ones that are called nothing else besides.
func (x *index) find(said string) []work {
	type match struct {
		score float64
		named int
	}
	found := map[int32]match{}
	for _, word := range slices.Compact(slices.Sorted(slices.Values(wordsOf(said)))) {
		postings, sure := x.words[word], 1.0
		if postings == nil {
			postings, sure = x.nearly(word), 0.6
		}
		weight := sure * (0.05 + math.Log(1+float64(len(x.works))/float64(len(postings)+1)))
		for _, p := range postings {
			m := found[p]
			m.score, m.named = m.score+weight, m.named+1
			found[p] = m
		}
	}
	best := 0.0
	for _, m := range found {
		best = max(best, m.score)
	}
	var all []int32
	share := 0.0
	for n, m := range found {
		if m.score < best*0.999 {
			continue
		}
		switch s := float64(m.named) / float64(max(1, x.works[n].words)); {
		case s > share:
			all, share = append(all[:0], n), s
		case s == share:
			all = append(all, n)
		}
	}
	slices.Sort(all)
	works := make([]work, 0, len(all))
	for _, n := range all {
		works = append(works, x.works[n])
	}
	return x.distinct(works)
}

// distinct leaves out a file that is all of a folder that was found as well, or the other way round.
func (x *index) distinct(works []work) []work {
	return slices.DeleteFunc(works, func(w work) bool {
		return slices.ContainsFunc(works, func(o work) bool {
			return o.key != w.key && (o.from < w.from && w.to <= o.to || o.from <= w.from && w.to < o.to || o.from == w.from && o.to == w.to && !w.folder)
		})
	})
}

// nearly are the places of words of which one letter is another, too many or missing.
func (x *index) nearly(word string) (all []int32) {
	if len(word) < 4 {
		return nil
	}
	from, _ := slices.BinarySearchFunc(x.known, len(word)-1, func(w string, n int) int { return cmp.Compare(len(w), n) })
	for _, w := range x.known[from:] {
		if len(w) > len(word)+1 {
			break
		}
		if oneOff(w, word) {
			all = append(all, x.words[w]...)
		}
	}
	return all
}

// oneOff says whether two words differ by one letter.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i < len(a) && a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}

// work is the one of a key; nil: it is not there any more.
func (x *index) work(key string) *work {
	for i := range x.works {
		if x.works[i].key == key {
			return &x.works[i]
		}
	}
	return nil
}

// at is which of a work's files that is; -1: none.
func (x *index) at(w *work, file string) int {
	return slices.IndexFunc(x.titles[w.from:w.to], func(t skills.Title) bool { return t.File == file })
}

// names are what there is, without the files of a folder.
func (x *index) names() (all []string) {
	end := 0
	for _, w := range x.tops() {
		if w.from >= end {
			all, end = append(all, w.name), w.to
		}
	}
	return all
}

// tops are the works, the larger one first where one is in another.
func (x *index) tops() []work {
	works := slices.Clone(x.works)
	slices.SortStableFunc(works, func(a, b work) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return works
}

// unmarked are letters that are no letter with a mark to Unicode, but to people.
var unmarked = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "þ", "th", "ð", "d", "ı", "i")

// wordsOf are those of a text, in lower case, without marks, and with numbers in digits.
func wordsOf(text string) (all []string) {
	text = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(text), "'", ""), "’", "")
	text = unmarked.Replace(norm.NFKD.String(text))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		n, ok := number(w)
		if last := len(all) - 1; ok && n < 10 && last >= 0 && tens[all[last]] && !digits(w) {
			sum, _ := strconv.Atoi(all[last]) // twenty one
			all[last] = strconv.Itoa(sum + n)
			continue
		}
		if ok {
			w = strconv.Itoa(n)
		}
		all = append(all, w)
	}
	return all
}

var tens = map[string]bool{"20": true, "30": true, "40": true, "50": true, "60": true, "70": true, "80": true, "90": true}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
	"seventeen eighteen nineteen twenty")

var largeNumbers = strings.Fields("thirty forty fifty sixty seventy eighty ninety")

func digits(w string) bool { return strings.Trim(w, "0123456789") == "" }

// number is what a word counts.
func number(w string) (int, bool) {
	if digits(w) && len(w) < 6 {
		n, err := strconv.Atoi(w)
		return n, err == nil
	}
	if n := slices.Index(numbers, w); n >= 0 {
		return n, true
	}
	if n := slices.Index(largeNumbers, w); n >= 0 {
		return 30 + 10*n, true
	}
	return 0, false
}

// natural compares names as people number them: 2 before 10. What is in a folder stays together.
func natural(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		if c := naturalPart(strings.ToLower(as[i]), strings.ToLower(bs[i])); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(a, b))
}

func naturalPart(a, b string) int {
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		if x != "" && y != "" {
			m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leading(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))] }
