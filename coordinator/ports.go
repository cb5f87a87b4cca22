package coordinator

import (
	"context"
	"time"

	"conch/coordinator/focus"
	"conch/coordinator/turn"
)

// What the coordinator needs of others. Each port is declared here, by its consumer, and implemented elsewhere; device
// wires them. No method blocks unless it says so.

// Voice is where the answers come from. It reports through the Outlet.
type Voice interface {
	// Do takes an order. Orders are queued and carried out in sequence; Do never blocks.
	Do(turn.Order)
	// Tools tells the voice which tools the model may call, before the first turn and whenever they change.
	Tools([]turn.ToolSpec)
}

// Speaker is the loudspeaker: several sources, one generation.
type Speaker interface {
	// Drop silences everything written so far, for good, and returns the new generation. One atomic store.
	Drop() uint64
	// Open starts a source of the given generation; if that is no longer the current one, the source is born dead and
	// swallows what is written to it.
	Open(kind SourceKind, generation uint64) Source
	// Cue plays an earcon in the given generation; CueThinking and CueRinging repeat until StopCue or until speech sounds. What it returns
	// tells what was heard of it; nil: nothing is.
	Cue(c turn.Cue, generation uint64) Source
	// StopCue fades a repeating earcon out within 50 ms.
	StopCue(c turn.Cue)
	// SetVolume takes 0..100.
	SetVolume(percent int)
}

// SourceKind is what a source carries; it decides mixing.
type SourceKind uint8

// Kinds of sources.
const (
	SourceSpeech  SourceKind = iota // the companion; ducks content
	SourceContent                   // a stream
	SourceWords                     // local words for a failure
	SourceCall                      // somebody who speaks just now
)

// Source is one producer's way to the speaker. Samples are 24 kHz, mono, signed 16 bit.
type Source interface {
	// Write blocks while the buffer is full; it returns the samples accepted, fewer than len(pcm) only when the source
	// is dead or ctx ended.
	Write(ctx context.Context, pcm []int16) int
	// Hold keeps it silent until Release, whatever is written; it is called before anything is. A drop ends it for good.
	Hold()
	// Live says that what it brings while it is hushed is skipped, not kept; it is called before anything is written.
	Live()
	// Release ends a Hold: what is buffered begins to sound.
	Release()
	// Duck has content sound softly, or as it is again.
	Duck(on bool)
	// Close says that no more comes.
	Close()
	// Cut silences it alone, for good, what is buffered included; it never waits. A stream that is stopped while a companion
	// speaks needs it (TURNS.md 3); after a press the whole speaker has dropped already.
	Cut()
	// Holes is how often it ran dry in the middle of what it had to say.
	Holes() int
	// Heard is the number of samples that have been played, by the card's clock, not the wall's.
	Heard() int
	// Drained is closed when the last sample has been played, or when the source was dropped.
	Drained() <-chan struct{}
	// Silenced tells, once dropped, when (time on the audio clock shared with Outlet.Now) its last audible sample
	// leaves the card; zero, false while it still sounds or never did.
	Silenced() (time.Duration, bool)
}

// Mic is the gate between the microphone and the voice. Frames bypass the coordinator; it sees counts.
type Mic interface {
	// Open starts an utterance at the first edge (minus pre-roll). CaptureStarted or CaptureLost follows.
	Open(id turn.ID, at time.Duration)
	// End closes the gate tail after the release at up; CaptureEnded follows, also when the card is dead.
	End(id turn.ID, up, tail time.Duration)
	// Discard closes the gate at once; nothing follows.
	Discard(id turn.ID)
	// Lend gives what the microphone captures to sink, 10 ms of 24 kHz at a time, until back is called, as often as one likes; sink never waits. While it is
	// muted nothing comes.
	Lend(sink func(pcm []int16)) (back func())
}

// Tools runs what the model calls.
type Tools interface {
	// Specs lists what there is.
	Specs() []turn.ToolSpec
	// Call runs one tool on the caller's goroutine. ctx ends at the tool's deadline, and with its turn; what is returned
	// before the deadline answers the call all the same. Whoever ignores ctx holds nobody up.
	Call(ctx context.Context, c turn.CallTool) ToolResult
}

// ToolResult is a tool's output and at most one effect.
type ToolResult struct {
	Output string
	Effect turn.EffectKind
	Stream StreamFunc // EffectAudioStream
	Sound  []int16    // EffectPlaySound, 24 kHz
	Volume int        // EffectSetVolume, 0..100
	Claim  ClaimFunc  // EffectInputClaim
	Quotes string     // the skill, where Output has words that others wrote
}

// StreamFunc produces audio until it is done or ctx ends. write blocks at the pace of the speaker, for as long as a pause
// lasts, and fails when the stream has ended. ended, if not nil, is called exactly once if the stream started, with the samples that were heard.
type StreamFunc struct {
	Key      string        // a new stream of this key takes the place of the old one; any other displaces it; empty: none is of this key
	Live     bool          // it goes on whether it is heard or not
	Pauses   bool          // where others speak it pauses; else it sounds on softly, but beneath a person who speaks
	Patience time.Duration // it is paused for so long at most, then it ends as expired; 0: 5 min
	Done     string        // the prompt of the turn that follows a finished one; empty: none follows
	Run      func(ctx context.Context, write func(pcm []int16) error) error
	Heard    func(samples int, paused bool) // some ten times a second while it sounds, and when it falls silent; it must not wait
	Focus    func(focus.Level)              // unless nil, told whenever that is another one, the latest first; 0: none, its end
	Ended    func(how turn.EndedHow, heard int)
}

// ClaimFunc owns microphone and speaker until it returns or ctx ends. Ended is called exactly once, even for a claim that
// never started.
type ClaimFunc struct {
	// Run hears the microphone in mic, 10 ms a piece; of what it does not take the oldest is lost, and while the microphone is muted nothing
	// comes. write is to the speaker, as a stream's, and 40 ms ahead of it at most.
	Run   func(ctx context.Context, mic <-chan []int16, write func(pcm []int16) error) error
	Ended func(how turn.EndedHow)
}

// Phrases gives the local words for a failure as samples (24 kHz).
type Phrases interface {
	Phrase(turn.Words) []int16
}

// Light shows the state. See APPLIANCE.md section 3.
type Light interface {
	Show(s turn.State, condition string)
}
