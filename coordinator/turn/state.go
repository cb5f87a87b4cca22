package turn

// ID names a turn: "t-" and hex. It is on every log line, every fact and every order that belongs to the turn.
type ID string

// Who names the companion whose turn it is, for whoever wires the voices; the machine only hands it on. Empty is the one that
// has the microphone.
type Who string

// ResponseID is the voice's name for one answer of the model; a turn with tools has several, one after the other.
type ResponseID string

// ItemID is the voice's name for one entry of the conversation; an item is what gets truncated or deleted.
type ItemID string

// CallID is the voice's name for one tool call of a response.
type CallID string

// Handle names something that cannot be a value (a stream's factory, a sound, a claim) and that the runner keeps.
// The machine passes handles around and never looks behind them. Zero means none.
type Handle uint64

// State is one of the seven states of TURNS.md section 1.
type State uint8

// The seven states. The machine rests in Idle; Interrupted is passed through.
const (
	Idle State = iota
	Listening
	Committing
	InResponse
	AwaitingNextResponse
	ApplyingFactories
	Interrupted
)

// States lists all states in the order of the page; tables and tests range over it.
var States = []State{Idle, Listening, Committing, InResponse, AwaitingNextResponse, ApplyingFactories, Interrupted}

func (s State) String() string {
	switch s {
	case Idle:
		return "IDLE"
	case Listening:
		return "LISTENING"
	case Committing:
		return "COMMITTING"
	case InResponse:
		return "IN_RESPONSE"
	case AwaitingNextResponse:
		return "AWAITING_NEXT_RESPONSE"
	case ApplyingFactories:
		return "APPLYING_FACTORIES"
	case Interrupted:
		return "INTERRUPTED"
	}
	return "STATE?"
}

// Source says who began a turn.
type Source uint8

// Sources of a turn.
const (
	SourceButton Source = iota // a person pressed (or typed)
	SourceRoom                 // the room granted this device's companion the floor
	SourceInject               // a skill, a timer, the CLI
)

func (s Source) String() string { return [...]string{"button", "room", "inject"}[s] }

// Reason is why a turn ended, exactly once per turn.
type Reason uint8

// Reasons, as the summary line prints them.
const (
	Done Reason = iota
	InterruptedByPress
	TooShort
	LostVote
	Expired
	Failed
	Empty    // no speech was in the utterance: nothing was sent
	Silenced // the same, and the press had cut something: a hush, and no more
)

func (r Reason) String() string {
	return [...]string{"done", "interrupted", "too_short", "lost_vote", "expired", "failed", "empty", "silenced"}[r]
}

// Cue is an earcon. Same sound, same meaning, everywhere.
type Cue uint8

// The earcons of APPLIANCE.md section 3.
const (
	CueReady Cue = iota + 1
	CueTooShort
	CueThinking // repeats until stopped; the speaker fades it within 50 ms of speech
	CueError
	CueOffline
	CueTimer
	CueCommitted // the machine committed by itself after the listening limit
	CueRinging   // somebody calls; repeats until stopped
	CueEmpty     // no speech was heard
	CueNoted     // what was said was heard, and earns no answer
)

func (c Cue) String() string {
	return [...]string{"none", "ready", "too_short", "thinking", "error", "offline", "timer", "committed", "ringing", "empty", "noted"}[c]
}

// Words names a failure that is said in plain words by a local voice (a shipped clip), because an earcon alone does
// not tell a person what to do.
type Words string

// Unreached says that a connection failed: no answer came, and it may come without a person's help.
func (w Words) Unreached() bool { return w == WordsOffline || w == WordsNotRunning }

// Plain words for what can go wrong. The text of each lives beside the clips.
const (
	WordsNoAnswer      Words = "no_answer"       // deadline passed without an answer
	WordsOffline       Words = "offline"         // no connection to the voice
	WordsNotRunning    Words = "not_running"     // the server's machine is reached, and refuses the connection
	WordsHearOnly      Words = "hear_only"       // what is said is understood here, and who answers cannot be reached
	WordsKept          Words = "kept"            // behind others: the question is kept, and asked once there is a session
	WordsKeptInstead   Words = "kept_instead"    // the same, in place of the one before
	WordsKeptAsked     Words = "kept_asked"      // there is one, and the question is asked now
	WordsKeptLate      Words = "kept_late"       // there was none for as long as a question is kept
	WordsLetGo         Words = "let_go"          // it is not kept any more, because somebody pressed
	WordsLostMidway    Words = "lost_midway"     // the connection broke in the middle of an answer
	WordsKeyRefused    Words = "key_refused"     // the server refuses the key
	WordsQuota         Words = "quota"           // too many requests
	WordsNoCredit      Words = "no_credit"       // the account is empty
	WordsDenied        Words = "denied"          // the key is known, and may not do this
	WordsModelRefused  Words = "model_refused"   // the server does not have the model
	WordsElsewhere     Words = "elsewhere"       // something else answers at the server's address
	WordsNotTrusted    Words = "not_trusted"     // the server's certificate is not one to trust
	WordsCeiling       Words = "ceiling"         // the household's own limit of a day is reached
	WordsServerError   Words = "server_error"    // the server reported an error
	WordsCutShort      Words = "cut_short"       // the answer grew beyond what the model may say at once
	WordsFiltered      Words = "filtered"        // the server's rules forbid the rest of the answer, or all of it
	WordsNotHeard      Words = "not_heard"       // the utterance could not be sent or was refused
	WordsToolFailed    Words = "tool_failed"     // a tool failed and the model cannot say it
	WordsStreamFailed  Words = "stream_failed"   // a stream broke: not the end of the book
	WordsPausedTooLong Words = "paused_too_long" // a stream was behind others for longer than its patience
	WordsHeldTooLong   Words = "held_too_long"   // button held beyond the limit
	WordsNoMicrophone  Words = "no_microphone"   // nothing was captured
	WordsMuted         Words = "muted"           // the microphone is off because a person wants it so
	WordsKeyBroken     Words = "key_broken"      // there is a key, and it cannot be read
	WordsClockWrong    Words = "clock_wrong"     // nobody's certificate is valid yet
	WordsNotAllowed    Words = "not_allowed"     // whoever was called is muted, and nobody else answers
)
