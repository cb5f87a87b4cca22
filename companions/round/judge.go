package round

import (
	"cmp"
	"time"

	"conch/companions/words"
)

// View is everything that a vote is made from.
type View struct {
	Message Message
	Members []Member      // present, this device included, sorted by device
	Away    []Card        // of companions that were here: their names are nobody else's
	Recent  []Message     // heard before Message, oldest first
	Threads Threads       // before Message
	At      time.Duration // when it came, by this device's clock
	Turns   uint64        // companion turns of the room so far
	Room    Involvement   // of the whole room; "" is medium
	Manners Manners
	Words   *words.Languages // nil: those that come with conch
}

// languages are those by which votes understand. What all devices have to decide alike is understood by those that all have.
func languages(x *words.Languages) *words.Languages { return cmp.Or(x, words.Known()) }

// Manners are the settings of a room's judgement. Every one has an effect, by test.
type Manners struct {
	Threshold  float64 // of the initiative score; 5
	ChainLimit int     // companion turns without a person; 6
	Handoffs   int     // hand-offs from companion to companion in a row that are followed
	ExtraLimit int     // additions after an answer; 2
	ShareLimit float64 // of the last ten companion turns; 0.6
	Repetition float64 // similarity at which a turn counts as a repetition; 0.7
}

// DefaultManners are those of ROOM.md.
func DefaultManners() Manners {
	return Manners{Threshold: 5, ChainLimit: 6, Handoffs: 3, ExtraLimit: 2, ShareLimit: 0.6, Repetition: 0.7}
}

// JudgeAll is the vote of each of the companions on a message, by rules: what obliges it or forbids it to speak first (ROOM.md 4,
// obligations.go), then the initiative score (ROOM.md 5, score.go). The same view gives the same votes.
func JudgeAll(v View, ids []CompanionID) []Vote {
	return each(ids, newScene(v).vote)
}
