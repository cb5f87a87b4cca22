package realtime

import (
	"encoding/json"

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
	Voice        string     `json:"voice,omitempty"`          // hybrid
	Turns        *turnsOff  `json:"turn_detection,omitempty"` // hybrid
}

type audioGA struct {
	Input  inputGA  `json:"input"`
	Output outputGA `json:"output"`
}

type inputGA struct {
	Format        formatGA       `json:"format"`
	Transcription *transcription `json:"transcription,omitempty"`
	Turns         *turnsOff      `json:"turn_detection,omitempty"`
}

type outputGA struct {
	Format formatGA `json:"format"`
	Voice  string   `json:"voice,omitempty"`
}

type formatGA struct {
	Type string `json:"type"`
	Rate int    `json:"rate"`
}

type transcription struct {
	Model    string `json:"model"`
	Language string `json:"language,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// turnsOff is null: the button decides, not the server's ear. Absent would mean "as it was", which is on.
type turnsOff struct{}

func (turnsOff) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

type sessionBeta struct {
	Instructions  string         `json:"instructions,omitempty"`
	Modalities    []string       `json:"modalities,omitempty"`
	Voice         string         `json:"voice,omitempty"`
	InputFormat   string         `json:"input_audio_format,omitempty"`
	OutputFormat  string         `json:"output_audio_format,omitempty"`
	Transcription *transcription `json:"input_audio_transcription,omitempty"`
	Turns         *turnsOff      `json:"turn_detection,omitempty"`
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

// tools encodes what the model may call. A schema that is not JSON would make the whole session unreadable: left out.
func (d *Dialect) tools(specs []turn.ToolSpec) []wireTool {
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
func (cfg *Config) session(id string, specs []turn.ToolSpec) any {
	d := &cfg.Dialect
	up := wireSessionUpdate{wireEvent: wireEvent{Type: "session.update", EventID: id}}
	var tr *transcription
	if cfg.TranscriptionModel != "" {
		tr = &transcription{Model: cfg.TranscriptionModel, Language: cfg.Language}
	}
	modalities := d.Modalities
	if modalities == nil {
		modalities = []string{"audio"}
	}
	tools := d.tools(specs)
	if d.Session == EncodeBeta {
		up.Session = sessionBeta{
			Instructions: cfg.Instructions, Modalities: modalities, Voice: cfg.Voice, Tools: tools,
			InputFormat: "pcm16", OutputFormat: "pcm16", Transcription: tr, Turns: &turnsOff{},
		}
		return up
	}
	s := sessionGA{
		Type: "realtime", Instructions: cfg.Instructions, Modalities: modalities, Tools: tools,
		Audio: &audioGA{
			Input:  inputGA{Format: formatGA{"audio/pcm", d.Rate}, Transcription: tr, Turns: &turnsOff{}},
			Output: outputGA{Format: formatGA{"audio/pcm", rate}, Voice: cfg.Voice},
		},
	}
	if cfg.Reasoning != "" {
		s.Reasoning = &reasoning{cfg.Reasoning}
	}
	if d.Session == EncodeHybrid {
		s.Voice, s.Audio.Output.Voice = cfg.Voice, ""
		s.Turns, s.Audio.Input.Turns = &turnsOff{}, nil
	}
	up.Session = s
	return up
}

// retool is the session.update that changes the tools alone.
func (cfg *Config) retool(id string, specs []turn.ToolSpec) any {
	up := wireSessionUpdate{wireEvent: wireEvent{Type: "session.update", EventID: id}}
	if cfg.Dialect.Session == EncodeBeta {
		up.Session = sessionBeta{Tools: cfg.Dialect.tools(specs)}
	} else {
		up.Session = sessionGA{Type: "realtime", Tools: cfg.Dialect.tools(specs)}
	}
	return up
}

// text is the conversation.item.create of somebody's words.
func (cfg *Config) text(id, role, text string) any {
	part := "input_text"
	if role == "assistant" {
		part = cfg.Dialect.TextPart
	}
	return wireItemCreate{
		wireEvent: wireEvent{Type: "conversation.item.create", EventID: id},
		Item:      wireItem{Type: "message", Role: role, Content: []wirePart{{Type: part, Text: text}}},
	}
}

// create is the response.create of a turn.
func (cfg *Config) create(id string, t turn.ID, prompt string) any {
	up := wireCreate{wireEvent: wireEvent{Type: "response.create", EventID: id}}
	var p wireResponseParams
	if cfg.Dialect.Metadata {
		p.Metadata = map[string]string{"turn": string(t)}
	}
	if prompt != "" && !cfg.Dialect.NoInstructions {
		// response.instructions replaces the session's: say who one is again.
		p.Instructions = prompt
		if cfg.Instructions != "" {
			p.Instructions = cfg.Instructions + "\n\n" + prompt
		}
	}
	if p.Metadata != nil || p.Instructions != "" {
		up.Response = &p
	}
	return up
}
