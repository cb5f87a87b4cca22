package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// Options are what a Coordinator is made of. The ports are required; everything else has a default.
type Options struct {
	// Ports.
	Voice   Voice
	Speaker Speaker
	Mic     Mic
	Tools   Tools
	Light   Light
	Phrases Phrases

	Turn  turn.Config       // deadlines and limits of the machine, whole (turn.DefaultConfig, changed); none at all: the defaults
	Log   *slog.Logger      // default: nowhere
	Clock Clock             // default: RealClock(nil); share the device's with RealClock(now)
	NewID func() turn.ID    // default: "t-" and six hex digits, no two alike
	OnEnd func(turn Record) // called by the runner once per turn, after the line; must not block

	OnWords func(turn.ID, turn.Words) // called by the runner as it says words that no Record has; must not block

	OnSpent func(turn.ID) // called by the runner for a press that begins no turn (it hung up, or stopped an alert); must not block

	OnSpeech func(SpeechEvent) // called by the runner when speech begins to be heard and when all of it is known; must not block

	// In a room; both are called by the runner and must not block.
	Taken func() bool // another device has the floor: injected turns wait for it (default: none has)
	// Elsewhere counts what persons have said in the room, and reports whether a companion of another device has the floor (default:
	// nothing, no): by that a gesture elsewhere is an utterance, or an announcement.
	Elsewhere func() (spoken uint64, companion bool)
	OnInject  func(turn.ID) // an injected turn begins now; OnEnd tells its end
	// OnKept: the question that was kept for a session is asked now, as if somebody had pressed; alone says that nobody else may answer.
	OnKept func(turn.ID) (alone bool)

	Night func() bool // people sleep: no question is kept then, as nothing is to talk by itself later (default: never); it must not block

	Recorder     *Recorder     // the last facts, orders and transitions; default: one of 200 lines
	ToolDeadline time.Duration // default 10 s (TURNS.md 3)
	ToolLimit    int           // tools of the live turn that run at the same time; default 16
	StreamLimit  int           // streams and claims at the same time, dying ones included; default 8
	InboxLimit   int           // facts that wait before their producers do; default 256
	Inject       inject.Config // bounds of the queue of injected turns
	LocalVoice   LocalVoice    // optional: speaks an injection while offline; sets Inject.LocalVoice
	Alarm        Alarm         // optional: what an alert sounds like; without it each has failed
}

// Coordinator is the heart of one device: it owns the turn machine and is the only one who moves it.
// All methods may be called from any goroutine, before, during and after Run.
type Coordinator struct {
	// fixed after New
	o     Options
	inbox *inbox

	// atomic
	speech     atomic.Pointer[speech]  // where Audio goes; stored by the runner only
	audioStale atomic.Uint64           // samples refused by Audio since the last line about it
	audioOf    atomic.Pointer[turn.ID] // the last turn whose audio was refused
	state      atomic.Uint32           // turn.State, for State
	quiet      atomic.Bool             // see Quiet
	streaming  atomic.Bool             // see Streaming
	settled    atomic.Bool             // see Settled
	online     atomic.Bool             // the voice can take an utterance
	started    atomic.Bool
}

// New makes a Coordinator and refuses a missing port by its name. Nothing runs before Run.
func New(o Options) (*Coordinator, error) {
	for _, p := range []struct {
		name, what string
		missing    bool
	}{
		{"Voice", "answers", o.Voice == nil},
		{"Speaker", "sound", o.Speaker == nil},
		{"Mic", "utterances", o.Mic == nil},
		{"Tools", "tools; an empty list is a Tools too", o.Tools == nil},
		{"Light", "its state; a Light that does nothing is one", o.Light == nil},
		{"Phrases", "words for a failure", o.Phrases == nil},
	} {
		if p.missing {
			return nil, fmt.Errorf("coordinator: Options.%s is missing (without it there are no %s)", p.name, p.what)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = RealClock(nil)
	}
	if o.NewID == nil {
		o.NewID = newIDs()
	}
	if o.OnEnd == nil {
		o.OnEnd = func(Record) {}
	}
	if o.OnWords == nil {
		o.OnWords = func(turn.ID, turn.Words) {}
	}
	if o.OnSpeech == nil {
		o.OnSpeech = func(SpeechEvent) {}
	}
	if o.Taken == nil {
		o.Taken = func() bool { return false }
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func() (uint64, bool) { return 0, false }
	}
	if o.OnInject == nil {
		o.OnInject = func(turn.ID) {}
	}
	if o.OnKept == nil {
		o.OnKept = func(turn.ID) bool { return false }
	}
	if o.Night == nil {
		o.Night = func() bool { return false }
	}
	if o.OnSpent == nil {
		o.OnSpent = func(turn.ID) {}
	}
	if o.Recorder == nil {
		o.Recorder = NewRecorder(200)
	}
	if o.Turn == (turn.Config{}) {
		o.Turn = turn.DefaultConfig()
	}
	o.ToolDeadline = orDefault(o.ToolDeadline, 10*time.Second)
	o.ToolLimit = orDefault(o.ToolLimit, 16)
	o.StreamLimit = orDefault(o.StreamLimit, 8)
	o.InboxLimit = orDefault(o.InboxLimit, inboxFacts)
	return &Coordinator{o: o, inbox: newInbox(o.InboxLimit)}, nil
}

func orDefault[T int | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// newIDs names turns: six hex digits, short enough to be read aloud. They begin by chance, so that devices and restarts
// differ, and then step through all sixteen million before one comes twice: drawn by chance alone, two of a thousand turns
// had the same name one time in thirty, and a log that is searched by it told two stories.
func newIDs() func() turn.ID {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	var n atomic.Uint32
	n.Store(binary.BigEndian.Uint32(b[:]))
	return func() turn.ID { // an odd step reaches every number of 24 bits; this one is far from any pattern
		return turn.ID(fmt.Sprintf("t-%06x", n.Add(0x9e3779b1)&0xffffff))
	}
}

// Run owns the machine until ctx ends. It then ends the live turn, answers everybody who still waits, and returns when
// all goroutines it started are gone, or after two seconds with an error that counts those that are not. It may be
// called once.
func (c *Coordinator) Run(ctx context.Context) error {
	if c.started.Swap(true) {
		return errors.New("coordinator: Run was called before (make a new Coordinator)")
	}
	return newRunner(ctx, c).run()
}

// Now is the clock of all facts.
func (c *Coordinator) Now() time.Duration { return c.o.Clock.Now() }

// ToolsChanged says that Tools.Specs are others than they were: the voice is told, in order with the rest.
func (c *Coordinator) ToolsChanged() {
	c.inbox.put(entry{of: func() { c.o.Voice.Tools(c.o.Tools.Specs()) }})
}

// State is what the machine was in after the last fact.
func (c *Coordinator) State() turn.State { return turn.State(c.state.Load()) }

// Quiet says that no turn is live, that none waits, and that no local words are to come. It is never true between a
// gesture or question and the turn it begins.
func (c *Coordinator) Quiet() bool { return c.inbox.empty() && c.quiet.Load() }

// Streaming says that content plays, or is paused: a book, music, the radio.
func (c *Coordinator) Streaming() bool { return c.streaming.Load() }

// Settled says that every fact posted so far has been carried out, so that State speaks of what followed from it.
func (c *Coordinator) Settled() bool { return c.inbox.empty() && c.settled.Load() }

// Online says that the voice could take an utterance after the last fact.
func (c *Coordinator) Online() bool { return c.online.Load() }

// Recent is the flight recorder: the last facts, orders and transitions, oldest first.
func (c *Coordinator) Recent() []Line { return c.o.Recorder.Lines() }

// Press is a confirmed press of b whose first edge was at; generation is what Speaker.Drop returned. It never waits and is
// never lost. It returns the id of the turn that may begin.
func (c *Coordinator) Press(at time.Duration, generation uint64, b turn.Button) turn.ID {
	id := c.o.NewID()
	c.inbox.post(entry{ev: turn.Pressed{At: at, Turn: id, Button: b}, gen: generation, dropped: true})
	return id
}

// PressAlone is Press on a device that is alone in its room: the turn has the floor from the start, and its answer waits for
// nobody. It is one fact with the press, so that it never waits for room in the inbox either.
func (c *Coordinator) PressAlone(at time.Duration, generation uint64, b turn.Button) turn.ID {
	id := c.o.NewID()
	c.inbox.post(entry{ev: turn.Pressed{At: at, Turn: id, Button: b}, gen: generation, dropped: true, granted: true})
	return id
}

// Hush is a demand for silence that is no press: from the room, or a stop command. generation is what Speaker.Drop
// returned. It never waits and is never lost.
func (c *Coordinator) Hush(at time.Duration, generation uint64) {
	c.inbox.post(entry{ev: turn.Hushed{At: at}, gen: generation, dropped: true})
}

// HushRoom is the same, because somebody pressed elsewhere in the room: a person who is being recorded here goes on.
// It silences whatever turn is live, so it is not for a turn that may be over; VoteLost ends one that is held.
func (c *Coordinator) HushRoom(at time.Duration, generation uint64) {
	c.inbox.post(entry{ev: turn.Hushed{At: at, Room: true}, gen: generation, dropped: true, spoken: c.spoken()})
}

// Yield is HushRoom by the device itself, for something more urgent: what is cut is offered again.
func (c *Coordinator) Yield(at time.Duration, generation uint64) {
	c.inbox.post(entry{ev: turn.Hushed{At: at, Room: true, Own: true}, gen: generation, dropped: true})
}

// QuietRoom silences what can be heard at this instant, for a press elsewhere that has no more right than that. The runner drops, once
// it knows that something sounds.
func (c *Coordinator) QuietRoom(at time.Duration) {
	c.inbox.post(entry{ev: turn.Quieted{At: at}, spoken: c.spoken()})
}

// spoken is what persons have said in the room until now: the words that a gesture elsewhere becomes may be there before the runner takes it.
func (c *Coordinator) spoken() uint64 {
	n, _ := c.o.Elsewhere()
	return n
}

// Release is a confirmed release of b; held counts the samples (24 kHz) captured between the edges. It never waits and is
// never lost.
func (c *Coordinator) Release(at time.Duration, held int, b turn.Button) {
	c.inbox.post(entry{ev: turn.Released{At: at, Held: held, Button: b}})
}

// Ask is a line that a person typed here. It interrupts like a press; it may wait for room in the inbox, and the runner drops.
func (c *Coordinator) Ask(text string) turn.ID {
	id := c.o.NewID()
	c.Post(turn.Asked{At: c.Now(), Turn: id, Text: text, Cause: turn.CauseLine})
	return id
}

// Post puts a fact into the inbox. It never waits, so that a port's method, OnEnd and whoever else the runner calls may post. A
// press, a release or a hush is never dropped (but use Press and Hush, which bring their generation); any other fact is refused,
// and counted, where more than a thousand wait.
func (c *Coordinator) Post(ev turn.Event) { c.inbox.post(entry{ev: ev}) }

// Outlet is the voice's way in: its facts wait for room, until Run has ended, so that a server which floods is slowed down.
func (c *Coordinator) Outlet() Outlet { return Outlet{c} }

// Outlet is where the voice's facts and speech go: a Coordinator whose Post waits.
type Outlet struct{ *Coordinator }

// Post puts a fact into the inbox, and waits while that is full: not from within a method that the coordinator calls.
func (o Outlet) Post(ev turn.Event) { o.inbox.put(entry{ev: ev}) }

// goingOn is an entry of the inbox: a person wants to hear what lies below something that was stopped.
type goingOn chan bool

// GoOn has content come back that a person's word or hush has left silent, and tells whether anything plays then. It waits for the runner.
func (c *Coordinator) GoOn(ctx context.Context) bool {
	is := make(goingOn, 1)
	if !c.inbox.post(entry{of: is}) {
		return false
	}
	select {
	case plays := <-is:
		return plays
	case <-ctx.Done():
		return false
	}
}

// Call has f called by the runner, between two facts: who wants to know whether the runner still goes round waits for
// that. It never waits itself; false says that the runner has ended, or that too many calls wait already.
func (c *Coordinator) Call(f func()) bool { return c.inbox.post(entry{of: f}) }

// Audio hands speech of a turn to its source, past the inbox. See Outlet.
func (c *Coordinator) Audio(ctx context.Context, id turn.ID, pcm []int16) int {
	n := 0
	if s := c.speech.Load(); s != nil && s.turn == id {
		n = s.write(ctx, pcm)
	}
	if n < len(pcm) {
		of := id // not the parameter, which would be on the heap with each call
		c.audioOf.Store(&of)
		c.audioStale.Add(uint64(len(pcm) - n))
	}
	return n
}
