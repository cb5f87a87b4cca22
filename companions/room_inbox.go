package companions

import (
	"sync"

	"conch/companions/round"
)

// Bounds of the room's inbox. Our choices: the room works off a thousand facts in a few milliseconds.
const (
	inboxLocal   = 4096 // facts of this device: they never wait and, up to here, are never lost
	inboxPresses = 1024 // presses of other devices: places of their own, so that no flood hides a person
	inboxFinger  = 16   // of these, from one device: nor does a flood of presses hide a press
	inboxOutside = 1024 // other packets of other devices
	inboxSender  = 256  // of these, from one device: a flood of one device does not silence the others
)

// roomInbox is one queue in order of arrival. Nobody waits at it.
//
//	local     what happened at this device       at the bound: a press takes the place of the last waiting press, anything
//	                                             else is refused and counted (only a room that does not run gets there)
//	presses   a person pressed elsewhere         at either bound: takes the place of the last waiting one of the same device,
//	                                             which it outranks; where there is none, refused and counted
//	outside   any other packet                   at the bound: refused and counted; the protocol survives lost packets
type roomInbox struct {
	wake chan struct{} // one token when there is something to take

	// guarded by mu
	mu      sync.Mutex
	shut    bool
	queue   []round.Event
	spare   []round.Event
	local   int
	presses int
	outside int
	from    map[round.DeviceID]int
	fingers map[round.DeviceID]int
	refused inboxRefused
}

// inboxRefused counts what was refused at a bound.
type inboxRefused struct{ local, presses, outside uint64 }

func newRoomInbox() *roomInbox {
	return &roomInbox{wake: make(chan struct{}, 1), from: map[round.DeviceID]int{}, fingers: map[round.DeviceID]int{}}
}

// put queues a fact, or refuses it at once.
func (b *roomInbox) put(ev round.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return
	}
	if !b.admit(ev) {
		return
	}
	b.queue = append(b.queue, ev)
	poke(b.wake)
}

// admit counts ev in, or deals with it at its bound.
func (b *roomInbox) admit(ev round.Event) bool {
	r, outside := ev.(round.Received)
	_, press := r.Packet.(round.Press)
	switch {
	case !outside:
		if b.local < inboxLocal {
			b.local++
			return true
		}
		b.refused.local++
		if _, ok := ev.(round.Pressed); ok {
			b.replace(ev, func(old round.Event) bool { _, ok := old.(round.Pressed); return ok })
		}
	case press:
		if b.presses < inboxPresses && b.fingers[r.From] < inboxFinger {
			b.presses++
			b.fingers[r.From]++
			return true
		}
		b.refused.presses++
		b.replace(ev, func(old round.Event) bool {
			o, ok := old.(round.Received)
			_, press := o.Packet.(round.Press)
			return ok && press && o.From == r.From
		})
	default:
		if b.outside < inboxOutside && b.from[r.From] < inboxSender {
			b.outside++
			b.from[r.From]++
			return true
		}
		b.refused.outside++
	}
	return false
}

// replace puts ev in the place of the last waiting fact that fits.
func (b *roomInbox) replace(ev round.Event, fits func(round.Event) bool) {
	for i := len(b.queue) - 1; i >= 0; i-- {
		if fits(b.queue[i]) {
			b.queue[i] = ev
			return
		}
	}
}

// take returns everything that waits, in order of arrival. The slice is good until the next take.
func (b *roomInbox) take() []round.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare) // let go of what was carried out
	b.queue, b.spare = b.spare[:0], b.queue
	b.local, b.presses, b.outside = 0, 0, 0
	clear(b.from)
	clear(b.fingers)
	return b.spare
}

// counts are what was refused so far, and how many facts wait.
func (b *roomInbox) counts() (refused inboxRefused, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused, len(b.queue)
}

// close refuses everything from now on.
func (b *roomInbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
}

// poke leaves a token; one is enough.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
