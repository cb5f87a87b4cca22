package kit

import (
	"net/http"
	"testing"
	"time"

	"conch/coordinator/turn"
)

// TestWhenAServerWantsTheNextAttempt: in each way that servers have to say it.
func TestWhenAServerWantsTheNextAttempt(t *testing.T) {
	const date = "Sat, 28 Nov 2026 02:00:00 GMT"
	for _, row := range []struct {
		header http.Header
		text   string
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"7"}}, "", 7 * time.Second},
		{http.Header{"Retry-After": {"0.5"}}, "", 500 * time.Millisecond},
		{http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"1200"}}, "", 1200 * time.Millisecond},
		{http.Header{"Retry-After": {"Sat, 28 Nov 2026 02:00:20 GMT"}, "Date": {date}}, "", 20 * time.Second},
		{http.Header{"Retry-After": {"Sat, 28 Nov 2026 02:00:20 GMT"}}, "", 0}, // beside which clock
		{http.Header{"Retry-After": {"Fri, 27 Nov 2026 02:00:20 GMT"}, "Date": {date}}, "", 0},
		{http.Header{"Retry-After": {"1e300"}}, "", RetryMost},
		{http.Header{"Retry-After": {"-3"}}, "", 0},
		{http.Header{"Retry-After": {"NaN"}}, "", 0},
		{http.Header{"Retry-After": {"soon"}}, "", 0},
		{nil, "Rate limit reached for m: Limit 3, Used 3. Please try again in 1.2s. Visit the page.", 1200 * time.Millisecond},
		{nil, "Please try again in 6m0s.", 6 * time.Minute},
		{nil, "try again in 350ms", 350 * time.Millisecond},
		{nil, "Please retry in 20.5 seconds", 20500 * time.Millisecond},
		{nil, "Retry after 1 second", time.Second},
		{nil, "try again in 99999999999999999999 seconds", RetryMost},
		{nil, "try again in 9h", RetryMost},
		{nil, "please try again in a while", 0},
		{nil, "try again in 3 models", 0},
		{nil, "", 0},
	} {
		if got := retryAfter(row.header, row.text); got != row.want {
			t.Errorf("%v, %q: %v; want %v", row.header, row.text, got, row.want)
		}
	}
}

// TestABusyServerIsNoRefusal: what stands in front of a server, or starts, says little of the key, the model and the money.
func TestABusyServerIsNoRefusal(t *testing.T) {
	for _, row := range []struct {
		no    RefusalError
		say   turn.Words
		fatal bool
	}{
		{RefusalError{Status: 503, Code: "model_not_available", Text: "the model is not available"}, turn.WordsServerError, false},
		{RefusalError{Status: 503, Code: "503", Kind: "unavailable_error", Text: "Loading model"}, turn.WordsNoAnswer, false},
		{RefusalError{Status: 503, Kind: "insufficient_quota"}, turn.WordsServerError, false},
		{RefusalError{Status: 502, Code: "forbidden"}, turn.WordsServerError, false},
		{RefusalError{Status: 529, Kind: "rate_limit"}, turn.WordsServerError, false},
		{RefusalError{Status: 500, Code: "insufficient_quota"}, turn.WordsNoCredit, false},
		{RefusalError{Status: 404, Code: "model_not_found"}, turn.WordsModelRefused, true},
		{RefusalError{Status: 429}, turn.WordsQuota, false},
	} {
		if say, fatal := row.no.Words(); say != row.say || fatal != row.fatal {
			t.Errorf("%+v: %s, %v; want %s, %v", row.no, say, fatal, row.say, row.fatal)
		}
	}
}

// TestARefusalSaysItsStatusOnce: llama-server has the status in its body, too.
func TestARefusalSaysItsStatusOnce(t *testing.T) {
	for want, no := range map[string]RefusalError{
		`the server refuses: status 503 "Loading model"`:    {Status: 503, Code: "503", Kind: "unavailable_error", Text: "Loading model"},
		`the server refuses: status 404 "no such page"`:     {Status: 404, Text: "no such page"},
		`the server refuses: status 404 model_gone "it is"`: {Status: 404, Code: "model_gone", Text: "it is"},
	} {
		if got := no.Error(); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
