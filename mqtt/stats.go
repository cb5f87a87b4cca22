package mqtt

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"conch/companions/round"
)

// Names of the log events of this package.
const (
	eventUp      = "mqtt.up"      // the room can be reached
	eventDown    = "mqtt.down"    // it no longer can
	eventTrouble = "mqtt.trouble" // why it cannot, once for each change
	eventRefused = "mqtt.refused" // something was not delivered; at most one line a second for each reason
	eventDropped = "mqtt.dropped" // something was not sent; at most one line a second for each reason
	eventNear    = "mqtt.near"    // presses go by the broker alone: there is no socket for datagrams
	eventFlood   = "mqtt.flood"   // a member says too much (Flood)
)

// Why something was not sent (Stats.Unsent).
const (
	unsentOffline = "offline"        // there is no link: what cannot be sent now is not sent later
	unsentFull    = "full"           // more was waiting than may wait
	unsentLate    = "late"           // it had waited too long
	unsentBroken  = "broken"         // the broker did not take it
	unsentUnacked = "unacknowledged" // too much is waiting for the broker's word
	unsentInvalid = "invalid"        // it does not fit the wire
	unsentAsked   = "asked"          // others ask for more history than one device tells
)

// Stats counts what went over the wire since the client was made.
type Stats struct {
	Up        bool              `json:"up"`
	Connects  uint64            `json:"connects"`      // links that came up
	Envelopes uint64            `json:"envelopes"`     // sent, hellos included; a press counts twice
	Bytes     uint64            `json:"bytes"`         // of them
	Hellos    uint64            `json:"hellos"`        // sent
	Arrived   uint64            `json:"arrived"`       // envelopes that came, own ones excluded
	ArrivedB  uint64            `json:"arrived_bytes"` // their bytes
	Delivered uint64            `json:"delivered"`     // packets given to OnPacket
	Again     uint64            `json:"again"`         // second copies of a press, as they should come
	Own       uint64            `json:"own"`           // own envelopes that came back
	Unsent    map[string]uint64 `json:"unsent"`        // packets by why they were not sent
	Refused   map[Reason]uint64 `json:"refused"`       // by reason
	Last      map[Reason]string `json:"last"`          // the last one of each reason, in words

	Senders map[round.DeviceID]map[Reason]uint64 `json:"senders,omitempty"` // what was refused, by whose topic it came under; empty: others
}

// counters are Stats under a lock, and the log's rate limit.
type counters struct {
	mu    sync.Mutex
	s     Stats
	lines map[string]*line
	log   *slog.Logger
	now   func() time.Duration
	run   context.Context // of Run; nil: it does not run. Once it has ended, what is dropped is no fault
}

// line limits one kind of log line to one a second; what was kept back is in the next one.
type line struct {
	at   time.Duration
	held int
}

func newCounters(log *slog.Logger, now func() time.Duration) *counters {
	return &counters{log: log, now: now, lines: map[string]*line{}, s: Stats{
		Unsent: map[string]uint64{}, Refused: map[Reason]uint64{}, Last: map[Reason]string{}, Senders: map[round.DeviceID]map[Reason]uint64{},
	}}
}

func (c *counters) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

// fault is the level at which a fault is logged: info once the context of Run has ended, for the broker may end first.
func (c *counters) fault() slog.Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level()
}

// level is that of a packet that was dropped. The caller holds mu.
func (c *counters) level() slog.Level {
	if c.run != nil && c.run.Err() != nil {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

func (c *counters) begin(run context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = run
}

func (c *counters) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Unsent, s.Refused, s.Last = maps.Clone(s.Unsent), maps.Clone(s.Refused), maps.Clone(s.Last)
	s.Senders = maps.Clone(s.Senders)
	for id, by := range s.Senders {
		s.Senders[id] = maps.Clone(by)
	}
	return s
}

func (c *counters) refused(r *Refusal) {
	c.mu.Lock()
	c.s.Refused[r.Reason]++
	c.s.Last[r.Reason] = r.String()
	who := r.From
	if r.Reason == ReasonStranger || c.s.Senders[who] == nil && len(c.s.Senders) >= maxPeers {
		who = strangers
	}
	if c.s.Senders[who] == nil {
		c.s.Senders[who] = map[Reason]uint64{}
	}
	c.s.Senders[who][r.Reason]++
	n, ok := c.due("refused " + string(r.Reason))
	level := c.level()
	c.mu.Unlock()
	if ok {
		c.log.Log(context.Background(), level, eventRefused,
			"reason", string(r.Reason), "from", string(r.From), "method", r.Method, "detail", r.Detail, "more", n)
	}
}

func (c *counters) unsent(why string, n int, detail string) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	c.s.Unsent[why] += uint64(n)
	more, ok := c.due("unsent " + why)
	level := c.level()
	c.mu.Unlock()
	if ok {
		c.log.Log(context.Background(), level, eventDropped, "reason", why, "detail", detail, "packets", n, "more", more)
	}
}

// due says whether a line may be written, and how many were kept back since the last one.
func (c *counters) due(key string) (held int, ok bool) {
	l := c.lines[key]
	now := c.now()
	if l == nil {
		c.lines[key] = &line{at: now}
		return 0, true
	}
	if now-l.at < time.Second {
		l.held++
		return 0, false
	}
	held, l.held, l.at = l.held, 0, now
	return held, true
}
