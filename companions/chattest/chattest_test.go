package chattest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// recorder is a test that does not mind failing.
type recorder struct {
	failed []string
	ends   []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.ends = append(r.ends, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

const good = `{"model":"m","messages":[{"role":"user","content":"json, please"}]`

// What the API would refuse is refused here with 400, and fails the test that sent it.
func TestRequestsAreChecked(t *testing.T) {
	for body, want := range map[string]string{ // want "": taken
		good + `}`: "",
		good + `,"temperature":0.2,"max_tokens":9,"response_format":{"type":"json_object"}}`:                "",
		`{"model":"gpt-5-mini","messages":[{"role":"developer","content":"x"}],"max_completion_tokens":5}`:  "",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}`: "must contain the word 'json'",
		good + `,"colour":1}`:                               "Unrecognized request argument supplied: colour",
		good + `,"stream":true}`:                            "does not stream",
		good + `,"temperature":3}`:                          "temperature is 3",
		good + `,"max_tokens":1,"max_completion_tokens":1}`: "cannot both be set",
		`{"model":"gpt-5-mini","messages":[{"role":"user","content":"x"}],"max_tokens":5}`:    "use max_completion_tokens",
		`{"model":"gpt-5-mini","messages":[{"role":"user","content":"x"}],"temperature":0.5}`: "temperature is 0.5",
		`{"messages":[{"role":"user","content":"x"}]}`:                                        "you must provide a model parameter",
		`{"model":"m","messages":[]}`:                                                         "at least one message",
		`{"model":"m","messages":[{"role":"king","content":"x"}]}`:                            "messages[0].role",
		`{"model":"m","messages":[{"role":"user"}]}`:                                          "messages[0].content",
		`{`: "not JSON",
		good + `,"response_format":{"type":"xml"}}`:                                                                                                                                "response_format.type",
		good + `,"response_format":{"type":"json_schema","json_schema":{"name":"a b"}}}`:                                                                                           "json_schema.name",
		good + `,"response_format":{"type":"json_schema","json_schema":{"name":"v","strict":true,"schema":{"type":"object","properties":{}}}}}`:                                    "'additionalProperties' is required",
		good + `,"response_format":{"type":"json_schema","json_schema":{"name":"v","strict":true,"schema":{"type":"object","additionalProperties":false,"properties":{"a":{}}}}}}`: "missing a",
	} {
		var r recorder
		s := New(&r, Options{})
		res, err := http.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		for _, f := range r.ends {
			f()
		}
		if ok := res.StatusCode == http.StatusOK; ok != (want == "") || !strings.Contains(string(text), want) || ok != (len(r.failed) == 0) || ok != (len(s.Requests()) == 1) {
			t.Errorf("%s\n%d %s; test failed with %q; want %q", body, res.StatusCode, text, r.failed, want)
		}
	}
}

func TestKeyAndPathAreChecked(t *testing.T) {
	s := New(t, Options{Key: "sk-right", Path: "/x"})
	for _, c := range []struct {
		path, key string
		want      int
	}{
		{"/x/chat/completions", "sk-right", 200}, {"/x/chat/completions", "sk-wrong", 401}, {"/x/chat/completions", "", 401}, {"/v1/chat/completions", "sk-right", 404},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Host()+c.path, strings.NewReader(good+"}"))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Authorization", "Bearer "+c.key)
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s with %q: %d; want %d", c.path, c.key, res.StatusCode, c.want)
		}
	}
}
