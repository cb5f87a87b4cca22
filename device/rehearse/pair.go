package rehearse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/device/control"
	"conch/device/wait"
)

// What a script does about pairing, and what the devices say of it.

// paired takes what a device says. It runs on a goroutine of the device.
func (s *stage) paired(l *instance, line control.PairingLine) {
	if l.killed.Load() || s.run.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	s.run.report.pairing(s.name, line)
}

// begin forgets what was said of pairing: somebody does something about it here.
func (s *stage) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = nil
}

// heldOver is how much longer than a gesture takes a person holds the button: nobody lets go at the very millisecond.
const heldOver = 150 * time.Millisecond

// hold presses, says nothing, and lets go.
func (p *run) hold(ctx context.Context, s *stage, d time.Duration) error {
	s.begin()
	if err := p.move(ctx, s, true); err != nil {
		return err
	}
	if err := wait.For(ctx, d+heldOver); err != nil {
		return err
	}
	return p.move(ctx, s, false)
}

// pairingVerb carries out what somebody types at a device. What comes of it is waited for by: wait pairing.
func (p *run) pairingVerb(ctx context.Context, s *stage, l Line) error {
	d := s.instance.Load().device
	s.act()
	s.begin()
	switch l.Verb {
	case "join":
		code, err := p.code(l.Text)
		if err != nil {
			return err
		}
		p.later(0, func() {
			if _, err := d.Pairing().Join(p.ctx, control.JoinRequest{Code: code}); errors.Is(err, control.ErrRefused) { // the rest is told as a line
				s.paired(s.instance.Load(), control.PairingLine{State: control.PairingFailed, Text: control.Refusal(err)})
			}
		})
		return nil
	case "remove":
		_, err := d.Pairing().Remove(ctx, control.RemoveRequest{Device: string(p.stage(l.Other).identity.ID())})
		return err
	}
	_, err := d.Pairing().Leave(ctx)
	return err
}

// code is what is typed: the code of the one window that is open, or one that it is not.
func (p *run) code(text string) (string, error) {
	if text != "typed" && text != "wrong" {
		return text, nil
	}
	var codes []string
	for _, s := range p.stages {
		s.mu.Lock()
		if n := len(s.lines); n > 0 && isOpen(s.lines[n-1]) {
			codes = append(codes, s.lines[n-1].Code)
		}
		s.mu.Unlock()
	}
	if len(codes) != 1 {
		return "", fmt.Errorf("%d windows are open; first, for one: hold DEV 5s, wait pairing DEV open", len(codes))
	}
	if text == "typed" {
		return codes[0], nil
	}
	other := []byte(codes[0])
	other[0] = '0' + (other[0]-'0'+1)%10
	return string(other), nil
}

// isOpen says that the window is there: before that there is no code.
func isOpen(l control.PairingLine) bool { return l.State == control.PairingOpen && l.Code != "" }

// waitPairing waits until a device has said so.
func (p *run) waitPairing(ctx context.Context, s *stage, l Line) error {
	instead := ""
	err := p.wait(ctx, waitLimit, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.ContainsFunc(s.lines, func(x control.PairingLine) bool {
			return x.State == l.State && x.Why == l.Why && (x.State != control.PairingOpen || isOpen(x))
		}) {
			return true
		}
		if n := len(s.lines); n > 0 && s.lines[n-1].State == control.PairingFailed {
			instead = s.lines[n-1].Text
		}
		return instead != ""
	}, string(l.State))
	if instead != "" {
		return fmt.Errorf("it failed: %s", instead)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		err = fmt.Errorf("%w; it said: %s", err, joined(s.lines, ", ", func(x control.PairingLine) string { return string(x.State) }))
	}
	return err
}

// pairingLine tells of pairing at a device. The code is not in it: it would be that of no window any more.
type pairingLine struct {
	Event  string               `json:"event"` // "pairing"
	AtMS   float64              `json:"at_ms"`
	Device string               `json:"device"`
	State  control.PairingState `json:"state"`
	Why    control.PairingWhy   `json:"why,omitempty"`
	Tries  int                  `json:"tries,omitempty"`
	Peer   string               `json:"peer,omitempty"`
	Room   string               `json:"room,omitempty"`
	Called string               `json:"called,omitempty"`
	Text   string               `json:"text"`
}

// pairing tells of one.
func (r *report) pairing(device string, l control.PairingLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(pairingLine{"pairing", milliseconds(r.now()), device, l.State, l.Why, l.Tries, l.Peer, l.Room, l.Called, l.Text})
	if l.Text != "" {
		r.sentence(indent+"%s: %s\n", device, l.Text)
	}
}
