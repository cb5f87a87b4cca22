package rehearse

import (
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// What a device's card plays reaches the microphone of the one that hears it, whole and once, and nobody else's.
func TestAirwayCarriesEachFrameOnce(t *testing.T) {
	clock := twin.NewClock()
	p := &run{clock: clock}
	from, to := &stage{run: p, name: "kitchen", card: twin.NewCard(clock)}, &stage{run: p, name: "bedroom"}
	to.hearing(from, twin.DefaultRT60, twin.MaxSNR)
	n := 0
	out, err := from.card.OpenPlayback(audio.StreamConfig{Period: 10 * time.Millisecond}, func(out []int16) {
		for i := range out {
			n++
			out[i] = int16(n % 20000)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var plain []int16 // before the air makes anything of it
	for range 300 {
		from.card.Advance(10 * time.Millisecond)
		until := clock.Now() - airLate
		plain = append(plain, from.card.Between(until-10*time.Millisecond, until)...)
		in := make([]int16, audio.CardFrames(10*time.Millisecond))
		to.overhear(in, clock.Now())
		if clock.Now() > time.Second && audio.Peak(in) < 300 {
			t.Fatalf("at %s the microphone hears nothing", clock.Now())
		}
	}
	first := -1
	for i, x := range plain {
		if x != 0 && first < 0 {
			first = i
		}
		if first >= 0 && int(x) != (i-first+1)%20000 {
			t.Fatalf("frame %d is %d, want %d", i, x, (i-first+1)%20000)
		}
	}
	if first < 0 || first > audio.CardFrames(2*airLate) {
		t.Errorf("the first frame is heard after %s", audio.CardDuration(max(0, first)))
	}
	to.hearing(nil, 0, 0)
	in := make([]int16, 480)
	if to.overhear(in, clock.Now()); audio.Peak(in) != 0 {
		t.Error("it hears somebody after it was told to hear nobody")
	}
}
