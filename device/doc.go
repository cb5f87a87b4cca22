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
//	playback     keeps the loudspeaker open           capture    keeps the microphone open, or closed
//	coordinator  owns the turn machine                voice      owns the sessions with the server
//	button ...   opens and reads one button           state      writes what must survive a power cut
//	rehearsal    the server, where there is no key    control    the socket of the CLI
//	light        shows what goes on                   world      watches key, clock and network
//	service      answers the service manager          reload     reads the configuration again when asked to
//	aloud        says what is wrong, with no screen   drive      holds the pins that the board wants held
//	room         owns the round machine               mqtt       owns the connection to the broker
//	broker       the embedded one, where it is here   members    owns the list of who belongs to the room
//	pairing      owns the person's way to a room      discovery  says on the network what there is to be found
//	page         serves the page                      pages      bring a page's sound back to the card
//	look         what is different, for onlookers     homeassistant  shows the device there
//
// A device with one companion that is in no room, neither by room.broker nor by pairing, has none of the room's goroutines, and
// listens to nobody. Pairing makes another device of it on disk: Run ends with join.ErrRestart, and whoever ran it runs it anew.
//
// The first part that fails for good ends the others. A button, a sound card or a server that fails is a Condition, not an
// end: it comes back by itself, and until then the light, the log, the CLI and doctor say what is wrong and what to do.
//
// # Words
//
// One word for one thing, in code, comments and pages; the wire, logs, ledgers and configuration keep theirs.
//
//	turn        from a press to the end of what it led to
//	press       a button's contact was closed for long enough
//	barge-in    a press into an answer
//	hush        silence at once: of the speaker, at an edge, until it is known whether that is a press; of a turn, for good
//	drop        what a press does to the speaker: nothing that was written before it sounds any more
//	cue         an earcon: a sound without words
//	clip        recorded words of the device itself
//	period      what a sound card asks for at once
//	buffer      the periods that a sound card holds
//	xrun        a sound card ran dry, or overflowed
//	rewind      take back what a sound card has not played
//	stream      one open half of a sound card
//	voice       whoever answers: a client of a server
//	session     a voice's connection with its server
//	outlet      where a voice reports
//	delta       a piece of an answer, as it comes
//	truncate    cut an answer to what was heard of it
//	tool        what a model may call
//	skill       tools, and what they need, in one package
//	effect      what a tool does besides answering
//	injection   words that nobody asked for
//	content     sound that is no answer: a stream, an alarm
//	room        the devices that vote on who speaks
//	device      one box: this package
//	companion   somebody who answers, with a name
//	card        a companion's description
//	member      a device that belongs to the room
//	host        the device that keeps the broker
//	presence    that a device is there, as the broker tells
//	epoch       a counter that every press raises: what is of an older one is void
//	round       one message, the votes on it, and what they decide
//	claim       a device says that its companion speaks
//	lease       how long a claim counts
//	floor       the right to speak
//	ledger      the room's record of what was decided
//	condition   what is wrong and a person can mend
//	remedy      how a person mends it
//	gesture     a button held for long while nothing is said: to unmute, or to pair
//	twin        virtual hardware
//	order       what a machine wants done
package device
