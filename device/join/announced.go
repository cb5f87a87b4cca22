package join

import (
	"context"
	"errors"
	"sync/atomic"

	"conch/companions/round"
	"conch/device/condition"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// A window of another device of the room: it is said aloud here, the light shows it, and a press ends it (PAIRING.md 6).

// logWindow: a device of the room has opened its window, or that is shut.
const logWindow = "pairing.window"

// logRenamed: a device is called otherwise from now on; by is who asked for it, where this device keeps the room.
const logRenamed = "pairing.renamed"

// announce tells the room of this device's window, and what has come of that.
func (p *Pairing) announce(ctx, device context.Context, run int, rest func(context.Context) error) {
	err := rest(ctx)
	switch {
	case err == nil, ctx.Err() != nil:
	case errors.Is(err, membership.ErrNoHost): // an older one admits nevertheless, and of another one the admission hears the same
		p.log.Warn(logPairErr, "err", err)
	default:
		p.log.Warn(logPairErr, "err", err)
		p.tell(device, WindowShut{At: p.o.Now(), Run: run, Why: whyOf(err)})
	}
}

// heardWindow keeps what is open elsewhere in the room. Owned by run.
func (p *Pairing) heardWindow(ctx context.Context, c membership.Change) {
	known, open := p.elsewhere[c.Device]
	switch {
	case c.What == membership.WindowShut:
		if open && known.id == c.Window {
			delete(p.elsewhere, c.Device)
			known.refused.Store(c.By != "")
			p.log.Info(logWindow, "open", false, "device", string(c.Device), "name", c.Name, "by", string(c.By))
		}
	case open && known.id == c.Window: // said twice
	default:
		p.conds.Clear(condition.RoomOutdated.Of(string(c.Device))) // it announces by now
		w := windowHeard{c.Window, p.o.Now() + pairing.WindowLength + pairing.RunLength, new(atomic.Bool)}
		p.elsewhere[c.Device] = w
		p.log.Info(logWindow, "open", true, "device", string(c.Device), "name", c.Name)
		p.speech.sayWindow(ctx, c.Name, w)
		if !p.way.live() { // else that is what they watch
			p.showElsewhere(c)
		}
	}
	p.shine()
}

// forgetWindows ends what nobody has ended.
func (p *Pairing) forgetWindows() {
	for id, w := range p.elsewhere {
		if p.o.Now() >= w.until {
			delete(p.elsewhere, id)
		}
	}
	p.shine()
}

// shine has the light show that something is being paired, here or elsewhere in the room.
func (p *Pairing) shine() { p.o.Light(p.way.live() || len(p.elsewhere) > 0) }

// shutHere: the room has shut this device's own window.
func (p *Pairing) shutHere(by round.DeviceID) Stopped {
	s := Stopped{At: p.o.Now()}
	if room := p.link.Room(); room != nil {
		m, _ := room.Member(by)
		s.By = m.Name
	}
	return s
}

// excess names a member that asks for too much, until it no longer does.
func (p *Pairing) excess(c membership.Change) {
	switch c.What {
	case membership.Excess:
		p.conds.Set(condition.RoomExcess.Of(string(c.Device)), c.Name+" asks the room for more than a device does: "+c.Why.Error(),
			"look at that device; to take it out of the room: "+removal(c.Name))
	case membership.Outdated:
		p.conds.Set(condition.RoomOutdated.Of(string(c.Device)), c.Name+" runs an older conch, which announces no windows: it lets nobody in",
			"upgrade it; or open the window at another device: conch room pair")
	default:
		p.conds.Clear(condition.RoomExcess.Of(string(c.Device)))
		if c.What == membership.Removed {
			p.conds.Clear(condition.RoomOutdated.Of(string(c.Device)))
		}
	}
}
