package turn

import "time"

// Step returns the machine after ev and what the runner must now do, in order. It reads no clock, draws no number and
// keeps nothing: the same machine and the same fact give the same answer.
func Step(m Machine, ev Event) (Machine, []Effect) {
	m, out, _ := Trace(m, ev)
	return m, out
}

// Trace is Step, and tells the way: the states that the machine moved through, those where it never rests among them.
func Trace(m Machine, ev Event) (Machine, []Effect, []Transition) {
	s := step{draft{m: m}}
	s.take(ev)
	return s.m, s.out, s.way
}

// Transition is a change of the state. Turn is the one that it belongs to: the live one, or the one that has just ended.
type Transition struct {
	Turn     ID
	From, To State
}

// draft is a Step under way: the machine so far, what it orders and the way that it went. What a draft does leads to nothing further;
// which of it is to be done, facts and deadlines decide, and those are of step.
type draft struct {
	m   Machine
	out []Effect
	way []Transition
}

// step takes one fact.
type step struct{ draft }

func (s *draft) do(e Effect) { s.out = append(s.out, e) }

// become is the only place where the state changes.
func (s *draft) become(st State, p phase) {
	if st != s.m.state {
		t := s.m.turn
		if t == "" {
			t = s.m.over[0]
		}
		s.way = append(s.way, Transition{t, s.m.state, st})
	}
	s.m.state, s.m.phase = st, p
}

// stale reports a fact that came too late, twice, or for somebody else.
func (s *draft) stale(t ID, event, why string) { s.do(DropStale{Turn: t, Event: event, Why: why}) }

// mine tells whether a fact of t is one of the live turn, and reports it as stale if not.
func (s *draft) mine(t ID, event string) bool {
	if s.m.state == Idle {
		s.stale(t, event, "no turn is live")
		return false
	}
	if t != s.m.turn {
		s.stale(t, event, "another turn is live")
		return false
	}
	return true
}

// take takes a fact, and what rings rings or falls silent by what has become of that.
func (s *step) take(ev Event) {
	s.fact(ev)
	s.ringOrNot()
}

// fact is the whole machine, one fact a line.
func (s *step) fact(ev Event) {
	switch e := ev.(type) {
	case Pressed:
		s.pressed(e)
	case Released:
		s.releasedAt(e)
	case Asked:
		s.asked(e)
	case Hushed:
		s.hushed(e)
	case Quieted:
		s.quieted(e)
	case LetGo:
		s.m.recorded = false // nor is that of the live turn to be kept
		s.forgetKept()
	case FloorGranted:
		s.floorGranted(e)
	case FloorOpened:
		s.floorOpened(e)
	case VoteLost:
		s.voteLost(e)
	case TurnInjected:
		s.injected(e)
	case Preempted:
		if s.m.calling != 0 {
			s.forgetGrant(e.At)
			s.preempt()
			s.sayOwed(e.At)
		}
	case CaptureStarted:
		s.captureStarted(e)
	case CaptureEnded:
		s.captureEnded(e)
	case CaptureLost:
		s.captureLost(e)
	case InputCommitted:
		s.mine(e.Turn, "InputCommitted")
	case InputRefused:
		s.inputRefused(e)
	case Transcribed:
		// May come after everything (Realtime, input_audio_transcription.completed); the runner records it.
	case ResponseStarted:
		s.responseStarted(e)
	case DeltaArrived:
		s.delta(e)
	case Spoken:
		if s.current(e.At, e.Turn, e.Response, "Spoken") && s.m.phase == speaking {
			s.keepAlive(e.At)
		}
	case ToolCalled:
		s.toolCalled(e)
	case ToolReturned:
		s.toolReturned(e)
	case ResponseDone:
		s.responseDone(e)
	case ResponseRefused:
		s.responseRefused(e)
	case SpeechHeard:
		if s.m.state != Idle && e.Turn == s.m.turn {
			s.heard(e)
		}
	case SoundQueued:
		s.soundQueued(e)
	case SpeechDrained:
		s.drained(e)
	case WordsSaid:
		s.m.wordsUntil = 0
		s.proceed(e.At)
	case StreamEnded:
		s.streamEnded(e)
	case StreamBack:
		if s.m.running == 0 {
			s.m.running, s.m.runningTurn = e.Handle, e.Turn
		}
	case ClaimEnded:
		s.claimEnded(e)
	case AlertChanged:
		s.alertChanged(e)
	case CallRings:
		s.callRings(e)
	case CallGone:
		s.callGone(e)
	case SessionReady:
		s.sessionReady(e)
	case SessionLost:
		s.sessionLost(e)
	case DeadlinePassed:
		s.deadlinePassed(e)
	}
}

// begin starts a turn on a machine at rest. Only what outlives a turn is carried over.
func (s *draft) begin(t ID, src Source, c Cause, at time.Duration) {
	o := s.m
	s.m = Machine{
		cfg: o.cfg, state: o.state,
		online: o.online, fatal: o.fatal, away: o.away,
		turn: t, source: src, cause: c, began: at,
		running: o.running, runningTurn: o.runningTurn,
		calling: o.calling, callingTurn: o.callingTurn, callingSince: o.callingSince, alert: o.alert,
		ring: o.ring, ringTurn: o.ringTurn, rings: o.rings,
		owed: o.owed, wordsUntil: o.wordsUntil, kept: o.kept, empties: o.empties,
		orphans: o.orphans, orphaned: o.orphaned,
		over: o.over, next: o.next,
	}
	s.m.kept.said = false
}

// fresh tells whether t may begin, and reports it as stale if it has begun before: each turn begins and ends once.
func (s *draft) fresh(t ID, event string) bool {
	if s.m.state != Idle && t == s.m.turn {
		s.stale(t, event, "this turn has begun already")
		return false
	}
	if t != "" && t == s.m.next.turn {
		s.stale(t, event, "this turn is about to begin")
		return false
	}
	for _, o := range s.m.over {
		if o != "" && o == t {
			s.stale(t, event, "this turn is over")
			return false
		}
	}
	return true
}

// pressed: whatever goes on is cut in six steps, then the microphone opens (TURNS.md 2).
func (s *step) pressed(e Pressed) {
	m := &s.m
	if !s.fresh(e.Turn, "Pressed") {
		return
	}
	if m.state == Idle && m.calling != 0 {
		s.hangUp(e)
		return
	}
	if m.rings {
		s.answerCall(e.At)
		return
	}
	if (m.state == Idle || m.held || m.phase == writing) && m.alert.rings && e.At-m.alert.since >= m.cfg.Bounce {
		s.answerAlert(e)
		return
	}
	cut := e.Cut || m.state != Idle && m.state != Listening // an answer in the making, too
	s.cut(e.At, e.Turn, false)
	instead := s.forgetKept()
	s.begin(e.Turn, SourceButton, CauseUtterance, e.At)
	m.button, m.cut, m.instead = e.Button, cut, instead
	s.become(Listening, recording)
	s.do(OpenCapture{Turn: e.Turn, At: e.At})
	s.do(ClearInput{Turn: e.Turn})
	if !m.online && m.fatal == "" && unreachable(m.away) {
		s.do(PlayCue{Turn: e.Turn, Cue: CueOffline}) // it is heard all the same, and sent if there is a session in time (TURNS.md 6)
	}
	m.deadline = e.At + m.cfg.Listening
}

// unreachable tells whether a session is missing because nobody is there, and not because a server has refused us.
func unreachable(w Words) bool {
	return w == "" || mendsItself(w) || w == WordsServerError || w == WordsElsewhere
}

// hangUp: while a call holds the device a press ends it and opens no turn; right after its start it is a bounce
// (TURNS.md 4). Parked content is left alone, so that it can go on.
func (s *step) hangUp(e Pressed) {
	m := &s.m
	if e.At-m.callingSince < m.cfg.Bounce {
		s.stale(e.Turn, "Pressed", "bounce: the call has just begun")
		s.forgetGrant(e.At) // its finger has told the room all the same, and nothing older is to be heard
		return
	}
	s.do(FlushSpeaker{Turn: m.callingTurn})
	s.stopClaim()
	s.forgetGrant(e.At)
	s.sayOwed(e.At)
}

// releasedAt: a release commits once, with enough audio; a stray one, a second one, one from before this press, or one of a
// button that did not begin this turn does nothing.
func (s *step) releasedAt(e Released) {
	m := &s.m
	if m.state != Listening || e.At < m.began {
		return
	}
	if e.Button != m.button {
		s.stale(m.turn, "Released", "another button began this turn")
		return
	}
	m.listen, m.released = e.At-m.began, e.At
	switch {
	case e.Gone:
		s.fail(e.At, WordsNotHeard, Failed)
	case m.noEar != "":
		s.deaf(e.At, m.noEar)
	case !m.capturing && m.listen >= noMicrophoneAfter:
		s.deaf(e.At, WordsNoMicrophone)
	case e.Held < m.cfg.MinHeld:
		s.unspoken(e.At, CueTooShort, TooShort)
	case m.fatal != "":
		// Told now and not at the press: a press must always be able to bring silence, and the session may have
		// been healed while the person spoke.
		s.fail(e.At, m.fatal, Failed)
	default:
		s.closeCapture(e.At, m.cfg.Tail)
	}
}

func (s *draft) closeCapture(at, tail time.Duration) {
	m := &s.m
	m.released = at
	s.do(EndCapture{Turn: m.turn, At: at, Tail: tail})
	s.become(Committing, closing)
	m.deadline = at + tail + m.cfg.Capture
}

// asked: a typed question interrupts like a press and skips the microphone. It also ends a call, because otherwise the
// question would be lost without a word.
func (s *step) asked(e Asked) {
	if !s.fresh(e.Turn, "Asked") {
		return
	}
	s.cut(e.At, e.Turn, false)
	instead := s.forgetKept()
	s.begin(e.Turn, SourceButton, e.Cause, e.At)
	s.m.instead = instead
	s.become(Committing, asking)
	s.m.released = e.At
	if s.m.fatal != "" {
		s.fail(e.At, s.m.fatal, Failed)
		return
	}
	s.do(AddText{Turn: e.Turn, Role: "user", Text: e.Text})
	s.answerOrVote(e.At)
}

// hushed: silence, and no new turn. When two people press at once, each hushes the other's device and neither loses
// the utterance: whose message counts is for the room to say.
func (s *step) hushed(e Hushed) {
	s.silenced(e)
	if e.Room && !e.Own && s.m.alert.rings {
		s.stopAlert(StopAlert{Elsewhere: true})
	}
}

func (s *step) silenced(e Hushed) {
	if e.Room && s.m.state == Listening {
		s.do(FlushSpeaker{Turn: s.m.turn})
		return
	}
	if e.Room && s.m.state == Idle && s.m.calling != 0 { // whoever pressed elsewhere may be the other end, who has just answered
		s.do(FlushSpeaker{Turn: s.m.callingTurn})
		return
	}
	s.cut(e.At, s.m.turn, !e.Room)
	s.m.rings = false // the speaker was dropped
	if !e.Room {
		s.forgetKept()
		s.refuseCall("refused")
	}
	s.become(Idle, resting)
}

// quieted is hushed, but that a turn goes on of which nothing can be heard yet, and an answer in the making until its words are made.
func (s *step) quieted(e Quieted) {
	switch m := &s.m; {
	case m.held, m.state == Committing, m.total == 0 && (m.phase == speaking || m.state == AwaitingNextResponse):
		s.stopThinking()
	case m.phase == writing:
		s.do(FlushSpeaker{Turn: m.turn})
	case m.phase == speaking:
		s.silence(e.At)
	default:
		s.hushed(Hushed{At: e.At, Room: true})
	}
}

// floorGranted lets the answer of the live turn begin, or begins a turn of its own on a quiet device.
func (s *step) floorGranted(e FloorGranted) {
	m := &s.m
	switch {
	case m.state != Idle && e.Turn == m.turn:
		switch m.phase {
		case recording, closing:
			// While it is still recorded, too: who is alone in the room knows before the release that nobody else answers.
			m.granted, m.lost, m.prompt, m.toHold = true, false, e.Prompt, e.Hold
		case voting:
			m.prompt, m.toHold = e.Prompt, e.Hold
			s.answer(e.At)
		default:
			if m.held && !e.Hold {
				s.floorOpened(FloorOpened{At: e.At, Turn: e.Turn})
				return
			}
			s.stale(e.Turn, "FloorGranted", "the answer has been asked for")
		}
	case !m.Quiet():
		s.grantLater(e)
	case s.fresh(e.Turn, "FloorGranted"):
		s.open(e.At, grantOf(e), SourceRoom)
	}
}

// voteLost: another device answers. What was said stays in the conversation: this companion heard it.
func (s *step) voteLost(e VoteLost) {
	if e.Turn != "" && e.Turn == s.m.next.turn {
		s.forgetGrant(e.At)
		return
	}
	if !s.mine(e.Turn, "VoteLost") {
		return
	}
	switch {
	case s.m.held:
		s.unheard(e.At, LostVote, "")
	case s.m.phase == closing:
		s.m.lost, s.m.granted = true, false
	case s.m.phase == voting || s.m.phase == asking:
		s.stopThinking()
		s.tellModel()
		s.closeSpeech()
		s.end(e.At, LostVote, "")
	default:
		s.stale(e.Turn, "VoteLost", "the answer has begun")
	}
}

// captureStarted: the ready cue tells that the microphone really listens, not that somebody wishes it did.
func (s *step) captureStarted(e CaptureStarted) {
	if !s.mine(e.Turn, "CaptureStarted") {
		return
	}
	if s.m.phase == recording && !s.m.capturing {
		s.do(PlayCue{Turn: e.Turn, Cue: CueReady})
	}
	s.m.capturing = true
}

// captureEnded: the utterance is whole; it is committed by its sample count, never by the clock.
func (s *step) captureEnded(e CaptureEnded) {
	if !s.mine(e.Turn, "CaptureEnded") {
		return
	}
	if s.m.phase != closing {
		s.stale(e.Turn, "CaptureEnded", "nothing was being recorded")
		return
	}
	if e.Samples < s.m.cfg.MinHeld {
		s.fail(e.At, WordsNoMicrophone, Failed)
		return
	}
	if e.Empty {
		s.empty(e.At)
		return
	}
	s.m.empties = 0
	s.do(CommitInput{Turn: e.Turn, Who: s.m.who})
	s.m.recorded = true
	if s.m.lost {
		s.end(e.At, LostVote, "")
		return
	}
	s.answerOrVote(e.At)
}

// mostEmpty utterances without speech in a row are no chance: a person hears that of the microphone. Our choice.
const mostEmpty = 3

// empty takes an utterance that holds no speech.
func (s *step) empty(at time.Duration) {
	m := &s.m
	if !m.cut {
		m.empties++
	}
	if m.empties == mostEmpty {
		m.empties = 0
		s.fail(at, WordsNoMicrophone, Failed)
		return
	}
	s.unspoken(at, CueEmpty, Empty)
}

// unspoken ends a turn in which nothing was said.
func (s *step) unspoken(at time.Duration, cue Cue, how Reason) {
	m := &s.m
	s.discardInput()
	if m.cut {
		how = Silenced
	} else {
		s.do(PlayCue{Turn: m.turn, Cue: cue})
	}
	if m.instead {
		s.speak(at, SayWords{Turn: m.turn, Words: WordsLetGo})
	}
	s.end(at, how, "")
}

func (s *step) captureLost(e CaptureLost) {
	if !s.mine(e.Turn, "CaptureLost") {
		return
	}
	if s.m.phase != recording && s.m.phase != closing {
		s.stale(e.Turn, "CaptureLost", "nothing was being recorded")
		return
	}
	say := e.Say
	if say == "" {
		say = WordsNoMicrophone
	}
	if s.m.capturing && say == WordsMuted { // in the midst of what a person says
		s.fail(e.At, say, Failed)
		return
	}
	if s.m.phase == recording && s.m.cut && !e.Latched && e.At-s.m.began < mostHush {
		s.m.noEar, s.m.deadline = say, s.m.began+mostHush // how long the button is held decides
		return
	}
	s.deaf(e.At, say)
}

// mostHush is how long a press may be that only silences, where nothing can be heard of what a person says. Our choice.
const mostHush = 1200 * time.Millisecond

// deaf ends a turn whose recording is lost: a short press that cut something was a hush.
func (s *step) deaf(at time.Duration, say Words) {
	if s.m.cut && at-s.m.began < mostHush {
		s.unspoken(at, CueEmpty, Silenced)
		return
	}
	s.fail(at, say, Failed)
}

func (s *step) inputRefused(e InputRefused) {
	if !s.mine(e.Turn, "InputRefused") {
		return
	}
	if s.m.phase != voting && s.m.phase != asking {
		s.stale(e.Turn, "InputRefused", "nothing was being committed")
		return
	}
	s.fail(e.At, WordsNotHeard, Failed)
}
