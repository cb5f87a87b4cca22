package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/companions"
	address "conch/companions/words"
)

// missing says who or what a line wants that is not in the room: a place or a person that nobody knows, or a companion whose device is off.
// Empty: nothing is missing. place: nobody is there to hear it. alive says whether a device is on.
//
//	garage: hello            there is no garage; kitchen, bedroom, hall
//	Dora, are you there      nobody here is called Dora; Ada, Ben, Cleo
//	Cleo, are you there      Cleo is not here: hall is off
func (r Room) missing(text string, alive func(device string) bool) (what string, place bool) {
	var named []address.Named
	var people, places []string
	for _, d := range r.Devices {
		places = append(places, d.Name)
		for _, c := range d.Cards {
			if !slices.Contains(people, c.Name) {
				people = append(people, c.Name)
				named = append(named, address.Named{Who: string(c.ID), Names: append([]string{c.Name}, c.Aliases...)})
			}
		}
	}
	known := func(list []string, word string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
	}
	if place, rest, ok := strings.Cut(text, ":"); ok && deviceName.MatchString(place) && strings.HasPrefix(rest, " ") {
		switch {
		case known(places, place), known(people, place), len(address.NewNames(named).Read(place+",").Called) > 0:
		default:
			return fmt.Sprintf("there is no %s; %s", place, strings.Join(places, ", ")), true
		}
	}
	called := address.NewNames(named).Read(text).Called
	for _, id := range called {
		if where, off := r.off(id, alive); off {
			return fmt.Sprintf("%s is not here: %s is off", where.name, where.device), false
		}
	}
	if name := vocative(text); name != "" && len(called) == 0 && !known(people, name) && !known(places, name) {
		return fmt.Sprintf("nobody here is called %s; %s", name, strings.Join(people, ", ")), false
	}
	return "", false
}

type whereabouts struct{ name, device string }

// off says where a companion lives, if every device on which it does is off.
func (r Room) off(id string, alive func(string) bool) (whereabouts, bool) {
	var w whereabouts
	for _, d := range r.Devices {
		if i := slices.IndexFunc(d.Cards, func(c companions.Card) bool { return string(c.ID) == id }); i >= 0 {
			if alive(d.Name) {
				return w, false
			}
			w = whereabouts{d.Cards[i].Name, d.Name}
		}
	}
	return w, w.name != ""
}

// openers begin a sentence with a capital letter and a comma, and are no names.
const openers = " yes no ok okay well so now then oh ah hey hi hello please thanks sorry great fine right sure good and but all everyone everybody " +
	"people guys " +
	"actually anyway first second finally today tomorrow yesterday tonight maybe perhaps however look listen wait stop come "

// vocative is the name with which a line begins, as far as that can be told: one word with a capital letter, and a comma.
func vocative(text string) string {
	name, _, ok := strings.Cut(text, ",")
	first, _ := utf8.DecodeRuneInString(name)
	if !ok || !unicode.IsUpper(first) || utf8.RuneCountInString(name) < 2 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) ||
		strings.Contains(openers, " "+strings.ToLower(name)+" ") {
		return ""
	}
	return name
}

// settled is what a control has turned, in the words of whoever asked for it, so that it is confirmed.
func settled(why string) string {
	for _, w := range [][2]string{
		{"involvement off", "only when asked; to undo: join in again"}, {"involvement medium and not muted", "as before"}, {"involvement medium", "as before"},
		{"involvement low", "less often"}, {"involvement high", "more often"}, {"not muted", "not muted any more"}, {"muted", "muted; to undo: unmute"},
	} {
		if rest, ok := strings.CutPrefix(why, w[0]+", "); ok {
			return rest + ": " + w[1]
		}
	}
	return why
}
