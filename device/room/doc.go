// Package room is a device's place in its room (ROOM.md): who lives here and which session answers whom, what becomes of what the
// room grants, what it is told, and what people see of it.
//
//	coordinator ─ orders ──> Voices ──> one session a companion
//	companions.Room ──> stage ─┐
//	device, voices ──> Driver ─┴─> talk.Step ──> companions.Room, Host (the coordinator, the loudspeaker), Voices
//
//	driver.go    making it; what a press, a question and the ends of turns are to it
//	talk.go      what companions.Room wants of the device; package talk is fed, and what it says is carried out
//	voices.go    the sessions of those who live here, as one
//	names.go     who lives here, and what the room calls them
//	ask.go       a question, and what it came to
//	control.go   the room on the control socket
//	remember.go  what was said, over a restart
//	replay.go    ledgers decided again; replay_dialogues.go: recorded dialogues put to the same rules
//	text.go, paired.go  for people
//
// A device whose one companion is alone has a Driver too, without a room behind it: nobody has to ask which it is, and what
// there is nobody to tell costs nothing.
package room
