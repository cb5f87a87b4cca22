package device

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// homePlan is what a story may want to be different.
type homePlan struct {
	options companions.RoomOptions // Self, Name, Room, Cards, Bus, Stage, OnEntry are filled in
	room    string
	delay   time.Duration // of its cable, at most, each way; by chance from seed
	seed    uint64
}

// testWaits are the machine's times where its own would make a test either long or a judge of the machine it runs on: nobody
// is late, dead or silent because the tests of the whole project want the processor at once, unless a story says so.
func testWaits() round.Config {
	return round.Config{
		Join: 200 * time.Millisecond, Pause: 20 * time.Millisecond, Margin: time.Second,
		ClaimLimit: 10 * time.Second, Missed: 10, Lease: 20 * time.Second, StartLimit: 30 * time.Second,
	}
}

// quickClaims is for stories in which somebody wins and says nothing.
func quickClaims(p *homePlan) { p.options.Round.ClaimLimit = time.Second }

// roomHome is one device of the room.
type roomHome struct {
	*companions.Room
	h      *roomHouse
	name   string
	self   round.DeviceID
	cards  []companions.Card
	proxy  *mqtttest.Proxy
	client *mqtt.Client
	voice  *roomVoice
	cancel context.CancelFunc
	ended  chan error
	gone   sync.Once
	dead   bool // guarded by h.mu: nobody hears it

	ledgerCopy

	mu    sync.Mutex
	asked []round.MessageID
	heard []got // packets of others, oldest first
	wire  func(p round.Packet, own bool)
	loses func(p round.Packet) bool // what it sends and never arrives; nil: nothing
}

// got is a packet and who sent it.
type got struct {
	from round.DeviceID
	p    round.Packet
}

// raise makes a home and starts it.
func (h *roomHouse) raise(name string, cards []companions.Card, change ...func(*homePlan)) *roomHome {
	h.t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		h.t.Fatal(err)
	}
	x := &roomHome{h: h, name: name, self: id.ID(), cards: cards, ended: make(chan error, 2)}
	x.voice = newRoomVoice(x)
	plan := homePlan{room: h.room}
	plan.options.Round = testWaits()
	off := time.Duration(len(h.all)*5+1) * time.Hour // clocks of devices have nothing to do with each other
	plan.options.Now = func() time.Duration { return off + time.Since(h.start) }
	for _, f := range change {
		f(&plan)
	}
	addr, more := h.broker.near(len(h.all))
	if x.proxy, err = mqtttest.NewProxy(addr); err != nil {
		h.t.Fatal(err)
	}
	x.proxy.Seed(plan.seed)
	x.proxy.Delay(0, plan.delay)
	h.mu.Lock()
	h.members[x.self] = true
	h.mu.Unlock()
	x.client, err = mqtt.NewClient(mqtt.Config{
		URL: x.proxy.URL(), More: more, Room: plan.room, Identity: id, Member: h.member, RetryMin: 50 * time.Millisecond, RetryMax: 400 * time.Millisecond,
		OnPacket: x.got, OnLink: func(up bool) { x.LinkChanged(up) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	o := plan.options
	o.Self, o.Name, o.Room, o.Cards = x.self, name, plan.room, cards
	o.Stage, o.OnEntry = x.voice, x.entry
	if x.Room, err = companions.NewRoom(o); err != nil {
		h.t.Fatal(err)
	}
	x.SendWith(x)
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(context.Background())
	go func() { x.ended <- x.Room.Run(ctx) }()
	go func() { x.ended <- x.client.Run(ctx) }()
	h.mu.Lock()
	h.homes, h.all = append(h.homes, x), append(h.all, x)
	h.mu.Unlock()
	return x
}

// three raises the household that comes with conch, and waits until all know each other.
func (h *roomHouse) three(change ...func(*homePlan)) (kitchen, bedroom, hall *roomHome) {
	h.t.Helper()
	kitchen = h.raise("kitchen", cardsOf("ada"), change...)
	bedroom = h.raise("bedroom", cardsOf("ben"), change...)
	hall = h.raise("hall", cardsOf("cleo"), change...)
	h.meet()
	return kitchen, bedroom, hall
}

// cardsOf are cards that come with conch, or plain ones.
func cardsOf(ids ...round.CompanionID) (cards []companions.Card) {
	for _, id := range ids {
		card, ok := companions.FindCard(companions.DefaultCards(), string(id))
		if !ok {
			card = companions.PlainCard(strings.ToUpper(string(id[:1])) + string(id[1:]))
		}
		cards = append(cards, card)
	}
	return cards
}

// got is a packet of another device.
func (x *roomHome) got(from round.DeviceID, p round.Packet) {
	x.mu.Lock()
	x.heard = append(x.heard, got{from, p})
	wire := x.wire
	x.mu.Unlock()
	x.Deliver(from, p)
	if wire != nil {
		wire(p, false)
	}
}

// Send makes a home the bus of its room.
func (x *roomHome) Send(p round.Packet) {
	x.mu.Lock()
	wire, loses := x.wire, x.loses
	x.mu.Unlock()
	if loses == nil || !loses(p) {
		x.client.Send(p)
	}
	if wire != nil {
		wire(p, true)
	}
}

// onWire is told of every packet that this home sends or gets; it must not block.
func (x *roomHome) onWire(f func(p round.Packet, own bool)) { x.mu.Lock(); x.wire = f; x.mu.Unlock() }

// lose lets what is so be sent and never arrive.
func (x *roomHome) lose(is func(round.Packet) bool) { x.mu.Lock(); x.loses = is; x.mu.Unlock() }

// packets are those of one kind that came, oldest first.
func packets[P round.Packet](x *roomHome) (all []P) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, g := range x.heard {
		if p, ok := g.p.(P); ok {
			all = append(all, p)
		}
	}
	return all
}

// ledgerCopy keeps what a device's ledger was given.
type ledgerCopy struct {
	entriesMu sync.Mutex // guards entries
	entries   []round.Entry
}

func (l *ledgerCopy) entry(e round.Entry) {
	l.entriesMu.Lock()
	defer l.entriesMu.Unlock()
	l.entries = append(l.entries, e)
}

// ledger are the entries so far that are so.
func (l *ledgerCopy) ledger(is func(round.Entry) bool) (all []round.Entry) {
	l.entriesMu.Lock()
	defer l.entriesMu.Unlock()
	for _, e := range l.entries {
		if is(e) {
			all = append(all, e)
		}
	}
	return all
}

// about are entries of a kind about a message.
func about(kind round.EntryKind, id round.MessageID) func(round.Entry) bool {
	return func(e round.Entry) bool { return e.Kind == kind && e.Place != nil && e.Place.Message == id }
}

func (x *roomHome) has(is func(round.Entry) bool) bool { return len(x.ledger(is)) > 0 }

// leave ends a home properly.
func (x *roomHome) leave() { x.end(false) }

// kill ends a home as a crash does: nothing more comes from it, and its connection breaks.
func (x *roomHome) kill() { x.end(true) }

func (x *roomHome) end(dead bool) {
	x.gone.Do(func() {
		x.h.mu.Lock()
		x.dead = dead
		x.h.homes = slices.DeleteFunc(x.h.homes, func(o *roomHome) bool { return o == x })
		x.h.mu.Unlock()
		if x.voice.cut("the device has ended"); dead {
			x.proxy.Close()
		}
		x.cancel()
		for range 2 {
			if err := <-x.ended; err != nil {
				x.h.t.Errorf("%s: a part failed: %v", x.name, err)
			}
		}
	})
}

// press is a finger on the button: the device is silent at once, and the room is told.
func (x *roomHome) press() (turn string) {
	turn = rand.Text()
	x.voice.cut("pressed here")
	x.Pressed(x.Now(), turn)
	return turn
}

// ask is a press and words.
func (x *roomHome) ask(text string, to ...round.Participant) round.MessageID {
	return x.words(x.press(), text, to...)
}

// words are what the press of turn was for.
func (x *roomHome) words(turn, text string, to ...round.Participant) round.MessageID {
	id := x.Said(turn, text, to)
	x.mu.Lock()
	x.asked = append(x.asked, id)
	x.mu.Unlock()
	return id
}

// ends are how a message of this home's person ended.
func (x *roomHome) ends(id round.MessageID) (kinds []round.EntryKind) {
	for _, e := range x.ledger(func(e round.Entry) bool { return e.Place != nil && e.Place.Message == id }) {
		switch e.Kind {
		case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded:
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}
