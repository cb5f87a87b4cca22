package mqtt

import (
	"cmp"
	"slices"
	"time"

	"conch/companions/round"
)

// Bounds of the guard.
const (
	maxPeers      = 256                   // devices of a room
	maxCandidates = 3                     // sessions of one device that are waiting for their proof
	maxHeld       = 64                    // envelopes of one candidate that wait with it
	maxHeldBytes  = 128 << 10             // and their bytes
	maxHeldAll    = 4 << 20               // bytes of all candidates of all devices; then whoever has most there pays
	windowBits    = 2048                  // numbers within which envelopes may overtake each other; a broker's queue may hold 1,000
	helloGap      = 10 * time.Millisecond // between two hellos; what becomes due meanwhile goes into one
	proveAgain    = time.Second           // a device that has not answered is asked again
	heldFor       = 5 * time.Second
	paceFor       = 30 * time.Second // then the next beat says again how old a session is
	clocksApart   = 5000             // two clocks differ by one second in so many, at most
	helloSpare    = 6                // hellos that one device can ask for at once
	helloEvery    = 2 * time.Second  // and then one in this time: what else it asks for waits, and nobody else does
	willSeq       = 1                // the number of the last will of a session
)

// guard tells what is said now from what was recorded (doc.go, "Recordings"). It is a plain value with the time given by
// the caller; the client owns one for each session, under its lock.
type guard struct {
	self    round.DeviceID
	session string
	born    time.Duration
	next    uint64 // number of the next envelope
	peers   map[round.DeviceID]*peer

	hellos   [64]sentHello // when our own hellos went out, newest over oldest
	sent     int           // how many did
	lastSent time.Duration
	due      bool // false: no peer has anything for a hello; true: one may
	row      int  // hellos that followed each other within a second: the gap doubles with each, to 320 ms
	held     int  // bytes of all candidates

	void int // envelopes that waited for a proof and were too old when it came
	lost int // that had to make room for others
}

type sentHello struct {
	seq uint64
	at  time.Duration
}

// peer is what is known of another device.
type peer struct {
	live       *session
	candidates []*session // oldest first
	last       time.Duration

	owed  map[string]heard // proofs to give, by the session they are for
	asked time.Duration    // when it was last asked for a proof
	doubt bool             // it is to be asked
	held  int              // bytes of its candidates
	spent time.Duration    // its hellos are paid for until then; no more than helloSpare of them in advance
}

// due is when a hello may go out for the sake of this device; false: it has nothing for one.
func (p *peer) due(after time.Duration) (time.Duration, bool) {
	if len(p.owed) == 0 && !p.doubt {
		return 0, false
	}
	return max(after, p.spent-(helloSpare-1)*helloEvery), true
}

// session is one connection of a device.
type session struct {
	id     string
	window window
	gone   bool          // its last will has been delivered
	since  time.Duration // when it was first heard of; when live: believed
	pace   pace

	held  []*Envelope // while it is a candidate
	bytes int
	hello uint64 // highest number of a hello that was answered: the same one again gets no second answer
}

func newGuard(self round.DeviceID, session string, now time.Duration) *guard {
	return &guard{self: self, session: session, born: now, next: willSeq + 1, peers: map[round.DeviceID]*peer{}}
}

// seq gives the next number.
func (g *guard) seq() uint64 {
	n := g.next
	g.next++
	return n
}

// stale says, before the trouble of checking a signature, what need not be looked at further: the guard's state cannot be
// changed by it. An empty reason says nothing yet.
func (g *guard) stale(from round.DeviceID, session string, seq uint64) Reason {
	p := g.peers[from]
	if p == nil {
		return ""
	}
	if p.live == nil || p.live.id != session {
		return ""
	}
	if seq == willSeq {
		if p.live.gone {
			return ReasonOld
		}
		return ""
	}
	return p.live.window.look(seq)
}

// pace is how the age of a session stands to the receiver's clock: nothing that was made at age a has come before a+off.
type pace struct {
	off, at time.Duration
	known   bool
}

// learn takes what came from a session that is believed. The second way, which anybody may feed late, only makes off smaller.
func (g *guard) learn(now time.Duration, e *Envelope, near bool) {
	p := g.peers[e.From]
	if p == nil || p.live == nil || p.live.id != e.Session || e.age <= 0 || e.age > maxMS*365 {
		return
	}
	was, off := p.live.pace, now-time.Duration(e.age)*time.Millisecond
	if was.known && off < was.off || !near && (!was.known || now-was.at > paceFor) {
		p.live.pace = pace{off, now, true}
	}
}

// late says that an envelope of a session that is believed was made more than most ago, by what has come of it quickest.
func (g *guard) late(now time.Duration, e *Envelope, most time.Duration) bool {
	p := g.peers[e.From]
	if p == nil || p.live == nil || !p.live.pace.known || e.age <= 0 || e.age > maxMS*365 {
		return true
	}
	was := p.live.pace
	return now-time.Duration(e.age)*time.Millisecond-was.off > most+(now-was.at)/clocksApart
}

// believes says whether a session has shown that it lives.
func (g *guard) believes(from round.DeviceID, session string) bool {
	p := g.peers[from]
	return p != nil && p.live != nil && p.live.id == session
}

// admit judges an envelope whose signature is good. It gives what is to be delivered now, in order: nothing, the
// envelope, or what has waited with it.
func (g *guard) admit(now time.Duration, e *Envelope) ([]*Envelope, Reason) {
	p, r := g.peer(now, e.From)
	if r != "" {
		return nil, r
	}
	if s := p.live; s != nil && s.id == e.Session {
		p.last = now
		return g.fromLive(now, p, s, e)
	}
	return g.fromCandidate(now, p, e)
}

func (g *guard) fromLive(now time.Duration, p *peer, s *session, e *Envelope) ([]*Envelope, Reason) {
	if _, gone := e.Packet.(round.Gone); gone || e.Seq == willSeq {
		// The will was made when the session began and comes when it has ended, under a number of its own.
		if !gone || e.Seq != willSeq || s.gone {
			return nil, ReasonOld
		}
		s.gone = true
		return []*Envelope{e}, ""
	}
	if r := s.window.take(e.Seq); r != "" {
		return nil, r
	}
	if e.hello != nil {
		g.owe(now, p, e)
		return nil, ""
	}
	return []*Envelope{e}, ""
}

// fromCandidate keeps what a session says until it has shown that it lives.
func (g *guard) fromCandidate(now time.Duration, p *peer, e *Envelope) ([]*Envelope, Reason) {
	if e.Seq == willSeq {
		return nil, ReasonUnproven
	}
	g.due = true
	i := slices.IndexFunc(p.candidates, func(s *session) bool { return s.id == e.Session })
	if i < 0 {
		if len(p.candidates) == maxCandidates {
			g.release(p, p.candidates[0])
			p.candidates = p.candidates[1:]
		}
		p.candidates = append(p.candidates, &session{id: e.Session, since: now})
		i = len(p.candidates) - 1
		p.doubt, p.asked = true, 0
	}
	s := p.candidates[i]
	if e.hello != nil {
		if h, ok := g.proof(p, e.hello); ok {
			out := g.promote(now, p, s, e, h)
			g.owe(now, p, e)
			return out, ""
		}
		if e.Seq > s.hello { // whoever is new to us may not have met us either
			s.hello = e.Seq
			g.owe(now, p, e)
		}
	}
	if now-p.asked >= proveAgain {
		p.doubt = true
	}
	if _, known := p.owed[e.Session]; !known && e.hello == nil && p.doubt {
		p.owe(heard{Session: e.Session, Since: g.next})
	}
	if e.hello != nil {
		return nil, ""
	}
	if len(s.held) == maxHeld || s.bytes+e.Size > maxHeldBytes {
		return nil, ReasonUnproven
	}
	if slices.ContainsFunc(s.held, func(h *Envelope) bool { return h.Seq == e.Seq }) {
		return nil, ReasonRepeated
	}
	if g.held+e.Size > maxHeldAll && !g.makeRoom(p) {
		return nil, ReasonUnproven
	}
	s.held = append(s.held, e)
	s.bytes += e.Size
	p.held += e.Size
	g.held += e.Size
	return nil, ""
}

// makeRoom gives up what the device waits with that has most; false when that is p itself.
func (g *guard) makeRoom(p *peer) bool {
	most := p
	for _, o := range g.peers {
		if o.held > most.held {
			most = o
		}
	}
	if most == p {
		return false
	}
	s := slices.MaxFunc(most.candidates, func(a, b *session) int { return a.bytes - b.bytes })
	g.lost += len(s.held)
	g.release(most, s)
	return true
}

// release gives up what a candidate waits with.
func (g *guard) release(p *peer, s *session) {
	p.held -= s.bytes
	g.held -= s.bytes
	s.held, s.bytes = nil, 0
}

// proof finds the entry of a hello that names our session. While another session of the device is believed, it must answer a
// hello that went out later than that: only a session that came after the other one can. So a recorded or late proof of an
// earlier session never puts out a later one.
func (g *guard) proof(p *peer, h *hello) (heard, bool) {
	for _, h := range h.Heard {
		if h.Session != g.session {
			continue
		}
		if p.live == nil {
			return h, true
		}
		at, known := g.sentAt(h.Hello)
		return h, known && at > p.live.since
	}
	return heard{}, false
}

// promote makes a candidate the device's session. What it held is delivered as far as it cannot be older than our own:
// our hello h.Hello was heard there after it went out here, and the session had begun AgeMS before it was heard.
// If that was after we began to listen, nothing of it can have been recorded before; otherwise only what was numbered
// after it had heard us is sure to be new.
func (g *guard) promote(now time.Duration, p *peer, s *session, e *Envelope, h heard) []*Envelope {
	if p.live != nil {
		delete(p.owed, p.live.id)
	}
	p.candidates = slices.DeleteFunc(p.candidates, func(c *session) bool { return c == s })
	// Our own time between two envelopes that were made in this order bounds the sender's, whatever its clock shows. Clocks
	// of two devices may run apart by a little (1 %), and milliseconds are cut off.
	at, known := g.sentAt(h.Hello)
	age := time.Duration(h.AgeMS) * time.Millisecond
	if young := known && h.AgeMS >= 0 && h.AgeMS < maxMS*365 && at-age-age/100 >= g.born; !young {
		s.window.start(min(h.Since, e.Seq))
	}
	held := s.held
	g.release(p, s)
	p.live, p.last, p.doubt = s, now, false
	s.since = now
	slices.SortFunc(held, func(a, b *Envelope) int { return cmp.Compare(a.Seq, b.Seq) })
	var out []*Envelope
	for _, h := range held {
		if s.window.take(h.Seq) == "" {
			out = append(out, h)
		} else {
			g.void++
		}
	}
	s.window.take(e.Seq)
	return out
}

// owe notes the proof that a hello asks for, or that its sender, new to us, will ask for.
func (g *guard) owe(now time.Duration, p *peer, e *Envelope) {
	if slices.Contains(e.hello.Prove, g.self) || p.live == nil || p.live.id != e.Session {
		g.due = true
		p.owe(heard{Session: e.Session, Hello: e.Seq, AgeMS: (now - g.born).Milliseconds() + 1, Since: g.next})
	}
}

func (p *peer) owe(h heard) {
	if p.owed == nil {
		p.owed = map[string]heard{}
	}
	if _, ok := p.owed[h.Session]; !ok && len(p.owed) > maxCandidates {
		clear(p.owed)
	}
	p.owed[h.Session] = h
}

func (g *guard) sentAt(seq uint64) (time.Duration, bool) {
	for _, h := range g.hellos {
		if h.seq == seq && seq != 0 {
			return h.at, true
		}
	}
	return 0, false
}

// peer finds or makes a device's place; at the bound the one that was silent longest gives way, if it has no live session.
func (g *guard) peer(now time.Duration, d round.DeviceID) (*peer, Reason) {
	if p := g.peers[d]; p != nil {
		return p, ""
	}
	if len(g.peers) >= maxPeers {
		var oldest round.DeviceID
		for id, p := range g.peers {
			if p.live == nil && (oldest == "" || p.last < g.peers[oldest].last || p.last == g.peers[oldest].last && id < oldest) {
				oldest = id
			}
		}
		if oldest == "" {
			return nil, ReasonCrowded
		}
		g.held -= g.peers[oldest].held
		delete(g.peers, oldest)
	}
	p := &peer{last: now}
	g.peers[d] = p
	return p, ""
}

// wake is when a hello is due; false when none is.
func (g *guard) wake() (time.Duration, bool) {
	if g.sent == 0 {
		return g.born, true
	}
	if !g.due { // each envelope asks, and there may be many peers
		return 0, false
	}
	first, some := time.Duration(0), false
	for _, p := range g.peers {
		if at, due := p.due(g.lastSent + helloGap<<min(g.row, 5)); due && (!some || at < first) {
			first, some = at, true
		}
	}
	g.due = some
	return first, some
}

// hello makes the hello that is due, with everything in it that is.
func (g *guard) hello(now time.Duration) (*hello, uint64, bool) {
	at, due := g.wake()
	if !due || now < at {
		return nil, 0, false
	}
	h := &hello{}
	for d, p := range g.peers {
		if at, due := p.due(0); !due || at > now {
			continue
		}
		p.spent = max(p.spent, now) + helloEvery
		if p.doubt {
			h.Prove = append(h.Prove, d)
			p.doubt, p.asked = false, now
		}
		for _, o := range p.owed {
			if len(h.Heard) < maxPeers {
				h.Heard = append(h.Heard, o)
			}
		}
		clear(p.owed)
	}
	slices.Sort(h.Prove)
	slices.SortFunc(h.Heard, func(a, b heard) int { return cmp.Compare(a.Session, b.Session) })
	seq := g.seq()
	g.hellos[g.sent%len(g.hellos)] = sentHello{seq, now}
	if g.row++; g.sent == 0 || now-g.lastSent > time.Second {
		g.row = 0
	}
	g.lastSent = now
	g.sent++
	return h, seq, true
}

// expire forgets candidates that gave no proof; their envelopes are counted by the caller.
func (g *guard) expire(now time.Duration) (dropped int) {
	for _, p := range g.peers {
		p.candidates = slices.DeleteFunc(p.candidates, func(s *session) bool {
			if now-s.since < heldFor {
				return false
			}
			dropped += len(s.held)
			g.release(p, s)
			return true
		})
	}
	return dropped
}

// window remembers which of the last windowBits numbers were taken.
type window struct {
	bits  [windowBits / 64]uint64
	top   uint64 // highest number taken or ruled out
	floor uint64 // below it nothing is taken
}

// start rules out everything below n.
func (w *window) start(n uint64) { w.floor = n }

func (w *window) look(n uint64) Reason {
	switch {
	case n == 0 || n < w.floor || n+windowBits <= w.top:
		return ReasonOld
	case n <= w.top && w.bits[n/64%uint64(len(w.bits))]&(1<<(n%64)) != 0:
		return ReasonRepeated
	}
	return ""
}

func (w *window) take(n uint64) Reason {
	if r := w.look(n); r != "" {
		return r
	}
	if n > w.top {
		// Numbers between are free again; at most the whole window.
		for i := w.top + 1; i <= n && i-w.top <= windowBits; i++ {
			w.bits[i/64%uint64(len(w.bits))] &^= 1 << (i % 64)
		}
		w.top = n
	}
	w.bits[n/64%uint64(len(w.bits))] |= 1 << (n % 64)
	return ""
}
