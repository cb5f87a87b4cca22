package turn

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the table of doc.go and the files of testdata; read the diff before you commit it")

// facts gives every event its short name in scripts; TestAllEventsAreListed holds it complete.
var facts = []struct {
	name string
	ev   Event
}{
	{"press", Pressed{}}, {"release", Released{}}, {"ask", Asked{}}, {"hush", Hushed{}}, {"quiet", Quieted{}}, {"let-go", LetGo{}},
	{"floor", FloorGranted{}}, {"floor-opened", FloorOpened{}}, {"vote-lost", VoteLost{}}, {"inject", TurnInjected{}}, {"preempted", Preempted{}},
	{"capture-started", CaptureStarted{}}, {"capture-ended", CaptureEnded{}}, {"capture-lost", CaptureLost{}},
	{"committed", InputCommitted{}}, {"refused", InputRefused{}}, {"transcribed", Transcribed{}},
	{"started", ResponseStarted{}}, {"delta", DeltaArrived{}}, {"spoken", Spoken{}}, {"tool-called", ToolCalled{}},
	{"tool-returned", ToolReturned{}}, {"done", ResponseDone{}}, {"response-refused", ResponseRefused{}},
	{"heard", SpeechHeard{}}, {"sound-queued", SoundQueued{}}, {"drained", SpeechDrained{}}, {"words-said", WordsSaid{}},
	{"stream-ended", StreamEnded{}}, {"stream-back", StreamBack{}}, {"claim-ended", ClaimEnded{}}, {"alert", AlertChanged{}},
	{"call-rings", CallRings{}}, {"call-gone", CallGone{}},
	{"ready", SessionReady{}}, {"lost", SessionLost{}}, {"deadline", DeadlinePassed{}},
}

// parseFact reads "delta t-1 r1 a 4800": the short name, then the fields after At in the order of the struct; what is
// missing is zero, - is zero too, and a text at the end may have spaces.
func parseFact(line string, at time.Duration) (Event, error) {
	f := strings.Fields(line)
	for _, k := range facts {
		if k.name != f[0] {
			continue
		}
		v := reflect.New(reflect.TypeOf(k.ev)).Elem()
		v.FieldByName("At").SetInt(int64(at))
		fields := v.NumField()
		if c := v.FieldByName("Cause"); c.IsValid() { // the last field
			fields--
			c.Set(reflect.ValueOf(causeOf(f[0])))
		}
		for i, word := range f[1:] {
			if i+1 >= fields {
				return nil, fmt.Errorf("%q: too many words", line)
			}
			if word == "-" {
				continue
			}
			if i+2 == fields && v.Field(i+1).Kind() == reflect.String {
				v.Field(i + 1).SetString(strings.Join(f[i+1:], " ")) // text may have spaces
				break
			}
			if err := setField(v.Field(i+1), word); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		}
		return v.Interface().(Event), nil
	}
	return nil, fmt.Errorf("%q: no such fact", line)
}

// causeOf is the cause of a fact of a script.
func causeOf(fact string) Cause {
	if fact == "ask" {
		return CauseLine
	}
	return CauseRoom
}

func setField(v reflect.Value, word string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(word)
	case reflect.Bool:
		v.SetBool(word == "true")
	case reflect.Int:
		n, err := strconv.Atoi(word)
		v.SetInt(int64(n))
		return err
	case reflect.Uint64:
		n, err := strconv.ParseUint(word, 10, 64)
		v.SetUint(n)
		return err
	case reflect.Uint8: // an enumeration, by its name
		if n, err := strconv.ParseUint(word, 10, 8); err == nil { // a button
			v.SetUint(n)
			return nil
		}
		names := map[string][]string{
			"EffectKind":     {"none", "audio_stream", "play_sound", "cancel_media", "set_volume", "input_claim"},
			"ResponseStatus": {"completed", "cancelled", "incomplete", "failed"},
			"EndedHow":       {"finished", "stopped", "failed", "expired", "preempted", "hung-up"},
		}[v.Type().Name()]
		for i, n := range names {
			if n == word {
				v.SetUint(uint64(i))
				return nil
			}
		}
		return fmt.Errorf("%s is no %s", word, v.Type().Name())
	default:
		return fmt.Errorf("a field of kind %v", v.Kind())
	}
	return nil
}

// show prints a fact or an order with the fields that are not zero: "TruncateItem turn=t-1 item=a heard=2400"; the cause of an end only where
// no person's words began the turn.
func show(x any) string {
	v := reflect.ValueOf(x)
	return v.Type().Name() + showFields(v)
}

func showFields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		name, f := strings.ToLower(v.Type().Field(i).Name), v.Field(i)
		cause, caused := f.Interface().(Cause)
		switch {
		case caused && cause.ByPerson() && v.Type() == reflect.TypeFor[Summary]():
		case f.Type() == reflect.TypeFor[Summary]():
			b.WriteString(showFields(f))
		case name == "reason" || name == "cue" || !f.IsZero() && name != "at":
			s := fmt.Sprint(f.Interface())
			if strings.ContainsAny(s, " \"") {
				s = strconv.Quote(s)
			}
			fmt.Fprintf(&b, " %s=%s", name, s)
		}
	}
	return b.String()
}

// bench drives a machine in a test: a clock that only the test moves, and everything that was ordered.
type bench struct {
	t   testing.TB
	m   Machine
	now time.Duration
	out []Effect
}

func newBench(t testing.TB, c Config) *bench { return &bench{t: t, m: New(filled(c))} }

// filled takes the default for each field that a test does not care about.
func filled(c Config) Config {
	v, d := reflect.ValueOf(&c).Elem(), reflect.ValueOf(DefaultConfig())
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			v.Field(i).Set(d.Field(i))
		}
	}
	return c
}

// run carries out lines of a script, one after the other.
func (b *bench) run(lines ...string) *bench {
	b.t.Helper()
	for _, line := range lines {
		if d, ok := strings.CutPrefix(line, "wait "); ok {
			w, err := time.ParseDuration(d)
			if err != nil {
				b.t.Fatal(err)
			}
			b.wait(w, func(string) {})
			continue
		}
		ev, err := parseFact(line, b.now)
		if err != nil {
			b.t.Fatal(err)
		}
		b.feed(ev)
	}
	return b
}

func (b *bench) feed(ev Event) []Effect {
	var e []Effect
	b.m, e = Step(b.m, ev)
	b.out = append(b.out, e...)
	return e
}

// wait moves the clock and fires each deadline at its time.
func (b *bench) wait(d time.Duration, seen func(string)) {
	end := b.now + d
	for n := 0; ; n++ {
		at, ok := b.m.Wake()
		if !ok || at > end {
			break
		}
		if n > 1000 {
			b.t.Fatalf("the machine asks for the same deadline for ever: %v in %v", at, b.m.State())
		}
		b.now = max(b.now, at)
		for _, e := range b.feed(DeadlinePassed{At: b.now}) {
			seen(show(e))
		}
	}
	b.now = end
}

// forget drops what was ordered so far, so that a test looks at what follows.
func (b *bench) forget() *bench { b.out = nil; return b }

// orders are the names of what was ordered.
func (b *bench) orders() []string {
	var s []string
	for _, e := range b.out {
		s = append(s, show(e))
	}
	return s
}

func (b *bench) has(want string) bool {
	for _, o := range b.orders() {
		if o == want || strings.HasPrefix(o, want+" ") {
			return true
		}
	}
	return false
}

func (b *bench) want(orders ...string) {
	b.t.Helper()
	got, want := strings.Join(b.orders(), "\n\t"), strings.Join(orders, "\n\t")
	if got != want {
		b.t.Errorf("ordered\n\t%s\nwant\n\t%s", got, want)
	}
}

func (b *bench) wantState(s State) {
	b.t.Helper()
	if b.m.State() != s {
		b.t.Errorf("state = %v; want %v", b.m.State(), s)
	}
}

func (b *bench) wantHas(orders ...string) {
	b.t.Helper()
	for _, o := range orders {
		if !b.has(o) {
			b.t.Errorf("%s was not ordered, but\n\t%s", o, strings.Join(b.orders(), "\n\t"))
		}
	}
}

func (b *bench) wantNot(orders ...string) {
	b.t.Helper()
	for _, o := range orders {
		if b.has(o) {
			b.t.Errorf("%s was ordered among\n\t%s", o, strings.Join(b.orders(), "\n\t"))
		}
	}
}

// Ways into the situations that tests start from; the live turn is t-1, its response r1, its item a.
var (
	toListening = []string{"ready", "press t-1", "capture-started t-1"}
	toClosing   = append(clone(toListening), "wait 1s", "release 24000")
	toAsking    = append(clone(toClosing), "wait 120ms", "capture-ended t-1 30000")
	toVoting    = toAsking // with Config.Room
	toSpeaking  = append(clone(toAsking), "committed t-1 u", "started t-1 r1", "delta t-1 r1 a 24000")
	toWriting   = append(clone(toSpeaking), "heard t-1 1200", "quiet")
	toDraining  = append(clone(toSpeaking), "done t-1 r1")
	toWorking   = append(clone(toSpeaking), "tool-called t-1 r1 c1 clock", "done t-1 r1")
	toFollowing = append(clone(toWorking), "tool-returned t-1 c1 noon")

	toKept = append(clone(toAsking[1:]), "wait 5s", "words-said", "ready") // a session that comes when the question was given up

	toTold = append(clone(toKept), "inject t-3 - - - true", "words-said")

	toHeld         = []string{"ready", "floor t-1 ben true guidance"}
	toHeldSpeaking = append(clone(toHeld), "started t-1 r1", "delta t-1 r1 a 24000")
	toHeldDraining = append(clone(toHeldSpeaking), "done t-1 r1")
	toHeldWorking  = append(clone(toHeldSpeaking), "tool-called t-1 r1 c1 clock", "done t-1 r1")
)

func clone(s []string) []string { return append([]string(nil), s...) }

// situations are all the phases a machine can rest in.
var situations = []struct {
	name  string
	state State
	phase phase
	room  bool
	lines []string
	held  bool
}{
	{"IDLE", Idle, resting, false, []string{"ready"}, false},
	{"IDLE kept", Idle, resting, false, toKept, false},
	{"IDLE told", Idle, resting, false, toTold, false},
	{"LISTENING", Listening, recording, false, toListening, false},
	{"COMMITTING closing", Committing, closing, false, toClosing, false},
	{"COMMITTING voting", Committing, voting, true, toVoting, false},
	{"COMMITTING asking", Committing, asking, false, toAsking, false},
	{"IN_RESPONSE speaking", InResponse, speaking, false, toSpeaking, false},
	{"IN_RESPONSE writing", InResponse, writing, false, toWriting, false},
	{"IN_RESPONSE draining", InResponse, draining, false, toDraining, false},
	{"AWAITING working", AwaitingNextResponse, working, false, toWorking, false},
	{"AWAITING following", AwaitingNextResponse, following, false, toFollowing, false},
	{"HELD asking", Committing, asking, true, toHeld, true},
	{"HELD speaking", InResponse, speaking, true, toHeldSpeaking, true},
	{"HELD draining", InResponse, draining, true, toHeldDraining, true},
	{"HELD working", AwaitingNextResponse, working, true, toHeldWorking, true},
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs from what Step does; is the change wanted? then: go test ./coordinator/turn -update\n%s", path, diff(string(want), got))
	}
}

// diff shows the first lines that differ.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for i := range max(len(w), len(g)) {
		var a, c string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			c = g[i]
		}
		if a != c {
			fmt.Fprintf(&b, "line %d:\n- %s\n+ %s\n", i+1, a, c)
			if b.Len() > 2000 {
				break
			}
		}
	}
	return b.String()
}
