package realtime

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// Client is a voice. Do, Append, Tools and Usage may be called from any goroutine, at any time; Run once.
type Client struct {
	cfg Config // fixed after New
	log *slog.Logger

	running atomic.Bool
	wake    chan struct{} // of one: there is something new below

	mu         sync.Mutex // guards the rest up to utt
	orders     []turn.Order
	remembered int  // of these, what belongs to no turn
	overflow   bool // an order was lost: what the server knows is no longer what was ordered
	wishes     wishes
	usage      *meter

	saving sync.Mutex // held while the usage is written; before mu

	nudged atomic.Bool
	call   atomic.Pointer[func()]

	utt utterance // own lock: the microphone never waits for an order
}

// New checks the configuration. Nothing is dialled before Run.
func New(cfg Config) (*Client, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, log: cfg.Log, wake: make(chan struct{}, 1), wishes: wishes{version: 1}}
	m, err := newMeter(&c.cfg)
	if err != nil {
		return nil, err
	}
	c.usage = m
	c.utt.limit = samples(cfg.MaxUtterance)
	return c, nil
}

// Do queues an order for Run. It never blocks: orders that Run has not looked at are at most maxOrders; one more, and
// the session is begun anew, which the coordinator hears as SessionLost.
//
// An AddText without a turn is something that was said in the room. It goes into the conversation at once, whatever else
// is going on, and into every later session; it belongs to no turn, so that nothing that ends a turn takes it away.
func (c *Client) Do(o turn.Order) {
	switch in := o.(type) { // now: frames do not queue behind orders
	case turn.ClearInput:
		c.utt.begin(in.Turn)
		c.utt.restore(in.Turn, in.Kept)
	case turn.KeepInput:
		c.utt.keep(in.Turn)
	}
	c.mu.Lock()
	switch {
	case isMemory(o):
		c.rememberLater(o)
	case len(c.orders)-c.remembered < maxOrders:
		c.orders = append(c.orders, o)
	default:
		c.overflow = true
	}
	c.mu.Unlock()
	c.poke()
}

// isMemory tells that an order is no business of any turn.
func isMemory(o turn.Order) bool {
	t, ok := o.(turn.AddText)
	return ok && t.Turn == ""
}

// rememberLater queues memory in its place among the orders. The caller holds mu.
func (c *Client) rememberLater(o turn.Order) {
	if c.remembered == maxHistory {
		i := slices.IndexFunc(c.orders, isMemory)
		c.orders = slices.Delete(c.orders, i, i+1)
		c.remembered--
	}
	c.orders = append(c.orders, o)
	c.remembered++
}

// Append takes samples of the utterance of a turn, whether its ClearInput was ordered yet or not; it copies them. Samples
// of a turn that is over are dropped and counted, and so is what exceeds MaxUtterance.
func (c *Client) Append(id turn.ID, pcm []int16) {
	if c.utt.append(id, pcm) {
		c.poke()
	}
}

// Tools tells which tools the model may call, from the next event on.
func (c *Client) Tools(specs []turn.ToolSpec) {
	c.mu.Lock()
	c.wishes.tools = slices.Clone(specs)
	c.wishes.version++
	c.mu.Unlock()
	c.poke()
}

// Names are those that may be said. Whoever writes down what is said is asked to expect them.
func (c *Client) Names(names []string) {
	prompt := namesPrompt(names)
	c.mu.Lock()
	same := c.wishes.names == prompt
	c.wishes.names = prompt
	c.mu.Unlock()
	if !same {
		c.poke()
	}
}

// Nudge says that an attempt which would have failed a moment ago may now succeed. It never waits.
func (c *Client) Nudge() {
	c.nudged.Store(true)
	c.poke()
}

// Call has f called by Run, as a sign that it still goes round. It never waits; false: one waits already.
func (c *Client) Call(f func()) bool {
	if !c.call.CompareAndSwap(nil, &f) {
		return false
	}
	c.poke()
	return true
}

// Usage tells what was used today and in the latest turn.
func (c *Client) Usage() voice.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage.read(c.cfg.Wall())
}

func (c *Client) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Client) takeOrders() (orders []turn.Order, overflow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	orders, overflow = c.orders, c.overflow
	c.orders, c.remembered, c.overflow = nil, 0, false
	return orders, overflow
}

func (c *Client) wished() wishes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wishes
}

var errTwice = errors.New("realtime: Run was called twice")

// Run connects, converses, and connects again for ever; it returns nil when ctx ends, after all it started has ended.
func (c *Client) Run(ctx context.Context, out voice.Outlet) error {
	if !c.running.CompareAndSwap(false, true) {
		return errTwice
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRun(ctx, c, out)
	defer r.shutdown(cancel)
	r.loop()
	return nil
}
