package join

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"conch/device/control"
	"conch/mqtt"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// Joining: this device goes to a window with a code.

// newJoiner counts the wrong codes of one attempt. What the room tells is on disk when Store returns: from then on this device is in,
// whatever becomes of the run.
func (p *Pairing) newJoiner(device context.Context, run int) *pairing.Joiner {
	return pairing.NewJoiner(pairing.JoinConfig{
		Identity: p.link.id, Name: p.link.name,
		Store: func(host pairing.Party, welcome []byte) error {
			p.step(StepStoring)
			if err := p.link.members.Accept(membership.Party(host), welcome); err != nil {
				return err
			}
			p.step(StepJoined)
			p.tell(device, Joined{At: p.o.Now(), Run: run, Peer: p.link.joined(host)})
			return nil
		},
	})
}

// joined is who let this device in.
func (l *Link) joined(host pairing.Party) Peer {
	peer := *l.peer(host)
	if room := l.Room(); room != nil && room.Called != l.name {
		peer.Called = room.Called
	}
	return peer
}

// try goes to the window with a code, at each of its addresses until one answers.
func (p *Pairing) try(ctx context.Context, o Try, a *attempt) {
	p.step(StepTrying)
	err := p.tryAt(ctx, o, a)
	if err == nil || ctx.Err() != nil { // Store has told, or nobody waits
		return
	}
	p.log.Warn(logPairErr, "err", err)
	p.tell(ctx, JoinFailed{At: p.o.Now(), Run: o.Run, Why: whyOf(err)})
}

func (p *Pairing) tryAt(ctx context.Context, o Try, a *attempt) error {
	if p.link.foreign() {
		m, err := p.meet(ctx, a)
		if err != nil {
			return errors.Join(errUnreachable, err)
		}
		ch, err := m.Dial(ctx, o.Target.Device)
		if err != nil {
			return errors.Join(errUnreachable, err)
		}
		_, err = a.joiner.Join(ctx, ch, o.Code)
		return err
	}
	all := errUnreachable
	for _, address := range o.Target.Addresses {
		c, cancel := context.WithTimeout(ctx, dialLimit)
		ch, err := pairing.DialTLS(c, address, p.link.id)
		cancel()
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		is := mqtt.Fingerprint(ch.Peer())
		switch {
		case is == p.link.Self():
			_ = ch.Close()
			return errTwin
		case o.Target.Device != "" && is != o.Target.Device: // the code is not that one's
			_ = ch.Close()
			all = errors.Join(all, fmt.Errorf("%w: %s is at %s", errUnreachable, is, address))
			continue
		}
		_, err = a.joiner.Join(ctx, ch, o.Code)
		if room := p.link.Room(); err == nil && room != nil && room.Host == is { // where a person has named it, it may be found by nothing else
			p.link.members.Reached(address)
		}
		return err
	}
	return all
}

// dialLimit is how long one address gets. Our choice: on a network at home an answer takes milliseconds.
const dialLimit = 3 * time.Second

var (
	errUnreachable = errors.New("pairing: the other device cannot be reached")
	errTwin        = errors.New("pairing: the other device has this device's own key")
)

// whyOf is an error as people are told it.
func whyOf(err error) control.PairingWhy {
	for _, w := range []struct {
		err error
		why control.PairingWhy
	}{
		{errTwin, control.WhyTwin}, {membership.ErrDisk, control.WhyDisk}, {pairing.ErrWrongCode, control.WhyWrongCode},
		{pairing.ErrTooMany, control.WhyWrongCode}, {pairing.ErrExpired, control.WhyExpired},
		{pairing.ErrNoWindow, control.WhyClosed}, {pairing.ErrClosed, control.WhyClosed}, {pairing.ErrBusy, control.WhyBusy},
		{membership.ErrFull, control.WhyFull}, {membership.ErrNoHost, control.WhyHost}, {membership.ErrPaired, control.WhyAlready},
		{syscall.ENOSPC, control.WhyDisk}, {syscall.EROFS, control.WhyDisk}, {syscall.EACCES, control.WhyDisk}, {syscall.EDQUOT, control.WhyDisk},
		{syscall.EIO, control.WhyDisk},
		{pairing.ErrNotStored, control.WhyDisk}, {pairing.ErrRefused, control.WhyRefused}, {pairing.ErrVersion, control.WhyProtocol},
		{pairing.ErrProtocol, control.WhyProtocol},
		{errUnreachable, control.WhyUnreachable}, {pairing.ErrLost, control.WhyUnreachable}, {pairing.ErrSlow, control.WhyUnreachable},
	} {
		if errors.Is(err, w.err) {
			return w.why
		}
	}
	return control.WhyDevice
}
