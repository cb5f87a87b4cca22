package device

import (
	"conch/companions/round"
	"conch/companions/voice/realtime"
	"conch/device/condition"
)

// What was said outlives a restart and a power cut (voice.remember). In a room that is the business of the room's memory,
// which all companions share; a companion on its own has its conversation kept here: at most what a session is begun with, as
// text, in a file of mode 0600. Sound is kept nowhere.

// talkName names the conversation of a companion. What a rehearsal voice said is not carried into the talk of a real one.
func talkName(kind string, id round.CompanionID) string {
	if kind == "rehearsal" {
		return "talk-rehearsal-" + string(id)
	}
	return "talk-" + string(id)
}

// keptTalk is the file.
type keptTalk struct {
	Lines []realtime.Line `json:"lines"`
}

// remembers has a voice begin with what was said before, and keep what is said; or forget it.
func (d *Device) remembers(conf *realtime.Config, kind string, id round.CompanionID) {
	if d.store == nil || d.opts.Room.Volatile {
		return
	}
	name := talkName(kind, id)
	if d.cfg.TalkStays {
		return
	}
	if !d.cfg.Voice.Remember || d.inRoom() {
		if err := d.store.Remove(name); err != nil {
			_ = d.kept(err)
		}
		return
	}
	var was keptTalk
	if _, err := d.store.Load(name, &was); err != nil {
		d.conds.Set(condition.StateUnreadable, err.Error(), "what was said before the restart is forgotten; look at the disk if this comes again")
	}
	conf.Recall = was.Lines
	conf.Keep = func(lines []realtime.Line) error { return d.kept(d.store.Save(name, keptTalk{lines})) }
}
