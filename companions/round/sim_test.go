package round

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	simRounds = flag.Int("sim.rounds", 4000, "rounds that TestSimulation plays")
	simSeed   = flag.Uint64("sim.seed", 0, "its seed; 0: a new one")
	simWorld  = flag.Int64("sim.world", -1, "play this one world of the seed and tell what happens in it")
)

// TestSimulation lets rooms live with every fault of ROOM.md 8 and holds them to its invariants (doc.go says how each is
// measured). The shipped Step, Judge and Decide run in virtual time. A broken invariant prints seed and world:
//
//	go test ./companions/round -run TestSimulation -sim.seed=S -sim.world=W -v
func TestSimulation(t *testing.T) {
	seed := *simSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	if *simWorld >= 0 {
		s := newSim(seed, uint64(*simWorld))
		s.tell = func(line string) { t.Log(line) }
		s.live()
		t.Logf("%d rounds; faults: %s", s.rounds, s.faultList())
		if s.broken != "" {
			t.Fatal(s.broken)
		}
		return
	}
	var (
		mu    sync.Mutex
		total = sim{faults: map[string]int{}, checks: map[string]int{}}
		next  uint64
		wait  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				mu.Lock()
				// What is drawn seldom has to come, so that it goes on for it.
				n, stop := next, total.rounds >= *simRounds && (total.rounds >= 8**simRounds || len(total.missing()) == 0) || total.broken != ""
				next++
				mu.Unlock()
				if stop {
					return
				}
				s := newSim(seed, n)
				func() {
					defer func() {
						if p := recover(); p != nil { // its seed is printed too
							s.broken = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
						}
					}()
					s.live()
				}()
				mu.Lock()
				total.add(s)
				if s.broken != "" && total.broken == "" {
					total.broken = fmt.Sprintf("%s\nreplay: go test ./companions/round -run TestSimulation -sim.seed=%d -sim.world=%d -v", s.broken, seed, n)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("seed %d: %d rounds in %d rooms, %d Steps, %v of room life", seed, total.rounds, next, total.steps, total.lived.Round(time.Minute))
	t.Logf("faults injected: %s", total.faultList())
	t.Logf("checks: %s", counts(total.checks))
	t.Logf("two voices at once: %d times, the longest for %v; allowed by one network delay: %v", total.overlaps, total.longest, total.allowed)
	if total.broken != "" {
		t.Fatalf("seed %d: %s", seed, total.broken)
	}
	if missing := total.missing(); len(missing) > 0 && total.rounds > 2000 {
		t.Errorf("no %s in %d rounds: the simulation is too tame to show anything", strings.Join(missing, ", "), total.rounds)
	}
}

// missing are the faults that have not been injected yet.
func (s *sim) missing() (none []string) {
	for _, f := range []string{"kill", "freeze", "cut", "split", "stranger", "replay", "loss", "lost answer", "hung answer", "press",
		"quick messages", "slow device", "twin id",
		"lying member", "hammering member",
		"child at a button", "late words", "words too late",
		"model that always votes 10", "model that always listens", "model that votes at random", "model that obeys who tells it to vote 10 for one",
		"model that forges who votes on what", "model that comes late", "model that alternates"} {
		if s.faults[f] == 0 {
			none = append(none, f)
		}
	}
	return none
}

type sim struct {
	*world
	seed, n uint64
	tell    func(string)

	faults, checks map[string]int
	broken         string
	rounds, steps  int
	lived          time.Duration
	overlaps       int
	longest        time.Duration
	allowed        time.Duration

	people  map[MessageID]*saying         // what people said, until its outcome
	winners map[string]string             // by what was seen: who
	sent    map[string][]Vote             // votes by home, message, companion
	old     []envelope                    // for replays
	sounded map[Place]time.Duration       // when an answer heard to its end began
	turns   map[*dev]int                  // of companions, since a person spoke
	asked   map[*dev]int                  // calls of a model, since then
	truth   bool                          // nobody lies any more
	calm    bool                          // no fault that splits the room
	said    map[MessageID]time.Duration   // when a message was published
	presses map[envelopeKey]time.Duration // of good members, when they were sent; and when they came somewhere
}

type saying struct {
	d        *dev
	life     int
	text     string
	outcomes []EntryKind
}

// envelopeKey is a press, and where it came if it did.
type envelopeKey struct {
	from  *dev
	life  int
	epoch Epoch
	to    *dev
}

type envelope struct {
	from *dev
	p    Packet
}

func newSim(seed, n uint64) *sim {
	return &sim{
		world: newWorld(seed, n), seed: seed, n: n, faults: map[string]int{}, checks: map[string]int{},
		people: map[MessageID]*saying{}, winners: map[string]string{}, sent: map[string][]Vote{}, sounded: map[Place]time.Duration{},
		turns: map[*dev]int{}, asked: map[*dev]int{},
		said: map[MessageID]time.Duration{}, presses: map[envelopeKey]time.Duration{},
	}
}

func (s *sim) add(o *sim) {
	s.rounds += o.rounds
	s.steps += o.steps
	s.lived += o.now
	s.overlaps += o.overlaps
	if o.longest > s.longest {
		s.longest, s.allowed = o.longest, o.allowed
	}
	for k, v := range o.faults {
		s.faults[k] += v
	}
	for k, v := range o.checks {
		s.checks[k] += v
	}
}

func (s *sim) faultList() string { return counts(s.faults) }

func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

func (s *sim) fault(name string) { s.faults[name]++ }

func (s *sim) breaks(format string, args ...any) {
	s.stop = true
	if s.broken == "" {
		s.broken = fmt.Sprintf("at %v: ", s.now) + fmt.Sprintf(format, args...)
		if s.tell != nil {
			s.tell("BROKEN " + s.broken)
		}
	}
}

var simNames = []string{"ada", "ben", "cleo", "dan", "eve", "finn", "gus", "hana", "ida", "jon"}

var simTopics = []string{"cooking", "music", "stars", "garden", "history", "trains", "weather", "maths", "films", "birds"}

func simCard(i int) Card {
	name := simNames[i]
	return Card{
		ID: CompanionID(name), Name: strings.ToUpper(name[:1]) + name[1:], Role: "knows " + simTopics[i],
		Expertise: []string{simTopics[i], "tea"}, Talkativeness: i%5 - 2, Traits: [][]string{{"explainer"}, {"ideas"}, nil}[i%3],
	}
}

// live is one room's life: 4 minutes with people and faults, then quiet until everything must have settled.
func (s *sim) live() {
	r := s.r
	n := 2 + r.IntN(4)
	if r.IntN(20) == 0 {
		n = 10
	}
	s.net.max = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}[r.IntN(4)]
	s.net.min = 0
	if r.IntN(2) == 0 {
		s.net.loss, s.net.resend = 0.05+r.Float64()*0.1, 200*time.Millisecond
		s.fault("loss")
	}
	if r.IntN(2) == 0 {
		s.net.twice = 0.1
		s.fault("duplication")
	}
	faulty := r.IntN(3) > 0
	s.calm = true
	trouble := 0
	if faulty && r.IntN(2) == 0 {
		trouble = 1 + r.IntN(30)
	}
	s.stage.ready = func() time.Duration { return s.between(20*time.Millisecond, 900*time.Millisecond) }
	s.stage.length = func() time.Duration { return s.between(200*time.Millisecond, 2500*time.Millisecond) }
	s.stage.fail = func(CompanionID) bool {
		if faulty && r.IntN(12) == 0 {
			s.fault("lost answer")
			return true
		}
		return false
	}
	s.stage.act = func(CompanionID) bool { return r.IntN(20) == 0 }
	s.stage.hang = func(CompanionID) bool {
		if faulty && r.IntN(40) == 0 {
			s.fault("hung answer")
			return true
		}
		return false
	}
	s.stage.answer = func(p Prepare) string { return s.answer(p) }
	var judge func(View, []CompanionID) []Vote // every third room judges by the rules; the others vote wilder than any rule
	if r.IntN(3) > 0 {
		judge = wild
		s.fault("wild votes")
	}
	if faulty && r.IntN(3) == 0 {
		s.fault("slow device")
		lame := r.IntN(n)
		extra := s.between(50*time.Millisecond, 400*time.Millisecond)
		s.slow = func(from, _ *dev, _ string) time.Duration {
			if from == s.devs[lame] {
				return extra
			}
			return 0
		}
		s.world.net.extra = extra
	}
	names := r.Perm(10)
	next := 0
	for i := range n {
		var cards []Card
		for range []int{1, 1, 1, 2, 0}[r.IntN(5)] {
			if next < 10 {
				cards = append(cards, simCard(names[next]))
				next++
			}
		}
		if i > 0 && faulty && r.IntN(15) == 0 {
			cards = append(cards, simCard(names[0])) // the same id twice in the room
			s.fault("twin id")
		}
		d := s.world.add(DeviceID(fmt.Sprintf("d%d", r.IntN(90)+10*(i+1)*10)), fmt.Sprint("room", i), cards...)
		if r.IntN(4) == 0 {
			d.cfg.VoteBudget = time.Duration(r.IntN(600)) * time.Millisecond
		}
		d.cfg.judge = judge
		if r.IntN(3) == 0 { // whatever its model says
			d.model, d.cfg.VoteBudget, d.cfg.Calls = 1+r.IntN(len(models)), 300*time.Millisecond, 1+r.IntN(3)
			s.fault("model that " + models[d.model-1].name)
		}
		s.after(s.between(0, 2*time.Second), d.start)
	}
	s.liars(faulty)
	if r.IntN(5) == 0 {
		s.fault("child at a button")
		s.child(s.devs[r.IntN(n)], []time.Duration{150 * time.Millisecond, 2 * time.Second}[r.IntN(2)], 0)
	}
	s.world.seen = s.watch
	s.run(3 * time.Second)
	const life = 240 * time.Second
	pace := []time.Duration{1500 * time.Millisecond, 3 * time.Second, 8 * time.Second, 25 * time.Second}[r.IntN(4)]
	for s.now < life && s.broken == "" {
		s.person()
		if faulty && r.IntN(3) == 0 {
			s.forge()
		}
		s.lie()
		if trouble > 0 && r.IntN(4) == 0 {
			trouble--
			s.trouble()
		}
		s.run(s.now + s.between(50*time.Millisecond, pace))
	}
	s.world.heal()
	s.truth = true
	for _, d := range s.devs {
		switch {
		case !d.alive:
			d.start()
		case d.group != 0:
			d.plugIn()
		}
	}
	s.run(s.now + 110*time.Second) // longer than any deadline of the machine: a hold of 75 s, and what follows from it
	s.net.loss = 0                 // three beats in a row get lost now and then: what is left of that is no fault of the machine
	s.run(s.now + 6*time.Second)
	s.settled()
	for _, d := range s.devs {
		s.steps += d.steps
	}
}

// person lets somebody do something.
func (s *sim) person() {
	d := s.devs[s.r.IntN(len(s.devs))]
	if !d.alive || d.frozen > s.now {
		return
	}
	s.ids++
	turn := fmt.Sprint("t", s.ids)
	switch k := s.r.IntN(12); {
	case d.turn != "":
		return
	case k < 5:
		s.typed(d, turn)
	case k < 10:
		s.fault("press")
		s.press(d, turn)
	case k == 10:
		s.fault("quick messages")
		for i := range 3 {
			d.soon(time.Duration(i)*400*time.Millisecond, func() { s.typed(d, fmt.Sprint(turn, i)) })
		}
	default:
		s.fault("two presses at once")
		s.press(d, turn)
		if e := s.devs[s.r.IntN(len(s.devs))]; e != d && e.alive && e.frozen <= s.now && e.turn == "" {
			s.press(e, turn+"b")
		}
	}
}

// child presses a button for as long as people are there, often and for no time.
func (s *sim) child(d *dev, gap time.Duration, n int) {
	s.after(s.between(gap/2, gap), func() {
		if turn := fmt.Sprint("c", n); d.alive && d.frozen <= s.now && d.turn == "" {
			d.press(turn)
			d.turn = ""
			d.soon(gap/4, func() { d.step(PressEnded{d.clock(), turn, "too short"}) })
		}
		if !s.truth {
			s.child(d, gap, n+1)
		}
	})
}

func (s *sim) press(d *dev, turn string) {
	d.press(turn)
	s.silent(d)
	switch k := s.r.IntN(20); {
	case k < 3:
		d.soon(s.between(50*time.Millisecond, time.Second), func() {
			if d.turn == turn {
				d.turn = ""
			}
			d.step(PressEnded{d.clock(), turn, "too short"})
		})
	case k == 3:
		s.fault("a press without an end")
		if d.turn == turn {
			d.turn = ""
		}
	default:
		d.soon(s.between(300*time.Millisecond, 2*time.Second), func() { s.typed(d, turn) })
	}
}

func (s *sim) typed(d *dev, turn string) {
	text := s.words(d)
	var to []Participant
	if s.r.IntN(12) == 0 {
		to = []Participant{Participant(simNames[s.r.IntN(10)])}
	}
	s.ids++
	id := MessageID(fmt.Sprintf("m%06d", s.ids))
	s.people[id] = &saying{d: d, life: d.life, text: text}
	for _, sp := range d.speeches {
		if sp.sounding {
			d.cut(sp)
		}
	}
	if d.turn == turn {
		d.turn = ""
	}
	e := Said{d.clock(), id, turn, text, to, s.r.IntN(4) == 0}
	if len(d.m.cards) > 0 && s.r.IntN(8) == 0 {
		s.late(d, e)
		return
	}
	d.step(e)
}

// late has the words of a message come after it, or never: whoever heard it is to answer until then.
func (s *sim) late(d *dev, e Said) {
	first := e
	first.Text, first.To, first.Open = Unwritten, []Participant{Participant(d.m.cards[0].ID)}, true
	s.people[e.ID].text = Unwritten
	d.step(first)
	s.ids++
	e.ID = MessageID(fmt.Sprintf("m%06d", s.ids))
	answered := s.r.IntN(6) == 0
	d.soon(s.between(0, []time.Duration{time.Second, 4 * time.Second, 20 * time.Second}[s.r.IntN(3)]), func() {
		e.At = d.clock()
		s.people[e.ID] = &saying{d: d, life: d.life, text: e.Text}
		was, heard := d.m.epoch, d.m.own.sounded
		d.step(SaidLate{e, answered})
		switch at := slices.IndexFunc(d.m.recent, func(x Message) bool { return x.ID == e.ID }); {
		case !slices.Contains(d.m.seen, e.ID): // it is long ago, or nobody may know
			delete(s.people, e.ID)
		case at < 0 || slices.ContainsFunc(d.m.recent, func(x Message) bool { return x.ID == first.ID }):
			s.breaks("late words of %s do not stand where their message stood", d.name)
		case d.m.epoch != was && (heard || answered):
			s.breaks("late words of %s are answered once more", d.name)
		case d.m.epoch != was:
			s.fault("late words")
		default:
			s.fault("words too late")
		}
	})
}

func (s *sim) words(d *dev) string {
	name := simNames[s.r.IntN(10)]
	topic := simTopics[s.r.IntN(10)]
	return []string{
		"What do you know about " + topic + "?", "How does " + topic + " work?", "I like " + topic + ".", "Can somebody tell me about " + topic + "?",
		name + ", what about " + topic + "?", "@" + name + " tell me more about " + topic, "Thanks.", "Bye.", "I don't understand.",
		"What do you all think about " + topic + "?", name + " and " + simNames[s.r.IntN(10)] + ", what is your view on tea?", "Why?", "Good morning!",
		"Which tea is best?", "Tell me a story about " + topic + ".", name + ", be quiet", "join in again",
	}[s.r.IntN(17)]
}

func (s *sim) answer(p Prepare) string {
	name := simNames[s.r.IntN(10)]
	return []string{
		fmt.Sprintf("Here is fact %d about %s.", s.r.IntN(1000), simTopics[s.r.IntN(10)]), "It depends on the weather and the tea.", "Over to you, " + name + ".",
		"What do you think, " + name + "?", "I would say forty two.", "Goodbye, and sleep well.", "Does that help?", "That is a long story with many trains.",
	}[s.r.IntN(8)]
}

// trouble splits, kills, freezes, cuts.
func (s *sim) trouble() {
	s.calm = false
	d := s.devs[s.r.IntN(len(s.devs))]
	if !d.alive || d.frozen > s.now {
		return
	}
	switch s.r.IntN(5) {
	case 0:
		s.fault("kill")
		d.kill()
		s.after(s.between(100*time.Millisecond, 12*time.Second), func() {
			if !d.alive {
				d.start()
			}
		})
	case 1:
		s.fault("freeze")
		d.freeze(s.between(100*time.Millisecond, 7*time.Second))
	case 2:
		if d.group != 0 {
			return
		}
		s.fault("cut")
		d.cutOff(s.between(0, 3*time.Second))
		s.after(s.between(500*time.Millisecond, 12*time.Second), func() {
			if d.alive && d.group < 0 {
				d.plugIn()
			}
		})
	case 3:
		s.fault("split")
		s.split(s.devs[:1+s.r.IntN(len(s.devs)-1)]...)
		s.after(s.between(500*time.Millisecond, 12*time.Second), s.world.heal)
	case 4:
		s.fault("leave")
		d.cfg.Cards = nil
		d.step(CardsChanged{d.clock(), nil})
	}
}

// forge sends what nobody may say, or says again what was said. Nothing of it may change anything.
func (s *sim) forge() {
	to := s.devs[s.r.IntN(len(s.devs))]
	if !to.alive || to.frozen > s.now {
		return
	}
	if s.r.IntN(2) == 0 && len(s.old) > 0 {
		s.fault("replay")
		x := s.old[s.r.IntN(len(s.old))]
		if to != x.from {
			to.step(Received{to.clock(), x.from.id, x.p})
		}
		return
	}
	s.fault("stranger")
	r := &to.m.rd
	from := DeviceID("stranger")
	if s.r.IntN(2) == 0 { // a member that votes for others
		from = s.devs[s.r.IntN(len(s.devs))].id
	}
	var votes []Vote
	for _, x := range r.roster {
		if x.device != from {
			votes = append(votes, Vote{From: x.id, MessageID: r.place.Message, State: StateSpeak, Importance: 10, Selected: true, Closing: ClosingNone})
		}
	}
	votes = append(votes, Vote{From: "mallory", MessageID: r.place.Message, State: StateSpeak, Importance: 10, Closing: ClosingNone})
	if from == to.id || !r.open || len(votes) > maxPerDevice {
		return
	}
	place := r.place
	to.step(Received{to.clock(), from, Seen{}}) // what the time alone does is no work of the votes
	before := to.m
	to.step(Received{to.clock(), from, Votes{place, votes}})
	after := to.m
	before.now = after.now
	s.checks["I5 strangers"]++
	if field := difference(before, after); field != "" {
		s.breaks("I5: votes from outside the roster changed %s of %s", field, to.name)
	}
}

// model answers a Refine: in time, late, or as no model should.
func (s *sim) model(d *dev, e Refine) {
	s.asked[d]++
	votes, took := slices.Clone(e.Votes), s.between(0, 700*time.Millisecond)
	for i, v := range votes {
		switch {
		case d.model > 0:
			votes[i] = models[d.model-1].vote(v, votes[0].From, s.asked[d])
			if models[d.model-1].name == "comes late" {
				took += d.cfg.VoteBudget
			}
		case s.r.IntN(10) == 0:
			s.fault("nonsense of a model")
			votes[i].Importance = []float64{-1, 11, math.NaN(), math.Inf(1)}[s.r.IntN(4)]
		default:
			votes[i].Importance = float64(s.r.IntN(11))
		}
	}
	d.soon(took, func() { d.step(Refined{d.clock(), e.Place, votes}) })
}

func (s *sim) narrate(d *dev, ev Event, out []Effect) {
	what := fmt.Sprintf("%T", ev)[6:]
	if rec, ok := ev.(Received); ok {
		if _, beat := rec.Packet.(Beat); beat && len(out) == 0 {
			return
		}
		what = "<- " + string(rec.From) + " " + showPacket(rec.Packet)
	}
	if _, tick := ev.(Tick); tick && len(out) == 1 {
		if x, ok := out[0].(Send); ok {
			if _, beat := x.Packet.(Beat); beat {
				return
			}
		}
	}
	s.tell(fmt.Sprintf("%v %s(%s) %s", s.now, d.name, d.id, what))
	for _, e := range out {
		s.tell("      -> " + tells(e))
	}
}

// wild votes on anything: the same for the same message and companion, with many ties, calls and goodbyes.
func wild(v View, ids []CompanionID) []Vote {
	votes := make([]Vote, 0, len(ids))
	for _, id := range ids {
		r := rand.New(rand.NewPCG(draw(v.Message.ID, id), 1))
		vote := Vote{From: id, MessageID: v.Message.ID, State: StateSpeak, Importance: float64(r.IntN(6) + 5), Closing: ClosingNone, Reason: "it is wild"}
		if r.IntN(3) == 0 || v.Message.Metadata.Chain > 5 {
			vote.State = StateListen
		}
		vote.Selected = r.IntN(12) == 0
		if r.IntN(10) == 0 {
			vote.Closing = closings[r.IntN(len(closings))]
		}
		votes = append(votes, vote)
	}
	return votes
}
