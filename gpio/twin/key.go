package twin

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conch/gpio"
)

// Key is a button that somebody else has settled already, as Linux does with keys: one on a page in a browser, or that of the control
// socket. It has no contact and no queue: a press is told on the goroutine that makes it, and has silenced when that goes on. No hand is at
// it. Its methods may be called from any goroutine.
type Key struct {
	// fixed
	name string
	now  func() time.Duration
	wake chan struct{} // of one: another client holds it, or its recording has ended

	ended atomic.Uint64          // press whose recording has ended by itself; Run has not seen it yet
	call  atomic.Pointer[func()] // of Call; Run has not seen it yet

	mu   sync.Mutex
	on   func(gpio.Event) // nil: nobody runs it; guarded by mu
	grip grip             // guarded by mu
}

// Client is a program or a page that presses a key. The zero value is one that never goes.
type Client struct {
	ID    string          // of its connection, or of its session
	Owner string          // a process that has several connections; empty: none is known
	Gone  <-chan struct{} // closed when it has gone; nil: it never does
}

// Orphaned is how long a key stays down whose client has gone: a program may connect anew to let it go. Our choice.
const Orphaned = 5 * time.Second

// NewKey makes one that is up. now is the clock of all facts.
func NewKey(name string, now func() time.Duration) *Key {
	return &Key{name: name, now: now, wake: make(chan struct{}, 1)}
}

// grip is which client holds a key. A value without clock.
//
//	              up         down
//	C presses     Pressed    Pressed: a release was lost, or C takes over
//	C releases    -          Released if C holds it, or if the client that does has gone; nothing if C's own press was taken over
//	Orphaned      -          Vanished: its client has gone for so long
//	recording     -          Released: it has ended by itself, as at turn.listen_s
type grip struct {
	down  bool
	by    Client
	press uint64
	past  [pasts]string // ids of clients whose presses were taken over, newest first
}

// pasts is how many clients are remembered whose press was taken over. Of one more a release may end another client's press.
const pasts = 8

func (g grip) pressed(by Client, press uint64) grip {
	if g.down && g.by.ID != by.ID {
		g = g.spent(by.ID)
		copy(g.past[1:], g.past[:pasts-1])
		g.past[0] = g.by.ID
	}
	g.down, g.by, g.press = true, by, press
	return g
}

// spent forgets that a press of a client was taken over.
func (g grip) spent(id string) grip {
	if i := slices.Index(g.past[:], id); i >= 0 && id != "" {
		g.past[i] = ""
	}
	return g
}

func (g grip) released(by Client, gone bool) (grip, gpio.Kind) {
	switch {
	case by.ID != "" && slices.Contains(g.past[:], by.ID) && g.by.ID != by.ID:
		return g.spent(by.ID), 0
	case g.down && (g.by.ID == by.ID || gone || by.Owner != "" && g.by.Owner == by.Owner):
		return g.up(), gpio.Released
	}
	return g, 0
}

func (g grip) up() grip { return grip{past: g.past} }

// Run implements gpio.Events.
func (k *Key) Run(ctx context.Context, on func(gpio.Event)) error {
	k.listen(on)
	defer k.listen(nil)
	orphaned := time.NewTimer(Orphaned)
	defer orphaned.Stop()
	var seen uint64 // press whose client has gone
	for {
		k.mu.Lock()
		held := k.grip
		k.mu.Unlock()
		gone := held.by.Gone
		if held.press == seen {
			gone = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
			if f := k.call.Swap(nil); f != nil {
				(*f)()
			}
			k.lose(k.ended.Swap(0), gpio.Released)
		case <-gone:
			seen = held.press
			orphaned.Reset(Orphaned)
		case <-orphaned.C:
			k.lose(seen, gpio.Vanished)
		}
	}
}

// lose lets a press go that nobody has let go of, if it is still the one that is down.
func (k *Key) lose(press uint64, kind gpio.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grip.down && k.grip.press == press {
		k.grip = k.grip.up()
		k.tell(kind)
	}
}

func (k *Key) listen(on func(gpio.Event)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on, k.grip = on, grip{}
}

// Press presses it, though it be down already. True: the loudspeaker is silent. False: the key is not served.
func (k *Key) Press(by Client) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	ev := gpio.Numbered(gpio.Event{Kind: gpio.Pressed, At: k.now()})
	if k.on == nil {
		return false
	}
	k.grip = k.grip.pressed(by, ev.Press)
	k.on(ev)
	k.poke()
	return true
}

// Release lets it go, if it is down by this client. False: the key is not served.
func (k *Key) Release(by Client) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on == nil {
		return false
	}
	gone := false
	select {
	case <-k.grip.by.Gone:
		gone = true
	default:
	}
	next, kind := k.grip.released(by, gone)
	k.grip = next
	if kind != 0 {
		k.tell(kind)
	}
	return true
}

// Set moves a key that has one client.
func (k *Key) Set(down bool) {
	if down {
		k.Press(Client{})
	} else {
		k.Release(Client{})
	}
}

// Vanish takes a key away that may be down: nobody meant to send what was said until then.
func (k *Key) Vanish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on != nil && k.grip.down {
		k.grip = k.grip.up()
		k.tell(gpio.Vanished)
	}
}

// tell needs mu.
func (k *Key) tell(kind gpio.Kind) { k.on(gpio.Event{Kind: kind, At: k.now()}) }

func (k *Key) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// CaptureEnded implements gpio.Events: Run lets the key go.
func (k *Key) CaptureEnded(press uint64) {
	k.ended.Store(press)
	k.poke()
}

// Touchable implements gpio.Events.
func (*Key) Touchable() bool { return false }

// Call implements gpio.Events: Run calls f. False: one is waiting to be called already.
func (k *Key) Call(f func()) bool {
	if !k.call.CompareAndSwap(nil, &f) {
		return false
	}
	k.poke()
	return true
}

func (k *Key) String() string { return k.name }
