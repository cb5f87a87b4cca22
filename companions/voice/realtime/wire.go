package realtime

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"

	"conch/companions/voice/kit"
)

// What the protocol demands.
const (
	minCommit = 100 * rate / 1000 // >= 100 ms or input_audio_buffer_commit_empty
)

// Events a client sends. Absent means unchanged; turn_detection is the one field whose null means something.

type wireEvent struct {
	Type       string `json:"type"`
	EventID    string `json:"event_id,omitempty"`
	ItemID     string `json:"item_id,omitempty"`
	ResponseID string `json:"response_id,omitempty"`
}

type wireTruncate struct {
	wireEvent
	ContentIndex int `json:"content_index"`
	AudioEndMS   int `json:"audio_end_ms"`
}

type wireItemCreate struct {
	wireEvent
	Item wireItem `json:"item"`
}

type wireCreate struct {
	wireEvent
	Response *wireResponseParams `json:"response,omitempty"`
}

type wireResponseParams struct {
	Instructions string            `json:"instructions,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	ToolChoice   string            `json:"tool_choice,omitempty"`
}

// wireItem is an entry of the conversation, in both directions.
type wireItem struct {
	ID        string     `json:"id,omitempty"`
	Type      string     `json:"type"`
	Status    string     `json:"status,omitempty"`
	Role      string     `json:"role,omitempty"`
	Content   []wirePart `json:"content,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments string     `json:"arguments,omitempty"`
	Output    *string    `json:"output,omitempty"` // required, and may be empty, for function_call_output
}

type wirePart struct {
	Type       string `json:"type"`
	Text       string `json:"text,omitempty"`
	Transcript string `json:"transcript,omitempty"`
}

// inbound holds what is read of any event a server sends; which fields count depends on Type.
type inbound struct {
	Type       string        `json:"type"`
	EventID    string        `json:"event_id"`
	ResponseID string        `json:"response_id"`
	ItemID     string        `json:"item_id"`
	Delta      string        `json:"delta"`
	Transcript string        `json:"transcript"`
	Text       string        `json:"text"`
	Status     string        `json:"status"`
	CallID     string        `json:"call_id"`
	Name       string        `json:"name"`
	Arguments  string        `json:"arguments"`
	Item       *wireItem     `json:"item"`
	Response   *wireResponse `json:"response"`
	Error      *wireError    `json:"error"`
	Usage      *wireUsage    `json:"usage"`
}

type wireResponse struct {
	ID            string         `json:"id"`
	Status        string         `json:"status"`
	StatusDetails *statusDetails `json:"status_details"`
	Output        []wireItem     `json:"output"`
	Usage         *wireUsage     `json:"usage"`
	Metadata      map[string]any `json:"metadata"`
}

type statusDetails struct {
	Type   string     `json:"type"`
	Reason string     `json:"reason"`
	Error  *wireError `json:"error"`
}

// wireUsage is a response's (tokens) and a transcription's (tokens or duration).
type wireUsage struct {
	Type         string     `json:"type"`
	Seconds      kit.Figure `json:"seconds"`
	InputTokens  kit.Figure `json:"input_tokens"`
	OutputTokens kit.Figure `json:"output_tokens"`
	InputDetails struct {
		wireTokens
		Cached        kit.Figure `json:"cached_tokens"`
		CachedDetails wireTokens `json:"cached_tokens_details"`
	} `json:"input_token_details"`
	OutputDetails wireTokens `json:"output_token_details"`
}

type wireTokens struct {
	Text  kit.Figure `json:"text_tokens"`
	Audio kit.Figure `json:"audio_tokens"`
}

// UnmarshalJSON reads what it can: an answer is worth more than its figures.
func (u *wireUsage) UnmarshalJSON(b []byte) error {
	type plain wireUsage
	_ = json.Unmarshal(b, (*plain)(u))
	return nil
}

// wireError is the object of an error event. Sloppy servers send a string.
type wireError struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	EventID string `json:"event_id"` // of ours
}

// UnmarshalJSON takes the object or a bare string; a field of another type is taken as it is written, because an error that
// cannot be read is a person who waits.
func (e *wireError) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &e.Message)
	}
	var fields struct {
		Type, Code, Message, Param json.RawMessage
		EventID                    json.RawMessage `json:"event_id"`
	}
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for _, f := range []struct {
		to  *string
		raw json.RawMessage
	}{{&e.Type, fields.Type}, {&e.Code, fields.Code}, {&e.Message, fields.Message}, {&e.Param, fields.Param}, {&e.EventID, fields.EventID}} {
		if len(f.raw) > 0 && json.Unmarshal(f.raw, f.to) != nil {
			*f.to = string(f.raw)
		}
	}
	return nil
}

// is tells whether it is the error of that code, which some servers put where the type belongs.
func (e *wireError) is(code string) bool { return e.Code == code || e.Type == code }

// code is what it is called.
func (e *wireError) code() string {
	if e.Code == "" {
		return e.Type
	}
	return e.Code
}

var errNotAnObject = errors.New("not a JSON object with a type")

// decode reads one message. The audio of a delta stays in msg (head.delta), undecoded, whenever the fast reading works.
func decode(msg []byte, ev *inbound) (audio []byte, err error) {
	*ev = inbound{}
	if h, ok := scanDelta(msg); ok {
		ev.Type = "response.output_audio.delta"
		ev.EventID = string(h.event)
		ev.ResponseID, ev.ItemID = string(h.response), string(h.item)
		return h.delta, nil
	}
	if err := json.Unmarshal(msg, ev); err != nil {
		// A known name with a field of another type is garbage; an unknown name is ignored whatever it holds.
		var wrong *json.UnmarshalTypeError
		switch {
		case !errors.As(err, &wrong) || ev.Type == "":
			return nil, err
		case !known[name(ev.Type)]:
			return nil, nil
		case ev.Type == "response.created" || ev.Type == "response.done":
			// That an answer begins or ends is too much to lose for a detail of it; the rest of it was read.
			if ev.Response == nil || ev.Response.ID == "" {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	if ev.Type == "" {
		return nil, errNotAnObject
	}
	ev.Type = name(ev.Type)
	if ev.Type == "response.output_audio.delta" {
		audio = []byte(ev.Delta)
		ev.Delta = ""
	}
	return audio, nil
}

func name(t string) string {
	if n, ok := aliases[t]; ok {
		return n
	}
	return t
}

// known are the events Run acts on or knowingly passes over; all others are counted as unknown and ignored, because
// new ones appear in minor releases of the protocol.
var known = map[string]bool{
	"error": true, "ping": true, "rate_limits.updated": true,
	"session.created": true, "session.updated": true, "conversation.created": true,
	"conversation.item.added": true, "conversation.item.done": true, "conversation.item.deleted": true, "conversation.item.truncated": true,
	"conversation.item.input_audio_transcription.delta": true, "conversation.item.input_audio_transcription.completed": true,
	"conversation.item.input_audio_transcription.failed": true,
	"input_audio_buffer.committed":                       true, "input_audio_buffer.cleared": true,
	"input_audio_buffer.speech_started": true, "input_audio_buffer.speech_stopped": true,
	"response.created": true, "response.done": true,
	"response.output_item.added": true, "response.output_item.done": true,
	"response.content_part.added": true, "response.content_part.done": true,
	"response.output_audio.delta": true, "response.output_audio.done": true,
	"response.output_audio_transcript.delta": true, "response.output_audio_transcript.done": true,
	"response.output_text.delta": true, "response.output_text.done": true,
	"response.function_call_arguments.delta": true, "response.function_call_arguments.done": true,
}

// deltaHead points into the message it was read from.
type deltaHead struct{ event, response, item, delta []byte }

// scanDelta reads an audio delta without a copy and without an allocation: a flat object whose strings hold no escapes.
// Anything else is left to encoding/json, which is slower and decides what is right (TestScanAgrees, FuzzDecode).
func scanDelta(b []byte) (h deltaHead, ok bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return h, false
	}
	isDelta := false
	for i++; ; i++ {
		var key, val []byte
		if key, i = scanString(b, skipSpace(b, i)); i < 0 {
			return h, false
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return h, false
		}
		if i = skipSpace(b, i+1); i >= len(b) {
			return h, false
		}
		if b[i] == '"' {
			if val, i = scanString(b, i); i < 0 {
				return h, false
			}
			switch string(key) {
			case "type":
				if t := string(val); t != "response.output_audio.delta" && t != "response.audio.delta" {
					return h, false
				}
				isDelta = true
			case "event_id":
				h.event = val
			case "response_id":
				h.response = val
			case "item_id":
				h.item = val
			case "delta":
				h.delta = val
			}
		} else {
			from := i
			for i < len(b) && (b[i] >= '0' && b[i] <= '9') {
				i++
			}
			// A plain index, and only under the names that hold one; null, bool, nested and 01 are encoding/json's.
			if i == from || (b[from] == '0' && i-from > 1) || (string(key) != "output_index" && string(key) != "content_index") {
				return h, false
			}
		}
		if i = skipSpace(b, i); i >= len(b) {
			return h, false
		}
		if b[i] == '}' {
			return h, isDelta && skipSpace(b, i+1) == len(b)
		}
		if b[i] != ',' {
			return h, false
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// scanString reads a string of printable ASCII without escapes that begins at b[i]; next is -1 when it is not one.
func scanString(b []byte, i int) (s []byte, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	n := bytes.IndexByte(b[i+1:], '"')
	if n < 0 {
		return nil, -1
	}
	s = b[i+1 : i+1+n]
	for _, c := range s {
		if c < ' ' || c > '~' || c == '\\' {
			return nil, -1
		}
	}
	return s, i + n + 2
}

// appendFrame encodes one input_audio_buffer.append into dst; raw is scratch. Both are returned for reuse.
func appendFrame(dst, raw []byte, pcm []int16) (frame, scratch []byte) {
	raw = raw[:0]
	for _, s := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(s))
	}
	dst = append(dst[:0], `{"type":"input_audio_buffer.append","audio":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, `"}`...), raw
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
