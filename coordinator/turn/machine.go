package turn

import "time"

// Config is what a household may want to change: deadlines and limits, as data. It is taken as it is, since zero is a
// choice too (no tail, no patience with a lost session): begin with DefaultConfig. TURNS.md section 1 has the deadlines,
// section 6 the cue and the tail.
type Config struct {
	Listening    time.Duration // longest utterance; then it commits by itself (60 s)
	Capture      time.Duration // from the end of the tail to CaptureEnded (2 s); the microphone is broken beyond it
	Committing   time.Duration // commit to the first delta or tool call (10 s)
	InResponse   time.Duration // an answer without an event, or speech that never drains (15 s)
	Awaiting     time.Duration // a slow tool, or the next response (15 s)
	Thinking     time.Duration // silence before the thinking cue (400 ms)
	ThinkingMax  time.Duration // longest thinking cue (20 s)
	SessionGrace time.Duration // an utterance waits this long for a lost session (5 s)
	Bounce       time.Duration // a press this soon after a call began is a bounce, and after an alert did no answer to it (300 ms)
	Words        time.Duration // local words are over after this, WordsSaid or not (20 s)
	Keep         time.Duration // a question for which the session did not come in time is kept for so long (10 min)
	Hold         time.Duration // an answer is held this long for FloorOpened, then its turn lost the vote (30 s)
	Tail         time.Duration // recorded after the release (120 ms)
	MinHeld      int           // samples at 24 kHz; the server refuses less (2400 = 100 ms)
	Room         bool          // the answer waits for FloorGranted or VoteLost
}

// DefaultConfig has every default of TURNS.md.
func DefaultConfig() Config {
	return Config{
		Listening:    60 * time.Second,
		Capture:      2 * time.Second,
		Committing:   10 * time.Second,
		InResponse:   15 * time.Second,
		Awaiting:     15 * time.Second,
		Thinking:     400 * time.Millisecond,
		ThinkingMax:  20 * time.Second,
		SessionGrace: 5 * time.Second,
		Bounce:       300 * time.Millisecond,
		Words:        20 * time.Second,
		Keep:         10 * time.Minute, // our choice: who asked is still near, and still wants to know
		Hold:         30 * time.Second, // our choice; an answer rarely lasts longer, and the next is asked for near its end
		Tail:         120 * time.Millisecond,
		MinHeld:      2400, // Realtime, input_audio_buffer.commit: at least 100 ms
	}
}

// Bounds of the machine. At a bound: a ninth call of one response is answered with an apology and not run; a
// seventeenth stretch of speech lets go of the oldest one (the likeliest to have been heard, so it stays whole); after
// eight responses a turn asks for no ninth and says that a tool failed; an answer that breaks off a third time is not asked to go on, since
// a server that always breaks may always begin anew; of nine unanswered calls of turns that are over,
// the oldest is answered in its place; a second floor granted while a turn is live takes the place of the first, whose turn
// lost the vote; a floor granted to the 33rd last turn would begin it anew.
const (
	maxCalls     = 8
	maxStretches = 16
	maxResponses = 8
	maxResumes   = 2
	maxOrphans   = 8
	maxOver      = 32
)

// apologies the machine gives a model in the name of a tool that it could not wait for.
const (
	outputTooMany = `{"error":"too many tools at once; this one was not run"}`
	outputUnheard = `{"error":"this answer was never heard, so the tool was not run"}`
	outputGone    = `{"error":"the person interrupted before this tool ended"}`
)

// sampleRate turns samples into time (audio inside is 24 kHz).
const sampleRate = 24000

// noMicrophoneAfter: a button held this long without a first frame is a dead microphone, not a short press. Our choice:
// the slowest capture device measured needs a quarter of it.
const noMicrophoneAfter = 500 * time.Millisecond

// Machine is one device's turn, whole, as a comparable value: no pointers, maps or slices, so that == is equality and a
// copy is a snapshot. Make one with New, move it with Step.
type Machine struct {
	cfg   Config
	state State
	phase phase

	// The session of the voice.
	online bool
	fatal  Words // set: trying again will not help; what to tell a person
	away   Words // why there is no session, when it is not the network

	// The live turn; meaningless in IDLE.
	turn       ID
	who        Who
	source     Source
	cause      Cause
	quoted     string // the skill whose words of others a tool has returned
	button     Button // whose press began it
	cut        bool   // … and cut something that sounded
	began      time.Duration
	listen     time.Duration
	released   time.Duration
	firstHeard time.Duration // the first sample of it
	capturing  bool          // the microphone has delivered
	noEar      Words         // why nothing of it can be heard; the button is down yet, and it may be a hush
	granted    bool          // the floor came before the end of the capture
	lost       bool          // the vote was lost before the end of the capture
	prompt     string        // of the granted floor
	toHold     bool          // and the answer is to be held
	held       bool          // nothing of this turn may be heard yet
	speechOpen bool
	recorded   bool          // there is an utterance, and the voice has it
	instead    bool          // it began by letting go of a question that was kept
	late       time.Duration // it is the question that was kept, until then
	then       Words         // was said behind the words of its failure
	failing    Words         // said once what was received has been heard
	broken     bool          // the link broke in the middle of the answer, which has been asked to go on
	resumed    int           // samples received when it was last asked to, and one: it is again only if some came since
	resumes    uint8         // how often it was
	midway     ItemID        // was in the making when the answer was silenced

	// The responses of the turn.
	requested bool       // CreateResponse ordered, nothing of it seen
	response  ResponseID // live
	round     uint8      // responses begun
	done      [maxResponses]ResponseID
	doneCount uint8

	// Its speech, in the order in which it is played.
	stretches [maxStretches]stretch
	stretched uint8
	passed    int // samples of stretches let go of
	total     int // samples received
	heard     int // samples played, cumulative
	spoke     bool
	sealed    bool          // a call came after the last item of speech, so that nothing more of it comes
	playUntil time.Duration // earliest time at which what was received can have been played

	// Its tools.
	calls    [maxCalls]call
	called   uint8
	narrate  bool // a tool of this round wants words
	silencer bool // a tool of this round cancelled media: wants words only if there were none
	tools    int
	stream   Handle // latched to the barrier
	claim    Handle
	sound    Handle // latched to the follow-up
	mediaBy  int    // order of the call that had the last say about what plays, 0: none; then of claims, of sounds, of the volume
	claimBy  int
	soundBy  int
	volumeBy int

	// What outlives a turn.
	running      Handle // stream
	runningTurn  ID
	calling      Handle // claim
	callingTurn  ID
	callingSince time.Duration
	alert        alert
	ring         Handle // a claim: somebody calls
	ringTurn     ID
	rings        bool // and that sounds
	kept         kept
	empties      uint8 // utterances without speech in a row, but for those that cut something
	owed         owed
	orphans      [maxOrphans]orphan
	orphaned     uint8
	over         [maxOver]ID // the last turns that ended, newest first
	next         grant       // begins when the live turn has ended

	// Time. Zero means none.
	deadline   time.Duration
	heldUntil  time.Duration
	again      time.Duration // the session came back while the turn waited: nothing moves its deadline beyond this
	thinkAt    time.Duration
	thinkUntil time.Duration
	thinking   bool
	wordsUntil time.Duration
}

// phase is what exactly a state waits for.
type phase uint8

const (
	resting   phase = iota
	recording       // LISTENING
	closing         // COMMITTING: CaptureEnded
	voting          // COMMITTING: FloorGranted or VoteLost
	asking          // COMMITTING: the first delta or tool call
	speaking        // IN_RESPONSE: a response is live
	writing         // IN_RESPONSE: a press elsewhere has silenced it, and its words are made to their end
	draining        // IN_RESPONSE: the response is done, its last sample is not
	working         // AWAITING_NEXT_RESPONSE: the response is done, a tool is not
	following       // AWAITING_NEXT_RESPONSE: the first event of the next response
)

// stretch is a run of samples of one item, or of a tool's sound (no item).
type stretch struct {
	item    ItemID
	round   uint8
	samples int
}

type call struct {
	id    CallID
	order int // of the calls of its turn, from 1
	back  bool

	// Of a held turn: the tool waits for the floor, because what a tool does can be heard and seen.
	waits      bool
	response   ResponseID
	name, args string
}

// owed is a failure that waits for the end of the turn or call to be said, and whose it is.
type owed struct {
	words Words
	turn  ID
}

// grant is a turn that needs no microphone; next is one whose floor was granted too early.
type grant struct {
	turn   ID
	who    Who
	cause  Cause
	hold   bool
	prompt string
	until  time.Duration
}

type orphan struct {
	turn ID
	who  Who
	call CallID
}

// New makes a machine at rest, without a session: SessionReady says when there is one.
func New(c Config) Machine { return Machine{cfg: c} }

// State is one of the seven; a machine between two Steps is never in APPLYING_FACTORIES or INTERRUPTED, which it only
// moves through.
func (m Machine) State() State { return m.state }

// Turn is the live turn, empty in IDLE.
func (m Machine) Turn() ID {
	if m.state == Idle {
		return ""
	}
	return m.turn
}

// Who is the companion of the live turn.
func (m Machine) Who() Who { return m.who }

// Quiet tells that a floor grant or an injected turn may begin: no turn, no local words, no call, none that rings. Content may play.
func (m Machine) Quiet() bool { return m.Silent() && m.calling == 0 && m.ring == 0 }

// Silent tells that no turn is live and no local words play; a call or content may be on.
func (m Machine) Silent() bool { return m.state == Idle && m.wordsUntil == 0 }

// InCall tells that a claim has microphone and speaker. An injected turn handed over now ends it (PREEMPT, TURNS.md 5).
func (m Machine) InCall() bool { return m.calling != 0 }

// Ringing tells that somebody calls, whether it sounds or waits for the end of a turn.
func (m Machine) Ringing() bool { return m.ring != 0 }

// ByPerson tells that a press or a typed question began the live turn.
func (m Machine) ByPerson() bool { return m.state != Idle && m.source == SourceButton }

// Held tells that an answer is being made ready and must not be heard.
func (m Machine) Held() bool { return m.held }

// Unheard tells that an answer was silenced, and its words are made to their end.
func (m Machine) Unheard() bool { return m.phase == writing }

// Complete tells that all of the answer is known, in words and in samples, and what is left is to hear it.
func (m Machine) Complete() bool { return m.phase == draining && m.failing == "" }

// Speech is how many samples of speech the live turn has so far.
func (m Machine) Speech() int { return m.total }

// Streaming tells that content plays.
func (m Machine) Streaming() bool { return m.running != 0 }

// Kept tells that a question waits for a session, and whether a person has heard that it is asked now.
func (m Machine) Kept() (waits, said bool) { return m.kept.turn != "", m.kept.said }

// Online tells that the voice can answer.
func (m Machine) Online() bool { return m.online }

// Wake is the time of the next deadline of any kind. The runner keeps one timer, set to it, and posts DeadlinePassed.
func (m Machine) Wake() (at time.Duration, ok bool) {
	for _, t := range [...]time.Duration{m.deadline, m.heldUntil, m.next.until, m.kept.until, m.thinkAt, m.thinkUntil, m.wordsUntil} {
		if t > 0 && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}
