package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/device/spelling"
)

// anyway loads text as the service does.
func anyway(t *testing.T, text string, o LoadOptions) *Config {
	t.Helper()
	if o.File == "" {
		o.File = writeFile(t, text)
	}
	if o.Environ == nil {
		o.Environ = []string{}
	}
	o.Anyway, o.Keyless = true, true
	c, err := Load(o)
	if err != nil {
		t.Fatalf("the service does not start with %q: %v", text, err)
	}
	return c
}

// What the service starts with where something is refused: comfort by default, what guards something at its strictest.
func TestServiceStartsWithARefusedConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        LoadOptions
		want     map[string]string // values in force
	}{
		{"comfort", "[audio]\nvolume = 300\nperiods = 2\n", LoadOptions{}, map[string]string{"audio.volume": "70", "audio.periods": "2"}},
		{"the ceiling, out of range", "[voice]\nceiling_tokens = -5\nname = \"cedar\"\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1", "voice.name": `"cedar"`}},
		{"the ceiling, of the wrong type", "[voice]\nceiling_tokens = \"many\"\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"remember", "[voice]\nremember = \"no\"\n", LoadOptions{}, map[string]string{"voice.remember": "false"}},
		{"two at once", "[voice]\nremember = 0\n[audio]\npreroll_ms = -1\nvolume = true\n", LoadOptions{},
			map[string]string{"voice.remember": "false", "audio.preroll_ms": "0", "audio.volume": "70"}},
		{"the server: nobody else is sent anything", "[voice]\nurl = \"ftp://localhost\"\n", LoadOptions{Environ: []string{"OPENAI_API_KEY=sk-x"}},
			map[string]string{"voice.kind": `"rehearsal"`, "voice.key": "unset"}},
		{"whose key", "[voice]\nkey_file = 7\n", LoadOptions{Environ: []string{"OPENAI_API_KEY=sk-x"}}, map[string]string{"voice.kind": `"rehearsal"`, "voice.key": "unset"}},
		{"who belongs to the room", "[room]\nbroker = \"embedded\"\nmembers = \"ben\"\n", LoadOptions{}, map[string]string{"room.broker": `""`}},
		{"which certificates the broker's must come from", "[room]\nbroker = \"mqtts://h\"\nca_file = 1\n", LoadOptions{}, map[string]string{"room.broker": `""`}},
		{"which address", "[room]\nbroker = \"embedded\"\nlisten = 1883\n", LoadOptions{}, map[string]string{"room.broker": `"embedded"`, "room.listen": `"127.0.0.1:1883"`}},

		{"a slip of the pen in a guard", "[voice]\nremembre = false\n", LoadOptions{}, map[string]string{"voice.remember": "false"}},
		{"half of a guard", "[voice]\nceiling = 100\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"a slip of the pen in its section", "[vioce]\nceiling_tokens = 100\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"no section", "ceiling_tokens = 100\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"a section as a list", "[[voice]]\nceiling_tokens = 100\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"a slip of the pen beside what was meant", "[voice]\nceiling_tokens = 100\nceiling_token = 5\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "100"}},
		{"an unknown key of comfort", "[audio]\nlouder = 3\n", LoadOptions{}, map[string]string{"audio.volume": "70", "voice.ceiling_tokens": "0", "voice.remember": "true"}},
		{"the name of another section", "[device]\nnam = 3\n", LoadOptions{}, map[string]string{"room.broker": `""`, "voice.kind": `"auto"`}},

		{"before a line that is no TOML", "[voice]\nceiling_tokens = 500\n[audio]\nvolume = 30\nperiods = = 2\n", LoadOptions{},
			map[string]string{"voice.ceiling_tokens": "500", "audio.volume": "30", "audio.periods": "0"}},
		{"behind it", "[audio\nvolume = 30\n[voice]\nceiling_tokens = 500\nremember = false\n", LoadOptions{},
			map[string]string{"voice.ceiling_tokens": "1", "voice.remember": "false", "audio.volume": "70", "audio.preroll_ms": "250"}},
		{"nothing is guarded behind it", "[audio\nvolume = 30\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "0", "voice.remember": "true", "voice.kind": `"auto"`}},
		{"what is in a comment behind it", "[audio\n# remember = false\n#ceiling_tokens = 5\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "0", "voice.remember": "true"}},
		{"the guard itself is no TOML", "[voice]\nceiling_tokens 500\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"set twice", "[voice]\nceiling_tokens = 500\nceiling_tokens = 100\n", LoadOptions{}, map[string]string{"voice.ceiling_tokens": "1"}},
		{"a text that is not closed", "[voice]\ninstructions = \"\"\"\nBe kind.\nceiling_tokens = 5\nname = \"cedar\"\n", LoadOptions{},
			map[string]string{"voice.ceiling_tokens": "1", "voice.name": `"marin"`}},
		{"a list that is not closed", "[audio]\nvolume = 20\n[light]\npins = [1,\n[voice]\nremember = true\n", LoadOptions{}, map[string]string{"audio.volume": "20", "voice.remember": "false"}},
		{"cut in the middle of a word", "[audio]\nvolume = 20\n[voice]\nremem", LoadOptions{}, map[string]string{"audio.volume": "20", "voice.remember": "false"}},
		{"a word of a sentence is no key", "[audio\n[voice]\ninstructions = \"Listen, and remember what members of the family like.\"\n", LoadOptions{},
			map[string]string{"room.listen": `"127.0.0.1:1883"`, "room.broker": `""`}},
		{"zeros behind it, as a power cut leaves them", "[audio]\nvolume = 20\n\x00\x00", LoadOptions{},
			map[string]string{"audio.volume": "20", "voice.remember": "false", "voice.ceiling_tokens": "1"}},
		{"a path that is too deep behind it", "[audio]\nvolume = 20\n" + strings.Repeat("remember.", 9) + "x = 1\n", LoadOptions{},
			map[string]string{"audio.volume": "20", "voice.remember": "false"}},
		{"not UTF-8", "[audio]\nvolume = 20\n[device]\ncompanion = \"Zo\xeb\"\n", LoadOptions{}, map[string]string{"audio.volume": "20", "device.companion": `["Ada"]`, "voice.remember": "true"}},

		{"the environment", "[voice]\nceiling_tokens = 500\n", LoadOptions{Environ: []string{"CONCH_VOICE_CEILING_TOKENS=lots", "CONCH_AUDIO_VOLUME=loud"}},
			map[string]string{"voice.ceiling_tokens": "1", "audio.volume": "70"}},
		{"comfort in the environment, and in the file", "[audio]\nvolume = 20\n", LoadOptions{Environ: []string{"CONCH_AUDIO_VOLUME=loud"}}, map[string]string{"audio.volume": "20"}},
		{"a slip of the pen in the environment", "", LoadOptions{Environ: []string{"CONCH_VOICE_REMEMBR=false"}}, map[string]string{"voice.remember": "false"}},
		{"a stronger source that is well", "[voice]\nceiling_tokens = -5\n", LoadOptions{Environ: []string{"CONCH_VOICE_CEILING_TOKENS=300"}}, map[string]string{"voice.ceiling_tokens": "300"}},
		{"the flag", "", LoadOptions{Flags: map[string]string{"voice.remember": "maybe"}}, map[string]string{"voice.remember": "false"}},
		{"a board and a value that is refused", "[device]\nboard = \"aiy-v1\"\n[button]\npin = 99\n", LoadOptions{}, map[string]string{"button.pin": "23"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := anyway(t, c.in, c.o)
			if got.Refused() == nil {
				t.Error("nothing is said to be refused")
			}
			for key, want := range c.want {
				if r := row(got, key); r.Value != want {
					t.Errorf("%s = %s; want %s (%v)", key, r.Value, want, got.Refused())
				}
			}
		})
	}
	well := anyway(t, "[voice]\nceiling_tokens = 5\n", LoadOptions{})
	if well.Refused() != nil || well.Voice.Ceiling != 5 || well.RefusedFlags() {
		t.Errorf("a good one: refused %v, ceiling %d", well.Refused(), well.Voice.Ceiling)
	}
	if flag := anyway(t, "", LoadOptions{Flags: map[string]string{"audio.volume": "300"}}); !flag.RefusedFlags() {
		t.Error("that a flag is refused is not known")
	}
}

// A file of which nothing can be read may have said anything: every guard is shut. What is set elsewhere counts.
func TestServiceStartsWithoutItsFile(t *testing.T) {
	locked := writeFile(t, "[voice]\nceiling_tokens = 500\n")
	huge := writeFile(t, strings.Repeat("# x\n", spelling.MaxTOML/4+1))
	files := map[string]string{"a directory": t.TempDir(), "gone": filepath.Join(t.TempDir(), "conch.toml"), "too long": huge}
	if os.Getuid() != 0 {
		if err := os.Chmod(locked, 0); err != nil {
			t.Fatal(err)
		}
		files["not ours to read"] = locked
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			c := anyway(t, "", LoadOptions{File: file, Environ: []string{"CONCH_ROOM_MEMORY=30"}})
			for key, want := range map[string]string{"voice.ceiling_tokens": "1", "voice.remember": "false", "voice.kind": `"rehearsal"`, "room.broker": `""`,
				"room.pairing": "false", "room.discovery": `"off"`, "audio.preroll_ms": "0", "room.memory": "30", "audio.volume": "70", "button.pin": "17"} {
				if r := row(c, key); r.Value != want {
					t.Errorf("%s = %s; want %s", key, r.Value, want)
				}
			}
		})
	}
}

// Every guard of the table shuts something, and says what; a key that is none is left at its default.
func TestGuards(t *testing.T) {
	c := Default()
	left := guards(&c)
	defer func() {
		if len(left) > 0 {
			t.Errorf("guards of keys that there are not: %v", left)
		}
	}()
	for _, k := range keys(&c) {
		delete(left, k.name)
		section, name, _ := strings.Cut(k.name, ".")
		got := anyway(t, "["+section+"]\n"+name+" = [[]]\n", LoadOptions{})
		if k.name == "device.board" { // a list is its own mistake
			continue
		}
		if got.Refused() == nil {
			t.Errorf("%s: a list of lists is taken", k.name)
			continue
		}
		want := Default()
		if k.guard != nil {
			for _, w := range keys(&want) {
				if w.name == k.name {
					w.guard.shut()
				}
			}
			if !strings.Contains(got.Meanwhile(), k.guard.then) {
				t.Errorf("%s: %q does not say that %s", k.name, got.Meanwhile(), k.guard.then)
			}
		}
		want.resolve(environment{})
		want.TalkStays, want.StateUnsure = got.TalkStays, got.StateUnsure
		for i, r := range got.Describe() {
			if w := want.Describe()[i]; r.Value != w.Value {
				t.Errorf("%s refused: %s = %s; want %s", k.name, r.Key, r.Value, w.Value)
			}
		}
	}
}

// Whatever the bytes: the service has a configuration, and no guard is weaker than in the same file read strictly.
func FuzzConfigAnyway(f *testing.F) {
	f.Add(example())
	f.Add("[voice]\nceiling_tokens = 5\nremember = false\n[audio\nvolume = 3\n")
	f.Add("[voice]\ninstructions = '''\nx\nceiling_tokens = 7\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := writeFile(t, text)
		c := anyway(t, "", LoadOptions{File: file})
		strict, err := Load(LoadOptions{File: file, Environ: []string{}, Keyless: true})
		if (err == nil) != (c.Refused() == nil) {
			t.Fatalf("strictly %v; anyway %v", err, c.Refused())
		}
		if err == nil && !slices.Equal(strict.Describe(), c.Describe()) {
			t.Fatal("a good one is read otherwise")
		}
	})
}
