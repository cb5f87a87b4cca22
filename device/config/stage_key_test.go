package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The keys of those who hear and speak are read where keys are: from a file that is named, beside the file that names it, or a credential.
func TestStageKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	credentials := filepath.Join(dir, "credentials")
	if err := os.Mkdir(credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	write("ear", "ear-key\n", 0o600)
	write("wide", "wide-key", 0o644)
	write("two", "one\ntwo", 0o600)
	write("credentials/conch_hear_key", "credential-key\n", 0o400)
	given := "CREDENTIALS_DIRECTORY=" + credentials
	for _, c := range []struct {
		name, line string
		environ    []string
		from, key  string
		err, warns string
	}{
		{name: "none"},
		{name: "beside the file that names it", line: `hear_key_file = "ear"`, from: "voice.hear_key_file", key: "ear-key"},
		{name: "a credential", environ: []string{given}, from: "credential hear_key", key: "credential-key"},
		{name: "what is named is stronger", line: `hear_key_file = "ear"`, environ: []string{given}, from: "voice.hear_key_file", key: "ear-key"},
		{name: "others may read it", line: `hear_key_file = "wide"`, from: "voice.hear_key_file", key: "wide-key", warns: "voice.hear_key_file: " + dir + "/wide: mode 0644"},
		{name: "not there", line: `hear_key_file = "gone"`, from: "voice.hear_key_file", err: "no such file"},
		{name: "two lines", line: `hear_key_file = "two"`, from: "voice.hear_key_file", err: "must hold the key and nothing else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := write("conch.toml", "[voice]\n"+c.line+"\n", 0o600)
			cfg, err := Load(LoadOptions{File: file, Environ: c.environ})
			if err != nil {
				t.Fatal(err)
			}
			from, read := cfg.StageKey("hear")
			if from != c.from || (read == nil) != (c.from == "") {
				t.Fatalf("from %q; want %q", from, c.from)
			}
			if _, other := cfg.StageKey("speak"); other != nil {
				t.Error("who speaks has the key of who hears")
			}
			if read != nil {
				key, err := read()
				if key != c.key || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("%q, %v; want %q, %q", key, err, c.key, c.err)
				}
			}
			if got := strings.Join(cfg.Warnings, "\n"); !strings.Contains(got, c.warns) {
				t.Errorf("warned %q; want %q", got, c.warns)
			}
			missing := strings.Join(cfg.MissingFiles(), "\n")
			if strings.Contains(missing, "voice.hear_key_file") != (c.name == "not there") {
				t.Errorf("missing %q", missing)
			}
		})
	}
	file := write("conch.toml", "[voice]\nspeak_key_file = \"sk-proj-Zq7K\"\n", 0o600)
	if _, err := Load(LoadOptions{File: file, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), "voice.speak_key_file: this is a key") ||
		strings.Contains(err.Error(), "Zq7K") {
		t.Errorf("a key in place of a file: %v", err)
	}
}
