package cascade

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/companions/words"
	"conch/coordinator/turn"
)

// Config is fixed at New.
type Config struct {
	chat, ear, mouth target

	Key          func() string // of the voice's own host; read again at every request
	EarKey       voice.Secret  // of the server that hears; zero: the Key if it is the same host, else none
	MouthKey     voice.Secret
	Hold         func() turn.Words // a reason to ask nothing now; "": none
	Model        string            // "": the first that the server lists
	EarModel     string            // "": the profile's
	MouthModel   string
	Voice        string
	Languages    []string // that people speak, ISO 639-1; none: what is said is detected
	Language     string   // of an answer that does not show its own
	Instructions string

	Prices  voice.Prices
	Ceiling kit.Ceiling
	Pool    *kit.Pool
	Load    func() ([]byte, error)
	Save    func([]byte) error
	Guessed func(estimated bool) // see kit.Metering
	Recall  []voice.Line
	Keep    func([]voice.Line) error
	Omitted func(parts []string, why string) // what a conversation goes without; nil: nobody wants to know

	MaxUtterance time.Duration // kept in RAM; 61 s
	MaxAnswer    time.Duration // said but not yet handed over; 5 min
	Patience     time.Duration // how long a turn waits for the beginning of an answer; 10 s

	Inbox *kit.Inbox // nil: one of its own
	Meter *kit.Meter // nil: one of its own

	Decode func(io.Reader) (voice.Stream, error) // of speech that comes compressed; nil: it is refused

	Client *http.Client // of all servers; nil: one of its own
	Roots  *x509.CertPool
	Wall   func() time.Time
	Log    *slog.Logger
}

func (cfg *Config) defaults() {
	cfg.MaxUtterance = cmp.Or(cfg.MaxUtterance, 61*time.Second)
	cfg.MaxAnswer = cmp.Or(cfg.MaxAnswer, 5*time.Minute)
	cfg.Patience = cmp.Or(cfg.Patience, 10*time.Second)
	if cfg.Key == nil {
		cfg.Key = func() string { return "" }
	}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Client == nil {
		cfg.Client = pool(cfg.Roots, nil)
	}
}

// Metering is what counts.
func (cfg *Config) Metering() kit.Metering {
	return kit.Metering{Prices: cfg.Prices, Ceiling: cfg.Ceiling, Pool: cfg.Pool, Load: cfg.Load, Save: cfg.Save, Wall: cfg.Wall, Log: cfg.Log,
		Guessed: cfg.Guessed}
}

func samples(d time.Duration) int { return int(d * kit.Rate / time.Second) }

// Deadlines, of a turn's patience: a stage that lets it pass is told before the turn is given up.
func (cfg *Config) first() time.Duration { return cfg.Patience * 6 / 10 }

const (
	idleLimit = 10 * time.Second // between two pieces of a stream
	loadLimit = 3 * time.Minute  // for a model to be loaded
)

// Kind is this voice, as the device knows it.
func Kind() voice.Kind {
	return voice.Kind{
		Name: "cascade",
		Keys: []voice.Key{
			{Name: "server", Default: "auto", Allowed: append([]string{"auto"}, ProfileNames()...),
				About: "of a cascade: what the server of voice.url is; auto: told by its address and its list of models"},
			{Name: "hear",
				About: "of a cascade: who writes down what was said: an address, also with what it is in front (\"whisper.cpp http://box.lan:8080\"), " +
					"or a program of this machine (pocketsphinx; whisper-cli and its model); empty: voice.url"},
			{Name: "speak", About: "of a cascade: who speaks the answer: an address, also with what it is in front (\"kokoro http://box.lan:8880\", " +
				"\"piper http://box.lan:5000\"), or a program of this machine (flite, espeak-ng; piper and its model); empty: voice.url"},
			{Name: "speak_model", About: "of a cascade: model that speaks; empty: what such a server has"},
		},
		New: func(s voice.Settings, of []voice.Companion) (made voice.Made, err error) {
			if made.Called, err = Called(s); err != nil {
				return made, voice.SettingError{Err: err}
			}
			client, shared := pool(s.Roots, nil), &kit.Pool{}
			for _, c := range of {
				cfg, err := Configure(s, c)
				if err != nil {
					return made, voice.SettingError{Err: err}
				}
				cfg.Client, cfg.Pool = client, shared
				x, err := New(cfg)
				if err != nil {
					return made, voice.SettingError{Err: err}
				}
				made.Sessions = append(made.Sessions, voice.Session{Voice: x, Usage: x.usage.Usage, Reset: x.usage.Reset, Spent: x.usage.Spent})
			}
			return made, nil
		},
		Check: check, Plan: plan,
	}
}

// Called is what people are told that answers.
func Called(s voice.Settings) (string, error) {
	cfg, err := Configure(s, voice.Companion{Model: s.Model})
	if err != nil {
		return "", err
	}
	model := cfg.Model
	if model == "" {
		model = "its model"
	}
	return fmt.Sprintf("cascade, %s at %s, heard by %s, spoken by %s", model, cfg.chat, cfg.ear, cfg.mouth), nil
}

// plan says who hears, thinks and speaks, before anybody is asked.
func plan(s voice.Settings) ([]voice.Part, error) {
	cfg, err := Configure(s, voice.Companion{Model: s.Model})
	if err != nil {
		return nil, err
	}
	by := func(t target, stage, model, otherwise string, own voice.Secret) string {
		switch {
		case t.url == nil && t.there("") != nil:
			return t.program + " on this machine, which is " + t.there("").lack
		case t.url == nil:
			return t.program + " on this machine"
		case model == "":
			model = otherwise
		default:
			model = "model " + model
		}
		kind := t.profile.Name
		if t.guessed && kind == "compatible" {
			kind = "of a kind that it will tell"
		}
		return fmt.Sprintf("%s (%s), %s, %s", t, kind, model, cfg.keyOf(t, stage, own).planned())
	}
	return []voice.Part{
		{Does: "hears", By: by(cfg.ear, "hear", cfg.EarModel, "its own model", cfg.EarKey)},
		{Does: "thinks", By: by(cfg.chat, "", cfg.Model, "the first model that it lists", voice.Secret{})},
		{Does: "speaks", By: by(cfg.mouth, "speak", cfg.MouthModel, "its own model", cfg.MouthKey)},
	}, nil
}

// Configure is the chain of one companion that the configuration names.
func Configure(s voice.Settings, c voice.Companion) (cfg Config, err error) {
	cfg = Config{
		Key: s.Key, EarKey: s.HearKey, MouthKey: s.SpeakKey, Hold: s.Hold,
		Model: c.Model, EarModel: s.Transcription, MouthModel: s.Own["speak_model"], Voice: c.Voice, Languages: s.Languages, Language: cmp.Or(s.Mouth, english),
		Instructions: c.Instructions,
		Ceiling:      kit.Ceiling{Tokens: s.CeilingTokens, Cost: s.CeilingCost},
		Load:         c.Load, Save: c.Save, Recall: c.Recall, Keep: c.Keep, Omitted: c.Refused, Guessed: c.Guessed,
		MaxUtterance: s.Longest, Patience: s.Patience, Decode: s.Decode, Roots: s.Roots, Log: c.Log,
	}
	address := s.URL
	if name := s.Own["server"]; name != "" && name != "auto" {
		address = name + " " + s.URL
	}
	if cfg.chat, err = parseTarget("url", "", address, nil); err != nil {
		return cfg, err
	}
	if s.ModelAssumed && !isOpenAI(cfg.chat) {
		cfg.Model = ""
	}
	if cfg.ear, err = cfg.stage("hear", s.Own["hear"], address, hearing, func(p *Profile) string { return p.HearPath }); err != nil {
		return cfg, err
	}
	if cfg.mouth, err = cfg.stage("speak", s.Own["speak"], address, speaking, func(p *Profile) string { return p.SpeakPath }); err != nil {
		return cfg, err
	}
	if s.TranscriptionAssumed && !isOpenAI(cfg.ear) {
		cfg.EarModel = ""
	}
	cfg.EarModel = cmp.Or(cfg.EarModel, cfg.ear.profile.Ear)
	cfg.MouthModel = cmp.Or(cfg.MouthModel, cfg.mouth.profile.Mouth)
	cfg.Voice = cfg.mouth.voice(c.Voice)
	cfg.Prices = s.PricesAt(cfg.chat.address(), cfg.Model)
	cfg.Prices.TranscriptionMinute = s.PricesAt(cfg.ear.address(), cfg.EarModel).TranscriptionMinute
	cfg.Prices.SpokenLetters = s.PricesAt(cfg.mouth.address(), cfg.MouthModel).SpokenLetters
	return cfg, nil
}

// address is the URL of a server; empty for a program.
func (t target) address() string {
	if t.url == nil {
		return ""
	}
	return t.url.String()
}

func isOpenAI(t target) bool { return t.profile.Name == "openai" }

// voice is what to ask for: the name itself, but for OpenAI's, which cards have: elsewhere each of these is one that is there, so that
// companions sound different from each other.
func (t target) voice(name string) string {
	voices := t.profile.Voices
	switch filepath.Base(t.program) {
	case "flite":
		voices = []string{"slt", "rms", "awb", "kal16"}
	case "espeak-ng":
		voices = nil // by the language
	}
	i := slices.Index(openAIVoices, name)
	if name != "" && i < 0 || isOpenAI(t) && i >= 0 {
		return name
	}
	if len(voices) == 0 {
		return ""
	}
	return voices[max(0, i)%len(voices)]
}

// stage is where one is done; a server that cannot is replaced by what this machine has.
func (cfg *Config) stage(key, text, address string, known []string, can func(*Profile) string) (target, error) {
	t, err := parseTarget(key, text, address, known)
	if err != nil || t.url == nil || can(&t.profile) != "" {
		return t, err
	}
	if text != "" {
		return t, fmt.Errorf("cascade: voice.%s = %q: %s does not do that", key, text, t.profile.Name)
	}
	if here, ok := installed(known, "", cfg.Language); ok {
		return here, nil
	}
	return t, fmt.Errorf("cascade: voice.%s is empty, and %s does not do that: name a server or a program (%v)", key, t.profile.Name, known)
}

// installed is the first of these programs that needs no model, has the language and is there, but for the one that is there already.
func installed(known []string, but, language string) (target, bool) {
	for _, name := range known {
		t := target{program: name}
		if !needsModel(name) && name != filepath.Base(but) && (language == english || !slices.Contains(englishOnly, name)) && t.there("") == nil {
			return t, true
		}
	}
	return target{}, false
}

const english = "en"

// englishOnly are programs that hear or speak no other language, with what Debian ships.
var englishOnly = []string{"pocketsphinx", "flite"}

// tongue is the language of a piece of an answer; before is that of the piece before it.
func (cfg *Config) tongue(text, before string) string {
	return words.Known().LanguageOf(text, cmp.Or(before, cfg.Language, english), cfg.Languages)
}

// openAIVoices are names that other servers have not; those of the cards that come with conch first.
var openAIVoices = []string{"marin", "cedar", "coral", "alloy", "ash", "ballad", "echo", "sage", "shimmer", "verse"}
