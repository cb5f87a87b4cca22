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
	name     string    // as it is said
	by       string    // who made it; empty: nobody knows
	key      string    // its file or folder
	from, to int       // its titles
	called   [][]int32 // the words of each name that it has
	folder   bool
}

// index finds works by their words. It is made once for a list of titles, and never changes.
type index struct {
	titles []skills.Title
	works  []work
	words  map[string]int32 // which of
	in     [][]int32        // … the works that have each
	known  []string         // all words, in order of length
}

func newIndex(titles []skills.Title) *index {
	x := &index{titles: slices.Clone(titles), words: map[string]int32{}}
	slices.SortStableFunc(x.titles, func(a, b skills.Title) int { return natural(a.File, b.File) })
	x.sortTracks()
	folders := map[string]int{}
	for i, t := range x.titles {
		x.works = append(x.works, work{key: t.File, from: i, to: i + 1})
		for dir := path.Dir(t.File); dir != "." && dir != "/"; dir = path.Dir(dir) {
			n, ok := folders[dir]
			if !ok {
				n = len(x.works)
				folders[dir] = n
				x.works = append(x.works, work{key: dir, from: i, to: i, folder: true})
			}
			x.works[n].to = i + 1
		}
	}
	for n := range x.works {
		x.call(int32(n))
	}
	x.tellApart()
	for w := range x.words {
		x.known = append(x.known, w)
	}
	slices.SortFunc(x.known, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return x
}

// sortTracks puts the files of a folder into the order of their numbers, where they are of one album and each has one of its own.
func (x *index) sortTracks() {
	for from := 0; from < len(x.titles); {
		dir, album := path.Dir(x.titles[from].File), x.titles[from].Tags.Album
		to := from
		seen := map[[2]int]bool{}
		for ; to < len(x.titles) && path.Dir(x.titles[to].File) == dir; to++ {
			if t := x.titles[to].Tags; t.Track > 0 && t.Album == album {
				seen[[2]int{t.Disc, t.Track}] = true
			}
		}
		if len(seen) == to-from && dir != "." {
			slices.SortFunc(x.titles[from:to], func(a, b skills.Title) int {
				return cmp.Or(cmp.Compare(a.Tags.Disc, b.Tags.Disc), cmp.Compare(a.Tags.Track, b.Tags.Track))
			})
		}
		from = to
	}
}

// call gives a work its names: what its tags say, if that can be said, and what its file or folder is called.
func (x *index) call(n int32) {
	w := &x.works[n]
	first := x.titles[w.from]
	name, tag := first.Name, first.Tags.Title
	w.by = first.Tags.Artist
	album := ""
	if w.folder {
		name, tag = strings.NewReplacer("_", " ", "/", ", ").Replace(w.key), first.Tags.Album
	} else {
		album = first.Tags.Album
	}
	for _, t := range x.titles[w.from:w.to] {
		if w.folder && t.Tags.Album != tag {
			tag = ""
		}
		if t.Tags.Artist != w.by {
			w.by = ""
		}
	}
	w.name = skills.Short(name)
	x.have(n, name, true)
	if x.have(n, tag, true) {
		w.name = skills.Short(tag)
	}
	x.have(n, w.by, false)
	x.have(n, album, false)
}

// have has a work be found by the words of a text, which may be a name of it; false: there are none.
func (x *index) have(n int32, text string, name bool) bool {
	var ids []int32
	for _, word := range slices.Compact(slices.Sorted(slices.Values(wordsOf(text)))) {
		id, ok := x.words[word]
		if !ok {
			id = int32(len(x.in))
			x.words[word], x.in = id, append(x.in, nil)
		}
		if in := x.in[id]; len(in) == 0 || in[len(in)-1] < n {
			x.in[id] = append(in, n)
		} else if at, there := slices.BinarySearch(in, n); !there { // when works are told apart
			x.in[id] = slices.Insert(in, at, n)
		}
		ids = append(ids, id)
	}
	if name && len(ids) > 0 {
		x.works[n].called = append(x.works[n].called, ids)
	}
	return len(ids) > 0
}

// differences are how works that are called alike are told from one another: by who made them, by where they are, by what they are, by the
// names of their files, and else they are numbered.
var differences = []struct {
	word string
	of   func(w work, n int) string
}{
	{" by ", func(w work, _ int) string { return w.by }},
	{" in ", func(w work, _ int) string { return strings.ReplaceAll(path.Base(path.Dir(w.key)), "_", " ") }},
	{" as ", func(w work, _ int) string { return strings.ToUpper(strings.TrimPrefix(path.Ext(w.key), ".")) }},
	{", ", func(w work, _ int) string { return strings.ReplaceAll(path.Base(w.key), "_", " ") }},
	{", number ", func(_ work, n int) string { return strconv.Itoa(n + 1) }},
}

// tellApart has no two works be called alike.
func (x *index) tellApart() {
	alike := map[string][]int32{}
	for n, w := range x.works {
		if name := letters(w.name); name != "" {
			alike[name] = append(alike[name], int32(n))
		}
	}
	for _, same := range alike {
		for _, d := range differences {
			apart := map[string]bool{}
			for i, n := range same {
				apart[letters(skills.Short(d.of(x.works[n], i)))] = true
			}
			if len(same) < 2 || len(apart) < len(same) {
				continue
			}
			for i, n := range same {
				if of := skills.Short(d.of(x.works[n], i)); letters(of) != "" {
					x.works[n].name += d.word + of
					x.have(n, of, false)
				}
			}
			break
		}
	}
}

// letters are those of a name, and its digits: two names that have the same sound the same.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// find are the works that what was said fits best: with most of its words, the rare ones before the frequent ones, and of those that
// have as many, the ones that are called nothing else besides.
func (x *index) find(said string) []work {
	score, heard := map[int32]float64{}, map[int32]bool{}
	for _, word := range slices.Compact(slices.Sorted(slices.Values(wordsOf(said)))) {
		id, ok := x.words[word]
		ids, sure := []int32{id}, 1.0
		if !ok {
			ids, sure = x.nearly(word), 0.6
		}
		have := 0
		for _, id := range ids {
			have, heard[id] = have+len(x.in[id]), true
		}
		weight := sure * (0.05 + math.Log(1+float64(len(x.works))/float64(have+1)))
		for _, id := range ids {
			for _, p := range x.in[id] {
				score[p] += weight
			}
		}
	}
	best := 0.0
	for _, s := range score {
		best = max(best, s)
	}
	var all []int32
	most := 0.0
	for n, s := range score {
		if s < best*0.999 {
			continue
		}
		switch s := x.works[n].share(heard); {
		case s > most:
			all, most = append(all[:0], n), s
		case s == most:
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

// share is how much of a name of it was heard.
func (w work) share(heard map[int32]bool) (most float64) {
	for _, ids := range w.called {
		n := 0
		for _, id := range ids {
			if heard[id] {
				n++
			}
		}
		most = max(most, float64(n)/float64(len(ids)))
	}
	return most
}

// distinct leaves out a file that is all of a folder that was found as well, or the other way round.
func (x *index) distinct(works []work) []work {
	return slices.DeleteFunc(works, func(w work) bool {
		return slices.ContainsFunc(works, func(o work) bool {
			return o.key != w.key && (o.from < w.from && w.to <= o.to || o.from <= w.from && w.to < o.to || o.from == w.from && o.to == w.to && !w.folder)
		})
	})
}

// nearly are the words of which one letter is another, too many or missing.
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
			all = append(all, x.words[w])
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
		if w.from >= end && len(w.called) > 0 && x.plays(w) { // else there is nothing to call it by
			all, end = append(all, w.name), w.to
		}
	}
	return all
}

// plays says whether anything of a work can be played, as far as is known.
func (x *index) plays(w work) bool {
	return slices.ContainsFunc(x.titles[w.from:w.to], func(t skills.Title) bool { return !t.Unfit })
}

// tops are the works, the larger one first where one is in another.
func (x *index) tops() []work {
	works := slices.Clone(x.works)
	slices.SortStableFunc(works, func(a, b work) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return works
}

// mark is where a chapter of a work begins.
type mark struct {
	file, at int
	name     string // empty: it has none of its own
}

// marks are the chapters of a work: its files, and what these say of chapters within them.
func (x *index) marks(w *work) (all []mark) {
	for i, t := range x.titles[w.from:w.to] {
		if len(t.Tags.Marks) == 0 {
			name := t.Tags.Title
			if !w.folder || skills.Short(name) == w.name {
				name = ""
			}
			all = append(all, mark{i, 0, name})
		}
		for n, m := range t.Tags.Marks {
			at := m.At
			if n == 0 {
				at = 0 // what comes before is the first one's
			}
			all = append(all, mark{i, at, m.Name})
		}
	}
	return all
}

// chapterAt is which of the chapters that place is in.
func chapterAt(marks []mark, file, at int) (n int) {
	for i, m := range marks {
		if m.file < file || m.file == file && m.at <= at {
			n = i
		}
	}
	return n
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
