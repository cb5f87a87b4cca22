package round

import (
	"cmp"
	"time"

	"conch/companions/words"
)

// Config is what a device brings into a room. A field that is zero means its default, but for those that say otherwise.
type Config struct {
	Self   DeviceID
	Name   string    // of the device, as people say it: "kitchen"
	Cards  []Card    // the companions that live here
	Page   string    // address of its page in the house (PageOf); empty: none
	Recent []Message // what was heard before a restart, oldest first

	Words      *words.Languages // by which what is said here is understood; nil: those that come with conch
	Manners    Manners
	VoteBudget time.Duration // for a model to better the rules' votes; 0: votes are the rules', at once (at most 1 s)
	Sure       float64       // certainty of the rules from which no model is asked; 0: it always is where it could change anything
	Calls      int           // of a model between two messages of people (2)
	Margin     time.Duration // for the network, on top of the longest vote budget present (300 ms); the sum is at most 1 s
	Pause      time.Duration // between two turns, while better claims may come (200 ms: the gap people leave)
	NoPause    bool          // no pause at all: Pause is 0
	Prepare    time.Duration // so long before the last sample the next one may get its answer ready (1500 ms)
	ClaimLimit time.Duration // from the decision, or from when the floor is free, to a claim by the winner elsewhere (1 s)
	StartLimit time.Duration // from a claim to its first sample (10 s: an answer that needs a tool takes that long)
	Lease      time.Duration // of the floor, renewed while somebody speaks (3 s)
	Renew      time.Duration // of the lease (1 s)
	SpeakLimit time.Duration // longest answer; then it is abandoned (5 min)
	Hold       time.Duration // longest that a press keeps the floor without a word of what became of it (75 s: an utterance of
	// 60 s, its tail, its transcript)
	Silence  time.Duration // after which one may step in where a person's question hangs in the air (10 s)
	Together time.Duration // messages of one person this close get one answer (2 s)
	Beat     time.Duration // of presence (1 s)
	Missed   int           // beats missed: gone (3)
	Presses  int           // of one other device in a minute that count, and a third of them in ten seconds (90)
	Join     time.Duration // a newcomer listens so long before it announces its companions (400 ms)

	judge func(View, []CompanionID) []Vote // nil: the rules; stories of the machine say how votes are
}

// DefaultConfig has every default of ROOM.md.
func DefaultConfig() Config {
	return Config{
		Manners: DefaultManners(),
		Margin:  300 * time.Millisecond, Pause: 200 * time.Millisecond, Prepare: 1500 * time.Millisecond,
		ClaimLimit: time.Second, StartLimit: 10 * time.Second,
		Lease: 3 * time.Second, Renew: time.Second, SpeakLimit: 5 * time.Minute, Hold: 75 * time.Second,
		Silence: 10 * time.Second, Together: 2 * time.Second,
		Beat: time.Second, Missed: 3, Presses: 90, Join: 400 * time.Millisecond, Calls: 2,
	}
}

// longestWait is how long a round waits for votes at most, whatever the members say (ROOM.md 3.3).
const longestWait = time.Second

// Bounds. At a bound: the oldest message, id or early vote is let go of; a 65th device, a 129th companion, and a 17th of one
// device are not taken in, and reported; of more speeches than a device can have under way the oldest is forgotten.
const (
	maxRecent      = 50  // messages that judgement sees
	maxSeen        = 256 // ids of messages, so that the same one twice counts once
	maxEarly       = 32  // envelopes of votes before their message
	maxEarlyEach   = 4   // of these, of one device
	maxDevices     = 64
	maxCompanions  = 128
	maxPerDevice   = 16
	maxPeople      = 64 // whose names a device knows
	maxHolders     = 64 // people with a finger on a button
	maxStakes      = 8
	maxClaims      = 8 // from elsewhere, of one epoch
	maxJoins       = 8
	maxHistories   = 4
	historyTellers = 2       // that a newcomer hears
	maxAsks        = 3       // for history
	maxAhead       = 64      // numbers that are further apart are not of one count
	maxOld         = 1 << 16 // ... but that a press goes to be heard by a device of version 1
	maxFollow      = 1 << 52 // the highest number that is gone to where others count; from there no step is large
	maxEpoch       = 1 << 53 // what JSON numbers hold exactly; a number beyond it is nobody's press
)

func (c Config) withDefaults() Config {
	d := DefaultConfig()
	if c.Manners == (Manners{}) {
		c.Manners = d.Manners
	}
	defaults := d.times()
	for i, t := range c.times() {
		if *t <= 0 {
			*t = *defaults[i]
		}
	}
	if c.NoPause {
		c.Pause = 0
	}
	if c.Missed <= 0 {
		c.Missed = d.Missed
	}
	if c.Presses <= 0 {
		c.Presses = d.Presses
	}
	if c.Calls <= 0 {
		c.Calls = d.Calls
	}
	c.VoteBudget = min(max(c.VoteBudget, 0), longestWait)
	c.Name = cmp.Or(c.Name, string(c.Self))
	return c
}

// times are those that have a default.
func (c *Config) times() []*time.Duration {
	return []*time.Duration{
		&c.Margin, &c.Pause, &c.Prepare, &c.ClaimLimit, &c.StartLimit, &c.Lease, &c.Renew, &c.SpeakLimit, &c.Hold,
		&c.Silence, &c.Together, &c.Beat, &c.Join,
	}
}
