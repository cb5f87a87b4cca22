package join

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"conch/device/control"
	"conch/device/language"
	"conch/mqtt/membership"
)

// What people see of pairing: the present line, and who watches how it changes.

// logPairing is the log event of each state: state, why, peer. The code is never among its fields.
const logPairing = "pairing.state"

// board is what people see.
type board struct {
	language language.Language
	now      func() time.Duration
	log      *slog.Logger
	onLine   func(control.PairingLine) // PairingOptions.OnLine

	mu       sync.Mutex // guards what follows
	line     control.PairingLine
	lineRun  int           // the attempt that line is of
	closes   time.Duration // of the window of line
	at       []string      // where that is
	watchers map[chan control.PairingLine]bool
}

func newBoard(o PairingOptions, l language.Language, log *slog.Logger) *board {
	return &board{language: l, now: o.Now, log: log, onLine: o.OnLine, watchers: map[chan control.PairingLine]bool{},
		line: control.PairingLine{At: time.Now(), State: control.PairingIdle, Text: pairingText(l, control.PairingLine{State: control.PairingIdle})}}
}

// show changes the line that people see, and tells whoever watches. Owned by run.
func (b *board) show(run int, change func(*control.PairingLine)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.line
	change(&b.line)
	b.line.At = time.Now()
	b.line.Text = pairingText(b.language, b.line)
	b.lineRun = run
	if b.onLine != nil {
		b.onLine(b.present())
	}
	for w := range b.watchers {
		select {
		case w <- b.present():
		default: // it does not read: it is told no more
			delete(b.watchers, w)
			close(w)
		}
	}
	if was.State != b.line.State {
		b.log.Info(logPairing, "state", b.line.State, "why", b.line.Why, "peer", b.line.Device)
	}
}

// showCode adds to the line of a window its code, when it closes, and where it is.
func (b *board) showCode(run int, code string, length time.Duration, addresses []string) {
	b.show(run, func(l *control.PairingLine) { l.Code, b.closes, b.at = code, b.now()+length, addresses })
}

// present is the line as of now; needs mu.
func (b *board) present() control.PairingLine {
	l := b.line
	l.Run = b.lineRun
	if l.State == control.PairingOpen && l.Code != "" {
		l.Seconds = max(0, (b.closes - b.now()).Seconds())
	}
	return l
}

// Watch gives the present line, and each that follows, until ctx ends or the device does. Who does not read for watchLines
// lines is given up.
func (b *board) Watch(ctx context.Context) <-chan control.PairingLine {
	w := make(chan control.PairingLine, watchLines)
	b.mu.Lock()
	defer b.mu.Unlock()
	w <- b.present()
	if b.watchers == nil { // it has ended
		close(w)
		return w
	}
	b.watchers[w] = true
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.watchers[w] {
			delete(b.watchers, w)
			close(w)
		}
	})
	return w
}

const watchLines = 64

// close lets go of all who watch.
func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range maps.Keys(b.watchers) {
		close(w)
	}
	b.watchers = nil
}

// windowAt are the addresses of the open window.
func (b *board) windowAt() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

// Now is how far pairing has come.
func (b *board) Now() control.PairingLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present()
}

// showElsewhere tells those who watch of a window somewhere else in the room.
func (b *board) showElsewhere(c membership.Change) {
	l := control.PairingLine{At: time.Now(), State: control.PairingElsewhere, Peer: c.Name, Device: c.Device}
	l.Text = pairingText(b.language, l)
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		select {
		case w <- l:
		default: // which the next change finds out
		}
	}
}

// Oversee shows a person at the terminal how pairing goes, until ctx ends; then the channel is closed. The code is on that screen and in no log.
func (b *board) Oversee(ctx context.Context, say func(string)) <-chan struct{} {
	done := make(chan struct{})
	lines := b.Watch(ctx)
	go func() { // ends with the channel of lines
		defer close(done)
		last := control.PairingIdle
		for l := range lines {
			if l.State == control.PairingIdle || l.State == control.PairingOpen && l.Code == "" || l.State == last && l.State != control.PairingOpen {
				continue
			}
			last = l.State
			say("(" + strings.TrimSuffix(l.Text, ".") + ")\n")
		}
	}()
	return done
}
