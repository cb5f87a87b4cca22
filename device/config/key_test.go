package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/device/language"
)

// What editors, shells and files of settings put around a key is none of it, wherever the key comes from.
func TestAKeyIsBare(t *testing.T) {
	const key = "sk-proj-Zq7Kd93m_Xw5TtB1nLr8-Vy2Hc6Jf4Gs0PaEuRiOe="
	wide := "\xff\xfe"
	for _, c := range key + "\r\n" {
		wide += string([]byte{byte(c), 0})
	}
	for _, text := range []string{
		key, "\ufeff" + key + "\r\n", "\r\n " + key + " \t\r", "\u00a0" + key + "\u200b", wide,
		`"` + key + `"`, "'" + key + "'\n", "“" + key + "”", "`" + key + "`", "\ufeff\" " + key + " \"\n",
		"OPENAI_API_KEY=" + key, "export OPENAI_API_KEY=" + key + "\n", `export OPENAI_API_KEY="` + key + `";`, "OPENAI_API_KEY = '" + key + "'",
		"set OPENAI_API_KEY=" + key + "\r\n", `$env:OPENAI_API_KEY = "` + key + `"`, "OPENAI_API_KEY: " + key, `"API_KEY": "` + key + `",`,
		"setx OPENAI_API_KEY " + key, "\ufeffGEMINI_TOKEN=" + key,
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		got["setup"], _, _ = CheckKey(text, language.English)
		got["another file"], _ = ReadSecret(path)
		flags := map[string]string{"voice.key_file": path}
		if c, err := Load(LoadOptions{Environ: []string{}, Flags: flags}); err == nil {
			got["file"] = c.Voice.Key.Reveal()
			got["file, read again"] = c.LiveKey()
		}
		if c, err := Load(LoadOptions{Environ: []string{"OPENAI_API_KEY=" + text}}); err == nil {
			got["environment"] = c.Voice.Key.Reveal()
		}
		for _, from := range []string{"setup", "another file", "file", "file, read again", "environment"} {
			if got[from] != key {
				t.Errorf("%s: %q is %q", from, text, got[from])
			}
		}
	}
	for _, whole := range []string{"abc=", "KEY=", "key=value", "MONKEY-1=2", "sk-a\"b"} { // keys that look like something else
		if got := BareKey(whole); got != whole {
			t.Errorf("%q is %q", whole, got)
		}
	}
}

func TestCheckKey(t *testing.T) {
	const good = "sk-proj-Zq7Kd93mXw5TtB1nLr8Vy2Hc6Jf4Gs0PaEuRiOe"
	for _, c := range []struct{ name, text, key, hint, refused string }{
		{"as copied", good, good, "", ""},
		{"with the line's end", " " + good + "\r\n", good, "", ""},
		{"of another server", "local-0123456789abcdef", "local-0123456789abcdef", "does not begin with sk-", ""},
		{"cut", "sk-proj-Zq7", "sk-proj-Zq7", "shorter", ""},
		{"as long as may be", "sk-" + strings.Repeat("a", MaxKey-3), "sk-" + strings.Repeat("a", MaxKey-3), "", ""},
		{"longer", "sk-" + strings.Repeat("a", MaxKey-2), "", "", "longer than the 4096 bytes"},
		{"nothing", " \n", "", "", "empty"},
		{"two lines", good + "\n" + good, "", "", "more than one line"},
		{"a word before it", "Bearer " + good, "", "", "spaces"},
		{"not ASCII", "sk-ä", "", "", "visible ASCII"},
		{"a control character", "sk-\x00abc", "", "", "visible ASCII"},
		{"a file", "/etc/key", "", "", "name of a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, hint, err := CheckKey(c.text, language.English)
			if key != c.key || !strings.Contains(hint, c.hint) || (c.hint == "") != (hint == "") {
				t.Errorf("key %q, hint %q; want %q and %q", key, hint, c.key, c.hint)
			}
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v; want %q", err, c.refused)
			}
			if err != nil && strings.Contains(err.Error()+hint, "Zq7K") {
				t.Errorf("it repeats the key: %v %s", err, hint)
			}
		})
	}
}
