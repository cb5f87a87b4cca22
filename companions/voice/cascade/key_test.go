package cascade

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
)

// whoAsks notes what key came to which host. What a test takes for a key is all that comes with Authorization.
type whoAsks struct {
	mu   sync.Mutex
	keys map[string]string // by host; those that differ, one behind the other
}

func (a *whoAsks) note(_ http.ResponseWriter, r *http.Request, _ string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keys == nil {
		a.keys = map[string]string{}
	}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !strings.Contains(a.keys[r.Host], "<"+key+">") {
		a.keys[r.Host] += "<" + key + ">"
	}
	return false
}

func (a *whoAsks) all() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.keys)
}

func secret(from, key string) voice.Secret {
	return voice.Secret{From: from, Read: func() (string, error) { return key, nil }}
}

// Three vendors have a key each, and none gets another's: nor with the probe, nor where a stage has none of its own.
func TestEachHostHasItsOwnKey(t *testing.T) {
	for _, row := range []struct {
		name       string
		hear       string
		ear, mouth voice.Secret
		want       map[string]string
	}{
		{"each has one", "http://ear.lan", secret("voice.hear_key_file", "ear-key"), secret("voice.speak_key_file", "mouth-key"),
			map[string]string{"box.lan:8000": "<the-key>", "ear.lan": "<ear-key>", "mouth.lan": "<mouth-key>"}},
		{"none but the voice's", "http://ear.lan", voice.Secret{}, voice.Secret{}, map[string]string{"box.lan:8000": "<the-key>", "ear.lan": "<>", "mouth.lan": "<>"}},
		{"one has none", "http://ear.lan", voice.Secret{}, secret("", "mouth-key"), map[string]string{"box.lan:8000": "<the-key>", "ear.lan": "<>", "mouth.lan": "<mouth-key>"}},
		{"the same host at another port is another", "http://box.lan:9000", voice.Secret{}, voice.Secret{},
			map[string]string{"box.lan:8000": "<the-key>", "box.lan:9000": "<>", "mouth.lan": "<>"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asks whoAsks
			in(t, cascadetest.Script{Models: []string{"m"}, Before: asks.note}, func(s *voice.Settings, _ *voice.Companion, _ *Config) {
				s.Own["hear"], s.Own["speak"] = row.hear, "http://mouth.lan"
				s.HearKey, s.SpeakKey = row.ear, row.mouth
			}, func(w *world) {
				w.answer("t-1", "Hello there.")
				if got := asks.all(); !maps.Equal(got, row.want) {
					t.Errorf("keys %v; want %v", got, row.want)
				}
			})
		})
	}
}

// A key that is refused is told with where it comes from, and never itself; one that is mended there is taken by itself, within seconds.
func TestARefusedKeyOfAStageIsNamedAndMended(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	key := "wrong-ear-key"
	refuse := func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Host != "ear.lan" || r.Header.Get("Authorization") == "Bearer right-ear-key" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided: ` + r.Header.Get("Authorization") + `"}}`))
		return true
	}
	var began bool
	change := func(s *voice.Settings, c *voice.Companion, _ *Config) {
		s.Own["hear"] = "http://ear.lan"
		s.HearKey = voice.Secret{From: "voice.hear_key_file", Read: func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return key, nil
		}}
		c.Log, began = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), true
	}
	within(t, cascadetest.Script{Models: []string{"m"}, Before: refuse}, change, func(w *world) {
		if e := w.first(turn.SessionLost{}).(turn.SessionLost); e.Say != turn.WordsKeyRefused || !e.Fatal {
			t.Errorf("%+v", e)
		}
		mu.Lock()
		key = "right-ear-key"
		mu.Unlock()
		time.Sleep(10 * time.Second) // virtual
		if w.nth(turn.SessionReady{}, 1).(turn.SessionReady).At > 10*time.Second {
			t.Errorf("it takes long until a mended key is seen:\n%s", w.story())
		}
	})
	if text := log.String(); !began || !strings.Contains(text, "voice.hear_key_file") || strings.Contains(text, "ear-key") || strings.Contains(text, "the-key") {
		t.Errorf("logged\n%s", text)
	}
}
