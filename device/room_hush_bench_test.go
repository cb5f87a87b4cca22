package device

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"conch/audio/audiotest"
	"conch/companions"
	"conch/companions/round"
	"conch/gpio"
	"conch/gpio/gpiotest"
	"conch/mqtt"
)

// BenchmarkRoomHush measures the hush of a whole room: from the edge of A's button to the last audible sample on B's card,
// over a real broker, on two whole devices with virtual cards of one clock. In the same run B's own button is measured the
// same way: the difference is what the room costs (A's confirmation of 4 ms, which a hush must wait for, and one hop).
func BenchmarkRoomHush(b *testing.B) {
	spareProcessors() // as run does
	for _, broker := range []string{"embedded", "mosquitto"} {
		b.Run(broker, func(b *testing.B) {
			for range b.N {
				url := benchBroker(b, broker)
				hop := pingPong(b, url, 300, 200)
				pair := newHushPair(b, url)
				n := 4 * presses(b)
				own, room := pair.measure(b, pair.b, n), pair.measure(b, pair.a, n)
				fmt.Printf("hush %-9s %v x %d, fade %v, bound here %v: own button p50 %.1f p99 %.1f max %.1f ms; pressed on the other device p50 %.1f p99 %.1f max %.1f ms; "+
					"one hop p50 %.2f p99 %.2f ms; n = %d each; judge: the virtual card's tape\n", broker, pair.cfg.Audio.Period, pair.cfg.Audio.Periods, pair.cfg.Audio.Fade, pair.cfg.Audio.Bound(),
					at(own, .5), at(own, .99), own[len(own)-1], at(room, .5), at(room, .99), room[len(room)-1], at(hop, .5), at(hop, .99), n)
				b.ReportMetric(at(room, .5), "p50-ms")
				b.ReportMetric(at(room, .99), "p99-ms")
				b.ReportMetric(at(room, .5)/at(own, .5), "x-own-button")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

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

// measure lets b speak and presses on by, n times; sorted.
func (p *hushPair) measure(b *testing.B, by *hushDevice, n int) (took []float64) {
	b.Helper()
	for i := range n {
		p.b.voice.play("speaking")
		p.b.ask(newTurn(), "Ben, bench")
		p.until(b, "tone", func() bool { return p.b.voice.sounding.Load() && p.b.audible() })
		time.Sleep(benchSound + time.Duration(i*37%200)*100*time.Microsecond) // spread over the period
		edge := by.now()
		by.hand.Press()
		time.Sleep(benchAfter)
		if last := p.b.card.LastAudible(edge); last > edge {
			took = append(took, ms(last-edge))
		}
		p.b.voice.stop()
		by.hand.Release()
		p.until(b, "end of listening", func() bool { return by.coordinator.State().String() != "LISTENING" })
		by.Hush() // the tone voice has no ears: the turn would wait for its words
		p.until(b, "quiet", func() bool { return p.a.Quiet() && p.b.Quiet() })
	}
	if len(took) < n/2 {
		b.Fatalf("something was audible at %d of %d presses: the bench measured nothing", len(took), n)
	}
	slices.Sort(took)
	return took
}
