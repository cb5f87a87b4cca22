package join

import (
	"context"
	"time"
)

// Held is told of a button that was held for long, after its release: 5 s, or 10 (very). Nothing was said while it was down: then it
// is no question, and the turn that the press began ends as if it had not been (TURNS.md 2, a hush).
func (p *Pairing) Held(at time.Duration, very bool) {
	switch spoken := !p.Sound.Quiet(); {
	case spoken && !very:
		p.post(spokenOver{p.presses.Load()})
	case spoken:
	case very:
		p.host.Hush(false)
		p.post(HeldLong{at})
	default:
		p.host.Hush(false)
		p.post(Held{At: at, Missing: p.link.missing()})
	}
}

// amid decides what a long hold was during which somebody spoke: a long question, unless a device beside this one, which is in no
// room, is pairing. Then it was that one's voice, saying its code all the time. The question waits for nothing meanwhile; it is
// cut if it was none, and a press goes before.
func (p *Pairing) amid(ctx context.Context, presses uint64) {
	if p.link.members == nil || p.way.paired && !p.link.alone() || p.way.live() || p.ending.Load() {
		return
	}
	p.spawn(func() {
		a := &attempt{}
		a.ctx, a.cancel = context.WithCancel(ctx)
		defer a.cancel()
		windows, err := p.link.windows(a.ctx, a)
		if err != nil || len(windows) == 0 || p.presses.Load() != presses || ctx.Err() != nil {
			return
		}
		p.host.Hush(false)
		p.post(Held{At: p.o.Now()})
	})
}
