package realtime

import (
	"context"
	"errors"
	"time"

	"conch/coordinator/turn"
)

// Tried is a session that was had for a moment.
type Tried struct {
	Took    time.Duration
	Without []string // parts of it that the server refused, as Config.Bent has them
	Why     string   // what it said of them
}

// SessionError is why there was none.
type SessionError struct {
	Say  turn.Words // as a person is told
	Said string     // the server's own sentence, without the key; empty: it said none
	Err  error
}

func (e *SessionError) Error() string { return e.Err.Error() }
func (e *SessionError) Unwrap() error { return e.Err }

// Try opens one session as Run does, until it is ready or refused, and closes it. It asks for nothing, so that it costs
// nothing. An error is a *SessionError, but for a configuration that New refuses too.
func Try(ctx context.Context, cfg Config) (Tried, error) {
	if err := cfg.defaults(); err != nil {
		return Tried{}, err
	}
	began, without := time.Now(), parts(0)
	for {
		l, err := cfg.open(ctx, cfg.Key(), nil, without)
		if err == nil {
			t := Tried{time.Since(began), l.bent.parts.names(), l.bent.why}
			l.close()
			return t, nil
		}
		var no *refused
		if errors.As(err, &no) && no.bend != 0 { // it hung up on what it refused; each time less is left
			without = no.bend
			continue
		}
		e := &SessionError{Err: err}
		e.Say, _ = wordsOf(err, cfg.Wall())
		if no != nil {
			e.Said = no.text
		}
		return Tried{}, e
	}
}
