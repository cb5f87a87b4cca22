package voice

import (
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"time"

	"conch/coordinator/turn"
)

// Kind is what a folder below this one offers to a device. A line of kinds.All takes it in: from there the configuration has
// its name and its keys, and the device its voices.
type Kind struct {
	Name  string   // as voice.kind has it
	Local bool     // it answers on this machine: it needs neither a key nor a network
	Keys  []Key    // of the section [voice]; those that Settings have are there for all
	Names []string // of voices that voice.name may have, as far as they are known
	// New makes the voices of one device, one for each of the companions that live there, in their order. Nothing runs yet. What
	// it cannot make of the configuration is a SettingError.
	New func(Settings, []Companion) (Made, error)
	// Check looks at all that an answer needs, for conch doctor: what is wrong, why, and what to do about it. It costs nothing,
	// changes nothing, and ends with its context.
	Check func(context.Context, Examined) Findings
	// Plan is who does what of an answer, as far as the configuration says so without a question to anybody; nil: the name says it all. Its
	// error is that of New.
	Plan func(Settings) ([]Part, error)
}

// Part is one of an answer, for people.
type Part struct {
	Does string `json:"does"` // hears, thinks, speaks
	By   string `json:"by"`
}

// Key is a line of the section [voice] of conch.toml, which one kind of voice reads: one line of text.
type Key struct {
	Name    string // below [voice]
	About   string // one line for the example file
	Default string
	Allowed []string // nil: anything
}

// Settings are what the configuration says to every kind of voice.
type Settings struct {
	Own                       map[string]string // the kind's own Keys, by Name
	URL, Model, Transcription string
	TranscriptionAssumed      bool              // nobody chose it
	ModelAssumed              bool              // nobody chose it, nor one for any companion
	Languages                 []string          // that people speak, ISO 639-1; empty: what is said is detected
	Mouth                     string            // language of an answer that does not show its own; "": English
	Roots                     *x509.CertPool    // who vouches for the server; nil: who does in this system
	Key                       func() string     // of the provider, read again at every call; "": there is none
	GiveKey                   string            // what a person does so that there is one
	HearKey, SpeakKey         Secret            // of who hears and who speaks, where that is not the server of URL; zero: there is none
	Hold                      func() turn.Words // a reason to make no attempt at a session now; "": none. May be nil
	Longest                   time.Duration     // of an utterance
	Patience                  time.Duration     // how long a turn waits for the beginning of an answer
	PriceIn, PriceOut         float64           // of a million tokens of every kind for which Prices has none; 0: not set
	Prices                    Prices            // that were set; see PricesAt
	CeilingTokens             int64             // of a day, of all companions together; 0: none
	CeilingCost               float64
	// Decode plays sound that comes compressed; nil: nothing can. Errors of the reader come out as they are, all others say what is wrong.
	Decode func(io.Reader) (Stream, error)
	Log    *slog.Logger

	// Found is what Finding kept: what the server of an address was found to speak; "": nobody has found that. Either may be nil.
	Found   func(url string) string
	Finding func(url, speaks string)
}

// Only is the language that people speak, where they speak one; "": it has to be detected.
func (s Settings) Only() string {
	if len(s.Languages) != 1 {
		return ""
	}
	return s.Languages[0]
}

// Secret is a key, and where it comes from, for people.
type Secret struct {
	From string
	Read func() (string, error) // anew each time; nil: there is none
}

// Stream is sound that comes.
type Stream interface {
	// Next gives the samples (24 kHz, mono) that come next, at least one; io.EOF behind the last.
	Next() ([]int16, error)
}

// Companion is one of those who live here, and what the device does for its voice. A func may be nil.
type Companion struct {
	Instructions string // who it is, and where
	Model        string
	Voice        string // the name of one at the provider
	VoiceAssumed bool   // nobody chose it
	Log          *slog.Logger

	Load func() ([]byte, error) // what Save kept of the day's usage
	Save func([]byte) error

	// Guessed is called when there is a ceiling, and it turns out that the server counts no tokens, or that it does.
	Guessed func(estimated bool)

	Recall []Line             // what was said before
	Keep   func([]Line) error // keeps what is said

	// Say speaks a text with the voice of this machine, in samples of 24 kHz.
	Say func(ctx context.Context, text string) ([]int16, error)

	// Refused is told at the beginning of each session which parts of it the server refused, and what it said; none: it took
	// everything.
	Refused func(parts []string, why string)
}

// Line is one utterance of a kept conversation.
type Line struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"text"`
}

// Made is what New made.
type Made struct {
	Called   string        // for people: what answers
	Now      func() string // the same, of who finds it out later; nil: it does not change
	More     string        // for people who ask for more
	Sessions []Session
	Run      func(context.Context) error // of what all of them need, until the context ends; nil: nothing
}

// Session is a companion's voice, and what else is asked of it.
type Session struct {
	Voice
	Usage func() Usage // nil: it does not count
	Reset func() error // counts the day from zero, as Usage does
	// Spent counts what was used beside it at the same vendor, so that it is part of the same ceiling; its Cost is filled in,
	// by the prices, nil: those of the voice. Spent is nil as Usage is.
	Spent func(Counts, *Prices)
}

// SettingError is something in the configuration that a voice cannot use.
type SettingError struct{ Err error }

func (e SettingError) Error() string { return e.Err.Error() }
func (e SettingError) Unwrap() error { return e.Err }
