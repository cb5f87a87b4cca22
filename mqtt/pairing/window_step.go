package pairing

import "time"

// Step is the window's whole judgement: no clock, no chance, no connection in it.
//
//	            hello          share           confirm              right             admitted          stored
//	StageHello ──────> Share ────────> Confirm ────────> Checking ────────> Admitting ────────> Stored ────────> Confirming
//	           greet         answer           check   │           admit  │            welcome │         confirm
//	                                            wrong │         failed   │            silence │
//	                                  one try less; the third closes   open again         unsure: over
//
// A run that is silent for stepLength, or that lasts RunLength, is refused as slow. The fifth run takes the place of one that has
// been silent for yieldAfter, or hears that the window is busy.
func (s WindowState) Step(in WindowInput) (WindowState, []WindowEffect) {
	w := windowStep{WindowState: s}
	w.Now = max(w.Now, in.at(), w.Opened)
	if w.Phase != PhaseOver {
		w.elapse()
	}
	switch e := in.(type) {
	case Began:
		w.began(e.Run)
	case Heard:
		w.heard(e.Run, e.Kind)
	case Garbled:
		if r := w.find(e.Run); r != nil {
			w.lose(r, e.Why, true)
		}
	case Checked:
		w.checked(e.Run, e.Right)
	case Admitted:
		w.admitted(e.Run, e.OK)
	case Confirmed:
		if r := w.at(e.Run, StageConfirming); r != nil {
			w.drop(r, End{r.ID})
			w.over(EventPaired, e.Run, WhyClosed)
		}
	case Gone:
		if r := w.find(e.Run); r != nil {
			w.lose(r, WhyLost, false)
		}
	case Shut:
		w.shut()
	}
	return w.WindowState, w.effects
}

type windowStep struct {
	WindowState
	effects []WindowEffect
}

func (w *windowStep) do(e WindowEffect) { w.effects = append(w.effects, e) }

func (w *windowStep) find(id RunID) *WindowRun {
	for i := range w.Runs {
		if id != 0 && w.Runs[i].ID == id {
			return &w.Runs[i]
		}
	}
	return nil
}

func (w *windowStep) at(id RunID, stage Stage) *WindowRun {
	if r := w.find(id); r != nil && r.Stage == stage {
		return r
	}
	return nil
}

// drop frees a run's place.
func (w *windowStep) drop(r *WindowRun, e WindowEffect) {
	*r = WindowRun{}
	w.do(e)
}

func (w *windowStep) began(id RunID) {
	switch {
	case id == 0 || w.find(id) != nil:
		return
	case w.Phase == PhaseOver || w.Phase == PhaseWelcomed:
		w.do(Refuse{id, WhyClosed})
		return
	case w.Phase == PhaseTaken: // it may fail, and then there is a place
		w.do(Refuse{id, WhyBusy})
		return
	}
	place := w.place()
	if place == nil {
		w.do(Refuse{id, WhyBusy})
		return
	}
	*place = WindowRun{ID: id, Stage: StageHello, Began: w.Now, Heard: w.Now}
}

// place is a free one, or that of the run which has been silent longest, if it could well have spoken: who does nothing but
// connect cannot keep others out.
func (w *windowStep) place() *WindowRun {
	var quiet *WindowRun
	for i := range w.Runs {
		r := &w.Runs[i]
		if r.ID == 0 {
			return r
		}
		if r.waits() && w.Now-r.Heard >= yieldAfter && (quiet == nil || r.Heard < quiet.Heard) {
			quiet = r
		}
	}
	if quiet != nil {
		w.drop(quiet, Refuse{quiet.ID, WhyBusy})
	}
	return quiet // nil: nobody yields
}

func (w *windowStep) heard(id RunID, kind FrameKind) {
	r := w.find(id)
	if r == nil {
		return
	}
	next := func(want FrameKind, stage Stage, e WindowEffect) {
		if kind != want {
			w.lose(r, WhyProtocol, true)
			return
		}
		r.Stage, r.Heard = stage, w.Now
		w.do(e)
	}
	switch {
	case kind == FrameRefused: // it says that it gives up
		w.lose(r, WhyLost, false)
	case r.Stage == StageHello:
		next(FrameHello, StageShare, Greet{id})
	case r.Stage == StageShare:
		next(FrameShare, StageConfirm, Answer{id})
	case r.Stage == StageConfirm:
		next(FrameConfirm, StageChecking, Check{id})
	case r.Stage == StageStored:
		next(FrameStored, StageConfirming, Confirm{id})
	default:
		w.lose(r, WhyProtocol, true)
	}
}

func (w *windowStep) checked(id RunID, right bool) {
	r := w.at(id, StageChecking)
	if r == nil {
		return
	}
	if w.Phase != PhaseOpen { // cannot be: who takes the window ends the other runs
		w.drop(r, Refuse{id, WhyClosed})
		return
	}
	if !right {
		w.Wrong++
		w.drop(r, Refuse{id, WhyWrong})
		w.do(Tell{Run: id, Kind: EventWrong, Left: MaxTries - w.Wrong})
		if w.Wrong >= MaxTries {
			w.over(EventTooMany, 0, WhyClosed)
		}
		return
	}
	w.Phase, w.Winner = PhaseTaken, id
	r.Stage, r.Heard = StageAdmitting, w.Now
	w.refuseOthers(id, WhyClosed)
	w.do(Tell{Run: id, Kind: EventAdmitting})
	w.do(Admit{id, max(0, r.Began+admitLength-w.Now)})
}

func (w *windowStep) admitted(id RunID, ok bool) {
	r := w.at(id, StageAdmitting)
	if r == nil {
		return
	}
	if ok && w.Now < r.Began+RunLength {
		w.Phase = PhaseWelcomed
		r.Stage, r.Heard = StageStored, w.Now
		w.do(Welcome{id})
		return
	}
	w.drop(r, Refuse{id, WhyRefused})
	w.reopen(id)
}

// lose ends a run that did not get there.
func (w *windowStep) lose(r *WindowRun, why Reason, tell bool) {
	id, stage := r.ID, r.Stage
	if tell {
		w.drop(r, Refuse{id, why})
	} else {
		w.drop(r, End{id})
	}
	switch stage {
	case StageAdmitting:
		w.reopen(id)
	case StageStored, StageConfirming:
		w.over(EventUnsure, id, WhyClosed)
	}
}

// reopen lets others try after an admission that failed; if the window has expired meanwhile, it ends.
func (w *windowStep) reopen(id RunID) {
	w.Phase, w.Winner = PhaseOpen, 0
	w.do(Tell{Run: id, Kind: EventFailed})
	w.elapse()
}

// elapse ends what has lasted too long. A window in which somebody is being admitted waits for that.
func (w *windowStep) elapse() {
	for i := range w.Runs {
		if r := &w.Runs[i]; r.ID != 0 && r.waits() && w.Now >= r.deadline() {
			w.lose(r, WhySlow, true)
		}
	}
	if w.Phase == PhaseOpen && w.Now >= w.Opened+WindowLength {
		w.over(EventExpired, 0, WhyExpired)
	}
}

func (w *windowStep) shut() {
	switch w.Phase {
	case PhaseOpen, PhaseTaken:
		w.over(EventClosed, 0, WhyClosed)
	case PhaseWelcomed:
		w.over(EventUnsure, w.Winner, WhyClosed)
	}
}

func (w *windowStep) refuseOthers(winner RunID, why Reason) {
	for i := range w.Runs {
		if r := &w.Runs[i]; r.ID != 0 && r.ID != winner {
			w.drop(r, Refuse{r.ID, why})
		}
	}
}

// over closes the window: every run is told, and the device last.
func (w *windowStep) over(kind WindowEventKind, id RunID, why Reason) {
	if w.Phase == PhaseOver {
		return
	}
	w.Phase = PhaseOver
	w.refuseOthers(0, why)
	w.do(Tell{Run: id, Kind: kind})
}

// Expires is when an open window ends by itself.
func (s WindowState) Expires() time.Duration { return s.Opened + WindowLength }
