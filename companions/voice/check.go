package voice

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"conch/coordinator/turn"
)

// Examined is what a kind's Check is given: what is configured, and the ways of the machine that asks.
type Examined struct {
	Settings
	Why       string // the configuration comes to this kind
	KeyHidden bool   // there may be a key, which the caller may not read
	// Companion is the one whose session is tried; nil: none is.
	Companion func() (Companion, error)
	Tools     []turn.ToolSpec // that the device offers to it
	// Running is what the appliance calls the voice that it has a session of now; "": it has none.
	Running func(context.Context) string

	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Proxy func(*http.Request) (*url.URL, error) // nil: none
	Now   func() time.Time
	// BuiltAfter is a date before which no conch exists: a clock that shows less was never set.
	BuiltAfter time.Time

	// Told is what a person is told of a session that is not there, and can do about it.
	Told func(turn.Words) (cause, do string)
	// Unreachable is what a connection came to that was not made, by the machine's own network; setting is what names the host.
	Unreachable func(host, setting string, err error) Finding
}

// Level is how much a finding matters.
type Level string

// Levels, the worst last.
const (
	OK   Level = "ok"
	Note Level = "note" // worth knowing; nothing is wrong
	Warn Level = "warn" // it works, and could be better, or will stop to work
	Bad  Level = "bad"  // there is no answer
)

// Finding is one thing that Check looked at. It has no secret.
type Finding struct {
	Part      string // of the voice: dns, server, tls, skew, key, dialect, model, session; "": the whole
	Level     Level
	Text      string
	Cause, Do string // every Warn and Bad has both
}

// Findings are those of a Check, in the order in which a person reads them.
type Findings []Finding

// OK adds what is in order.
func (f *Findings) OK(part, format string, args ...any) {
	*f = append(*f, Finding{Part: part, Level: OK, Text: fmt.Sprintf(format, args...)})
}

// Note adds what is worth knowing.
func (f *Findings) Note(part, text, do string) {
	*f = append(*f, Finding{Part: part, Level: Note, Text: text, Do: do})
}

// Warn adds what could be better.
func (f *Findings) Warn(part, text, cause, do string) {
	*f = append(*f, Finding{part, Warn, text, cause, do})
}

// Bad adds what keeps the voice from answering.
func (f *Findings) Bad(part, text, cause, do string) {
	*f = append(*f, Finding{part, Bad, text, cause, do})
}

// Far says whether a host is beyond this machine.
func Far(host string) bool {
	if host == "" || strings.EqualFold(host, "localhost") {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || !a.IsLoopback()
}
