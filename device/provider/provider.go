// Package provider is with whom the companions of a configuration talk: which voice it comes to, how its server is spoken to, whom its
// certificate has to be signed by, and what a person can do where there is no session (companions/voice/VOICES.md).
package provider

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"time"

	"conch/companions"
	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
)

// Kind says which voice the configuration comes to, and why.
func Kind(c *config.Config) (kind, why string) {
	switch {
	case c.Voice.Kind == "auto" && c.Voice.Key.Set():
		return "realtime", "there is a key"
	case c.Voice.Kind == "auto" && c.KeyRefused(): // a box that was given a key must not pretend that it was not
		return "realtime", "its key cannot be used"
	case c.Voice.Kind == "auto" && c.Voice.URL != config.Default().Voice.URL: // a server of one's own may want none
		return "realtime", "voice.url"
	case c.Voice.Kind == "auto":
		return "rehearsal", "no OPENAI_API_KEY and no voice.key_file"
	case len(c.Problems) > 0 && c.Origin("voice.kind") == config.RefusedValue:
		return c.Voice.Kind, "the configuration is refused"
	default:
		return c.Voice.Kind, "voice.kind"
	}
}

// Called is what a voice that is no rehearsal is called.
func Called(c *config.Config) string {
	return fmt.Sprintf("realtime, %s at %s", c.Voice.Model, Host(c.Voice.URL))
}

// Session is what a companion's session with a server is, whoever opens it: the appliance or its doctor.
func Session(c *config.Config, card companions.Card, kind, address string) (realtime.Config, error) {
	v := c.Voice
	conf := realtime.Config{
		URL: address, Model: v.Model, Voice: v.Name, TranscriptionModel: v.Transcription,
		Instructions: card.Instructions(companions.RoomContext{Place: c.Device.Name, Common: v.Instructions}),
		MaxUtterance: longestUtterance(c), Key: c.LiveKey,
	}
	if card.Model != "" {
		conf.Model = card.Model
	}
	if card.Voice != "" && c.Unset("voice.name") {
		conf.Voice = card.Voice
	}
	dialect := v.Dialect
	if kind == "rehearsal" {
		conf.Key, conf.Model = func() string { return "rehearsal" }, "rehearsal"
		conf.Voice = rehearsal.Voice(conf.Voice)
		dialect = "ga"
	} else { // a server is not asked for what only OpenAI has, unless somebody wrote that down
		conf.Assumed = realtime.Assumed{
			Voice:              v.Name == config.Default().Voice.Name && realtime.OpenAIVoice(conf.Voice), // the cards that come with conch name some
			TranscriptionModel: v.Transcription == config.Default().Voice.Transcription,
		}
	}
	var err error
	if conf.Dialect, err = Dialect(dialect, v.URL); err == nil && kind != "rehearsal" {
		conf.Roots, err = Authorities(v.CAFile)
	}
	return conf, err
}

// Dialect is what a server speaks, as voice.dialect has it.
func Dialect(name, address string) (realtime.Dialect, error) {
	if name == "auto" {
		return realtime.DialectFor(address), nil
	}
	dialect, err := realtime.DialectByName(name)
	if err != nil {
		err = fmt.Errorf("%w: config: voice.dialect: %w", control.ErrRefused, err)
	}
	return dialect, err
}

// Host is that of an address.
func Host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// Remedy is what a person can do about a session that is not there.
func Remedy(say turn.Words) string {
	do := "check the network (see: conch doctor); it connects again by itself"
	switch say {
	case turn.WordsKeyRefused:
		do = "put a valid key where this one came from (see: conch check); a key file is read again by itself, anything else after a restart"
	case turn.WordsQuota:
		do = "look at the account's limits and balance; it is tried again by itself"
	case turn.WordsNoCredit:
		do = "add credit at the provider, or use another key; it is tried again by itself"
	case turn.WordsDenied:
		do = "give the key the right to use this model, or use another; a provider that does not serve this place says the same"
	case turn.WordsModelRefused:
		do = "set voice.model (or the card's model) to one that the server has: conch doctor lists some"
	case turn.WordsElsewhere:
		do = "open a web page in this network: it may want a login; else correct voice.url"
	case turn.WordsNotTrusted:
		do = "see conch doctor; of a server of your own, name the authority of its certificate: voice.ca_file"
	case turn.WordsServerError:
		do = "wait: the server has trouble (see: conch doctor); it connects again by itself"
	case turn.WordsKeyBroken:
		do = "mend the file of the key (conch check names it, conch key makes a new one); it is read again by itself"
	case turn.WordsClockWrong:
		do = "set the clock (timedatectl), or see that time comes by the network; it connects again by itself"
	}
	return do
}

// Authorities reads voice.ca_file; nil: the system's.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil means the system's, everywhere
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: config: voice.ca_file: %w", control.ErrRefused, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: config: voice.ca_file = %q: there is no certificate in it (PEM)", control.ErrRefused, file)
	}
	return pool, nil
}

// longestUtterance is what a voice must be able to keep: the longest speech, what is taken on both sides of it, and a second for a
// machine that is late.
func longestUtterance(c *config.Config) time.Duration {
	return c.Turn.Listen + c.Audio.Preroll + c.Audio.Postroll + time.Second
}
