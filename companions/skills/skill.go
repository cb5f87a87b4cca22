// Package skills is what a skill's author reads: a tool is a name, a description, a JSON Schema and a function.
//
//	func tell(ctx skills.Context, args json.RawMessage) (skills.Result, error)
//
// A tool runs on a goroutine of its own, within a deadline that ctx carries (10 s unless told otherwise). Its arguments
// have been checked against the top level of its schema. An error, a panic and a missed deadline all become an apology
// that the companion speaks, and cost nothing else; return an error whose text a person understands.
//
// A tool returns text for the model and at most one effect. What an effect does, and when, is in TURNS.md 3: a stream or
// a claim begins only after the companion has finished speaking, and may never begin.
//
// This package imports nothing of conch, and a skill imports nothing of conch but this package and device/printable.
package skills

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// Skill is a set of tools that belong together.
type Skill interface {
	// Tools lists them; it is called once, before the first turn.
	Tools() []Tool
}

// Runner is a skill that also works by itself, between the calls of its tools: a timer that is over, a station that is lost.
type Runner interface {
	Skill
	// Run works until ctx ends, on a goroutine of its own. After an error or a panic it is called again, a second later and then less
	// often; the tools of this skill refuse meanwhile. It must hold no lock then.
	Run(ctx context.Context) error
}

// Brief is a skill that a small model is offered as one tool: its tools become the values of "do", and this describes them all.
type Brief interface {
	Skill
	// Brief is at most 200 bytes; "": each tool is offered by itself.
	Brief() string
}

// Shower is a skill that has something to look at.
type Shower interface {
	Skill
	// Shows lists it. It is asked for some times a second, while somebody looks on, on any goroutine.
	Shows() []Shown
}

// Shown is a timer that runs, a reminder that is to come, or something that plays.
type Shown struct {
	Name     string
	Ends     time.Time     // of a timer
	Due      time.Time     // of a reminder: when it is told next; where both are zero it plays
	Length   time.Duration // of the whole; 0: nobody knows
	Position time.Duration // of what plays: how far it is
}

// Tool is something that a model can call.
type Tool struct {
	Name        string          // letters, digits, _ and -, at most 64: what the model calls
	Description string          // when to use it, for the model
	Schema      json.RawMessage // JSON Schema of the arguments, an object; nil: no arguments
	Kind        Kind            // what it does besides its answer; it decides who may cause a call
	Own         bool            // its output is conch's own words: no title, value or text that others wrote
	Handler     func(ctx Context, args json.RawMessage) (Result, error)
}

// Kind is what a tool does besides its answer. The zero value is the strictest, for a tool of which nothing is known.
type Kind uint8

// Kinds of tools. SKILLS.md 2.5 has the table of who may cause a call of which.
const (
	ChangesHouse    Kind = iota // something outside this device, or nobody knows what
	Reads                       // tells something, and changes nothing
	ChangesDevice               // plays, sets or keeps something here; a word takes it back
	Erases                      // what no word takes back: forgets for good, closes the microphone
	SpeaksElsewhere             // opens a microphone or speaks at another device
	Costs                       // spends money
)

// Kinds lists all of them; tables and tests range over it.
var Kinds = []Kind{Reads, ChangesDevice, Erases, ChangesHouse, SpeaksElsewhere, Costs}

func (k Kind) String() string {
	return [...]string{"changes the house", "reads", "changes this device", "erases", "speaks elsewhere", "costs"}[k]
}

// Context is a call's surroundings. It ends with the call's deadline, with its turn, however that ends, and when the call
// has returned; a tool that goes on without it is answered for at its deadline, and what it does then counts for nothing.
type Context struct {
	context.Context
	Turn      string       // id of the turn, on every log line already
	Companion string       // whose turn it is, by the id of its card
	Log       *slog.Logger // with skill, tool and turn
	Now       func() time.Time
}

// Outcome is what became of an announcement (TURNS.md 5).
type Outcome string

// Outcomes.
const (
	OutcomeDelivered   Outcome = "delivered"
	OutcomeInterrupted Outcome = "interrupted" // a person silenced it
	OutcomeUnheard     Outcome = "unheard"     // of one to be heeded: silenced twice, and nobody at this device showed that they heard it
	OutcomeUnanswered  Outcome = "unanswered"  // of an alert alone: it rang, and nobody pressed
	OutcomeExpired     Outcome = "expired"
	OutcomeReplaced    Outcome = "replaced"
	OutcomeFailed      Outcome = "failed"
	OutcomeKept        Outcome = "kept" // a durable one, by the end of the device: it is said once that is there again
)

// Result is text for the model and at most one effect.
type Result struct {
	Output string
	Effect Effect // nil: none
}

// Effect is one of the types below.
type Effect interface{ effect() }

type (
	// CancelMedia stops what plays, buffered sound included, at once.
	CancelMedia struct{}
	// SetVolume sets and remembers the volume, at once.
	SetVolume struct{ Percent int } // 0 to 100; what is beyond is the nearest of them
	// PlaySound plays samples (24 kHz, mono) before the companion goes on. Of several the last called is heard.
	PlaySound struct{ PCM []int16 }
	// AudioStream plays what Run writes (24 kHz, mono) after the companion has finished. write blocks at the pace of the
	// speaker, for as long as a pause lasts, and fails when the stream has ended. Ended, if set, is called once for a stream that
	// began, with the samples that were heard: where a bookmark belongs.
	//
	// Whatever interrupts it (a press, a call, an announcement), it goes on afterwards with the sample behind the last that was
	// heard, and Run need not know; what a Live one (a radio) brings meanwhile is skipped. Beneath an announcement it sounds on
	// softly, or Pauses. If it has to wait for longer than its Patience (5 min if none is set), it ends as expired. Another stream displaces it,
	// and it comes back after the end that the other comes to by itself; one of this skill with its Key takes its place.
	AudioStream struct {
		Key      string
		Live     bool
		Pauses   bool
		Patience time.Duration
		Done     string // what the model is told once it has come to its end by itself, and only then; empty: nothing
		Run      func(ctx context.Context, write func(pcm []int16) error) error
		Heard    func(samples int, paused bool) // unless nil, told some ten times a second, and when it is paused; it must not wait
		Focus    func(Focus)                    // unless nil, told whenever that changes, and NoFocus before Ended; it must not wait
		Ended    func(how Ended, heard int)
	}
	// InputClaim owns microphone and speaker until Run returns. mic brings what the microphone captures, 10 ms a piece: of what Run does not
	// take the oldest is lost, 200 ms are kept, and while the microphone is muted nothing comes. write is as a stream's, and 40 ms ahead of
	// the speaker at most. Ended, if set, is called exactly once, even for a claim that never began.
	InputClaim struct {
		Run   func(ctx context.Context, mic <-chan []int16, write func(pcm []int16) error) error
		Ended func(how Ended)
	}
)

func (CancelMedia) effect() {}
func (SetVolume) effect()   {}
func (PlaySound) effect()   {}
func (AudioStream) effect() {}
func (InputClaim) effect()  {}

// Ended is how a stream or claim ended.
type Ended string

// Ends.
const (
	Finished  Ended = "finished"  // by itself
	Stopped   Ended = "stopped"   // by a person's word or hush, or by the skill, or the device ends
	Pressed   Ended = "pressed"   // of an alert: a person pressed
	HungUp    Ended = "hung up"   // of a claim: a person ended the call
	Preempted Ended = "preempted" // of a claim: something urgent had to be said; of a stream: another one took its place, or too many lay above it
	Expired   Ended = "expired"   // of a stream: its patience is over; of an alert: its time
	Failed    Ended = "failed"
)

// Focus is how a stream is heard.
type Focus string

// Focuses.
const (
	Foreground Focus = "foreground" // as it is
	Background Focus = "background" // softly or not at all, behind others
	NoFocus    Focus = "none"       // it has ended
)
