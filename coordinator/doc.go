// Package coordinator is the heart of one device: it owns the turn machine (package turn) and is the only one who moves
// it. Facts go in, orders go out, and speech goes past it.
//
//	button ── Press, Release, Hush ─┐
//	typed line ── Ask ──────────────┤                      ┌─> Voice.Do      ──> facts ─┐
//	skills ── Inject ───────────────┼─> inbox ─> turn.Step ┼─> Mic           ──> facts ─┤
//	session, microphone ── Post ────┤     ^                ├─> Tools, streams ─> facts ─┤
//	                                │     └────────────────│────────────────────────────┘
//	                                │                      └─> Speaker, Light
//	voice ── Audio ─────────────────┴──────────────────────────> Source of the live turn
//
// What must be instant does not pass here: whoever sees a button's edge silences the speaker itself (one atomic) and then
// says so with Press and the generation it got. A generation counts the drops of the speaker; only the current one is
// ever heard. The runner opens sources with the generation of the last press it has taken, never with the speaker's own
// idea of now, so that an order of the old turn carried out after the edge opens a source that is born dead.
//
// # In a room
//
// FloorGranted asks for an answer, with Hold only makes it ready: the runner holds the source of that turn before anybody
// can write to it, and releases it when the machine says so. OnSpeech tells the room when speech is first heard and when
// all of it is known; OnEnd what was heard of it. Every turn that was granted ends in one Record.
//
//	FloorGranted{Hold} ─> answer asked for, buffered ─ FloorOpened ─> began ─ known ─> Record
//	                                                └─ VoteLost, a gesture, 30 s ────> Record, nothing heard
//
// An injected turn is a voice in the room, too: while Taken says that somebody else has the floor it waits, 30 s at most,
// unless it is PREEMPT; when it begins OnInject tells the room, which hushes everybody else and keeps the floor for it as
// for a person, until its Record.
//
// # Content
//
// After each batch of facts the runner tells package focus who is live (foci.go); what that orders for a stream opens a source for it,
// ducks it or cuts it, and content.go hands what was not heard to the next source.
//
// # Goroutines
//
//	loop            Run's own; owns the machine, the handles, the injections, the one timer; calls every port and OnEnd
//	tool (2)        one calls Tools.Call, one minds the deadline; at most ToolLimit tools of the live turn, and 256 that are
//	                left behind: told that their turn or time is over, and do not end
//	stream, claim (2)  one is the producer, one waits for it, for the last sample, or for the cut, and calls Ended;
//	                at most StreamLimit; a stream's second one writes as well, to whichever source it has
//	words, sound    writes samples, waits until they were heard
//	speech          waits for the last sample after CloseSpeech
//
// All belong to Run, which waits for them at the end, two seconds at most. Voices write speech from their own goroutine.
//
// # Start and stop
//
// Run drops once to learn the generation, tells the voice its tools, shows the light, and takes facts; facts posted before
// wait in the inbox. When its context ends it closes the inbox (whoever waits to post goes on), ends the live turn as a
// hush does, discards what is latched, gives each injection its outcome and each turn its line, and waits for its
// goroutines, whose context has ended with it.
//
// # Bounds
//
//	facts in the inbox           256, then producers wait
//	presses, releases, hushes    1,024 more places of their own, then the last of the kind is replaced
//	latched and running effects  64, then the model is told that it was not carried out
//	a tool's time and output     10 s, 64 kB
//	calls of a tool left behind  64 of one name, 256 in all; beyond, that tool is refused, and no other
//	time of a cut producer       5 s, then its end is told without it
//	wait for the time of silence 100 ms, then the line is written without it
//
// Units: samples are 24 kHz, mono; times are durations since the program started, on one monotonic clock.
package coordinator
