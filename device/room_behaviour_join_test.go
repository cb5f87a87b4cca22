package device

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"conch/companions/round"
)

// knownWithin is how long devices that are switched on together take at most to know each other and who lives where, when
// everything they send and get takes 0 to 500 ms more each way. It is made of eleven ways of half a second at worst (connect,
// subscribe, the first hello back, two hellos and their proofs, the cards), the 400 ms that a newcomer listens, and beats until
// somebody asks again for what came before its proof. What we saw was 5 s, and 8 at most.
const knownWithin = 12 * time.Second

// Members know each other within the stated time: 100 rooms of 100, on each broker. The settings are those that ship. Beside
// each 25 rooms there is one without delays: what it takes beyond a second is this machine's part, and not held against
// the others.
func TestRoomMembersKnowEachOtherInTimeUnderRandomDelays(t *testing.T) { //nolint:tparallel // see its subtests
	t.Parallel()
	for _, kind := range []string{"embedded", "mosquitto"} {
		t.Run(kind, func(t *testing.T) { // not both at once: a wave is 78 devices
			broker, seed := startBroker(t, kind), rand.Uint64()
			var took []time.Duration
			var late int
			for wave := range joinWaves {
				done := awaitTurn()
				var rooms sync.WaitGroup
				var delayed [joinRooms]time.Duration
				var plain time.Duration
				rooms.Go(func() { plain = joins(t, broker, 0, seed+uint64(wave*1000+999)) })
				for i := range delayed {
					rooms.Go(func() { delayed[i] = joins(t, broker, 500*time.Millisecond, seed+uint64(wave*1000+i*10)) })
				}
				rooms.Wait()
				done()
				for _, d := range delayed {
					if d > knownWithin+max(0, plain-time.Second) {
						late++
					}
				}
				took = append(took, delayed[:]...)
			}
			slices.Sort(took)
			t.Logf("seed %d: three devices know each other: %d rooms, half of them within %v, the slowest %v", seed, len(took),
				took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
			if joinsTimed && (late > 0 || len(took) != 100) {
				t.Errorf("%d of %d took longer than %v", late, len(took), knownWithin)
			}
		})
	}
}

// joins switches three devices on at once and says how long they took to know each other.
func joins(t *testing.T, broker *roomBroker, delay time.Duration, seed uint64) time.Duration {
	h := newRoomHouse(t, broker, fmt.Sprintf("room %d", seed))
	shipped := func(p *homePlan) { p.options.Round = round.DefaultConfig() }
	want := map[round.DeviceID]int{}
	began := time.Now()
	for i, c := range []round.CompanionID{"ada", "ben", "cleo"} {
		x := h.raise(string(c)+"'s", cardsOf(c), shipped, func(p *homePlan) { p.delay, p.seed = delay, seed+uint64(i) })
		want[x.self] = 1
	}
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for slices.ContainsFunc(h.alive(), func(x *roomHome) bool { return !knows(x, want) }) {
		select {
		case <-tick.C:
		case <-limit:
			t.Errorf("seed %d: they do not know each other", seed)
			return patience
		}
	}
	d := time.Since(began)
	for _, x := range h.alive() {
		x.kill()
	}
	return d
}
