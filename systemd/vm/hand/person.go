package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

type person struct {
	// fixed after begin
	start                       time.Time
	button, light, card, socket string
	out                         *json.Encoder
	recorder                    *recorder

	// atomic, nanoseconds since start; 0: never
	lit, dark atomic.Int64 // when the light was last seen on, and off

	// owned by play
	pressed  time.Duration
	speaking *exec.Cmd
	terminal *terminal // the last that run has made
}

func (p *person) now() time.Duration { return time.Since(p.start) }

type seen struct {
	Event string   `json:"event"`
	At    float64  `json:"at_ms"`
	After *float64 `json:"after_press_ms,omitempty"` // of what a press brought about
}

func (p *person) tell(event string, at time.Duration) {
	s := seen{Event: event, At: ms(at)}
	if p.pressed > 0 && at >= p.pressed {
		after := ms(at - p.pressed)
		s.After = &after
	}
	_ = p.out.Encode(s)
}

func ms(d time.Duration) float64 { return float64(d/time.Microsecond) / 1000 }

func (p *person) begin() (err error) {
	if p.recorder, err = listen(p.card, p.now); err != nil {
		return err
	}
	if p.light != "" {
		go p.look() // ends with the program
	}
	return nil
}

func (p *person) end() { p.recorder.close() }

// look watches the light. A dimmed one is on and off many times a second.
func (p *person) look() {
	for range time.Tick(2 * time.Millisecond) {
		value, err := os.ReadFile(p.light)
		if err != nil { // the chip is away
			continue
		}
		if strings.TrimSpace(string(value)) == "1" {
			p.lit.Store(int64(p.now()))
		} else {
			p.dark.Store(int64(p.now()))
		}
	}
}

// pull moves the button's pin: active low, as buttons on a Pi are.
func (p *person) pull(how string) error { return os.WriteFile(p.button, []byte(how), 0) }

// moves has the button be at another pin from here on.
func (p *person) moves(pin string) error {
	p.button = "/run/pins/" + pin + "/pull"
	return p.pull("pull-up")
}

func (p *person) press(string) error {
	at := p.now()
	err := p.pull("pull-down")
	p.pressed = at
	p.tell("press", at)
	return err
}

func (p *person) release(string) error {
	err := p.pull("pull-up")
	p.tell("release", p.now())
	return err
}

func (p *person) say(file string) error {
	p.speaking = exec.Command("aplay", "-q", "-D", p.card, file)
	p.speaking.Stderr = os.Stderr
	p.tell("say", p.now())
	return p.speaking.Start()
}

func (p *person) said(string) error {
	err := p.speaking.Wait()
	p.tell("said", p.now())
	return err
}

func (p *person) wait(length string) error {
	d, err := time.ParseDuration(length)
	time.Sleep(d)
	return err
}

// ask types a question. What becomes of it is heard, not returned: it may well be cut.
func (p *person) ask(text string) error {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	p.tell("ask", p.now())
	go func() { // ends with the answer, or with the program
		resp, err := client(p.socket).Post("http://conch/ask", "application/json", bytes.NewReader(body))
		if err != nil {
			fmt.Fprintln(os.Stderr, "hand: ask:", err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	return nil
}

// client talks to a unix socket.
func client(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}

// steady is for how long there must be nothing until it counts as an end: pauses between sentences are shorter, and a dimmed
// light is dark for less.
const (
	steadyQuiet = 900 * time.Millisecond
	steadyDark  = 120 * time.Millisecond
)

// until waits for something to be heard or seen, and tells when it began.
func (p *person) until(what string) error {
	var length string
	if n, _ := fmt.Sscan(what, &what, &length); n != 2 {
		return errors.New("until WHAT HOW-LONG")
	}
	limit, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	from := p.now()
	for at := from; at < from+limit; at = p.now() {
		switch what {
		case "sound":
			if first, ok := p.recorder.soundSince(from); ok {
				p.tell("sound", first)
				return nil
			}
		case "quiet":
			if last := p.recorder.lastSound(); at-last > steadyQuiet && at-from > steadyQuiet/3 {
				p.tell("quiet", last)
				return nil
			}
		case "light":
			if on := time.Duration(p.lit.Load()); on >= from {
				p.tell("light", on)
				return nil
			}
		case "dark":
			if on := time.Duration(p.lit.Load()); at-on > steadyDark && p.dark.Load() > int64(on) {
				p.tell("dark", on)
				return nil
			}
		default:
			return errors.New("must be sound, quiet, light or dark")
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("not within %s", limit)
}

func (p *person) keep(file string) error { return p.recorder.keep(file) }
