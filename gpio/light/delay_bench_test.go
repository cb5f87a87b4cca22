package light

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"conch/device/benchtest"
)

// noting is a light that tells when it goes on and off.
type noting struct {
	on  bool
	lit chan bool
}

func (*noting) Shape() Shape   { return Shape{Pixels: 1, Colour: true, Dim: true} }
func (*noting) Close() error   { return nil }
func (*noting) String() string { return "noting" }

func (n *noting) Set(f Frame) error {
	if on := !f.Dark(); on != n.on {
		n.on = on
		n.lit <- on
	}
	return nil
}

// BenchmarkLightDelay is how far the light is behind the machine: from the call that tells of a change to the driver having the first frame
// that shows it. The changes are 10 ms apart, so that the light is at rest between them.
func BenchmarkLightDelay(b *testing.B) {
	const changes, promise = 200, 50
	for range b.N {
		on := &noting{lit: make(chan bool, 1)}
		l := New(Options{Open: func() (Driver, error) { return on, nil }, Settings: Settings{Brightness: 1, Dimmed: 1}})
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		var took []float64
		for i := range changes {
			<-time.After(10 * time.Millisecond)
			doing := []Doing{Recording, Nothing}[i%2]
			began := time.Now()
			l.Tell(func(f *Facts) { f.Doing, f.Captured = doing, doing == Recording })
			if lit := <-on.lit; lit != (doing == Recording) {
				b.Fatalf("lit: %v, while it does %v", lit, doing)
			}
			took = append(took, float64(time.Since(began).Nanoseconds())/1e6)
		}
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		slices.Sort(took)
		p50, p99, most := benchtest.Quantile(took, .5), benchtest.Quantile(took, .99), took[changes-1]
		b.ReportMetric(p50, "p50-ms")
		b.ReportMetric(p99, "p99-ms")
		b.ReportMetric(0, "ns/op")
		b.Logf("from a change being told to its first frame in the driver (recording on and off, %d times, 10 ms apart): p50 %.2f p99 %.2f max %.2f ms",
			len(took), p50, p99, most)
		benchtest.AtMost(b, "light behind the machine, p99", p99, promise, "ms", fmt.Sprintf("p50 %.2f, max %.2f, n = %d", p50, most, len(took)))
	}
}
