// Package condition is what can be wrong with an appliance and that a person can mend: the table of it (table.go), the book of
// what holds now (Book), and what of it is said aloud, and when (Announcer). Light, CLI, log, metrics and doctor read the same.
package condition

import (
	"cmp"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"time"

	"conch/device/pattern"
)

// A Condition holds now.
type Condition struct {
	Code  Code      `json:"code"`
	Since time.Time `json:"since"`
	Text  string    `json:"text"`           // what is wrong
	Do    string    `json:"do"`             // what to do about it
	Clip  string    `json:"clip,omitempty"` // says it, where its code has several causes
}

// Said is the clip that says it; "": none does.
func (c Condition) Said() string { return cmp.Or(c.Clip, c.Code.Clip()) }

// Book holds those that hold now, one per code. Make it with NewBook. All methods may be called from any goroutine.
type Book struct {
	log   *slog.Logger
	begun chan struct{} // one token when a condition has begun

	mu      sync.Mutex
	now     map[Code]Condition
	changed func()
}

// NewBook is an empty one.
func NewBook(log *slog.Logger) *Book {
	return &Book{log: log, begun: make(chan struct{}, 1), now: make(map[Code]Condition)}
}

// OnChange has f called after each change, without a lock.
func (b *Book) OnChange(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = f
}

// Begun has a token when a condition has begun.
func (b *Book) Begun() <-chan struct{} { return b.begun }

// Set begins a condition, or updates its text; the log sees only the beginning. text says what is wrong, do what to do about it.
func (b *Book) Set(code Code, text, do string) { b.SetClip(code, text, do, "") }

// SetClip is Set of a condition of several causes: clip names the one that holds.
func (b *Book) SetClip(code Code, text, do, clip string) {
	b.mu.Lock()
	old, held := b.now[code]
	cond := Condition{Code: code, Since: time.Now(), Text: spoken.Replace(network().ReplaceAllString(text, "$1$2")), Do: do, Clip: clip}
	if held {
		cond.Since = old.Since
	} else {
		b.log.Warn("condition.begin", "code", string(code), "text", text, "do", do)
		select {
		case b.begun <- struct{}{}:
		default: // one is there already
		}
	}
	b.now[code] = cond
	b.unlock()
}

// How Go tells of the network (net.OpError, net.DNSError), and what of it is for people; the log has the rest.
var (
	network = pattern.New(`\b(?:(?:dial|read|write) (?:tcp|udp|unix)[46]?(?: \S+->|:? ))(?:lookup )?(\S+?)(?: on \S+)?(?:: (?:connect|read|write))?(: )`)
	spoken  = strings.NewReplacer("i/o timeout", "no answer", "context deadline exceeded", "no answer")
)

// Clear ends a condition.
func (b *Book) Clear(code Code) {
	b.mu.Lock()
	if old, held := b.now[code]; held {
		delete(b.now, code)
		b.log.Info("condition.end", "code", string(code), "for", time.Since(old.Since).Round(time.Millisecond))
	}
	b.unlock()
}

// unlock tells of a change, without mu.
func (b *Book) unlock() {
	changed := b.changed
	b.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// ClipOf says a condition that holds; held is false, and there is none, where it does not.
func (b *Book) ClipOf(code Code) (clip string, held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, held := b.now[code]
	return c.Said(), held
}

// Holds says whether a condition holds.
func (b *Book) Holds(code Code) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, held := b.now[code]
	return held
}

// List returns what holds, oldest first.
func (b *Book) List() []Condition {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Condition, 0, len(b.now))
	for _, v := range b.now {
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Since.Before(out[j].Since) })
	for i, now := 0, time.Now(); i < len(out); i++ { // on the wall as it is now: the clock may have been set since
		out[i].Since = now.Add(-now.Sub(out[i].Since)).Round(time.Second)
	}
	return out
}
