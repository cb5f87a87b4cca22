package realtime

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// What a line is judged by, at its edges.
func TestLifeOfALine(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		since liveness
		now   time.Duration
		v     vitals
		ask   bool
		ping  bool
		dead  bool
	}{
		{name: "young", since: liveness{flying: -1}, now: 3 * s},
		{name: "quiet", since: liveness{flying: -1}, now: pingAfter, ping: true},
		{name: "asked", since: liveness{flying: -1}, now: s, ask: true, ping: true},
		{name: "just pinged", since: liveness{flying: -1, pinged: 60 * s}, now: 63 * s, v: vitals{acked: 60 * s}},
		{name: "heard", since: liveness{flying: -1}, now: 9 * s, v: vitals{heard: 8 * s}},
		{name: "sent after a long rest", since: liveness{flying: -1}, now: 3600 * s, v: vitals{flying: true, queued: true}},
		{name: "unacknowledged", since: liveness{flying: 10 * s}, now: 15 * s, v: vitals{flying: true, queued: true}, dead: true},
		{name: "almost", since: liveness{flying: 10 * s}, now: 15*s - 1, v: vitals{flying: true, queued: true}},
		{name: "acknowledged late", since: liveness{flying: 10 * s}, now: 60 * s, v: vitals{acked: 56 * s, flying: true, queued: true}},
		{name: "it still talks", since: liveness{flying: 10 * s}, now: 60 * s, v: vitals{heard: 56 * s, flying: true, queued: true}},
		{name: "it reads nothing", since: liveness{flying: -1}, now: 60 * s, v: vitals{queued: true}},
		{name: "asked while it reads nothing", since: liveness{flying: -1}, now: 60 * s, v: vitals{queued: true}, ask: true},
		{name: "never a pong", since: liveness{flying: -1, pinged: 3599 * s}, now: 3600 * s},
		{name: "no pong any more", since: liveness{flying: -1, pinged: 38 * s}, now: 40 * s, v: vitals{heard: 10 * s, pongs: true}, dead: true},
		{name: "no pong, but it is at an answer", since: liveness{flying: -1, pinged: 38 * s}, now: 40 * s, v: vitals{heard: 10 * s, pongs: true, owed: true}},
	} {
		f := c.since
		ping, next, dead := f.look(c.now, c.v, c.ask)
		if ping != c.ping || (dead != nil) != c.dead || dead == nil && (next <= 0 || next > pingAfter) {
			t.Errorf("%s: ping %v, dead %v, next look in %v; want ping %v, dead %v", c.name, ping, dead, next, c.ping, c.dead)
		}
	}
}

// Who takes a connection and says nothing on it is left after five seconds, before the upgrade and before TLS alike.
func TestAHandshakeThatHangsIsGivenUp(t *testing.T) {
	for name, url := range map[string]string{"upgrade": "ws://conch.test/v1/realtime", "TLS": "wss://conch.test/v1/realtime"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dials, talking atomic.Int64
				w := newWorld(t, func(c *Config) {
					c.URL = url
					c.Dial = nil
				})
				w.c.cfg.Dial = dialMute(&dials, &talking)
				w.run()
				defer time.Sleep(dialTimeout) // net/http goes on with a handshake after its caller has gone
				defer w.stop()
				time.Sleep(dialTimeout - time.Millisecond)
				if dials.Load() != 1 || talking.Load() != 1 {
					t.Fatalf("%d attempts, %d of them begun; want one, which hangs", dials.Load(), talking.Load())
				}
				time.Sleep(kit.BackoffMin + 2*time.Millisecond)
				w.want("lost offline")
				if n := dials.Load(); n != 2 {
					t.Errorf("%d attempts; want the second", n)
				}
			})
		})
	}
}

// A server that does not say one byte since it was asked: the turn is given up, and the next one finds another session.
func TestAHungServerIsLeftWithTheTurn(t *testing.T) {
	in(t, nil, func(w *world) {
		w.silent()
		w.ask2("t-1")
		time.Sleep(3 * time.Second)
		w.c.Do(turn.CancelResponse{Turn: "t-1"}) // a press
		w.want()
		w.ask2("t-2")
		time.Sleep(10 * time.Second)
		w.c.Do(turn.CancelResponse{Turn: "t-2"}) // the deadline
		w.want("lost offline")
		time.Sleep(time.Second)
		w.want("ready")
		w.auto, w.onEvent = true, nil
		w.ask("t-3")
		w.peer(1).want("session.update", "clear", "append", "commit", "response.create")
	})
}

// dialMute connects to somebody who reads, and never writes.
func dialMute(dials, talking *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		ours, theirs := net.Pipe()
		go func() {
			b := make([]byte, 4096)
			for n := 0; ; n++ {
				if _, err := theirs.Read(b); err != nil {
					_ = theirs.Close()
					return
				}
				if n == 0 {
					talking.Add(1)
				}
			}
		}()
		return ours, nil
	}
}
