package companions

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/spelling"
)

//go:embed cards/*.toml
var builtIn embed.FS

// DefaultCards are the three to start from: Ada, Ben and Cleo. File is empty.
func DefaultCards() []Card {
	var cards []Card
	files, _ := fs.Glob(builtIn, "cards/*.toml")
	for _, name := range files {
		data, _ := builtIn.ReadFile(name)
		c, err := ParseCard(name, data)
		if err != nil {
			panic(err) //nolint:forbidigo // they are part of the program; TestDefaultCardsLoad reads them
		}
		c.File = ""
		cards = append(cards, c)
	}
	return cards
}

// LoadCards reads every .toml file of a directory in the order of names. A card with a mistake is refused with one
// error for each mistake, and the others load. So is one whose id, name or alias an earlier one has: people could not say
// which of them they mean.
func LoadCards(dir string) ([]Card, []error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []error{&CardError{File: dir, Want: reason(err)}}
	}
	var (
		cards []Card
		errs  []error
		taken = make(map[string]Card) // id, name or alias, lower case
		files int
	)
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".toml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if files++; files > maxCards {
			errs = append(errs, &CardError{File: path, Want: fmt.Sprintf("not read: a directory holds at most %d cards", maxCards)})
			break
		}
		data, err := readCard(path)
		if err != nil {
			errs = append(errs, &CardError{File: path, Want: reason(err)})
			continue
		}
		c, err := ParseCard(path, data)
		if err == nil {
			err = clash(c, data, taken)
		}
		if err != nil {
			errs = append(errs, split(err)...)
			continue
		}
		for _, name := range calledBy(c) {
			taken[name] = c
		}
		cards = append(cards, c)
	}
	return cards, errs
}

func split(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// reason leaves the path out of a file system's error: the caller names it.
func reason(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// readCard reads a regular file of bounded size, and waits for no writer of a FIFO.
func readCard(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCardFile+1))
	if err == nil && len(data) > maxCardFile {
		err = fmt.Errorf("has more than the %d bytes allowed", maxCardFile)
	}
	return data, err
}

// calledBy are all the words that mean a companion, in lower case.
func calledBy(c Card) []string {
	out := []string{strings.ToLower(string(c.ID)), strings.ToLower(c.Name)}
	for _, a := range c.Aliases {
		out = append(out, strings.ToLower(a))
	}
	return out
}

func clash(c Card, data []byte, taken map[string]Card) error {
	lines := cardLines(string(data))
	for i, name := range calledBy(c) {
		other, ok := taken[name]
		if !ok {
			continue
		}
		e := &CardError{File: c.File, Want: fmt.Sprintf("%s (%s) is called so already; give this one another", other.Name, other.File)}
		switch {
		case i == 0:
			e.Field, e.Value = "id", quote(string(c.ID))
		case i == 1:
			e.Field, e.Value = "name", quote(c.Name)
		default:
			e.Field, e.Value = "aliases", quote(c.Aliases[i-2])
		}
		if e.Line = lines[e.Field]; e.Line == 0 {
			e.Line = lines["name"] // the id was made of it
		}
		return e
	}
	return nil
}

// ParseCard reads the text of the card file at path. The error joins a CardError for each mistake.
func ParseCard(path string, data []byte) (Card, error) {
	p := cardParser{card: Card{File: path}, path: path}
	p.card.Involvement = round.InvolvementMedium
	if len(data) > maxCardFile {
		return Card{}, &CardError{File: path, Want: fmt.Sprintf("has more than the %d bytes allowed", maxCardFile)}
	}
	if !utf8.Valid(data) {
		return Card{}, &CardError{File: path, Line: invalidLine(data), Want: "must be UTF-8 text"}
	}
	tree := make(map[string]any)
	if _, err := spelling.Decode(string(data), &tree); err != nil {
		e := &CardError{File: path}
		e.Line, e.Want = spelling.TOML(string(data), err)
		return Card{}, e
	}
	p.lines, p.tree = cardLines(string(data)), tree
	p.read()
	if len(p.errs) > 0 {
		// A map has no order; messages do: that of the file.
		slices.SortStableFunc(p.errs, func(a, b *CardError) int { return a.Line - b.Line })
		all := make([]error, len(p.errs))
		for i, e := range p.errs {
			all[i] = e
		}
		return Card{}, errors.Join(all...)
	}
	return p.card, nil
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// cardLines finds on which line each key of the top level stands, and each entry of a list that is written one a line is
// not worth more. Keys inside texts of several lines are not keys.
func cardLines(text string) map[string]int {
	lines := make(map[string]int)
	number, until := 0, ""
	for line := range strings.Lines(text) {
		number++
		if until != "" {
			if strings.Contains(line, until) {
				until = ""
			}
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if section, is := strings.CutPrefix(strings.TrimSpace(line), "["); is {
			name, _, ok = strings.Cut(strings.Trim(section, "["), "]")
			name = strings.TrimSpace(name)
		}
		if !ok || name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if _, seen := lines[name]; !seen {
			lines[name] = number
		}
		for _, mark := range []string{`"""`, "'''"} {
			if strings.Count(value, mark) == 1 {
				until = mark
			}
		}
	}
	return lines
}

// PlainCard is a companion of which only the name is known.
func PlainCard(name string) Card {
	id := strings.ToLower(strings.Join(strings.Fields(name), "-"))
	return Card{Card: round.Card{ID: round.CompanionID(id), Name: name, Involvement: round.InvolvementMedium}}
}

// FindCard finds a card by its name or its id, whatever their case.
func FindCard(cards []Card, name string) (Card, bool) {
	i := slices.IndexFunc(cards, func(c Card) bool { return strings.EqualFold(c.Name, name) || strings.EqualFold(string(c.ID), name) })
	if i < 0 {
		return Card{}, false
	}
	return cards[i], true
}
