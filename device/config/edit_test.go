package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSettingsAreEditedInPlace(t *testing.T) {
	pin := []Edit{{"button.pin", "23"}}
	for _, c := range []struct {
		name, before, after string
		edits               []Edit
	}{
		{"an empty file", "", "[button]\npin = 23\n", pin},
		{"a file without the section", "[audio]\nvolume = 40", "[audio]\nvolume = 40\n\n[button]\npin = 23\n", pin},
		{"a key that is set", "[button]\nmode = \"tap\"\npin = 17\n", "[button]\nmode = \"tap\"\npin = 23\n", pin},
		{"a comment behind it stays", "[button]\npin   =  17  # the big red one\n", "[button]\npin   = 23  # the big red one\n", pin},
		{"a # in a value is no comment", "[device]\nboard = \"a#b\" # mine\n", "[device]\nboard = \"aiy-v1\" # mine\n", []Edit{{"device.board", `"aiy-v1"`}}},
		{"behind the line that is commented out", "[button]\n# BCM number.\n#pin = 17\n\n# Level.\n#active = \"low\"\n\n[light]\n",
			"[button]\n# BCM number.\n#pin = 17\npin = 23\n\n# Level.\n#active = \"low\"\nactive = \"high\"\n\n[light]\n", []Edit{{"button.pin", "23"}, {"button.active", `"high"`}}},
		{"behind it, though others follow", "[button]\n#pin = 17\nmode = \"tap\"\n", "[button]\n#pin = 17\npin = 23\nmode = \"tap\"\n", pin},
		{"at the end of its section", "[button]\nmode = \"tap\"\n\n# next\n[light]\ninvert = true\n", "[button]\nmode = \"tap\"\npin = 23\n\n# next\n[light]\ninvert = true\n", pin},
		{"a key of that name elsewhere", "[a]\npin = 1\n[button]\n[b]\npin = 2\n", "[a]\npin = 1\n[button]\npin = 23\n[b]\npin = 2\n", pin},
		{"indented, with tabs", "[button]\n\tpin = 17\n", "[button]\n\tpin = 23\n", pin},
		{"as Windows ends lines", "[button]\r\n# mine\r\npin = 17 # red\r\n", "[button]\r\n# mine\r\npin = 23 # red\r\n", pin},
		{"and where it ends the last one not", "[button]\r\nmode = \"tap\"", "[button]\r\nmode = \"tap\"\r\npin = 23\r\n", pin},
		{"a word that only ends like it", "[button]\npins = 17\n", "[button]\npins = 17\npin = 23\n", pin},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(c.before, c.edits)
			if err != nil || got != c.after {
				t.Errorf("%v\n got %q\nwant %q", err, got, c.after)
			}
		})
	}
}

func TestFilesThatCannotBeEditedAreLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"an inline table":           "button = {pin = 17}\n",
		"dotted keys":               "button.pin = 17\n",
		"a key in quotes":           "[button]\n\"pin\" = 17\n",
		"a section twice":           "[button]\npin = 17\n[button]\n",
		"a text of several lines":   "[voice]\ninstructions = \"\"\"\n[button]\npin = 17\n\"\"\"\n",
		"a mistake":                 "[button\npin = 17\n",
		"a text that looks like it": "[button]\nchip = '''\npin = 1\n'''\npin = 23\n",
	} {
		if got, err := Apply(text, []Edit{{"button.pin", "23"}}); err == nil {
			t.Errorf("%s becomes\n%s\nwant an error", name, got)
		}
	}
}

// Whatever of the example is commented out, a setting goes in, alone.
func TestExampleIsEditedWhateverIsCommentedOut(t *testing.T) {
	example, err := os.ReadFile("conch.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	all := keys(&c)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for line := range strings.Lines(string(example)) {
			if strings.Contains(line, " = ") && !strings.HasPrefix(line, "#") && rapid.Bool().Draw(t, "commented") {
				line = rapid.SampledFrom([]string{"#", "# "}).Draw(t, "mark") + line
			}
			text.WriteString(line)
		}
		k := rapid.SampledFrom(all).Draw(t, "key")
		after, err := Apply(text.String(), []Edit{{k.name, k.show()}})
		if err != nil {
			t.Fatalf("%s = %s: %v\n%s", k.name, k.show(), err, text.String())
		}
		if n := strings.Count(Diff(text.String(), after), "\n"); n > 2 {
			t.Fatalf("%s: %d lines change:\n%s", k.name, n, Diff(text.String(), after))
		}
	})
}

func TestDifferencesAreShownAsDiffDoes(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\nb\nc\n", "a\nB\nc\n", "-b\n+B\n"},
		{"a\nc\n", "a\nb\nc\n", "+b\n"},
		{"a\nb\nc\n", "a\nc\n", "-b\n"},
		{"", "[button]\npin = 5\n", "+[button]\n+pin = 5\n"},
		{"a\n", "a\n", ""},
		{"a\nb\n", "a\nx\ny\nb\n", "+x\n+y\n"},
	} {
		if got := Diff(c.before, c.after); got != c.want {
			t.Errorf("%q -> %q:\n got %q\nwant %q", c.before, c.after, got, c.want)
		}
	}
}

// The service reads the file as before: rights stay, a link stays a link, and nothing is left lying about.
func TestFileIsReplacedAsItWas(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.toml"), filepath.Join(dir, "conch.toml")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.toml", link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, "new"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	data, _ := os.ReadFile(path)
	if err != nil || info.Mode().Perm() != 0o640 || string(data) != "new" {
		t.Errorf("%v, %v, %q; want 0640 and new", err, info.Mode(), data)
	}
	if target, err := os.Readlink(link); err != nil || target != "real.toml" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if err := Replace(filepath.Join(dir, "sub/new.toml"), "x"); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*toml*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A link that leads nowhere is not replaced by a file: that would not be where somebody keeps it.
func TestALinkThatLeadsNowhereStays(t *testing.T) {
	link := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.Symlink("gone.toml", link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, "new"); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("%v; want that it leads nowhere", err)
	}
	if target, err := os.Readlink(link); err != nil || target != "gone.toml" {
		t.Errorf("the link is %q, %v", target, err)
	}
}
