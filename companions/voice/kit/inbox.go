package kit

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"conch/coordinator/turn"
)

// MaxOrders is how many orders wait that Run has not looked at; one more, and what was ordered is not known any more.
const MaxOrders = 256

// Inbox is what came for a voice's Run from other goroutines. It is a voice.Voice but for its Run, and never waits.
type Inbox struct {
	Wake chan struct{} // of one: there is something new
	Said Utterance     // own lock: the microphone never waits for an order

	nudged atomic.Bool
	call   atomic.Pointer[func()]

	mu         sync.Mutex // guards what follows
	orders     []turn.Order
	remembered int // of these, what belongs to no turn
	overflow   bool
	wishes     Wishes
}

// Wishes are what a voice is told besides its configuration; they may change at any time.
type Wishes struct {
	Tools   []turn.ToolSpec
	Version int    // of Tools
	Names   string // that may be said, as a transcription takes them; "": none
}

// NewInbox keeps utterances of so many samples.
func NewInbox(longest int) *Inbox {
	return &Inbox{Wake: make(chan struct{}, 1), Said: Utterance{Limit: longest}, wishes: Wishes{Version: 1}}
}

// Do queues an order. Beyond MaxOrders they are lost, which Orders tells.
//
// An AddText without a turn is something that was said in the room. It belongs to no turn, so that nothing that ends a turn takes
// it away.
func (b *Inbox) Do(o turn.Order) {
	switch in := o.(type) { // now: frames do not queue behind orders
	case turn.ClearInput:
		b.Said.Begin(in.Turn)
		b.Said.Restore(in.Turn, in.Kept)
	case turn.KeepInput:
		b.Said.Keep(in.Turn)
	}
	b.mu.Lock()
	switch {
	case IsMemory(o):
		b.rememberLater(o)
	case len(b.orders)-b.remembered < MaxOrders:
		b.orders = append(b.orders, o)
	default:
		b.overflow = true
	}
	b.mu.Unlock()
	b.Poke()
}

// IsMemory tells that an order is no business of any turn.
func IsMemory(o turn.Order) bool {
	t, ok := o.(turn.AddText)
	return ok && t.Turn == ""
}

// rememberLater queues memory in its place among the orders. The caller holds mu.
func (b *Inbox) rememberLater(o turn.Order) {
	if b.remembered == MaxHistory {
		i := slices.IndexFunc(b.orders, IsMemory)
		b.orders = slices.Delete(b.orders, i, i+1)
		b.remembered--
	}
	b.orders = append(b.orders, o)
	b.remembered++
}

// Append takes samples of the utterance of a turn, whether its ClearInput was ordered yet or not; it copies them. Samples
// of a turn that is over are dropped and counted, and so is what exceeds the longest utterance.
func (b *Inbox) Append(id turn.ID, pcm []int16) {
	if b.Said.Append(id, pcm) {
		b.Poke()
	}
}

// Tools tells which tools the model may call, from the next event on.
func (b *Inbox) Tools(specs []turn.ToolSpec) {
	b.mu.Lock()
	b.wishes.Tools = slices.Clone(specs)
	b.wishes.Version++
	b.mu.Unlock()
	b.Poke()
}

// Names are those that may be said. Whoever writes down what is said is asked to expect them.
func (b *Inbox) Names(names []string) {
	prompt := namesPrompt(names)
	b.mu.Lock()
	same := b.wishes.Names == prompt
	b.wishes.Names = prompt
	b.mu.Unlock()
	if !same {
		b.Poke()
	}
}

// Nudge says that an attempt which would have failed a moment ago may now succeed.
func (b *Inbox) Nudge() {
	b.nudged.Store(true)
	b.Poke()
}

// Call has f called by Run, as a sign that it still goes round. False: one waits already.
func (b *Inbox) Call(f func()) bool {
	if !b.call.CompareAndSwap(nil, &f) {
		return false
	}
	b.Poke()
	return true
}

// Poke wakes Run.
func (b *Inbox) Poke() {
	select {
	case b.Wake <- struct{}{}:
	default:
	}
}

// Orders are those since the last time; overflow: some were lost.
func (b *Inbox) Orders() (orders []turn.Order, overflow bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	orders, overflow = b.orders, b.overflow
	b.orders, b.remembered, b.overflow = nil, 0, false
	return orders, overflow
}

// Wished is the latest.
func (b *Inbox) Wished() Wishes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wishes
}

// Called answers a Call, and tells whether there was a Nudge.
func (b *Inbox) Called() (nudged bool) {
	if f := b.call.Swap(nil); f != nil {
		(*f)()
	}
	return b.nudged.Swap(false)
}

// Bounds of a prompt, which a server reads with each utterance.
const (
	mostNames   = 32
	longestName = 40 // bytes
)

// namesPrompt lists names in the form that transcription models are documented to take: text of the kind that is expected.
func namesPrompt(names []string) string {
	var list []string
	for _, n := range names {
		n = strings.TrimSpace(strings.Map(func(r rune) rune {
			if r == ',' || r == '.' || unicode.IsControl(r) {
				return ' '
			}
			return r
		}, n))
		if n != "" && len(n) <= longestName && len(list) < mostNames {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Names: " + strings.Join(list, ", ") + "."
}
