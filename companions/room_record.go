package companions

import (
	"maps"
	"slices"
	"sync"

	"conch/companions/round"
)

// record writes an entry of the ledger: to the file, to those who watch, to the others, to the log.
func (r *Room) record(e round.Entry) {
	r.entries.add(e)
	r.counts.entry(e.Kind)
	if r.ledger != nil {
		r.ledger.add(e)
	}
	r.watchers.tell(e)
	r.o.OnEntry(e)
	if r.tellsOthers(e) {
		r.send(round.Seen{Entry: r.abridged(e)})
	}
	r.logEntry(e)
}

// tellsOthers: the decision as this device saw it (ROOM.md 2), and what was this device's own doing. What all have seen alike
// is told by who did it, so that a round costs each device one envelope of this kind and not one per entry.
func (r *Room) tellsOthers(e round.Entry) bool {
	switch {
	case e.Kind == round.EntryRound:
		return true
	case e.Kind == round.EntryMember:
		return false
	case e.By != "":
		return e.By == r.o.Self
	}
	return e.Message == nil || e.Message.From == round.Human(r.o.Self)
}

// maxFullDecision is for how many companions every device sends its decision with all votes. Our choice: a household.
const maxFullDecision = 8

// abridged leaves the votes out of a large room's decision, unless this device asked or answers: they have been on the wire,
// and fifty devices that repeat a hundred votes would send a megabyte for each message.
func (r *Room) abridged(e round.Entry) round.Entry {
	d := e.Decision
	if d == nil || len(d.Roster) <= maxFullDecision || e.Message != nil && e.Message.From == round.Human(r.o.Self) || slices.Contains(r.ownIDs(), d.Winner) {
		return e
	}
	short := *d
	short.Votes, short.Silent, short.Barred = nil, nil, nil
	e.Decision = &short
	return e
}

// line writes what happened to the log.
func (r *Room) logEntry(e round.Entry) {
	args := make([]any, 0, 20)
	if turn := r.turnOf(e); turn != "" {
		args = append(args, "turn", turn)
	}
	if e.Place != nil {
		args = append(args, "place", placeText(*e.Place), "message", e.Place.Message)
	}
	if e.Companion != "" {
		args = append(args, "companion", e.Companion)
	}
	if e.By != "" {
		args = append(args, "by", e.By)
	}
	if e.Why != "" {
		args = append(args, "why", e.Why)
	}
	if d := e.Decision; d != nil && e.Kind == round.EntryRound {
		args = append(args, "winner", d.Winner, "reason", d.Reason, "votes", len(d.Votes), "roster", len(d.Roster), "waited_ms", d.Waited)
	}
	args = r.wordlessly(args)
	switch e.Kind {
	case round.EntryPress:
		r.log.Debug(logRoomPress, args...)
	case round.EntryRound:
		r.log.Info(logRoomRound, args...)
	case round.EntryClaim:
		r.log.Info(logRoomClaim, args...)
	case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded, round.EntryEnded:
		r.log.Info(logRoomEnd, append(args, "how", e.Kind)...)
	case round.EntryMember:
		r.log.Info(logRoomMember, args...)
	case round.EntryControl:
		r.log.Info(logRoomControl, args...)
	default:
		r.log.Info(logRoomFloor, append(args, "how", e.Kind, "heard_ms", e.HeardMS)...)
	}
}

// turnOf is the turn that an entry belongs to, as far as this device knows.
func (r *Room) turnOf(e round.Entry) string {
	if e.Message != nil {
		return e.Message.Turn
	}
	if e.Place != nil {
		m, _ := r.memory.message(e.Place.Message)
		return m.Turn
	}
	return ""
}

// RoomStats are counts since the room was made, and sizes of what waits now.
type RoomStats struct {
	Facts   uint64                     `json:"facts"`   // that the machine was told
	Sent    uint64                     `json:"sent"`    // packets
	Seen    uint64                     `json:"seen"`    // entries of other devices' ledgers
	Entries map[round.EntryKind]uint64 `json:"entries"` // of the ledger, by kind
	Ignored map[string]uint64          `json:"ignored"` // facts that changed nothing, by reason
	Refused struct {                   // at a bound of the inbox
		Local   uint64 `json:"local"`
		Presses uint64 `json:"presses"`
		Packets uint64 `json:"packets"`
	} `json:"refused"`
	Refined map[string]uint64 `json:"refined"` // votes that no model improved, by reason
	Stage   StageStats        `json:"stage"`
	Waiting int               `json:"waiting"`  // facts
	Models  int               `json:"models"`   // calls of the refiner that have not ended
	Watch   int               `json:"watching"` // who watches
	Missed  uint64            `json:"missed"`   // entries that a slow watcher lost
	Ledger  LedgerStats       `json:"ledger"`
	Memory  MemoryStats       `json:"memory"`
}

// StageStats count orders to the device.
type StageStats struct {
	Orders uint64 `json:"orders"`
	Hushes uint64 `json:"hushes"`
	Slow   uint64 `json:"slow"` // took longer than 100 ms
	Panics uint64 `json:"panics"`
}

// Stats counts what happened.
func (r *Room) Stats() RoomStats {
	var s RoomStats
	r.counts.fill(&s)
	var refused inboxRefused
	refused, s.Waiting = r.inbox.counts()
	s.Refused.Local, s.Refused.Presses, s.Refused.Packets = refused.local, refused.presses, refused.outside
	s.Seen = r.seen.Load()
	s.Models = int(r.left.Load())
	s.Watch, s.Missed = r.watchers.stats()
	if r.ledger != nil {
		s.Ledger = r.ledger.stats()
	}
	s.Memory = r.memory.stats()
	return s
}

const maxReasons = 100 // kinds of reasons that are counted apart; further ones are counted together

// roomCounts are the counters of the room's goroutine; a lock makes them visible.
type roomCounts struct {
	mu          sync.Mutex
	facts, sent uint64
	stage       StageStats
	entries     map[round.EntryKind]uint64
	ignored     map[string]uint64
	unrefined   map[string]uint64
}

// performed counts an order to the device.
func (c *roomCounts) performed(e round.Effect, slow, panicked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.(type) {
	case round.Hush:
		c.stage.Hushes++
	case round.Prepare, round.Speak, round.Abandon, round.Lost, round.Remember, round.Correct, round.Rename:
		c.stage.Orders++
	}
	if slow {
		c.stage.Slow++
	}
	if panicked {
		c.stage.Panics++
	}
}

func (c *roomCounts) fact() { c.mu.Lock(); c.facts++; c.mu.Unlock() }
func (c *roomCounts) send() { c.mu.Lock(); c.sent++; c.mu.Unlock() }

func (c *roomCounts) entry(k round.EntryKind) { countOf(&c.mu, &c.entries, k, "other") }
func (c *roomCounts) ignore(why string)       { countOf(&c.mu, &c.ignored, why, "other") }
func (c *roomCounts) refined(why string)      { countOf(&c.mu, &c.unrefined, why, "other") }

func countOf[K comparable](mu *sync.Mutex, of *map[K]uint64, k, other K) {
	mu.Lock()
	defer mu.Unlock()
	if *of == nil {
		*of = map[K]uint64{}
	}
	if _, known := (*of)[k]; !known && len(*of) >= maxReasons {
		k = other
	}
	(*of)[k]++
}

func (c *roomCounts) fill(s *RoomStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Facts, s.Sent, s.Stage = c.facts, c.sent, c.stage
	s.Entries, s.Ignored, s.Refined = maps.Clone(c.entries), maps.Clone(c.ignored), maps.Clone(c.unrefined)
}
