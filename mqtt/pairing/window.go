package pairing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"conch/mqtt"
	"conch/mqtt/cpace"
)

// Window is open from NewWindow on, for WindowLength. Its goroutines are its callers': Run's keeps the time, and each Serve's does
// one run: it alone touches that run's channel and secrets.
type Window struct {
	cfg   WindowConfig // fixed after NewWindow, without the code
	code  string       // fixed after NewWindow
	start time.Time    // fixed after NewWindow

	wake chan struct{} // 1: there may be another time to wait for
	done chan struct{} // closed when the window is
	idle chan struct{} // closed when it is, and its runs have returned

	mu      sync.Mutex
	state   WindowState
	runs    map[RunID]*windowRun
	last    RunID
	serving int
	end     WindowEvent   // the last one
	events  []WindowEvent // to be told, oldest first
	telling bool          // somebody does
}

// windowRun is one run.
type windowRun struct {
	id     RunID
	cancel context.CancelFunc // wakes its Serve

	// Under the window's lock.
	why   Reason // set from outside: refuse with this
	party Party
	err   error // of Admit, or of the joiner

	// Owned by its Serve.
	ch      Channel
	secrets *secrets
	frame   any // the last one
	raw     []byte
	welcome []byte
}

// NewWindow checks the settings, draws the code and opens.
func NewWindow(cfg WindowConfig) (*Window, error) {
	if cfg.Identity.ID() == "" {
		return nil, errors.New("pairing: a window needs an identity")
	}
	if cfg.Admit == nil {
		return nil, errors.New("pairing: a window needs Admit")
	}
	if err := mqtt.CheckRoom(cfg.RoomID); err != nil {
		return nil, fmt.Errorf("pairing: a window needs a room: %w", err)
	}
	if cfg.RoomName != "" {
		cfg.RoomName = mqtt.FitName(cfg.RoomName, MaxName, cfg.RoomID)
	}
	code := cfg.Code
	cfg.Code = ""
	if code == "" {
		var err error
		if code, err = newCode(); err != nil {
			return nil, err
		}
	}
	if !ValidCode(code) {
		return nil, fmt.Errorf("pairing: a window's code must be %d digits", CodeLength)
	}
	w := &Window{
		cfg: cfg, code: code, start: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{}), idle: make(chan struct{}),
		runs: map[RunID]*windowRun{},
	}
	w.state.Opened = w.now()
	return w, nil
}

func (w *Window) now() time.Duration {
	if w.cfg.Now != nil {
		return w.cfg.Now()
	}
	return time.Since(w.start)
}

// Code is the six digits.
func (w *Window) Code() string { return w.code }

// String and GoString keep the code out of what is printed.
func (w *Window) String() string { return w.cfg.String() }

// GoString is String.
func (w *Window) GoString() string { return w.String() }

// Left is the time until the window expires; 0 when it is closed.
func (w *Window) Left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.Phase == PhaseOver {
		return 0
	}
	return max(0, w.state.Expires()-w.now())
}

// Done is closed when the window is.
func (w *Window) Done() <-chan struct{} { return w.done }

// Close closes the window, and may be called at any time.
func (w *Window) Close() { w.step(0, Shut{w.now()}) }

// Run keeps the window's time, and returns when it is closed and its runs are over: nil after a success, else an error that wraps
// ErrExpired, ErrTooMany or ErrClosed, or ErrNotStored for a party that was sent the welcome and did not say that it kept it.
func (w *Window) Run(ctx context.Context) error {
	timer := time.NewTimer(WindowLength)
	defer timer.Stop()
	for {
		w.mu.Lock()
		at, ok := w.state.Due()
		w.mu.Unlock()
		timer.Stop()
		if ok {
			timer.Reset(max(0, at-w.now()))
		}
		select {
		case <-timer.C:
			w.step(0, Elapsed{w.now()})
		case <-w.wake:
		case <-ctx.Done():
			w.Close()
			<-w.idle
			return w.outcome()
		case <-w.idle:
			return w.outcome()
		}
	}
}

func (w *Window) outcome() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.end.Kind {
	case EventPaired:
		return nil
	case EventTooMany:
		return ErrTooMany
	case EventExpired:
		return ErrExpired
	case EventUnsure:
		return fmt.Errorf("%w: %s", ErrNotStored, w.end.Party.Device)
	}
	return ErrClosed
}

// step gives the machine an event, tells what is to be told, ends the other runs that the machine has ended, and returns what
// the caller's own run has to do.
func (w *Window) step(own RunID, in WindowInput) []WindowEffect {
	w.mu.Lock()
	state, effects := w.state.Step(in)
	w.state = state
	var mine []WindowEffect
	for _, e := range effects {
		if t, ok := e.(Tell); ok {
			w.tell(t)
			continue
		}
		if e.run() == own {
			mine = append(mine, e)
			continue
		}
		if r := w.runs[e.run()]; r != nil { // another run's: only its end can be
			r.why = WhyClosed
			if no, ok := e.(Refuse); ok {
				r.why = no.Why
			}
			r.cancel()
		}
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	w.flush()
	w.mu.Unlock()
	return mine
}

// tell queues an event; the last one closes the window.
func (w *Window) tell(t Tell) {
	e := WindowEvent{Kind: t.Kind, Left: t.Left}
	if r := w.runs[t.Run]; r != nil {
		e.Party = r.party
		if t.Kind == EventFailed || t.Kind == EventUnsure {
			e.Err = r.err
		}
	}
	if e.Err == nil && t.Kind == EventFailed {
		e.Err = ErrSlow
	}
	if e.Err == nil && t.Kind == EventUnsure {
		e.Err = ErrLost
	}
	w.events = append(w.events, e)
	if t.Kind.Last() {
		w.end = e
	}
}

// flush tells what is queued, without the lock, one at a time: who finds another at it leaves it to that one.
func (w *Window) flush() {
	if w.telling {
		return
	}
	w.telling = true
	for len(w.events) > 0 {
		e := w.events[0]
		w.events = w.events[1:]
		if w.cfg.On == nil {
			continue
		}
		w.mu.Unlock()
		w.cfg.On(e)
		w.mu.Lock()
	}
	w.telling = false
	w.leaving()
}

// leaving closes done when the window is closed and its last event told, and idle when its runs have returned as well.
func (w *Window) leaving() {
	if w.state.Phase != PhaseOver || w.telling || len(w.events) > 0 {
		return
	}
	once := func(c chan struct{}) {
		select {
		case <-c:
		default:
			close(c)
		}
	}
	once(w.done)
	if w.serving == 0 {
		once(w.idle)
	}
}

// Serve is one run with one joiner; it returns when the run is over and has closed ch. Any number may be under way: those above
// MaxRuns hear that the window is busy. Its error is that run's, and for the log: what matters to people comes as an event.
func (w *Window) Serve(ctx context.Context, ch Channel) error {
	defer func() { _ = ch.Close() }()
	// The machine ends a run in time; this is for a window that nobody runs.
	ctx, cancel := context.WithTimeout(ctx, RunLength+stepLength)
	defer cancel()
	s, err := newSecrets(cpace.Responder, w.cfg.Identity, w.cfg.Name, w.cfg.RoomID, w.cfg.RoomName, ch.Binding())
	if err != nil {
		return err
	}
	r := &windowRun{cancel: cancel, ch: ch, secrets: s}
	if key := ch.Peer(); key != nil {
		r.party = Party{Device: mqtt.Fingerprint(key), Key: key}
	}
	w.mu.Lock()
	w.last++
	r.id = w.last
	w.runs[r.id] = r
	w.serving++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.runs, r.id)
		w.serving--
		w.leaving()
		w.mu.Unlock()
	}()
	todo := w.step(r.id, Began{w.now(), r.id})
	for {
		for len(todo) > 0 {
			e := todo[0]
			todo = todo[1:]
			switch e := e.(type) {
			case Refuse:
				return w.refuse(r, e.Why)
			case End:
				w.mu.Lock()
				defer w.mu.Unlock()
				return r.err
			default:
				if in := w.work(ctx, r, e); in != nil {
					todo = append(todo, w.step(r.id, in)...)
				}
			}
		}
		w.mu.Lock()
		why := r.why
		w.mu.Unlock()
		if why != "" {
			return w.refuse(r, why)
		}
		todo = w.step(r.id, w.receive(ctx, r))
		w.mu.Lock()
		if len(todo) == 0 && r.why == "" { // ended by nobody and with nothing to do: the machine does not know it
			r.why = WhyProtocol
		}
		w.mu.Unlock()
	}
}

// refuse says why the run ends.
func (w *Window) refuse(r *windowRun, why Reason) error {
	_ = r.ch.Send(encode(&refused{Type: FrameRefused, Why: why})) // it may have gone: then nobody needs to know
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Errorf("%w (with %s)", errors.Join(why.err(), r.err), r.party.Device)
}

// receive waits for the next frame.
func (w *Window) receive(ctx context.Context, r *windowRun) WindowInput {
	b, err := r.ch.Receive(ctx)
	if err != nil {
		if errors.Is(err, ErrProtocol) {
			return Garbled{w.now(), r.id, WhyProtocol}
		}
		w.fail(r, fmt.Errorf("%w: %w", ErrLost, err))
		return Gone{w.now(), r.id}
	}
	kind, f, err := decode(b)
	if errors.Is(err, ErrVersion) {
		return Garbled{w.now(), r.id, WhyVersion}
	}
	if err != nil {
		w.fail(r, err)
		return Garbled{w.now(), r.id, WhyProtocol}
	}
	switch f := f.(type) {
	case *hello:
		// What it says it is must be what the channel has proved it to be, and not ourselves.
		if !provenBy(r.ch.Peer(), f.Key) || f.Device == w.cfg.Identity.ID() || f.RoomID != "" || f.RoomName != "" {
			w.fail(r, fmt.Errorf("%w: a hello in another's name", ErrProtocol))
			return Garbled{w.now(), r.id, WhyProtocol}
		}
		w.mu.Lock()
		r.party = f.party()
		w.mu.Unlock()
	case *refused:
		w.fail(r, f.Why.err())
	}
	r.frame, r.raw = f, b
	return Heard{w.now(), r.id, kind}
}

func (w *Window) fail(r *windowRun, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.err = err
}

// work does what the machine wants of a run; what comes of it, if anything does, is the machine's next event.
func (w *Window) work(ctx context.Context, r *windowRun, e WindowEffect) WindowInput {
	send := func(frame []byte) WindowInput {
		if err := r.ch.Send(frame); err != nil {
			w.fail(r, fmt.Errorf("%w: %w", ErrLost, err))
			return Gone{w.now(), r.id}
		}
		return nil
	}
	garbled := func(err error) WindowInput {
		w.fail(r, err)
		return Garbled{w.now(), r.id, WhyProtocol}
	}
	switch e := e.(type) {
	case Greet:
		if err := r.secrets.begin(w.code, r.raw, *r.frame.(*hello)); err != nil {
			return garbled(err)
		}
		return send(r.secrets.self)
	case Answer:
		if err := r.secrets.finish(r.frame.(*share).Share); err != nil {
			return garbled(err)
		}
		return send(encode(&share{FrameShare, r.secrets.share}))
	case Check:
		return Checked{w.now(), r.id, r.secrets.joinerIsRight(r.frame.(*confirm).Tag)}
	case Admit:
		ctx, cancel := context.WithTimeout(ctx, e.Left)
		defer cancel()
		body, err := w.cfg.Admit(ctx, r.party)
		if err == nil && len(body) > MaxWelcome {
			err = fmt.Errorf("pairing: a welcome of %d bytes; at most %d", len(body), MaxWelcome)
		}
		if err == nil {
			r.welcome, err = r.secrets.seal(body)
		}
		w.fail(r, err)
		return Admitted{w.now(), r.id, err == nil}
	case Welcome:
		return send(encode(&welcome{FrameWelcome, r.secrets.windowTag, r.welcome}))
	case Confirm:
		if w.cfg.Stored != nil {
			w.cfg.Stored(r.party)
		}
		return Confirmed{w.now(), r.id}
	}
	return nil
}
