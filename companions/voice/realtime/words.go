package realtime

import (
	"errors"
	"strings"

	"github.com/coder/websocket"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// Codes of the protocol's error events that need more than words.
const (
	codeExpired     = "session_expired"
	codeActive      = "conversation_already_has_active_response"
	codeCommitEmpty = "input_audio_buffer_commit_empty"
	codeCommitOld   = "input_audio_buffer_commit_too_small"
	codeKey         = "invalid_api_key"
	codeNotActive   = "response_cancel_not_active"
)

// incompleteWords finds what a person is told about an answer that the server ended before its end. Nothing is broken: it was
// too long, or is not to be said. Compatible servers take the chat protocol's word for the first (finish_reason).
func incompleteWords(d *statusDetails) turn.Words {
	switch {
	case d == nil:
		return turn.WordsServerError
	case d.Reason == "max_output_tokens", d.Reason == "max_tokens", d.Reason == "length":
		return turn.WordsCutShort
	}
	return kit.WordsFor(d.Reason, "")
}

// closing is the refusal in the reason of a close frame, as "invalid_request_error.model_not_found"; nil: there is none.
func closing(err error) *refused {
	var frame websocket.CloseError
	if !errors.As(err, &frame) {
		return nil
	}
	kind, code, dotted := strings.Cut(frame.Reason, ".")
	if !dotted || strings.ContainsAny(frame.Reason, " \t") || kit.WordsFor(code, kind) == turn.WordsServerError {
		return nil
	}
	return &refused{RefusalError: kit.RefusalError{Code: code, Kind: kind, Text: frame.Reason}}
}

// refused is a handshake the server answered with a status or an error event.
type refused struct {
	kit.RefusalError
	omit parts // what the next attempt leaves out; zero: nothing
}
