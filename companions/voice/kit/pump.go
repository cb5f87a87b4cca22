package kit

import (
	"context"
	"encoding/base64"
	"sync"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// Pump hands the speech of one answer to the outlet at the pace the outlet takes it, and tells Run when it is through.
// Servers speak faster than real time: what the speaker has no room for waits here, up to limit samples.
type Pump struct {
	turn  turn.ID
	resp  turn.ResponseID
	limit int
	ctx   context.Context
	Stop  context.CancelFunc
	more  chan struct{} // of one

	mu     sync.Mutex
	pcm    []int16 // waiting: pcm[head:]
	head   int
	items  []segment // whose samples these are, in order
	closed bool      // no more comes
	dead   bool      // the turn is over: what comes is dropped
	odd    []byte    // half a sample, until its other half arrives
}

type segment struct {
	item turn.ItemID
	n    int
}

// pieces are 100 ms: small enough that an answer cut at the speaker wakes the pump soon.
const piece = Rate / 10

// NewPump is one of an answer; Run has to be called.
func NewPump(ctx context.Context, id turn.ID, resp turn.ResponseID, limit int) *Pump {
	p := &Pump{turn: id, resp: resp, limit: limit, more: make(chan struct{}, 1)}
	p.ctx, p.Stop = context.WithCancel(ctx)
	return p
}

// Base64 decodes base64 PCM straight into the queue. It reports the samples received, and false when they are not base64
// or there is no room for them.
func (p *Pump) Base64(item turn.ItemID, b64 []byte) (n int, ok, room bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compact()
	before := len(p.pcm)
	var raw [3 * 512]byte
	for len(b64) > 0 {
		k := min(len(b64), 4*512)
		m, err := base64.StdEncoding.Decode(raw[:], b64[:k])
		if err != nil {
			p.pcm = p.pcm[:before]
			return 0, false, true
		}
		b64 = b64[k:]
		p.pcm = p.samples(raw[:m])
	}
	n = len(p.pcm) - before
	if p.dead {
		p.pcm, p.head = p.pcm[:0], 0
		return n, true, true
	}
	if len(p.pcm)-p.head > p.limit {
		return n, true, false
	}
	p.queued(item, n)
	return n, true, true
}

// Samples queues speech as it is, up to the limit: whoever gives more waits first (Waiting).
func (p *Pump) Samples(item turn.ItemID, pcm []int16) (room bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compact()
	if p.dead {
		return true
	}
	if len(p.pcm)-p.head+len(pcm) > p.limit {
		return false
	}
	p.pcm = append(p.pcm, pcm...)
	p.queued(item, len(pcm))
	return true
}

// Waiting is how many samples are not handed over yet.
func (p *Pump) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pcm) - p.head
}

// compact makes room before what is appended. The caller holds mu.
func (p *Pump) compact() {
	if p.head > 0 && p.head >= len(p.pcm)/2 {
		p.pcm = p.pcm[:copy(p.pcm, p.pcm[p.head:])]
		p.head = 0
	}
}

// queued notes whose the samples are that were appended. The caller holds mu.
func (p *Pump) queued(item turn.ItemID, n int) {
	if k := len(p.items); k > 0 && p.items[k-1].item == item {
		p.items[k-1].n += n
	} else if n > 0 {
		p.items = append(p.items, segment{item, n})
	}
	p.poke()
}

// samples appends little-endian bytes, of which one may be left over.
func (p *Pump) samples(b []byte) []int16 {
	pcm := p.pcm
	if len(p.odd) == 1 && len(b) > 0 {
		pcm = append(pcm, int16(uint16(p.odd[0])|uint16(b[0])<<8))
		p.odd, b = p.odd[:0], b[1:]
	}
	for ; len(b) >= 2; b = b[2:] {
		pcm = append(pcm, int16(uint16(b[0])|uint16(b[1])<<8))
	}
	p.odd = append(p.odd, b...)
	return pcm
}

// Close says that no more comes; Run ends when all is handed over.
func (p *Pump) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.poke()
}

func (p *Pump) poke() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// Run hands over until the end, the cut of the turn, or Stop.
func (p *Pump) Run(out voice.Outlet) {
	defer p.Stop()
	scratch := make([]int16, 0, piece)
	for {
		pcm, item, done := p.Take(scratch)
		if done {
			return
		}
		if len(pcm) == 0 {
			select {
			case <-p.more:
			case <-p.ctx.Done():
				return
			}
			continue
		}
		n := out.Audio(p.ctx, p.turn, pcm)
		if n > 0 {
			out.Post(turn.DeltaArrived{At: out.Now(), Turn: p.turn, Response: p.resp, Item: item, Samples: n})
		}
		if n < len(pcm) {
			p.mu.Lock()
			p.dead, p.pcm, p.head, p.items = true, nil, 0, nil
			p.mu.Unlock()
		}
	}
}

// Take moves the next piece of one item into dst.
func (p *Pump) Take(dst []int16) (pcm []int16, item turn.ItemID, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.items) == 0 {
		return nil, "", p.closed
	}
	s := &p.items[0]
	n := min(s.n, cap(dst))
	pcm = dst[:copy(dst[:n], p.pcm[p.head:])]
	item = s.item
	p.head += n
	if s.n -= n; s.n == 0 {
		p.items = p.items[:copy(p.items, p.items[1:])]
	}
	return pcm, item, false
}
