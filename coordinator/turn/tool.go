package turn

// ToolSpec describes one tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of the arguments
	Skill       string // that it is of
	Brief       string // of that skill, for a model with little room; "": none
}

// What becomes of the calls of a turn: each is answered, and what it does is kept in the order of the calls.

func (s *step) toolCalled(e ToolCalled) {
	if !s.current(e.At, e.Turn, e.Response, "ToolCalled") {
		return
	}
	m := &s.m
	for _, c := range m.calls[:m.called] {
		if c.id == e.Call {
			s.stale(e.Turn, "ToolCalled", "this call is known")
			return
		}
	}
	if m.phase == writing {
		s.refuse(e)
		return
	}
	s.enterResponse(e.At)
	m.sealed = true
	m.tools++
	if m.called == maxCalls {
		s.do(SendToolOutput{Turn: e.Turn, Who: m.who, Call: e.Call, Output: outputTooMany})
		m.narrate = true
		return
	}
	c := &m.calls[m.called]
	m.called++
	if m.held {
		*c = call{id: e.Call, order: m.tools, waits: true, response: e.Response, name: e.Name, args: e.Args}
		return
	}
	*c = call{id: e.Call, order: m.tools}
	s.callTool(e.Response, e.Call, e.Name, e.Args)
}

// refuse answers a call of an answer that nobody hears; its tool is not run.
func (s *draft) refuse(e ToolCalled) {
	m := &s.m
	if m.called < maxCalls {
		m.calls[m.called] = call{id: e.Call, back: true}
		m.called++
	}
	s.do(SendToolOutput{Turn: e.Turn, Who: m.who, Call: e.Call, Output: outputUnheard})
}

func (s *draft) callTool(r ResponseID, c CallID, name, args string) {
	call := CallTool{Turn: s.m.turn, Who: s.m.who, Response: r, Call: c, Name: name, Args: args, Cause: s.m.cause}
	if s.m.cause == CauseResult {
		call.Quoted = s.m.quoted
	}
	s.do(call)
}

// toolReturned answers the call, always: a call without an answer would stay in the conversation for ever. Its effect
// counts only while its turn lives.
func (s *step) toolReturned(e ToolReturned) {
	m := &s.m
	c := s.openCall(e)
	if c == nil {
		if who, ok := s.adopt(e); ok {
			s.do(SendToolOutput{Turn: e.Turn, Who: who, Call: e.Call, Output: e.Output})
		} else {
			s.stale(e.Turn, "ToolReturned", "nobody waits for this call")
		}
		if e.Handle != 0 && !s.holds(e.Handle) {
			s.do(DiscardHandle{Turn: e.Turn, Handle: e.Handle, Kind: e.Effect, Why: "interrupted"})
		}
		return
	}
	c.back = true
	s.quote(e.Quotes)
	s.do(SendToolOutput{Turn: e.Turn, Who: m.who, Call: e.Call, Output: e.Output})
	s.apply(c, e)
	switch m.phase {
	case speaking:
		s.keepAlive(e.At)
	case working:
		if !s.waitsForTool() {
			s.round(e.At)
		}
	}
}

// apply lets the effect of a call count. Nothing waits for another call, so tools return in any order; the order of the
// calls decides all the same, also between the responses of a turn (TURNS.md 3).
func (s *step) apply(c *call, e ToolReturned) {
	m := &s.m
	switch e.Effect {
	case EffectAudioStream:
		switch {
		case c.beats(&m.mediaBy):
			s.unlatch(EffectAudioStream, "superseded")
			m.stream = e.Handle
		case m.stream != 0:
			s.do(DiscardHandle{Turn: m.turn, Handle: e.Handle, Kind: e.Effect, Why: "superseded"})
		default:
			s.do(DiscardHandle{Turn: m.turn, Handle: e.Handle, Kind: e.Effect, Why: "cancelled"})
		}
	case EffectInputClaim:
		if c.beats(&m.claimBy) {
			s.unlatch(EffectInputClaim, "superseded")
			m.claim = e.Handle
		} else {
			s.do(DiscardHandle{Turn: m.turn, Handle: e.Handle, Kind: e.Effect, Why: "superseded"})
		}
	case EffectPlaySound:
		if c.beats(&m.soundBy) {
			s.unlatch(EffectPlaySound, "superseded")
			m.sound = e.Handle
		} else {
			s.do(DiscardHandle{Turn: m.turn, Handle: e.Handle, Kind: e.Effect, Why: "superseded"})
		}
		m.narrate = true
	case EffectCancelMedia:
		s.stopStream() // it is of an earlier turn, so of an earlier call
		s.stopAlert(StopAlert{})
		if c.beats(&m.mediaBy) {
			s.unlatch(EffectAudioStream, "cancelled")
		}
		m.silencer = true
	case EffectSetVolume:
		if c.beats(&m.volumeBy) {
			s.do(SetVolume{Turn: m.turn, Volume: min(100, max(0, e.Volume))})
		} else {
			s.stale(m.turn, "ToolReturned", "a later call has set the volume")
		}
		m.narrate = true
	default:
		m.narrate = true
	}
}

// beats tells that no later call has had its effect on what last remembers, and remembers this one.
func (c *call) beats(last *int) bool {
	if c.order < *last {
		return false
	}
	*last = c.order
	return true
}

// openCall finds the call that e answers, if its turn still waits for it.
func (s *draft) openCall(e ToolReturned) *call {
	if s.m.state == Idle || e.Turn != s.m.turn {
		return nil
	}
	for i := range s.m.calls[:s.m.called] {
		if c := &s.m.calls[i]; c.id == e.Call && !c.back && !c.waits {
			return c
		}
	}
	return nil
}

// holds tells that h is latched or runs: then its second arrival is only a duplicate.
func (s *draft) holds(h Handle) bool {
	m := &s.m
	return h == m.stream || h == m.claim || h == m.sound || h == m.running || h == m.calling
}

func (s *draft) waitsForTool() bool {
	for _, c := range s.m.calls[:s.m.called] {
		if !c.back {
			return true
		}
	}
	return false
}

// adopt takes a call of a turn that was cut off the list of those that still owe an answer, and tells whose it was.
func (s *draft) adopt(e ToolReturned) (who Who, ok bool) {
	m := &s.m
	for i, o := range m.orphans[:m.orphaned] {
		if o.turn == e.Turn && o.call == e.Call {
			copy(m.orphans[i:], m.orphans[i+1:m.orphaned])
			m.orphaned--
			m.orphans[m.orphaned] = orphan{}
			return o.who, true
		}
	}
	return "", false
}

func (s *draft) stopStream() {
	if s.m.running != 0 {
		s.do(StopStream{Handle: s.m.running})
		s.m.running = 0
	}
}

func (s *draft) stopClaim() {
	if s.m.calling != 0 {
		s.do(StopClaim{Handle: s.m.calling})
		s.m.calling = 0
	}
}

// preempt ends a call for what cannot wait for its end.
func (s *draft) preempt() {
	if s.m.calling != 0 {
		s.do(StopClaim{Handle: s.m.calling, Preempted: true})
		s.m.calling = 0
	}
}
