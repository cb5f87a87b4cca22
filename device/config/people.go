package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/device/printable"
)

// Person is somebody at home.
type Person struct {
	Name   string
	Device string // that this person usually presses, by its name; empty: any
}

// maxPeople is our choice: more than live together and visit, and few enough for a transcription to expect them all.
const maxPeople = 32

// IsPerson says whether a person may be called so: what could be anything else, or is no name in a sentence, would keep companions out of
// lines that are for them.
func IsPerson(name string) bool {
	odd := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M) && !strings.ContainsRune(" -'’.·", r)
	}
	return len(name) > 1 && len(name) <= maxName && printable.IsName(name) && !strings.ContainsFunc(name, odd)
}

// Persons are People one by one.
func (r Room) Persons() (all []Person) {
	for entry := range strings.SplitSeq(r.People, ",") {
		if p := person(entry); p.Name != "" {
			all = append(all, p)
		}
	}
	return all
}

func person(entry string) Person {
	name, device, _ := strings.Cut(entry, ":")
	return Person{strings.TrimSpace(name), strings.TrimSpace(device)}
}

// people is a list of names, each with a device behind it if there is one that this person usually presses. What is wrong with an entry is
// said; the others count.
func people(name string, field *string, about string) key {
	allowed := fmt.Sprintf(`a list of names, each with the device this person usually presses behind a colon or without, as in ["Max", "Lena: kitchen"]; `+
		"letters, at most %d bytes each, at most %d of them", maxName, maxPeople)
	k := key{name: name, about: about, allowed: allowed, set: func(v any) error {
		s, ok := v.(string)
		if !ok || len(s) > maxPeople*(maxName+maxDevice+2) || !utf8.ValidString(s) {
			return refusedError{}
		}
		good, reason := checkPeople(s)
		*field = strings.Join(good, ", ")
		if reason != "" {
			return refusedError{reason + "; the others count; must be " + allowed}
		}
		return nil
	}}
	return list(k, field)
}

// checkPeople are the good ones of a list's entries, and what is wrong with the first of the others.
func checkPeople(s string) (good []string, reason string) {
	refuse := func(entry, format string, args ...any) {
		if reason == "" {
			reason = Quote(clip(strings.TrimSpace(entry), 40)) + " " + fmt.Sprintf(format, args...)
		}
	}
	for entry := range strings.SplitSeq(s, ",") {
		p := person(entry)
		switch {
		case p == (Person{}) && !strings.Contains(entry, ":"):
		case !IsPerson(p.Name):
			refuse(entry, "is not how a person is called")
		case strings.Contains(entry, ":") && (p.Device == "" || len(p.Device) > maxDevice || !printable.IsName(p.Device)):
			refuse(entry, "names no device behind the colon")
		case slices.ContainsFunc(good, func(o string) bool { return strings.EqualFold(person(o).Name, p.Name) }):
			refuse(entry, "is there twice")
		case len(good) == maxPeople:
			refuse(entry, "is one too many")
		default:
			good = append(good, strings.TrimSpace(entry))
		}
	}
	return good, reason
}
