package companions_test

import (
	"flag"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

var hourSeed = flag.Int64("hour.seed", 0, "seed of TestHourOfRoomLife; 0: by chance")

// hour is an hour of room life: people who press and talk at random, and everything that can fail.
type hour struct {
	t     *testing.T
	h     *roomtest.House
	rng   *rand.Rand
	dir   string
	names []string
	live  map[string]*roomtest.Device

	mu     sync.Mutex
	asked  map[round.MessageID]string // to the device that has to tell how it ended
	ends   map[round.MessageID][]round.EntryKind
	killed map[round.MessageID]bool // whose device died before it could tell
	counts map[string]int
}

// TestHourOfRoomLife runs an hour with random presses and faults in virtual time: nothing may grow, and every message of a
// person has exactly one end (I2).
func TestHourOfRoomLife(t *testing.T) {
	seed := *hourSeed
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("seed %d (repeat with -hour.seed=%d)", seed, seed)
	began := time.Now()
	l := &hour{
		rng: rand.New(rand.NewSource(seed)), dir: t.TempDir(), names: []string{"kitchen", "bedroom", "hall", "attic"},
		live: map[string]*roomtest.Device{}, asked: map[round.MessageID]string{}, ends: map[round.MessageID][]round.EntryKind{},
		killed: map[round.MessageID]bool{}, counts: map[string]int{},
	}
	synctest.Test(t, func(t *testing.T) {
		l.t, l.h = t, roomtest.NewHouse(seed)
		l.h.Keep(50)
		l.h.Slack(500 * time.Millisecond) // the delays below, both ways
		defer func() {
			if err := l.h.Close(); err != nil {
				t.Error(err)
			}
		}()
		for _, name := range l.names {
			l.start(name)
		}
		meet()
		l.live60(10) // warm: pools, rings and files have their sizes
		before := l.sizes()
		l.live60(60)
		after := l.sizes()
		t.Logf("after ten minutes: %+v", before)
		t.Logf("after an hour more: %+v", after)
		l.compare(before, after)
	})
	l.check()
	t.Logf("an hour and ten minutes in %v of real time: %v", time.Since(began).Round(time.Millisecond), l.counts)
}

// start makes a device that keeps its memory and ledger between its lives.
func (l *hour) start(name string) {
	plan := living([]round.CompanionID{"ada", "ben", "cleo"}[min(slices.Index(l.names, name), 2)])
	if name == "attic" {
		plan.Options.Cards = []companions.Card{{Card: round.Card{ID: "dora", Name: "Dora"}}, {Card: round.Card{ID: "émile", Name: "Émile"}}}
	}
	plan.Options.Dir = filepath.Join(l.dir, name)
	plan.Options.Round.VoteBudget = 200 * time.Millisecond
	rng := rand.New(rand.NewSource(l.rng.Int63()))
	var mu sync.Mutex
	plan.Options.Refiner = refiner(func(r round.Refine, _ time.Duration, done func([]round.Vote)) {
		mu.Lock()
		what, slow := rng.Intn(10), time.Duration(rng.Intn(600))*time.Millisecond
		mu.Unlock()
		switch {
		case what == 0:
			panic("the model's client has a bug")
		case what == 1: // never
		default:
			time.AfterFunc(slow, func() { done(r.Votes) })
		}
	})
	plan.Options.OnEntry = func(e round.Entry) {
		switch e.Kind {
		case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded:
		default:
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.Message != nil && l.asked[e.Message.ID] == name {
			l.ends[e.Message.ID] = append(l.ends[e.Message.ID], e.Kind)
		}
	}
	l.live[name] = l.h.Add(name, plan)
}

var questions = []string{
	"Ada, how long does an egg have to boil?", "Do I need an umbrella for the rain tomorrow?", "Thank you.", "What do you all think?",
	"Émile, what do you say?", "I am sad.", "Over to you, Ben.", "Which book should I read?", "Dora and Cleo, who is right?", "Hm.",
	"Leave it to us.", "Join in again.", "Good night.", "What do you mean by that?", "明日は雨ですか。",
}

// live60 lets minutes of life pass.
func (l *hour) live60(minutes int) {
	for end := l.h.Now() + time.Duration(minutes)*time.Minute; l.h.Now() < end; {
		name := l.names[l.rng.Intn(len(l.names))]
		d := l.live[name]
		switch n := l.rng.Intn(100); {
		case d == nil:
			l.note("comes back")
			l.start(name)
		case n < 45:
			l.ask(name, d)
		case n < 55:
			l.note("press without words")
			turn := d.Press()
			l.pass(300)
			d.Room.PressEnded(turn, "too short")
		case n < 60:
			l.note("dies")
			l.die(name, d)
		case n < 63:
			l.note("leaves")
			l.gone(name)
			if err := d.Stop(); err != nil {
				l.t.Error(err)
			}
		case n < 70:
			l.note("link down")
			l.h.Net.Link(d.ID, false)
			l.pass(8000)
			l.h.Net.Link(d.ID, true)
		case n < 75:
			l.note("frozen")
			l.h.Net.Freeze(d.ID, true)
			l.pass(6000)
			l.h.Net.Freeze(d.ID, false)
		case n < 80:
			l.note("net divided")
			l.h.Net.Divide(d.ID)
			l.pass(6000)
			l.h.Net.Divide()
		case n < 88:
			l.note("net bad")
			l.h.Net.SetFaults(roomtest.Faults{Delay: 5 * time.Millisecond, Jitter: 200 * time.Millisecond, Loss: 0.1, Twice: 0.1})
			l.ask(name, d)
			l.pass(5000)
			l.h.Net.SetFaults(roomtest.Faults{})
		case n < 96:
			l.note("voice fails")
			d.Stage.SetFault(roomtest.Fault(l.rng.Intn(5)))
			l.ask(name, d)
			l.pass(5000)
			d.Stage.SetFault(roomtest.Fine)
		default:
			l.note("watched")
			d.Room.Watch(l.t.Context()) // and never read, until the device stops
		}
		l.pass([]int{300, 2000, 6000, 15000}[l.rng.Intn(4)])
	}
	// Then everybody is there and calm, so that sizes compare.
	for _, name := range l.names {
		if l.live[name] == nil {
			l.start(name)
		}
	}
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

func (l *hour) note(what string) { l.counts[what]++ }

func (l *hour) pass(most int) {
	time.Sleep(time.Duration(l.rng.Intn(most)) * time.Millisecond)
}

func (l *hour) ask(name string, d *roomtest.Device) {
	l.note("question")
	turn := d.Press()
	l.pass(3000)
	if l.live[name] != d {
		return
	}
	var to []round.Participant
	if l.rng.Intn(10) == 0 {
		to = []round.Participant{"ben"}
	}
	l.mu.Lock() // the end may come before Said has returned
	id := d.Room.Said(turn, questions[l.rng.Intn(len(questions))], to)
	l.asked[id] = name
	l.mu.Unlock()
}

// gone: a device that dies or leaves cannot tell how what was said there ends, if it has not ended.
func (l *hour) gone(name string) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range l.asked {
		if at == name && len(l.ends[id]) == 0 {
			l.killed[id] = true
		}
	}
	delete(l.live, name)
}

func (l *hour) die(name string, d *roomtest.Device) {
	l.gone(name)
	if err := d.Kill(l.rng.Intn(2) == 0); err != nil {
		l.t.Error(err)
	}
}

// sizes are everything that must not grow.
type sizes struct {
	Goroutines int
	Heap       uint64 // bytes
	Machine    int    // values reachable from the machines
	Waiting    int    // facts and orders
	Jobs       int    // answers
	Models     int
	Ledger     int64 // bytes, largest
	Memory     int64 // bytes, largest
}

func (l *hour) sizes() (s sizes) {
	synctest.Wait()
	for _, name := range l.names {
		d := l.live[name]
		st := d.Room.Stats()
		s.Waiting += st.Waiting
		s.Models += st.Models
		s.Jobs += d.Stage.Jobs()
		s.Machine += machineSize(d.Room)
		_ = d.Room.Stats() // its locks put the look into the machine before the room's next step
		for _, file := range []string{companions.LedgerFile, companions.LedgerOldFile} {
			if f, err := os.Stat(filepath.Join(l.dir, name, file)); err == nil {
				s.Ledger = max(s.Ledger, f.Size())
			}
		}
		memories, _ := filepath.Glob(filepath.Join(l.dir, name, "room-*"))
		if len(memories) != 1 {
			l.t.Errorf("%s has the memories %q, want one file", name, memories)
			continue
		}
		if f, err := os.Stat(memories[0]); err == nil {
			s.Memory = max(s.Memory, f.Size())
		}
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap, s.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
	return s
}

// machineSize counts the values that a room's machine holds. The room is calm: nobody writes to it.
func machineSize(r *companions.Room) int {
	m := reflect.ValueOf(r).Elem().FieldByName("m")
	if !m.IsValid() {
		panic("Room has no field m any more: count its machine in another way")
	}
	return valuesIn(m)
}

func valuesIn(v reflect.Value) int {
	n := 1
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += valuesIn(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n += valuesIn(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			n += valuesIn(it.Key()) + valuesIn(it.Value())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n += valuesIn(v.Elem())
		}
	case reflect.String:
		n += v.Len()
	}
	return n
}

// Our choices: what rings and maps may still fill up with after ten minutes.
const (
	moreHeap    = 4 << 20
	mostMachine = 200_000 // values and characters of four machines: 50 messages each with votes
	mostMemory  = 200_000 // bytes: four times fifty messages
)

func (l *hour) compare(before, after sizes) {
	l.t.Helper()
	if after.Goroutines > before.Goroutines {
		l.t.Errorf("%d goroutines after the hour, %d before", after.Goroutines, before.Goroutines)
	}
	if after.Heap > before.Heap+moreHeap {
		l.t.Errorf("%d bytes of heap after the hour, %d before", after.Heap, before.Heap)
	}
	if after.Waiting+after.Jobs+after.Models > 0 {
		l.t.Errorf("%d facts and orders wait, %d answers and %d model calls are under way; want none in a calm room", after.Waiting, after.Jobs, after.Models)
	}
	if after.Machine > mostMachine {
		l.t.Errorf("the machines hold %d values, want at most %d", after.Machine, mostMachine)
	}
	if after.Ledger > 4<<20 || after.Ledger == 0 || after.Memory > mostMemory || after.Memory == 0 {
		l.t.Errorf("ledger of %d bytes and memory of %d; want at most 4 MiB and %d", after.Ledger, after.Memory, mostMemory)
	}
}

// check asks for one end of every message.
func (l *hour) check() {
	tally := map[string]int{}
	for id, name := range l.asked {
		how := l.ends[id]
		switch {
		case len(how) == 1:
			tally[string(how[0])]++
		case len(how) == 0 && l.killed[id]:
			tally["device gone"]++
		default:
			l.t.Errorf("what was said at %s (%s) ended %q, want exactly one end", name, id, how)
		}
	}
	l.t.Logf("%d messages: %v", len(l.asked), tally)
	if len(l.asked) < 100 || tally["answered"] < 30 {
		l.t.Errorf("%d messages and %d answers: too few to prove anything", len(l.asked), tally["answered"])
	}
}
