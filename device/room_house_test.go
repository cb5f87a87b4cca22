package device

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/device/wait"
	"conch/mqtt/broker"
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

// turns bound how many stories are told at once: a room that is not run is late, and has a second to decide. As many as there
// may be on a machine that has nothing else to do are far too many where others want it too, so that each begins when the
// clock comes on time for those that are under way, or when there are none.
var (
	turns   = make(chan struct{}, roomsAtOnce)
	turnsMu sync.Mutex // of who looks whether there is time for one more
)

func takeTurn(t *testing.T) { t.Cleanup(awaitTurn()) }

func awaitTurn() (done func()) {
	turnsMu.Lock()
	defer turnsMu.Unlock()
	turns <- struct{}{}
	for len(turns) > 1 && lateness() > 25*time.Millisecond {
		continue // others end: nothing that is told lasts longer than its patience
	}
	return func() { <-turns }
}

// lateness is by how much we are woken late, at worst, in a twentieth of a second.
func lateness() (worst time.Duration) {
	for range 10 {
		due := time.Now().Add(5 * time.Millisecond)
		<-time.After(5 * time.Millisecond)
		worst = max(worst, time.Since(due))
	}
	return worst
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

// roomBroker is one of the two kinds; it comes back on the same port. Or it is a cluster of several.
type roomBroker struct {
	addr    string
	restart func()
	nodes   []*mqtttest.Node
}

// near is the address of the i-th device, host:port, and where else it may go.
func (b *roomBroker) near(i int) (addr string, more []string) {
	if len(b.nodes) == 0 {
		return b.addr, nil
	}
	for k := range b.nodes[1:] {
		more = append(more, b.nodes[(i+k+1)%len(b.nodes)].URL())
	}
	return b.nodes[i%len(b.nodes)].Addr(), more
}

func startBroker(t *testing.T, kind string) *roomBroker {
	t.Helper()
	if kind == "mosquitto" {
		m := mqtttest.Start(t, mqtttest.Options{})
		return &roomBroker{addr: m.Addr(), restart: func() {
			if err := m.Restart(); err != nil {
				t.Fatal(err)
			}
		}}
	}
	open := func(listen string) *broker.Broker {
		b, err := broker.New(broker.Config{Listen: listen, Clients: 512})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open("127.77.0.2:0") // where no other test gets the port while it is restarted
	t.Cleanup(func() { b.Close() })
	addr := b.Addr().String()
	return &roomBroker{addr: addr, restart: func() { b.Close(); b = open(addr) }}
}

// until waits for what must come; nothing is measured by it.
func (h *roomHouse) until(what string, cond func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
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
		if (votes != "" || len(d.Roster) == 0) && len(d.Votes) >= len(full.Votes) {
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
		rounds, _, differences := companions.ReplayLedger(entries)
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
