package discovery

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// How long until a device that has announced is found: own answers both, and through avahi on both sides. And what announcing
// costs while nobody asks.
func BenchmarkFind(b *testing.B) {
	n := newNets(b)
	here, there := n.device(1), n.device(2)
	own, other := n.box(here, Own, 'a'), n.box(there, Own, 'b')
	other.announce(other.service("bedroom"))
	own.sees("the other", func(f []Found) bool { return has(f, other.id) })
	b.Run("own", func(b *testing.B) { finding(b, own, other) })
	one, two := newBus(n), newBus(n)
	third, fourth := n.device(3), n.device(4)
	one.avahi(third, "one")
	two.avahi(fourth, "two")
	c, d := n.box(third, Avahi, 'c', one.env()), n.box(fourth, Avahi, 'd', two.env())
	d.announce(d.service("hall"))
	c.sees("the hall", func(f []Found) bool { return has(f, d.id) })
	b.Run("avahi", func(b *testing.B) { finding(b, c, d) })
	b.Run("idle", func(b *testing.B) { // once, however often it is asked for
		before := other.cpu()
		<-time.After(20 * time.Second)
		b.ReportMetric(float64((other.cpu()-before).Microseconds())/20, "µs-cpu/s")
	})
}

func finding(b *testing.B, who, whom *box) {
	var took []time.Duration
	for b.Loop() {
		<-time.After(100 * time.Millisecond) // more than a few in a second are left unanswered
		r := who.browse(5*time.Second, whom.id)
		if !has(r.Found, whom.id) {
			b.Fatalf("not found within 5 s: %+v", r)
		}
		took = append(took, r.Took)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// cpu is what the process has used, user and system.
func (b *box) cpu() time.Duration {
	b.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.t.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100 // USER_HZ
}
