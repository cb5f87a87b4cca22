package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStations(t *testing.T) {
	many := make([]string, maxStations+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"S%d = http://a/%d"`, i, i)
	}
	for _, row := range []struct{ text, want, reason string }{
		{`stations = ["Jazz = https://a/b?c=d", "News=http://b"]`, "[{Jazz https://a/b?c=d} {News http://b}]", ""},
		{"[radio.stations]\nNews = \"http://b\"\n\"Jazz Eins\" = \"http://a\"", "[{Jazz Eins http://a} {News http://b}]", ""},
		{`stations = []`, "[]", ""},
		{`stations = "Jazz = http://a, News = http://b"`, "[{Jazz http://a} {News http://b}]", ""},
		{`stations = ["Jazz = http://a", "News = b", "More = http://c"]`, "[{Jazz http://a} {More http://c}]", `"News" has no address that begins with`},
		{`stations = ["Jazz = file:///a"]`, "[]", `"Jazz" has no address`},
		{`stations = ["Jazz = http://fe80::1/a"]`, "[]", `"Jazz" has no address that can be: an address of IPv6 stands in brackets`},
		{`stations = ["Jazz = http://[::1]:80/a:b:c", "News=http://b?at=1:2:3"]`, "[{Jazz http://[::1]:80/a:b:c} {News http://b?at=1:2:3}]", ""},
		{`stations = ["= http://a"]`, "[]", "is not how a station is called"},
		{`stations = ["Jazz = http://a", "jazz = http://b"]`, "[{Jazz http://a}]", `"jazz" is there twice`},
		{"[radio.stations]\nNews = 5", "[]", `"News" has no address`},
		{`stations = 5`, "[]", "radio.stations = 5: must be a list of names"},
		{"stations = [" + strings.Join(many, ", ") + "]", "", `"S64" is one too many`},
	} {
		file := filepath.Join(t.TempDir(), "conch.toml")
		if err := os.WriteFile(file, []byte("[radio]\n"+row.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(LoadOptions{File: file, Environ: []string{}, Anyway: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Radio.Stations); row.want != "" && got != row.want {
			t.Errorf("%s: %s; want %s", row.text, got, row.want)
		}
		problems := strings.Join(c.Problems, "\n")
		if (problems != "") != (row.reason != "") || !strings.Contains(problems, row.reason) {
			t.Errorf("%s: %q; want %q", row.text, problems, row.reason)
		}
	}
}
