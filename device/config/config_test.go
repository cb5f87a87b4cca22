package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/companions/voice/kinds"
	"conch/device/language"
	"conch/device/printable"
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
	l := &loader{config: &c}
	for _, of := range l.tables() { // as many as wanted, and none by default
		fmt.Fprintf(&b, "\n# As many as wanted, each with a name of %s:\n# [%s.NAME]\n", of.names, of.name)
		fields, _ := of.begin("name")
		for _, f := range fields {
			fmt.Fprintf(&b, "#\n# %s\n# Allowed: %s.\n# %s = %s\n", capital(f.about), f.allowed, f.name, f.example)
		}
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
		t.Errorf("%s differs from the table of keys; go test ./device/config -run Example -update writes it", name)
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
		if row.Key != "voice.key" && row.Key != "mcp" && row.Key != "home" && !strings.HasPrefix(row.Origin, "file conch.example.toml:") &&
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

// The longest test of the configuration: what a person may write, and what is said about it.
func TestConfigRefusals(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"period too long", "[audio]\nperiod_ms = 80\n", "config: audio.period_ms = 80: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period too short", "[audio]\nperiod_ms = 1.9\n", "config: audio.period_ms = 1.9: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period as text", "[audio]\nperiod_ms = \"5ms\"\n", "config: audio.period_ms = \"5ms\": must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period not a number", "[audio]\nperiod_ms = nan\n", "config: audio.period_ms = NaN: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period infinite", "[audio]\nperiod_ms = inf\n", "config: audio.period_ms = +Inf: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period a list", "[audio]\nperiod_ms = [5]\n", "config: audio.period_ms = [5]: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"period a date", "[audio]\nperiod_ms = 2026-01-01\n", "config: audio.period_ms = 2026-01-01 00:00:00 +0000 date-local: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:2"},
		{"one period", "[audio]\nperiods = 1\n", "config: audio.periods = 1: must be 0, or a whole number, 2 to 16 (one cannot be filled while it plays, more than 16 only delay); set by file FILE:2"},
		{"half a period", "[audio]\nperiods = 2.5\n", "config: audio.periods = 2.5: must be 0, or a whole number, 2 to 16 (one cannot be filled while it plays, more than 16 only delay); set by file FILE:2"},
		{"fade too long", "[audio]\nfade_ms = 10\n", "config: audio.fade_ms = 10: must be 1 to 5 (shorter clicks, longer is late); set by file FILE:2"},
		{"negative pre-roll", "[audio]\npreroll_ms = -1\n", "config: audio.preroll_ms = -1: must be 0 to 1000; set by file FILE:2"},
		{"pre-roll of a minute", "[audio]\npreroll_ms = 60000\n", "config: audio.preroll_ms = 60000: must be 0 to 1000; set by file FILE:2"},
		{"too loud", "[audio]\nvolume = 101\n", "config: audio.volume = 101: must be a whole number, 0 to 100; set by file FILE:2"},
		{"volume beyond all numbers", "[audio]\nvolume = 9223372036854775807\n", "config: audio.volume = 9223372036854775807: must be a whole number, 0 to 100; set by file FILE:2"},
		{"cues by word", "[audio]\ncues = \"on\"\n", "config: audio.cues = \"on\": must be true or false; set by file FILE:2"},
		{"unknown backend", "[audio]\nbackend = \"jack\"\n", "config: audio.backend = \"jack\": must be auto, alsa, pulse or null; set by file FILE:2"},
		{"a device of two lines", "[audio]\nplayback = \"a\\nb\"\n", "config: audio.playback = \"a\\nb\": must be one line of text, at most 1024 bytes; set by file FILE:2"},
		{"a pin that does not exist", "[button]\npin = 40\n", "config: button.pin = 40: must be a whole number, 0 to 27 (the BCM number, not the position on the header); set by file FILE:2"},
		{"a pin by name", "[button]\npin = \"GPIO17\"\n", "config: button.pin = \"GPIO17\": must be a whole number, 0 to 27 (the BCM number, not the position on the header); set by file FILE:2"},
		{"a press too short to be one", "[button]\npress_ms = 4\n", "config: button.press_ms = 4: must be 5 to 50 (clicks of the mains and static are 5 to 20 ms long, and a finger is not quicker than 50); set by file FILE:2"},
		{"a press too long to be missed", "[button]\npress_ms = 50.1\n", "config: button.press_ms = 50.1: must be 5 to 50 (clicks of the mains and static are 5 to 20 ms long, and a finger is not quicker than 50); set by file FILE:2"},
		{"unknown mode", "[button]\nmode = \"toggle\"\n", "config: button.mode = \"toggle\": must be hold, tap or hybrid; set by file FILE:2"},
		{"mode in capitals", "[button]\nmode = \"Hold\"\n", "config: button.mode = \"Hold\": must be hold, tap or hybrid; set by file FILE:2"},
		{"unknown source", "[button]\nsource = \"mouse\"\n", "config: button.source = \"mouse\": must be auto, gpio, evdev, keyboard, lines or none; set by file FILE:2"},
		{"unknown level", "[button]\nactive = 0\n", "config: button.active = 0: must be low or high; set by file FILE:2"},
		{"unknown bias", "[button]\nbias = \"strong\"\n", "config: button.bias = \"strong\": must be auto, up, down or off; set by file FILE:2"},
		{"a name of two lines", "[device]\nname = \"a\\nb\"\n", "config: device.name = \"a\\nb\": must be empty, or a name of at most 64 bytes, in any script and with spaces, that can be shown on one line and is no id; set by file FILE:2"},
		{"a name that turns the line round", "[device]\nname = \"\u202eabc\"\n", "config: device.name = \"\u202eabc\": must be empty, or a name of at most 64 bytes, in any script and with spaces, that can be shown on one line and is no id; set by file FILE:2"},
		{"an id for a name", "[device]\nname = \"fwpqmvaxjuvugrnc65zj\"\n", "config: device.name = \"fwpqmvaxjuvugrnc65zj\": must be empty, or a name of at most 64 bytes, in any script and with spaces, that can be shown on one line and is no id; set by file FILE:2"},
		{"a long name is shown short", "[device]\nname = \"" + strings.Repeat("x", 100) + "\"\n",
			"config: device.name = \"" + strings.Repeat("x", 56) + "…: must be empty, or a name of at most 64 bytes, in any script and with spaces, that can be shown on one line and is no id; set by file FILE:2"},
		{"a language that there is not", "[device]\nlanguage = \"deutsch\"\n", "config: device.language = \"deutsch\": must be empty, or up to 4 codes of languages with commas between, as in \"de\" or \"de,en\" (conch itself speaks de (Deutsch), en (English), es (Español) or fr (Français)); set by file FILE:2"},
		{"no companion", "[device]\ncompanion = \"\"\n", "config: device.companion = \"\": must be a list of names, as in [\"Ada\", \"Ben\"], at most 32 bytes each; set by file FILE:2"},
		{"ftp is no voice", "[voice]\nurl = \"ftp://localhost/v1\"\n", "config: voice.url = \"ftp://localhost/v1\": must be ws://HOST…, wss://HOST…, http://HOST… or https://HOST…; set by file FILE:2"},
		{"no host", "[voice]\nurl = \"wss:///v1\"\n", "config: voice.url = \"wss:///v1\": must be ws://HOST…, wss://HOST…, http://HOST… or https://HOST…; set by file FILE:2"},
		{"no model", "[voice]\nmodel = \" \"\n", "config: voice.model = \" \": must be one line of text, 1 to 1024 bytes; set by file FILE:2"},
		{"unknown dialect", "[voice]\ndialect = \"beta\"\n", "config: voice.dialect = \"beta\": must be auto, ga, azure, localai, speaches, speech-to-speech, xai or qwen; set by file FILE:2"},
		{"unknown kind", "[voice]\nkind = \"oracle\"\n", "config: voice.kind = \"oracle\": must be " + orList(append([]string{"auto"}, kinds.Names()...)) + "; set by file FILE:2"},
		{"a ceiling in money without prices", "[voice]\nmodel = 'own'\nceiling_cost = 2\n", "config: voice.ceiling_cost = 2: voice.model = \"own\" has no price at voice.url = \"wss://api.openai.com/v1/realtime\": set voice.price_in and voice.price_out, or voice.ceiling_tokens instead"},
		{"negative ceiling", "[voice]\nceiling_tokens = -5\n", "config: voice.ceiling_tokens = -5: must be a whole number, 0 to 1000000000; set by file FILE:2"},
		{"negative price", "[voice]\nprice_in = -0.5\n", "config: voice.price_in = -0.5: must be 0 to 100000; set by file FILE:2"},
		{"the key in the file", "[voice]\nkey = \"sk-secret\"\n", "config: voice.key: unknown key (a key does not belong here; put it into a file of its own and name that in voice.key_file); set by file FILE:2"},
		{"the key as the name of its file", "[voice]\nkey_file = \"sk-secret\"\n", "config: voice.key_file: this is a key, not the name of a file; put it into a file of mode 0600 and name that; set by file FILE:2"},
		{"a key file that is not there", "[voice]\nkey_file = \"/nonexistent/key\"\n", "config: voice.key_file: /nonexistent/key: no such file or directory"},
		{"a key file that is a directory", "[voice]\nkey_file = \"/\"\n", "config: voice.key_file: /: is a directory, not a file"},
		{"a deadline of no time", "[turn]\ncommit_s = 0\n", "config: turn.commit_s = 0: must be 1 to 120; set by file FILE:2"},
		{"a directory that is relative", "[state]\ndir = \"here\"\n", "config: state.dir = \"here\": must be an absolute path, or empty; set by file FILE:2"},
		{"unknown level of logs", "[log]\nlevel = \"trace\"\n", "config: log.level = \"trace\": must be debug, info, warn or error; set by file FILE:2"},
		{"a mistyped key", "[audio]\nperiod = 5\n", "config: audio.period: unknown key (did you mean audio.periods?); set by file FILE:2"},
		{"a mistyped section", "[adio]\nperiod_ms = 5\n", "config: [adio]: unknown section (did you mean [audio]?); set by file FILE:1"},
		{"a key without its section", "volume = 5\n", "config: volume: unknown key (did you mean audio.volume?); set by file FILE:1"},
		{"a key nobody knows", "[audio]\nequaliser_bands = 5\n", "config: audio.equaliser_bands: unknown key (conch check lists the keys); set by file FILE:2"},
		{"a section as a value", "audio = 5\n", "config: audio = 5: must be a section, written [audio]; set by file FILE:1"},
		{"a section as a list", "[[audio]]\nvolume = 5\n", "config: audio = a list of tables: must be a section, written [audio]; set by file FILE:1"},
		{"broken TOML", "[audio]\nvolume = \n", "config: FILE:2: volume: there is no value behind ="},
		{"a key twice", "[audio]\nvolume = 1\nvolume = 2\n", "config: FILE:3: audio.volume is set twice: keep one of the two lines"},
		{"not UTF-8", "[audio]\n# \xff\n", "config: FILE:2: not UTF-8 text"},
		{"zeros", "[audio]\n\x00", "config: FILE:2: there are zero bytes, as a power cut leaves them: write the file again, or take a copy (UTF-8)"},
		{"everything at once, in the order of the file", "[audio]\nvolume = 200\nperiod_ms = 80\n[log]\nlevel = 1\n[audi]\n",
			"config: audio.volume = 200: must be a whole number, 0 to 100; set by file FILE:2\n" +
				"config: audio.period_ms = 80: must be 2 to 20 (a longer period cannot keep the 30 ms promise); set by file FILE:3\n" +
				"config: log.level = 1: must be debug, info, warn or error; set by file FILE:5\n" +
				"config: [audi]: unknown section (did you mean [audio]?); set by file FILE:6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeFile(t, c.in)
			_, err := Load(LoadOptions{File: file, Environ: []string{}})
			if err == nil {
				t.Fatalf("%q is accepted", c.in)
			}
			if got := strings.ReplaceAll(err.Error(), file, "FILE"); got != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.in, got, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error("the message shows the secret")
			}
		})
	}
}

// What is no file of a sensible size is refused, and nothing waits or fills the memory.
func TestConfigFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	fifo := dir + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	huge := dir + "/huge"
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 30); err != nil { // sparse
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{dir, "is a directory, not a file"},
		{fifo, "is not a regular file (p---------)"},
		{"/dev/zero", "is not a regular file (Dc---------)"},
		{huge, "has 1073741824 bytes, more than the 262144 allowed"},
		{dir + "/absent", "no such file or directory"},
		{dir + "/a\x00b", "invalid argument"},
	} {
		_, err := Load(LoadOptions{File: c.path, Environ: []string{}})
		if want := "config: " + c.path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("Load(%q) = %v\nwant %s", c.path, err, want)
		}
	}
}

func row(c *Config, key string) Row {
	for _, r := range c.Describe() {
		if r.Key == key {
			return r
		}
	}
	return Row{}
}

func TestConfigPrecedence(t *testing.T) {
	file := writeFile(t, "[audio]\nvolume = 10\nperiod_ms = 2.5\n[log]\nlevel = \"debug\"\n")
	c, err := Load(LoadOptions{
		File:    file,
		Environ: []string{"CONCH_AUDIO_VOLUME=20", "CONCH_LOG_LEVEL=warn", "CONCH_HOME=/elsewhere"},
		Flags:   map[string]string{"audio.volume": "30", "audio.cues": "false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Row{
		{"audio.volume", "30", "flag"},
		{"audio.cues", "false", "flag"},
		{"log.level", `"warn"`, "environment CONCH_LOG_LEVEL"},
		{"audio.period_ms", "2.5", "file " + file + ":3"},
		{"audio.periods", "0", "default"},
		{"voice.key", "unset", "default"},
	} {
		if got := row(c, want.Key); got != want {
			t.Errorf("got %v; want %v", got, want)
		}
	}
	if c.Audio.Volume != 30 || c.Audio.Period != 2500*time.Microsecond || c.Log.Slog() != slog.LevelWarn {
		t.Errorf("got %+v", c)
	}
	_, err = Load(LoadOptions{
		File:    file,
		Environ: []string{"CONCH_AUDIO_VOLUMEN=20", "CONCH_BUTTON_PIN=17a"},
		Flags:   map[string]string{"audio.volumes": "1"},
	})
	const want = "config: CONCH_AUDIO_VOLUMEN: unknown environment variable (did you mean CONCH_AUDIO_VOLUME?)\n" +
		"config: button.pin = \"17a\": must be a whole number, 0 to 27 (the BCM number, not the position on the header); set by environment CONCH_BUTTON_PIN\n" +
		"config: audio.volumes: unknown key (did you mean audio.volume?); set by flag"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestConfigIsFound(t *testing.T) {
	home := t.TempDir()
	write := func(path string) string {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write(".config/conch/conch.toml")
	xdg := write("xdg/conch/conch.toml")
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"HOME=" + home}, own},
		{[]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/xdg"}, xdg},
		{[]string{"HOME=" + home, "XDG_CONFIG_HOME=not/absolute"}, own},
	} {
		if got := Find(c.environ); got != c.want {
			t.Errorf("Find(%v) = %q; want %q", c.environ, got, c.want)
		}
	}
}

func TestStateDirectories(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skipf("the system does not know this user: %v", err)
	}
	home := me.HomeDir
	for _, c := range []struct {
		environ      []string
		dir, runtime string
	}{
		{[]string{"STATE_DIRECTORY=/var/lib/conch:/var/lib/more", "RUNTIME_DIRECTORY=/run/conch", "HOME=/h"}, "/var/lib/conch", "/run/conch"},
		{[]string{"XDG_STATE_HOME=/s", "XDG_RUNTIME_DIR=/r", "HOME=/h"}, "/s/conch", "/r/conch"},
		{[]string{"HOME=/h", "XDG_RUNTIME_DIR=relative", "TMPDIR=/t"}, "/h/.local/state/conch", "/h/.local/state/conch"},
		{[]string{"TMPDIR=/t"}, home + "/.local/state/conch", home + "/.local/state/conch"}, // of the user, as the system knows it
		{[]string{"CONCH_STATE_DIR=/mine", "STATE_DIRECTORY=/var/lib/conch", "CONCH_STATE_RUNTIME=/run/mine"}, "/mine", "/run/mine"},
	} {
		got, err := Load(LoadOptions{File: writeFile(t, ""), Environ: c.environ})
		if err != nil {
			t.Fatal(err)
		}
		if got.State.Dir != c.dir || got.State.Runtime != c.runtime {
			t.Errorf("%v: %q and %q; want %q and %q", c.environ, got.State.Dir, got.State.Runtime, c.dir, c.runtime)
		}
	}
}

// By hand it is the language of whoever types, in the service English, whatever the system's; who sets the key is asked nothing more.
func TestLanguage(t *testing.T) {
	for _, c := range []struct {
		file    string
		environ []string
		want    language.Language
		unset   bool
	}{
		{"", nil, "en", true},
		{"", []string{"LANG=de_DE.UTF-8"}, "de", true},
		{"", []string{"LANG=de_DE.UTF-8", "LC_MESSAGES=fr_FR"}, "fr", true},
		{"", []string{"LANG=de_DE.UTF-8", "STATE_DIRECTORY=/var/lib/conch"}, "en", true},
		{"[device]\nlanguage = \"es\"\n", []string{"LANG=de_DE.UTF-8"}, "es", false},
		{"[device]\nlanguage = \"es\"\n", []string{"STATE_DIRECTORY=/var/lib/conch"}, "es", false},
		{"[device]\nlanguage = \"\"\n", []string{"LANG=de_DE.UTF-8"}, "de", true},
		{"", []string{"LANG=de_DE.UTF-8", "CONCH_DEVICE_LANGUAGE=en"}, "en", false},
		{"", []string{"LANG=ja_JP.UTF-8"}, "en", true},
		{"[device]\nlanguage = \"de,en\"\n", nil, "de", false},
		{"[device]\nlanguage = \"ja, fr\"\n", nil, "fr", false}, // the first that conch has words in
		{"[device]\nlanguage = \"it\"\n", []string{"LANG=de_DE.UTF-8"}, "en", false},
	} {
		got, err := Load(LoadOptions{File: writeFile(t, c.file), Environ: c.environ})
		if err != nil {
			t.Fatal(err)
		}
		if got.Device.Language != c.want || got.Unset("device.language") != c.unset {
			t.Errorf("%q, %v: %s, unset: %v; want %s, %v", c.file, c.environ, got.Device.Language, got.Unset("device.language"), c.want, c.unset)
		}
	}
}

func TestKeyComesFromTheStrongestPlace(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine, credential := put("mine", "sk-mine\n"), put("openai_api_key", "sk-credential")
	config := put("conch.toml", "[voice]\nkey_file = \"mine\"\n") // beside it
	empty := put("empty.toml", "")
	broken := put("broken", "sk-a sk-b\n")
	packaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(packaged, "conch_openai_api_key"), []byte("sk-packaged\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	const env = "OPENAI_API_KEY=sk-environment"
	for _, c := range []struct {
		name    string
		options LoadOptions
		want    string
		origin  string
	}{
		{"none", LoadOptions{File: empty}, "", "default"},
		{"systemd's credential", LoadOptions{File: empty, Environ: []string{"CREDENTIALS_DIRECTORY=" + dir}}, "sk-credential", "credential openai_api_key"},
		{"the configuration's file before it", LoadOptions{File: config, Environ: []string{"CREDENTIALS_DIRECTORY=" + dir}}, "sk-mine", "file " + mine},
		{"the environment before that", LoadOptions{File: config, Environ: []string{env, "CREDENTIALS_DIRECTORY=" + dir}}, "sk-environment", "environment OPENAI_API_KEY"},
		{"a file by flag before all", LoadOptions{File: config, Environ: []string{env}, Flags: map[string]string{"voice.key_file": credential}}, "sk-credential", "file " + credential},
		{"a rehearsal needs none", LoadOptions{File: config, Environ: []string{env}, Flags: map[string]string{"voice.kind": "rehearsal"}}, "", "default"},
		{"systemd's credential out of a directory", LoadOptions{File: empty, Environ: []string{"CREDENTIALS_DIRECTORY=" + packaged}}, "sk-packaged", "credential openai_api_key"},
		{"no credential of that name", LoadOptions{File: empty, Environ: []string{"CREDENTIALS_DIRECTORY=/nonexistent"}}, "", "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.options.Environ == nil {
				c.options.Environ = []string{}
			}
			got, err := Load(c.options)
			if err != nil {
				t.Fatal(err)
			}
			if got.Voice.Key.Reveal() != c.want || row(got, "voice.key").Origin != c.origin {
				t.Errorf("got %q from %q; want %q from %q", got.Voice.Key.Reveal(), row(got, "voice.key").Origin, c.want, c.origin)
			}
		})
	}
	_, err := Load(LoadOptions{File: empty, Environ: []string{}, Flags: map[string]string{"voice.key_file": broken}})
	if want := "config: voice.key: must be one line of visible ASCII characters and nothing else; set by file " + broken; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if err := os.Chmod(mine, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(LoadOptions{File: config, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "config: voice.key_file: " + mine + ": mode 0644 lets others read the key; " + printable.Chmod("600", mine); len(c.Warnings) != 1 || c.Warnings[0] != want {
		t.Errorf("warnings %q; want %q", c.Warnings, want)
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	s := NewSecret("sk-secret")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s, "voice", Voice{Key: s})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", s, "voice", Voice{Key: s})
	j, err := json.Marshal(Voice{Key: s})
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(j) + fmt.Sprintf("%s %v %+v %#v %q %x %d %#v %v", s, s, s, s, s, s, s, Voice{Key: s}, &Voice{Key: s})
	for _, leak := range []string{"sk-", fmt.Sprintf("%x", "sk-")} {
		if strings.Contains(all, leak) {
			t.Errorf("it leaks: %s", all)
		}
	}
	if s.String() != "set" || NewSecret("").String() != "unset" {
		t.Errorf("String gives %q and %q", s.String(), NewSecret("").String())
	}
}

// What is accepted, and yet said.
func TestConfigWarnings(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{ // want "": none
		{"nothing to say", "", ""},
		{"the promise cannot be kept", "[audio]\nperiod_ms = 10\n",
			"config: audio: on a card that does not give back what it has not played, 3 x 10ms and a fade of 2ms take up to 42ms from a press to silence, more than the 30 ms promised"},
		{"a tool outlives its turn", "[turn]\ntool_s = 20.5\n",
			"config: turn.tool_s = 20.5 is longer than turn.next_s = 15: a turn is given up after 15s, whatever its tool still does; raise turn.next_s"},
		{"a turn shorter than the default's tool", "[turn]\nnext_s = 5\n",
			"config: turn.tool_s = 10 is longer than turn.next_s = 5: a turn is given up after 5s, whatever its tool still does; raise turn.next_s"},
		{"a tool that takes all of its turn", "[turn]\ntool_s = 15\n", ""},
		{"one port for the room and for calls", "[room]\nport = 7484\n",
			"config: room.port and intercom.port are both 7484, and only one of them can have it; set one of them to another number"},
		{"one port for the room and its broker", "[room]\nbroker = \"embedded\"\nlisten = \"127.0.0.1:7483\"\nport = 7483\n",
			"config: room.port and room.listen are both 7483, and only one of them can have it; set one of them to another number"},
		{"one port, and nobody who calls", "[room]\nport = 7484\n[intercom]\nenabled = false\n", ""},
		{"an old name", "[light]\nquiet = \"22:00-07:00\"\n", "config: light.quiet is called device.quiet now: write it so; set by file FILE:2"},
		{"both raised", "[turn]\nnext_s = 40\ntool_s = 30\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeFile(t, c.in)
			got, err := Load(LoadOptions{File: file, Environ: []string{"RUNTIME_DIRECTORY=/run/conch"}})
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.ReplaceAll(strings.Join(got.Warnings, "\n"), file, "FILE"); all != c.want {
				t.Errorf("got %q; want %q", all, c.want)
			}
		})
	}
	if bound := Default().Audio.Bound(); bound != 22*time.Millisecond {
		t.Errorf("the default's bound is %s; want 22ms", bound)
	}
}

func TestHostLabel(t *testing.T) {
	for in, want := range map[string]string{
		"kitchen": "kitchen", "kitchen.local": "kitchen", "küche pi": "k-che-pi", "": "conch", "...": "conch",
		strings.Repeat("a", 40): strings.Repeat("a", 32),
	} {
		if got := hostLabel(in); got != want {
			t.Errorf("hostLabel(%q) = %q; want %q", in, got, want)
		}
	}
}

// Whatever the bytes: no panic, no wait; what is accepted reads the same again after it was written.
func FuzzConfig(f *testing.F) {
	f.Add(example())
	f.Add("[audio]\nvolume = 5\n[[audio]]\n")
	f.Add("a = {b = {c = [1, 2, {d = 1}]}}\n\"\\u0000\" = 1\n'[x]' = nan\n")
	f.Add("voice.key = \"sk-\"\n\"voice.instructions\" = '''\nx = 1'''\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		l := loader{config: &c, keys: make(map[string]key)}
		for _, k := range keys(&c) {
			l.keys[k.name] = k
		}
		l.parse("fuzz", []byte(text))
		for _, p := range l.problems {
			if !strings.HasPrefix(p, "config: ") || strings.ContainsAny(p, "\x00\x1b") || len(p) > 2000 {
				t.Fatalf("problem %q", p)
			}
		}
		if len(l.problems) > 0 {
			return
		}
		again := Default()
		l = loader{config: &again, keys: make(map[string]key)}
		for _, k := range keys(&again) {
			l.keys[k.name] = k
			section, name, _ := strings.Cut(k.name, ".")
			l.parse("again", []byte(fmt.Sprintf("[%s]\n%s = %s\n", section, name, showKeyOf(&c, k.name))))
		}
		if len(l.problems) > 0 {
			t.Fatalf("written and read again: %q", l.problems)
		}
		c.origin, again.origin, c.Warnings, again.Warnings = nil, nil, nil, nil
		if !reflect.DeepEqual(c, again) {
			t.Fatalf("written and read again:\n%+v\n%+v", c, again)
		}
	})
}

func showKeyOf(c *Config, name string) string {
	for _, k := range keys(c) {
		if k.name == name {
			return k.show()
		}
	}
	return ""
}

func TestMembersAreIDs(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("a2", 10)
	for value, ok := range map[string]bool{
		"": true, good: true, good + ", " + good: true, good + "," + good: true,
		"kitchen": false, good + "a": false, good + "; " + good: false, strings.ToUpper(good): false,
		strings.Repeat(good+",", maxMembers): true, strings.Repeat(good+",", maxMembers+1): false,
	} {
		_, err := Load(LoadOptions{Environ: []string{}, Flags: map[string]string{"room.members": value}})
		if (err == nil) != ok {
			t.Errorf("room.members = %.60q: %v; allowed: %v", value, err, ok)
		}
	}
}

// Instructions are a text of several lines, and nothing that rings or moves a cursor.
func TestInstructionsAreText(t *testing.T) {
	for value, good := range map[string]bool{"one\n\ttwo\n": true, "one\r\ntwo": true, "厨房 é": true, "": true, "ring\a": false, "\x1b[2J": false, "one\rtwo": false, "\u0085": false} {
		c := Default()
		all := keys(&c)
		k := all[slices.IndexFunc(all, func(k key) bool { return k.name == "voice.instructions" })]
		if err := k.set(value); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// A ceiling in money stands alone where the list has the model; a price of one's own is enough elsewhere.
func TestACeilingInMoneyAlone(t *testing.T) {
	for text, priced := range map[string]bool{
		"":                                    true,
		"model = 'gpt-realtime-2025-08-28'\n": true,
		"model = 'gpt-realtime-mini'\n":       true,
		"url = 'https://api.openai.com/v1'\nmodel = 'gpt-4o-mini'\n":                     true,
		"url = 'https://gateway.example.com/v1'\nmodel = 'openai/gpt-4o-mini'\n":         true,
		"url = 'http://pc.lan:11434'\nmodel = 'own'\nprice_text_out = 2\n":               true,
		"url = 'http://pc.lan:11434'\nmodel = 'own'\nprice_hear = 2\n":                   true,
		"url = 'http://pc.lan:11434'\nmodel = 'openai/gpt-4o-mini'\n":                    false,
		"model = 'ft:gpt-4o-mini-2024-07-18:home::abc'\n":                                false,
		"url = 'wss://house.openai.azure.com/openai/v1/realtime'\nmodel = 'our-model'\n": false,
	} {
		c, err := Load(LoadOptions{File: writeFile(t, "[voice]\nceiling_cost = 1\n"+text), Environ: []string{}})
		if (err == nil) != priced {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && c.Voice.CeilingCost != 1 {
			t.Errorf("%q: the ceiling is %v", text, c.Voice.CeilingCost)
		}
	}
}

// The cost is known where a price is set, or where a key opens a model of the list.
func TestPriced(t *testing.T) {
	for _, row := range []struct {
		kind, key string
		set, want bool
	}{{"auto", "", false, false}, {"auto", "sk-1", false, true}, {"rehearsal", "sk-1", false, false}, {"rehearsal", "", true, true}} {
		v := Default().Voice
		if v.Kind = row.kind; row.key != "" {
			v.Key = NewSecret(row.key)
		}
		if row.set {
			v.Prices.AudioOut = 1
		}
		if v.Priced() != row.want {
			t.Errorf("%+v: %v", row, v.Priced())
		}
	}
}
