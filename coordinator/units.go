package coordinator

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"conch/coordinator/turn"
)

const (
	rate  = 24000             // samples per second of everything in this package
	never = time.Duration(-1) // of a deadline
)

// samples is the time that n samples last.
func samples(n int) time.Duration { return time.Duration(n) * time.Second / rate }

// ms is d in milliseconds, to a tenth.
func ms(d time.Duration) float64 {
	return math.Round(float64(d)/float64(100*time.Microsecond)) / 10
}

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// callback runs other people's code.
func callback(log *slog.Logger, id turn.ID, f func()) {
	if err := guard(func() error { f(); return nil }); err != nil {
		log.Error(logCallbackPanic, "turn", id, "err", err)
	}
}
