package realtime

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"conch/coordinator/turn"
)

// A refusal is told as what it is: nobody is sent to the network when the server has refused the model (TURNS.md 6).

// Codes of the protocol's error events that need more than words.
const (
	codeExpired     = "session_expired"
	codeActive      = "conversation_already_has_active_response"
	codeCommitEmpty = "input_audio_buffer_commit_empty"
	codeCommitOld   = "input_audio_buffer_commit_too_small"
	codeKey         = "invalid_api_key"
	codeNotActive   = "response_cancel_not_active"
)

// wordsFor finds what a person is told about an error of the server, by its code, or its type where that says more.
func wordsFor(code, typ string) turn.Words {
	for _, s := range []string{code, typ} {
		has := func(part string) bool { return strings.Contains(s, part) }
		switch {
		case has("insufficient_quota"), has("billing"), has("credit"):
			return turn.WordsNoCredit
		case has("quota"), has("rate_limit"):
			return turn.WordsQuota
		case s == "invalid_api_key", s == "authentication_error":
			return turn.WordsKeyRefused
		case has("model") && (has("not_found") || has("invalid") || has("not_available") || has("unsupported") || has("deprecated")):
			return turn.WordsModelRefused
		case has("content_filter"), has("content_policy"):
			return turn.WordsFiltered
		case has("permission"), has("unsupported_country"), has("access_denied"), has("forbidden"):
			return turn.WordsDenied
		}
	}
	return turn.WordsServerError
}

// incompleteWords finds what a person is told about an answer that the server ended before its end. Nothing is broken: it was
// too long, or is not to be said. Compatible servers take the chat protocol's word for the first (finish_reason).
func incompleteWords(d *statusDetails) turn.Words {
	switch {
	case d == nil:
		return turn.WordsServerError
	case d.Reason == "max_output_tokens", d.Reason == "max_tokens", d.Reason == "length":
		return turn.WordsCutShort
	}
	return wordsFor(d.Reason, "")
}

// words tells what a person should hear, and whether only a person can mend it.
func (r *refused) words() (say turn.Words, fatal bool) {
	say = wordsFor(r.code, r.kind)
	if say == turn.WordsServerError {
		switch {
		case r.status == http.StatusUnauthorized:
			say = turn.WordsKeyRefused
		case r.status == http.StatusTooManyRequests:
			say = turn.WordsQuota
		case r.status == http.StatusPaymentRequired:
			say = turn.WordsNoCredit
		case r.status >= 500, r.status == 0, r.status == http.StatusRequestTimeout:
		case r.status == http.StatusForbidden && !r.page:
			say = turn.WordsDenied
		case r.status < 400, r.page, r.status == http.StatusNotFound, r.status == http.StatusMethodNotAllowed:
			say = turn.WordsElsewhere // a login page, a router, a web server: not what speaks this protocol
		}
	}
	return say, say == turn.WordsKeyRefused || say == turn.WordsDenied || say == turn.WordsModelRefused
}

// refusal reads the answer to a handshake that was refused.
func refusal(resp *http.Response, body []byte) *refused {
	no := &refused{status: resp.StatusCode, text: strings.TrimSpace(string(body)), after: retryAfter(resp.Header)}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	no.page = kind == "text/html" || strings.HasPrefix(no.text, "<")
	var said struct {
		Error wireError `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error.Message != "" {
		no.code, no.kind, no.text = said.Error.Code, said.Error.Type, said.Error.Message
	}
	if no.page { // a page says nothing to a log
		no.text = "a web page in its place"
	}
	return no
}

// closing is the refusal in the reason of a close frame, as "invalid_request_error.model_not_found"; nil: there is none.
func closing(err error) *refused {
	var frame websocket.CloseError
	if !errors.As(err, &frame) {
		return nil
	}
	kind, code, dotted := strings.Cut(frame.Reason, ".")
	if !dotted || strings.ContainsAny(frame.Reason, " \t") || wordsFor(code, kind) == turn.WordsServerError {
		return nil
	}
	return &refused{code: code, kind: kind, text: frame.Reason}
}

// wordsOf tells what a person should hear about an attempt that failed.
func wordsOf(err error, now time.Time) (say turn.Words, fatal bool) {
	var (
		no        *refused
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &no):
		return no.words()
	case clockWrong(err, now):
		return turn.WordsClockWrong, true
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid):
		return turn.WordsNotTrusted, true
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // net/http has no type for it
		return turn.WordsElsewhere, false
	}
	return turn.WordsOffline, false
}

// clockWrong says that a server's certificate is not valid yet: no server has such a one for long, but a Pi without a network
// begins its days in the past.
func clockWrong(err error, now time.Time) bool {
	var bad x509.CertificateInvalidError
	return errors.As(err, &bad) && bad.Reason == x509.Expired && bad.Cert != nil && now.Before(bad.Cert.NotBefore)
}

// waits: trying again soon would only annoy the server.
func waits(say turn.Words) bool { return say == turn.WordsQuota || say == turn.WordsNoCredit }

// refused is a handshake the server answered with a status or an error event.
type refused struct {
	status int
	code   string
	kind   string // the type of the error
	text   string
	page   bool          // a web page
	after  time.Duration // the server wants nothing before; zero: it did not say
	omit   parts         // what the next attempt leaves out; zero: nothing
}

func (r *refused) Error() string {
	switch {
	case r.status >= 300 && r.status < 400:
		return fmt.Sprintf("the server redirects (status %d): put the final address into URL, a key is not sent elsewhere", r.status)
	case r.status != 0:
		return fmt.Sprintf("the server refuses: status %d %s %.512q", r.status, r.code, r.text)
	}
	return fmt.Sprintf("the server refuses the session: %s %s", r.code, r.text)
}

// retryAfter reads the header of that name in seconds (RFC 9110 10.2.3); its other form, a date, needs a clock that is
// right, which a Pi without a network has not.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n <= 0 {
		return 0
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, retryMost)
}

// redact takes the key out of what a server says about it: such sentences go to the log.
func redact(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "(the key)")
}
