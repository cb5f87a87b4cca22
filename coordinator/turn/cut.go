package turn

import "time"

// How turns end: cut by a person, failed, or done; and what goes on without a turn.

// cut is the interrupt of TURNS.md 2 in its order; each step does nothing when it has nothing to do. Step 1 (the drop
// flag) was made by whoever saw the edge; the flush here is harmless after it and needed after everything else. next
// names the turn on whose behalf it is cut when there is none to cut. With stop content ends as well; else it is for the focus
// to give it back (TURNS.md 4). It leaves the machine in INTERRUPTED, if it was not in IDLE; the caller moves on.
func (s *step) cut(at time.Duration, next ID, stop bool) {
	m := &s.m
	t := next
	if m.state != Idle {
		t = m.turn
	}
	s.do(FlushSpeaker{Turn: t}) // 4, and nothing may stand before it
	s.forgetGrant(at)
	m.thinkAt, m.owed = 0, owed{}
	s.stopThinking()
	media := func() { // 3
		if stop {
			s.stopStream()
			s.stopAlert(StopAlert{})
		}
		s.stopClaim()
	}
	if m.state == Idle {
		media()
		return
	}
	in := m.state
	s.become(Interrupted, m.phase)  // 6; the summary below is its line
	s.discardLatched("interrupted") // 2
	media()
	whole := m.total > 0 && m.heard == m.total && s.openItem() == "" && m.phase != writing
	s.tellModel() // 5
	if m.phase == recording || m.phase == closing {
		s.discardInput()
	}
	s.orphanCalls()
	s.summarise(at, InterruptedByPress, "", in, whole)
}

// fail ends the turn in words. Speech that nobody will hear out is cut; a turn that failed never blocks the next.
func (s *step) fail(at time.Duration, w Words, r Reason) {
	m := &s.m
	if m.held { // the words are in its line; to say them is for whoever has the floor
		s.unheard(at, r, w)
		return
	}
	if m.total > m.heard {
		s.do(FlushSpeaker{Turn: m.turn})
		m.speechOpen = false
		s.become(Interrupted, m.phase)
		s.stopThinking()
		s.discardLatched("interrupted")
	} else {
		s.stopThinking()
		s.discardLatched("cancelled")
	}
	s.tellModel()
	switch {
	case m.phase == recording || m.phase == closing:
		s.discardInput()
	case m.kept.turn == m.turn:
		s.do(KeepInput{Turn: m.turn, Who: m.who})
	case !m.online && (m.phase == voting || m.phase == asking && m.speechOpen):
		s.do(ClearInput{Turn: m.turn, Who: m.who}) // the voice must not send it after all, once nobody waits for it
	}
	s.closeSpeech()
	s.orphanCalls()
	m.then = s.offer()
	s.say(at, SayWords{Turn: m.turn, Words: w, Then: m.then})
	s.end(at, r, w)
}

// tellModel makes the conversation say what the person heard (TURNS.md 2, step 5): a live response is cancelled, what
// was never heard is deleted, the item that was cut is truncated at its own last heard sample. Needed also after
// response.done, because the server runs ahead of the speaker. Without a session there is nobody to tell.
func (s *draft) tellModel() {
	m := &s.m
	live := m.response != "" || m.requested
	if live {
		s.do(CancelResponse{Turn: m.turn, Who: m.who, Response: m.response})
	}
	open := s.openItem()
	m.response, m.requested = "", false
	left := m.heard - m.passed
	var heard, got [maxStretches]int
	for i, st := range m.stretches[:m.stretched] {
		played := min(max(left, 0), st.samples)
		left -= st.samples
		first := i
		for j := range i {
			if m.stretches[j].item == st.item {
				first = j
				break
			}
		}
		heard[first] += played
		got[first] += st.samples
	}
	for i, st := range m.stretches[:m.stretched] {
		if st.item == "" || s.seen(i) {
			continue
		}
		whole := heard[i] == got[i] && st.item != open
		switch {
		case heard[i] == 0:
			s.do(DeleteItem{Turn: m.turn, Who: m.who, Item: st.item})
		case !whole:
			s.do(TruncateItem{Turn: m.turn, Who: m.who, Item: st.item, Heard: heard[i]})
		}
	}
}

// openItem is the item of which more may exist than has arrived: the last one of a live response, unless a call came after it, because a
// response has its items one after the other.
func (s *draft) openItem() ItemID {
	m := &s.m
	if m.midway != "" || m.response == "" || m.sealed {
		return m.midway
	}
	for i := int(m.stretched) - 1; i >= 0; i-- {
		if st := m.stretches[i]; st.item != "" && st.round == m.round {
			return st.item
		}
	}
	return ""
}

// seen tells that an earlier stretch has the item of stretch i.
func (s *draft) seen(i int) bool {
	for _, st := range s.m.stretches[:i] {
		if st.item == s.m.stretches[i].item {
			return true
		}
	}
	return false
}

// silence ends the sound of an answer in the making. Its words are still made, and can be read: or a member that presses without end would
// leave every question without an answer.
func (s *step) silence(at time.Duration) {
	m := &s.m
	s.do(FlushSpeaker{Turn: m.turn})
	m.owed = owed{}
	s.stopThinking()
	s.discardLatched("interrupted")
	m.midway = s.openItem()
	known, n := m.calls, m.called
	s.orphanCalls()
	for i, c := range known[:n] {
		m.calls[i] = call{id: c.id, back: true}
	}
	m.called, m.speechOpen = n, false
	s.become(InResponse, writing)
	m.deadline = at + m.cfg.InResponse // nothing moves it
}

// written ends an answer that was silenced, once its words are made or have taken too long.
func (s *step) written(at time.Duration) {
	s.tellModel()
	s.summarise(at, InterruptedByPress, "", InResponse, false)
	s.become(Idle, resting)
	s.proceed(at)
}

// end is the one way out of a turn: its line, then rest. What failed meanwhile is said now.
func (s *step) end(at time.Duration, r Reason, w Words) {
	late := s.m.owed
	s.summarise(at, r, w, Idle, false)
	s.become(Idle, resting)
	s.m.owed = late
	s.sayOwed(at)
	s.proceed(at)
}

// summarise writes the turn's line and forgets the turn. in is the state at the cut, whole that nothing of the
// answer is missing in what was heard.
func (s *draft) summarise(at time.Duration, r Reason, w Words, in State, whole bool) {
	m := &s.m
	sum := Summary{
		Reason: r, Who: m.who, Source: m.source, Cause: m.cause, Words: w, Then: m.then,
		Listen: m.listen, Heard: m.heard, Speech: m.total, Tools: m.tools, Responses: int(m.doneCount),
		Began: m.began, Ended: max(m.began, at), InterruptedIn: in, Whole: whole,
	}
	if m.firstHeard > 0 {
		sum.ToFirstAudio = max(0, m.firstHeard-m.released)
	}
	s.do(EndTurn{Turn: m.turn, Summary: sum})
	s.remember(m.turn)
	s.begin("", SourceButton, CauseUnknown, 0)
	m.owed = owed{}
}

// remember: each turn ends once.
func (s *draft) remember(t ID) {
	m := &s.m
	copy(m.over[1:], m.over[:maxOver-1])
	m.over[0] = t
}

// say is a cue and plain words: an earcon alone does not tell a person what to do (TURNS.md 6).
func (s *draft) say(at time.Duration, w SayWords) {
	cue := CueError
	if w.Words.Unreached() {
		cue = CueOffline
	}
	s.do(PlayCue{Turn: w.Turn, Cue: cue})
	s.speak(at, w)
}

func (s *draft) speak(at time.Duration, w SayWords) {
	s.do(w)
	s.m.wordsUntil = at + s.m.cfg.Words
}

// discardInput throws the utterance away, here and at the model.
func (s *draft) discardInput() {
	s.do(DropCapture{Turn: s.m.turn})
	s.do(ClearInput{Turn: s.m.turn, Who: s.m.who})
}

// discardLatched: what waited for the barrier or for the follow-up never starts.
func (s *draft) discardLatched(why string) {
	s.unlatch(EffectAudioStream, why)
	s.unlatch(EffectInputClaim, why)
	s.unlatch(EffectPlaySound, why)
}

func (s *draft) unlatch(k EffectKind, why string) {
	h := &s.m.stream
	switch k {
	case EffectInputClaim:
		h = &s.m.claim
	case EffectPlaySound:
		h = &s.m.sound
	}
	if *h != 0 {
		s.do(DiscardHandle{Turn: s.m.turn, Handle: *h, Kind: k, Why: why})
		*h = 0
	}
}

// orphanCalls remembers the tools that still run: their outputs will answer, their effects will not count.
func (s *draft) orphanCalls() {
	m := &s.m
	for _, c := range m.calls[:m.called] {
		switch {
		case c.back:
			continue
		case c.waits:
			s.do(SendToolOutput{Turn: m.turn, Who: m.who, Call: c.id, Output: outputUnheard})
			continue
		}
		if m.orphaned == maxOrphans {
			o := m.orphans[0]
			s.do(SendToolOutput{Turn: o.turn, Who: o.who, Call: o.call, Output: outputGone})
			copy(m.orphans[:], m.orphans[1:])
			m.orphaned--
		}
		m.orphans[m.orphaned] = orphan{m.turn, m.who, c.id}
		m.orphaned++
	}
	m.calls, m.called = [maxCalls]call{}, 0
}

func (s *draft) closeSpeech() {
	if s.m.speechOpen {
		s.do(CloseSpeech{Turn: s.m.turn})
		s.m.speechOpen = false
	}
}

// streamEnded: a stream that broke is said, never passed off as the end of the book (TURNS.md 3).
func (s *step) streamEnded(e StreamEnded) {
	if e.Handle == 0 || e.Handle != s.m.running {
		return // one that was stopped, or known to have ended
	}
	s.m.running = 0
	switch e.How {
	case EndedFailed:
		s.m.owed = owed{WordsStreamFailed, s.m.runningTurn}
	case EndedExpired:
		s.m.owed = owed{WordsPausedTooLong, s.m.runningTurn}
	}
	s.sayOwed(e.At)
}

func (s *step) claimEnded(e ClaimEnded) {
	if e.Handle == 0 || e.Handle != s.m.calling {
		return
	}
	s.m.calling = 0
	if e.How == EndedFailed {
		s.m.owed = owed{WordsToolFailed, s.m.callingTurn}
	}
	s.sayOwed(e.At)
	s.proceed(e.At)
}

// sayOwed says what is owed once neither a turn nor a call is live, so that words talk over nobody. Its turn may have ended long before.
func (s *draft) sayOwed(at time.Duration) {
	if o := s.m.owed; o.words != "" && s.m.state == Idle && s.m.calling == 0 {
		s.m.owed = owed{}
		s.say(at, SayWords{Turn: o.turn, Words: o.words, Owed: true})
	}
}

func (s *step) sessionReady(e SessionReady) {
	m := &s.m
	was := m.online
	m.online, m.fatal, m.away = true, "", ""
	if was {
		return
	}
	// The voice sends what was asked for again by itself. That gives the answer its whole time once more, but only once: a
	// server that dies of every answer would keep a person waiting for ever.
	switch {
	case m.phase == voting || m.phase == asking:
		if m.again == 0 {
			m.again = e.At + m.cfg.Committing
		}
		m.deadline = m.again
	case m.phase == following && m.broken:
		if m.again == 0 {
			m.again = max(e.At, m.playUntil) + m.cfg.Awaiting
		}
		m.deadline = m.again
	}
}

// sessionLost: a recording goes on, a question waits for the session a while, and what was received of an answer is heard
// (TURNS.md 6) before it goes on (brokeOff) or the reason is said.
func (s *step) sessionLost(e SessionLost) {
	m := &s.m
	waits := m.phase == voting || m.phase == asking
	precise := e.Say != "" && e.Say != WordsOffline && e.Say != WordsLostMidway
	if precise || !waits || m.online {
		m.away = "" // else who waits is told why there was none in the first place
	}
	if precise {
		m.away = e.Say
	}
	m.online, m.kept.said = false, false
	if e.Fatal {
		m.fatal = orWords(e.Say, WordsKeyRefused)
	}
	switch {
	case m.state == Idle:
	case m.phase == draining:
		if e.Fatal {
			s.m.owed = owed{m.fatal, m.turn}
		}
	case m.held && m.phase != asking:
		m.response, m.requested = "", false
		s.fail(e.At, orWords(m.fatal, WordsLostMidway), Failed)
	case m.phase == speaking || m.phase == writing: // the rest of what came is on its way from the voice; brokeOff follows
	case m.phase == following && m.broken && !e.Fatal:
		m.deadline = min(m.deadline, max(e.At, m.playUntil)+m.cfg.SessionGrace)
	case m.phase == working || m.phase == following:
		m.response, m.requested = "", false
		s.failAfterSpeech(e.At, orWords(m.fatal, WordsLostMidway))
	case e.Fatal:
		m.response, m.requested = "", false
		s.fail(e.At, m.fatal, Failed)
	case waits:
		if m.response != "" {
			m.response, m.requested = "", true // the voice asks again
		}
		m.deadline = s.patience(e.At)
		if m.again > 0 {
			m.deadline = min(m.deadline, m.again)
		}
	}
}

// deadlinePassed carries out whatever is due; a timer that fires too early finds nothing.
func (s *step) deadlinePassed(e DeadlinePassed) {
	m, at := &s.m, e.At
	if due(m.wordsUntil, at) {
		m.wordsUntil = 0 // the speaker is broken; it must not make the device deaf to the queue
		s.proceed(at)
	}
	if due(m.next.until, at) {
		s.forgetGrant(at)
	}
	if due(m.kept.until, at) {
		s.keptTooLong(at)
	}
	if due(m.heldUntil, at) {
		s.unheard(at, LostVote, "")
		return
	}
	if due(m.deadline, at) {
		s.expire(at, e.Night)
		return
	}
	if due(m.thinkUntil, at) {
		s.stopThinking() // and it stays silent for the rest of this wait
		return
	}
	if due(m.thinkAt, at) {
		m.thinkAt, m.thinkUntil, m.thinking = 0, at+m.cfg.ThinkingMax, true
		s.do(PlayCue{Turn: m.turn, Cue: CueThinking})
	}
}

func due(t, at time.Duration) bool { return t > 0 && t <= at }

// expire ends a wait that was too long: in words and IDLE, but for the longest utterance, which is committed.
func (s *step) expire(at time.Duration, night bool) {
	m := &s.m
	switch m.phase {
	case recording:
		m.listen = max(0, at-m.began)
		if m.noEar != "" {
			s.fail(at, m.noEar, Failed)
			return
		}
		if m.fatal != "" {
			s.fail(at, m.fatal, Failed)
			return
		}
		s.do(PlayCue{Turn: m.turn, Cue: CueCommitted})
		s.closeCapture(at, 0)
	case closing:
		s.fail(at, WordsNoMicrophone, Expired)
	case voting, asking:
		switch {
		case s.keeps(night):
			s.keep(at, orWords(m.away, WordsOffline))
		case !m.online:
			s.fail(at, orWords(m.away, WordsOffline), Expired)
		default:
			s.fail(at, WordsNoAnswer, Expired)
		}
	case speaking:
		if m.spoke {
			s.fail(at, WordsLostMidway, Expired)
			return
		}
		s.fail(at, WordsNoAnswer, Expired)
	case writing:
		s.written(at)
	case working:
		s.fail(at, WordsToolFailed, Expired)
	case following:
		if !m.broken {
			s.fail(at, WordsNoAnswer, Expired)
			return
		}
		s.do(CancelResponse{Turn: m.turn, Who: m.who})
		m.requested, m.broken = false, false
		why := m.away
		if why.Unreached() { // a person heard the break
			why = WordsLostMidway
		}
		s.failAfterSpeech(at, orWords(why, WordsLostMidway))
	default:
		s.fail(at, orWords(m.failing, WordsNoAnswer), Expired)
	}
}

// think starts the count to the thinking cue, from since or from when the speech so far can have ended.
func (s *draft) think(since time.Duration) {
	if !s.m.thinking && !s.m.held {
		s.m.thinkAt = max(since, s.m.playUntil) + s.m.cfg.Thinking
	}
}

func (s *draft) stopThinking() {
	if s.m.thinking {
		s.do(StopCue{Cue: CueThinking})
	}
	s.m.thinking, s.m.thinkAt, s.m.thinkUntil = false, 0, 0
}
