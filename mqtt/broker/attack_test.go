package broker

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

func keeperConfig(conf *tls.Config) Config {
	return Config{Room: "kitchen", Network: &Network{Listen: "127.0.0.1:0", TLS: conf}, Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
}

// BenchmarkMemoryUnderAttack is what one member can do to the process that keeps the room, and to a press of another one meanwhile.
func BenchmarkMemoryUnderAttack(b *testing.B) {
	for _, a := range assaults() {
		b.Run(a.name, func(b *testing.B) {
			k := keepRoom(b)
			x, y := k.member(), k.member()
			before, _ := k.resident()
			connect := k.attacker()
			var ended sync.WaitGroup
			end := time.Now().Add(4 * time.Second)
			over := func() bool { return time.Now().After(end) }
			ended.Go(func() { a.run(connect, over) })
			var took []time.Duration
			lost := 0
			for n := uint64(1); !over(); n++ {
				began := time.Now()
				x.Send(round.Press{Epoch: round.Epoch{N: n, Device: x.ID()}})
				if hushed(y, n, time.Second) {
					took = append(took, time.Since(began))
				} else {
					lost++
				}
				time.Sleep(20 * time.Millisecond) // presses as quick as a finger, while the attack goes on
			}
			ended.Wait()
			_, most := k.resident()
			time.Sleep(time.Second) // what the broker gives back is measured when the attack is over
			after, _ := k.resident()
			slices.Sort(took)
			at := func(q int) time.Duration {
				if len(took) == 0 {
					return 0
				}
				return took[(len(took)-1)*q/100].Round(10 * time.Microsecond)
			}
			fmt.Printf("%-45s resident %5.1f -> %6.1f MiB, %6.1f a second later; hush p50 %v p99 %v, %d of %d lost\n", a.name,
				float64(before)/1024, float64(most)/1024, float64(after)/1024, at(50), at(99), lost, lost+len(took))
		})
	}
}

// What one member may add to the memory of the process that keeps the room (FLOODS.md 1).
const mayAdd = 16 << 10 // KiB

// One after the other tries, while a room listens.
func TestTheHostStaysSmall(t *testing.T) {
	if underRace {
		t.Skip("the race detector has a memory of its own")
	}
	k := keepRoom(t)
	x, y := k.member(), k.member()
	meet(t, x, y)
	before, _ := k.resident()
	most := 0
	for _, a := range assaults() {
		end := time.Now().Add(time.Second)
		a.run(k.attacker(), func() bool { return time.Now().After(end) })
		var now int
		now, most = k.resident()
		t.Logf("resident %d KiB before, %d at most, %d now: %s", before, most, now, a.name)
	}
	if most-before > mayAdd {
		t.Errorf("the broker grew by %d KiB; at most %d", most-before, mayAdd)
	}
	for _, d := range []*device{x, y} {
		if s := d.Stats(); s.Connects != 1 || !s.Up {
			t.Errorf("a good member lost its link: %d, %v", s.Connects, s.Up)
		}
	}
	x.Send(round.Press{Epoch: round.Epoch{N: 1 << 40, Device: x.ID()}})
	if !hushed(y, 1<<40, mqtttest.Patience) {
		t.Error("and is not heard any more")
	}
}

// What a member does too much of is named, and it is out for a while; the others keep their links.
func TestAMemberThatFloodsIsNamedAndKeptOut(t *testing.T) {
	want := map[string][]Excess{
		"subscribes, publishes 250 kB, reads nothing": {ExcessSlow, ExcessBytes},
		"publishes 60 KiB, reads nothing, QoS 1":      {ExcessSlow, ExcessBytes},
		"250 kB payloads":                             {ExcessBytes},
		"300 bytes, QoS 0":                            {ExcessPackets},
		"300 bytes, QoS 1, acknowledges nothing":      {ExcessPackets, ExcessUnacked},
		"300 bytes, QoS 2":                            {ExcessPackets, ExcessUnacked},
		"180,000 subscriptions":                       {ExcessPackets, ExcessBytes},
		"one SUBSCRIBE of 250 kB after the other":     {ExcessMalformed},
		"PINGREQ":                      {ExcessPackets},
		"PUBREL and PUBREC of nothing": {ExcessPackets},
		"connects without end":         {ExcessConnects},
		"another's presses":            {ExcessForeign},
		"reads a byte a second":        {ExcessSlow},
	}
	a := mqtttest.NewAuthority(t)
	offences := make(chan Offence, 64)
	b := embedded(t, Config{
		Room: "kitchen", Network: &Network{Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1))}, OnOffender: func(o Offence) { offences <- o },
	})
	addr := b.NetworkAddr().String()
	who := map[round.DeviceID]string{} // whose offence is to come
	stop := make(chan struct{})
	over := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	good := start(t, mqtt.Config{Identity: fixed(2), Addresses: at(addr), TLS: a.Client(t, fixed(2))}).up()
	var all sync.WaitGroup
	for _, s := range assaults() {
		if want[s.name] == nil {
			continue
		}
		id := identity(t)
		conf, _ := a.Client(t, id)()
		who[id.ID()] = s.name
		from := address()
		all.Go(func() { s.run(func() (*attacker, error) { return attack(addr, conf, id.ID(), from) }, over) })
	}
	defer all.Wait()
	defer close(stop)
	for len(who) > 0 {
		o := mqtttest.Await(t, offences, fmt.Sprintf("the offences of %v", who))
		name := who[o.Device]
		if o.Device == good.ID() {
			t.Errorf("a good member was put out: %+v", o)
		}
		if name == "" {
			continue // it came back
		}
		t.Logf("%s: %s", name, o)
		if o.Times != 1 || o.Out != shortestBan || !slices.Contains(want[name], o.What) {
			t.Errorf("%s: %+v; want %v", name, o, want[name])
		}
		if slices.Contains(b.Clients(), o.Device) {
			mqtttest.Await(t, gone(b, o.Device), "its end")
		}
		delete(who, o.Device)
	}
	if s := good.Stats(); s.Connects != 1 || !s.Up {
		t.Errorf("a good member lost its link: %d, %v", s.Connects, s.Up)
	}
}

// gone is closed when a device has left the broker.
func gone(b *Broker, d round.DeviceID) chan struct{} {
	out := make(chan struct{})
	go func() {
		for slices.Contains(b.Clients(), d) {
			time.Sleep(time.Millisecond) // the broker tells nobody that it has let go
		}
		close(out)
	}()
	return out
}

// hushed says whether a press of that number came within a time.
func hushed(d *device, n uint64, within time.Duration) bool {
	late := time.After(within)
	for {
		select {
		case g := <-d.packets:
			if p, ok := g.(round.Press); ok && p.Epoch.N == n {
				return true
			}
		case <-late:
			return false
		}
	}
}
