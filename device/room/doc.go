// Package room is a device's place in its room (ROOM.md): who lives here and which session answers whom, what becomes of what the
// room grants, what it is told, and what people see of it.
//
//	coordinator ─ orders ──> Voices ──> one session a companion
//	companions.Room ──> stage ─┐
//	device, voices ──> Driver ─┴─> talk.Step ──> companions.Room, Host (the coordinator, the loudspeaker), Voices
//
//	driver.go    making it; what a press, a question and the ends of turns are to it
//	talk.go      feeds package talk and carries out what it says
//	stage.go     what companions.Room wants of the device
//	voices.go    the sessions of those who live here, as one
//	cards.go     who lives here
//	names.go     what the room calls them
//	put.go       a question, and the end of its turn
//	ask.go       and what became of it in the room
//	control.go   the room on the control socket
//	remember.go  what was said, over a restart
//	replay.go    ledgers decided again
//	text.go, paired.go, screen.go  for people
//
// A device whose one companion is alone has a Driver too, without a room behind it: nobody has to ask which it is, and what
// there is nobody to tell costs nothing.
package room
