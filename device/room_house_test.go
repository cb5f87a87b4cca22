package device

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// A roomHouse is several devices that make a room over a real broker, as far as the room goes: each home has the shipped
// companions.Room and mqtt.Client, a cable of its own that can be pulled, a clock of its own that is hours off, and a voice
// that takes tens of milliseconds where a real one takes seconds.
//
//	home ── Room ── mqtt.Client ── Proxy ──┐
//	home ── Room ── mqtt.Client ── Proxy ──┼── broker (embedded, or Mosquitto)
//	liar ────────── mqtt.Client ───────────┘
//
// Whatever a story is about, inspect holds it against the room's invariants when it ends.
type roomHouse struct {
	t      *testing.T
	broker *roomBroker
	room   string
	start  time.Time
	done   chan struct{}  // closed at the end: voices fall silent
	wait   sync.WaitGroup // voices, kills

	mu         sync.Mutex
	members    map[round.DeviceID]bool
	also       func(round.DeviceID) bool // who else is a member; nil: nobody
	homes      []*roomHome               // that live
	all        []*roomHome
	liars      []*roomLiar
	utterances []*utterance
	said       int
	overlaps   bool // two may speak at once: the network was in two halves
}

// inRoom tells a story once on each broker, side by side with all others.
func inRoom(t *testing.T, story func(t *testing.T, h *roomHouse)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"embedded", "mosquitto"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			takeTurn(t)
			h := newRoomHouse(t, startBroker(t, kind), "home")
			story(t, h)
			h.inspect()
		})
	}
}

// turns bound how many stories are told at once: a room that is not run is late, and has a second to decide.
var turns = make(chan struct{}, roomsAtOnce)

func takeTurn(t *testing.T) {
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

func newRoomHouse(t *testing.T, broker *roomBroker, room string) *roomHouse {
	h := &roomHouse{t: t, broker: broker, room: room, start: time.Now(), done: make(chan struct{}), members: map[round.DeviceID]bool{}}
	t.Cleanup(func() {
		for _, x := range h.alive() {
			x.leave()
		}
		for _, l := range h.liars {
			l.stop()
		}
		close(h.done)
		h.wait.Wait()
		for _, x := range h.all {
			x.proxy.Close()
		}
		if t.Failed() {
			h.dump()
		}
	})
	return h
}

func (h *roomHouse) member(d round.DeviceID) bool {
	h.mu.Lock()
	known, also := h.members[d], h.also
	h.mu.Unlock()
	return known || also != nil && also(d)
}

func (h *roomHouse) ownMember(d round.DeviceID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members[d]
}

func (h *roomHouse) alive() []*roomHome {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.homes)
}

// roomBroker is one of the two kinds; it comes back on the same port.
type roomBroker struct {
	addr    string
	restart func()
}

func startBroker(t *testing.T, kind string) *roomBroker {
	t.Helper()
	if kind == "mosquitto" {
		m := mqtttest.Start(t, mqtttest.Options{})
		return &roomBroker{m.Addr(), func() {
			if err := m.Restart(); err != nil {
				t.Fatal(err)
			}
		}}
	}
	open := func(listen string) *mqtt.Broker {
		b, err := mqtt.NewBroker(mqtt.BrokerConfig{Listen: listen, Clients: 512})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open("127.77.0.2:0") // where no other test gets the port while it is restarted
	t.Cleanup(func() { b.Close() })
	addr := b.Addr().String()
	return &roomBroker{addr, func() { b.Close(); b = open(addr) }}
}

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

	mu      sync.Mutex
	entries []round.Entry
	asked   []round.MessageID
	heard   []got // packets of others, oldest first
	wire    func(p round.Packet, own bool)
	loses   func(p round.Packet) bool // what it sends and never arrives; nil: nothing
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
	if x.proxy, err = mqtttest.NewProxy(h.broker.addr); err != nil {
		h.t.Fatal(err)
	}
	x.proxy.Seed(plan.seed)
	x.proxy.Delay(0, plan.delay)
	h.mu.Lock()
	h.members[x.self] = true
	h.mu.Unlock()
	x.client, err = mqtt.NewClient(mqtt.Config{
		URL: x.proxy.URL(), Room: plan.room, Identity: id, Member: h.member, RetryMin: 50 * time.Millisecond, RetryMax: 400 * time.Millisecond,
		OnPacket: x.got, OnLink: func(up bool) { x.LinkChanged(up) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	o := plan.options
	o.Self, o.Name, o.Room, o.Cards = x.self, name, plan.room, cards
	o.Bus, o.Stage, o.OnEntry = x, x.voice, x.entry
	if x.Room, err = companions.NewRoom(o); err != nil {
		h.t.Fatal(err)
	}
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
		card, ok := findCard(companions.DefaultCards(), string(id))
		if !ok {
			card = plainCard(strings.ToUpper(string(id[:1])) + string(id[1:]))
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

func (x *roomHome) entry(e round.Entry) { x.mu.Lock(); x.entries = append(x.entries, e); x.mu.Unlock() }

// ledger are the entries so far that are so.
func (x *roomHome) ledger(is func(round.Entry) bool) (all []round.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.entries {
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
	turn = string(newTurn())
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

// until waits for what must come; nothing is measured by it.
func (h *roomHouse) until(what string, cond func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if until(ctx, cond) != nil {
		h.t.Fatalf("in vain: %s", what)
	}
}

// meet waits until all that live know each other, and who lives where.
func (h *roomHouse) meet() {
	h.t.Helper()
	want := map[round.DeviceID]int{}
	for _, x := range h.alive() {
		want[x.self] = len(x.cards)
	}
	for _, l := range h.liars {
		want[l.self] = len(l.cards)
	}
	h.until("all know each other", func() bool {
		return !slices.ContainsFunc(h.alive(), func(x *roomHome) bool { return !knows(x, want) })
	})
}

func knows(x *roomHome, want map[round.DeviceID]int) bool {
	members := x.Members()
	if len(members) != len(want) {
		return false
	}
	for _, m := range members {
		if n, ok := want[m.Device]; !ok || n != len(m.Cards) {
			return false
		}
	}
	return true
}

// over waits for the end of a message, which must be this one.
func (x *roomHome) over(id round.MessageID, want round.EntryKind) {
	x.h.t.Helper()
	x.h.until(x.name+"'s question has an end", func() bool { return len(x.ends(id)) > 0 })
	if got := x.ends(id); got[0] != want {
		x.h.t.Errorf("%s: the question ended %q; want %s", x.name, got, want)
	}
}

// quiet waits until nobody speaks or is about to, and all have seen the last round end without a speaker.
func (h *roomHouse) quiet() {
	h.t.Helper()
	h.until("quiet", func() bool {
		newest := round.Place{}
		see := func(p round.Place) {
			if newest.Epoch.Before(p.Epoch) || newest.Epoch == p.Epoch && newest.Number < p.Number {
				newest = p
			}
		}
		homes := h.alive()
		for _, x := range homes {
			if x.voice.busy() || !x.Settled() {
				return false
			}
			for _, e := range x.ledger(func(e round.Entry) bool { return e.Kind == round.EntryRound }) {
				see(*e.Place)
			}
			for _, m := range x.Recent() { // what was said and is not decided yet
				see(m.Place())
			}
		}
		for _, x := range homes {
			rounds := x.ledger(about(round.EntryRound, newest.Message))
			if len(rounds) == 0 || rounds[0].Decision.Winner != "" && !x.has(func(e round.Entry) bool {
				return e.Place != nil && *e.Place == newest && (e.Kind == round.EntryFailed || e.Kind == round.EntrySpoke)
			}) {
				return false
			}
		}
		return true
	})
}

// decided waits until all that live have decided on a message, or a later one. Those that counted the same votes must have
// chosen the same (I4). It gives the decision that counted most: a busy machine may make a vote late for some.
func (h *roomHouse) decided(id round.MessageID) (full round.Decision) {
	h.t.Helper()
	for votes, d := range h.decisions(id) {
		if votes != "" && len(d.Votes) >= len(full.Votes) {
			full = d
		}
	}
	return full
}

// decisions are all there are on a message, by the votes they counted.
func (h *roomHouse) decisions(id round.MessageID) map[string]round.Decision {
	h.t.Helper()
	all := map[string]round.Decision{}
	h.until("the decision everywhere", func() bool {
		some := 0
		for _, x := range h.alive() {
			rounds := x.ledger(func(e round.Entry) bool { return e.Kind == round.EntryRound })
			i := slices.IndexFunc(rounds, func(e round.Entry) bool { return e.Place.Message == id })
			if some += i + 1; i < 0 && !slices.ContainsFunc(rounds, func(e round.Entry) bool { return slices.Contains(h.after(id), e.Place.Message) }) {
				return false
			}
		}
		return some > 0
	})
	for _, x := range h.alive() {
		for _, e := range x.ledger(about(round.EntryRound, id)) {
			d, votes := *e.Decision, ""
			for _, v := range d.Votes {
				votes += fmt.Sprint(v.From, v.State, v.Importance, v.Selected, v.Spoke, " ")
			}
			if o, ok := all[votes]; ok && (d.Winner != o.Winner || !slices.Equal(d.Order, o.Order) || !slices.Equal(d.Extras, o.Extras)) {
				h.t.Errorf("of the same votes %s has chosen %q of %v, another %q of %v", x.name, d.Winner, d.Order, o.Winner, o.Order)
			}
			all[votes] = d
		}
	}
	return all
}

// after are the messages that came after one: a round may be overtaken by the next one before all have decided.
func (h *roomHouse) after(id round.MessageID) (ids []round.MessageID) {
	for _, x := range h.alive() {
		passed := false
		for _, m := range x.Recent() {
			if passed {
				ids = append(ids, m.ID)
			}
			passed = passed || m.ID == id
		}
	}
	return ids
}

// answered asks, waits for quiet, and wants these to have spoken, in this order.
func (x *roomHome) answered(text string, want ...round.CompanionID) round.MessageID {
	x.h.t.Helper()
	before := len(x.h.speakers())
	id := x.ask(text)
	kind := round.EntryAnswered
	if len(want) == 0 {
		kind = round.EntrySilent
	}
	x.over(id, kind)
	x.h.quiet()
	if got := x.h.speakers()[before:]; !slices.Equal(got, want) {
		x.h.t.Errorf("%q was answered by %v; want %v", text, got, want)
	}
	return id
}

// speakers are who could be heard, in order.
func (h *roomHouse) speakers() (ids []round.CompanionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.utterances {
		ids = append(ids, u.who)
	}
	return ids
}

// inspect demands, at the end of any story: one end for each person's message (I2), a reason for every silence, choices that
// the ledger reproduces (I4), and that nobody spoke while another did (I1). The last needs no allowance for the network:
// who speaks next has got the word of the end.
func (h *roomHouse) inspect() {
	h.t.Helper()
	for _, x := range h.alive() {
		x.mu.Lock()
		asked := slices.Clone(x.asked)
		x.mu.Unlock()
		for _, id := range asked {
			h.until(x.name+"'s message has an end", func() bool { return len(x.ends(id)) > 0 })
			if got := x.ends(id); len(got) != 1 {
				h.t.Errorf("%s: the message %s ended %q; want one end", x.name, id, got)
			}
		}
		if !h.member(x.self) {
			continue
		}
		entries := x.ledger(func(round.Entry) bool { return true })
		rounds, differences := companions.ReplayLedger(entries)
		for _, d := range differences {
			h.t.Errorf("%s: %v", x.name, d)
		}
		if rounds == 0 {
			h.t.Errorf("%s has decided no round: this proves nothing", x.name)
		}
		for _, e := range entries {
			if e.Kind == round.EntryRound {
				accounts(h.t, x.name, e)
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 1; i < len(h.utterances) && !h.overlaps; i++ {
		a, b := h.utterances[i-1], h.utterances[i]
		if a.place.Epoch != b.place.Epoch { // a press cut it, and takes as long as the network to say so (I3)
			continue
		}
		if !a.over || b.began < a.ended {
			h.t.Errorf("%s spoke (%v) before %s had ended (%v)", b.who, b.began, a.who, a.ended)
		}
	}
}

// accounts demands of a decision that it says of everybody in the roster whether they speak, or why not.
func accounts(t *testing.T, name string, e round.Entry) {
	t.Helper()
	d := e.Decision
	why := map[round.CompanionID]string{}
	for _, s := range d.Silent {
		why[s.Companion] = s.Reason
	}
	for _, c := range d.Roster {
		if speaks := c == d.Winner || slices.Contains(d.Extras, c); speaks == (why[c] != "") {
			t.Errorf("%s: message %s: %s speaks: %v, and is silent because %q", name, e.Place.Message, c, speaks, why[c])
		}
	}
	if d.Reason == "" {
		t.Errorf("%s: message %s: no reason", name, e.Place.Message)
	}
}

// dump tells what happened.
func (h *roomHouse) dump() {
	var b strings.Builder
	for _, x := range h.all {
		fmt.Fprintf(&b, "%s %s\n", x.name, x.self)
		for _, e := range x.ledger(func(round.Entry) bool { return true }) {
			fmt.Fprintf(&b, "  %8.0f %-10s %-6s by %.6s %s", e.AtMS, e.Kind, e.Companion, e.By, e.Why)
			if e.Place != nil {
				fmt.Fprintf(&b, " @%d/%d/%s", e.Place.Epoch.N, e.Place.Number, tail(string(e.Place.Message), 4))
			}
			if e.Message != nil {
				fmt.Fprintf(&b, " %s: %q", e.Message.From, e.Message.Text)
			}
			if d := e.Decision; d != nil {
				fmt.Fprintf(&b, " winner %q order %v absent %v limit %v silent %v", d.Winner, d.Order, d.Absent, d.AtLimit, d.Silent)
			}
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  ignored %v\n  refused %v\n  unsent %v\n", x.Stats().Ignored, x.client.Stats().Last, x.client.Stats().Unsent)
	}
	h.mu.Lock()
	for _, u := range h.utterances {
		fmt.Fprintf(&b, "%8v to %8v %s: %q heard %q\n", u.began.Round(time.Millisecond), u.ended.Round(time.Millisecond), u.who, u.text, u.heard)
	}
	h.mu.Unlock()
	h.t.Log("what happened:\n" + b.String())
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// roomLiar is a member with a key of its own that says whatever a story wants: its envelopes are good, what is in them need
// not be.
type roomLiar struct {
	*mqtt.Client
	id    mqtt.Identity
	self  round.DeviceID
	cards []round.Card
	stop  func()

	hears atomic.Pointer[func(from round.DeviceID, p round.Packet)]
}

// liar raises one. It beats, and does nothing else.
func (h *roomHouse) liar(name string, ids ...round.CompanionID) *roomLiar {
	h.t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		h.t.Fatal(err)
	}
	l := &roomLiar{id: id, self: id.ID()}
	for _, c := range cardsOf(ids...) {
		l.cards = append(l.cards, c.Card)
	}
	h.mu.Lock()
	h.members[l.self] = true
	h.mu.Unlock()
	l.Client, err = mqtt.NewClient(mqtt.Config{
		URL: "mqtt://" + h.broker.addr, Room: h.room, Identity: id, Member: h.member,
		OnPacket: func(from round.DeviceID, p round.Packet) {
			if f := l.hears.Load(); f != nil {
				(*f)(from, p)
			}
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var both sync.WaitGroup
	both.Go(func() { _ = l.Run(ctx) })
	both.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			l.Send(round.Beat{Name: name, Digest: "liar", Cards: append([]round.Card{}, l.cards...)})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	l.stop = sync.OnceFunc(func() { cancel(); both.Wait() })
	h.liars = append(h.liars, l)
	return l
}

// hear calls f for every packet; it must not block.
func (l *roomLiar) hear(f func(from round.DeviceID, p round.Packet)) { l.hears.Store(&f) }

// vote is a vote of one of its own, or of somebody else's.
func liarVote(who round.CompanionID, id round.MessageID, importance float64) round.Vote {
	v := round.Vote{From: who, MessageID: id, State: round.StateSpeak, Importance: importance, Closing: round.ClosingNone, Reason: "it says so"}
	if importance == 0 {
		v.State = round.StateListen
	}
	return v
}
