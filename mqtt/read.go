package mqtt

import (
	"bytes"
	"time"

	"conch/companions/round"
)

// read is the reader: everything that arrived, in the order of the lanes, until stop.
func (c *Client) read(stop <-chan struct{}) {
	tick := time.NewTicker(witness)
	defer tick.Stop()
	at := make(chan struct{}) // once
	close(at)
	for {
		more := (<-chan struct{})(c.lanes.poke)
		if a, ok := c.lanes.next(); ok {
			c.hear(a)
			more = at
		}
		select {
		case <-more:
		case a := <-c.in:
			c.handle(a)
		case <-tick.C:
			c.tidy()
			c.tellFloods()
		case <-c.settled.C:
			if l := c.settling; l != nil && !l.over {
				c.setUp(l)
			}
		case <-stop:
			return
		}
	}
}

func (c *Client) handle(a arrival) {
	switch {
	case a.down != nil:
		for a, ok := c.lanes.next(); ok; a, ok = c.lanes.next() {
			c.hear(a)
		}
		c.setDown(a.link)
		close(a.down)
	case a.call != nil:
		a.call()
	default:
		c.tell(a.trouble)
	}
}

// hear looks at an envelope.
func (c *Client) hear(a arrival) {
	if a.link.over && !a.near {
		return
	}
	letter, r := look(c.cfg.Room, a.topic, a.payload)
	if r != nil {
		c.lanes.judged(r.From, false)
		c.refused(r)
		return
	}
	self := c.cfg.Identity.id
	if letter.from == self {
		// MQTT 3.1.1 gives a client its own messages back. The first hello that does shows that the room can be written and read.
		if letter.Session == a.link.session {
			c.stats.add(func(s *Stats) { s.Own++ })
			if c.settling != a.link {
				c.settling = a.link
				c.settled.Reset(settle)
			}
			return
		}
		if c.own[letter.Session] { // the last will of a link of ours, found out late
			return
		}
		c.refused(&Refusal{Reason: ReasonOld, From: self, Method: letter.Method, Detail: "under this device's own name, from a session that is not this one"})
		return
	}
	c.stats.add(func(s *Stats) { s.Arrived++; s.ArrivedB += uint64(len(a.payload)) })
	if c.cfg.Member != nil && !c.cfg.Member(letter.from) {
		c.refused(&Refusal{Reason: ReasonStranger, From: letter.from, Method: letter.Method, Detail: "not a member of the room"})
		return
	}
	l := a.link
	l.mu.Lock()
	reason := l.guard.stale(letter.from, letter.Session, letter.Seq)
	known := l.guard.believes(letter.from, letter.Session)
	l.mu.Unlock()
	if known && reason == "" && letter.Method == methodHello &&
		!bytes.Contains(letter.Params, []byte(self)) && !bytes.Contains(letter.Params, []byte(l.session)) {
		return // between others: in a large room most hellos are, and a signature costs more than all the rest
	}
	if reason != "" {
		c.notNew(reason, letter.from, letter.Method)
		return
	}
	e, r := letter.open(c.cfg.Room)
	c.lanes.judged(letter.from, r == nil)
	if r != nil {
		c.refused(r)
		return
	}
	l.mu.Lock()
	deliver, reason := l.guard.admit(c.now(), &e)
	for _, e := range deliver {
		l.guard.learn(c.now(), e, a.near)
	}
	void, lost := l.guard.void, l.guard.lost
	l.guard.void, l.guard.lost = 0, 0
	due := l.guard.due
	l.mu.Unlock()
	for range void {
		c.notNew(ReasonOld, e.From, e.Method)
	}
	for range lost {
		c.refused(&Refusal{Reason: ReasonUnproven, Detail: "it had to make room for what others wait with"})
	}
	if reason != "" {
		c.notNew(reason, e.From, e.Method)
	}
	if len(deliver) > 0 && !a.near {
		c.setUp(l) // somebody has heard us
	}
	for _, e := range deliver {
		c.deliver(l, e)
	}
	if due {
		l.out.wake() // a hello may be
	}
}

// notNew counts what the guard refused. The second copy of a press comes by design.
func (c *Client) notNew(reason Reason, from round.DeviceID, method string) {
	if reason == ReasonRepeated && method == methodPress {
		c.stats.add(func(s *Stats) { s.Again++ })
		return
	}
	c.refused(&Refusal{Reason: reason, From: from, Method: method, Detail: "see doc.go, Recordings"})
}

// deliver gives a packet to the device if whoever it speaks for lives where it came from.
func (c *Client) deliver(l *link, e *Envelope) {
	for _, r := range e.votes {
		c.refused(r)
	}
	if r := c.askers.bound(c.now(), e); r != nil {
		c.refused(r)
		return
	}
	if e.Note != nil {
		c.stats.add(func(s *Stats) { s.Delivered++ })
		if c.cfg.OnNote != nil {
			c.cfg.OnNote(e.From, *e.Note)
		}
		return
	}
	c.mu.Lock()
	r := c.known.lives(e.From, e.Packet)
	if r == nil {
		c.known.learn(e.From, e.Packet, e.key)
		if b, ok := e.Packet.(round.Beat); ok && b.Cards != nil {
			c.meetNear(e.From, e.near)
		}
	}
	ask := r != nil && r.Reason == ReasonCards && c.lastBeat != nil && c.now()-c.asked >= time.Second && c.askers.unknown(c.now(), e.From)
	var beat round.Beat
	if ask {
		c.asked = c.now()
		beat = *c.lastBeat
		beat.Ask, beat.Cards = true, nil
	}
	c.mu.Unlock()
	if ask {
		l.out.push(c.waited(), beat)
	}
	if r != nil {
		r.From, r.Method = e.From, e.Method
		c.refused(r)
		return
	}
	if r := c.reveal(e); r != nil {
		r.From, r.Method = e.From, e.Method
		c.refused(r)
		return
	}
	e.proof()
	if h, ok := e.Packet.(round.History); ok && h.To == c.cfg.Identity.id {
		if h, ok = c.proved(e.From, h, e.envelopes); !ok {
			return
		}
		e.Packet = h
	}
	c.stats.add(func(s *Stats) { s.Delivered++ })
	c.cfg.OnPacket(e.From, e.Packet)
}

func (c *Client) refused(r *Refusal) {
	c.stats.refused(r)
	if c.cfg.OnRefused != nil {
		c.cfg.OnRefused(*r)
	}
}

func (c *Client) setUp(l *link) {
	l.mu.Lock()
	was := l.heard
	l.heard = true
	l.mu.Unlock()
	if was {
		return
	}
	c.mu.Lock()
	c.link = l
	c.mu.Unlock()
	c.near.remember(l)
	close(l.up)
	if c.cfg.OnReached != nil && l.reached() != "" {
		c.cfg.OnReached(l.reached())
	}
	c.stats.add(func(s *Stats) { s.Up = true; s.Connects++ })
	c.tell(nil)
	c.cfg.Log.Info(eventUp, "broker", l.target.String(), "room", c.cfg.Room, "device", string(c.cfg.Identity.id))
	if c.cfg.OnLink != nil {
		c.cfg.OnLink(true)
	}
}

func (c *Client) setDown(l *link) {
	c.mu.Lock()
	if c.link == l {
		c.link = nil
	}
	c.mu.Unlock()
	l.over = true
	if len(c.own) > maxOwn {
		clear(c.own)
	}
	c.own[l.session] = true
	l.mu.Lock()
	was := l.heard
	l.mu.Unlock()
	if !was {
		return
	}
	c.stats.add(func(s *Stats) { s.Up = false })
	c.cfg.Log.Info(eventDown, "broker", l.target.String())
	if c.cfg.OnLink != nil {
		c.cfg.OnLink(false)
	}
}

// tidy gives up what has waited for a proof in vain, and shows the clock of what waits that time passes.
func (c *Client) tidy() {
	c.waited()
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	dropped := l.guard.expire(c.now())
	l.mu.Unlock()
	for range dropped {
		c.refused(&Refusal{Reason: ReasonUnproven, Detail: "its session has not shown that it lives"})
	}
}
