package room

import (
	"conch/companions/round"
	"conch/companions/voice"
)

// What was said outlives a restart and a power cut (voice.remember). In a room that is the business of the room's memory,
// which all companions share; a companion on its own has its conversation kept here: at most what a session is begun with, as
// text, in a file of mode 0600. Sound is kept nowhere.

// TalkName names the conversation of a companion. What a voice on this machine said is not carried into the talk of a real one.
func TalkName(kind voice.Kind, id round.CompanionID) string {
	if kind.Local {
		return "talk-" + kind.Name + "-" + string(id)
	}
	return "talk-" + string(id)
}

// keptTalk is the file.
type keptTalk struct {
	Lines []voice.Line `json:"lines"`
}

// Remembers has a voice begin with what was said before, and keep what is said; or forget it.
func (d *Driver) Remembers(of *voice.Companion, kind voice.Kind, id round.CompanionID) {
	if d.o.Memory.Dir() == "" || d.o.Volatile {
		return
	}
	name := TalkName(kind, id)
	if d.o.Config.TalkStays {
		return
	}
	if !d.o.Config.Voice.Remember || d.InRoom() {
		d.o.Memory.Forget(name)
		return
	}
	var was keptTalk
	d.o.Memory.Load(name, &was, "what was said before the restart is forgotten")
	of.Recall = was.Lines
	d.talks = append(d.talks, name)
	of.Keep = func(lines []voice.Line) (err error) {
		if !d.forgot.Load() {
			err = d.o.Memory.Save(name, keptTalk{lines})
		}
		if d.forgot.Load() { // also when that was wished in between
			d.o.Memory.Forget(name)
		}
		return err
	}
}

// Forget has nothing of what is said kept from now on, and deletes what was: voice.remember was turned off. What a session or the room
// has in mind stays there until it ends.
func (d *Driver) Forget() {
	d.forgot.Store(true)
	for _, name := range d.talks {
		d.o.Memory.Forget(name)
	}
	HouseholdOf(d).forgetAll()
	if d.Room != nil {
		d.Room.Forget()
	}
}
