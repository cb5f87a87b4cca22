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

// learns says whether a name that is said here may be kept.
func (d *Driver) learns() bool {
	c := d.o.Config
	return c.Room.PeopleLearn == "ask" && c.Voice.Remember && d.o.Memory.Dir() != "" && !d.o.Volatile && d.Room != nil && !d.forgot.Load()
}

// meetPeople has the room know who is at home, from what is written down.
func (d *Driver) meetPeople() {
	if dir := d.o.Memory.Dir(); dir != "" && !d.o.Volatile && !d.o.Config.TalkStays {
		if d.o.Config.Voice.Remember {
			var was keptPeople
			d.o.Memory.Load(peopleName, &was, "names that people have said are forgotten")
			d.people.learned = slices.DeleteFunc(was.Names, func(n string) bool { return !config.IsPerson(n) })
			d.people.learned = d.people.learned[:min(len(d.people.learned), maxLearned)]
		} else {
			d.o.Memory.Forget(peopleName)
		}
	}
	d.Room.PeopleKnown(d.People())
	d.namesakes()
}

// People are the names of those at home: first by room.people, then who has said so.
func (d *Driver) People() (names []string) {
	for _, p := range d.o.Config.Room.Persons() {
		names = append(names, p.Name)
	}
	d.people.mu.Lock()
	defer d.people.mu.Unlock()
	for _, n := range d.people.learned {
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
func (d *Driver) bearer(name string) (round.Card, bool) {
	for _, m := range d.Members() {
		for _, c := range m.Cards {
			if hasName(append([]string{c.Name, string(c.ID)}, c.Aliases...), name) {
				return c, true
			}
		}
	}
	return round.Card{}, false
}

// ownName is the name that a person gives who is not known yet; empty: none.
func (d *Driver) ownName(text string) string {
	name := words.Known().OwnName(text)
	if _, companion := d.bearer(name); name == "" || companion || hasName(d.People(), name) || !config.IsPerson(name) {
		return ""
	}
	return name
}

// introduced takes what the person at this device has said to the room.
func (d *Driver) introduced(text string) {
	if !d.learns() {
		return
	}
	var all []words.Named
	for _, m := range d.Members() {
		for _, c := range m.Cards {
			all = append(all, words.Named{Who: string(c.ID), Names: append([]string{c.Name}, c.Aliases...)})
		}
	}
	name, yes := d.ownName(text), words.Known().Names(all).Consents(text)
	d.people.mu.Lock()
	m, keep := d.people.m.said(d.o.Now(), name, yes)
	d.people.m = m
	if keep != "" {
		d.people.learned = append(d.people.learned[max(0, len(d.people.learned)-maxLearned+1):], keep)
	}
	d.people.mu.Unlock()
	if keep != "" {
		time.AfterFunc(0, d.keepPeople) // a disk may be slow, and whoever speaks does not wait for it
	}
}

// answered takes what a companion has said.
func (d *Driver) answered(text string) {
	d.people.mu.Lock()
	defer d.people.mu.Unlock()
	d.people.m = d.people.m.answered(d.o.Now(), text)
}

// keepPeople writes down who is known, and has the room know it.
func (d *Driver) keepPeople() {
	d.people.writing.Lock()
	defer d.people.writing.Unlock()
	d.people.mu.Lock()
	learned := slices.Clone(d.people.learned)
	d.people.mu.Unlock()
	if len(learned) == 0 || !d.learns() {
		d.o.Memory.Forget(peopleName)
	} else {
		_ = d.o.Memory.Save(peopleName, keptPeople{learned}) // the condition says it
	}
	d.Room.PeopleKnown(d.People())
}

// forgetPeople forgets who has said a name here.
func (d *Driver) forgetPeople() {
	d.people.mu.Lock()
	d.people.m, d.people.learned = introductions{}, nil
	d.people.mu.Unlock()
	d.o.Memory.Forget(peopleName)
	if d.Room != nil {
		d.Room.PeopleKnown(d.People())
	}
}

// Speaker is who usually speaks here, for a companion that nobody tells with each message: one that is in no room.
func (d *Driver) Speaker() string {
	if d.InRoom() {
		return ""
	}
	return usual(d.o.Config.Room.Persons(), d.o.Config.Device.Name)
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

// aboutPeople is what the prompt of an answer to a message says of the people at home.
func (d *Driver) aboutPeople(m round.Message) string {
	var lines []string
	for _, at := range d.Members() {
		name := usual(d.o.Config.Room.Persons(), at.Name)
		if name == "" {
			continue
		}
		line := fmt.Sprintf("Who speaks at %s is usually %s.", printable.Name(at.Name), name)
		if m.From == round.Human(at.Device) {
			line += " That is who speaks to you now."
		}
		lines = append(lines, line)
	}
	_, whispered := m.Whisper()
	if name := d.ownName(m.Text); name != "" && m.From.Human() && !whispered && !m.Private() && d.o.Config.Room.PeopleLearn == "ask" && d.o.Config.Voice.Remember {
		lines = append(lines, fmt.Sprintf("The person may have told you a name: %s. If it is one, ask in one short question, with that name in it, whether it may be "+
			"remembered here; it is kept if the person says yes.", name))
	}
	return strings.Join(lines, "\n")
}

// namesakes makes a condition of people who are called as companions are: whoever says that name means the companion.
func (d *Driver) namesakes() {
	var all []string
	for _, p := range d.o.Config.Room.Persons() {
		if c, ok := d.bearer(p.Name); ok {
			all = append(all, fmt.Sprintf("room.people: %s is also the name of a companion (%s): whoever says it calls the companion", p.Name, c.ID))
		}
	}
	if len(all) == 0 {
		d.o.Conditions.Clear(condition.RoomPeople)
		return
	}
	d.o.Conditions.Set(condition.RoomPeople, strings.Join(all, "; "),
		"write the person's name otherwise in room.people, as people say it (\"Ada Maria\"), or give the companion another name in its card")
}

// PeopleReport tells who is known.
func (d *Driver) PeopleReport() control.PeopleReport {
	r := control.PeopleReport{People: []control.PersonRow{}, Learns: d.learns()}
	for _, p := range d.o.Config.Room.Persons() {
		r.People = append(r.People, control.PersonRow{Name: p.Name, Device: p.Device})
	}
	for _, n := range d.People()[len(r.People):] {
		r.People = append(r.People, control.PersonRow{Name: n, Learned: true})
	}
	return r
}

// ForgetPerson forgets one who has said a name here.
func (d *Driver) ForgetPerson(name string) (control.PeopleReport, error) {
	if p := d.o.Config.Room.Persons(); slices.ContainsFunc(p, func(p config.Person) bool { return hasName([]string{p.Name}, name) }) {
		return control.PeopleReport{}, fmt.Errorf("%w: %s stands in the configuration: take the name out of room.people, and restart", control.ErrRefused, printable.Text(name))
	}
	d.people.mu.Lock()
	before := len(d.people.learned)
	d.people.learned = slices.DeleteFunc(d.people.learned, func(n string) bool { return hasName([]string{n}, name) })
	gone := len(d.people.learned) < before
	d.people.mu.Unlock()
	if !gone {
		return control.PeopleReport{}, fmt.Errorf("%w: %s is not known here: conch room people lists who is", control.ErrRefused, printable.Text(name))
	}
	d.keepPeople()
	return d.PeopleReport(), nil
}

// servePeople tells who is known, and forgets one.
func (d *Driver) servePeople(mux *http.ServeMux) {
	mux.HandleFunc("GET /room/people", func(w http.ResponseWriter, _ *http.Request) {
		if d.Room == nil {
			control.Reply(w, nil, noRoom(d))
			return
		}
		control.Reply(w, d.PeopleReport(), nil)
	})
	mux.HandleFunc("DELETE /room/people/{name}", func(w http.ResponseWriter, r *http.Request) {
		if d.Room == nil {
			control.Reply(w, nil, noRoom(d))
			return
		}
		report, err := d.ForgetPerson(r.PathValue("name"))
		control.Reply(w, report, err)
	})
}
