package realtime

import (
	"fmt"
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

// Dialect is what is different about a server. It is data: the client has no other place that knows a server by name.
type Dialect struct {
	Name           string
	Session        Encoding
	Modalities     []string // nil: audio alone
	Rate           int      // of what the server hears; what it says is always 24 kHz
	FirstEvents    []string // either begins a session
	CommitAnswers  bool     // commit begins an answer by itself; response.create would cancel it
	Truncates      bool     // knows conversation.item.truncate
	Cancels        bool     // knows response.cancel
	Metadata       bool     // takes and returns response.metadata
	NestedTools    bool     // {type, function:{name, ...}} instead of {type, name, ...}
	TextPart       string   // content type of an assistant's text in the history
	KeyHeader      string   // "" means Authorization: Bearer
	NoInstructions bool     // response.create takes no instructions
}

// Dialects lists the profiles. Sources are the servers' own code and their clients, as of autumn 2026.
var Dialects = []Dialect{
	{Name: "ga", Session: EncodeGA, Rate: rate, FirstEvents: []string{"session.created"}, Truncates: true, Cancels: true, Metadata: true, TextPart: "output_text"},
	// The same protocol; the key travels in a header of its own.
	{Name: "azure", Session: EncodeGA, Rate: rate, FirstEvents: []string{"session.created"}, Truncates: true, Cancels: true, Metadata: true, TextPart: "output_text", KeyHeader: "api-key"},
	// Writes what it heard under a 16 kHz header and answers as soon as it is committed.
	{Name: "localai", Session: EncodeGA, Rate: 16000, FirstEvents: []string{"session.created"}, CommitAnswers: true, Truncates: true, Cancels: true, Metadata: true, TextPart: "output_text"},
	// Beta types; answers truncate with "not implemented" and refuses metadata.
	{Name: "speaches", Session: EncodeBeta, Modalities: []string{"audio", "text"}, Rate: rate, FirstEvents: []string{"session.created"}, Cancels: true, TextPart: "text"},
	{Name: "xai", Session: EncodeHybrid, Rate: rate, FirstEvents: []string{"conversation.created", "session.created"}, Cancels: true, Metadata: true, TextPart: "output_text"},
	// Refuses audio alone, hears 16 kHz, nests its tools.
	{Name: "qwen", Session: EncodeBeta, Modalities: []string{"text", "audio"}, Rate: 16000, FirstEvents: []string{"session.created"}, Cancels: true, NestedTools: true, TextPart: "text"},
}

// DialectByName finds a profile.
func DialectByName(name string) (Dialect, error) {
	var names []string
	for _, d := range Dialects {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Dialect{}, fmt.Errorf("realtime: dialect %q: must be one of %s", name, strings.Join(names, ", "))
}

// aliases maps the names of the beta, which compatible servers still send, to today's. They are understood from every
// server.
var aliases = map[string]string{
	"response.audio.delta":            "response.output_audio.delta",
	"response.audio.done":             "response.output_audio.done",
	"response.audio_transcript.delta": "response.output_audio_transcript.delta",
	"response.audio_transcript.done":  "response.output_audio_transcript.done",
	"response.text.delta":             "response.output_text.delta",
	"response.text.done":              "response.output_text.done",
	"conversation.item.created":       "conversation.item.added",
}
