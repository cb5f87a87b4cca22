package inject

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	quiet   = Situation{Idle: true, Online: true}
	live    = Situation{Online: true}
	content = Situation{Idle: true, Online: true, Streaming: true}
	gap     = Situation{Idle: true, Online: true, Streaming: true, Gap: true}
	inCall  = Situation{Idle: true, Online: true, InCall: true}
	offline = Situation{Idle: true}
)

// The table of TURNS.md 5, cell by cell: when does one that was offered at 0 begin?
func TestSituations(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name                  string
		situation             Situation
		at                    time.Duration
		local                 bool // a local voice is there
		normal, block, preem  bool
		spokenByTheLocalVoice bool
	}{
		{"idle: all now", quiet, 0, false, true, true, true, false},
		{"a turn is live: none before it has finished playing", live, 50 * s, false, false, false, false, false},
		{"content playing: NORMAL waits", content, 29 * s, false, false, true, true, false},
		{"content at a gap: all now", gap, 0, false, true, true, true, false},
		{"content for 30 s without a gap: all now", content, 30 * s, false, true, true, true, false},
		{"call live: PREEMPT only", inCall, 50 * s, false, false, false, true, false},
		{"offline: kept", offline, 50 * s, false, false, false, false, false},
		{"offline with a local voice: PREEMPT now, by it", offline, 0, true, false, false, true, true},
		{"offline with a local voice, ttl over: by it", offline, 60 * s, true, true, true, true, true},
		{"offline, ttl over, no local voice: none", offline, 60 * s, false, false, false, false, false},
	} {
		for p, want := range []bool{row.normal, row.block, row.preem} {
			q := New(Config{LocalVoice: row.local})
			id, v, _ := q.Offer(0, Injection{Prompt: "hello", Priority: Priority(p), TTL: 60 * s})
			if v != Queued {
				t.Fatalf("%s: Offer = %v; want queued", row.name, v)
			}
			d, ok := q.Next(row.at, row.situation)
			if ok != want {
				t.Errorf("%s: Next hands over %v = %v; want %v", row.name, Priority(p), ok, want)
			}
			if ok && (d.ID != id || d.Prompt != "hello" || d.Local != row.spokenByTheLocalVoice) {
				t.Errorf("%s: Next = %+v; want id %d, local %v", row.name, d, id, row.spokenByTheLocalVoice)
			}
		}
	}
}

func offer(t *testing.T, q *Queue, now time.Duration, p Priority, key string) ID {
	t.Helper()
	id, _, _ := q.Offer(now, Injection{Prompt: fmt.Sprint(p, key), Priority: p, Key: key})
	return id
}

func order(q *Queue) []ID {
	var ids []ID
	for {
		d, ok := q.Next(0, quiet)
		if !ok {
			return ids
		}
		ids = append(ids, d.ID)
		q.Ended(0, d.ID, Delivered)
	}
}

func wantEndings(t *testing.T, what string, got []Ending, want ...Ending) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s ends %v; want %v", what, got, want)
	}
}

// TURNS.md 8, row 7: PREEMPT overtakes what is queued; within a priority the first comes first.
func TestPreemptOvertakesWhatIsQueued(t *testing.T) {
	q := New(Config{})
	n1 := offer(t, &q, 0, Normal, "")
	n2 := offer(t, &q, 0, Normal, "")
	b := offer(t, &q, 0, BlockBehindComms, "")
	p1 := offer(t, &q, 0, Preempt, "")
	p2 := offer(t, &q, 0, Preempt, "")
	if got, want := order(&q), []ID{p1, p2, b, n1, n2}; !slices.Equal(got, want) {
		t.Errorf("order = %v; want %v", got, want)
	}
}

func TestSameKeyQueuedIsReplacedInItsPlace(t *testing.T) {
	q := New(Config{})
	old := offer(t, &q, 0, Normal, "rain")
	other := offer(t, &q, 0, Normal, "post")
	id, v, ends := q.Offer(0, Injection{Prompt: "more rain", Key: "rain"})
	if v != Queued {
		t.Errorf("Offer = %v; want queued", v)
	}
	wantEndings(t, "the older one", ends, Ending{old, Replaced})
	if got, want := order(&q), []ID{id, other}; !slices.Equal(got, want) {
		t.Errorf("order = %v; want %v", got, want)
	}
}

func TestSameKeySpokenIsCoalescedAndSharesTheOutcome(t *testing.T) {
	q := New(Config{Joined: 1})
	first := offer(t, &q, 0, Normal, "rain")
	q.Next(0, quiet)
	second, v, _ := q.Offer(0, Injection{Prompt: "rain", Key: "rain"})
	if v != Coalesced {
		t.Fatalf("Offer while it is spoken = %v; want coalesced", v)
	}
	third, v, ends := q.Offer(0, Injection{Prompt: "rain", Key: "rain"})
	if v != Refused {
		t.Errorf("Offer at the bound = %v; want refused", v)
	}
	wantEndings(t, "the one too many", ends, Ending{third, Failed})
	wantEndings(t, "an interrupted one, first time", q.Ended(0, first, Interrupted))
	if d, ok := q.Next(0, quiet); !ok || d.ID != first {
		t.Fatalf("Next after the interruption = %v, %v; want the same again", d, ok)
	}
	wantEndings(t, "its second time", q.Ended(0, first, Delivered), Ending{first, Delivered}, Ending{second, Delivered})
}

func TestInterruptedIsOfferedAgainOnce(t *testing.T) {
	for _, row := range []struct {
		name   string
		again  int
		spoken int
	}{{"by default", 0, 2}, {"never", -1, 1}, {"three times", 3, 4}} {
		q := New(Config{Again: row.again})
		id := offer(t, &q, 0, Normal, "")
		spoken := 0
		var ends []Ending
		for len(ends) == 0 && spoken < 10 {
			d, ok := q.Next(0, quiet)
			if !ok {
				t.Fatalf("%s: not offered again after %d", row.name, spoken)
			}
			spoken++
			ends = q.Ended(0, d.ID, Interrupted)
		}
		if spoken != row.spoken {
			t.Errorf("%s: spoken %d times; want %d", row.name, spoken, row.spoken)
		}
		wantEndings(t, row.name, ends, Ending{id, Interrupted})
		wantEndings(t, "a second end", q.Ended(0, id, Delivered))
	}
}

func TestInterruptedBeyondItsTimeIsNotOfferedAgain(t *testing.T) {
	q := New(Config{})
	id, _, _ := q.Offer(0, Injection{TTL: time.Second})
	q.Next(0, quiet)
	wantEndings(t, "a late one", q.Ended(2*time.Second, id, Interrupted), Ending{id, Interrupted})
}

// TURNS.md 8, row 5: what could not be said offline expires, and later ones still play.
func TestOfflineNeverWedgesTheQueue(t *testing.T) {
	q := New(Config{})
	a, _, _ := q.Offer(0, Injection{TTL: time.Second, Priority: Preempt})
	b, _, _ := q.Offer(0, Injection{TTL: time.Hour})
	if _, ok := q.Next(0, offline); ok {
		t.Error("something is spoken without a voice")
	}
	if at, ok := q.Wake(0, offline); !ok || at != time.Second {
		t.Errorf("Wake = %v, %v; want 1s", at, ok)
	}
	wantEndings(t, "after its ttl", q.Expire(time.Second, offline), Ending{a, Expired})
	if d, ok := q.Next(2*time.Second, quiet); !ok || d.ID != b {
		t.Errorf("Next when online again = %v, %v; want %d", d, ok, b)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	q := New(Config{Limit: 2})
	offer(t, &q, 0, Normal, "")
	last := offer(t, &q, 0, Normal, "")
	id, v, ends := q.Offer(0, Injection{})
	if v != Refused {
		t.Errorf("Offer = %v; want refused", v)
	}
	wantEndings(t, "the refused one", ends, Ending{id, Failed})
	_, v, ends = q.Offer(0, Injection{Priority: Preempt})
	if v != Queued {
		t.Errorf("Offer of a more important one = %v; want queued", v)
	}
	wantEndings(t, "the last of the least important", ends, Ending{last, Failed})
	if q.Len() != 2 {
		t.Errorf("Len = %d; want 2", q.Len())
	}
}

func TestBackKeepsThePlace(t *testing.T) {
	q := New(Config{})
	a := offer(t, &q, 0, Normal, "")
	b := offer(t, &q, 0, Normal, "")
	q.Next(0, quiet)
	q.Back(a)
	q.Back(a) // harmless
	if got, want := order(&q), []ID{a, b}; !slices.Equal(got, want) {
		t.Errorf("order = %v; want %v", got, want)
	}
}

// Ten thousand random lives of a queue: every injection ends exactly once, one is spoken at a time, the bounds hold.
func TestRandomWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range 10000 {
		c := Config{Limit: 1 + r.IntN(5), Joined: 1 + r.IntN(2), Again: r.IntN(4) - 1, LocalVoice: r.IntN(2) == 0}
		q := New(c)
		now := time.Duration(0)
		ended, offered := map[ID]int{}, ID(0)
		count := func(es []Ending) {
			for _, e := range es {
				if ended[e.ID]++; ended[e.ID] > 1 {
					t.Fatalf("seed %d run %d: injection %d ended twice", seed, run, e.ID)
				}
			}
		}
		for range 40 {
			now += time.Duration(r.IntN(20)) * time.Second
			s := Situation{r.IntN(2) == 0, r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(4) != 0, r.IntN(4) == 0}
			switch r.IntN(7) {
			case 0, 1:
				in := Injection{Priority: Priority(r.IntN(3)), TTL: time.Duration(r.IntN(90)) * time.Second, Heed: r.IntN(3) == 0}
				if r.IntN(2) == 0 {
					in.Key = string(rune('a' + r.IntN(3)))
				}
				id, _, es := q.Offer(now, in)
				if offered++; id != offered {
					t.Fatalf("seed %d run %d: id %d; want %d", seed, run, id, offered)
				}
				count(es)
			case 2:
				before := q.Speaking()
				d, ok := q.Next(now, s)
				if ok && (before != 0 || !s.Idle || q.Speaking() != d.ID || ended[d.ID] > 0) {
					t.Fatalf("seed %d run %d: %d begins in %+v while %d is spoken", seed, run, d.ID, s, before)
				}
			case 3:
				count(q.Expire(now, s))
			case 4:
				if r.IntN(2) == 0 {
					count(q.Cut(now, q.Speaking(), Cut{By(r.IntN(3)), time.Duration(r.IntN(4)) * time.Second}))
				} else {
					count(q.Ended(now, q.Speaking(), Outcome(r.IntN(5))))
				}
			case 5:
				q.Back(q.Speaking())
			case 6:
				count(q.Settle(now, Became(r.IntN(3))))
			}
			if q.Len() > c.Limit+2 { // those that come back may find their place taken
				t.Fatalf("seed %d run %d: %d wait; the limit is %d", seed, run, q.Len(), c.Limit)
			}
		}
		count(q.Close())
		for id := ID(1); id <= offered; id++ {
			if ended[id] != 1 {
				t.Fatalf("seed %d run %d: injection %d ended %d times; want once", seed, run, id, ended[id])
			}
		}
	}
}

// While somebody else in the room has the floor an injection waits, but not for ever; an urgent one does not wait.
func TestInjectionWaitsForTheRoomsFloor(t *testing.T) {
	s := Situation{Idle: true, Online: true, Taken: true}
	q := New(Config{})
	normal, _, _ := q.Offer(0, Injection{Prompt: "tea"})
	if _, ok := q.Next(time.Second, s); ok {
		t.Fatal("it did not wait for the floor")
	}
	if at, ok := q.Wake(time.Second, s); !ok || at != 30*time.Second {
		t.Errorf("wake at %v, %v; want 30 s", at, ok)
	}
	urgent, _, _ := q.Offer(2*time.Second, Injection{Prompt: "fire", Priority: Preempt})
	if d, ok := q.Next(2*time.Second, s); !ok || d.ID != urgent {
		t.Errorf("next %+v, %v; want the urgent one", d, ok)
	}
	q.Ended(3*time.Second, urgent, Delivered)
	if _, ok := q.Next(29*time.Second, s); ok {
		t.Error("it did not wait 30 s")
	}
	if d, ok := q.Next(30*time.Second, s); !ok || d.ID != normal {
		t.Errorf("next %+v, %v; want the one that has waited 30 s", d, ok)
	}
}

// What the device itself has to say is spoken by the local voice whether the session is there or not; it waits like NORMAL,
// and is over at its ttl.
func TestLocal(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name      string
		situation Situation
		at        time.Duration
		want      bool
	}{
		{"idle", quiet, 0, true},
		{"offline", offline, 0, true},
		{"a turn is live", live, s, false},
		{"content", content, 29 * s, false},
		{"content at a gap", gap, 0, true},
		{"a call", inCall, 50 * s, false},
		{"somebody else has the floor", Situation{Idle: true, Online: true, Taken: true}, s, false},
		{"its time is over", quiet, 60 * s, false},
		{"its time is over, offline", offline, 60 * s, false},
	} {
		q := New(Config{LocalVoice: true})
		id, _, _ := q.Offer(0, Injection{Prompt: "no microphone", Local: true, TTL: 60 * s})
		d, ok := q.Next(row.at, row.situation)
		if ok != row.want || ok && (d.ID != id || !d.Local) {
			t.Errorf("%s: Next = %+v, %v; want %v, by the local voice", row.name, d, ok, row.want)
		}
		if ended := q.Expire(row.at, row.situation); (len(ended) > 0) != (row.at >= 60*s) {
			t.Errorf("%s: Expire ends %v", row.name, ended)
		}
	}
}

// One to be heeded rests for a minute of quiet once, whatever the machine did to it before; then it waits for the floor as others do.
func TestOneToBeHeededRests(t *testing.T) {
	const s = time.Second
	floor := Situation{Idle: true, Online: true, Taken: true}
	q := New(Config{})
	id, _, _ := q.Offer(0, Injection{Prompt: "your pills", TTL: time.Hour, Heed: true})
	next := func(at time.Duration, in Situation, want bool) {
		t.Helper()
		if d, ok := q.Next(at, in); ok != want || ok && d.ID != id {
			t.Fatalf("at %v in %+v: %v, %v; want %v", at, in, d, ok, want)
		}
	}
	next(0, quiet, true)
	wantEndings(t, "a lost card", q.Cut(1*s, id, Cut{By: Machine, Heard: 3 * s}))
	next(1*s, quiet, true)
	wantEndings(t, "a hush", q.Cut(2*s, id, Cut{By: Hush, Heard: 3 * s}))
	wantEndings(t, "that is one", q.Settle(2*s, Silence))
	if q.Busy(2*s) || q.Len() != 1 {
		t.Error("while it rests the queue is busy, or has lost it")
	}
	next(61*s, quiet, false)
	next(61*s, live, false) // somebody talks: the minute begins anew
	next(62*s, quiet, false)
	next(120*s, floor, false) // in the room, too
	if at, ok := q.Wake(121*s, quiet); !ok || at != 180*s {
		t.Errorf("Wake = %v, %v; want 180 s", at, ok)
	}
	next(179*s, quiet, false)
	next(180*s, floor, false) // its rest is over, and somebody has just taken the floor
	if !q.Busy(180 * s) {
		t.Error("it waits for the floor, and the queue is not busy")
	}
	next(209*s, floor, false)
	next(210*s, floor, true)
	wantEndings(t, "a lost card, again", q.Cut(211*s, id, Cut{}), Ending{id, Interrupted})

	for _, settled := range []bool{false, true} { // it is withdrawn before the gesture is known, and behind that
		q = New(Config{})
		id, _, _ = q.Offer(0, Injection{Prompt: "your pills", Heed: true})
		next(0, quiet, true)
		wantEndings(t, "a press", q.Cut(1*s, id, Cut{By: Button, Heard: s}))
		if settled {
			wantEndings(t, "that is an utterance", q.Settle(2*s, Utterance))
		}
		wantEndings(t, "withdrawn", q.Withdraw(id), Ending{id, Expired})
		wantEndings(t, "settled behind that", q.Settle(3*s, Utterance))
		next(100*s, quiet, false)
	}

	q = New(Config{Again: -1})
	id, _, _ = q.Offer(0, Injection{Heed: true})
	next(0, quiet, true)
	wantEndings(t, "a hush, where nothing is offered again", q.Cut(0, id, Cut{By: Hush}), Ending{id, Unheard})
}
