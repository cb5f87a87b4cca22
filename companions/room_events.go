package companions

// Names of the log lines of the room: thing.what, the message of the slog record. A line that belongs to a turn carries it
// as the attribute turn, one that belongs to a round its place.
const (
	logRoomPress   = "room.press"   // debug: a person took the floor
	logRoomOffence = "room.offence" // another device does too often what one may do now and then, which does not count here; or no more
	logRoomPresses = "room.presses" // another device presses without end, and what it presses does not count here; or again
	logRoomRound   = "room.round"   // a round was decided: winner, reason, votes
	logRoomClaim   = "room.claim"   // a companion took the floor
	logRoomFloor   = "room.floor"   // the floor changed otherwise: withdrawn, failed, instead, spoke
	logRoomEnd     = "room.end"     // a message has its end: answered, silent, superseded; or the conversation is over
	logRoomHush    = "room.hush"    // this device was silenced by the room
	logRoomMember  = "room.member"  // somebody came, changed or went
	logRoomControl = "room.control" // manners were turned
	logRoomLink    = "room.link"    // the broker can, or cannot, be reached
	logRoomRenamed = "room.renamed" // a companion of this device is called differently here
	logRoomIgnored = "room.ignored" // facts that changed nothing; at most one line a second
	logRoomRefused = "room.refused" // facts refused at a bound of the inbox; at most one line a second
	logRoomRefine  = "room.refine"  // the model's votes came late, or not at all
	logRoomStage   = "room.stage"   // the device was slow with an order, failed at it, or had too many
	logRoomLeft    = "room.left"    // goroutines of a refiner or the stage that did not end in time
	logRoomDisk    = "room.disk"    // memory or ledger cannot be written, or can again
)
