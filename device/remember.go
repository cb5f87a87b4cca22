package device

import (
	"conch/companions/round"
	"conch/companions/voice/realtime"
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
	if d.memory.Dir() == "" || d.opts.Room.Volatile {
		return
	}
	name := talkName(kind, id)
	if d.cfg.TalkStays {
		return
	}
	if !d.cfg.Voice.Remember || d.inRoom() {
		d.memory.Forget(name)
		return
	}
	var was keptTalk
	d.memory.Load(name, &was, "what was said before the restart is forgotten")
	conf.Recall = was.Lines
	conf.Keep = func(lines []realtime.Line) error { return d.memory.Save(name, keptTalk{lines}) }
}
