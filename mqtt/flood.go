package mqtt

import (
	"time"

	"conch/companions/round"
)

// Flood is a member that says more than Bounds, and how much of it was dropped since it was last told.
type Flood struct {
	From      round.DeviceID // by the topic; empty: devices that do not belong to the room
	Envelopes uint64
	Bytes     uint64
	For       time.Duration // in which that was
	Signed    bool          // most of what was looked at bore that device's signature: where a broker has no access list, it may be somebody else
	Over      bool          // nothing was dropped for a while
}

// Bounds of telling.
const (
	floodOver = 10 * time.Second // without an envelope too many, a flood is over
	floodGap  = time.Second      // until a flood that lasts is told again; then twice, up to
	floodMost = 64 * time.Second
)

// excess is what a sender has said beyond its bounds.
type excess struct {
	all              uint64
	envelopes, bytes uint64        // not yet told
	last             time.Duration // the latest
	lasts            bool          // it was told, and not that it is over
	toldAt, gap      time.Duration
	good, bad        int // signatures that were looked at, lately
}

func (e *excess) add(now time.Duration, size int) {
	e.all++
	e.envelopes++
	e.bytes += uint64(size)
	e.last = now
}

// due is what is to be told of it now.
func (e *excess) due(now time.Duration) (f Flood, ok bool) {
	f = Flood{Envelopes: e.envelopes, Bytes: e.bytes, For: now - e.toldAt, Signed: e.good > e.bad}
	switch {
	case e.lasts && now-e.last >= floodOver:
		f.Over, e.lasts = true, false
	case e.envelopes > 0 && !e.lasts:
		e.lasts, e.gap, f.For = true, floodGap, floodGap
	case e.envelopes > 0 && now-e.toldAt >= e.gap:
		e.gap = min(2*e.gap, floodMost)
	default:
		return Flood{}, false
	}
	e.envelopes, e.bytes, e.toldAt = 0, 0, now
	e.good, e.bad = e.good/2, e.bad/2
	return f, true
}

// floods are those to be told of now.
func (q *lanes) floods(now time.Duration) (all []Flood) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, l := range q.of {
		if f, ok := l.excess.due(now); ok {
			f.From = id
			all = append(all, f)
		}
	}
	return all
}

// judged notes whether what a sender said was its own.
func (q *lanes) judged(from round.DeviceID, good bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of[from]
	if l == nil {
		l = q.of[strangers]
	}
	switch {
	case l == nil:
	case good:
		l.excess.good++
	default:
		l.excess.bad++
	}
}

// dropped is how much was, by sender.
func (q *lanes) dropped() map[round.DeviceID]uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := map[round.DeviceID]uint64{}
	for id, l := range q.of {
		if l.excess.all > 0 {
			all[id] = l.excess.all
		}
	}
	return all
}

// door is asked before an envelope is taken from the connection: who has used up what a member may say is not even read.
func (c *Client) door(topic string, press bool, size int) bool {
	return c.lanes.admit(c.now(), c.sender(topic), press, size)
}

// sender is whose lane a topic belongs to.
func (c *Client) sender(topic string) round.DeviceID {
	_, from, ok := SplitTopic(c.cfg.Room, topic)
	if !ok || c.cfg.Member != nil && from != c.cfg.Identity.id && !c.cfg.Member(from) {
		return strangers
	}
	return from
}

// tellFloods has the log and the device know who says too much.
func (c *Client) tellFloods() {
	for _, f := range c.lanes.floods(c.now()) {
		if f.Over {
			c.cfg.Log.Info(eventFlood, "from", string(f.From), "over", true)
		} else {
			c.cfg.Log.Warn(eventFlood, "from", string(f.From), "dropped", f.Envelopes, "bytes", f.Bytes, "s", int(f.For.Seconds()), "signed", f.Signed)
		}
		if c.cfg.OnFlood != nil {
			c.cfg.OnFlood(f)
		}
	}
}
