package companions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/pattern"
	"conch/device/spelling"
)

// Bounds of cards. Names are short since people say them. A character takes up to four bytes, and on the wire a name or a
// phrase has 128 bytes, an id 64 (mqtt/check.go): the room may still add to an id.
const (
	maxCardFile   = 64 << 10 // bytes
	maxCards      = 32       // files of a directory
	maxID         = 32       // characters, as of all texts below
	maxIDBytes    = 48
	maxCardName   = 32
	maxAliases    = 8
	maxRole       = 100
	maxPersona    = 4000
	maxLines      = 12
	maxCardLine   = 300
	maxExpertise  = 48
	maxSynonyms   = 48 // in all
	maxSkills     = 24
	maxPhrase     = 32
	maxVoice      = 64
	maxModel      = 128
	maxCardTools  = 64
	talkativeness = 2 // -2..+2 (ROOM.md 5)
)

// CardError is one thing that is wrong with a card.
type CardError struct {
	File  string
	Line  int    // 0: unknown
	Field string // empty: the whole file
	Value string // as written, short; empty: there is none
	Want  string // what is allowed, or what is wrong
}

func (e *CardError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	if e.Value != "" {
		b.WriteString(" = " + e.Value)
	}
	return b.String() + ": " + e.Want
}

// cardKeys are the keys of a card.
var cardKeys = []string{
	"id", "name", "aliases", "role", "persona", "lines", "language", "expertise", "skills", "talkativeness", "traits", "involvement",
	"voice", "model", "tools", "synonyms",
}

var (
	languageCode    = pattern.New(`^[a-z]{2}$`)
	cardTraits      = []string{"explainer", "ideas"} // ROOM.md 5: each moves a term of the score
	involvementList = []round.Involvement{round.InvolvementOff, round.InvolvementLow, round.InvolvementMedium, round.InvolvementHigh}
)

// cardParser checks a decoded card field by field.
type cardParser struct {
	path  string
	tree  map[string]any
	lines map[string]int
	card  Card
	errs  []*CardError
}

func (p *cardParser) wrong(field, value, format string, args ...any) {
	p.errs = append(p.errs, &CardError{p.path, p.lines[field], field, value, fmt.Sprintf(format, args...)})
}

func (p *cardParser) read() {
	for _, key := range slices.Sorted(maps.Keys(p.tree)) {
		if slices.Contains(cardKeys, key) {
			continue
		}
		hint := "a card has " + strings.Join(cardKeys, ", ")
		if near := nearestWord(key, cardKeys); near != "" {
			hint = "did you mean " + near + "?"
		}
		p.wrong(short(visible(key)), "", "unknown key (%s)", hint)
		p.errs[len(p.errs)-1].Line = p.lines[key]
	}
	c := &p.card
	c.Name = p.name("name", p.tree["name"])
	if _, ok := p.tree["name"]; !ok {
		p.wrong("name", "", "must be there: the name people call it by")
	}
	p.id()
	for i, v := range p.list("aliases", maxAliases) {
		if alias := p.name(fmt.Sprintf("aliases[%d]", i), v); alias != "" && !slices.Contains(c.Aliases, alias) {
			c.Aliases = append(c.Aliases, alias)
		}
	}
	c.Role = p.text("role", p.tree["role"], maxRole, false)
	c.Persona = p.text("persona", p.tree["persona"], maxPersona, true)
	c.Lines = p.texts("lines", maxLines, maxCardLine)
	c.Expertise = p.texts("expertise", maxExpertise, maxPhrase)
	c.Skills = p.texts("skills", maxSkills, maxPhrase)
	p.meanings()
	c.Voice = p.word("voice", p.tree["voice"], maxVoice)
	c.Model = p.word("model", p.tree["model"], maxModel)
	for i, v := range p.list("tools", maxCardTools) {
		field := fmt.Sprintf("tools[%d]", i)
		s, ok := v.(string)
		if !ok || !toolName().MatchString(s) {
			p.at("tools", field, v, "must be the name of a tool: 1 to 64 letters, digits, _ and -")
			continue
		}
		c.Tools = append(c.Tools, s)
	}
	p.manners()
}

// meanings are how its expertise is to be understood.
func (p *cardParser) meanings() {
	c := &p.card
	if v, ok := p.tree["language"]; ok {
		s, _ := v.(string)
		if !languageCode().MatchString(s) {
			p.wrong("language", show(v), "must be two small letters (ISO 639-1), as \"en\": the language of its expertise")
		}
		c.Language = s
	}
	v, ok := p.tree["synonyms"]
	if !ok {
		return
	}
	table, ok := v.(map[string]any)
	if !ok {
		p.wrong("synonyms", show(v), "must be a table: a word of its expertise, and a list of others that mean it")
		return
	}
	n := 0
	c.Synonyms = make(map[string][]string, len(table))
	for _, of := range slices.Sorted(maps.Keys(table)) {
		field := "synonyms." + short(visible(of))
		if !slices.Contains(c.Expertise, of) {
			p.at("synonyms", field, table[of], "must be for a word that is in its expertise as well")
			continue
		}
		list, ok := table[of].([]any)
		if n += len(list); !ok || n > maxSynonyms {
			p.at("synonyms", field, table[of], "must be a list of texts, %d in all at most", maxSynonyms)
			return
		}
		for i, w := range list {
			s, ok := w.(string)
			if s = strings.TrimSpace(s); !ok || s == "" || utf8.RuneCountInString(s) > maxPhrase || !oneVisibleLine(s) {
				p.at("synonyms", fmt.Sprintf("%s[%d]", field, i), w, "must be one line of text, 1 to %d characters", maxPhrase)
				continue
			}
			c.Synonyms[of] = append(c.Synonyms[of], s)
		}
	}
}

// manners are what moves the score.
func (p *cardParser) manners() {
	c := &p.card
	if v, ok := p.tree["talkativeness"]; ok {
		n, whole := v.(int64)
		if !whole || n < -talkativeness || n > talkativeness {
			p.wrong("talkativeness", show(v), "must be a whole number, -%d to +%d", talkativeness, talkativeness)
		}
		c.Talkativeness = int(n)
	}
	for i, v := range p.list("traits", len(cardTraits)) {
		s, ok := v.(string)
		if !ok || !slices.Contains(cardTraits, s) {
			p.at("traits", fmt.Sprintf("traits[%d]", i), v, "must be %s", strings.Join(cardTraits, " or "))
			continue
		}
		c.Traits = append(c.Traits, s)
	}
	if v, ok := p.tree["involvement"]; ok {
		s, _ := v.(string)
		if !slices.Contains(involvementList, round.Involvement(s)) {
			p.wrong("involvement", show(v), "must be off, low, medium or high")
		}
		c.Involvement = round.Involvement(s)
	}
}

// id takes the id of the file, or makes one of the name: lower case; letters, marks and digits of any script stay,
// whatever else lies between them becomes one hyphen; at most 32 characters and 48 bytes. "Großtante José" is "großtante-josé".
func (p *cardParser) id() {
	v, ok := p.tree["id"]
	if !ok {
		p.card.ID = DeriveID(p.card.Name)
		if p.card.ID == "" && p.card.Name != "" {
			p.wrong("name", show(p.card.Name), "has no letter or digit that an id could be made of; give the card an id")
		}
		return
	}
	s, _ := v.(string)
	if s == "" || s != string(DeriveID(s)) {
		p.wrong("id", show(v), "must be 1 to %d lower-case letters and digits, with single hyphens between them", maxID)
	}
	p.card.ID = round.CompanionID(s)
}

// DeriveID makes an id of a name; empty when nothing is left of it.
func DeriveID(name string) round.CompanionID {
	var b strings.Builder
	n, gap := 0, false
	for _, c := range strings.ToLower(name) {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.Is(unicode.M, c) || unicode.IsUpper(c) {
			gap = n > 0
			continue
		}
		if gap && n+1 < maxID {
			b.WriteByte('-')
			n++
		}
		if gap = false; n == maxID || b.Len()+utf8.RuneLen(c) > maxIDBytes {
			break
		}
		b.WriteRune(c)
		n++
	}
	return round.CompanionID(strings.Trim(b.String(), "-"))
}

// at reports a mistake in an entry of a list, on the line of the list.
func (p *cardParser) at(key, field string, v any, format string, args ...any) {
	p.errs = append(p.errs, &CardError{p.path, p.lines[key], field, show(v), fmt.Sprintf(format, args...)})
}

func (p *cardParser) list(key string, most int) []any {
	v, ok := p.tree[key]
	if !ok {
		return nil
	}
	l, ok := v.([]any)
	if !ok || len(l) > most {
		value := show(v)
		if ok {
			value = fmt.Sprintf("a list of %d", len(l))
		}
		p.wrong(key, value, "must be a list of at most %d texts", most)
		return nil
	}
	return l
}

func (p *cardParser) texts(key string, most, long int) (out []string) {
	for i, v := range p.list(key, most) {
		s, ok := v.(string)
		if s = strings.TrimSpace(s); !ok || s == "" || utf8.RuneCountInString(s) > long || !oneVisibleLine(s) {
			p.at(key, fmt.Sprintf("%s[%d]", key, i), v, "must be one line of text, 1 to %d characters", long)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (p *cardParser) text(key string, v any, long int, lines bool) string {
	if v == nil {
		return ""
	}
	s, ok := v.(string)
	s = strings.TrimSpace(s)
	what := "one line of text"
	if lines {
		what = "text"
	}
	if !ok || utf8.RuneCountInString(s) > long || !lines && !oneVisibleLine(s) || strings.ContainsFunc(s, hidden) {
		p.wrong(key, show(v), "must be %s of at most %d characters", what, long)
	}
	return s
}

// word is a name that providers give: it goes into requests and must not carry anything else along.
func (p *cardParser) word(key string, v any, long int) string {
	if v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok || len(s) > long || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
		p.wrong(key, show(v), "must be a name of at most %d visible ASCII characters without spaces", long)
	}
	return s
}

// name is what people call somebody: it must contain a letter or a digit of some script, and nothing by which a text could
// be mistaken for something else (brackets mark who said a line; a colon marks people's ids).
func (p *cardParser) name(field string, v any) string {
	if v == nil {
		return ""
	}
	key, _, _ := strings.Cut(field, "[")
	s, ok := v.(string)
	s = strings.Join(strings.Fields(s), " ")
	if !ok || DeriveID(s) == "" || utf8.RuneCountInString(s) > maxCardName || !oneVisibleLine(s) || strings.ContainsAny(s, `[]<>{}@:,;"/\|`) {
		p.at(key, field, v, "must be a name of 1 to %d characters with a letter or digit in it, without punctuation but hyphen, dot and apostrophe",
			maxCardName)
		return ""
	}
	if strings.EqualFold(s, Person) || strings.EqualFold(s, "human") || strings.EqualFold(s, "room") {
		p.at(key, field, v, "means people or the room itself; take another name")
		return ""
	}
	return s
}

// show is a value as it would stand in the file, short.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	}
	return short(fmt.Sprint(v))
}

// nearestWord is the known word that a slip of the finger makes of word, or nothing.
func nearestWord(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}
