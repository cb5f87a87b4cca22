package realtime

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// Config is fixed at New. Zero values mean the defaults named here.
type Config struct {
	URL                string            // ws:// or wss://; "model" is added to its query
	Key                func() string     // read again at every attempt, from any goroutine; nil or "" sends none
	Hold               func() turn.Words // a reason to make no attempt now, e.g. that a key cannot be read; "": none
	Model              string            // may be empty for servers with one model
	Voice              string
	Instructions       string
	TranscriptionModel string  // "" asks for no transcript of what the person said
	Language           string  // of the transcription, ISO 639-1; "" lets the server guess
	Reasoning          string  // effort, for models that reason: minimal, low, medium, high, xhigh; auto; "" or off leaves it out
	Noise              string  // far_field or near_field, of OpenAI's servers; "" or off leaves it out
	Retain             float64 // what OpenAI's servers keep of a conversation that is full, 0 to 1; 0 leaves it out
	Dialect            Dialect
	Assumed            Assumed // what of these nobody chose

	// Omitted is told at the beginning of each session which parts of it the server refused (names, transcription, voice, reasoning,
	// tools, format) and what it said; none: it took everything. Called from Run; nil: nobody wants to know.
	Omitted func(parts []string, why string)

	// Say speaks what the server answers in text alone, in samples of 24 kHz; nil: such an answer is a failure. Called from a goroutine.
	Say func(ctx context.Context, text string) ([]int16, error)

	Prices    voice.Prices
	EarPrices voice.Prices // of what is written down
	Ceiling   kit.Ceiling
	Pool      *kit.Pool              // whose use counts towards the ceiling, too; nil: nobody's
	Load      func() ([]byte, error) // what Save kept, at New; nil starts from zero
	Save      func([]byte) error     // keeps the day's usage; called from a goroutine of its own, and from that of ResetUsage

	Guessed func(estimated bool) // the server counts no tokens, and there is a ceiling; or it does; see kit.Metering

	Recall []voice.Line             // what was said before this process
	Keep   func([]voice.Line) error // keeps what is said; nil: nothing is kept. Called from a goroutine of its own

	MaxUtterance time.Duration // kept in RAM until the answer begins; 61 s (60 s of speech and the pre-roll)
	MaxAnswer    time.Duration // received but not yet handed over; 5 min
	RenewAfter   time.Duration // age at which an idle session is renewed; 50 min (the server ends it at 60)

	Inbox *kit.Inbox // nil: one of its own
	Meter *kit.Meter // nil: one of its own

	Roots *x509.CertPool // authorities of the server's certificate; nil: the system's

	Dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP with keep-alive
	Wall func() time.Time                                                  // decides which day it is; nil: time.Now
	Log  *slog.Logger                                                      // nil: slog.Default
}

// Assumed says which names are a default of conch, i.e. OpenAI's: other servers (Dialect.Voices, Dialect.Models) are not
// asked for what they have not.
type Assumed struct{ Voice, TranscriptionModel bool }

func (cfg *Config) defaults() error {
	u, err := url.Parse(cfg.URL)
	if err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || u.Host == "" {
		return fmt.Errorf("realtime: URL = %q: must be ws://host/path or wss://host/path", cfg.URL)
	}
	if u.User != nil {
		return fmt.Errorf("realtime: URL has a user name: put the key into Key instead")
	}
	if cfg.Dialect.Name == "" {
		cfg.Dialect, _ = DialectByName("ga")
	}
	if r := cfg.Dialect.Rate; r != rate && r != 16000 {
		return fmt.Errorf("realtime: dialect %q: Rate = %d: must be 24000 or 16000", cfg.Dialect.Name, r)
	}
	cfg.MaxUtterance = cmp.Or(cfg.MaxUtterance, 61*time.Second)
	cfg.MaxAnswer = cmp.Or(cfg.MaxAnswer, 5*time.Minute)
	cfg.RenewAfter = cmp.Or(cfg.RenewAfter, 50*time.Minute)
	if cfg.MaxUtterance < time.Second || cfg.MaxUtterance > 11*time.Minute {
		return fmt.Errorf("realtime: MaxUtterance = %v: must be 1s to 11m", cfg.MaxUtterance)
	}
	if cfg.MaxAnswer < time.Second || cfg.MaxAnswer > time.Hour {
		return fmt.Errorf("realtime: MaxAnswer = %v: must be 1s to 1h", cfg.MaxAnswer)
	}
	if cfg.Key == nil {
		cfg.Key = func() string { return "" }
	}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout,
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}).DialContext
	}
	return nil
}

// endpoint is the URL with the model in its query, and the dialect's path where it has none.
func (cfg *Config) endpoint() string {
	u, _ := url.Parse(cfg.Dialect.Address(cfg.URL)) // checked by defaults
	q := u.Query()
	name := "model"
	if cfg.Dialect.Deployment && (q.Has("api-version") || q.Has("deployment")) {
		name = "deployment"
	}
	if cfg.Model != "" && !q.Has(name) {
		q.Set(name, cfg.Model)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

func samples(d time.Duration) int { return int(d * rate / time.Second) }
