package config

import (
	"strings"
	"testing"

	"conch/device/language"
)

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
