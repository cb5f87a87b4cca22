// Package provider is with whom the companions of a configuration talk: which voice it comes to, what that is told, whom its server's
// certificate has to be signed by, and what a person can do where there is no session (companions/voice/VOICES.md).
package provider

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"conch/audio/decode"
	"conch/companions"
	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/either"
	"conch/companions/voice/kinds"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
)

// Kind says which kind of voice the configuration comes to, and why.
func Kind(c *config.Config) (kind voice.Kind, why string) {
	name := c.Voice.Kind
	switch {
	case name == "auto" && c.Voice.Key.Set():
		name, why = "realtime", "there is a key"
	case name == "auto" && c.KeyRefused(): // a box that was given a key must not pretend that it was not
		name, why = "realtime", "its key cannot be used"
	case name == "auto" && c.Voice.URL != config.Default().Voice.URL: // a server of one's own may want none
		name, why = "realtime", "voice.url"
	case name == "auto":
		name, why = "rehearsal", c.NoKey()
	case len(c.Problems) > 0 && c.Origin("voice.kind") == config.RefusedValue:
		why = "the configuration is refused"
	default:
		why = "voice.kind"
	}
	if c.Voice.Kind == "auto" && name == "realtime" && !realtimeAddress(c.Voice.URL) {
		return kinds.Auto, why
	}
	return kinds.Find(name), why
}

// Plan is with whom the companions of a configuration will talk.
type Plan struct {
	Kind  string       `json:"kind"`
	Why   string       `json:"why"`             // it comes to that
	Parts []voice.Part `json:"parts,omitempty"` // of who is not one alone; of auto, those of a server that chats
}

// Planned says it without a question to anybody. Its error is that of a start.
func Planned(c *config.Config) (p Plan, err error) {
	kind, why := Kind(c)
	p = Plan{Kind: kind.Name, Why: why}
	if err := Fits(c, kind); err != nil || kind.Plan == nil {
		return p, err
	}
	s, err := Settings(c, kind)
	if err == nil {
		p.Parts, err = kind.Plan(s)
	}
	return p, err
}

// Fits says whether the kind that somebody has named speaks with such an address.
func Fits(c *config.Config, kind voice.Kind) error {
	address, auto := c.Voice.URL, `; voice.kind = "auto" finds out what is spoken there`
	switch far := realtimeAddress(address); {
	case kind.Name == "cascade" && address == config.Default().Voice.URL:
		return fmt.Errorf(`%w: config: voice.kind = "cascade": voice.url is not set: name the server that thinks, as in voice.url = "http://HOST:11434"`,
			control.ErrRefused)
	case kind.Name == "cascade" && far:
		return fmt.Errorf(`%w: config: voice.url = %q: must be http://HOST… or https://HOST… where voice.kind = "cascade"%s`,
			control.ErrRefused, address, auto)
	case kind.Name == "realtime" && !far:
		return fmt.Errorf(`%w: config: voice.url = %q: must be ws://HOST… or wss://HOST… where voice.kind = "realtime"%s`,
			control.ErrRefused, address, auto)
	}
	return nil
}

// Chats asks the server of a configuration whether what it speaks is chat, and not Realtime: then it is one stage of a chain.
func Chats(ctx context.Context, c *config.Config) bool {
	roots, err := Authorities(c.Voice.CAFile)
	if err != nil || realtimeAddress(c.Voice.URL) {
		return false
	}
	client := cascade.Pool(roots)
	defer client.CloseIdleConnections()
	speaks, err := either.Ask(ctx, client, c.Voice.URL, c.LiveKey())
	return err == nil && speaks == either.Chat
}

// realtimeAddress says that an address tells by itself what is spoken there.
func realtimeAddress(address string) bool {
	return strings.HasPrefix(address, "ws://") || strings.HasPrefix(address, "wss://")
}

// Settings are what the configuration says to a kind of voice, whoever asks it: the appliance or its doctor. They come with their error,
// for who tells of it.
func Settings(c *config.Config, kind voice.Kind) (s voice.Settings, err error) {
	v := c.Voice
	s = voice.Settings{
		Own: v.Own, URL: v.URL, Model: v.Model, Transcription: v.Transcription, TranscriptionAssumed: v.Transcription == config.Default().Voice.Transcription,
		ModelAssumed: v.Model == config.Default().Voice.Model, Languages: c.Device.Languages, Mouth: c.Device.Mouth,
		Key: c.LiveKey, GiveKey: c.GiveKey(), Longest: longestUtterance(c), Patience: c.Turn.Commit,
		PriceIn: v.PriceIn, PriceOut: v.PriceOut, Prices: v.Prices, CeilingTokens: int64(v.Ceiling), CeilingCost: v.CeilingCost,
		Decode: decoded,
	}
	s.HearKey.From, s.HearKey.Read = c.StageKey("hear")
	s.SpeakKey.From, s.SpeakKey.Read = c.StageKey("speak")
	if err = Fits(c, kind); err == nil && !kind.Local {
		s.Roots, err = Authorities(v.CAFile)
	}
	return s, err
}

// decoded plays what a server sends compressed.
func decoded(r io.Reader) (voice.Stream, error) {
	live, err := decode.NewSpeech(r)
	if err != nil { // of another type, nil would be something
		return nil, err
	}
	return live, nil
}

// Spoken is the languages of device.language in English, for a model; empty: the key is not set.
func Spoken(c *config.Config) string {
	var names []string
	for _, code := range c.Device.Languages {
		names = append(names, language.InEnglish(code))
	}
	return strings.Join(names, " or ")
}

// Companion is what a card and the configuration say of a companion's voice.
func Companion(c *config.Config, card companions.Card) voice.Companion {
	v := voice.Companion{
		Instructions: card.Instructions(companions.RoomContext{Place: c.Device.Name, Common: c.Voice.Instructions, Language: Spoken(c)}),
		Model:        c.Voice.Model, Voice: c.Voice.Name, VoiceAssumed: c.Voice.Name == config.Default().Voice.Name,
	}
	if card.Model != "" {
		v.Model = card.Model
	}
	if card.Voice != "" && c.Unset("voice.name") {
		v.Voice = card.Voice
	}
	return v
}

// VoteModel is the model that votes where none is named.
const VoteModel = "gpt-6-luna"

// Votes is the chat server that room.votes asks, and its model; empty: the rules alone vote, because of why.
func Votes(c *config.Config) (address, model, why string) {
	r := c.Room
	kind, _ := Kind(c)
	switch {
	case r.Votes == "rules":
		return "", "", "room.votes"
	case r.VoteURL != "":
		return r.VoteURL, cmp.Or(r.VoteModel, VoteModel), ""
	case kind.Local:
		return "", "", "the rehearsal voice has no server: set room.vote_url"
	}
	u, err := url.Parse(c.Voice.URL)
	if err != nil {
		return "", "", "voice.url cannot be read"
	}
	if host := u.Hostname(); r.VoteModel == "" && host != "api.openai.com" && !strings.HasSuffix(host, ".openai.com") {
		return "", "", "room.vote_model has to name a model of " + host
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	u.RawQuery, u.Path = "", strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/realtime")
	return u.String(), cmp.Or(r.VoteModel, VoteModel), ""
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
	case turn.WordsNotRunning:
		do = "start the server, or correct voice.url (see: conch doctor); it connects again by itself"
	case turn.WordsKeyRefused:
		do = "put a valid key where this one came from (conch check; of a service: sudo conch key); a file is read again by itself, else restart"
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
		do = "mend the file of the key (conch check names it; of a service: sudo conch key); it is read again by itself"
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
