package realtime

import (
	"time"
)

// Our choices; what the protocol demands is in wire.go.
const (
	rate = 24000 // samples per second inside conch

	maxPending    = 1024 // encoded events the writer has not taken; beyond it the connection is given up
	maxAudioAhead = 8    // of these, appends; the rest of the utterance waits in RAM where it is cheaper
	maxPlan       = 128  // requests of one turn
	maxGarbage    = 100  // unreadable messages within garbageWindow before a session is given up

	garbageWindow = time.Minute

	readLimit = 16 << 20 // a message; more than four minutes of speech in one delta

	pingAfter        = 3500 * time.Millisecond // nothing was read and nothing of ours is on its way
	pingWait         = 3 * time.Second         // for a place on the wire; whether it is answered is not asked
	deadAfter        = 5 * time.Second         // without an acknowledgement; with pingAfter: noticed within 10 s (TURNS.md 6)
	deadLook         = 500 * time.Millisecond
	muteAfter        = 30 * time.Second // nobody waits for it, and it has stopped answering pings
	stuckAfter       = 20 * time.Second // the other end takes nothing of what we send
	hungAfter        = 8 * time.Second  // a question that is given up then without one word from the server ends the session
	dialTimeout      = 5 * time.Second  // for each of: name and connection, TLS, the upgrade
	maxHeaders       = 64 << 10         // bytes of the upgrade's answer
	firstSilence     = 5 * time.Second  // of a server that is to greet, in the first attempt; that much more with each that failed …
	handshakeTimeout = 15 * time.Second // … up to this, which is the whole greeting's: some servers load their models first
	refusalWait      = 2 * time.Second  // after an error that names nothing of ours, for session.updated
	errorPatience    = 3 * time.Second  // after an error beside an answer, for more of the answer
	createPatience   = 5 * time.Second  // how long response.create waits for the end of the answer before
	renewQuiet       = 15 * time.Second // nothing happened for this long: the session may be renewed
	abandonAfter     = time.Minute      // what the server has not answered by then does not keep a session from renewal
	closePatience    = 500 * time.Millisecond
)
