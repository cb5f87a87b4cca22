package companions_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
	"conch/device/benchtest"
)

// benchStage says nothing; what is abandoned has ended.
type benchStage struct{ room *companions.Room }

func (s *benchStage) Abandon(p round.Place, c round.CompanionID, why string) {
	s.room.SpeechEnded(round.SpeechEnded{Place: p, Companion: c, Why: why})
}
func (*benchStage) Hush(string)                                 {}
func (*benchStage) Quiet(string)                                {}
func (*benchStage) Prepare(round.Prepare)                       {}
func (*benchStage) Speak(round.Place, round.CompanionID)        {}
func (*benchStage) Lost(string, string)                         {}
func (*benchStage) Remember(round.Message, []round.CompanionID) {}
func (*benchStage) Correct(round.MessageID, string)             {}
func (*benchStage) Renamed(round.Rename)                        {}

// benchRoom is n devices with so many companions each on a bus in memory, in real time.
type benchRoom struct {
	net   *roomtest.Net
	rooms []*companions.Room

	mu       sync.Mutex
	message  round.MessageID
	winner   round.Participant
	vote     time.Time // the last envelope of votes
	claim    time.Time
	claimed  int
	everyone chan struct{} // every device has the claim
}

// benchName is a name that people could have, another for everybody.
func benchName(device, companion int) string {
	return fmt.Sprintf("%c%c%ca", 'A'+device%26, "aeiou"[companion], "lmnrs"[device/26])
}

func newBenchRoom(tb testing.TB, devices, each int) *benchRoom {
	b := &benchRoom{net: roomtest.NewNet(1), everyone: make(chan struct{}, 1)}
	start := time.Now().Add(-time.Second)
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for n := range devices {
		var cards []companions.Card
		for k := range each {
			name := benchName(n, k)
			cards = append(cards, companions.Card{Card: round.Card{
				ID: round.CompanionID(strings.ToLower(name)), Name: name, Expertise: []string{"cooking", "egg", fmt.Sprint("thing", n)},
			}})
		}
		id := round.DeviceID(fmt.Sprintf("d%02d", n))
		stage := &benchStage{}
		r, err := companions.NewRoom(companions.RoomOptions{
			Self: id, Name: fmt.Sprint("room ", n), Cards: cards, Stage: stage, OnFloor: b.floor,
			Now: func() time.Duration { return time.Since(start) }, Round: round.Config{Presses: 1 << 20},
		})
		if err != nil {
			tb.Fatal(err)
		}
		r.SendWith(b.net.Bus(id))
		stage.room = r
		b.rooms = append(b.rooms, r)
		wg.Go(func() { _ = r.Run(ctx) })
		b.net.Join(id, r)
	}
	b.net.Tap(func(_ round.DeviceID, p round.Packet) {
		now := time.Now()
		b.mu.Lock()
		defer b.mu.Unlock()
		switch p := p.(type) {
		case round.Votes:
			if p.Place.Message == b.message {
				b.vote = now
			}
		case round.Claim:
			if p.Place.Message == b.message && b.claim.IsZero() {
				b.claim = now
			}
		}
	})
	tb.Cleanup(func() { stop(); wg.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // a look
		met := true
		for _, r := range b.rooms {
			known := 0
			for _, m := range r.Members() {
				known += len(m.Cards)
			}
			met = met && known == devices*each
		}
		if met {
			return b
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%d devices did not meet within 10 s", devices)
		}
	}
}

// floor sees who has the floor at every device: a ledger would not do, for it has 600 lines a minute of another device's doing at most.
func (b *benchRoom) floor(who round.Participant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if who == b.winner && who != "" {
		if b.claimed++; b.claimed == len(b.rooms) {
			b.everyone <- struct{}{}
		}
	}
}

// round is one question; it ends when every device has the claim.
func (b *benchRoom) round(n int) (whole, own time.Duration, ok bool) {
	b.mu.Lock()
	began := time.Now()
	b.vote, b.claim, b.claimed = time.Time{}, time.Time{}, 0
	// Addressed, since for a question to nobody in particular the winner leaves people a beat to answer (ROOM.md 6).
	name := benchName((n+1)%len(b.rooms), 0)
	b.winner = round.Participant(strings.ToLower(name)) // another one each time
	text := fmt.Sprintf("%s, how long does egg number %d have to boil?", name, n)
	b.message = b.rooms[n%len(b.rooms)].Said(fmt.Sprint("t-", n), text, nil)
	b.mu.Unlock()
	select {
	case <-b.everyone:
	case <-time.After(5 * time.Second):
		return 0, 0, false
	}
	whole = time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	return whole, b.claim.Sub(b.vote), true
}

// promised holds ROOM.md 9 against a run: below 10 ms at p99 for three devices, below 1 ms of own time from the last vote to the claim,
// and below 100 ms for fifty devices in one process. What many devices take on a busy machine is up to their share of it: of those it
// is the processors' time that must fit into the 100 ms.
func promised(b *testing.B, devices int, whole, own benchtest.Figures, cpu time.Duration, stalls benchtest.Stalls) {
	if devices > 3 {
		benchtest.Times(b, "a message's processor time, of all processors' in 100 ms",
			cpu.Seconds()/float64(len(whole)), 0.1*float64(runtime.NumCPU()), 1)
		return
	}
	benchtest.Judge(b, whole, stalls, benchtest.Promise{What: fmt.Sprintf("message to claim at %d devices", devices), Bound: 10, Share: 0.01, Wakes: 6})
	benchtest.Judge(b, own, stalls, benchtest.Promise{What: "last vote to claim", Bound: 1, Share: 0.5})
}

// used is the processors' time of this process.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRound is ROOM.md 9: by rules, from a message to its claim received by every device (the pause comes after it), the
// winner's own time from the last vote to its claim, and what a round costs on the wire. All devices are in this process and
// share its processors; the bus costs nothing, so it is our own time. Envelopes are counted in rounds of their own, from the
// message to the claim and what every device says of it; bytes are those of their JSON without topic and signature.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct{ devices, each int }{{2, 1}, {3, 1}, {10, 1}, {50, 2}} {
		b.Run(fmt.Sprintf("devices=%d/companions=%d", c.devices, c.devices*c.each), func(b *testing.B) {
			r := newBenchRoom(b, c.devices, c.each)
			r.net.Reset()
			const counted = 20
			for n := range counted {
				if _, _, ok := r.round(n); !ok {
					b.Fatal("no claim within 5 s")
				}
			}
			t := r.net.Traffic()
			r.net.Plain()
			var whole, own benchtest.Figures
			watch, before := benchtest.Start(b), used()
			for n := counted; b.Loop(); n++ {
				at := benchtest.Now()
				w, o, ok := r.round(n)
				if !ok {
					b.Fatal("no claim within 5 s")
				}
				whole = append(whole, benchtest.Sample{At: at, MS: w.Seconds() * 1000})
				own = append(own, benchtest.Sample{At: at, MS: o.Seconds() * 1000})
			}
			cpu, stalls := used()-before, watch.Stop()
			promised(b, c.devices, whole, own, cpu, stalls)
			p := func(f benchtest.Figures, q float64) float64 { return benchtest.Quantile(f.Sorted(), q) }
			b.ReportMetric(p(whole, 0.5), "ms/claim-p50")
			b.ReportMetric(p(whole, 0.99), "ms/claim-p99")
			b.ReportMetric(p(whole, 1), "ms/claim-max")
			b.ReportMetric(p(own, 0.5), "ms/vote-to-claim-p50")
			b.ReportMetric(p(own, 0.99), "ms/vote-to-claim-p99")
			b.ReportMetric(float64(cpu)/float64(time.Millisecond)/float64(len(whole)), "cpu-ms/round")
			b.ReportMetric(float64(t.Envelopes-t.By["Beat"])/counted, "envelopes/round")
			b.ReportMetric(float64(t.By["Seen"])/counted, "of-them-ledger/round")
			b.ReportMetric(float64(t.Bytes)/counted, "bytes/round")
			b.Logf("%d processors, %s; by kind over %d rounds: %v", runtime.NumCPU(), runtime.Version(), counted, t.By)
		})
	}
}
