package join

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	clips "conch/audio/words"
	"conch/device/control"
)

// What is said and shown at each step of pairing. A clip says it where this machine has no voice of its own to say the names; what a person
// pressed away is not said again.

// pairingClip is the clip of a line; empty: nothing is said.
func pairingClip(l control.PairingLine) string {
	switch l.State {
	case control.PairingListening:
		return "pair_listening"
	case control.PairingPaired:
		return "pair_paired"
	case control.PairingLeft:
		return "pair_left"
	case control.PairingRemoved:
		return "pair_removed"
	case control.PairingFailed:
		switch l.Why {
		case control.WhyWrongCode:
			return "pair_wrong_code"
		case control.WhyExpired:
			return "pair_expired"
		case control.WhyClosed, control.WhyBusy, control.WhyRefused:
			return "pair_closed"
		case control.WhyTwoWindows:
			return "pair_two_rooms"
		case control.WhyNotHeard:
			return "pair_not_heard"
		case control.WhyHost:
			return "pair_no_host"
		case control.WhyNobody:
			return "pair_nobody"
		case control.WhyFull:
			return "pair_full"
		case control.WhyDisk:
			return "pair_disk"
		case control.WhyMuted:
			return "muted"
		case control.WhyDeaf:
			return "no_microphone"
		case control.WhyUnsure, control.WhyAlready:
			return ""
		}
		return "pair_failed"
	}
	return ""
}

// pairingText is a line for people who read.
func pairingText(l control.PairingLine) string {
	with := func(s string, name string) string {
		if name == "" {
			return s
		}
		return s + " " + name
	}
	switch l.State {
	case control.PairingIdle:
		return "Nothing is being paired."
	case control.PairingLooking:
		return "Looking for a device that pairs."
	case control.PairingOpen:
		if l.Code == "" {
			return "Opening the window."
		}
		text := fmt.Sprintf("Pairing: the code is %s %s.", l.Code[:len(l.Code)/2], l.Code[len(l.Code)/2:])
		if l.Tries > 0 {
			text += " Wrong codes so far: " + strconv.Itoa(l.Tries) + "."
		}
		return text
	case control.PairingListening:
		return with("Listening for the code", with("of", l.Peer)) + "."
	case control.PairingJoining:
		return "Trying the code."
	case control.PairingLeaving:
		return "Leaving the room."
	case control.PairingPaired:
		text := with("Paired with", l.Peer)
		if l.Called != "" {
			text += "; that name was taken, so this device is " + l.Called + " in the room"
		}
		return text + "."
	case control.PairingCancelled:
		return "Cancelled."
	case control.PairingLeft:
		return strings.TrimSpace("This device has left the room "+l.Room) + "."
	case control.PairingRemoved:
		return "This device was removed from its room."
	}
	switch l.Why {
	case control.WhyWrongCode:
		return "The code was wrong. Pair again: there is a new one."
	case control.WhyExpired:
		return "The time is over. Hold the button again."
	case control.WhyClosed:
		return "The other device has closed its window. Hold its button again."
	case control.WhyBusy:
		return "Others are pairing with that device right now. Try again in a moment."
	case control.WhyNobody:
		return "No device is pairing here. Hold the button of one for five seconds, or name it with --host."
	case control.WhyTwoWindows:
		return "Two rooms are pairing. Wait until one has done, or name the device with --host."
	case control.WhyNotHeard:
		return "I have not heard a code. Bring the devices nearer, or type it."
	case control.WhyUnreachable:
		return "The other device does not answer. See that both are in the same network."
	case control.WhyHost:
		return "The device that keeps the room does not answer. Switch it on, or bring it back into the network."
	case control.WhyFull:
		return "The room has as many devices as it can hold. Remove one first."
	case control.WhyDisk:
		return "It could not be written down. Free some space, and pair again."
	case control.WhyMuted:
		return "The microphone is off, so the code cannot be heard. Switch it on, or type the code."
	case control.WhyDeaf:
		return "There is no microphone to hear the code with. Plug one in, or type the code."
	case control.WhyAlready:
		return "This device is already in " + strings.TrimSpace("the room "+l.Room) + ". To change, leave that first (conch room leave)."
	case control.WhyUnsure:
		return "The other device has the code right, and has not said that it is in. If it is, it comes by itself; else pair again."
	case control.WhyRefused:
		return "The room did not let this device in. Its log says why."
	case control.WhyTwin:
		return "The other device has this device's own key, so one card was copied from the other. Delete identity.key in the state " +
			"directory of one of them, restart that, and pair again."
	case control.WhyProtocol:
		return "The other device is no conch, or one of another version."
	}
	return "Pairing does not work on this device (see: conch doctor)."
}

// Oversee shows a person at the terminal how pairing goes, until ctx ends; then the channel is closed. The code is on that screen and in no log.
func (p *Pairing) Oversee(ctx context.Context, say func(string)) <-chan struct{} {
	done := make(chan struct{})
	lines := p.Watch(ctx)
	go func() { // ends with the channel of lines
		defer close(done)
		last := control.PairingIdle
		for l := range lines {
			if l.State == control.PairingIdle || l.State == control.PairingOpen && l.Code == "" || l.State == last && l.State != control.PairingOpen {
				continue
			}
			last = l.State
			say("(" + strings.TrimSuffix(l.Text, ".") + ")\n")
		}
	}()
	return done
}

// sentence is what pairing says now; a newer one replaces it.
type sentence struct {
	line control.PairingLine
	done chan struct{}
}

// Of what pairing says. Our choices: longer than any sentence, and than a turn that is in the way takes to end.
const (
	sayingTTL   = 10 * time.Second
	sayingLimit = 20 * time.Second
)

var errUnsaid = errors.New("it is no longer to be said")

// say says a line, in place of what was being said before.
func (p *Pairing) say(ctx context.Context, l control.PairingLine) {
	s := &sentence{l, make(chan struct{})}
	p.mu.Lock()
	p.saying = s
	p.mu.Unlock()
	if pairingClip(l) == "" {
		close(s.done)
		return
	}
	p.spawn(func() {
		defer close(s.done)
		ctx, cancel := context.WithTimeout(ctx, sayingLimit)
		defer cancel()
		p.host.Say(ctx, p.sound, sayingTTL)
	})
}

// hushWords: what is waiting to be said of an attempt that is over is not said.
func (p *Pairing) hushWords() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saying = nil
}

// said waits until what is being said has sounded, or was dropped.
func (p *Pairing) said(ctx context.Context) {
	p.mu.Lock()
	s := p.saying
	p.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

// sound is what is said of pairing when its time has come.
func (p *Pairing) sound(ctx context.Context) ([]int16, error) {
	p.mu.Lock()
	s := p.saying
	p.mu.Unlock()
	if s == nil {
		return nil, errUnsaid
	}
	if p.o.Speak != nil && s.line.State == control.PairingPaired && s.line.Peer != "" {
		text := "Paired with " + s.line.Peer + "."
		if s.line.Called != "" {
			text += " I am called " + s.line.Called + " here."
		}
		if pcm, err := p.o.Speak(ctx, text); err == nil {
			return pcm, nil
		}
	}
	return clips.Samples(pairingClip(s.line))
}
