package benchtest

import (
	"math"
	"strings"
	"testing"
	"time"
)

const msec = time.Millisecond

// What is late is ours, unless the machine was late with a bare timer just then.
func TestPromise(t *testing.T) {
	t.Parallel()
	stalls := seen([][]span{
		{{1000 * msec, 1040 * msec}, {2000 * msec, 2000*msec + 100*time.Microsecond}}, // one processor was away for 40 ms
		{{3000 * msec, 3010 * msec}},
	})
	if stalls.N != 3 || stalls.Max != 40 {
		t.Errorf("%s", stalls)
	}
	many := func(ms float64, more ...Sample) Figures { // 100 in all
		var f Figures
		for i := range 100 - len(more) {
			f = append(f, Sample{time.Duration(5000+i) * msec, ms})
		}
		return append(f, more...)
	}
	for _, c := range []struct {
		name   string
		f      Figures
		p      Promise
		broken string
	}{
		{"kept", many(20), Promise{Bound: 30}, ""},
		{"one that nothing explains", many(20, Sample{4000 * msec, 60}), Promise{Bound: 30}, "1 of 100 took longer than 30.0 ms, 1 of them in no stall of the machine (up to 60.0 ms); allowed are 0 %"},
		{"one in a hundred is allowed", many(20, Sample{4000 * msec, 60}), Promise{Bound: 30, Share: 0.01}, ""},
		{"two are not", many(20, Sample{4000 * msec, 60}, Sample{4100 * msec, 70}), Promise{Bound: 30, Share: 0.01}, "2 of them"},
		{"the processor was away", many(20, Sample{990 * msec, 65}), Promise{Bound: 30}, ""},
		{"for less than that", many(20, Sample{990 * msec, 75}), Promise{Bound: 30}, "1 of them"},
		{"only a part of it fell into this one", many(20, Sample{1035 * msec, 45}), Promise{Bound: 30}, "1 of them"},
		{"and it stood in the way twice", many(20, Sample{990 * msec, 105}), Promise{Bound: 30, Wakes: 2}, ""},
		{"at another time", many(20, Sample{1100 * msec, 65}), Promise{Bound: 30}, "1 of them"},
		{"all are late", many(31), Promise{Bound: 30, Share: 0.01}, "100 of them"},
		{"nothing", nil, Promise{Bound: 30}, "nothing was measured"},
	} {
		r, err := c.p.Kept(c.f, stalls)
		if (err != nil) != (c.broken != "") || r.Broken != (err != nil) || err != nil && !strings.Contains(err.Error(), c.broken) {
			t.Errorf("%s: %+v, %v; want %q", c.name, r, err, c.broken)
		}
	}
	for _, c := range []struct {
		figure, unit, most float64
		kept               bool
	}{{1.5, 1, 2, true}, {2.5, 1, 2, false}, {1, 0, 2, false}, {0, 0, 2, false}, {math.NaN(), 1, 2, false}} {
		var b failing
		if Times(&b, "x", c.figure, c.unit, c.most); b.failed == c.kept {
			t.Errorf("%+v: failed %v", c, b.failed)
		}
	}
}

// failing is a benchmark that may fail.
type failing struct {
	testing.TB
	failed bool
}

func (*failing) Helper()                 {}
func (f *failing) Errorf(string, ...any) { f.failed = true }

// The C programs see that they were stopped, and say when.
func TestWatch(t *testing.T) {
	t.Parallel()
	began := Now()
	w := Start(t)
	time.Sleep(200 * msec) // what is watched takes time
	s := w.Stop()
	if s.N == 0 || s.Max <= 0 {
		t.Fatalf("saw nothing: %s", s)
	}
	t.Log(s)
	for _, spans := range s.cpus {
		for _, x := range spans {
			if x.from < began || x.to > Now() {
				t.Errorf("a stall from %v to %v; watched from %v to %v", x.from, x.to, began, Now())
			}
		}
	}
	if again := w.Stop(); again.N != 0 {
		t.Errorf("stopped twice: %s", again)
	}
}
