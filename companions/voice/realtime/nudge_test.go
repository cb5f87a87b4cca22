package realtime

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// from runs a test in a bubble from the first attempt, which need not succeed.
func from(t *testing.T, change func(*Config), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change)
		w.run()
		defer w.stop()
		f(w)
	})
}

// A network that is back, a clock that was set: nobody waits for the rest of a back-off.
func TestNudgeTriesAtOnce(t *testing.T) {
	in(t, nil, func(w *world) {
		w.mu.Lock()
		w.status = http.StatusServiceUnavailable
		w.mu.Unlock()
		w.peer(0).hangUp()
		time.Sleep(10 * time.Minute) // the back-off has grown to five seconds
		w.took()
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		w.c.Nudge()
		w.want("ready") // and no time has passed
	})
}

// An attempt into a network that was not there yet is given up for a new one; it would have hung for seconds.
func TestNudgeGivesUpAnAttempt(t *testing.T) {
	var hole atomic.Bool
	hole.Store(true)
	var dials atomic.Int64
	from(t, func(c *Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			if hole.Load() {
				time.Sleep(dialTimeout) // as a SYN that nobody answers; net/http dials on after its caller has gone
				return nil, context.DeadlineExceeded
			}
			return dial(ctx, network, addr)
		}
	}, func(w *world) {
		defer time.Sleep(dialTimeout)
		time.Sleep(time.Second)
		if n := dials.Load(); n != 1 {
			t.Fatalf("%d attempts; want one, which hangs", n)
		}
		hole.Store(false)
		w.c.Nudge()
		w.want("ready") // and no word of the attempt
	})
}

// With a reason to make no attempt none is made, and the reason is told; once it is gone it does not take long.
func TestHoldMakesNoAttempt(t *testing.T) {
	var why atomic.Value
	why.Store(turn.WordsKeyBroken)
	from(t, func(c *Config) { c.Hold = func() turn.Words { return why.Load().(turn.Words) } }, func(w *world) {
		time.Sleep(time.Hour)
		w.want("lost fatal key_broken")
		if n := w.attempts(); n > 0 {
			t.Errorf("%d attempts in spite of it", n)
		}
		why.Store(turn.Words(""))
		time.Sleep(kit.KeyLook)
		w.want("ready")
	})
}

// In 1970 no certificate is valid: that is said, the server is not stormed, and once the clock is set it connects.
func TestClockInThePast(t *testing.T) {
	var early atomic.Bool
	early.Store(true)
	var dials atomic.Int64
	from(t, func(c *Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			if early.Load() {
				return nil, x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: time.Now().AddDate(50, 0, 0)}, Reason: x509.Expired}
			}
			return dial(ctx, network, addr)
		}
	}, func(w *world) {
		time.Sleep(time.Hour)
		w.want("lost fatal clock_wrong")
		if n := dials.Load(); n > int64(time.Hour/(kit.BackoffRefused/2))+1 {
			t.Errorf("%d attempts in an hour", n)
		}
		early.Store(false)
		w.c.Nudge()
		w.want("ready")
	})
}

// What was said is handed over when it rests, and a new process begins with it.
func TestConversationOutlivesTheProcess(t *testing.T) {
	var kept []voice.Line // Run has ended when it is looked at
	keep := func(c *Config) {
		c.Keep = func(lines []voice.Line) error { kept = slices.Clone(lines); return nil }
	}
	in(t, keep, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		item := ""
		p.mu.Lock()
		for _, b := range p.sent {
			if i := strings.Index(string(b), "item_u"); i >= 0 {
				item = string(b[i : i+strings.IndexByte(string(b[i:]), '"')])
			}
		}
		p.mu.Unlock()
		p.send(map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": item, "content_index": 0, "transcript": "What is the tallest tree?"})
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		p.send(map[string]any{"type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i1", "delta": "A redwood."})
		p.doneResponse("r1", "completed")
		time.Sleep(kit.KeepEvery)
		synctest.Wait() // the keeper is another goroutine
		if want := []voice.Line{{Role: "user", Text: "What is the tallest tree?"}, {Role: "assistant", Text: "A redwood."}}; !slices.Equal(kept, want) {
			t.Fatalf("kept: %v\nwant %v", kept, want)
		}
	})
	was := kept
	in(t, func(c *Config) { keep(c); c.Recall = was }, func(w *world) {
		time.Sleep(time.Second)
		w.peer(0).wantTexts("user: What is the tallest tree?", "assistant: A redwood.")
	})
	if len(kept) != 2 {
		t.Errorf("kept after a second life: %v", kept)
	}
}
