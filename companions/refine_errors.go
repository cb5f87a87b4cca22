package companions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
)

// Why a vote stands as the rules made it. The texts end up in votes and ledgers that other people read: nothing that a
// server sends is in them, since it may repeat the key or what was said.
var (
	errNonsense = errors.New("the model's answer is no vote")
	errRange    = errors.New("the model's vote is out of range")
	errCutOff   = errors.New("the model's answer was cut off")
	errEmpty    = errors.New("the model's answer is empty")
	errRefusal  = errors.New("the model refused")
	errHuge     = errors.New("the model's answer is too large")
	errRedirect = errors.New("the model's server points elsewhere")
	errStranger = errors.New("no card of this device")
	errRule     = errors.New("decided by a rule")
	errCeiling  = errors.New("the day's ceiling is reached")
	errBusy     = errors.New("too many votes at once")
	errClosed   = errors.New("conch is stopping")
)

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// whyStands is an error in few words of our own.
func whyStands(err error) string {
	for _, known := range []error{
		errNonsense, errRange, errCutOff, errEmpty, errRefusal, errHuge, errRedirect, errStranger, errCeiling, errBusy, errClosed,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if code := statusOf(err); code != 0 {
		switch code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Sprintf("the model's server refused the key (%d)", code)
		case http.StatusNotFound:
			return "the model's server has no such model or address (404)"
		case http.StatusTooManyRequests:
			return "the model's server has had too many requests (429)"
		}
		return fmt.Sprintf("the model's server answered %d", code)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case timedOut(err):
		return "the model was too slow"
	case errors.Is(err, context.Canceled):
		return errClosed.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errCutOff.Error()
	case errors.As(err, &syntax), errors.As(err, &kind):
		return errNonsense.Error()
	}
	return "the model's server cannot be reached"
}

func statusOf(err error) int {
	var api *openai.APIError
	if errors.As(err, &api) {
		return api.HTTPStatusCode
	}
	var request *openai.RequestError
	if errors.As(err, &request) {
		return request.HTTPStatusCode
	}
	return 0
}

// refusedFormat: servers that do not know a response_format say 400 or 422, in words of their own. Whether that was the
// cause shows when the next format is taken.
func refusedFormat(err error) bool {
	code := statusOf(err)
	return code == http.StatusBadRequest || code == http.StatusUnprocessableEntity
}

// bounded is an HTTP client whose answers have a limit, with headers of one's own.
type bounded struct {
	client *http.Client
	header http.Header
}

func (b bounded) Do(q *http.Request) (*http.Response, error) {
	for name, values := range b.header {
		q.Header[http.CanonicalHeaderKey(name)] = values
	}
	res, err := b.client.Do(q)
	if err == nil {
		res.Body = &boundedBody{res.Body, refineAnswer}
	}
	return res, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
