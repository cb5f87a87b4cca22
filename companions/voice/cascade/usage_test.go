package cascade

import (
	"testing"

	"conch/companions/voice/cascadetest"
)

// Whatever a server writes of tokens, and in how many pieces: the answer is heard, and counted once.
func TestWhatServersReport(t *testing.T) {
	const begin, end = `data: {"choices":[{"delta":{"content":"Hello there."}}],"usage":`, `data: {"choices":[],"usage":`
	for name, row := range map[string]struct {
		lines           []string
		in, cached, out int64
	}{
		"at the end alone": {[]string{begin + `null}`, end + `{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":20}}}`}, 30, 20, 4},
		"so far, with each piece": {[]string{begin + `{"prompt_tokens":30,"completion_tokens":2}}`, end + `{"prompt_tokens":30,"completion_tokens":4}}`,
			end + `{"prompt_tokens":30,"completion_tokens":4}}`}, 30, 0, 4},
		"sent first, received last": {[]string{begin + `{"prompt_tokens":30}}`, end + `{"completion_tokens":4}}`}, 30, 0, 4},
		"nothing in the last piece": {[]string{begin + `{"prompt_tokens":30,"completion_tokens":4}}`, end + `{"prompt_tokens":0,"completion_tokens":0}}`}, 30, 0, 4},
		"as text":                   {[]string{begin + `{"prompt_tokens":"30","completion_tokens":"4"}}`}, 30, 0, 4},
		"with fractions":            {[]string{begin + `{"prompt_tokens":30.0,"completion_tokens":4.5,"prompt_tokens_details":{"cached_tokens":20.0}}}`}, 30, 20, 4},
		"details are null":          {[]string{begin + `{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":null}}`}, 30, 0, 4},
		"details are a list":        {[]string{begin + `{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":[]}}`}, 30, 0, 4},
		"more is cached than sent":  {[]string{begin + `{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":900}}}`}, 30, 30, 4},
		"negative":                  {[]string{begin + `{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":-900}}}`}, 30, 0, 4},
		"no object":                 {[]string{begin + `"none"}`, end + `{"prompt_tokens":30,"completion_tokens":4}}`}, 30, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Lines: row.lines, Text: " "})}, nil, func(w *world) {
				w.press("t-1")
				w.done(1)
				if got := w.text("t-1"); got != "Hello there." {
					t.Errorf("said: %q", got)
				}
				if u := w.c.usage.Usage().Today; u.TextIn != row.in || u.TextCached != row.cached || u.TextOut != row.out || u.Responses != 1 {
					t.Errorf("%+v", u)
				}
			})
		})
	}
}
