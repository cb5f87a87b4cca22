package doctor

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/companions/voice/cascadetest"
)

// Doctor looks at each stage of a chain by itself, tells how long it takes, and of what is wrong which stage it is and what to do.
func TestDoctorLooksAtEachStage(t *testing.T) {
	t.Parallel()
	const key, other = "the-key-of-the-house", "the-key-of-the-ear"
	files := t.TempDir()
	for name, text := range map[string]string{"right": key + "\n", "wrong": other, "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A server under another name is another host: the voice's key does not go there.
	ear := func(file string) string {
		return fmt.Sprintf("hear = \"http://localhost:PORT\"\nhear_key_file = %q\n", filepath.Join(files, file))
	}
	keyed := cascadetest.Script{Models: []string{"m"}, Key: key}
	for _, x := range []struct {
		name            string
		script          cascadetest.Script
		toml            string
		check           string
		level           Level
		text, cause, do string
	}{
		{"in order: chat", cascadetest.Script{Models: []string{"m"}}, "", "chat", OK, "model m: the first word after", "", ""},
		{"in order: hear", cascadetest.Script{Models: []string{"m"}}, "", "hear", OK, "a second of sound in", "", ""},
		{"in order: speak", cascadetest.Script{Models: []string{"m"}}, "", "speak", OK, "the first sound after", "", ""},
		{"found out", cascadetest.Script{Models: []string{"m"}}, "kind = \"auto\"\n", "speaks", OK, "chat, found now", "", ""},
		{"another model", cascadetest.Script{Models: []string{"m"}}, "model = \"n\"\n", "chat", Bad, `does not list the model "n"; it has m`, "voice.model", "one of these"},
		{"no model", cascadetest.Script{Models: []string{}}, "", "chat", Bad, "has no model", "pulled", "ollama pull"},
		{"wrong key", cascadetest.Script{Models: []string{"m"}, Key: "another"}, "", "key", Bad, "401", "key", "key"},
		{"a web page in place of speech", cascadetest.Script{Models: []string{"m"}, Say: page}, "", "speak", Bad, "a web page in place of an answer (status 200)", "Something else answers", "voice.speak"},
		{"sound that cannot be", cascadetest.Script{Models: []string{"m"}, Say: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Claims: 3} }},
			"", "speak", Bad, "sound of 3 samples a second", "", ""},
		{"a program that needs a model", cascadetest.Script{Models: []string{"m"}}, "speak = \"piper\"\n", "voice", Bad, "needs the file of a model", "slip", "voice.speak"},
		{"an address of Realtime", cascadetest.Script{}, "kind = \"cascade\"\nurl = \"ws://pc.lan\"\n", "voice", Bad, `voice.url = "ws://pc.lan": must be http://`,
			"slip", "conch check"},
		{"Realtime, and no such address", cascadetest.Script{}, "kind = \"realtime\"\n", "voice", Bad, `must be ws://HOST… or wss://HOST…`, "slip", "conch check"},
		{"nobody there to hear", cascadetest.Script{Models: []string{"m"}}, "hear = \"http://127.0.0.1:1\"\n", "hear", Bad, "127.0.0.1", "", ""},
		{"the voice's key", keyed, "", "speak", OK, "key: the voice's (conch key)", "", ""},
		{"no key", cascadetest.Script{Models: []string{"m"}}, "hear = \"http://localhost:PORT\"\n", "hear", OK, "; no key", "", ""},
		{"a key of its own", keyed, ear("right"), "hear", OK, "key: voice.hear_key_file", "", ""},
		{"another vendor, and no key for it", keyed, "hear = \"http://localhost:PORT\"\n", "key", Bad, "it wants a key, and there is none",
			"the host of voice.url alone", "voice.hear_key_file"},
		{"the wrong key of its own", keyed, ear("wrong"), "key", Bad, "its key is voice.hear_key_file", "", "where this one comes from: voice.hear_key_file"},
		{"a key file of its own that is not there", keyed, ear("gone"), "key", Bad, "voice.hear_key_file: ", "cannot be read", "mode 0600"},
		{"a key file of its own with nothing in it", keyed, ear("empty"), "key", Bad, "must hold the key and nothing else", "cannot be read", "mode 0600"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(cascadetest.New(x.script))
			defer s.Close()
			_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
			kind := "kind = \"cascade\"\n"
			if strings.Contains(x.toml, "kind") {
				kind = ""
			}
			address := fmt.Sprintf("url = %q\n", s.URL)
			if strings.Contains(x.toml, "\nurl") {
				address = ""
			}
			d := diagnose(t, fmt.Sprintf("[voice]\n%s%s%s", kind, address, strings.ReplaceAll(x.toml, "PORT", port)), "OPENAI_API_KEY="+key)
			says(t, d, x.check, x.level, x.text, x.cause, x.do)
			troubles(t, d)
			for _, f := range d.Findings {
				if strings.Contains(f.Text+f.Cause+f.Do, key) || strings.Contains(f.Text+f.Cause+f.Do, other) {
					t.Errorf("the key is in: %+v", f)
				}
			}
		})
	}
}

func page(cascadetest.Request) cascadetest.Reply {
	return cascadetest.Reply{Type: "text/html", Body: "<html>Sign in</html>"}
}

// A model is asked with the prompt of a question: who the companion is, and what it can do. How much that is, and whether the server's context
// is large enough for it, is a row.
func TestDoctorAsksWithTheWholePrompt(t *testing.T) {
	t.Parallel()
	for context, want := range map[int]struct {
		level Level
		text  string
		do    string
		tool  string
	}{
		8192: {OK, "; the prompt has 1", "", "get_time"},
		300:  {Warn, "its context of 300 tokens is small for the prompt (", "8192", ""},
	} {
		t.Run(fmt.Sprint(context), func(t *testing.T) {
			t.Parallel()
			chain := cascadetest.New(cascadetest.Script{Models: []string{"m"}, Before: func(w http.ResponseWriter, _ *http.Request, stage string) bool {
				if stage == cascadetest.List {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"data":[{"id":"m","meta":{"n_ctx":%d}}]}`, context)
				}
				return stage == cascadetest.List
			}})
			s := httptest.NewServer(chain)
			defer s.Close()
			d := diagnose(t, fmt.Sprintf("[voice]\nkind = \"cascade\"\nmodel = \"m\"\nurl = %q\n", s.URL))
			says(t, d, "chat", want.level, want.text, "", want.do)
			body := fmt.Sprint(chain.Requests(cascadetest.Chat)[0].Body)
			if !strings.Contains(body, "You are Ada") || !strings.Contains(body, want.tool) {
				t.Errorf("asked with %s", body)
			}
		})
	}
}
