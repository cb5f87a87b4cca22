package turn

import "time"

// Effect is an order to the runner: imperative, data only. The runner carries effects out in the order given.
type Effect interface{ effect() }

// Order is an effect that is addressed to the voice of a companion, Who. A voice takes orders in sequence and never blocks on
// one.
type Order interface {
	Effect
	order() (ID, Who)
}

// Orders to the voice.
type (
	// ClearInput throws away what was appended; a new utterance, if any, belongs to Turn. With Kept that is the one which was kept of that
	// turn, whole.
	ClearInput struct {
		Turn ID
		Who  Who
		Kept ID
	}
	// KeepInput takes the utterance of Turn back, of which nothing is sent any more, and keeps it in memory, in place of one that is kept.
	// Without a Turn nothing is kept any longer.
	KeepInput struct {
		Turn ID
		Who  Who
	}
	// CommitInput ends the utterance of Turn. It does not ask for an answer.
	CommitInput struct {
		Turn ID
		Who  Who
	}
	// AddText puts a person's typed words (or an injection's prompt, Role "system") into the conversation.
	AddText struct {
		Turn ID
		Who  Who
		Role string // "user" or "system"
		Text string
	}
	// CreateResponse asks for an answer. Prompt, when set, is an instruction for this answer only. With Resume the answer of
	// the turn broke off with its session, and is to go on from there in the next one. With NoTools the model has words to say: it is
	// offered no tool.
	CreateResponse struct {
		Turn    ID
		Who     Who
		Prompt  string
		Resume  bool
		NoTools bool
	}
	// CancelResponse stops a live response. Response may be empty when it was asked for but has not started yet.
	CancelResponse struct {
		Turn     ID
		Who      Who
		Response ResponseID
	}
	// TruncateItem cuts Item to the Heard samples (24 kHz) that were really played.
	TruncateItem struct {
		Turn  ID
		Who   Who
		Item  ItemID
		Heard int
	}
	// DeleteItem removes an item of which nothing was heard.
	DeleteItem struct {
		Turn ID
		Who  Who
		Item ItemID
	}
	// SendToolOutput answers a call. Answering never begins a response by itself.
	SendToolOutput struct {
		Turn   ID
		Who    Who
		Call   CallID
		Output string
	}
)

// Orders to the runner's other hands.
type (
	// OpenCapture lets the microphone's frames (from the pre-roll on) go to the voice as the utterance of Turn.
	OpenCapture struct {
		Turn ID
		At   time.Duration // the first edge
	}
	// EndCapture takes Tail more than there was at the release (the post-roll), then closes the gate; CaptureEnded follows.
	EndCapture struct {
		Turn ID
		At   time.Duration // of the release
		Tail time.Duration
	}
	// DropCapture closes the gate at once; nothing follows.
	DropCapture struct{ Turn ID }
	// FlushSpeaker silences everything of the current generation. After a press it is harmless: already done.
	FlushSpeaker struct{ Turn ID }
	// OpenSpeech opens the speech of Turn: audio deltas of the turn are heard from now on, with Held from ReleaseSpeech on.
	OpenSpeech struct {
		Turn ID
		Held bool
	}
	// ReleaseSpeech lets held speech be heard.
	ReleaseSpeech struct{ Turn ID }
	// CutSpeech throws away the speech of Turn, and nothing else that sounds.
	CutSpeech struct{ Turn ID }
	// CloseSpeech says that no more speech comes; SpeechDrained follows when the last sample was played.
	CloseSpeech struct{ Turn ID }
	// PlayCue plays an earcon; CueThinking and CueRinging repeat until StopCue.
	PlayCue struct {
		Turn ID
		Cue  Cue
	}
	// StopCue fades a repeating earcon.
	StopCue struct{ Cue Cue }
	// SayWords plays local words, and others behind them; WordsSaid follows.
	SayWords struct {
		Turn  ID
		Words Words
		Then  Words // empty: none
		Owed  bool  // the line of the turn does not say them: it may have ended long before
	}
	// CallTool runs a tool; ToolReturned follows, within the tool deadline. Cause says whose words called it; where those are a result, Quoted
	// is the skill that returned it.
	CallTool struct {
		Turn     ID
		Who      Who
		Response ResponseID
		Call     CallID
		Name     string
		Args     string
		Cause    Cause
		Quoted   string
	}
	// PlaySound queues a tool's sound in the speech of Turn; SoundQueued follows.
	PlaySound struct {
		Turn   ID
		Handle Handle
	}
	// StartStream invokes a latched factory; StreamEnded follows exactly once.
	StartStream struct {
		Turn   ID
		Handle Handle
	}
	// StopStream cancels a running stream and does not wait for it. What it has displaced comes back only when a person asks for it.
	StopStream struct{ Handle Handle }
	// DiscardHandle forgets something that never started. A discarded claim's end callback still fires once.
	DiscardHandle struct {
		Turn   ID
		Handle Handle
		Kind   EffectKind
		Why    string // "superseded", "interrupted", "cancelled"
	}
	// StartClaim gives microphone and speaker to a claim; ClaimEnded follows exactly once.
	StartClaim struct {
		Turn   ID
		Handle Handle
	}
	// StopClaim ends a running claim, as interrupted or as preempted.
	StopClaim struct {
		Handle    Handle
		Preempted bool
	}
	// StopAlert ends the alert that has begun to ring: a person at this device has heard it. One that is stopped from elsewhere rings again.
	StopAlert struct{ Elsewhere, Pressed bool }
	// SetVolume sets and remembers the volume, 0..100.
	SetVolume struct {
		Turn   ID
		Volume int
	}
	// EndTurn: the turn is over; Summary is its one line.
	EndTurn struct {
		Turn    ID
		Summary Summary
	}
	// DropStale reports a fact that belonged to another turn or response; the runner counts and logs it.
	DropStale struct {
		Turn  ID     // the fact's turn
		Event string // the fact's name, e.g. "DeltaArrived"
		Why   string
	}
)

// Summary is what the one line per turn says; durations are zero when the thing did not happen.
type Summary struct {
	Reason        Reason
	Who           Who
	Source        Source
	Cause         Cause         // at its end
	Words         Words         // what was said when it failed
	Then          Words         // and behind that, of the question
	Listen        time.Duration // press to release
	ToFirstAudio  time.Duration // from the end of the question to the first sample that was heard; 0: none was
	Heard         int           // samples, 24 kHz
	Speech        int           // samples there were to hear
	Tools         int
	Responses     int
	Began, Ended  time.Duration
	InterruptedIn State // state at the cut, when Reason is InterruptedByPress
	Whole         bool  // and all that the model had said was heard: it was interrupted in silence
}

func (ClearInput) effect()     {}
func (KeepInput) effect()      {}
func (CommitInput) effect()    {}
func (AddText) effect()        {}
func (CreateResponse) effect() {}
func (CancelResponse) effect() {}
func (TruncateItem) effect()   {}
func (DeleteItem) effect()     {}
func (SendToolOutput) effect() {}
func (OpenCapture) effect()    {}
func (EndCapture) effect()     {}
func (DropCapture) effect()    {}
func (FlushSpeaker) effect()   {}
func (OpenSpeech) effect()     {}
func (ReleaseSpeech) effect()  {}
func (CutSpeech) effect()      {}
func (CloseSpeech) effect()    {}
func (PlayCue) effect()        {}
func (StopCue) effect()        {}
func (SayWords) effect()       {}
func (CallTool) effect()       {}
func (PlaySound) effect()      {}
func (StartStream) effect()    {}
func (StopStream) effect()     {}
func (DiscardHandle) effect()  {}
func (StartClaim) effect()     {}
func (StopClaim) effect()      {}
func (StopAlert) effect()      {}
func (SetVolume) effect()      {}
func (EndTurn) effect()        {}
func (DropStale) effect()      {}

func (o ClearInput) order() (ID, Who)     { return o.Turn, o.Who }
func (o KeepInput) order() (ID, Who)      { return o.Turn, o.Who }
func (o CommitInput) order() (ID, Who)    { return o.Turn, o.Who }
func (o AddText) order() (ID, Who)        { return o.Turn, o.Who }
func (o CreateResponse) order() (ID, Who) { return o.Turn, o.Who }
func (o CancelResponse) order() (ID, Who) { return o.Turn, o.Who }
func (o TruncateItem) order() (ID, Who)   { return o.Turn, o.Who }
func (o DeleteItem) order() (ID, Who)     { return o.Turn, o.Who }
func (o SendToolOutput) order() (ID, Who) { return o.Turn, o.Who }

// TurnOf is the turn that an order belongs to; empty for what belongs to none.
func TurnOf(o Order) ID {
	id, _ := o.order()
	return id
}

// WhoOf is the companion that an order is for.
func WhoOf(o Order) Who {
	_, who := o.order()
	return who
}
