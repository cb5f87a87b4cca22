package device

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write conch.example.toml from the table of keys")

// example is the shipped file: every key with its default, what it is and what is allowed.
func example() string {
	c := Default()
	var b strings.Builder
	b.WriteString("# conch.toml: every key with its default. An empty file means the same.\n" +
		"# Places: --config FILE, else $XDG_CONFIG_HOME/conch/conch.toml, else /etc/conch/conch.toml.\n" +
		"# Stronger than this file: environment (CONCH_AUDIO_VOLUME=50), and stronger still: flags.\n")
	section := ""
	for _, k := range keys(&c) {
		s, name, _ := strings.Cut(k.name, ".")
		if s != section {
			section = s
			fmt.Fprintf(&b, "\n[%s]\n", s)
		} else {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s\n# Allowed: %s.\n%s = %s\n", capital(k.about), k.allowed, name, k.show())
	}
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func TestExampleEqualsTheDefaults(t *testing.T) {
	const name = "conch.example.toml"
	if *update {
		if err := os.WriteFile(name, []byte(example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != example() {
		t.Errorf("%s differs from the table of keys; go test ./device -run Example -update writes it", name)
	}
	c, err := Load(LoadOptions{File: name, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Load(LoadOptions{Environ: []string{}, File: writeFile(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range c.Describe() {
		if want := empty.Describe()[i]; row.Key != want.Key || row.Value != want.Value {
			t.Errorf("%s = %s in the example; an empty file gives %s", row.Key, row.Value, want.Value)
		}
		if row.Key != "voice.key" && !strings.HasPrefix(row.Origin, "file conch.example.toml:") &&
			!strings.HasPrefix(row.Origin, "default (") {
			t.Errorf("%s comes from %q, so it is not in the example", row.Key, row.Origin)
		}
	}
}

func writeFile(t testing.TB, text string) string {
	t.Helper()
	name := t.TempDir() + "/conch.toml"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
