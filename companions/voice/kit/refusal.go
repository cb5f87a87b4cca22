package kit

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"conch/coordinator/turn"
	"conch/device/pattern"
)

// A refusal is told as what it is: nobody is sent to the network when the server has refused the model (TURNS.md 6).

// RefusalError is a request that a server answered with a status or an error of its own.
type RefusalError struct {
	Status int    // of HTTP; 0: it was none
	Code   string // of the error, as the provider names it
	Kind   string // its type
	Text   string
	Page   bool          // a web page
	After  time.Duration // the server wants nothing before; zero: it did not say
}

func (r *RefusalError) Error() string {
	switch {
	case r.Page && r.Status >= 200 && r.Status < 300: // it says that all is well, and is somebody else
		return fmt.Sprintf("a web page in place of an answer (status %d)", r.Status)
	case r.Status >= 300 && r.Status < 400:
		return fmt.Sprintf("the server redirects (status %d): put the final address into URL, a key is not sent elsewhere", r.Status)
	case r.Status != 0 && (r.Code == "" || r.Code == strconv.Itoa(r.Status)): // llama-server says it twice
		return fmt.Sprintf("the server refuses: status %d %.512q", r.Status, r.Text)
	case r.Status != 0:
		return fmt.Sprintf("the server refuses: status %d %s %.512q", r.Status, r.Code, r.Text)
	}
	return fmt.Sprintf("the server refuses the session: %s %s", r.Code, r.Text)
}

// Loading says that err is of a server that has not loaded its model yet, as llama-server says it.
func Loading(err error) bool {
	var no *RefusalError
	return errors.As(err, &no) && no.Status == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(no.Text), "loading model")
}

// retryAfter reads when a server wants the next attempt: in a header, in seconds or as a date beside its own (RFC 9110 10.2.3; the clock of a Pi
// may be wrong), in milliseconds, or in a sentence; 0: it does not say.
func retryAfter(h http.Header, text string) (after time.Duration) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		after = seconds(ms / 1000)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && s > 0 {
		after = seconds(s)
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		if now, err := http.ParseTime(h.Get("Date")); err == nil {
			after = at.Sub(now)
		}
	} else if m := againIn().FindStringSubmatch(text); m != nil {
		if d, err := time.ParseDuration(strings.ToLower(m[1])); err == nil {
			after = d
		} else if n, err := strconv.ParseFloat(m[2], 64); err == nil {
			after = seconds(n)
		}
	}
	return min(max(0, after), RetryMost)
}

// againIn finds "try again in 1.2s", "retry after 6m0s" and "retry in 20 seconds".
var againIn = pattern.New(`(?i)(?:again|retry) (?:in|after) ((?:[0-9.]+(?:ms|h|m|s))+\b|([0-9.]+) ?sec)`)

func seconds(n float64) time.Duration {
	return time.Duration(min(n, RetryMost.Seconds()) * float64(time.Second))
}

// Redact takes the key out of what a server says about it: such sentences go to the log.
func Redact(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "(the key)")
}

// Words tells what a person should hear, and whether only a person can mend it.
func (r *RefusalError) Words() (say turn.Words, fatal bool) {
	if Loading(r) {
		return turn.WordsNoAnswer, false
	}
	if r.Status > http.StatusInternalServerError { // 503 is 503, whatever word its body has
		return turn.WordsServerError, false
	}
	say = WordsFor(r.Code, r.Kind)
	if say == turn.WordsServerError {
		switch {
		case r.Status == http.StatusUnauthorized:
			say = turn.WordsKeyRefused
		case r.Status == http.StatusTooManyRequests:
			say = turn.WordsQuota
		case r.Status == http.StatusPaymentRequired:
			say = turn.WordsNoCredit
		case r.Status >= 500, r.Status == 0, r.Status == http.StatusRequestTimeout:
		case r.Status == http.StatusForbidden && !r.Page:
			say = turn.WordsDenied
		case !r.Page && r.Status >= 400 && modelless(r.Text):
			say = turn.WordsModelRefused
		case r.Status < 400, r.Page, r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
			say = turn.WordsElsewhere // a login page, a router, a web server: not what speaks this protocol
		}
	}
	return say, say == turn.WordsKeyRefused || say == turn.WordsDenied || say == turn.WordsModelRefused
}

// WordsFor finds what a person is told about an error of the server, by its code, or its type where that says more.
func WordsFor(code, typ string) turn.Words {
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

// modelless says that a server without codes for its errors lacks the model: a bare sentence is all that tells that from a wrong address.
func modelless(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "model") && slices.ContainsFunc([]string{"not found", "not exist", "no such", "unknown", "not installed", "not available",
		"unsupported", "not supported", "invalid"}, func(s string) bool { return strings.Contains(text, s) })
}

// ReadRefusal reads the answer to a request that was refused.
func ReadRefusal(resp *http.Response, body []byte) *RefusalError {
	no := &RefusalError{Status: resp.StatusCode, Text: strings.TrimSpace(string(body)), After: retryAfter(resp.Header, string(body))}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	no.Page = kind == "text/html" || strings.HasPrefix(no.Text, "<")
	if kind, code, text := ReadFault(body); text != "" {
		no.Kind, no.Code, no.Text = kind, code, text
	}
	if no.Page { // a page says nothing to a log
		no.Text = "a web page in its place"
	}
	return no
}

// WordsOf tells what a person should hear about an attempt that failed.
func WordsOf(err error, now time.Time) (say turn.Words, fatal bool) {
	var (
		no        interface{ Words() (turn.Words, bool) }
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &no):
		return no.Words()
	case ClockWrong(err, now):
		return turn.WordsClockWrong, true
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid):
		return turn.WordsNotTrusted, true
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // net/http has no type for it
		return turn.WordsElsewhere, false
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return turn.WordsNotRunning, false
	}
	return turn.WordsOffline, false
}

// ClockWrong says that a server's certificate is not valid yet: no server has such a one for long, but a Pi without a network
// begins its days in the past.
func ClockWrong(err error, now time.Time) bool {
	var bad x509.CertificateInvalidError
	return errors.As(err, &bad) && bad.Reason == x509.Expired && bad.Cert != nil && now.Before(bad.Cert.NotBefore)
}

// Waits: trying again soon would only annoy the server.
func Waits(say turn.Words) bool { return say == turn.WordsQuota || say == turn.WordsNoCredit }

// RetryMost is how much of a server's Retry-After is believed.
const RetryMost = 10 * time.Minute

// ReadFault finds what a server says of an error, in the shapes that servers have for it: an object or a bare string under "error",
// "detail" or "message". No text: there is none.
func ReadFault(body []byte) (kind, code, text string) {
	var said struct {
		Error, Detail, Message, Code, Type json.RawMessage
	}
	if json.Unmarshal(body, &said) != nil {
		return "", "", ""
	}
	for _, raw := range []json.RawMessage{said.Error, said.Detail} {
		var of map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case word(raw) != "":
			return word(said.Type), word(said.Code), word(raw)
		case json.Unmarshal(raw, &list) == nil && len(list) > 0: // of what is wrong with each field
			raw = list[0]
		}
		if json.Unmarshal(raw, &of) != nil {
			continue
		}
		for _, name := range []string{"message", "msg", "error", "type"} {
			if text := word(of[name]); text != "" {
				return word(of["type"]), word(of["code"]), field(of["loc"], text)
			}
		}
	}
	return word(said.Type), word(said.Code), word(said.Message)
}

// field has a fault begin with the name of what it is in: where FastAPI says what is wrong with each field, the name stands beside.
func field(path json.RawMessage, text string) string {
	var names []json.RawMessage
	if json.Unmarshal(path, &names) != nil || len(names) == 0 {
		return text
	}
	if name := word(names[len(names)-1]); name != "" && !strings.Contains(text, name) {
		return name + ": " + text
	}
	return text
}

// word is a string or a number; "": neither.
func word(raw json.RawMessage) (s string) {
	if len(raw) > 0 && raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return s
}
