package pairing

import "time"

// RunID tells the runs of one window apart. 0 is none.
type RunID uint64

// WindowPhase is how far a window is.
type WindowPhase uint8

// Phases. A window goes back from Taken to Open only if Admit failed, when nothing was told to anybody.
const (
	PhaseOpen     WindowPhase = iota
	PhaseTaken                // somebody has the right code, and is being admitted
	PhaseWelcomed             // and was sent the welcome: this window admits nobody else, whatever happens
	PhaseOver
)

// Stage is what a run waits for.
type Stage uint8

// Stages, in their order. While the window itself is at work (checking, admitting, confirming) no frame is due, and none is taken.
const (
	StageHello Stage = iota + 1
	StageShare
	StageConfirm
	StageChecking
	StageAdmitting
	StageStored
	StageConfirming
)

// WindowRun is one joiner's run.
type WindowRun struct {
	ID    RunID
	Stage Stage
	Began time.Duration
	Heard time.Duration // its last frame, or when it began
}

// WindowState is a window as the machine knows it: a value, without pointers. Newly opened: only Opened is set.
type WindowState struct {
	Opened time.Duration
	Now    time.Duration // the latest time of an event
	Phase  WindowPhase
	Wrong  int // wrong codes so far
	Winner RunID
	Runs   [MaxRuns]WindowRun // ID 0: a free place
}

// WindowInput is something that happened to a window. At never goes back; if it does, it counts as the latest time there was.
type WindowInput interface{ at() time.Duration }

// What can happen to a window.
type (
	// Began: a joiner has connected.
	Began struct {
		At  time.Duration
		Run RunID
	}
	// Heard: a frame came that is well formed.
	Heard struct {
		At   time.Duration
		Run  RunID
		Kind FrameKind
	}
	// Garbled: what came is no frame, or not one that can be worked with; Why is to be told.
	Garbled struct {
		At  time.Duration
		Run RunID
		Why Reason
	}
	// Checked: the confirmation was compared.
	Checked struct {
		At    time.Duration
		Run   RunID
		Right bool
	}
	// Admitted: Admit has returned.
	Admitted struct {
		At  time.Duration
		Run RunID
		OK  bool
	}
	// Confirmed: it is recorded that the party is in.
	Confirmed struct {
		At  time.Duration
		Run RunID
	}
	// Gone: the connection is over.
	Gone struct {
		At  time.Duration
		Run RunID
	}
	// Elapsed: time has passed.
	Elapsed struct{ At time.Duration }
	// Shut: this device's person, or its end.
	Shut struct{ At time.Duration }
)

func (e Began) at() time.Duration     { return e.At }
func (e Heard) at() time.Duration     { return e.At }
func (e Garbled) at() time.Duration   { return e.At }
func (e Checked) at() time.Duration   { return e.At }
func (e Admitted) at() time.Duration  { return e.At }
func (e Confirmed) at() time.Duration { return e.At }
func (e Gone) at() time.Duration      { return e.At }
func (e Elapsed) at() time.Duration   { return e.At }
func (e Shut) at() time.Duration      { return e.At }

// WindowEffect is something to be done.
type WindowEffect interface{ run() RunID }

// What a window wants done. Those of one run are done in their order.
type (
	// Greet: send this side's hello.
	Greet struct{ Run RunID }
	// Answer: compute the key, send this side's share.
	Answer struct{ Run RunID }
	// Check the confirmation; the answer is Checked.
	Check struct{ Run RunID }
	// Admit the party within Left; the answer is Admitted.
	Admit struct {
		Run  RunID
		Left time.Duration
	}
	// Welcome: send this side's confirmation and the sealed welcome.
	Welcome struct{ Run RunID }
	// Confirm: record that the party is in; the answer is Confirmed.
	Confirm struct{ Run RunID }
	// Refuse: say why, and end the connection. The run is no more.
	Refuse struct {
		Run RunID
		Why Reason
	}
	// End: end the connection. The run is no more.
	End struct{ Run RunID }
	// Tell the device. Party and Err of the event are the driver's.
	Tell struct {
		Run  RunID
		Kind WindowEventKind
		Left int
	}
)

func (e Greet) run() RunID   { return e.Run }
func (e Answer) run() RunID  { return e.Run }
func (e Check) run() RunID   { return e.Run }
func (e Admit) run() RunID   { return e.Run }
func (e Welcome) run() RunID { return e.Run }
func (e Confirm) run() RunID { return e.Run }
func (e Refuse) run() RunID  { return e.Run }
func (e End) run() RunID     { return e.Run }
func (e Tell) run() RunID    { return e.Run }

// Due is when Elapsed must come next. ok is false when nothing is waited for.
func (s WindowState) Due() (at time.Duration, ok bool) {
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if s.Phase == PhaseOver {
		return 0, false
	}
	if s.Phase == PhaseOpen {
		sooner(s.Opened + WindowLength)
	}
	for _, r := range s.Runs {
		if r.ID != 0 && r.waits() {
			sooner(r.deadline())
		}
	}
	return at, ok
}

// waits says whether it is the joiner's turn. Where it is the window's own, the driver's answer ends it: Admit is given a
// limit, and the rest takes no time.
func (r WindowRun) waits() bool {
	return r.Stage == StageHello || r.Stage == StageShare || r.Stage == StageConfirm || r.Stage == StageStored
}

// deadline is when a run that waits is over.
func (r WindowRun) deadline() time.Duration {
	return min(r.Began+RunLength, r.Heard+stepLength)
}
