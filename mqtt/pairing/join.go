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

// JoinConfig is what a joiner needs: all of it.
type JoinConfig struct {
	Identity mqtt.Identity
	Name     string // of this device, for people
	// Store keeps what the room has told, durably: when it returns nil, this device is in. host is the device whose window it was.
	Store func(host Party, welcome []byte) error
}

// Joiner counts the runs in which this device has shown something that its code could be tried against: after MaxTries of
// them that failed it gives up (ErrTooMany), for there may be somebody in the middle who guesses.
type Joiner struct {
	cfg   JoinConfig // fixed after NewJoiner
	start time.Time

	mu    sync.Mutex // held for a whole run: one at a time
	state JoinerState
}

// NewJoiner has made no attempt yet.
func NewJoiner(cfg JoinConfig) *Joiner { return &Joiner{cfg: cfg, start: time.Now()} }

// joinerRun is one run of a joiner.
type joinerRun struct {
	*Joiner
	ch      Channel
	code    string
	secrets *secrets

	frame   any // the last one
	raw     []byte
	why     Reason // of the last frame, if it was a refusal
	welcome []byte
	err     error // says more than the machine's reason
}

// Join is one run with this code, six digits, which is never logged; it closes ch. It returns the party whose window it was once Store
// has returned nil, whatever becomes of the connection then.
func (j *Joiner) Join(ctx context.Context, ch Channel, code string) (Party, error) {
	defer func() { _ = ch.Close() }()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.cfg.Identity.ID() == "" || j.cfg.Store == nil:
		return Party{}, errors.New("pairing: a joiner needs an identity and Store")
	case !ValidCode(code):
		return Party{}, fmt.Errorf("%w: it must be %d digits", ErrWrongCode, CodeLength)
	}
	s, err := newSecrets(cpace.Initiator, j.cfg.Identity, j.cfg.Name, "", "", ch.Binding())
	if err != nil {
		return Party{}, err
	}
	r := &joinerRun{Joiner: j, ch: ch, code: code, secrets: s}
	todo := r.step(Begin{r.now()})
	for {
		for len(todo) > 0 {
			e := todo[0]
			todo = todo[1:]
			switch e := e.(type) {
			case Done:
				return r.secrets.theirs.party(), nil
			case Leave:
				return Party{}, r.leave(ctx, e)
			default:
				if in := r.work(e); in != nil {
					todo = append(todo, r.step(in)...)
				}
			}
		}
		todo = r.step(r.receive(ctx))
	}
}

func (r *joinerRun) now() time.Duration { return time.Since(r.start) }

func (r *joinerRun) step(in JoinerInput) (effects []JoinerEffect) {
	r.state, effects = r.state.Step(in, r.why)
	return effects
}

// leave says why, if the window cannot know, and makes the error.
func (r *joinerRun) leave(ctx context.Context, e Leave) error {
	if e.Tell {
		_ = r.ch.Send(encode(&refused{FrameRefused, e.Why})) // it may have gone
	}
	err := e.Why.err()
	if e.Over {
		err = fmt.Errorf("%w: %w", ErrTooMany, err)
	}
	if r.err != nil && !errors.Is(r.err, e.Why.err()) {
		err = fmt.Errorf("%w: %w", err, r.err)
	}
	if c := ctx.Err(); c != nil && e.Why == WhyClosed {
		return fmt.Errorf("%w: %w", ErrLost, c)
	}
	return err
}

// receive waits for the next frame, or for the time when it is too late.
func (r *joinerRun) receive(ctx context.Context) JoinerInput {
	wait := RunLength
	if due, ok := r.state.Due(); ok {
		wait = max(0, due-r.now())
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	b, err := r.ch.Receive(limited)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Stop{r.now()}
	case errors.Is(err, ErrProtocol):
		return Garbled{At: r.now(), Why: WhyProtocol}
	case limited.Err() != nil:
		return Garbled{At: r.now(), Why: WhySlow}
	default:
		r.err = err
		return Gone{At: r.now()}
	}
	kind, f, err := decode(b)
	if errors.Is(err, ErrVersion) {
		r.err = err
		return Garbled{At: r.now(), Why: WhyVersion}
	}
	if err != nil {
		r.err = err
		return Garbled{At: r.now(), Why: WhyProtocol}
	}
	switch f := f.(type) {
	case *hello:
		if !provenBy(r.ch.Peer(), f.Key) || f.Device == r.cfg.Identity.ID() || f.RoomID == "" {
			r.err = fmt.Errorf("%w: a hello in another's name", ErrProtocol)
			return Garbled{At: r.now(), Why: WhyProtocol}
		}
	case *refused:
		r.why = f.Why
	}
	r.frame, r.raw = f, b
	return Heard{At: r.now(), Kind: kind}
}

// work does what the machine wants; what comes of it, if anything does, is the machine's next event.
func (r *joinerRun) work(e JoinerEffect) JoinerInput {
	send := func(frame []byte) JoinerInput {
		if err := r.ch.Send(frame); err != nil {
			// It may have refused this device before it was asked: what it said is then still to be read.
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if in, ok := r.receive(ctx).(Heard); ok && in.Kind == FrameRefused {
				return in
			}
			r.err = err
			return Gone{At: r.now()}
		}
		return nil
	}
	garbled := func(err error) JoinerInput {
		r.err = err
		return Garbled{At: r.now(), Why: WhyProtocol}
	}
	switch e.(type) {
	case SayHello:
		return send(r.secrets.self)
	case SayShare:
		if err := r.secrets.begin(r.code, r.raw, *r.frame.(*hello)); err != nil {
			return garbled(err)
		}
		return send(encode(&share{FrameShare, r.secrets.share}))
	case SayConfirm:
		if err := r.secrets.finish(r.frame.(*share).Share); err != nil {
			return garbled(err)
		}
		return send(encode(&confirm{FrameConfirm, r.secrets.joinerTag}))
	case CheckWelcome:
		f := r.frame.(*welcome)
		right := r.secrets.windowIsRight(f.Tag)
		if right {
			body, err := r.secrets.open(f.Sealed)
			r.welcome, right = body, err == nil && len(body) <= MaxWelcome
		}
		return Checked{At: r.now(), Right: right}
	case Keep:
		if err := r.cfg.Store(r.secrets.theirs.party(), r.welcome); err != nil {
			r.err = err
			return Admitted{At: r.now()}
		}
		return Admitted{At: r.now(), OK: true}
	case SayStored:
		_ = r.ch.Send(encode(&stored{FrameStored})) // this device is in; its first connection says so, too
	}
	return nil
}
