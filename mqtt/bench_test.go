package mqtt

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// BenchmarkPublishToPacket compares Send to OnPacket with a bare publish to handler of the library, same broker, same run.
func BenchmarkPublishToPacket(b *testing.B) {
	const n = 1000
	run := func(name, url string) {
		me, other := identity(b), identity(b)
		vote := samples(me.ID())[8]
		_, bytes, err := Encode("bench", me, testSession, 2, vote)
		if err != nil {
			b.Fatal(err)
		}
		pub, sub := raw(b, url, string(me.ID())), raw(b, url, string(other.ID()))
		heard := make(chan struct{}, 1)
		if tok := sub.Subscribe(Filter("bench"), 1, func(paho.Client, paho.Message) { heard <- struct{}{} }); !tok.WaitTimeout(mqtttest.Patience) {
			b.Fatal("no suback")
		}
		plain := times(n, func() {
			pub.Publish(Topic("bench", KindStates, me.ID()), 1, false, bytes)
			<-heard
		})
		pub.Disconnect(100)
		sub.Disconnect(100)
		x, y := start(b, Config{URL: url, Bounds: unbounded}).up(), start(b, Config{URL: url, Bounds: unbounded}).up()
		meet(b, map[*device]round.Beat{x: cards("ada"), y: cards("ben")})
		ours := times(n, func() {
			x.Send(vote)
			next[round.Votes](y)
		})
		fmt.Printf("publish to receive, %s, QoS 1, %d bytes, %d one by one on %d CPUs: library alone p50 %v p99 %v; Send to OnPacket p50 %v p99 %v (p50 x%.1f)\n",
			name, len(bytes), n, runtime.NumCPU(), plain[n/2], plain[n*99/100], ours[n/2], ours[n*99/100], float64(ours[n/2])/float64(plain[n/2]))
		x.stop()
		y.stop()
	}
	run("embedded broker", embedded(b, BrokerConfig{}).URL())
	run("Mosquitto", mqtttest.Start(b, mqtttest.Options{}).URL())
}

// unbounded is for benchmarks that say one thing after the other.
var unbounded = Bounds{Envelopes: Rate{1e9, 1e9}, Bytes: Rate{1e12, 1e12}, Presses: Rate{1e9, 1e9}, All: Rate{1e9, 1e9}}

func times(n int, once func()) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		once()
		out[i] = time.Since(began).Round(time.Microsecond)
	}
	slices.Sort(out)
	return out
}

func BenchmarkEnvelope(b *testing.B) {
	id := fixed(1)
	vote := samples(id.ID())[8]
	top, bytes, err := Encode("bench", id, testSession, 2, vote)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode and sign", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Encode("bench", id, testSession, 2, vote); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify and decode", func(b *testing.B) {
		for b.Loop() {
			if _, r := openWhole("bench", top, bytes); r != nil {
				b.Fatal(r)
			}
		}
	})
	b.ReportMetric(float64(len(bytes)), "bytes")
}
