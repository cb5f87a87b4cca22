package realtime

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Whether the other end is there is asked of what knows it: the bytes that it sends, and the system, which knows what it
// has acknowledged. A pong proves no more than those, and its absence proves nothing: it stands behind ten seconds of
// speech on a slow line, a busy server reads nothing, and some answer no ping at all.
//
//	bytes read ──────────────────────> alive
//	ours in flight, no acknowledgement for deadAfter (TCP_INFO) ──> dead
//	neither for pingAfter ───────────> a ping, so that something is in flight
//
// Bounds: TCP_USER_TIMEOUT (stuckAfter) where a peer acknowledges but never takes anything.

// line is the connection under TLS and WebSocket.
type line struct {
	net.Conn
	born  time.Time
	heard atomic.Int64 // when bytes came last, since born
}

// vitals is what is known of a line at a moment; times are since it was born.
type vitals struct {
	heard  time.Duration // bytes came
	acked  time.Duration // the other end acknowledged something
	flying bool          // sent, not acknowledged
	queued bool          // flying, or not even sent
	owed   bool          // an answer was asked for, and nothing but pongs has come since
	pongs  bool          // it has answered a ping before
}

func newLine(c net.Conn) *line {
	setUserTimeout(c, stuckAfter)
	return &line{Conn: c, born: time.Now()}
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.heard.Store(int64(time.Since(l.born)))
	}
	return n, err
}

// acknowledger is a connection that is no socket and knows what is on its way.
type acknowledger interface {
	Acknowledged() (silent time.Duration, flying, queued bool)
}

func (l *line) vitals(now time.Duration) vitals {
	v := vitals{heard: time.Duration(l.heard.Load()), acked: now}
	var silent time.Duration
	if a, ok := l.Conn.(acknowledger); ok {
		silent, v.flying, v.queued = a.Acknowledged()
	} else {
		silent, v.flying, v.queued = acknowledged(l.Conn)
	}
	v.acked = now - silent
	return v
}

// liveness decides about a line; only what it cannot see at one look is kept.
type liveness struct {
	flying time.Duration // since when something has been in flight without a pause; negative: nothing is
	pinged time.Duration
}

var errMute = errors.New("it gives no sign of life any more, and answers no ping as it did")

// look tells whether to ping, when to look again, and what the line died of.
func (f *liveness) look(now time.Duration, v vitals, ask bool) (ping bool, next time.Duration, dead error) {
	switch {
	case !v.flying:
		f.flying = -1
	case f.flying < 0:
		f.flying = now
	}
	if v.flying {
		if silent := now - max(f.flying, v.acked, v.heard); silent >= deadAfter {
			return false, 0, fmt.Errorf("the line is dead: nothing of what was sent is acknowledged for %v", silent.Round(100*time.Millisecond))
		}
		return false, deadLook, nil
	}
	if v.pongs && !v.owed && now-v.heard >= muteAfter {
		return false, 0, errMute
	}
	if v.queued { // it reads nothing, and says so: it is there
		return false, deadLook, nil
	}
	quiet := now - max(v.heard, f.pinged)
	if ask || quiet >= pingAfter {
		f.pinged = now
		return true, deadLook, nil
	}
	if v.owed { // the question itself is about to be in flight
		return false, deadLook, nil
	}
	return false, pingAfter - quiet, nil
}
