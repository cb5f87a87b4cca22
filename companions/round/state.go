package round

import (
	"cmp"
	"slices"
	"time"
)

// Machine is what one device knows of its room, as a value: Step changes a copy. Slices in it are never written to, only
// replaced, so a copy of the struct is a snapshot.
type Machine struct {
	cfg   Config
	now   time.Duration // of the newest fact, without stood; so are all times below
	stood time.Duration // how long in all this device has stood still (orders.clock)

	// Who is there (members.go).
	up        bool
	joining   time.Duration // until then it listens and does not announce its companions
	cards     []Card        // own, as the room knows them
	digest    string        // of cards
	members   []member      // others, sorted
	listed    roll          // who belongs to the room, longest first; none: nobody says
	people    []string      // names of people at home
	setting   Setting
	nextBeat  time.Duration
	askedAt   time.Duration // for cards, last
	cardsAt   time.Duration // announced, last
	cardsDue  bool          // somebody asked just after they were announced
	histories []historyDue
	asks      int           // for history, still to be made
	askNext   time.Duration // for history

	told []DeviceID    // who has told it
	met  []CompanionID // clashes of ids that were told of

	// What counts (epoch.go).
	epoch      Epoch
	turns      uint64 // companion turns of the room
	chain      int    // of them, since a person spoke
	chainKnown bool   // that has been heard here
	modelled   int    // of a model, since a person spoke
	holders    []holder
	silenced   Epoch         // the latest press elsewhere that silenced this device, as its device numbers it
	minted     bool          // epoch is what a press of another number is here
	since      time.Duration // when epoch began to count
	after      Epoch         // what counted before this device's newest press
	top        uint64        // the highest number near to it that beats have told of: the next press here goes beyond
	pressers   []presser
	quieted    time.Duration // when a press last silenced without the floor (answers.silence)
	hushed     Place         // the answer that it cut: nobody goes on from it
	starved    starvation    // of what is asked and answered here, by others' presses
	own        own
	before     []said // this person's earlier messages, for Joins

	// What was said.
	recent  []Message // sorted by place
	threads Threads
	seen    []MessageID // whose message has come, newest last
	ahead   []MessageID // of those the ones of a person that only a history told, before their press came
	early   []early     // votes whose message has not
	spoke   []spoke     // when own companions last spoke

	// The round, the floor, and what this device has to say (rounds.go, floor.go).
	rd      roundState
	floor   floor
	stakes  []stake
	claims  []heardClaim // of this epoch, newest last
	ended   bool
	away    []Card        // that were here; some may be again
	silence time.Duration // when somebody may step in
	asked   MessageID     // the message that the silence is about
}

// member is another device.
type member struct {
	Member        // with those cards whose names are its own (company.sortOut)
	told   []Card // its cards, as it says
	former []former
	digest string
	known  bool          // its cards have come
	last   time.Duration // its newest beat

	// What it counts, by its newest beat; and the newest epoch that it counts otherwise, with what that is here (answers.here).
	epoch   Epoch
	turns   uint64
	setting Setting
	climbed time.Duration // a press here went to where it counts
	theirs  Epoch
	ours    Epoch
}

// former is a name that one of a device's companions had here. Until then it still speaks under it: an answer keeps its name.
type former struct {
	id    CompanionID
	until time.Duration
}

// holder is a person with a finger on a button. Nobody claims meanwhile (ROOM.md 4.1).
type holder struct {
	device DeviceID
	epoch  Epoch
	turn   string // here only
	since  time.Duration
	until  time.Duration
}

// own is the newest message of the person here: its outcome is this device's to record (I2).
type own struct {
	message Message
	turn    string // live, nobody has been told yet that it gets no answer from here
	open    bool   // no outcome yet
	sounded bool   // an answer could be heard
}

// heardClaim is a claim from elsewhere, kept to compare it when both can be heard.
type heardClaim struct {
	from  DeviceID
	claim Claim
}

func (x heardClaim) of(d DeviceID, p Place, c CompanionID) bool {
	return x.from == d && x.claim.Place == p && x.claim.Companion == c
}

// said is a message of the person here.
type said struct {
	id MessageID
	at time.Duration
}

// early is an envelope of votes that came before its message.
type early struct {
	from  DeviceID
	votes Votes
}

// spoke is when a companion spoke last, in companion turns.
type spoke struct {
	id   CompanionID
	turn uint64
}

type historyDue struct {
	to   DeviceID
	at   time.Duration
	told []DeviceID // who has
}

// roundState is the round of the newest message of the epoch. There is one at a time: what comes for an older one is late,
// and what comes for a newer one opens it, or waits for its message.
type roundState struct {
	open    bool
	place   Place
	message Message  // without its words, where they are private
	words   string   // of the message, for whoever answers it
	device  DeviceID // where the message comes from
	view    View
	began   time.Duration

	// Voting.
	roster   []seat
	quiet    []Silent // who is here and not in the roster
	votes    []*Vote  // that count, as they came; not to be written to
	voted    seats    // whose they are
	refused  []Silent
	barred   []Silent      // whom a person's words keep from speaking, whoever votes
	called   []CompanionID // who lives here and has the floor by the rules alone
	pending  []Vote        // own votes that a model may better
	refine   time.Duration // ... until then
	deadline time.Duration

	// Decided.
	decided   bool
	decision  Decision
	tried     []CompanionID // who had the floor for this message and did not speak
	candidate CompanionID   // whose turn it is, elsewhere
	expect    time.Duration // ... if it claims until then
	grace     time.Duration // nobody claims before
	silentAt  time.Duration // nobody speaks, unless a claim is seen until then
	why       string        // the last failure
	over      bool          // answered, or nobody will
	unready   bool          // getting ready early has failed here; the next try is for the claim

	lookedAgain bool // who is to step in has been waited for once
}

// seat is a companion of the roster and where it lives.
type seat struct {
	id     CompanionID
	device DeviceID
}

// seats is a set of places in a roster, as a value: a machine is copied for each fact, and in a large room most facts are votes.
type seats [(maxCompanions + maxPerDevice + 63) / 64]uint64

func (s *seats) add(at int) { s[at/64] |= 1 << (at % 64) }

func (s *seats) has(at int) bool { return s[at/64]&(1<<(at%64)) != 0 }

// floor is who speaks or is about to, as far as known here. A claim that is seen counts even where its message has not come.
type floor struct {
	state     floorState
	device    DeviceID
	place     Place
	companion CompanionID
	claim     Claim
	since     time.Duration
	until     time.Duration // lease; 0 where this device has the floor: then its stake knows
	ends      time.Duration // when the last sample is heard, if known
}

type floorState uint8

const (
	floorFree     floorState = iota
	floorClaimed             // somebody is about to speak
	floorSounding            // somebody can be heard
)

// stake is an answer that this device prepares, is about to give, or gives.
type stake struct {
	phase     stakePhase
	place     Place
	companion CompanionID
	message   Message  // that is answered, as r.message is
	device    DeviceID // where that was said
	view      View
	decision  Decision
	claim     Claim
	due       time.Duration // end of the pause; next renewal
	limit     time.Duration
	sounded   bool
	hushed    bool // a press without the floor came when it could be heard, or nearly: its words stand as they were made

	// Of what it says.
	id    MessageID // once known
	text  string
	left  time.Duration
	ends  time.Duration
	given bool // published
}

type stakePhase uint8

const (
	stakeReady    stakePhase = iota // prepared while somebody else speaks
	stakeClaimed                    // in the pause
	stakeCued                       // may be heard, is not yet
	stakeSounding                   // can be heard
	stakeOver                       // abandoned; its SpeechEnded is still to come
)

// forget is how long an abandoned answer may take to end.
const forget = 30 * time.Second

// New makes the machine of a device that is alone: LinkChanged says when others can be reached.
func New(c Config) Machine {
	c = c.withDefaults()
	m := Machine{cfg: c}
	for _, card := range c.Cards {
		if len(m.cards) < maxPerDevice && card.ID != "" && !hasCard(m.cards, card.ID) {
			m.cards = append(m.cards, card)
		}
	}
	m.cfg.Cards = slices.Clone(m.cards)
	m.digest = digestOf(m.cards)
	for _, msg := range c.Recent[max(0, len(c.Recent)-maxRecent):] {
		if msg.ID == "" || slices.Contains(m.seen, msg.ID) || msg.Epoch.N > maxFollow {
			continue
		}
		m.recent, m.seen = append(m.recent, msg.Public()), append(m.seen, msg.ID)
		if m.epoch.Before(msg.Epoch) {
			m.epoch = msg.Epoch
		}
		if who, ok := msg.From.Companion(); ok {
			m.turns++
			m.spoke = spokeNow(m.spoke, who, m.turns)
		}
	}
	slices.SortStableFunc(m.recent, byPlace)
	m.threads = ThreadsOf(m.recent)
	m.cfg.Recent = nil
	return m
}

func spokeNow(list []spoke, id CompanionID, turn uint64) []spoke {
	return with(without(list, func(x spoke) bool { return x.id == id }), spoke{id, turn}, maxCompanions)
}

// of tells that somebody has the floor, or is about to.
func (f *floor) of(d DeviceID, p Place, c CompanionID) bool {
	return f.state != floorFree && f.device == d && f.place == p && f.companion == c
}

// try notes that a companion has had its chance; false: it had it before.
func (r *roundState) try(c CompanionID) bool {
	if slices.Contains(r.tried, c) {
		return false
	}
	r.tried = append(slices.Clip(r.tried), c)
	return true
}

// seat is where a companion stands in the roster.
func (r *roundState) seat(c CompanionID) (at int, ok bool) {
	return slices.BinarySearchFunc(r.roster, c, func(x seat, c CompanionID) int { return cmp.Compare(x.id, c) })
}
