// Package device is one appliance: it chooses and wires what the others made, and decides nothing about turns.
//
//	button ─┐                                        ┌─> voice (realtime client) ──┐ facts with turn and response id
//	mic ────┴─> device ─> coordinator (turn.Step) ───┤   one session a companion   │
//	             │  │          ▲   orders            └─> tools                     │
//	             │  │          └─────────────── inbox <────────────────────────────┘
//	             │  │  ▲ grants, hushes
//	             │  └──┴─> room (round.Step) <──> mqtt <──> other boxes     device/room is between the two machines
//	             │  └── press.go: Hush, Drop ───> speaker ─> card      no queue, no lock, no log
//	             └── mic frames ─> Voice.Append          (audio passes the machine by; it sees counts)
//
// Run starts these goroutines and awaits them all; each belongs to the part it is named after:
//
//	speaker      closes what has been played          mic        frames to the voice, at 20 ms
//	playback     keeps the loudspeaker open           capture    keeps the microphone open
//	coordinator  owns the turn machine                voice      owns the session with the server
//	button ...   opens and reads one button           state      writes what must survive a power cut
//	rehearsal    the server, where there is no key    control    the socket of the CLI
//	light        shows what goes on
//	room         owns the round machine               mqtt       owns the connection to the broker
//	broker       the embedded one, where it is here   drive      holds the pins that the board wants held
//	pairing      owns the person's way to a room      members    owns the list of who belongs to it
//	discovery    says on the network what there is to be found, and nothing before there is
//
// A device with one companion that is in no room, neither by room.broker nor by pairing, has none of the room's goroutines, and
// listens to nobody. Pairing makes another device of it on disk: Run ends with ErrRestart, and whoever ran it runs it anew.
//
// The first part that fails for good ends the others. A button, a sound card or a server that fails is a Condition, not an
// end: it comes back by itself, and until then the light, the log, the CLI and doctor say what is wrong and what to do.
package device
