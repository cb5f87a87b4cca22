package device

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"conch/audio/audiotest"
	"conch/companions"
	"conch/companions/round"
	"conch/device/benchtest"
	"conch/gpio"
	"conch/gpio/gpiotest"
	"conch/mqtt"
)

// BenchmarkRoomHush measures the hush of a whole room: from the edge of A's button to the last audible sample on B's card,
// over a real broker, on two whole devices with virtual cards of one clock. In the same run B's own button is measured the
// same way, in turn with the other: the difference is what the room costs (A's confirmation of 25 ms, which a hush must wait for, and one
// hop). Presses that are late are held against what bare C timers saw of the machine at that moment.
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
				own, room := pair.measure(b, presses(500))
				stalls := watch.Stop()
				o, r := own.Sorted(), room.Sorted()
				fmt.Printf("hush %-9s %v x %d, fade %v, bound here %v: own button p50 %.1f p99 %.1f max %.1f ms, n = %d; pressed on the other device p50 %.1f p99 %.1f max %.1f ms, n = %d; "+
					"one hop p50 %.2f p99 %.2f ms; judge: the virtual card's tape\n", broker, pair.cfg.Audio.Period, pair.cfg.Audio.Periods, pair.cfg.Audio.Fade, pair.cfg.Audio.Bound(),
					at(o, .5), at(o, .99), o[len(o)-1], len(o), at(r, .5), at(r, .99), r[len(r)-1], len(r), at(hop, .5), at(hop, .99))
				local := benchtest.Promise{What: "own button", Bound: ms(pair.cfg.Audio.Bound()) + benchSlack, Share: 0.01, Wakes: 2} // the button's, the card's
				benchtest.Judge(b, own, stalls, local)
				benchtest.Judge(b, room, stalls, benchtest.Promise{What: "pressed on the other device", Bound: local.Bound + confirmedMS + 5*at(hop, .5), Share: 0.01,
					Wakes: 5}) // the button's, the writer's, the broker's, the reader's, the card's
				benchtest.Times(b, "pressed on the other device, against the own button, p50", at(r, .5), at(o, .5), 1.6)
				b.ReportMetric(at(r, .5), "p50-ms")
				b.ReportMetric(at(r, .99), "p99-ms")
				b.ReportMetric(at(r, .5)/at(o, .5), "x-own-button")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

const (
	confirmedMS = 25 // of contact are a press
	benchSlack  = 2  // ms beyond a bound, for timers and switches
)

// hushPair is a device that speaks (b) and one whose button is pressed (a).
type hushPair struct {
	cfg  Config
	a, b *hushDevice
}

type hushDevice struct {
	*Device
	card  *audiotest.Card
	hand  *gpiotest.Button
	voice *toneVoice
}

func newHushPair(b *testing.B, url string) *hushPair {
	b.Helper()
	clock := audiotest.WallClock()
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
		d := &hushDevice{card: audiotest.New(clock), voice: newToneVoice()}
		d.card.KeepTape(5 * time.Second)
		d.hand = gpiotest.New(gpio.ButtonOptions{Clock: clock.Now})
		cfg := Default()
		cfg.State.Dir, cfg.Room.Broker, cfg.Device.Name = "", url, name+"s"
		p.cfg = cfg
		var err error
		d.Device, err = New(cfg, Options{
			Log: slog.New(slog.DiscardHandler), Card: d.card, Voice: d.voice, Tools: toneTools{d.voice}, Now: clock.Now, Buttons: []gpio.Source{d.hand},
			Cues: d.voice.cue, Room: RoomOptions{Cards: []companions.Card{plainCard(name)}, Identity: ids[i], Member: member, Volatile: true},
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
			m := d.room.Members()
			return len(m) == 2 && len(m[0].Cards) == 1 && len(m[1].Cards) == 1
		})
	}
	return p
}

func (p *hushPair) until(b *testing.B, what string, cond func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if until(ctx, cond) != nil {
		b.Fatalf("no %s (a %s, b %s)", what, p.a.coordinator.State(), p.b.coordinator.State())
	}
}

// measure has presses on a, and every fifth time one on b itself, while b speaks.
func (p *hushPair) measure(b *testing.B, n int) (own, room benchtest.Figures) {
	b.Helper()
	for i := range n {
		if i%5 == 0 {
			own = p.press(b, own, p.b, i)
		}
		room = p.press(b, room, p.a, i)
	}
	if len(room) < n/2 || len(own) < n/10 {
		b.Fatalf("something was audible at %d of %d presses, and at %d of b's own: the bench measured nothing", len(room), n, len(own))
	}
	return own, room
}

// press lets b speak, and presses on by.
func (p *hushPair) press(b *testing.B, took benchtest.Figures, by *hushDevice, i int) benchtest.Figures {
	b.Helper()
	p.b.voice.play("speaking")
	p.b.ask(newTurn(), "Ben, bench")
	p.until(b, "tone", func() bool { return p.b.voice.sounding.Load() && p.b.audible() })
	time.Sleep(40*time.Millisecond + time.Duration(i*37%200)*100*time.Microsecond) // spread over the period
	edge, when := by.now(), benchtest.Now()
	by.hand.Press()
	const quiet = 60 * time.Millisecond // on the tape: the tone has no pauses
	p.until(b, "silence", func() bool { return by.now()-max(edge, p.b.card.LastAudible(edge)) > quiet })
	if last := p.b.card.LastAudible(edge); last > edge {
		took = append(took, benchtest.Sample{At: when, MS: ms(last - edge)})
	}
	p.b.voice.stop()
	by.hand.Release()
	p.until(b, "end of listening", func() bool { return by.coordinator.State().String() != "LISTENING" })
	by.Hush() // the tone voice has no ears: the turn would wait for its words
	p.until(b, "quiet", func() bool { return p.a.Quiet() && p.b.Quiet() })
	return took
}
