package realtime

import (
	"context"
	"encoding/base64"
	"sync"
	"sync/atomic"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// pump hands the speech of one answer to the outlet at the pace the outlet takes it, and tells Run when it is through.
// Servers speak faster than real time: what the speaker has no room for waits here, up to limit samples.
type pump struct {
	turn  turn.ID
	resp  turn.ResponseID
	limit int
	ctx   context.Context
	stop  context.CancelFunc
	more  chan struct{} // of one

	handed atomic.Int64 // samples offered to the outlet

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
const piece = rate / 10

func newPump(ctx context.Context, id turn.ID, resp turn.ResponseID, limit int) *pump {
	p := &pump{turn: id, resp: resp, limit: limit, more: make(chan struct{}, 1)}
	p.ctx, p.stop = context.WithCancel(ctx)
	return p
}

// add decodes base64 PCM straight into the queue. It reports the samples received, and false when they are not base64
// or there is no room for them.
func (p *pump) add(item turn.ItemID, b64 []byte) (n int, ok, room bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head > 0 && p.head >= len(p.pcm)/2 {
		p.pcm = p.pcm[:copy(p.pcm, p.pcm[p.head:])]
		p.head = 0
	}
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
	if k := len(p.items); k > 0 && p.items[k-1].item == item {
		p.items[k-1].n += n
	} else if n > 0 {
		p.items = append(p.items, segment{item, n})
	}
	p.poke()
	return n, true, true
}

// samples appends little-endian bytes, of which one may be left over.
func (p *pump) samples(b []byte) []int16 {
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

// close says that no more comes; run ends when all is handed over.
func (p *pump) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.poke()
}

func (p *pump) poke() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// run hands over until the end, the cut of the turn, or stop.
func (p *pump) run(out voice.Outlet) {
	defer p.stop()
	scratch := make([]int16, 0, piece)
	for {
		pcm, item, done := p.take(scratch)
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
		p.handed.Add(int64(len(pcm))) // before, so that what was told is never less
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

// take moves the next piece of one item into dst.
func (p *pump) take(dst []int16) (pcm []int16, item turn.ItemID, done bool) {
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
