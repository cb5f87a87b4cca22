package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// sessions is a server that has a list of models, and does with whoever wants to talk what it is told.
type sessions struct {
	*httptest.Server
}

func newSessions(t *testing.T, talk func(w http.ResponseWriter, r *http.Request)) *sessions {
	s := &sessions{}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
	})
	mux.HandleFunc("/v1/realtime", talk)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// saying shakes hands, and then says one thing and listens.
func saying(event map[string]any) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		_ = wsjson.Write(r.Context(), c, map[string]any{"type": "session.created", "session": map[string]any{"type": "realtime"}})
		_ = wsjson.Write(r.Context(), c, event)
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
		}
	}
}

// Doctor opens a session as the appliance would, and where it is refused says what the server said; the key is in no sentence.
func TestDoctorOpensASession(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-the-house"
	refusal := func(code, message string) map[string]any {
		return map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "code": code, "message": message}}
	}
	for _, x := range []struct {
		name            string
		talk            func(w http.ResponseWriter, r *http.Request)
		level           Level
		text, cause, do string
	}{
		{"in order", saying(map[string]any{"type": "session.updated", "session": map[string]any{}}), OK, "opened in", "", ""},
		{"no such model", saying(refusal("model_not_found", "The model 'm' does not exist, says "+key)), Bad, "The model 'm' does not exist, says (the key)", "does not have the model", "voice.model"},
		{"no money", saying(refusal("insufficient_quota", "Pay first\x1b[2J\nplease.")), Bad, "Pay first [2J please.", "no credit", ""},
		{"key refused", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided: %s."}}`, key)
		}, Bad, "Incorrect API key provided: (the key).", "key was refused", "key"},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html>Sign in to the hotel</html>")
		}, Bad, "a web page in its place", "Something else answers", "login"},
		{"not there", http.NotFound, Bad, "404", "Something else answers", "voice.url"},
		{"says nothing", saying(map[string]any{"type": "ping"}), Warn, "no session within", "loads its model", "again"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, x.talk)
			d := diagnose(t, fmt.Sprintf("[voice]\nkind = \"realtime\"\nurl = \"ws%s/v1/realtime\"\nmodel = \"m\"\ntranscription = \"\"\n", strings.TrimPrefix(s.URL, "http")), "OPENAI_API_KEY="+key)
			check := "session"
			if x.name == "key refused" { // which is what has to be mended
				check = "key"
			}
			says(t, d, check, x.level, x.text, x.cause, x.do)
			troubles(t, d)
			for _, f := range d.Findings {
				if text := f.Text + f.Cause + f.Do; strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\n") {
					t.Errorf("the key, or what a terminal would obey, is in: %+v", f)
				}
			}
		})
	}
}
