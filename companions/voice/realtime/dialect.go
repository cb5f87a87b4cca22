package realtime

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Encoding is how a server wants its session described.
type Encoding uint8

// Encodings of session.update.
const (
	EncodeGA     Encoding = iota // session.type, output_modalities, audio.input and audio.output
	EncodeBeta                   // modalities, input_audio_format, voice at the top
	EncodeHybrid                 // GA's audio formats, voice and turn_detection at the top
)

// Turns is how a server is told that the button, and not its turn detection, decides when a person has spoken.
type Turns uint8

// Ways to keep a server's turn detection out of it.
const (
	TurnsNull Turns = iota // turn_detection: null
	TurnsDeaf              // it refuses null: its detection is given a threshold that no sound reaches, and never answers by itself
	TurnsLong              // its detection cannot be switched off: it waits for a silence that nobody keeps while the button is held
)

// Dialect is what is different about a server. It is data: the client has no other place that knows a server by name.
type Dialect struct {
	Name        string
	Guess       bool // nobody named it: the first event of a session tells
	Session     Encoding
	Modalities  []string // nil: audio alone
	Rate        int      // of what the server hears; what it says is always 24 kHz
	Format      string   // of audio, in the beta's session; "": the server refuses to be told
	Turns       Turns
	FirstEvents []string // either begins a session
	Path        string   // of the address, where it has none

	CommitAnswers    bool     // commit begins an answer by itself; response.create would cancel it
	HearsEnd         bool     // no commit: silence ends an utterance, and the next answer is to it (TurnsLong)
	AfterTranscript  bool     // response.create answers what was transcribed by then, and no more
	OtherTranscripts bool     // transcripts come under an item of their own; they belong to the commits, in order
	Clears           bool     // knows input_audio_buffer.clear
	Truncates        bool     // knows conversation.item.truncate, and keeps what was heard
	Deletes          bool     // knows conversation.item.delete
	Cancels          bool     // knows response.cancel; if not, the next response.create takes the place of a live answer
	Forgets          bool     // keeps nothing of an answer that was cancelled
	Failures         []string // codes of error events that end an answer without response.done

	Metadata    bool   // takes and returns response.metadata
	NestedTools bool   // {type, function:{name, ...}} instead of {type, name, ...}
	TextPart    string // content type of an assistant's text in the history
	Prompts     bool   // takes words that its transcription may expect
	OwnScribe   bool   // transcribes by itself, with a model that is not to be named
	KeyHeader   string // "" means Authorization: Bearer
	Deployment  bool   // the model is a deployment's name; an address with an api-version wants it under "deployment"
	Voices      bool   // has OpenAI's voices
	Models      bool   // has OpenAI's models
}

// Dialects lists the profiles. Sources are the servers' own code, and for those without, their documentation and clients
// (testdata/servers names each), as of autumn 2026.
var Dialects = []Dialect{
	ga,
	// The same protocol; the key travels in a header of its own, and a transcription's model is a deployment, too.
	azure,
	// Writes what it heard under a 16 kHz header, answers as soon as it is committed, and clears an item that is truncated.
	{Name: "localai", Session: EncodeGA, Rate: 16000, FirstEvents: created, Path: "/v1/realtime",
		CommitAnswers: true, OtherTranscripts: true, Clears: true, Deletes: true, Cancels: true, Forgets: true, Metadata: true, TextPart: "output_text",
		Failures: []string{"transcription_failed", "speaker_not_authorized", "not_implemented", "inference_failed", "prediction_failed", "tts_error"}},
	// Beta types; neither null turn_detection nor formats, and cancel and truncate are "not implemented".
	{Name: "speaches", Session: EncodeBeta, Modalities: []string{"audio", "text"}, Rate: rate, Turns: TurnsDeaf, FirstEvents: created, Path: "/v1/realtime",
		AfterTranscript: true, Clears: true, Deletes: true, TextPart: "text"},
	// Its turn detection is always on; commit is taken and ignored, clear and delete are unknown, truncate changes nothing.
	{Name: "speech-to-speech", Session: EncodeGA, Rate: rate, Turns: TurnsLong, FirstEvents: created, Path: "/v1/realtime",
		HearsEnd: true, Cancels: true, Forgets: true, Metadata: true, TextPart: "output_text"},
	// A model for the transcription would bring hypotheses instead of a transcript.
	{Name: "xai", Session: EncodeHybrid, Rate: rate, FirstEvents: []string{"conversation.created", "session.created"}, Path: "/v1/realtime",
		Clears: true, Truncates: true, Deletes: true, Cancels: true, Metadata: true, TextPart: "output_text", OwnScribe: true},
	// Refuses audio alone, hears 16 kHz, nests its tools.
	{Name: "qwen", Session: EncodeBeta, Modalities: []string{"text", "audio"}, Rate: 16000, Format: "pcm", FirstEvents: created, Path: "/api-ws/v1/realtime",
		Clears: true, Cancels: true, NestedTools: true, TextPart: "text"},
}

var (
	created = []string{"session.created"}
	ga      = Dialect{Name: "ga", Session: EncodeGA, Rate: rate, FirstEvents: created, Path: "/v1/realtime", Clears: true, Truncates: true, Deletes: true,
		Cancels: true, Metadata: true, TextPart: "output_text", Voices: true, Models: true, Prompts: true}
	azure = Dialect{Name: "azure", Session: EncodeGA, Rate: rate, FirstEvents: created, Path: "/openai/v1/realtime", Clears: true, Truncates: true,
		Deletes: true, Cancels: true, Metadata: true, TextPart: "output_text", KeyHeader: "api-key", Deployment: true, Voices: true, Prompts: true}
)

// openAIVoices are OpenAI's own, which other servers have not (Dialect.Voices).
var openAIVoices = []string{"alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse"}

// OpenAIVoice tells whether a voice is one of these.
func OpenAIVoice(name string) bool { return slices.Contains(openAIVoices, name) }

// DialectNames are those that DialectByName finds.
func DialectNames() []string {
	names := make([]string, len(Dialects))
	for i, d := range Dialects {
		names[i] = d.Name
	}
	return names
}

// DialectByName finds a profile.
func DialectByName(name string) (Dialect, error) {
	for _, d := range Dialects {
		if d.Name == name {
			return d, nil
		}
	}
	return Dialect{}, fmt.Errorf("realtime: dialect %q: must be one of %s", name, strings.Join(DialectNames(), ", "))
}

// DialectFor is the profile of an address: of a host that is known, else GA's until a session's first event tells.
func DialectFor(address string) Dialect {
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	for _, known := range []struct{ domain, name string }{
		{"openai.com", "ga"},
		{"openai.azure.com", "azure"}, {"cognitiveservices.azure.com", "azure"}, {"services.ai.azure.com", "azure"},
		{"x.ai", "xai"},
		{"aliyuncs.com", "qwen"},
	} {
		if host == known.domain || strings.HasSuffix(host, "."+known.domain) {
			d, _ := DialectByName(known.name)
			return d
		}
	}
	d := ga
	d.Guess, d.FirstEvents = true, []string{"session.created", "conversation.created"}
	return d
}

// Address is the whole of one that may be no more than a host.
func (d Dialect) Address(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path != "" && u.Path != "/" {
		return address
	}
	u.Path = d.Path
	return u.String()
}

// guessed is the dialect of the server that sent msg first; what is not told apart by it speaks d.
func (d Dialect) guessed(msg []byte) Dialect {
	var first struct {
		Type    string `json:"type"`
		EventID string `json:"event_id"`
		Session struct {
			ID     string          `json:"id"`
			Object string          `json:"object"`
			Model  json.RawMessage `json:"model"`
			Speech *string         `json:"speech_model"`
		} `json:"session"`
	}
	if !d.Guess || json.Unmarshal(msg, &first) != nil {
		return d
	}
	name := "ga"
	switch s := &first.Session; {
	case first.Type == "conversation.created":
		name = "xai"
	case s.Speech != nil:
		name = "speaches"
	case first.EventID == "event_TODO":
		name = "localai"
	case strings.HasPrefix(s.ID, "session_") && s.Object == "" && string(s.Model) == "null":
		name = "speech-to-speech"
	}
	d, _ = DialectByName(name)
	return d
}

// answersItself tells that the end of an utterance begins an answer that nobody asked for.
func (d *Dialect) answersItself() bool { return d.CommitAnswers || d.HearsEnd }
