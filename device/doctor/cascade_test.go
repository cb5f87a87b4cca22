package doctor

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"conch/companions/voice/cascadetest"
)

// Doctor looks at each stage of a chain by itself, tells how long it takes, and of what is wrong which stage it is and what to do.
func TestDoctorLooksAtEachStage(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-the-house"
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
		{"a web page in place of speech", cascadetest.Script{Models: []string{"m"}, Say: page}, "", "speak", Bad, "a web page in its place", "Something else answers", "voice.speak"},
		{"sound that cannot be", cascadetest.Script{Models: []string{"m"}, Say: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Claims: 3} }},
			"", "speak", Bad, "sound of 3 samples a second", "", ""},
		{"a program that needs a model", cascadetest.Script{Models: []string{"m"}}, "speak = \"piper\"\n", "voice", Bad, "needs the file of a model", "slip", "voice.speak"},
		{"nobody there to hear", cascadetest.Script{Models: []string{"m"}}, "hear = \"http://127.0.0.1:1\"\n", "hear", Bad, "127.0.0.1", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(cascadetest.New(x.script))
			defer s.Close()
			kind := "kind = \"cascade\"\n"
			if strings.Contains(x.toml, "kind") {
				kind = ""
			}
			d := diagnose(t, fmt.Sprintf("[voice]\n%surl = %q\n%s", kind, s.URL, x.toml), "OPENAI_API_KEY="+key)
			says(t, d, x.check, x.level, x.text, x.cause, x.do)
			troubles(t, d)
			for _, f := range d.Findings {
				if strings.Contains(f.Text+f.Cause+f.Do, key) {
					t.Errorf("the key is in: %+v", f)
				}
			}
		})
	}
}

func page(cascadetest.Request) cascadetest.Reply {
	return cascadetest.Reply{Type: "text/html", Body: "<html>Sign in</html>"}
}
