package pairing

import "time"

// JoinerStage is what a joiner waits for.
type JoinerStage uint8

// Stages, in their order. Idle: no run.
const (
	JoinerIdle JoinerStage = iota
	JoinerHello
	JoinerShare
	JoinerWelcome  // its confirmation is out: somebody may have tried a guess against it
	JoinerChecking // the welcome
	JoinerKeeping
)

// JoinerState is a joiner as the machine knows it, over all its runs.
type JoinerState struct {
	Now    time.Duration
	Stage  JoinerStage
	Began  time.Duration
	Heard  time.Duration
	Failed int // runs that ended badly after the confirmation was out
}

// JoinerInput is something that happened to a joiner: Begin, or, of the window's inputs, Heard, Garbled, Checked, Admitted (the
// welcome is kept), Gone and Elapsed; Run means nothing here.
type JoinerInput interface{ at() time.Duration }

// Begin: there is a connection to a window.
type Begin struct{ At time.Duration }

// Stop: the joiner's person, or its end.
type Stop struct{ At time.Duration }

func (e Begin) at() time.Duration { return e.At }
func (e Stop) at() time.Duration  { return e.At }

// JoinerEffect is something to be done.
type JoinerEffect interface{ joiner() }

// What a joiner wants done.
type (
	// SayHello, SayShare, SayConfirm and SayStored are frames to send. SayShare and SayConfirm compute first.
	SayHello   struct{}
	SayShare   struct{}
	SayConfirm struct{}
	SayStored  struct{}
	// CheckWelcome compares the window's confirmation and opens the welcome; the answer is Checked.
	CheckWelcome struct{}
	// Keep stores it; the answer is Admitted.
	Keep struct{}
	// Leave ends the run: nothing was kept. Tell: the window is told why.
	Leave struct {
		Why  Reason
		Tell bool
		Over bool // the last of the tries
	}
	// Done ends the run: this device is in.
	Done struct{}
)

func (SayHello) joiner()     {}
func (SayShare) joiner()     {}
func (SayConfirm) joiner()   {}
func (SayStored) joiner()    {}
func (CheckWelcome) joiner() {}
func (Keep) joiner()         {}
func (Leave) joiner()        {}
func (Done) joiner()         {}

// Due is when Elapsed must come next. ok is false when nothing is waited for. A window that admits may have to ask its host:
// only the run's length bounds that.
func (s JoinerState) Due() (time.Duration, bool) {
	switch s.Stage {
	case JoinerHello, JoinerShare:
		return min(s.Began+RunLength, s.Heard+stepLength), true
	case JoinerWelcome:
		return s.Began + RunLength, true
	}
	return 0, false
}

// Step is the joiner's whole judgement. why is of Heard(refused) only: what the window gives as its reason.
//
//	      begin        hello         share            welcome               right            kept
//	Idle ──────> Hello ──────> Share ──────> Welcome ─────────> Checking ────────> Keeping ──────> Idle
//	      hello        share         confirm │          check   │          keep          stored, done
//	                                         └ wrong, silence, anything else: one of three failed confirmations
func (s JoinerState) Step(in JoinerInput, why Reason) (JoinerState, []JoinerEffect) {
	s.Now = max(s.Now, in.at())
	leave := func(why Reason, tell bool) (JoinerState, []JoinerEffect) {
		if s.Stage == JoinerWelcome || s.Stage == JoinerChecking {
			s.Failed++
		}
		s.Stage = JoinerIdle
		return s, []JoinerEffect{Leave{Why: why, Tell: tell, Over: s.Failed >= MaxTries}}
	}
	next := func(stage JoinerStage, e JoinerEffect) (JoinerState, []JoinerEffect) {
		s.Stage, s.Heard = stage, s.Now
		return s, []JoinerEffect{e}
	}
	if due, ok := s.Due(); ok && s.Now >= due {
		return leave(WhySlow, true)
	}
	if _, ok := in.(Begin); ok {
		if s.Stage != JoinerIdle {
			return s, nil
		}
		if s.Failed >= MaxTries {
			return leave(WhyWrong, true)
		}
		s.Began = s.Now
		return next(JoinerHello, SayHello{})
	}
	if s.Stage == JoinerIdle {
		return s, nil
	}
	switch e := in.(type) {
	case Heard:
		switch {
		case e.Kind == FrameRefused:
			return leave(why, false)
		case e.Kind == FrameHello && s.Stage == JoinerHello:
			return next(JoinerShare, SayShare{})
		case e.Kind == FrameShare && s.Stage == JoinerShare:
			return next(JoinerWelcome, SayConfirm{})
		case e.Kind == FrameWelcome && s.Stage == JoinerWelcome:
			return next(JoinerChecking, CheckWelcome{})
		}
		return leave(WhyProtocol, true)
	case Garbled:
		return leave(e.Why, true)
	case Checked:
		if s.Stage != JoinerChecking {
			return s, nil
		}
		if !e.Right {
			return leave(WhyWrong, true)
		}
		return next(JoinerKeeping, Keep{})
	case Admitted:
		if s.Stage != JoinerKeeping {
			return s, nil
		}
		if !e.OK {
			return leave(WhyNotStored, true)
		}
		s.Stage, s.Failed = JoinerIdle, 0
		return s, []JoinerEffect{SayStored{}, Done{}}
	case Gone:
		return leave(WhyLost, false)
	case Stop:
		return leave(WhyClosed, true)
	}
	return s, nil
}
