package turn

import "time"

// What happens between the question and the last sample of the answer: responses, speech, the barrier.

// answerOrVote goes on with an utterance that the model has.
func (s *step) answerOrVote(at time.Duration) {
	if s.m.cfg.Room && !s.m.granted {
		s.become(Committing, voting)
		s.waitForServer(at)
		return
	}
	s.answer(at)
}

// answer asks for the first response of the turn.
func (s *step) answer(at time.Duration) {
	m := &s.m
	if m.held = m.toHold; m.held {
		s.stopThinking()
		m.heldUntil = at + m.cfg.Hold
	}
	s.do(OpenSpeech{Turn: m.turn, Held: m.held})
	m.speechOpen = true
	s.request(s.m.prompt)
	s.become(Committing, asking)
	s.waitForServer(at)
}

// waitForServer sets the deadline of COMMITTING: shorter while there is no session, since then the person must be told.
func (s *draft) waitForServer(at time.Duration) {
	m := &s.m
	m.deadline, m.again = at+m.cfg.Committing, 0
	if !m.online {
		m.deadline = s.patience(at)
	}
	s.think(m.released)
}

// patience is until when a question waits for a session; without any, until now (and not for ever, which is what zero says).
func (s *draft) patience(at time.Duration) time.Duration { return max(1, at+s.m.cfg.SessionGrace) }

func (s *draft) request(prompt string) {
	s.readOthers()
	s.do(CreateResponse{Turn: s.m.turn, Who: s.m.who, Prompt: prompt, NoTools: s.m.cause.Silent()})
	s.m.requested, s.m.response, s.m.sealed = true, "", false
	s.m.round++
}

// current tells whether a fact belongs to the live response of the live turn. The first fact of a response that was
// asked for makes it the live one, ResponseStarted or not: some servers forget to announce it.
func (s *draft) current(at time.Duration, t ID, r ResponseID, event string) bool {
	if !s.mine(t, event) {
		return false
	}
	m := &s.m
	if m.response != "" && m.response == r {
		return true
	}
	if !m.requested || s.finished(r) {
		s.stale(t, event, "another response is live")
		return false
	}
	m.requested, m.response, m.broken = false, r, false
	m.online = true // it answers, so it is there
	if m.phase == following {
		s.become(InResponse, speaking)
		s.keepAlive(at)
	}
	return true
}

func (s *draft) finished(r ResponseID) bool {
	for _, d := range s.m.done[:s.m.doneCount] {
		if d == r {
			return true
		}
	}
	return false
}

func (s *step) responseStarted(e ResponseStarted) {
	s.current(e.At, e.Turn, e.Response, "ResponseStarted")
}

// enterResponse is the first delta or tool call of a response.
func (s *draft) enterResponse(at time.Duration) {
	s.become(InResponse, speaking)
	s.keepAlive(at)
}

// keepAlive moves the deadline of a live response: 15 s without an event, counted from when its speech can have ended.
func (s *draft) keepAlive(at time.Duration) {
	s.await(at, s.m.cfg.InResponse)
	s.think(at)
}

// await sets the deadline of whatever follows speech: d after it can have ended. What is held stands still and has a
// deadline of its own.
func (s *draft) await(at, d time.Duration) {
	s.m.deadline = max(at, s.m.playUntil) + d
	if s.m.held {
		s.m.deadline = 0
	}
}

func (s *step) delta(e DeltaArrived) {
	if !s.current(e.At, e.Turn, e.Response, "DeltaArrived") {
		return
	}
	m := &s.m
	if m.phase == writing {
		s.queue(e.At, e.Item, e.Samples)
		return
	}
	m.sealed = false
	if e.Samples > 0 {
		s.stopThinking()
		m.spoke = true
		s.queue(e.At, e.Item, e.Samples)
	} else if e.Item != "" {
		s.queue(e.At, e.Item, 0)
	}
	s.enterResponse(e.At)
}

func (s *step) soundQueued(e SoundQueued) {
	if !s.mine(e.Turn, "SoundQueued") {
		return
	}
	if e.Samples <= 0 || s.m.phase == writing {
		return
	}
	s.stopThinking()
	s.queue(e.At, "", e.Samples)
	switch s.m.phase {
	case following:
		s.await(e.At, s.m.cfg.Awaiting)
	case draining:
		s.await(e.At, s.m.cfg.InResponse)
	}
	if s.m.phase != draining {
		s.think(e.At)
	}
}

// queue counts samples that went to the speaker, in order.
func (s *draft) queue(at time.Duration, item ItemID, samples int) {
	m := &s.m
	m.total += samples
	m.playUntil = max(m.playUntil, at) + time.Duration(samples)*time.Second/sampleRate
	if n := m.stretched; n > 0 && m.stretches[n-1].item == item && m.stretches[n-1].round == m.round {
		m.stretches[n-1].samples += samples
		return
	}
	if m.stretched == maxStretches {
		m.passed += m.stretches[0].samples
		copy(m.stretches[:], m.stretches[1:])
		m.stretched--
	}
	m.stretches[m.stretched] = stretch{item: item, round: m.round, samples: samples}
	m.stretched++
}

func (s *step) responseDone(e ResponseDone) {
	if !s.current(e.At, e.Turn, e.Response, "ResponseDone") {
		return
	}
	m := &s.m
	if m.doneCount < maxResponses {
		m.done[m.doneCount] = e.Response
		m.doneCount++
	}
	m.response = ""
	switch {
	case m.phase == writing:
		s.written(e.At)
	case e.Status == ResponseFailed && e.Say == WordsLostMidway:
		s.brokeOff(e.At)
	case e.Status == ResponseFailed && e.Say == WordsNoAnswer && m.resumed > 0:
		s.drain(e.At) // there was nothing more to say
	case e.Status != ResponseCompleted:
		// Also cancelled: by the server, since what we cancel belongs to a turn that is over.
		s.failAfterSpeech(e.At, orWords(e.Say, WordsServerError))
	case s.waitsForTool():
		s.become(AwaitingNextResponse, working)
		s.await(e.At, m.cfg.Awaiting)
		s.think(e.At)
	default:
		s.round(e.At)
	}
}

func (s *step) responseRefused(e ResponseRefused) {
	if !s.mine(e.Turn, "ResponseRefused") {
		return
	}
	if !s.m.requested {
		s.stale(e.Turn, "ResponseRefused", "no response was asked for")
		return
	}
	s.m.requested = false
	s.failAfterSpeech(e.At, orWords(e.Say, WordsServerError))
}

func orWords(w, d Words) Words {
	if w == "" {
		return d
	}
	return w
}

// round ends a round whose response is done and whose tools have all returned: one follow-up for all of them, or the
// terminal barrier.
func (s *step) round(at time.Duration) {
	m := &s.m
	narrate := m.narrate || m.silencer && !m.spoke
	tools := m.called > 0 || m.narrate
	if m.sound != 0 {
		s.do(PlaySound{Turn: m.turn, Handle: m.sound}) // before the narration (TURNS.md 3)
		m.sound = 0
	}
	m.calls, m.called, m.narrate, m.silencer = [maxCalls]call{}, 0, false, false
	switch {
	case narrate && m.doneCount == maxResponses:
		s.failAfterSpeech(at, WordsToolFailed)
	case narrate:
		s.request(s.guidance())
		s.become(AwaitingNextResponse, following)
		s.await(at, m.cfg.Awaiting)
		s.think(at)
	case !tools && m.total == 0 && m.stream == 0 && m.claim == 0:
		s.fail(at, WordsNoAnswer, Failed)
	default:
		s.drain(at)
	}
}

// drain waits until the last sample has been played: the turn is not over before.
func (s *draft) drain(at time.Duration) {
	s.stopThinking()
	s.closeSpeech()
	s.become(InResponse, draining)
	s.await(at, s.m.cfg.InResponse)
}

// guidance is what a follow-up is told: what the room said of the answer holds for the whole of it; what an injected turn
// is to say was said.
func (s *draft) guidance() string {
	if s.m.source == SourceInject && s.m.spoke {
		return ""
	}
	return s.m.prompt
}

// failAfterSpeech: what was received is still heard, because half an answer and a reason are more than a reason. Of a held
// answer nothing is, and somebody else's whole one is better.
func (s *step) failAfterSpeech(at time.Duration, w Words) {
	if s.m.held || s.m.total <= s.m.heard {
		s.fail(at, w, Failed)
		return
	}
	s.m.failing = w
	s.discardLatched("cancelled")
	s.orphanCalls()
	s.drain(at)
}

// brokeOff: the answer's session was lost, and nothing more of it comes. It is asked to go on, once a session is there
// again, while what was received is heard; unless the turn called a tool: the next session knows nothing of what it
// brought, and would call it a second time.
func (s *step) brokeOff(at time.Duration) {
	m := &s.m
	switch {
	case m.fatal != "":
		s.failAfterSpeech(at, m.fatal)
	case m.held || m.phase != speaking || m.tools > 0 || m.resumes == maxResumes || m.doneCount == maxResponses || m.total < m.resumed:
		s.failAfterSpeech(at, WordsLostMidway)
	default:
		s.do(CreateResponse{Turn: m.turn, Who: m.who, Prompt: m.prompt, Resume: true, NoTools: m.cause.Silent()})
		m.requested, m.broken, m.resumed, m.again = true, true, m.total+1, 0
		m.resumes++
		m.round++
		s.become(AwaitingNextResponse, following)
		s.await(at, m.cfg.Awaiting)
		if !m.online {
			s.await(at, m.cfg.SessionGrace)
		}
		s.think(at)
	}
}

// drained is the terminal barrier (TURNS.md 1, 3): only now may content start.
func (s *step) drained(e SpeechDrained) {
	m := &s.m
	if m.state == Idle || e.Turn != m.turn || m.phase != draining {
		return // the speech of a turn that ended otherwise drains too
	}
	if m.held { // it was thrown away below us, or the card is gone: nobody heard anything
		s.unheard(e.At, Failed, WordsNoAnswer)
		return
	}
	s.played(e.At, m.total-e.Unheard)
	m.speechOpen = false
	if m.heard < m.total && m.failing == "" {
		m.failing = WordsNoAnswer // none that a person could have heard; the model is told how much
	}
	if m.failing != "" {
		s.fail(e.At, m.failing, Failed)
		return
	}
	s.become(ApplyingFactories, resting)
	if m.claim != 0 {
		s.unlatch(EffectAudioStream, "superseded") // COMMS before CONTENT (TURNS.md 4)
		s.do(StartClaim{Turn: m.turn, Handle: m.claim})
		m.calling, m.callingTurn, m.callingSince, m.claim = m.claim, m.turn, e.At, 0
	}
	if m.stream != 0 {
		s.do(StartStream{Turn: m.turn, Handle: m.stream})
		m.running, m.runningTurn, m.stream = m.stream, m.turn, 0
	}
	s.end(e.At, Done, "")
}
