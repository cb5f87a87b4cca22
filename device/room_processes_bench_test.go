package device

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/device/benchtest"
	"conch/mqtt"
)

// BenchmarkRoomProcesses is BenchmarkRoom with three devices that are processes of their own, so that none of them shares a
// scheduler, a heap or a verified signature with another. Times are the machine's wall clock, which all of them share.
func BenchmarkRoomProcesses(b *testing.B) {
	for _, broker := range []string{"embedded", "mosquitto"} {
		b.Run(broker, func(b *testing.B) {
			for range b.N {
				url := benchBroker(b, broker)
				unit := pingPong(b, url, 300, 200)
				room := newProcessRoom(b, url, 3)
				const warm, rounds = 5, 200
				for i := range warm {
					room.ask(b, i)
				}
				watch := benchtest.Start(b)
				var figures benchtest.Figures
				for i := range rounds {
					figures = append(figures, room.ask(b, warm+i))
				}
				stalls, took := watch.Stop(), figures.Sorted()
				fmt.Printf("%-9s  3 processes: message to claim everywhere p50 %.2f p99 %.2f max %.2f ms = %.1f units (unit p50 %.3f p99 %.3f ms), n = %d\n", broker,
					at(took, .5), at(took, .99), took[len(took)-1], at(took, .5)/at(unit, .5), at(unit, .5), at(unit, .99), rounds)
				benchtest.Judge(b, figures, stalls, roundPromise(at(unit, .5)))
				b.ReportMetric(at(took, .5), "p50-ms")
				b.ReportMetric(at(took, .99), "p99-ms")
				b.ReportMetric(at(took, .5)/at(unit, .5), "units")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// processRoom is the benchmark's side of the processes: what it tells them, and what they say. Each is read by a goroutine of its
// own, so that one's words may overtake another's.
type processRoom struct {
	in    []io.Writer
	lines chan string // of all

	asked  map[string]int64   // when a message was said, by its id
	claims map[string][]claim // by message
	over   map[string]int     // devices that have decided the answer's round, by epoch
}

// claim is that of a message, as one process saw it.
type claim struct {
	at    int64
	epoch string
}

func newProcessRoom(b *testing.B, url string, n int) *processRoom {
	b.Helper()
	r := &processRoom{lines: make(chan string, 1024), asked: map[string]int64{}, claims: map[string][]claim{}, over: map[string]int{}}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var readers sync.WaitGroup
	for i := range n {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), roomProcessEnv+"="+url+" "+strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		r.in = append(r.in, in)
		readers.Go(func() {
			for sc := bufio.NewScanner(out); sc.Scan(); {
				r.lines <- sc.Text()
			}
		})
		b.Cleanup(func() {
			_ = in.Close() // that is its end
			_ = cmd.Wait()
		})
	}
	b.Cleanup(func() { // runs first: the processes must not wait for a reader
		go func() { readers.Wait(); close(r.lines) }()
	})
	ids := r.collect(b, "id", n)
	for _, in := range r.in {
		fmt.Fprintf(in, "members %s\n", strings.Join(ids, " "))
	}
	r.collect(b, "ready", n)
	return r
}

// collect waits for n lines that begin with word, and gives the rest of each. Nobody has said anything yet.
func (r *processRoom) collect(b *testing.B, word string, n int) (rest []string) {
	b.Helper()
	limit := time.After(30 * time.Second)
	for len(rest) < n {
		select {
		case line := <-r.lines:
			if tail, ok := strings.CutPrefix(line, word+" "); ok {
				rest = append(rest, tail)
			}
		case <-limit:
			b.Fatalf("%d of %d processes said %q", len(rest), n, word)
		}
	}
	return rest
}

// ask has one process ask another's companion, until the last one has the claim.
func (r *processRoom) ask(b *testing.B, i int) benchtest.Sample {
	b.Helper()
	when, before := benchtest.Now(), len(r.asked)
	fmt.Fprintf(r.in[i%len(r.in)], "ask What do you know about it, %s?\n", benchName((i*7+1)%len(r.in)))
	r.read(30*time.Second, func() bool { return len(r.asked) > before && len(r.claims[r.latest()]) == len(r.in) })
	id := r.latest()
	claims := r.claims[id]
	if len(r.asked) == before || len(claims) < len(r.in) {
		b.Fatalf("%d of %d processes have the claim", len(claims), len(r.in))
	}
	// The answer and its round end everywhere. A device to which a newer message came first has no line for that round.
	r.read(300*time.Millisecond, func() bool { return r.over[claims[0].epoch] == len(r.in) })
	time.Sleep(20 * time.Millisecond) // what is still on its way to the ledgers
	last := int64(0)
	for _, c := range claims {
		last = max(last, c.at)
	}
	return benchtest.Sample{At: when, MS: float64(last-r.asked[id]) / 1e6}
}

// latest is the message that was said last; "" before the first.
func (r *processRoom) latest() (id string) {
	at := int64(0)
	for m, t := range r.asked {
		if t > at {
			id, at = m, t
		}
	}
	return id
}

// read takes what the processes say until enough, or for a while.
func (r *processRoom) read(most time.Duration, enough func() bool) {
	limit := time.After(most)
	for !enough() {
		select {
		case line := <-r.lines:
			r.take(line)
		case <-limit:
			return
		}
	}
}

func (r *processRoom) take(line string) {
	f := strings.Fields(line)
	switch {
	case len(f) == 3 && f[0] == "asked":
		r.asked[f[2]], _ = strconv.ParseInt(f[1], 10, 64)
	case len(f) == 4 && f[0] == "claim":
		at, _ := strconv.ParseInt(f[1], 10, 64)
		r.claims[f[2]] = append(r.claims[f[2]], claim{at, f[3]})
	case len(f) == 2 && f[0] == "over":
		r.over[f[1]]++
	}
}

// Words of different processes come in any order: a claim may be told before the question is.
func TestProcessesInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{
		{"asked 1000000 m1", "claim 3000000 m1 7/a", "claim 2000000 m1 7/a", "over 7/a", "over 7/a"},
		{"claim 2000000 m1 7/a", "over 7/a", "asked 1000000 m1", "over 7/a", "claim 3000000 m1 7/a"},
		{"claim 9000000 m0 6/a", "claim 2000000 m1 7/a", "claim 3000000 m1 7/a", "over 6/a", "asked 1000000 m1", "over 7/a", "over 7/a"},
	} {
		r := &processRoom{lines: make(chan string, 16), asked: map[string]int64{}, claims: map[string][]claim{}, over: map[string]int{}}
		for _, line := range order {
			r.lines <- line
		}
		r.read(patience, func() bool { return len(r.lines) == 0 })
		if id := r.latest(); id != "m1" || len(r.claims[id]) != 2 || r.over["7/a"] != 2 || r.asked[id] != 1000000 {
			t.Errorf("%q: %s, %v, %v, %v", order, id, r.asked, r.claims, r.over)
		}
	}
}

// roomProcessEnv makes the test binary one device of a room: "URL INDEX". It reads "members ID…" and "ask TEXT", and ends
// with its standard input.
const roomProcessEnv = "CONCH_TEST_ROOM_PROCESS"

func roomProcess(spec string) {
	url, index, _ := strings.Cut(spec, " ")
	number, _ := strconv.Atoi(index)
	id, err := mqtt.NewIdentity()
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex // one line at a time
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	say("id %s", id.ID())
	in := bufio.NewScanner(os.Stdin)
	if !in.Scan() {
		return
	}
	members := strings.Fields(in.Text())[1:]
	ctx, cancel := context.WithCancel(context.Background())
	d := &benchDevice{id: id, name: "place" + index}
	cfg := round.DefaultConfig()
	cfg.Pause, cfg.Manners.ChainLimit, cfg.Presses = time.Millisecond, 1, 1<<20 // whoever asks does without end
	client, err := mqtt.NewClient(mqtt.Config{URL: url, Room: "bench", Identity: id,
		Member:   func(id round.DeviceID) bool { return slices.Contains(members, string(id)) },
		OnPacket: func(from round.DeviceID, p round.Packet) { d.Deliver(from, p) }, OnLink: func(up bool) { d.LinkChanged(up) }})
	if err != nil {
		panic(err)
	}
	d.Room, err = companions.NewRoom(companions.RoomOptions{Self: id.ID(), Name: d.name, Room: "bench", Cards: []companions.Card{companions.PlainCard(benchName(number))},
		Round: cfg, Stage: briefStage{d}, OnEntry: func(e round.Entry) {
			switch {
			case e.Kind == round.EntryClaim:
				say("claim %d %s %d/%s", time.Now().UnixNano(), e.Place.Message, e.Place.Epoch.N, e.Place.Epoch.Device)
			case e.Kind == round.EntryRound && e.Place.Number == 2:
				say("over %d/%s", e.Place.Epoch.N, e.Place.Epoch.Device)
			}
		}})
	if err != nil {
		panic(err)
	}
	d.SendWith(client)
	var running sync.WaitGroup
	running.Go(func() { _ = d.Room.Run(ctx) })
	running.Go(func() { _ = client.Run(ctx) })
	for len(d.Members()) < len(members) || slices.ContainsFunc(d.Members(), func(m round.Member) bool { return len(m.Cards) == 0 }) {
		time.Sleep(10 * time.Millisecond) // a look
	}
	say("ready %s", d.name)
	for in.Scan() {
		text, _ := strings.CutPrefix(in.Text(), "ask ")
		at := time.Now().UnixNano()
		say("asked %d %s", at, d.Said("t-bench", text, nil))
	}
	cancel()
	running.Wait()
}
