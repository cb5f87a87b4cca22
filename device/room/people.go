package room

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
	"conch/companions/words"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
)

// Who is at home, as far as this device knows: by room.people, and who has said so here and wants to be remembered.
//
//	"I am Max" ─> offered ─ a companion asks: "Shall I remember you, Max?" ─> asked ─ "yes" ─> kept
//	                      └ anything else ─> forgotten                              └ anything else ─> forgotten
//
// Words count that were said or typed at this device, and no whisper: what others put into the room can at most ask.

// introductions is how somebody becomes known; pure. The zero value has heard nobody.
type introductions struct {
	offered string        // a name that was just said
	asked   bool          // whether it may be kept
	until   time.Duration // when that is over
}

// askPatience is how long the question and the yes to it may take. Our choice: an answer, and time to think.
const askPatience = time.Minute

// said takes a line of the person here; name is the one that they give as theirs, empty where they give none or it is known. It returns the
// name that is to be kept from now on.
func (i introductions) said(at time.Duration, name string, yes bool) (_ introductions, keep string) {
	if i.asked && yes && at <= i.until {
		return introductions{}, i.offered
	}
	if name == "" {
		return introductions{}, ""
	}
	return introductions{offered: name, until: at + askPatience}, ""
}

// answered takes what a companion says: a question with the name in it asks.
func (i introductions) answered(at time.Duration, text string) introductions {
	if i.offered == "" || at > i.until || !strings.ContainsAny(text, "?？") || !strings.Contains(words.Heard(text), words.Heard(i.offered)) {
		return i
	}
	i.asked, i.until = true, at+askPatience
	return i
}

// people are those who are known.
type people struct {
	writing sync.Mutex // of the file: the newest is written last

	mu      sync.Mutex
	m       introductions
	learned []string // in the order in which they came
}

// peopleName names the file.
const peopleName = "people"

// maxLearned is our choice: with those of the configuration no more than a room knows.
const maxLearned = 32

// keptPeople is the file.
type keptPeople struct {
	Names []string `json:"names"`
}

// Household is what a driver knows of people.
type Household struct{ *Driver }

// HouseholdOf is that of a driver.
func HouseholdOf(d *Driver) Household { return Household{d} }

// learns says whether a name that is said here may be kept.
func (h Household) learns() bool {
	c := h.o.Config
	return c.Room.PeopleLearn == "ask" && c.Voice.Remember && h.o.Memory.Dir() != "" && !h.o.Volatile && h.Room != nil && !h.forgot.Load()
}

// meet has the room know who is at home, from what is written down.
func (h Household) meet() {
	if dir := h.o.Memory.Dir(); dir != "" && !h.o.Volatile && !h.o.Config.TalkStays {
		if h.o.Config.Voice.Remember {
			var was keptPeople
			h.o.Memory.Load(peopleName, &was, "names that people have said are forgotten")
			h.people.learned = slices.DeleteFunc(was.Names, func(n string) bool { return !config.IsPerson(n) })
			h.people.learned = h.people.learned[:min(len(h.people.learned), maxLearned)]
		} else {
			h.o.Memory.Forget(peopleName)
		}
	}
	h.Room.PeopleKnown(h.People())
	h.namesakes()
}

// People are the names of those at home: first by room.people, then who has said so.
func (h Household) People() (names []string) {
	for _, p := range h.o.Config.Room.Persons() {
		names = append(names, p.Name)
	}
	h.people.mu.Lock()
	defer h.people.mu.Unlock()
	for _, n := range h.people.learned {
		if !hasName(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func hasName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return words.Heard(n) == words.Heard(name) })
}

// bearer is the companion in the room that has a name.
func (h Household) bearer(name string) (round.Card, bool) {
	for _, m := range h.Members() {
		for _, c := range m.Cards {
			if hasName(append([]string{c.Name, string(c.ID)}, c.Aliases...), name) {
				return c, true
			}
		}
	}
	return round.Card{}, false
}

// ownName is the name that a person gives who is not known yet; empty: none.
func (h Household) ownName(text string) string {
	name := words.Known().OwnName(text)
	if _, companion := h.bearer(name); name == "" || companion || hasName(h.People(), name) || !config.IsPerson(name) {
		return ""
	}
	return name
}

// introduced takes what the person at this device has said to the room.
func (h Household) introduced(text string) {
	if !h.learns() {
		return
	}
	var all []words.Named
	for _, m := range h.Members() {
		for _, c := range m.Cards {
			all = append(all, words.Named{Who: string(c.ID), Names: append([]string{c.Name}, c.Aliases...)})
		}
	}
	name, yes := h.ownName(text), words.Known().Names(all).Consents(text)
	h.people.mu.Lock()
	m, keep := h.people.m.said(h.o.Now(), name, yes)
	h.people.m = m
	if keep != "" {
		h.people.learned = append(h.people.learned[max(0, len(h.people.learned)-maxLearned+1):], keep)
	}
	h.people.mu.Unlock()
	if keep != "" {
		time.AfterFunc(0, h.keep) // a disk may be slow, and whoever speaks does not wait for it
	}
}

// answered takes what a companion has said.
func (h Household) answered(text string) {
	h.people.mu.Lock()
	defer h.people.mu.Unlock()
	h.people.m = h.people.m.answered(h.o.Now(), text)
}

// keep writes down who is known, and has the room know it.
func (h Household) keep() {
	h.people.writing.Lock()
	defer h.people.writing.Unlock()
	h.people.mu.Lock()
	learned := slices.Clone(h.people.learned)
	h.people.mu.Unlock()
	if len(learned) == 0 || !h.learns() {
		h.o.Memory.Forget(peopleName)
	} else {
		_ = h.o.Memory.Save(peopleName, keptPeople{learned}) // the condition says it
	}
	h.Room.PeopleKnown(h.People())
}

// forgetAll forgets who has said a name here.
func (h Household) forgetAll() {
	h.people.mu.Lock()
	h.people.m, h.people.learned = introductions{}, nil
	h.people.mu.Unlock()
	h.o.Memory.Forget(peopleName)
	if h.Room != nil {
		h.Room.PeopleKnown(h.People())
	}
}

// Speaker is who usually speaks here, for a companion that nobody tells with each message: one that is in no room.
func (h Household) Speaker() string {
	if h.InRoom() {
		return ""
	}
	return usual(h.o.Config.Room.Persons(), h.o.Config.Device.Name)
}

// usual is who usually speaks at the device of a name, if that is one person.
func usual(persons []config.Person, device string) string {
	name := ""
	for _, p := range persons {
		if p.Device != "" && strings.EqualFold(p.Device, device) {
			if name != "" {
				return ""
			}
			name = p.Name
		}
	}
	return name
}

// about is what the prompt of an answer to a message says of the people at home.
func (h Household) about(m round.Message) string {
	var lines []string
	for _, at := range h.Members() {
		name := usual(h.o.Config.Room.Persons(), at.Name)
		if name == "" {
			continue
		}
		line := fmt.Sprintf("Who speaks at %s is usually %s.", printable.Named(at.Name), printable.Named(name))
		if m.From == round.Human(at.Device) {
			line += " That is who speaks to you now."
		}
		lines = append(lines, line)
	}
	_, whispered := m.Whisper()
	asks := h.o.Config.Room.PeopleLearn == "ask" && h.o.Config.Voice.Remember
	if name := h.ownName(m.Text); asks && name != "" && m.From.Human() && !whispered && !m.Private() {
		lines = append(lines, fmt.Sprintf("The person may have told you a name: %s. If it is one, ask in one short question, with that name in it, "+
			"whether it may be "+
			"remembered here; it is kept if the person says yes.", printable.Named(name)))
	}
	return strings.Join(lines, "\n")
}

// namesakes makes a condition of people who are called as companions are: whoever says that name means the companion.
func (h Household) namesakes() {
	var all []string
	for _, p := range h.o.Config.Room.Persons() {
		if c, ok := h.bearer(p.Name); ok {
			all = append(all, fmt.Sprintf("room.people: %s is also the name of a companion (%s): whoever says it calls the companion", p.Name, c.ID))
		}
	}
	if len(all) == 0 {
		h.o.Conditions.Clear(condition.RoomPeople)
		return
	}
	h.o.Conditions.Set(condition.RoomPeople, strings.Join(all, "; "),
		"write the person's name otherwise in room.people, as people say it (\"Ada Maria\"), or give the companion another name in its card")
}

// Report tells who is known.
func (h Household) Report() control.PeopleReport {
	r := control.PeopleReport{People: []control.PersonRow{}, Learns: h.learns()}
	for _, p := range h.o.Config.Room.Persons() {
		r.People = append(r.People, control.PersonRow{Name: p.Name, Device: p.Device})
	}
	for _, n := range h.People()[len(r.People):] {
		r.People = append(r.People, control.PersonRow{Name: n, Learned: true})
	}
	return r
}

// Forget forgets one who has said a name here.
func (h Household) Forget(name string) (control.PeopleReport, error) {
	if p := h.o.Config.Room.Persons(); slices.ContainsFunc(p, func(p config.Person) bool { return hasName([]string{p.Name}, name) }) {
		return control.PeopleReport{}, fmt.Errorf("%w: %s stands in the configuration: take the name out of room.people, and restart",
			control.ErrRefused, printable.Text(name))
	}
	h.people.mu.Lock()
	before := len(h.people.learned)
	h.people.learned = slices.DeleteFunc(h.people.learned, func(n string) bool { return hasName([]string{n}, name) })
	gone := len(h.people.learned) < before
	h.people.mu.Unlock()
	if !gone {
		return control.PeopleReport{}, fmt.Errorf("%w: %s is not known here: conch room people lists who is", control.ErrRefused, printable.Text(name))
	}
	h.keep()
	return h.Report(), nil
}

// serve tells who is known, and forgets one.
func (h Household) serve(mux *http.ServeMux) {
	mux.HandleFunc("GET /room/people", func(w http.ResponseWriter, _ *http.Request) {
		if h.Room == nil {
			control.Reply(w, nil, noRoom(h.Driver))
			return
		}
		control.Reply(w, h.Report(), nil)
	})
	mux.HandleFunc("DELETE /room/people/{name}", func(w http.ResponseWriter, r *http.Request) {
		if h.Room == nil {
			control.Reply(w, nil, noRoom(h.Driver))
			return
		}
		report, err := h.Forget(r.PathValue("name"))
		control.Reply(w, report, err)
	})
}
