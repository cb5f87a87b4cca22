package words

import "strings"

// sound is what a word of Latin letters is heard as, roughly: its consonants and the kinds of its vowels. Two spellings with one sound are
// taken for each other by people and by recognisers.
func sound(w string) string {
	var b strings.Builder
	for i := 0; i < len(w); i++ {
		c := w[i]
		if c < 'a' || c > 'z' {
			return ""
		}
		rest := w[i:]
		switch {
		case strings.HasPrefix(rest, "ph"):
			c = 'f'
			i++
		case strings.HasPrefix(rest, "ck"), strings.HasPrefix(rest, "ch") && i == 0:
			c = 'k'
			i++
		case i > 0 && (rest == "d" || rest == "t") && w[i-1] == 'n': // "Ben", "bend"
			continue
		case c == 'h' && i > 0:
			continue
		case c == 'c' && len(rest) > 1 && strings.IndexByte("eiy", rest[1]) >= 0:
			c = 's'
		case c == 'c' || c == 'q':
			c = 'k'
		case c == 'z':
			c = 's'
		case c == 'y':
			c = 'i'
		}
		if n := b.Len(); n > 0 && b.String()[n-1] == c {
			continue
		}
		b.WriteByte(c)
	}
	return vowelSounds.Replace(b.String())
}

var vowelSounds = strings.NewReplacer("io", "eo", "ia", "ea", "ai", "a", "ei", "e", "ou", "u", "oa", "o", "ie", "i")

// soundBound is how far a heard name may be from one, in vowels that are near to each other. On the lines that it was chosen on a bound of
// one brings no further name and takes words that are none.
const soundBound = 1

// soundDistance is how many vowels are near and not the same; false: the words do not sound alike.
func soundDistance(a, b string) (n int, ok bool) {
	if len(a) != len(b) || a == "" {
		return 0, false
	}
	for i := range len(a) {
		if a[i] == b[i] {
			continue
		}
		if i == 0 || !strings.Contains(nearVowels, string([]byte{a[i], b[i]})) {
			return 0, false
		}
		n++
	}
	return n, true
}

const nearVowels = "ei ie ae ea ou uo "

const soundLeast = 3 // letters

// soundHead is a bit for the letters that a word may begin with and sound the same: most words are told from all names by it.
func soundHead(c byte) uint32 {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		c = 'a'
	case 'c', 'k', 'q', 's', 'z':
		c = 'c'
	case 'p', 'f':
		c = 'f'
	}
	return 1 << (c & 31)
}

// sounds is a name that word i sounds like.
func (n *Names) sounds(s *scan, i int) (match, bool) {
	w := s.words[i]
	if w.cjk || len(w.text) < soundLeast || n.heads&soundHead(w.text[0]) == 0 || s.v.has(cueFunction, w.text) || s.v.has(cueKin, w.text) {
		return match{}, false
	}
	heard := sound(w.text)
	if heard == "" {
		return match{}, false
	}
	best, found, ok := soundBound+1, match{}, false
	for _, e := range n.bySound {
		d, near := soundDistance(e.sound, heard)
		if !near || d > soundBound || d >= best {
			if ok && near && d == best && e.who != found.who { // two of them: neither
				ok = false
			}
			continue
		}
		m := match{entry: e, i: i, j: i + 1, start: w.start, end: w.end, heard: true, sure: d == 0}
		if s.apart(&m) {
			best, found, ok = d, m, true
		}
	}
	return found, ok
}
