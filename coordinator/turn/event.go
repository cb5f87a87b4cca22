package turn

import "time"

// Event is a fact. Facts come from the button, the microphone, the speaker, the voice, the tools, the room and the
// timer. Every fact carries At: time since the runner started, taken from a monotonic clock by whoever saw it happen.
// Every fact that comes back from outside carries the turn it belongs to; what belongs to another turn is dropped.
type Event interface{ event() }

// Button tells the buttons of one device apart: a pin, a key, the keyboard, the control socket.
type Button uint8

// Pressed: the button went down and was confirmed (a pin: closed for 25 ms). At is the first edge. The speaker has
// already dropped; Turn is the id of the turn that may begin. A press has a reserved place in the inbox.
type Pressed struct {
	At     time.Duration
	Turn   ID
	Button Button
	Cut    bool // something sounded at its edge, here or at another device of the room
}

// Released: the button has been up for 25 ms, or is Gone, and then nothing is committed. At is its first up edge; Held counts the samples (24 kHz) that the
// card had captured between the two edges, delivered or not, without pre-roll. It ends what a press of the same button began.
type Released struct {
	At     time.Duration
	Held   int
	Button Button
	Gone   bool
}

// Asked: a question was typed, or came from the CLI; as if spoken. It interrupts like a press.
type Asked struct {
	At    time.Duration
	Turn  ID
	Text  string
	Cause Cause
}

// Hushed: the room (or a stop command) demands silence. The speaker has already dropped. With Room, a press elsewhere is
// the reason: then a person who is being recorded here goes on, because nothing of a recording is audible. With Own, the device itself
// makes room for something more urgent: what rings goes on.
type Hushed struct {
	At        time.Duration
	Room, Own bool
}

// Quieted: a press elsewhere in the room silences what can be heard at this instant, and nothing else: what is asked, or held, goes on.
type Quieted struct{ At time.Duration }

// LetGo: a question that is kept (KeepInput) is to be forgotten: the microphone was muted, or the household wants nothing remembered.
type LetGo struct{ At time.Duration }

// FloorGranted: the room selected this device's companion. With Turn equal to the live turn, which is recorded or
// committing, it lets that turn's answer begin; otherwise it begins a turn of its own. Prompt is guidance for this answer
// alone; a turn of its own is Who's from its beginning to its end, and the live turn stays whose it is. With Hold the answer is only
// made ready, so that it can follow the present speaker without a gap (ROOM.md 3.5): it is asked for and buffered, and nothing of the
// turn is heard before FloorOpened. A turn of its own that comes while another is live, as when two companions of one device follow each
// other, begins when that has ended; while a person speaks it is refused. In any case a turn that was granted ends once.
type FloorGranted struct {
	At     time.Duration
	Turn   ID
	Who    Who
	Hold   bool
	Prompt string
	Cause  Cause // of a turn of its own
}

// FloorOpened: the floor is free, so a turn that was granted with Hold may now be heard.
type FloorOpened struct {
	At   time.Duration
	Turn ID
}

// VoteLost: the room selected somebody else for the message of this turn, or takes back a floor granted with Hold.
type VoteLost struct {
	At   time.Duration
	Turn ID
}

// TurnInjected: the queue of injected turns (package inject) hands over its head, only when the machine is silent. In a call it is the
// queue that decided to end it (TURNS.md 5, PREEMPT). The turn is Who's; with Hold nothing of it is heard before FloorOpened. With Kept it
// asks the question that was kept, of which a person is told first: then no turn begins, and it is to come again.
type TurnInjected struct {
	At     time.Duration
	Turn   ID
	Prompt string
	Who    Who
	Hold   bool
	Kept   bool
}

// Preempted: what is urgent is to be said without a turn, by the local voice; a call ends for it.
type Preempted struct{ At time.Duration }

// CaptureStarted: the first frame of this turn's capture has arrived; the microphone really listens.
type CaptureStarted struct {
	At   time.Duration
	Turn ID
}

// CaptureEnded: the post-roll is over; Samples (24 kHz) is what was really captured between press and release.
type CaptureEnded struct {
	At      time.Duration
	Turn    ID
	Samples int
	Empty   bool // the recording holds no speech
}

// CaptureLost: the microphone disappeared, never delivered, or delivered what no microphone hears.
type CaptureLost struct {
	At   time.Duration
	Turn ID
	Say  Words // empty: WordsNoMicrophone
	// Latched: the button that began it was tapped, and is up by now: how long it stays down says nothing.
	Latched bool
}

// InputCommitted: the server took the utterance as Item.
type InputCommitted struct {
	At   time.Duration
	Turn ID
	Item ItemID
}

// InputRefused: the server refused the commit (too little audio, error). The utterance is not in the conversation.
type InputRefused struct {
	At   time.Duration
	Turn ID
}

// Transcribed: the words the server heard. May arrive before or after the answer.
type Transcribed struct {
	At   time.Duration
	Turn ID
	Text string
}

// ResponseStarted: the server began an answer of this turn.
type ResponseStarted struct {
	At       time.Duration
	Turn     ID
	Response ResponseID
}

// DeltaArrived: Samples (24 kHz) of speech of Item went to the speaker; zero for text that makes no sound. Without Item the model thinks.
type DeltaArrived struct {
	At       time.Duration
	Turn     ID
	Response ResponseID
	Item     ItemID
	Samples  int
}

// Spoken: Text is (the next piece of) what the model says in Item, in words. It makes no sound and changes no state; it
// is what people read, what the room is told, and what is kept when an answer was cut.
type Spoken struct {
	At       time.Duration
	Turn     ID
	Response ResponseID
	Item     ItemID
	Text     string
}

// ToolCalled: the model wants a tool.
type ToolCalled struct {
	At       time.Duration
	Turn     ID
	Response ResponseID
	Call     CallID
	Name     string
	Args     string
}

// EffectKind is what a tool wants to happen besides its output (TURNS.md section 3).
type EffectKind uint8

// Kinds of tool effects.
const (
	EffectNone EffectKind = iota
	EffectAudioStream
	EffectPlaySound
	EffectCancelMedia
	EffectSetVolume
	EffectInputClaim
)

func (k EffectKind) String() string {
	return [...]string{"none", "audio_stream", "play_sound", "cancel_media", "set_volume", "input_claim"}[k]
}

// ToolReturned: a tool ended. Handle names the stream, sound or claim behind the effect; Volume is 0..100.
// A tool that failed, panicked or ran out of time returns an apology in Output and EffectNone.
type ToolReturned struct {
	At     time.Duration
	Turn   ID
	Call   CallID
	Output string
	Effect EffectKind
	Handle Handle
	Volume int
	Quotes string // the skill, where Output has words that others wrote
}

// ResponseStatus is how a response ended.
type ResponseStatus uint8

// Ends of a response.
const (
	ResponseCompleted ResponseStatus = iota
	ResponseCancelled
	ResponseIncomplete
	ResponseFailed
)

func (s ResponseStatus) String() string {
	return [...]string{"completed", "cancelled", "incomplete", "failed"}[s]
}

// ResponseDone: the server finished Response. Say is what a person is told when Status is failed or incomplete. Failed with
// WordsLostMidway says that its session was lost, and that all that came of it has been handed over.
type ResponseDone struct {
	At       time.Duration
	Turn     ID
	Response ResponseID
	Status   ResponseStatus
	Say      Words
}

// ResponseRefused: the server refused to begin a response for this turn (error to response.create, quota, ceiling).
type ResponseRefused struct {
	At   time.Duration
	Turn ID
	Say  Words
}

// SpeechHeard: Samples (24 kHz) of this turn's speech have really been played so far. The runner feeds it right before
// every fact that may interrupt, so that Step knows what was heard at the cut.
type SpeechHeard struct {
	At      time.Duration
	Turn    ID
	Samples int
}

// SoundQueued: Samples of a tool's sound (not of the model) were queued in this turn's speech, in order.
type SoundQueued struct {
	At      time.Duration
	Turn    ID
	Samples int
}

// SpeechDrained: the last sample of this turn's speech (after CloseSpeech) has been played; all but Unheard of them, when
// the card stood still for so long that the rest was given up.
type SpeechDrained struct {
	At      time.Duration
	Turn    ID
	Unheard int
}

// WordsSaid: local words (SayWords) have been played to the end, or were dropped.
type WordsSaid struct{ At time.Duration }

// EndedHow is how a stream or claim ended.
type EndedHow uint8

// Ends of a stream or claim.
const (
	EndedFinished EndedHow = iota
	EndedStopped           // by a person's word or a hush, or the device ends
	EndedFailed
	EndedExpired   // of a stream: it was paused for longer than its patience
	EndedPreempted // of a claim: an injected turn could not wait for its end; of a stream: others took its place
	EndedHungUp    // of a claim: a person ended the call
)

func (e EndedHow) String() string {
	return [...]string{"finished", "stopped", "failed", "expired", "preempted", "hung up"}[e]
}

// StreamEnded: a started stream is over. Exactly one per StartStream.
type StreamEnded struct {
	At     time.Duration
	Handle Handle
	How    EndedHow
}

// StreamBack: a stream that was displaced is what plays now.
type StreamBack struct {
	At     time.Duration
	Turn   ID // that began it
	Handle Handle
}

// ClaimEnded: a started or latched claim is over. Exactly one per claim.
type ClaimEnded struct {
	At     time.Duration
	Handle Handle
	How    EndedHow
}

// AlertChanged: what is known of an alert: one has Begun to ring and is not over, and it Rings now, with nothing before it.
type AlertChanged struct {
	At    time.Duration
	Begun bool
	Rings bool
}

// CallRings: somebody calls; Handle is the claim that a press begins. Turn is its name in the log.
type CallRings struct {
	At     time.Duration
	Turn   ID
	Handle Handle
}

// CallGone: a call that rings is over before anybody answered it.
type CallGone struct {
	At     time.Duration
	Handle Handle
}

// SessionReady: the voice can take and answer an utterance now.
type SessionReady struct{ At time.Duration }

// SessionLost: the voice lost its connection. Fatal says that trying again will not help until a person does
// something (refused key); Say is what to tell them. Of an answer that was live, ResponseDone still comes. Why and Do are for whoever looks
// at the device: what is wrong, and what to do, where the voice knows it better than Say does; empty: it does not.
type SessionLost struct {
	At      time.Duration
	Fatal   bool
	Say     Words
	Why, Do string
}

// DeadlinePassed: the time given by Machine.Wake has come. At Night people sleep: nothing is to talk by itself later.
type DeadlinePassed struct {
	At    time.Duration
	Night bool
}

func (Pressed) event()         {}
func (Released) event()        {}
func (Asked) event()           {}
func (Hushed) event()          {}
func (Quieted) event()         {}
func (LetGo) event()           {}
func (FloorGranted) event()    {}
func (FloorOpened) event()     {}
func (VoteLost) event()        {}
func (TurnInjected) event()    {}
func (Preempted) event()       {}
func (CaptureStarted) event()  {}
func (CaptureEnded) event()    {}
func (CaptureLost) event()     {}
func (InputCommitted) event()  {}
func (InputRefused) event()    {}
func (Transcribed) event()     {}
func (ResponseStarted) event() {}
func (DeltaArrived) event()    {}
func (Spoken) event()          {}
func (ToolCalled) event()      {}
func (ToolReturned) event()    {}
func (ResponseDone) event()    {}
func (ResponseRefused) event() {}
func (SpeechHeard) event()     {}
func (SoundQueued) event()     {}
func (SpeechDrained) event()   {}
func (WordsSaid) event()       {}
func (StreamEnded) event()     {}
func (StreamBack) event()      {}
func (ClaimEnded) event()      {}
func (AlertChanged) event()    {}
func (CallRings) event()       {}
func (CallGone) event()        {}
func (SessionReady) event()    {}
func (SessionLost) event()     {}
func (DeadlinePassed) event()  {}
