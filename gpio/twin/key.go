package twin

import (
	"context"
	"sync"
	"time"

	"conch/gpio"
)

// Key is a button that somebody else has settled already, as Linux does with keys: one on a page in a browser. It has no contact and no
// queue: a press is told on the goroutine that makes it. Its methods may be called from any goroutine.
type Key struct {
	// fixed
	name string
	now  func() time.Duration

	mu   sync.Mutex
	on   func(gpio.Event) // nil: nobody runs it; guarded by mu
	down bool             // guarded by mu
}

// NewKey makes one that is up. now is the clock of all facts.
func NewKey(name string, now func() time.Duration) *Key { return &Key{name: name, now: now} }

// Run implements gpio.Events.
func (k *Key) Run(ctx context.Context, on func(gpio.Event)) error {
	k.listen(on)
	<-ctx.Done()
	k.listen(nil)
	return nil
}

func (k *Key) listen(on func(gpio.Event)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on, k.down = on, false
}

// Set moves it. That it is down already, or up, is no news.
func (k *Key) Set(down bool) {
	kind := gpio.Released
	if down {
		kind = gpio.Pressed
	}
	k.tell(kind, down)
}

// Vanish takes a key away that may be down: nobody meant to send what was said until then.
func (k *Key) Vanish() { k.tell(gpio.Vanished, false) }

func (k *Key) tell(kind gpio.Kind, down bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on == nil || k.down == down {
		return
	}
	k.down = down
	k.on(gpio.Numbered(gpio.Event{Kind: kind, At: k.now()}))
}

// CaptureEnded implements gpio.Events: it is held, and knows of no taps.
func (k *Key) CaptureEnded(uint64) {}

// Call implements gpio.Events: Run waits for a person, and nothing else.
func (k *Key) Call(f func()) bool { f(); return true }

func (k *Key) String() string { return k.name }
