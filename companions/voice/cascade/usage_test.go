package cascade

import (
	"strings"
	"testing"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
)

// Whatever a server writes of tokens, and in how many pieces: the answer is heard, and counted once.
func TestWhatServersReport(t *testing.T) {
	const begin, end = `data: {"choices":[{"delta":{"content":"Hello there."}}],"usage":`, `data: {"choices":[],"usage":`
	names := strings.NewReplacer(`"I"`, `"prompt_tokens"`, `"O"`, `"completion_tokens"`, `"D"`, `"prompt_tokens_details"`, `"C"`, `"cached_tokens"`)
	for name, row := range map[string]struct {
		lines           []string
		in, cached, out int64
	}{
		"at the end alone": {[]string{begin + `null}`, end + `{"I":30,"O":4,"D":{"C":20}}}`}, 30, 20, 4},
		"so far, with each piece": {[]string{begin + `{"I":30,"O":2}}`, end + `{"I":30,"O":4}}`,
			end + `{"I":30,"O":4}}`}, 30, 0, 4},
		"sent first, received last": {[]string{begin + `{"I":30}}`, end + `{"O":4}}`}, 30, 0, 4},
		"nothing in the last piece": {[]string{begin + `{"I":30,"O":4}}`, end + `{"I":0,"O":0}}`}, 30, 0, 4},
		"as text":                   {[]string{begin + `{"I":"30","O":"4"}}`}, 30, 0, 4},
		"with fractions":            {[]string{begin + `{"I":30.0,"O":4.5,"D":{"C":20.0}}}`}, 30, 20, 4},
		"details are null":          {[]string{begin + `{"I":30,"O":4,"D":null}}`}, 30, 0, 4},
		"details are a list":        {[]string{begin + `{"I":30,"O":4,"D":[]}}`}, 30, 0, 4},
		"more is cached than sent":  {[]string{begin + `{"I":30,"O":4,"D":{"C":900}}}`}, 30, 30, 4},
		"negative":                  {[]string{begin + `{"I":30,"O":4,"D":{"C":-900}}}`}, 30, 0, 4},
		"no object":                 {[]string{begin + `"none"}`, end + `{"I":30,"O":4}}`}, 30, 0, 4},
	} {
		for i := range row.lines {
			row.lines[i] = names.Replace(row.lines[i])
		}
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

// A server that counts nothing, or nothing of what it wrote, is no way around a ceiling: letters stand for tokens.
func TestTokensThatNoServerCounts(t *testing.T) {
	for name, row := range map[string]struct {
		usage   string
		in, out int64
	}{
		"nothing": {`null`, 6, 3}, "zero": {`{"prompt_tokens":0,"completion_tokens":0}`, 6, 3}, "what it was sent": {`{"prompt_tokens":30}`, 30, 3},
		"negative": {`{"prompt_tokens":-30,"completion_tokens":-3}`, 6, 3}, "what it wrote": {`{"completion_tokens":4}`, 6, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var told []bool
			lines := []string{`data: {"choices":[{"delta":{"content":"Hello there."}}],"usage":` + row.usage + `}`}
			in(t, cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Lines: lines, Text: " "})},
				func(s *voice.Settings, c *voice.Companion, _ *Config) {
					s.CeilingTokens, c.Guessed = 9, func(estimated bool) { told = append(told, estimated) }
				}, func(w *world) {
					w.press("t-1")
					w.done(1)
					u := w.c.usage.Usage()
					if got := u.Today; got.TextIn != row.in || got.TextOut != row.out || got.Estimated != 1 || u.Refusing == "" {
						t.Errorf("%+v, refusing %q", got, u.Refusing)
					}
					if len(told) != 1 || !told[0] {
						t.Errorf("announced: %v; want it once", told)
					}
				})
		})
	}
}
