package realtime

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// picky is a server that refuses a session while it has one of the fields.
type picky struct {
	refuses []string
	param   bool // it names the parameter
	named   bool // it names our event
	closes  bool // it hangs up on it
	code    string
	updates int // session.update events so far
}

func (s *picky) on(p *peer, ev map[string]any) {
	if ev == nil {
		p.send(map[string]any{"type": "session.created"})
		return
	}
	if ev["type"] != "session.update" {
		return
	}
	s.updates++
	for _, path := range s.refuses {
		if v, _ := at(ev, path); v == nil {
			continue
		}
		e := map[string]any{"type": "invalid_request_error", "code": s.code, "message": "That is not supported."}
		if s.param {
			e["param"] = path + ".model"
		}
		if s.named {
			e["event_id"] = ev["event_id"]
		}
		p.send(map[string]any{"type": "error", "error": e})
		if s.closes {
			_ = p.conn.Close(websocket.StatusPolicyViolation, "no")
		}
		return
	}
	p.send(map[string]any{"type": "session.updated", "session": ev["session"]})
}

const (
	pathTranscription = "session.audio.input.transcription"
	pathPrompt        = pathTranscription + ".prompt"
	pathVoice         = "session.audio.output.voice"
	pathFormat        = "session.audio.output.format"
)

// A server that refuses a part of the session that conversation does not need gets it without, and the device is told.
func TestASessionOmitsWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		picky
		left    string // what Bent is told
		updates int
		takes   time.Duration // at most; virtual
	}{
		{picky{refuses: []string{pathTranscription}, param: true, named: true}, "transcription", 2, 0},
		{picky{refuses: []string{pathVoice}, param: true, named: true}, "voice", 2, 0},
		{picky{refuses: []string{pathTranscription}, param: true, named: true, code: "model_not_found"}, "transcription", 2, 0},
		{picky{refuses: []string{pathVoice, pathTranscription}, param: true, named: true}, "transcription voice", 3, 0},
		{picky{refuses: []string{pathVoice}, named: true}, "transcription voice", 2, 0},             // it does not say which
		{picky{refuses: []string{pathTranscription}, param: true}, "transcription", 2, refusalWait}, // nor to what
		{picky{refuses: []string{pathFormat}, named: true, param: true}, "format", 2, 0},
		{picky{refuses: []string{pathFormat, "session.tools"}, named: true}, "transcription voice tools format", 3, 0},
		{picky{refuses: []string{pathTranscription}, param: true, named: true, closes: true}, "transcription", 2, time.Second},
		{picky{refuses: []string{pathTranscription}, param: true, closes: true}, "transcription", 2, time.Second},
		{picky{refuses: []string{pathPrompt}, param: true, named: true}, "names", 2, 0},
		{picky{refuses: []string{pathPrompt}, named: true}, "names transcription voice", 2, 0},
	} {
		t.Run(fmt.Sprint(c.picky), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left []string
				w := newWorld(t, func(cfg *Config) { cfg.Omitted = func(parts []string, _ string) { left = parts } })
				w.auto, w.onEvent = false, c.on
				if slices.Contains(c.refuses, pathPrompt) {
					w.c.Names([]string{"Ada"})
				}
				w.run()
				defer w.stop()
				time.Sleep(c.takes + time.Millisecond)
				w.want("ready")
				if got := strings.Join(left, " "); got != c.left || c.picky.updates != c.updates {
					t.Errorf("without %q after %d session.updates; want %q after %d", got, c.picky.updates, c.left, c.updates)
				}
				var p *peer
				for i := range w.sessions {
					p = w.peer(i)
				}
				ev := p.last("session.update")
				turns, here := at(ev, "session.audio.input.turn_detection")
				who, _ := at(ev, "session.instructions")
				kind, _ := at(ev, "session.type")
				if who != "You are Ada." || kind != "realtime" || turns != nil || !here {
					t.Errorf("the session is %v; want who it is, and that the button decides", ev["session"])
				}
			})
		})
	}
}

// What conch asks for by itself, and a server refuses, is left out, and a person reads nothing of it.
func TestWhatNoPersonChoseIsNotMissed(t *testing.T) {
	paths := []string{"session.audio.input.noise_reduction", "session.truncation", "session.reasoning"}
	for _, refused := range paths {
		t.Run(refused, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left []string
				w := newWorld(t, func(cfg *Config) {
					cfg.Model, cfg.Reasoning, cfg.Noise, cfg.Retain = "gpt-realtime-2.1", auto, farField, retain
					cfg.Omitted = func(parts []string, _ string) { left = parts }
				})
				s := &picky{refuses: []string{refused}, param: true, named: true}
				w.auto, w.onEvent = false, s.on
				w.run()
				defer w.stop()
				time.Sleep(time.Millisecond)
				w.want("ready")
				ev := w.peer(0).last("session.update")
				for _, path := range paths {
					if v, _ := at(ev, path); (v != nil) == (path == refused) {
						t.Errorf("%s is %v; %s was refused", path, v, refused)
					}
				}
				if len(left) > 0 || s.updates != 2 {
					t.Errorf("without %q, after %d session.updates; want none named, after 2", left, s.updates)
				}
			})
		})
	}
}

// What a person chose, and a server refuses, is named.
func TestWhatAPersonChoseIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []string
		w := newWorld(t, func(cfg *Config) {
			cfg.Noise, cfg.Omitted = "near_field", func(parts []string, _ string) { left = parts }
		})
		w.auto, w.onEvent = false, (&picky{refuses: []string{"session.audio.input.noise_reduction"}, param: true, named: true}).on
		w.run()
		defer w.stop()
		time.Sleep(time.Millisecond)
		w.want("ready")
		if !slices.Equal(left, []string{"noise reduction"}) {
			t.Errorf("without %q; want the noise reduction", left)
		}
	})
}

// The next session is asked for everything again: a server that was mended is not kept out of what it can do.
func TestABentSessionIsWholeWhenRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told [][]string
		w := newWorld(t, func(cfg *Config) { cfg.Omitted = func(parts []string, _ string) { told = append(told, parts) } })
		s := &picky{refuses: []string{pathTranscription}, param: true, named: true}
		w.auto, w.onEvent = false, s.on
		w.run()
		defer w.stop()
		w.want("ready")
		s.refuses = nil
		w.peer(0).hangUp()
		time.Sleep(time.Second)
		w.want("lost offline", "ready")
		if len(told) != 2 || !slices.Equal(told[0], []string{"transcription"}) || len(told[1]) != 0 {
			t.Errorf("told %v; want transcription, then nothing", told)
		}
	})
}

// An error before the session stands that is about something else ends nothing, one that says what no attempt mends does.
func TestEarlyErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     func(p *peer, ev map[string]any)
		want   []string
		within time.Duration
	}{
		{"of no concern", func(p *peer, ev map[string]any) {
			if ev == nil {
				p.fail(nil, "server_error", "warming_up")
				p.send(map[string]any{"type": "session.created"})
				p.fail(nil, "server_error", "still_warming_up")
				p.fail(map[string]any{"event_id": "somebody"}, "invalid_request_error", "unknown")
				return
			}
			time.Sleep(time.Second)
			p.send(map[string]any{"type": "session.updated"})
		}, []string{"ready"}, 1500 * time.Millisecond},
		{"refused to the bone", (&picky{refuses: []string{"session.type"}, named: true}).on, []string{"lost server_error"}, time.Second},
		{"an error and nothing more", func(p *peer, ev map[string]any) {
			if ev == nil {
				p.fail(nil, "server_error", "model_load_error")
			}
		}, []string{"lost server_error"}, refusalWait + time.Millisecond},
		{"a key, in the type", (&picky{refuses: []string{"session.type"}, code: "invalid_api_key"}).on, []string{"lost fatal key_refused"}, 0},
		{"quota", (&picky{refuses: []string{"session.type"}, code: "insufficient_quota", named: true}).on, []string{"lost no_credit"}, 0},
		{"errors without end", func(p *peer, ev map[string]any) {
			for range 2 * maxGarbage {
				p.fail(nil, "server_error", "again")
			}
		}, []string{"lost server_error"}, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.auto, w.onEvent = false, c.on
				w.run()
				defer w.stop()
				time.Sleep(c.within)
				if got := w.took(); len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) {
					t.Errorf("facts %q; want %q", got, c.want)
				}
			})
		})
	}
}

// A server that says nothing is tried again after five seconds; one that loads its model for twelve has the time for it by the third attempt.
func TestASilentServerIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loads = 12 * time.Second
		var speaks atomic.Bool
		w := newWorld(t, nil)
		w.onEvent = func(p *peer, ev map[string]any) {
			switch {
			case ev == nil && speaks.Load():
				p.send(map[string]any{"type": "session.created", "session": map[string]any{}})
			case ev != nil && ev["type"] == "session.update":
				time.Sleep(loads)
				p.send(map[string]any{"type": "session.updated", "session": map[string]any{}})
			}
		}
		w.run()
		defer w.stop()
		time.Sleep(firstSilence + time.Second)
		w.want("lost offline")
		if n := w.attempts(); n != 2 {
			t.Errorf("%d attempts after %v; want 2", n, firstSilence+time.Second)
		}
		speaks.Store(true)
		time.Sleep(3 * handshakeTimeout)
		w.want("ready")
	})
}
