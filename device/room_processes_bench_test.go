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
				var took []float64
				for i := range warm + rounds {
					if d := room.ask(b, i); i >= warm {
						took = append(took, d)
					}
				}
				slices.Sort(took)
				fmt.Printf("%-9s  3 processes: message to claim everywhere p50 %.2f p99 %.2f max %.2f ms = %.1f units (unit p50 %.3f p99 %.3f ms), n = %d\n", broker,
					at(took, .5), at(took, .99), took[len(took)-1], at(took, .5)/at(unit, .5), at(unit, .5), at(unit, .99), rounds)
				b.ReportMetric(at(took, .5), "p50-ms")
				b.ReportMetric(at(took, .99), "p99-ms")
				b.ReportMetric(at(took, .5)/at(unit, .5), "units")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// processRoom is the benchmark's side of the processes: what it tells them, and what they say.
type processRoom struct {
	in    []io.Writer
	lines chan string // of all
}

func newProcessRoom(b *testing.B, url string, n int) *processRoom {
	b.Helper()
	r := &processRoom{lines: make(chan string, 1024)}
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

// collect waits for n lines that begin with word, and gives the rest of each.
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

// ask has one process ask another's companion, and gives the milliseconds until the last one had the claim.
func (r *processRoom) ask(b *testing.B, i int) float64 {
	b.Helper()
	fmt.Fprintf(r.in[i%len(r.in)], "ask What do you know about it, %s?\n", benchName((i*7+1)%len(r.in)))
	began := r.collect(b, "asked", 1)
	claims := r.collect(b, "claim", len(r.in))
	r.rest(len(r.in))
	first, _ := strconv.ParseInt(began[0], 10, 64)
	last := int64(0)
	for _, c := range claims {
		at, _ := strconv.ParseInt(c, 10, 64)
		last = max(last, at)
	}
	return float64(last-first) / 1e6
}

// rest lets the answer and its round end everywhere. A device to which a newer message came first has no line for that round.
func (r *processRoom) rest(n int) {
	limit := time.After(300 * time.Millisecond)
	for n > 0 {
		select {
		case line := <-r.lines:
			if strings.HasPrefix(line, "over ") {
				n--
			}
		case <-limit:
			return
		}
	}
	time.Sleep(20 * time.Millisecond) // what is still on its way to the ledgers
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
	cfg.Pause, cfg.Manners.ChainLimit = time.Millisecond, 1
	client, err := mqtt.NewClient(mqtt.Config{URL: url, Room: "bench", Identity: id,
		Member:   func(id round.DeviceID) bool { return slices.Contains(members, string(id)) },
		OnPacket: func(from round.DeviceID, p round.Packet) { d.Deliver(from, p) }, OnLink: func(up bool) { d.LinkChanged(up) }})
	if err != nil {
		panic(err)
	}
	d.Room, err = companions.NewRoom(companions.RoomOptions{Self: id.ID(), Name: d.name, Room: "bench", Cards: []companions.Card{plainCard(benchName(number))},
		Round: cfg, Bus: client, Stage: briefStage{d}, OnEntry: func(e round.Entry) {
			switch {
			case e.Kind == round.EntryClaim:
				say("claim %d", time.Now().UnixNano())
			case e.Kind == round.EntryRound && e.Place.Number == 2:
				say("over %s", e.Place.Message)
			}
		}})
	if err != nil {
		panic(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = d.Room.Run(ctx) })
	running.Go(func() { _ = client.Run(ctx) })
	for len(d.Members()) < len(members) || slices.ContainsFunc(d.Members(), func(m round.Member) bool { return len(m.Cards) == 0 }) {
		time.Sleep(10 * time.Millisecond)
	}
	say("ready %s", d.name)
	for in.Scan() {
		text, _ := strings.CutPrefix(in.Text(), "ask ")
		say("asked %d", time.Now().UnixNano())
		d.Said("t-bench", text, nil)
	}
	cancel()
	running.Wait()
}
