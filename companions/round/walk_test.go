package round

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"conch/companions/words"
)

// Whatever facts come in whatever order, with fields that make sense and fields that do not: Step answers, keeps its bounds,
// leaves what it was given as it was, answers the same again, and comes to rest.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Add(uint64(3), uint64(1<<63))
	f.Add(uint64(3685850641053794394), uint64(121)) // spoken and released before this device had decided that nobody would
	f.Fuzz(func(t *testing.T, a, b uint64) { walk(t, a, b, 150) })
}

func TestRandomWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range uint64(300) {
		walk(t, seed, n, 150)
	}
}

func walk(t *testing.T, a, b uint64, steps int) {
	r := rand.New(rand.NewPCG(a, b))
	name := fmt.Sprintf("walk(%d, %d)", a, b)
	cfg := tableConfig()
	if r.IntN(3) == 0 {
		cfg.VoteBudget = time.Duration(r.IntN(2000)) * time.Millisecond
	}
	m, at := New(cfg), time.Duration(0)
	m, _ = Step(m, LinkChanged{Up: true})
	for i := range steps {
		at += time.Duration(r.IntN(400)) * time.Millisecond
		var ev Event
		if next, ok := m.Wake(); ok && r.IntN(3) == 0 {
			at = max(at, next)
			ev = Tick{At: at, ID: MessageID(fmt.Sprint("k", i))}
		} else {
			ev = stamped(anyFact(r, m, i), at)
		}
		if r.IntN(50) == 0 {
			ev = stamped(ev, time.Duration(r.Uint64()>>uint(r.IntN(40)))) // clocks that jump
			m2, _ := Step(m, ev)
			_ = m2 // a future that this walk does not take: it must only not panic
			continue
		}
		deep := i%8 == 0
		var before Machine
		if deep {
			before = clone(m)
		}
		next, out := Step(m, ev)
		if deep {
			if field := difference(m, before); field != "" {
				t.Fatalf("%s: Step %d (%T) changed %s of the machine that it was given", name, i, ev, field)
			}
			twin, same := Step(m, ev)
			if field := difference(next, twin); field != "" || tellAll(out) != tellAll(same) {
				t.Fatalf("%s: Step %d (%T) is not the same twice (%s)", name, i, ev, field)
			}
		}
		m = next
		if len(m.recent) > maxRecent || len(m.seen) > maxSeen || len(m.early) > maxEarly || len(m.stakes) > maxStakes ||
			len(m.claims) > maxClaims || len(m.holders) > maxHolders || len(m.members) >= maxDevices || len(m.before) > maxJoins || len(m.histories) > maxHistories {
			t.Fatalf("%s: a bound does not hold after step %d (%T)", name, i, ev)
		}
	}
	rests(t, m, at, name)
}

func tellAll(out []Effect) (text string) {
	for _, e := range out {
		text += tells(e) + "\n"
	}
	return text
}

// clone copies what slices point to, so that a write through one of them shows.
func clone(m Machine) Machine {
	m.members = slices.Clone(m.members)
	m.holders = slices.Clone(m.holders)
	m.cards = slices.Clone(m.cards)
	m.recent = slices.Clone(m.recent)
	m.seen = slices.Clone(m.seen)
	m.early = slices.Clone(m.early)
	m.stakes = slices.Clone(m.stakes)
	m.claims = slices.Clone(m.claims)
	m.spoke = slices.Clone(m.spoke)
	m.before = slices.Clone(m.before)
	m.rd.votes = slices.Clone(m.rd.votes)
	m.rd.tried = slices.Clone(m.rd.tried)
	m.rd.roster = slices.Clone(m.rd.roster)
	m.histories = slices.Clone(m.histories)
	return m
}

// anyFact is one of the table's, or one that fits where the machine stands, or nonsense.
func anyFact(r *rand.Rand, m Machine, i int) Event {
	dev := DeviceID([]string{"a", "c", "x", "b", "", "zz"}[r.IntN(6)])
	who := CompanionID([]string{"ada", "ben", "cleo", "eve", "", "human:a"}[r.IntN(6)])
	place := m.rd.place
	switch r.IntN(5) {
	case 0:
		place = Place{Epoch{r.Uint64() >> uint(r.IntN(64)), dev}, r.IntN(5) - 1, MessageID(fmt.Sprint("q", r.IntN(4)))}
	case 1:
		place.Number += r.IntN(3) - 1
		place.Message = MessageID(fmt.Sprint("q", i))
	}
	if len(m.stakes) > 0 && r.IntN(2) == 0 {
		k := m.stakes[r.IntN(len(m.stakes))]
		place, who = k.place, k.companion
	}
	vote := Vote{
		From: who, MessageID: place.Message, State: []State{StateSpeak, StateListen, "?"}[r.IntN(3)], Importance: float64(r.IntN(14) - 2),
		Selected: r.IntN(2) == 0, Closing: []Closing{ClosingNone, Terminal, PreClosing, "?"}[r.IntN(4)],
	}
	id := MessageID(fmt.Sprint("w", i))
	switch r.IntN(24) {
	case 0:
		return Pressed{Turn: fmt.Sprint("t", r.IntN(4))}
	case 1:
		return PressEnded{Turn: fmt.Sprint("t", r.IntN(4))}
	case 2, 3:
		return Said{ID: id, Turn: fmt.Sprint("t", r.IntN(4)), Text: []string{"", "Tea?", "ben?", "ada, be quiet"}[r.IntN(4)], To: []Participant{Participant(who)}[:r.IntN(2)], Open: r.IntN(2) == 0}
	case 4, 5:
		return SpeechBegan{Place: place, Companion: who}
	case 6:
		return SpeechKnown{Place: place, Companion: who, ID: id, Text: "cleo and ben", Left: time.Duration(r.Int64())}
	case 7:
		return SpeechEnded{Place: place, Companion: who, ID: id, OK: r.IntN(2) == 0, Cut: r.IntN(3) == 0, Acted: r.IntN(4) == 0, Text: []string{"", "So."}[r.IntN(2)], Heard: time.Duration(r.IntN(9)) * time.Second}
	case 8:
		return Refined{Place: place, Votes: []Vote{vote}}
	case 9:
		return from(dev, Press{Epoch: Epoch{m.epoch.N + uint64(r.IntN(3)), dev}})
	case 10, 11:
		n := Message{ID: id, From: Participant(who), Text: "ben?", Epoch: place.Epoch, Number: place.Number + r.IntN(2), Metadata: Metadata{Chain: r.IntN(9) - 1, Intent: words.Question}}
		if r.IntN(3) == 0 {
			n.From, n.Epoch = Human(dev), Epoch{m.epoch.N + uint64(r.IntN(2)), dev}
		}
		return from(dev, n)
	case 12, 13:
		return from(dev, Votes{place, []Vote{vote, vote}})
	case 14:
		return from(dev, Claim{Place: place, Companion: who, Votes: []Vote{vote}, Instead: []CompanionID{"ben", "cleo"}[:r.IntN(3)]})
	case 15:
		return from(dev, Withdraw{Place: place, Companion: who})
	case 16:
		return from(dev, Speaking{Place: place, Companion: who, LeftMS: int(r.Int64())})
	case 17:
		return from(dev, Release{Place: place, Companion: who, OK: r.IntN(2) == 0, HeardMS: int(r.Int64()), Said: id, Heard: new(string)})
	case 18:
		b := beatOf("any", string(who))
		b.Epoch, b.Budget, b.Ask, b.Left = place.Epoch, int(r.Int64()), r.IntN(2) == 0, r.IntN(9) == 0
		b.Turns, b.Room = r.Uint64(), Setting{N: uint64(r.IntN(3)), By: dev}
		return from(dev, b)
	case 19:
		return LinkChanged{Up: r.IntN(4) > 0}
	case 20:
		var cards []Card
		for k := range r.IntN(20) {
			cards = append(cards, Card{ID: CompanionID([]string{"ben", "ada", "cleo", ""}[k%4] + fmt.Sprint(k/4))})
		}
		return CardsChanged{Cards: cards}
	case 21:
		return from(dev, History{To: "b", Messages: []Message{{ID: id, From: Participant(who), Epoch: place.Epoch, Number: 1}}})
	}
	return rows[r.IntN(len(rows))].ev
}

// Any device killed at any step of a conversation: whoever asked and lives gets an outcome, and the floor is free in the end.
func TestAnyDeviceKilledAtAnyStep(t *testing.T) {
	play := func(victim, at int) (steps int) {
		s := newSim(7, 7)
		s.calm = false
		for i, c := range []string{"ada", "ben", "cleo"} {
			d := s.world.add(DeviceID(fmt.Sprint("d", i)), fmt.Sprint("room", i), Card{ID: CompanionID(c), Name: c})
			d.cfg.judge = func(v View, ids []CompanionID) []Vote {
				votes := wild(v, ids)
				for i := range votes {
					votes[i].State, votes[i].Closing, votes[i].Selected = StateSpeak, ClosingNone, false
					if v.Message.Metadata.Chain >= 2 {
						votes[i].State = StateListen
					}
				}
				return votes
			}
			d.start()
		}
		s.world.seen = func(d *dev, ev Event, before Machine, out []Effect) {
			s.watch(d, ev, before, out)
			if s.now > 2*time.Second {
				steps++
				if steps == at && s.devs[victim].alive {
					s.after(0, s.devs[victim].kill)
				}
			}
		}
		s.run(2 * time.Second)
		s.typed(s.devs[0], "t1")
		s.run(120 * time.Second)
		for _, p := range s.people {
			if p.d.alive && len(p.outcomes) != 1 {
				t.Fatalf("room%d killed at step %d: %q has the outcomes %v", victim, at, p.text, p.outcomes)
			}
		}
		for _, d := range s.devs {
			if who, _ := d.m.Floor(); d.alive && who != "" {
				t.Fatalf("room%d killed at step %d: %s still has the floor at %s", victim, at, who, d.name)
			}
		}
		if s.broken != "" {
			t.Fatalf("room%d killed at step %d: %s", victim, at, s.broken)
		}
		return steps
	}
	n := 0
	for victim := range 3 {
		for at := 1; at <= 120; at++ {
			play(victim, at)
			n++
		}
	}
	t.Logf("%d conversations, each with another death", n)
}

// With random delays of 0 to 500 ms everybody knows everybody's companions after 2.5 s: what a beat, its question and the
// answer take. 100 of 100 (nothing is lost here; a lost one costs one more second).
func TestMembersKnowEachOtherWithinTwoAndAHalfSeconds(t *testing.T) {
	seed := rand.Uint64()
	for n := range uint64(100) {
		w := newWorld(seed, n)
		w.net = network{max: 500 * time.Millisecond}
		last := time.Duration(0)
		for i := range 5 {
			d := w.add(DeviceID(fmt.Sprint("d", i)), fmt.Sprint("room", i), simCard(i))
			at := w.between(0, 3*time.Second)
			last = max(last, at)
			w.after(at, d.start)
		}
		w.run(last + 2500*time.Millisecond)
		for _, d := range w.devs {
			for _, o := range w.devs {
				if x := d.m.member(o.id); d != o && (x == nil || digestOf(x.Cards) != o.m.digest) {
					t.Fatalf("seed %d room %d: %s does not know %s", seed, n, d.name, o.name)
				}
			}
		}
	}
}

// BenchmarkStep is a whole round at the device that wins it; the figure to watch is ns/fact.
func BenchmarkStep(b *testing.B) {
	base := New(tableConfig())
	base, _ = Step(base, LinkChanged{Up: true})
	base, _ = Step(base, from("a", beatOf("attic", "ada")))
	base, _ = Step(base, from("c", beatOf("hall", "cleo")))
	base, _ = Step(base, Tick{At: time.Second})
	facts := append([]Event{}, situations[10].way...)
	facts = append(facts, SpeechKnown{Place: asked, Companion: "ben", ID: "m8", Text: "So.", Left: time.Second}, SpeechEnded{Place: asked, Companion: "ben", OK: true})
	for i := range facts {
		facts[i] = stamped(facts[i], 2*time.Second+time.Duration(i)*300*time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := base
		for _, ev := range facts {
			m, _ = Step(m, ev)
		}
		if len(m.recent) != 2 {
			b.Fatal(len(m.recent))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(facts)), "ns/fact")
}
