package room

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
	address "conch/companions/words"
	"conch/device/condition"
	"conch/device/language"
	"conch/device/printable"
)

// Home is a device of the room, and who lives there.
type Home struct {
	Name  string
	Here  bool // it is in the room now
	Cards []round.Card
}

// House is all of the room that is known, this device first: who is here, and who was.
type House struct {
	Homes    []Home
	People   []string // at home, by name
	Cut      bool     // this device has lost the others, and not they the room
	Language language.Language
}

// Missing says who or what a line wants that is not in the room: a place or a person that nobody knows, or a companion whose device is off.
// Empty: nothing is missing. place: nobody is there to hear it.
//
//	garage: hello            there is no garage; kitchen, bedroom, hall
//	Dora, are you there      nobody here is called Dora; Ada, Ben, Cleo
//	Cleo, are you there      Cleo is not here: hall is off
func (h House) Missing(text string) (what string, place bool) {
	var named []address.Named
	var people, places []string
	for _, d := range h.Homes {
		if d.Here {
			places = append(places, printable.Name(d.Name))
		}
		for _, c := range d.Cards {
			named = append(named, address.Named{Who: string(c.ID), Names: append([]string{c.Name}, c.Aliases...)})
			if name := printable.Name(c.Name); d.Here && !slices.Contains(people, name) {
				people = append(people, name)
			}
		}
	}
	names := address.Known().Names(named)
	isPlace := func(word string) bool {
		return slices.ContainsFunc(h.Homes, func(d Home) bool { return strings.EqualFold(d.Name, word) })
	}
	if place, rest, ok := strings.Cut(text, ":"); ok && onePlace(place) && strings.HasPrefix(rest, " ") {
		if !isPlace(place) && len(names.Read(place+",").Called) == 0 {
			return h.Language.Phrase("room.no_place", "place", printable.Name(place), "places", strings.Join(places, ", ")), true
		}
	}
	line := text
	if place, rest, ok := strings.Cut(text, ":"); ok && isPlace(place) {
		line = rest
	}
	called := names.Read(line).Called
	for _, id := range called {
		if c, d, off := h.off(round.CompanionID(id)); off && h.Cut {
			return h.Language.Phrase("room.cut_off", "name", printable.Name(c.Name)), false
		} else if off {
			return h.Language.Phrase("room.absent", "name", printable.Name(c.Name), "device", printable.Name(d.Name)), false
		}
	}
	var cards []round.Card
	for _, d := range h.Homes {
		if d.Here {
			cards = append(cards, d.Cards...)
		}
	}
	if all := allMuted(cards, called); len(all) > 0 && !isWish(line, named) {
		return h.Language.Phrase("room.muted_called", "name", printable.Name(all[0].Name)), false
	}
	if name := vocative(text); name != "" && len(called) == 0 && len(names.Read(name+",").Called) == 0 && !isPlace(name) && !hasName(h.People, name) {
		return h.Language.Phrase("room.nobody_called", "name", name, "names", strings.Join(people, ", ")), false
	}
	return "", false
}

// allMuted are those who are called, where each of them is a companion that is here and muted.
func allMuted(cards []round.Card, called []string) (all []round.Card) {
	for _, id := range called {
		i := slices.IndexFunc(cards, func(c round.Card) bool { return string(c.ID) == id })
		if i < 0 || !cards[i].Muted {
			return nil
		}
		all = append(all, cards[i])
	}
	return all
}

// isWish: "Cleo, be quiet", which has been done.
func isWish(text string, named []address.Named) bool {
	_, wish := address.Known().WishOf(text, named)
	return wish != address.NoWish
}

// mutedCalled are those whom a message calls, where all of them are muted and it wants an answer.
func mutedCalled(members []round.Member, m round.Message) (ids []round.CompanionID) {
	var cards []round.Card
	var named []address.Named
	for _, x := range members {
		for _, c := range x.Cards {
			cards, named = append(cards, c), append(named, address.Named{Who: string(c.ID), Names: append([]string{c.Name, string(c.ID)}, c.Aliases...)})
		}
	}
	var called []string
	for _, p := range m.To {
		called = append(called, string(p))
	}
	if m.Text != "" {
		if isWish(m.Text, named) {
			return nil
		}
		called = append(called, address.Known().Names(named).Read(m.Text).Called...)
	}
	for _, c := range allMuted(cards, called) {
		ids = append(ids, c.ID)
	}
	return ids
}

// onePlace: one word, as devices are called that somebody puts before a colon. What a sentence says before one is longer.
func onePlace(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
}

// off says who somebody is and where, if every device on which they live is off.
func (h House) off(id round.CompanionID) (who round.Card, where Home, off bool) {
	for _, d := range h.Homes {
		if i := slices.IndexFunc(d.Cards, func(c round.Card) bool { return c.ID == id }); i >= 0 {
			if d.Here {
				return who, where, false
			}
			who, where, off = d.Cards[i], d, true
		}
	}
	return who, where, off
}

// openers begin a sentence with a capital letter and a comma, and are no names.
const openers = " yes no ok okay well so now then oh ah hey hi hello please thanks sorry great fine right sure good and but all everyone everybody " +
	"people guys " +
	"actually anyway first second finally today tomorrow yesterday tonight maybe perhaps however look listen wait stop come " +
	"ja nein also gut doch danke bitte hallo na ach oh nun tja genau klar schade moment halt alle leute heute morgen gestern vielleicht eigentlich " +
	"sí no bueno vale pues gracias hola perdón oye oiga mira claro todos hoy mañana ayer quizás además " +
	"oui non bon bien alors merci bonjour salut pardon voyons tiens dis dites attends tous demain hier peut enfin désolé "

// vocative is the name with which a line begins, as far as that can be told: one word with a capital letter, and a comma.
func vocative(text string) string {
	name, _, ok := strings.Cut(text, ",")
	first, _ := utf8.DecodeRuneInString(name)
	if !ok || !unicode.IsUpper(first) || utf8.RuneCountInString(name) < 2 || utf8.RuneCountInString(name) > 20 ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) || strings.HasSuffix(name, "ly") && len(name) > 5 ||
		strings.Contains(openers, " "+strings.ToLower(name)+" ") {
		return ""
	}
	return name
}

// Settled is what a control has turned, in the words of whoever asked for it, so that it is confirmed.
func Settled(l language.Language, why string) string {
	how, by, ok := strings.Cut(why, ", ")
	if !ok {
		return why
	}
	for _, w := range [][2]string{
		{"involvement off", l.Phrase("room.only_asked")}, {"involvement medium and not muted", l.Phrase("room.as_before")},
		{"involvement medium", l.Phrase("room.as_before")}, {"involvement low", l.Phrase("room.less")}, {"involvement high", l.Phrase("room.more")},
		{"not muted", l.Phrase("room.unmuted")}, {"muted", l.Phrase("room.muted")},
	} {
		if how == w[0] {
			return by + ": " + w[1]
		}
	}
	return why
}

// known are the devices that have been here in this life, so that who asks for one that is gone is told where it was.
type known struct {
	mu sync.Mutex
	of []round.Member // guarded by mu; as they were last
}

// mostKnown bounds it: an open room may see any number of names. Our choice: as many as a room has devices at a time.
const mostKnown = 64

// house is who is here, and who was.
func (d *Driver) house() House {
	now := slices.SortedStableFunc(slices.Values(d.Members()), func(a, b round.Member) int {
		switch d.o.Self {
		case a.Device:
			return -1
		case b.Device:
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	h := House{Cut: d.o.Conditions.Holds(condition.RoomCut), Language: d.o.Config.Device.Language, People: HouseholdOf(d).People()}
	for _, m := range now {
		h.Homes = append(h.Homes, Home{m.Name, true, m.Cards})
	}
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	gone := slices.DeleteFunc(d.known.of, func(m round.Member) bool { return present(now, m.Device) })
	d.known.of = append(slices.Clone(now), gone[:min(len(gone), max(0, mostKnown-len(now)))]...)
	for _, m := range d.known.of[len(now):] {
		h.Homes = append(h.Homes, Home{m.Name, false, m.Cards})
	}
	return h
}

// Missing says who or what a line wants that is not in the room. Who talks to one companion alone knows who is there.
func (d *Driver) Missing(text string) string {
	if !d.InRoom() {
		return ""
	}
	what, _ := d.house().Missing(text)
	return what
}
