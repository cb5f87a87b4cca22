package round

import (
	"slices"
	"time"
)

// Machine is what one device knows of its room, as a value: Step changes a copy. Slices in it are never written to, only
// replaced, so a copy of the struct is a snapshot.
type Machine struct {
	cfg   Config
	now   time.Duration // of the newest fact, without stood; so are all times below
	stood time.Duration // how long in all this device has stood still (step.clock)

	// Who is there (members.go).
	up        bool
	joining   time.Duration // until then it listens and does not announce its companions
	cards     []Card        // own, as the room knows them
	digest    string        // of cards
	members   []member      // others, sorted
	setting   Setting
	nextBeat  time.Duration
	askedAt   time.Duration // for cards, last
	cardsAt   time.Duration // announced, last
	cardsDue  bool          // somebody asked just after they were announced
	histories []historyDue
	asks      int           // for history, still to be made
	askNext   time.Duration // for history

	historyDone bool          // it has come
	met         []CompanionID // clashes of ids that were told of

	// What counts (step.go).
	epoch   Epoch
	turns   uint64 // companion turns of the room
	holders []holder
	own     own
	before  []said // this person's earlier messages, for Joins

	// What was said.
	recent []Message   // sorted by place
	seen   []MessageID // whose message has come, newest last
	early  []early     // votes whose message has not
	spoke  []spoke     // when own companions last spoke

	// The round, the floor, and what this device has to say (rounds.go, floor.go).
	rd      roundState
	floor   floor
	stakes  []stake
	claims  []heardClaim // of this epoch, newest last
	ended   bool
	silence time.Duration // when somebody may step in
	asked   MessageID     // the message that the silence is about
}

// member is another device.
type member struct {
	Member
	digest string
	known  bool          // its cards have come
	last   time.Duration // its newest beat
	press  Epoch         // its person's newest press
	over   Epoch         // that came to an end
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
	to DeviceID
	at time.Duration
}

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
		if msg.ID == "" || slices.Contains(m.seen, msg.ID) || msg.Epoch.N > maxEpoch {
			continue
		}
		m.recent, m.seen = append(m.recent, msg), append(m.seen, msg.ID)
		if m.epoch.Before(msg.Epoch) {
			m.epoch = msg.Epoch
		}
		if who, ok := msg.From.Companion(); ok {
			m.turns++
			m.spoke = spokeNow(m.spoke, who, m.turns)
		}
	}
	slices.SortStableFunc(m.recent, byPlace)
	m.cfg.Recent = nil
	return m
}

// Wake is the time of the next deadline of any kind. The driver keeps one timer, set to it, and then gives a Tick.
func (m Machine) Wake() (at time.Duration, ok bool) {
	at, ok = m.due()
	return at + m.stood, ok
}

func (m *Machine) due() (at time.Duration, ok bool) {
	see := func(t time.Duration) {
		if t > 0 && (!ok || t < at) {
			at, ok = t, true
		}
	}
	if m.up {
		see(m.joining)
		see(m.nextBeat)
		see(m.askNext)
		if m.cardsDue {
			see(m.cardsAt + m.cfg.cardsGap())
		}
		for _, x := range m.members {
			see(m.expiry(x))
		}
		for _, h := range m.histories {
			see(h.at)
		}
	}
	for _, h := range m.holders {
		see(h.until)
	}
	if r := &m.rd; r.open {
		if !r.decided {
			see(r.deadline)
			see(r.refine)
		}
		see(r.grace)
		see(r.expect)
		if m.floor.state == floorFree {
			see(r.silentAt)
		}
	}
	see(m.floor.until)
	see(m.prepareAt())
	for _, k := range m.stakes {
		see(k.due)
		see(k.limit)
	}
	see(m.silence)
	return at, ok
}

// Members are the devices present, this one included, sorted.
func (m Machine) Members() []Member {
	all := make([]Member, 0, len(m.members)+1)
	for _, x := range m.members {
		all = append(all, x.Member)
	}
	self := Member{Device: m.cfg.Self, Name: m.cfg.Name, Budget: int(m.cfg.VoteBudget / time.Millisecond), Cards: m.cards}
	at, _ := slices.BinarySearchFunc(all, self, func(a, b Member) int { return compareDevices(a.Device, b.Device) })
	return slices.Insert(all, at, self)
}

// Alone tells that no other device is here.
func (m Machine) Alone() bool { return len(m.members) == 0 }

// Epoch is the highest one seen.
func (m Machine) Epoch() Epoch { return m.epoch }

// Turns counts the companion turns of the room as known here.
func (m Machine) Turns() uint64 { return m.turns }

// Recent is what was heard, oldest first; not to be written to.
func (m Machine) Recent() []Message { return m.recent }

// Floor is who has the floor: a companion or a person; empty: nobody. Sounding tells a speaker from somebody about to speak.
func (m Machine) Floor() (who Participant, sounding bool) {
	if len(m.holders) > 0 {
		return Human(m.holders[0].device), true
	}
	if m.floor.state == floorFree {
		return "", false
	}
	return Participant(m.floor.companion), m.floor.state == floorSounding
}

// Taken tells that somebody speaks, is about to, or is being chosen: whoever is not part of the conversation waits.
func (m Machine) Taken() bool {
	r := &m.rd
	return len(m.holders) > 0 || m.floor.state != floorFree || r.open && !r.over && (!r.decided || r.decision.Winner != "")
}

// Linked tells that others could be reached.
func (m Machine) Linked() bool { return m.up }

// Setting is that of the whole room.
func (m Machine) Setting() Setting { return m.setting }

// Cards are those of the companions that live here, as the room knows them.
func (m Machine) Cards() []Card { return m.cards }

func (c Config) cardsGap() time.Duration { return c.Beat / 4 }

func byPlace(a, b Message) int {
	switch {
	case a.Epoch.Before(b.Epoch):
		return -1
	case b.Epoch.Before(a.Epoch):
		return 1
	case a.Number != b.Number:
		return a.Number - b.Number
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

func compareDevices(a, b DeviceID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func spokeNow(list []spoke, id CompanionID, turn uint64) []spoke {
	out := make([]spoke, 0, len(list)+1)
	for _, x := range list {
		if x.id != id {
			out = append(out, x)
		}
	}
	if len(out) >= maxCompanions {
		out = out[1:]
	}
	return append(out, spoke{id, turn})
}
