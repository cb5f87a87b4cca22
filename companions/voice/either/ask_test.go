package either

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is behind an address, by what it does when it is asked.
func TestAsk(t *testing.T) {
	upgrade := func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			defer c.CloseNow()
			_, _, _ = c.Read(r.Context())
		}
	}
	mux := func(path string, f http.HandlerFunc) http.Handler {
		m := http.NewServeMux()
		m.HandleFunc(path, f)
		return m
	}
	both := func(f http.HandlerFunc, owner string) http.Handler {
		m := http.NewServeMux()
		m.HandleFunc("/v1/realtime", f)
		m.Handle("/", cascadetest.New(cascadetest.Script{Models: []string{"m"}, Owner: owner}))
		return m
	}
	for _, row := range []struct {
		name   string
		server http.Handler
		path   string
		want   Speaks
		say    turn.Words
	}{
		{"realtime", mux("/v1/realtime", upgrade), "", Realtime, ""},
		{"realtime, below a path", mux("/openai/v1/realtime", upgrade), "/openai/v1", Realtime, ""},
		{"realtime, named whole", mux("/v1/realtime", upgrade), "/v1/realtime", Realtime, ""},
		{"vLLM: a WebSocket that writes down, and answers nothing", both(upgrade, "vllm"), "", Chat, ""},
		{"a WebSocket beside chat", both(upgrade, "localai"), "", Realtime, ""},
		{"a list of models", cascadetest.New(cascadetest.Script{Models: []string{"m"}}), "", Chat, ""},
		{"chat without a list", mux("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"messages is required"}`))
		}), "", Chat, ""},
		{"chat that wants another key", cascadetest.New(cascadetest.Script{Models: []string{"m"}, Key: "another"}), "", "", turn.WordsKeyRefused},
		{"a web page for everything", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>router</html>"))
		}), "", "", turn.WordsElsewhere},
		{"nothing at any path", http.NotFoundHandler(), "", "", turn.WordsElsewhere},
		{"trouble", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }), "", "", turn.WordsServerError},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := httptest.NewServer(row.server)
			defer s.Close()
			client := cascade.Pool(nil)
			defer client.CloseIdleConnections()
			got, err := Ask(t.Context(), client, s.URL+row.path, "the-key")
			say := turn.Words("")
			if err != nil {
				say, _ = kit.WordsOf(err, time.Now())
			}
			if got != row.want || say != row.say {
				t.Errorf("%q, told as %q (%v); want %q, %q", got, say, err, row.want, row.say)
			}
		})
	}
	client := cascade.Pool(nil)
	if _, err := Ask(t.Context(), client, "http://127.0.0.1:1", ""); err == nil {
		t.Error("nobody was found to speak something")
	} else if say, _ := kit.WordsOf(err, time.Now()); say != turn.WordsNotRunning {
		t.Errorf("told as %q: %v", say, err)
	}
}

// A server that has not loaded its model yet is nothing to mend: the doctor says that it loads, whether or not it is known what it speaks.
func TestADoctorWaitsForAServerThatLoads(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`))
	}))
	defer server.Close()
	for part, look := range map[string]func(context.Context, voice.Examined) voice.Findings{"speaks": check, "chat": cascade.Kind().Check} {
		x := voice.Examined{Now: time.Now, Told: func(turn.Words) (string, string) { return "it is broken", "mend it" }}
		x.Settings = voice.Settings{URL: server.URL, ModelAssumed: true, Key: func() string { return "" },
			Own: map[string]string{"hear": "pocketsphinx", "speak": "espeak-ng"}}
		said := false
		for _, f := range look(t.Context(), x) {
			if f.Part == part {
				said = f.Level == voice.Warn && f.Cause == "the server loads its model" && strings.HasPrefix(f.Do, "wait, ")
				if !said {
					t.Errorf("%s: %+v", part, f)
				}
			}
		}
		if !said {
			t.Errorf("nothing is said of %s", part)
		}
	}
}
