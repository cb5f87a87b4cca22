package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A wrong entry is named with its line and with what is allowed; the others count, and so does the rest of the file.
func TestPeople(t *testing.T) {
	long := strings.Repeat("a", maxName+1)
	many := make([]string, maxPeople+1)
	for i := range many {
		many[i] = `"` + strings.Repeat("a", i/26+1) + string(rune('a'+i%26)) + `"`
	}
	for value, x := range map[string]struct {
		want   []Person
		reason string // empty: nothing is wrong
	}{
		`["Max", "Lena: kitchen", "Opa Karl:Living room", "Jean-Luc", "Özlem", "凛"]`: {want: []Person{{"Max", ""}, {"Lena", "kitchen"}, {"Opa Karl", "Living room"},
			{"Jean-Luc", ""}, {"Özlem", ""}, {"凛", ""}}},
		`"Max, Lena: kitchen"`:              {want: []Person{{"Max", ""}, {"Lena", "kitchen"}}},
		`[]`:                                {},
		`""`:                                {},
		`["Max", "R2D2", "Lena"]`:           {[]Person{{"Max", ""}, {"Lena", ""}}, `"R2D2" is not how a person is called`},
		`["X", "Lena"]`:                     {[]Person{{"Lena", ""}}, `"X" is not`},
		`["Max", "max: hall"]`:              {[]Person{{"Max", ""}}, `"max: hall" is there twice`},
		`["Max:", "Lena"]`:                  {[]Person{{"Lena", ""}}, "names no device behind the colon"},
		`[": hall", "Lena"]`:                {[]Person{{"Lena", ""}}, "is not how a person is called"},
		`["Max\u001b[2J", "Lena"]`:          {[]Person{{"Lena", ""}}, "is not how a person is called"},
		`["` + long + `", "Lena"]`:          {[]Person{{"Lena", ""}}, "is not how a person is called"},
		"[" + strings.Join(many, ",") + "]": {nil, "is one too many"},
		`7`:                                 {nil, "must be a list of names"},
		`["Max", 7.5]`:                      {nil, "must be a list of names"},
	} {
		file := filepath.Join(t.TempDir(), "conch.toml")
		if err := os.WriteFile(file, []byte("[room]\nchain = 3\npeople = "+value+"\nthreshold = 7\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Load(LoadOptions{File: file, Environ: []string{}, Anyway: true})
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if got := c.Room.Persons(); c.Room.Chain != 3 || c.Room.Threshold != 7 || !slices.Equal(got, x.want) && !strings.Contains(x.reason, "too many") {
			t.Errorf("%s: %+v; want %+v, and the rest of the file", value, got, x.want)
		}
		if strings.Contains(x.reason, "too many") && len(c.Room.Persons()) != maxPeople {
			t.Errorf("%d people", len(c.Room.Persons()))
		}
		text := ""
		if err := c.Refused(); err != nil {
			text = err.Error()
		}
		if (text != "") != (x.reason != "") {
			t.Errorf("%s: %q", value, text)
		}
		for _, part := range []string{x.reason, file + ":3", `"Lena: kitchen"`} {
			if x.reason != "" && !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", value, text, part)
			}
		}
	}
}
