package cascade

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is what one request for speech has to say, and how it ended in the text.
type piece struct {
	text string
	end  ending
}

// ending is what follows a piece, which makes the pause behind it.
type ending uint8

const (
	endNowhere  ending = iota // in the middle of a sentence
	endClause                 // a comma
	endSentence               // a full stop, or a line
)

// cutter cuts plain text into pieces while it is written: the first one early, so that speech begins, the later ones where a speaker
// breathes, so that it sounds like one. It is pure.
//
//	piece     at a sentence's end    at a comma    anywhere between words
//	first     from 2 on              from 12       from 60
//	second    from 15 on             from 40       from 160
//	third     from 20 on             from 70       from 220
//	later     from 20 on             from 110      from 260
//
// Lengths are letters; one of a script that has no spaces between words counts twice.
type cutter struct {
	text string // not cut off yet
	n    int    // pieces so far
}

var lengths = [...]struct{ sentence, clause, word int }{{2, 12, 60}, {15, 40, 160}, {20, 70, 220}, {20, 110, 260}}

// write takes more text and returns what is whole.
func (c *cutter) write(text string) (pieces []piece) {
	c.text += text
	for {
		at, end := c.find()
		if at == 0 {
			return pieces
		}
		pieces = c.take(pieces, at, end)
	}
}

// flush returns the rest.
func (c *cutter) flush() (pieces []piece) {
	c.text += "\n"
	pieces = c.write("")
	return c.take(pieces, len(c.text), endSentence)
}

func (c *cutter) take(pieces []piece, at int, end ending) []piece {
	text := speakable(c.text[:at], end)
	c.text = strings.TrimLeft(c.text[at:], " \n")
	if text == "" {
		return pieces
	}
	c.n++
	return append(pieces, piece{text, end})
}

// find says where the next piece ends; 0: it goes on.
func (c *cutter) find() (at int, end ending) {
	most := lengths[min(c.n, len(lengths)-1)]
	long, letters := 0, false
	word, clause := 0, 0 // where it could end, at worst
	for i, r := range c.text {
		next := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			next = i + 1
		}
		long++
		if unspaced(r) {
			long++
		}
		letters = letters || unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case r == '\n':
			if letters && long > most.sentence {
				return next, endSentence
			}
		case !letters:
		case terminal(r):
			switch stop, known := c.sentence(i, next); {
			case !known:
				return 0, 0
			case stop > 0 && long >= most.sentence:
				return stop, endSentence
			}
		case comma(r):
			rest := c.text[next:]
			if rest == "" {
				return 0, 0
			}
			if first, _ := utf8.DecodeRuneInString(rest); unspaced(r) || unicode.IsSpace(first) {
				if long >= most.clause {
					return next, endClause
				}
				clause = next
			}
		case r == ' ' || unspaced(r):
			if word = next; thai(c.text[:i]) && r == ' ' && long >= most.clause {
				return next, endClause
			}
		}
		if long >= most.word {
			if clause > 0 && clause*2 > i {
				return clause, endClause
			}
			if word > 0 {
				return word, endNowhere
			}
			if long >= 2*most.word { // a word that nobody wrote
				return next, endNowhere
			}
		}
	}
	return 0, 0
}

// sentence says where the sentence ends that the stop at i may end; 0: it does not; unknown: what follows has to come first.
func (c *cutter) sentence(i, next int) (stop int, known bool) {
	r, _ := utf8.DecodeRuneInString(c.text[i:])
	for next < len(c.text) { // "?!", "...", and what closes
		n, size := utf8.DecodeRuneInString(c.text[next:])
		if !terminal(n) && !closer(n) {
			break
		}
		next += size
	}
	if unspaced(r) && next < len(c.text) {
		return next, true
	}
	if next == len(c.text) {
		return 0, false
	}
	after, _ := utf8.DecodeRuneInString(c.text[next:])
	if !unicode.IsSpace(after) && !unspaced(r) {
		if unspaced(after) {
			return next, true
		}
		return 0, true
	}
	if after == '\n' || r != '.' {
		return next, true
	}
	rest := strings.TrimLeft(c.text[next:], " ")
	if rest == "" {
		if plainWord(c.text[:i]) {
			return next, true
		}
		return 0, false
	}
	then, _ := utf8.DecodeRuneInString(rest)
	if unicode.IsLower(then) || abbreviated(c.text[:i], then) {
		return 0, true
	}
	return next, true
}

// plainWord says that what stands before a stop is a word that no abbreviation ends.
func plainWord(before string) bool {
	w := lastWord(before)
	return utf8.RuneCountInString(w) >= 4 && !abbreviations[strings.ToLower(w)] && !unicode.IsDigit(rune(w[0]))
}

// abbreviated says that the stop behind before belongs to a word, a number or a name.
func abbreviated(before string, then rune) bool {
	w := lastWord(before)
	if w == "" {
		return false
	}
	if abbreviations[strings.ToLower(w)] {
		return true
	}
	first, size := utf8.DecodeRuneInString(w)
	switch {
	case size == len(w) && unicode.IsLetter(first): // J. S. Bach; but "so do I."
		return w != "I" || unicode.IsUpper(then) && strings.HasSuffix(strings.TrimRight(before, "I"), ". ")
	case strings.Contains(w, "."): // e.g, z.B, U.S; but example.org
		for part := range strings.SplitSeq(w, ".") {
			if n := utf8.RuneCountInString(part); n == 0 || n > 2 {
				return false
			}
		}
		return true
	case unicode.IsDigit(first) && len(w) <= 2 && !unicode.IsDigit(then): // 3. Mai, 24. Dezember
		return ordinals[lowerWord(then)]
	}
	return false
}

// ordinals: whether a number with a stop goes on depends on the word behind it, which has only begun; languages that write ordinals so
// write months and nouns large. A sentence that ends in a small number is rarer than a date.
var ordinals = map[rune]bool{'j': true, 'f': true, 'm': true, 'a': true, 's': true, 'o': true, 'n': true, 'd': true}

func lowerWord(r rune) rune { return unicode.ToLower(r) }

// lastWord is what stands before a stop, up to a space or bracket.
func lastWord(before string) string {
	i := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("([{\"'“„«", r) })
	if i < 0 {
		return before
	}
	_, size := utf8.DecodeRuneInString(before[i:])
	return before[i+size:]
}

// abbreviations end in a stop that ends no sentence, in English, German, French, Spanish, Italian and Dutch.
var abbreviations = set("mr mrs ms dr prof st sr jr vs etc no nos vol fig inc ltd co dept est approx min max e.g i.e a.m p.m " +
	"ca bzw usw nr str dipl ing hr fr evtl ggf inkl zzgl bspw vgl abs abb s z d u v o max tel " +
	"mme mlle mm av env p.ex cf c.-à-d " +
	"sra srta dra ud uds pág núm ej " +
	"sig dott ecc pag avv " +
	"dhr mevr bijv enz blz jan feb mar apr jun jul aug sep sept oct okt nov dec dez")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// terminal ends sentences: of Latin, Greek, Cyrillic; CJK; Devanagari and its neighbours; Arabic and Urdu; Armenian; Ethiopic; Khmer;
// Burmese; Tibetan.
func terminal(r rune) bool {
	return strings.ContainsRune(".!?…。！？｡।॥؟۔։።፧។៕။།", r)
}

// comma ends clauses.
func comma(r rune) bool { return strings.ContainsRune(",;:—–、，；：،؛፣", r) }

// closer follows a sentence's end and belongs to it.
func closer(r rune) bool { return strings.ContainsRune("\"')]}”’»›」』）】", r) }

// unspaced are letters and stops of scripts that have no spaces between words.
func unspaced(r rune) bool {
	return r >= 0x3000 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xffef ||
		r >= 0x20000 && r <= 0x3ffff || unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan) || r == '।' ||
		r == '॥' || r == '።'
}

// thai writes no stops: a space is a breath.
func thai(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.In(r, unicode.Thai, unicode.Lao)
}

// expansions are read aloud as words. Each is of one language alone, so that none needs to know which one is spoken.
var expansions = strings.NewReplacer(
	"e.g.", "for example", "E.g.", "For example", "i.e.", "that is", "I.e.", "That is", " approx. ", " approximately ", " vs. ", " versus ", "w/o ", "without ",
	"z. B.", "zum Beispiel", "z.B.", "zum Beispiel", "Z. B.", "Zum Beispiel", "d. h.", "das heißt", "d.h.", "das heißt", "u. a.", "unter anderem",
	" bzw. ", " beziehungsweise ", " ggf. ", " gegebenenfalls ", " usw.", " und so weiter.", " inkl. ", " inklusive ",
	"p. ex.", "par exemple", "p.ex.", "par exemple", "c.-à-d.", "c'est-à-dire", //nolint:misspell // it is French
	"p. ej.", "por ejemplo", "p.ej.", "por ejemplo", " bijv. ", " bijvoorbeeld ",
	" / ", ", ", "&", " & ", "≈", "~",
)

// speakable is a piece as a synthesizer reads it well: one line, single spaces, a stop where a line ended without one.
func speakable(text string, end ending) string {
	if strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
		return ""
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Join(strings.Fields(expansions.Replace(" "+line+" ")), " ")
		if line != "" {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		last, size := utf8.DecodeLastRuneInString(line)
		if i == len(lines)-1 && end != endSentence {
			continue
		}
		switch {
		case last == ':' || last == ',' || last == ';' && i == len(lines)-1:
			if i == len(lines)-1 {
				lines[i] = line[:len(line)-size] + "."
			}
		case terminal(last) || closer(last) || comma(last):
		case unspaced(last):
			lines[i] += "。"
		default:
			lines[i] += "."
		}
	}
	return strings.Join(lines, " ")
}
