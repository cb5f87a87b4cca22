package device

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/gpio"
	"conch/mqtt/mqtttest"
)

// clicker is a pin's contact whose time is the test's: a contact of 24 ms is one on the slowest machine.
type clicker struct {
	steps chan click
	woken chan struct{}
	at    atomic.Int64
	down  atomic.Bool
}

type click struct {
	at         time.Duration
	down, edge bool
}

func (c *clicker) Wait(time.Duration) bool {
	select {
	case s := <-c.steps:
		c.at.Store(int64(s.at))
		c.down.Store(s.down)
		return s.edge
	case <-c.woken:
		return false
	}
}

// Wake ends a Wait.
func (c *clicker) Wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

func (c *clicker) Err() error         { return nil }
func (c *clicker) Close() error       { return nil }
func (c *clicker) Down() bool         { return c.down.Load() }
func (c *clicker) String() string     { return "clicker" }
func (c *clicker) now() time.Duration { return time.Duration(c.at.Load()) }

// closes closes the contact for d.
func (c *clicker) closes(d time.Duration) {
	t := c.now() + time.Second
	c.steps <- click{t, true, true}
	<-time.After(2 * time.Millisecond) // so that the card sees something of it
	if d >= gpio.PressAfter {
		c.steps <- click{t + gpio.PressAfter, true, false}
	}
	c.steps <- click{t + d, false, true}
	c.steps <- click{t + d + 100*time.Millisecond, false, false}
}

// tally is a button that counts what it says.
type tally struct {
	gpio.Events
	mu   sync.Mutex
	said map[gpio.Kind]int
}

func (c *tally) Run(ctx context.Context, on func(gpio.Event)) error {
	return c.Events.Run(ctx, func(e gpio.Event) {
		on(e)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.said[e.Kind]++
	})
}

func (c *tally) of(k gpio.Kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[k]
}

// wiretap hears everything that goes over a broker, but for what a device says all the time.
type wiretap struct {
	mu   sync.Mutex
	said []string
}

var methodOf = regexp.MustCompile(`"method":\s*"([a-z.]+)"`)

func tapBroker(t *testing.T, url string) *wiretap {
	w := &wiretap{}
	c := paho.NewClient(paho.NewClientOptions().AddBroker(url).SetClientID("wiretap"))
	if tok := c.Connect(); !tok.WaitTimeout(patience) || tok.Error() != nil {
		t.Fatalf("wiretap: %v", tok.Error())
	}
	t.Cleanup(func() { c.Disconnect(50) })
	tok := c.Subscribe("#", 1, func(_ paho.Client, m paho.Message) {
		method := "?"
		if f := methodOf.FindSubmatch(m.Payload()); f != nil {
			method = string(f[1])
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, method)
	})
	if !tok.WaitTimeout(patience) || tok.Error() != nil {
		t.Fatalf("wiretap: %v", tok.Error())
	}
	return w
}

// since are the methods that were heard after the first n, without beats and the leases of who speaks.
func (w *wiretap) since(n int) (said []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.said[n:] {
		if m != "presence.update" && m != "floor.speaking" {
			said = append(said, m)
		}
	}
	return said
}

func (w *wiretap) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.said)
}

// A glitch never leaves its device: while a companion speaks, contacts of 1 to 24 ms hush it for that long and no more. Nothing
// goes over the broker, the coordinator learns of nothing, so that no light and no cue is shown, and nothing is logged above debug.
// A contact of 25 ms is a press, and all of that happens.
func TestAGlitchNeverLeavesItsDevice(t *testing.T) {
	t.Parallel()
	takeTurn(t)
	f := &flat{t: t, url: mqtttest.Start(t, mqtttest.Options{}).URL()}
	line := &clicker{steps: make(chan click), woken: make(chan struct{}, 1)}
	button := &tally{said: map[gpio.Kind]int{}, Events: gpio.NewButton(line, gpio.ButtonOptions{Clock: line.now})}
	presses := &atomic.Int64{}
	kitchen := f.raise("kitchen", "Ada", boxOptions{others: presses, buttons: func(func() time.Duration) []gpio.Events { return []gpio.Events{button} }})
	hall := f.raise("hall", "Ben", boxOptions{})
	tap := tapBroker(t, f.url)
	f.meet()
	line.steps <- click{time.Second, false, false} // it has been up for long
	kitchen.types("Ada, " + strings.Repeat("and then it rained for a very long time ", 12))
	kitchen.until("speaking", kitchen.Speaking)
	kitchen.pause(300 * time.Millisecond) // what belongs to its beginning is over

	pressed := func(e round.Entry) bool { return e.Kind == round.EntryPress }
	wire, from, epochs := tap.len(), kitchen.now(), len(hall.ledger(pressed))+len(kitchen.ledger(pressed))
	kitchen.log.forget()
	for ms := range 24 {
		line.closes(time.Duration(ms+1) * time.Millisecond)
		kitchen.until("a glitch", func() bool { return button.of(gpio.Glitched) == ms+1 })
	}
	kitchen.pause(300 * time.Millisecond) // a hop, many times
	if n := button.of(gpio.Touched); n != 24 {
		t.Errorf("touched %d times; want 24", n)
	}
	said := slices.DeleteFunc(tap.since(wire), func(method string) bool { return method == "message.history" }) // which follows a beginning, late
	if len(said) > 0 {
		t.Errorf("over the broker went %q", said)
	}
	if l := kitchen.log.aloud(); len(l) > 0 {
		t.Errorf("logged above debug: %q", l)
	}
	for _, l := range kitchen.coordinator.Recent() {
		if l.At > from && slices.Contains([]string{"Pressed", "Released", "Hushed", "FlushSpeaker", "PlayCue", "StopCue", "Transition"}, l.Name) {
			t.Errorf("the coordinator had %s", l)
		}
	}
	if n := len(hall.ledger(pressed)) + len(kitchen.ledger(pressed)); n != epochs {
		t.Errorf("%d presses in the ledgers; want %d as before", n, epochs)
	}
	kitchen.until("the answer goes on", kitchen.Speaking)

	presses.Add(1)
	line.closes(gpio.PressAfter)
	kitchen.until("pressed", func() bool { return button.of(gpio.Pressed) == 1 })
	kitchen.until("told to the room", func() bool { return slices.Contains(tap.since(wire), "floor.press") })
	f.calm()
}
