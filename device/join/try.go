package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	"conch/device/wait"
	"conch/mqtt"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// Joining: this device goes to a window with a code.

// newJoiner counts the wrong codes of one attempt. What the room tells is on disk when Store returns: from then on this device is in,
// whatever becomes of the run.
func (p *Pairing) newJoiner(device context.Context, run int) *pairing.Joiner {
	name := p.link.Name()
	return pairing.NewJoiner(pairing.JoinConfig{
		Identity: p.link.id, Name: name,
		Store: func(host pairing.Party, welcome []byte) error {
			p.step(StepStoring)
			if err := p.link.members.Accept(membership.Party(host), welcome); err != nil {
				return err
			}
			p.step(StepJoined)
			p.tell(device, Joined{At: p.o.Now(), Run: run, Peer: p.link.joined(host, name)})
			return nil
		},
	})
}

// joiners are those of a try's windows.
func (p *Pairing) joiners(device context.Context, o Try, a *attempt) (all []*pairing.Joiner) {
	if a.joiners == nil {
		a.joiners = map[string]*pairing.Joiner{}
	}
	for _, w := range o.Targets {
		if a.joiners[w.key()] == nil {
			a.joiners[w.key()] = p.newJoiner(device, o.Run)
		}
		all = append(all, a.joiners[w.key()])
	}
	return all
}

// try goes to each window with a code, one after the other; one that takes its time does not keep the next one waiting for long.
func (p *Pairing) try(ctx context.Context, o Try, a *attempt, joiners []*pairing.Joiner) {
	p.step(StepTrying)
	ended := make(chan error, len(o.Targets))
	stalled := time.NewTicker(tryEvery)
	defer stalled.Stop()
	var failed []error
	for next, running := 0, 0; next < len(o.Targets) || running > 0; {
		if running == 0 {
			stalled.Reset(tryEvery)
		}
		start := running == 0
		if !start {
			select {
			case err := <-ended:
				if err == nil || ctx.Err() != nil { // Store has told, or nobody waits
					return
				}
				running--
				failed = append(failed, err)
				p.log.Warn(logPairErr, "err", err)
			case <-stalled.C:
				start = true
			}
		}
		if start && next < len(o.Targets) {
			w, j := o.Targets[next], joiners[next]
			p.spawn(func() { ended <- p.tryOften(ctx, w, o.Code, a, j) })
			next, running = next+1, running+1
		}
	}
	p.tell(ctx, JoinFailed{At: p.o.Now(), Run: o.Run, Why: whyOf(worst(failed))})
}

// Our choices: a run over a network at home takes a tenth of a second, but where the room's host is asked.
const (
	tryEvery  = 2 * time.Second        // from one window to the next, if the one before has not ended
	busyEvery = 300 * time.Millisecond // at a window where others are pairing
	busyTries = 10
)

// tryOften tries a code at one window, again while that is busy.
func (p *Pairing) tryOften(ctx context.Context, w Window, code string, a *attempt, j *pairing.Joiner) (err error) {
	for range busyTries {
		if err = p.tryAt(ctx, w, code, a, j); !errors.Is(err, pairing.ErrBusy) || wait.For(ctx, busyEvery) != nil {
			break
		}
	}
	return err
}

// tryAt tries a code at a window, at each of its addresses until one answers.
func (p *Pairing) tryAt(ctx context.Context, w Window, code string, a *attempt, j *pairing.Joiner) error {
	if p.link.foreign() {
		m, err := a.meet(ctx, p.link)
		if err != nil {
			return errors.Join(errUnreachable, err)
		}
		ch, err := m.Dial(ctx, w.Device)
		if err != nil {
			return errors.Join(errUnreachable, err)
		}
		_, err = j.Join(ctx, ch, code)
		return err
	}
	all := errUnreachable
	for _, address := range w.Addresses {
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
		case w.Device != "" && is != w.Device: // the code is not that one's
			_ = ch.Close()
			all = errors.Join(all, fmt.Errorf("%w: %s is at %s", errUnreachable, is, address))
			continue
		}
		_, err = j.Join(ctx, ch, code)
		if room := p.link.Room(); err == nil && room != nil && room.Host == is { // where a person has named it, it may be found by nothing else
			p.link.members.Reached(address)
		}
		return err
	}
	return all
}

// dialLimit is how long one address gets. Our choice: on a network at home an answer takes milliseconds.
const dialLimit = 3 * time.Second
