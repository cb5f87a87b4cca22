package companions

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"conch/companions/round"
	"conch/companions/talk"
	"conch/companions/words"
)

// RoomOptions are what a Room is made of. Self is required; everything else has a default.
type RoomOptions struct {
	Self    round.DeviceID
	Name    string       // of the device, as people say it: "kitchen"
	Room    string       // name of the room; memories of different rooms never mix
	Cards   []Card       // companions that live here
	Round   round.Config // settings of the machine; what is zero has its default. Self, Name, Cards and Recent are filled in
	Stage   Stage        // nil: nobody speaks here
	Refiner Refiner      // nil: votes by rules

	Dir       string                       // state directory, for memory and ledger; empty: kept in memory, no ledger
	Wordless  bool                         // nothing that is said goes to the disk or the log: no memory, a ledger without words
	Keep      int                          // messages that are remembered; default 50
	OnEntry   func(round.Entry)            // each entry of the ledger, from the room's goroutine; must not block
	OnFloor   func(who round.Participant)  // who has the floor now, or is about to; empty: nobody. From the room's goroutine; must not block
	OnPresses func(round.PressesCount)     // a device presses without end, or no more. From the room's goroutine; must not block
	OnOffence func(round.Offends)          // a device does too often what one may do now and then, or no more; the same
	OnTrouble func(what string, err error) // a disk that fails ("memory", "ledger"), from the writer's goroutine; nil error: it is over

	Now   func() time.Duration   // the device's monotonic clock; default: since NewRoom
	NewID func() round.MessageID // default: ULIDs
	Log   *slog.Logger           // default: nowhere
}

// Room is this device's part of a room: it owns the round machine and is the only one who moves it. All methods may be
// called from any goroutine, before, during and after Run; none of them blocks.
//
//	button, voice ──┐                              ┌─> Bus, Stage       (the room's goroutine)
//	Deliver, link ──┴─> inbox ─> room (round.Step) ┼─> Refiner          (one goroutine each, at most refineLimit)
//	refined votes ──┘     ^        │ one timer     ├─> Memory, Ledger   (a writer each)
//	                      └────────┘               └─> watchers         (a bounded channel each)
//
// Times are those of Options.Now. Run starts these goroutines and waits for them.
type Room struct {
	// fixed after NewRoom
	o      RoomOptions
	bus    Bus // nil: no other devices; several companions of this one are a room too
	log    *slog.Logger
	inbox  *roomInbox
	memory *Memory
	ledger *Ledger // nil: none

	// atomic
	started  atomic.Bool
	alone    atomic.Bool
	taken    atomic.Bool
	spoken   atomic.Uint64 // messages of persons
	members  atomic.Pointer[[]round.Member]
	setting  atomic.Pointer[round.Setting]
	settled  atomic.Bool
	call     atomic.Pointer[func()]
	wordless atomic.Bool
	seen     atomic.Uint64  // entries of other devices' ledgers
	running  sync.WaitGroup // goroutines of the refiner
	left     atomic.Int64   // the same, to count them

	// owned by Run
	m       round.Machine
	floor   round.Participant // as OnFloor was told
	quietAt time.Duration     // until then no line about ignored and refused facts
	untold  untold
	unask   func() // ends the call of the refiner that is under way; nil: none was made

	// guarded by its own lock
	watchers watchers
	entries  recentEntries // what happened, for Why
	counts   roomCounts
	silences silences
}

// NewRoom makes a Room and refuses what cannot be one. Nothing runs before Run. A state directory that cannot be used is no
// reason to refuse: OnTrouble is told when Run begins.
func NewRoom(o RoomOptions) (*Room, error) {
	if o.Self == "" {
		return nil, errors.New("room: RoomOptions.Self is missing (without a name of its own a device is in no room)")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	if o.NewID == nil {
		o.NewID = newMessageID
	}
	if o.OnEntry == nil {
		o.OnEntry = func(round.Entry) {}
	}
	if o.OnFloor == nil {
		o.OnFloor = func(round.Participant) {}
	}
	if o.OnPresses == nil {
		o.OnPresses = func(round.PressesCount) {}
	}
	if o.OnOffence == nil {
		o.OnOffence = func(round.Offends) {}
	}
	if o.OnTrouble == nil {
		o.OnTrouble = func(string, error) {}
	}
	words.Known()
	o.Round.Self, o.Round.Name, o.Round.Cards = o.Self, o.Name, roundCards(o.Cards)
	r := &Room{o: o, log: o.Log, inbox: newRoomInbox()}
	r.silences.roster, r.silences.open = talk.NewRoster(o.Self), map[string]*silence{}
	if r.o.Stage == nil {
		r.o.Stage = emptyStage{r}
	}
	r.wordless.Store(o.Wordless)
	remembered := o.Dir
	if o.Wordless {
		remembered = ""
	}
	r.memory = newMemory(remembered, o.Room, o.Keep, o.Log, o.OnTrouble)
	if o.Dir != "" {
		r.ledger = newLedger(o.Dir, o.Log, o.OnTrouble)
		r.ledger.wordless = o.Wordless
	}
	o.Round.Recent = r.memory.Recent()
	r.m = round.New(o.Round)
	r.publish()
	return r, nil
}

// newMessageID makes ULIDs (ROOM.md 1).
func newMessageID() round.MessageID {
	return round.MessageID(ulid.MustNew(ulid.Now(), rand.Reader).String()) // a random source that fails ends the process (crypto/rand)
}

func roundCards(cards []Card) []round.Card {
	out := make([]round.Card, 0, len(cards))
	for _, c := range cards {
		out = append(out, c.Card)
	}
	return out
}

// SendWith gives the room its way to the other devices, before Run.
func (r *Room) SendWith(b Bus) { r.bus = b }

// Now is the clock of all facts.
func (r *Room) Now() time.Duration { return r.o.Now() }

// Deliver is a packet that came from another device, checked by whoever carried it (its signature, its size, who may say
// it). At the bound it is dropped and counted.
func (r *Room) Deliver(from round.DeviceID, p round.Packet) {
	if _, ok := p.(round.Seen); ok { // for whoever watches, and there are many
		r.seen.Add(1)
		return
	}
	r.inbox.put(round.Received{At: r.Now(), From: from, Packet: p})
}

// LinkChanged says whether the broker can be reached.
func (r *Room) LinkChanged(up bool) { r.inbox.put(round.LinkChanged{At: r.Now(), Up: up}) }

// MembersListed says who belongs to the room, in the order in which they became members; nobody: no list does.
func (r *Room) MembersListed(list []round.Listed) {
	r.inbox.put(round.MembersListed{At: r.Now(), Members: slices.Clone(list)})
}

// PeopleKnown says how people at home are called.
func (r *Room) PeopleKnown(names []string) {
	r.inbox.put(round.PeopleKnown{At: r.Now(), Names: slices.Clone(names)})
}

// Pressed is a finger on this device's button, at its edge; the device is silent already. turn is the turn that may begin.
func (r *Room) Pressed(at time.Duration, turn string) { r.inbox.put(round.Pressed{At: at, Turn: turn}) }

// PressEnded: nothing came of the press of turn, and nothing will.
func (r *Room) PressEnded(turn, why string) {
	r.inbox.put(round.PressEnded{At: r.Now(), Turn: turn, Why: why})
}

// Said is what a person said at this device. Typed words come without a press before them. It returns the id of the
// message. To exactly one companion: it is a whisper.
func (r *Room) Said(turn, text string, to []round.Participant) round.MessageID {
	id := r.o.NewID()
	r.inbox.put(round.Said{At: r.Now(), ID: id, Turn: turn, Text: text, To: slices.Clone(to)})
	return id
}

// SaidTo is what a person said where only one companion can answer. The room may know.
func (r *Room) SaidTo(turn, text string, to []round.Participant) {
	r.inbox.put(round.Said{At: r.Now(), ID: r.o.NewID(), Turn: turn, Text: text, To: slices.Clone(to), Open: true})
}

// SaidLate are the words of a turn of which SaidTo told that nobody had written them down. open: the room may know; answered: they change
// nothing of who answers.
func (r *Room) SaidLate(turn, text string, to []round.Participant, open, answered bool) {
	said := round.Said{At: r.Now(), ID: r.o.NewID(), Turn: turn, Text: text, To: slices.Clone(to), Open: open}
	r.inbox.put(round.SaidLate{Said: said, Answered: answered})
}

// SpeechBegan: the first sample of what Prepare asked for can be heard.
func (r *Room) SpeechBegan(p round.Place, c round.CompanionID) {
	r.inbox.put(round.SpeechBegan{At: r.Now(), Place: p, Companion: c})
}

// SpeechKnown: the whole answer is known in words, and sounds for left more.
func (r *Room) SpeechKnown(p round.Place, c round.CompanionID, text string, left time.Duration) {
	r.inbox.put(round.SpeechKnown{At: r.Now(), Place: p, Companion: c, ID: r.o.NewID(), Text: text, Left: left})
}

// SpeechEnded is the end of what Prepare asked for, exactly once. At and ID are filled in where they are missing.
func (r *Room) SpeechEnded(e round.SpeechEnded) {
	if e.At == 0 {
		e.At = r.Now()
	}
	if e.ID == "" {
		e.ID = r.o.NewID()
	}
	r.inbox.put(e)
}

// Control turns a companion's, or the room's, manners (ROOM.md 6), for every device.
func (r *Room) Control(c round.Control) { r.inbox.put(round.Controlled{At: r.Now(), Control: c}) }

// SetCards says who lives here from now on.
func (r *Room) SetCards(cards []Card) {
	r.inbox.put(round.CardsChanged{At: r.Now(), Cards: roundCards(cards)})
}

// Call has f called by the room's loop, between two facts, as a sign that it still goes round. It never waits; false: one
// waits already.
func (r *Room) Call(f func()) bool {
	if !r.call.CompareAndSwap(nil, &f) {
		return false
	}
	poke(r.inbox.wake)
	return true
}

// Alone says that nobody else is here: no other device, and one companion that is not muted. A device that is alone
// answers at once, without waiting for a round. It is one atomic load.
func (r *Room) Alone() bool { return r.alone.Load() }

// Taken says that somebody in the room speaks, is about to, or is being chosen. It is one atomic load.
func (r *Room) Taken() bool { return r.taken.Load() }

// Spoken counts the messages of persons in the room since this device is in it.
func (r *Room) Spoken() uint64 { return r.spoken.Load() }

// Members are who is present, this device included, sorted by device.
func (r *Room) Members() []round.Member { return slices.Clone(*r.members.Load()) }

// Setting is the manners of the whole room, as somebody turned them last.
func (r *Room) Setting() round.Setting { return *r.setting.Load() }

// Recent are the last messages of the room, oldest first, among them those whispered to companions that live here.
func (r *Room) Recent() []round.Message { return r.memory.Recent() }

// Message is one of Recent.
func (r *Room) Message(id round.MessageID) (round.Message, bool) { return r.memory.message(id) }

// Settled says that everything reported so far has been carried out.
func (r *Room) Settled() bool {
	_, waiting := r.inbox.counts()
	return waiting == 0 && r.settled.Load()
}
