package gpio

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	louder = []uint8{0b10, 0b00, 0b01, 0b11} // A falls first
	softer = []uint8{0b01, 0b00, 0b10, 0b11}
)

func turned(levels ...uint8) (sum, steps int) {
	q := quadrature{open: 0b11}
	for _, l := range levels {
		var by int
		if q, by = q.next(l); by != 0 {
			sum += by
			steps++
		}
	}
	return sum, steps
}

func TestAStepOfAnEncoder(t *testing.T) {
	for _, row := range []struct {
		name   string
		levels []uint8
		want   int
	}{
		{"to the right", louder, 1},
		{"to the left", softer, -1},
		{"begun and taken back", []uint8{0b10, 0b11}, 0},
		{"to the half and back", []uint8{0b10, 0b00, 0b10, 0b11}, 0},
		{"a bounce at the detent", []uint8{0b10, 0b11, 0b10, 0b11, 0b10, 0b00, 0b01, 0b11}, 1},
		{"a bounce on the way", []uint8{0b10, 0b00, 0b10, 0b00, 0b01, 0b00, 0b01, 0b11}, 1},
		{"one change missed", []uint8{0b10, 0b01, 0b11}, 1},
		{"two missed: it cannot be told", []uint8{0b00, 0b11}, 0},
	} {
		if got, _ := turned(row.levels...); got != row.want {
			t.Errorf("%s: %+d; want %+d", row.name, got, row.want)
		}
	}
}

// However its contacts bounce, as many steps come out as were turned.
func TestAnEncoderThatBouncesCountsEachStepOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		var levels []uint8
		at, want, steps := uint8(0b11), 0, rng.IntN(20)
		for range steps {
			way, by := louder, 1
			if rng.IntN(2) == 0 {
				way, by = softer, -1
			}
			for _, l := range way {
				for range rng.IntN(4) { // to and fro between the one it leaves and the one it comes to
					levels = append(levels, l, at)
				}
				levels, at = append(levels, l), l
			}
			want += by
		}
		if got, n := turned(levels...); got != want || n != steps {
			t.Fatalf("%d steps came to %+d in %d; want %+d\n%02b", steps, got, n, want, levels)
		}
	}
}

func TestEncoderPins(t *testing.T) {
	if a, b, err := EncoderPins("GPIO5, 6"); a != 5 || b != 6 || err != nil {
		t.Errorf("%d, %d, %v", a, b, err)
	}
	for pins, want := range map[string]string{"5": "two pins", "5,6,7": "two pins", "5,5": "is one", "5,28": "0 to 27", "5,18": "sound", "x,6": "0 to 27"} {
		if _, _, err := EncoderPins(pins); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", pins, err, want)
		}
	}
}

func TestAnEncoderOnTwoPins(t *testing.T) {
	f := newFakeKernel(t)
	c := f.plug(0, "pinctrl-rp1", 28)
	e, err := f.openEncoder("GPIO5,GPIO6", "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if flags := f.flags(c, 5); flags&flagPullUp == 0 {
		t.Errorf("flags %x: no pull-up", flags)
	}
	if _, err := f.openEncoder("GPIO6,GPIO7", ""); !errors.Is(err, ErrPinInUse) {
		t.Errorf("a pin that is taken: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	steps, ended := make(chan int, 16), make(chan error, 1)
	go func() { ended <- e.Run(ctx, func(by int) { steps <- by }) }()
	turn := func(first, second, want int) {
		t.Helper()
		for _, high := range []bool{false, true} {
			f.set(c, first, high)
			f.set(c, second, high)
		}
		select {
		case got := <-steps:
			if got != want {
				t.Errorf("%+d; want %+d", got, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no step")
		}
	}
	for range 10 {
		turn(5, 6, 1)
		turn(6, 5, -1)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
