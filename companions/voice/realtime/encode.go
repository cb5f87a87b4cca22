package realtime

import (
	"encoding/json"
	"strings"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

type wireSessionUpdate struct {
	wireEvent
	Session any `json:"session"`
}

// sessionGA is GA's session, and with Voice and Turns set the hybrid one.
type sessionGA struct {
	Type         string     `json:"type,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
	Modalities   []string   `json:"output_modalities,omitempty"`
	Audio        *audioGA   `json:"audio,omitempty"`
	Tools        []wireTool `json:"tools,omitzero"` // [] clears them
	Reasoning    *reasoning `json:"reasoning,omitempty"`
	Truncation   *retention `json:"truncation,omitempty"`
	Voice        string     `json:"voice,omitempty"`          // hybrid
	Turns        any        `json:"turn_detection,omitempty"` // hybrid
}

type audioGA struct {
	Input  inputGA   `json:"input"`
	Output *outputGA `json:"output,omitempty"`
}

type inputGA struct {
	Format        *formatGA      `json:"format,omitempty"`
	Noise         *noise         `json:"noise_reduction,omitempty"`
	Transcription *transcription `json:"transcription,omitempty"`
	Turns         any            `json:"turn_detection,omitempty"`
}

type noise struct {
	Type string `json:"type"`
}

type retention struct {
	Type  string  `json:"type"`
	Ratio float64 `json:"retention_ratio"`
}

type outputGA struct {
	Format formatGA `json:"format,omitzero"`
	Voice  string   `json:"voice,omitempty"`
}

type formatGA struct {
	Type string `json:"type"`
	Rate int    `json:"rate"`
}

type transcription struct {
	Model    string `json:"model"`
	Language string `json:"language,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// turnsOff is null: the button decides, not the server's turn detection. Absent would mean "as it was", which is on.
type turnsOff struct{}

func (turnsOff) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// serverTurns is a turn detection that cannot be switched off.
type serverTurns struct {
	Type    string   `json:"type"`
	Answers *bool    `json:"create_response,omitempty"`
	Level   *float64 `json:"threshold,omitempty"`
	Prefix  *int     `json:"prefix_padding_ms,omitempty"`
	Silence int      `json:"silence_duration_ms"`
}

// What a server waits for that hears the end by itself: nobody keeps silent for a minute while the button is held, and
// after the release the shortest silence ends the utterance that real servers tell from a pause between words.
const (
	silenceHeld     = 60_000 // ms
	silenceReleased = 300
)

// turns is what keeps the server's turn detection out of it, in a new session.
func (d *Dialect) turns() any {
	switch d.Turns {
	case TurnsDeaf: // complete, or it is passed over; the padding is refused in words, and the rest taken
		no, one, none := false, 1.0, 0
		return serverTurns{Type: "server_vad", Answers: &no, Level: &one, Prefix: &none, Silence: silenceHeld}
	case TurnsLong:
		return serverTurns{Type: "server_vad", Silence: silenceHeld}
	}
	return turnsOff{}
}

// patience is the session.update that sets how long a silence ends an utterance.
func (d *Dialect) patience(id string, ms int) any {
	return wireSessionUpdate{
		wireEvent: wireEvent{Type: "session.update", EventID: id},
		Session:   sessionGA{Type: "realtime", Audio: &audioGA{Input: inputGA{Turns: serverTurns{Type: "server_vad", Silence: ms}}}},
	}
}

type sessionBeta struct {
	Instructions  string         `json:"instructions,omitempty"`
	Modalities    []string       `json:"modalities,omitempty"`
	Voice         string         `json:"voice,omitempty"`
	InputFormat   string         `json:"input_audio_format,omitempty"`
	OutputFormat  string         `json:"output_audio_format,omitempty"`
	Transcription *transcription `json:"input_audio_transcription,omitempty"`
	Turns         any            `json:"turn_detection,omitempty"`
	Tools         []wireTool     `json:"tools,omitzero"`
}

type wireTool struct {
	Type string `json:"type"`
	*functionTool
	Function *functionTool `json:"function,omitempty"`
}

type functionTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// encodeTools encodes what the model may call. A schema that is not JSON would make the whole session unreadable: left out.
func (d *Dialect) encodeTools(specs []turn.ToolSpec) []wireTool {
	ts := make([]wireTool, 0, len(specs))
	for _, s := range specs {
		f := &functionTool{Name: s.Name, Description: s.Description}
		if json.Valid(s.Schema) {
			f.Parameters = s.Schema
		}
		if d.NestedTools {
			ts = append(ts, wireTool{Type: "function", Function: f})
		} else {
			ts = append(ts, wireTool{Type: "function", functionTool: f})
		}
	}
	return ts
}

// session is the whole session.update of a new session.
func (cfg *Config) session(d *Dialect, id string, wished kit.Wishes) any {
	up := wireSessionUpdate{wireEvent: wireEvent{Type: "session.update", EventID: id}}
	voice := cfg.Voice
	if cfg.Assumed.Voice && !d.Voices {
		voice = ""
	}
	tr := cfg.transcription(d, wished.Names)
	modalities := d.Modalities
	if modalities == nil {
		modalities = []string{"audio"}
	}
	tools := d.encodeTools(wished.Tools)
	if d.Session == EncodeBeta {
		up.Session = sessionBeta{
			Instructions: cfg.Instructions, Modalities: modalities, Voice: voice, Tools: tools,
			InputFormat: d.Format, OutputFormat: d.Format, Transcription: tr, Turns: d.turns(),
		}
		return up
	}
	s := sessionGA{
		Type: "realtime", Instructions: cfg.Instructions, Modalities: modalities, Tools: tools,
		Audio: &audioGA{
			Input:  inputGA{Format: &formatGA{"audio/pcm", d.Rate}, Transcription: tr, Turns: d.turns()},
			Output: &outputGA{Format: formatGA{"audio/pcm", rate}, Voice: voice},
		},
	}
	if effort := cfg.effort(d); effort != "" {
		s.Reasoning = &reasoning{effort}
	}
	if kind := cfg.noise(d); kind != "" {
		s.Audio.Input.Noise = &noise{kind}
	}
	if cfg.Retain > 0 && d.Voices {
		s.Truncation = &retention{"retention_ratio", cfg.Retain}
	}
	if d.Session == EncodeHybrid {
		s.Voice, s.Audio.Output.Voice = voice, ""
		s.Turns, s.Audio.Input.Turns = s.Audio.Input.Turns, nil
	}
	up.Session = s
	return up
}

// effort is what a model is asked to reason with; "": it is not asked. Models of the second generation reason.
func (cfg *Config) effort(d *Dialect) string {
	switch {
	case cfg.Reasoning == auto && d.Models && strings.HasPrefix(cfg.Model, "gpt-realtime-2"):
		return "minimal"
	case cfg.Reasoning == auto, cfg.Reasoning == off:
		return ""
	}
	return cfg.Reasoning
}

// noise is what a server is asked to take out of the sound; "": it is not asked.
func (cfg *Config) noise(d *Dialect) string {
	if cfg.Noise == off || !d.Voices {
		return ""
	}
	return cfg.Noise
}

// scribe is the model that writes down what is said; "": none is named.
func (cfg *Config) scribe(d *Dialect) string {
	if d.OwnScribe || cfg.Assumed.TranscriptionModel && !d.Models {
		return ""
	}
	return cfg.TranscriptionModel
}

func (cfg *Config) transcription(d *Dialect, names string) *transcription {
	tr := &transcription{Model: cfg.scribe(d), Language: cfg.Language}
	if tr.Model == "" {
		return nil
	}
	if d.Prompts {
		tr.Prompt = names
	}
	return tr
}

// rescribe is the session.update that changes the names that may be said, and nothing else.
func (cfg *Config) rescribe(d *Dialect, id, names string) any {
	up := wireSessionUpdate{wireEvent: wireEvent{Type: "session.update", EventID: id}}
	if tr := cfg.transcription(d, names); d.Session == EncodeBeta {
		up.Session = sessionBeta{Transcription: tr}
	} else {
		up.Session = sessionGA{Type: "realtime", Audio: &audioGA{Input: inputGA{Transcription: tr}}}
	}
	return up
}

// retool is the session.update that changes the tools alone.
func (d *Dialect) retool(id string, specs []turn.ToolSpec) any {
	up := wireSessionUpdate{wireEvent: wireEvent{Type: "session.update", EventID: id}}
	if d.Session == EncodeBeta {
		up.Session = sessionBeta{Tools: d.encodeTools(specs)}
	} else {
		up.Session = sessionGA{Type: "realtime", Tools: d.encodeTools(specs)}
	}
	return up
}

// text is the conversation.item.create of somebody's words.
func (d *Dialect) text(id, role, text string) any {
	part := "input_text"
	if role == "assistant" {
		part = d.TextPart
	}
	return wireItemCreate{
		wireEvent: wireEvent{Type: "conversation.item.create", EventID: id},
		Item:      wireItem{Type: "message", Role: role, Content: []wirePart{{Type: part, Text: text}}},
	}
}

// create is the response.create of a turn.
func (cfg *Config) create(d *Dialect, id string, o turn.CreateResponse, prompt string) any {
	up := wireCreate{wireEvent: wireEvent{Type: "response.create", EventID: id}}
	var p wireResponseParams
	if d.Metadata {
		p.Metadata = map[string]string{"turn": string(o.Turn)}
	}
	if prompt != "" {
		// response.instructions replaces the session's: say who one is again.
		p.Instructions = prompt
		if cfg.Instructions != "" {
			p.Instructions = cfg.Instructions + "\n\n" + prompt
		}
	}
	if o.NoTools {
		p.ToolChoice = "none"
	}
	if p.Metadata != nil || p.Instructions != "" || p.ToolChoice != "" {
		up.Response = &p
	}
	return up
}
