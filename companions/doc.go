// Package companions is who speaks: a companion's tools, its voices and, in a room, its part of a round.
//
//	card        who a companion is: a TOML file, refused field by field; its instructions for a session
//	roomline    the one form in which a companion is told what others said, and that it is its turn
//	room        this device's part of a room; it owns the round machine (room_run, room_stage, room_inbox, room_record)
//	memory      what was said in the room, across restarts
//	ledger      what happened and why, and replay of both ledgers and recorded dialogues; why tells it in sentences
//	text        what is shown of texts that others wrote
//	refine      votes that a language model makes better, over chat completions; the rules' stand where it fails
//	round/      the round itself, pure
//	words/      what is said, understood: whom it calls, what it is for, what it goes on with; pure
//	skills/     what a companion can do; Toolbox makes tools of them that the coordinator can call
//	voice/      where the words come from
//	chattest/   a scripted chat server, for tests
//	roomtest/   rooms of several devices in virtual time, for tests
//
// It knows the words of the coordinator (coordinator/turn) and nothing of the device; device adapts one to the other.
package companions
