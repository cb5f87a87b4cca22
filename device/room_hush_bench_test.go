package device

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"conch/audio/twin"
	"conch/companions"
	"conch/companions/round"
	"conch/device/benchtest"
	"conch/device/config"
	"conch/device/tone"
	"conch/device/wait"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
	"conch/mqtt"
)

// BenchmarkRoomHush measures the hush of a whole room: from a press of A's button to the last audible sample on B's card, over
// a real broker, on two whole devices with virtual cards of one clock, which give back what they hold. A press is told to the
// room when it is confirmed, so it is measured twice: from there, and from the first edge. In the same run B's own button is
// measured, in turn with the other. Presses that are late are held against what bare C timers saw of the machine at that moment.
//
//	CONCH_BENCH_PRESSES=100 go test -run '^$' -bench RoomHush ./device    more or fewer presses a broker (default 500)
func BenchmarkRoomHush(b *testing.B) {
	spareProcessors() // as run does
	for _, broker := range []string{"embedded", "mosquitto"} {
		b.Run(broker, func(b *testing.B) {
			for range b.N {
				url := benchBroker(b, broker)
				hop := pingPong(b, url, 300, 200)
				pair := newHushPair(b, url)
				watch := benchtest.Start(b)
				took := pair.measure(b, benchtest.Presses(500))
				stalls := watch.Stop()
				g := pair.b.sound.Granted()
				fmt.Printf("hush %-9s %d frames x %d, fade %v, bound here %v: own button %s; pressed on the other device, from the edge %s, from its confirmation %s; "+
					"one hop p50 %.2f p99 %.2f ms; judge: the virtual card's tape\n", broker, g.Period, g.Periods, pair.cfg.Audio.Fade, g.Bound(pair.cfg.Audio.Fade),
					spread(took.own), spread(took.edge), spread(took.confirmed), benchtest.Quantile(hop, .5), benchtest.Quantile(hop, .99))
				benchtest.Judge(b, took.own, stalls, benchtest.Promise{What: "own button", Bound: ms(g.Bound(pair.cfg.Audio.Fade)) + benchtest.Slack, Share: 0.01, Wakes: 2}) // the button's, the card's
				const wakes = 5                                                                                                                                               // the button's, the writer's, the broker's, the reader's, the card's
				benchtest.Judge(b, took.confirmed, stalls, benchtest.Promise{What: "pressed on the other device, from the confirmation", Bound: hushMS, Share: 0.01, Wakes: wakes})
				benchtest.Judge(b, took.edge, stalls, benchtest.Promise{What: "pressed on the other device, from the edge", Bound: ms(gpio.PressAfter) + hushMS, Share: 0.01, Wakes: wakes + 1}) // the button's, twice
				o, c := took.own.Sorted(), took.confirmed.Sorted()
				b.ReportMetric(benchtest.Quantile(c, .5), "p50-ms")
				b.ReportMetric(benchtest.Quantile(c, .99), "p99-ms")
				b.ReportMetric(benchtest.Quantile(c, .5)/benchtest.Quantile(o, .5), "x-own-button")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

const (
	hushMS = 15 // from a confirmed press to silence in the whole room
)

// spread is a row of figures for people.
func spread(f benchtest.Figures) string {
	s := f.Sorted()
	return fmt.Sprintf("p50 %.1f p99 %.1f max %.1f ms, n = %d", benchtest.Quantile(s, .5), benchtest.Quantile(s, .99), s[len(s)-1], len(s))
}

// hushPair is a device that speaks (b) and one whose button is pressed (a).
type hushPair struct {
	cfg  config.Config
	a, b *hushDevice
}

type hushDevice struct {
	*Device
	card      *twin.Card
	hand      *gpiotwin.Button
	voice     *tone.Voice
	confirmed chan time.Duration // when the button's contact was a press; of one
}

// confirms is a button that tells when its contact is a press.
type confirms struct {
	gpio.Events
	now func() time.Duration
	at  chan<- time.Duration
}

func (c confirms) Run(ctx context.Context, on func(gpio.Event)) error {
	return c.Events.Run(ctx, func(e gpio.Event) {
		if e.Kind == gpio.Pressed {
			c.at <- c.now()
		}
		on(e)
	})
}

// hushed is what presses took, in their order.
type hushed struct{ own, edge, confirmed benchtest.Figures }

func newHushPair(b *testing.B, url string) *hushPair {
	b.Helper()
	clock := twin.WallClock()
	var ids []mqtt.Identity
	for range 2 {
		id, err := mqtt.NewIdentity()
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	member := func(id round.DeviceID) bool { return id == ids[0].ID() || id == ids[1].ID() }
	p := &hushPair{}
	for i, name := range []string{"Ada", "Ben"} {
		d := &hushDevice{card: twin.NewCard(clock), voice: tone.New(), confirmed: make(chan time.Duration, 1)}
		d.card.Rewinds(time.Millisecond)
		d.card.KeepTape(5 * time.Second)
		d.hand = gpiotwin.NewButton(gpio.ButtonOptions{Clock: clock.Now})
		cfg := config.Default()
		cfg.State.Dir, cfg.Room.Broker, cfg.Device.Name = "", url, name+"s"
		p.cfg = cfg
		var err error
		d.Device, err = New(cfg, Options{
			Log: slog.New(slog.DiscardHandler), Card: d.card, Voice: d.voice, Tools: tone.Tools{Voice: d.voice}, Now: clock.Now, Buttons: []gpio.Events{confirms{d.hand, clock.Now, d.confirmed}},
			AnySound: true, Cues: d.voice.Cue, Room: RoomOptions{Cards: []companions.Card{companions.PlainCard(name)}, Identity: ids[i], Member: member, Volatile: true, Presses: 1 << 20},
		})
		if err != nil {
			b.Fatal(err)
		}
		running(b, func(ctx context.Context) error { return d.card.Run(ctx, 1) })
		running(b, d.Run)
		if i == 0 {
			p.a = d
		} else {
			p.b = d
		}
	}
	for _, d := range []*hushDevice{p.a, p.b} {
		p.until(b, "two companions", func() bool {
			m := d.room.Room.Members()
			return len(m) == 2 && len(m[0].Cards) == 1 && len(m[1].Cards) == 1
		})
	}
	return p
}

func (p *hushPair) until(b *testing.B, what string, cond func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
		b.Fatalf("no %s (a %s, b %s)", what, p.a.coordinator.State(), p.b.coordinator.State())
	}
}

// measure has presses on a, and every fifth time one on b itself, while b speaks.
func (p *hushPair) measure(b *testing.B, n int) (took hushed) {
	b.Helper()
	for i := range n {
		if i%5 == 0 {
			if at, edge, _, last := p.press(b, p.b, i); last > edge {
				took.own = append(took.own, benchtest.Sample{At: at, MS: ms(last - edge)})
			}
		}
		if at, edge, confirmed, last := p.press(b, p.a, i); last > confirmed { // else b had ended by itself
			took.edge = append(took.edge, benchtest.Sample{At: at, MS: ms(last - edge)})
			took.confirmed = append(took.confirmed, benchtest.Sample{At: at + confirmed - edge, MS: ms(last - confirmed)})
		}
	}
	if len(took.edge) < n*9/10 || len(took.own) < n*9/50 {
		b.Fatalf("something was audible at %d of %d presses, and at %d of b's own: the bench measured nothing", len(took.edge), n, len(took.own))
	}
	return took
}

// press lets b speak, presses on by, and tells when (at is on the clock of the machine's stalls), and when b was heard last.
func (p *hushPair) press(b *testing.B, by *hushDevice, i int) (at, edge, confirmed, last time.Duration) {
	b.Helper()
	p.b.voice.Play("speaking")
	p.b.room.Put("Ben, bench")
	p.until(b, "tone", func() bool { return p.b.voice.Sounding.Load() && p.b.audible() })
	time.Sleep(40*time.Millisecond + time.Duration(i*37%200)*100*time.Microsecond) // spread over the period
	edge, at = by.now(), benchtest.Now()
	by.hand.Press()
	const quiet = 60 * time.Millisecond // on the tape: the tone has no pauses
	confirmed = <-by.confirmed
	p.until(b, "silence", func() bool { return by.now()-max(confirmed, p.b.card.LastAudible(edge)) > quiet })
	last = p.b.card.LastAudible(edge)
	p.b.voice.Stop()
	by.hand.Release()
	p.until(b, "end of listening", func() bool { return by.coordinator.State().String() != "LISTENING" })
	by.Hush() // the tone voice transcribes nothing: the turn would wait for its words
	p.until(b, "quiet", func() bool { return p.a.Quiet() && p.b.Quiet() })
	return at, edge, confirmed, last
}
