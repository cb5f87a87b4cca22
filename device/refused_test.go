package device

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/companions/voice/kinds"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/reload"
	"conch/device/room"
	"conch/device/state"
)

// loadedAnyway loads text as the service does.
func loadedAnyway(t *testing.T, text string, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.LoadOptions{File: fileOf(t, text), Environ: append([]string{}, environ...), Anyway: true, Keyless: true})
	if err != nil {
		t.Fatalf("the service does not start with %q: %v", text, err)
	}
	return c
}

// A talk is neither recalled nor deleted while nobody knows what was wished.
func TestRefusedRememberDestroysNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	talk := filepath.Join(dir, room.TalkName(kinds.Find("realtime"), "ada")+".json")
	const was = `{"lines":[{"role":"user","text":"hello"}]}`
	if err := os.WriteFile(talk, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBox(t, boxOptions{config: func(c *config.Config) {
		c.State.Dir, c.Voice.Remember, c.TalkStays = dir, false, true
	}})
	b.answered(b.ask("short"))
	if data, err := os.ReadFile(talk); err != nil || string(data) != was {
		t.Errorf("the talk is %s (%v); want it as it was", data, err)
	}
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a person wished of the microphone stands in the state directory: where that is another one by mistake, it is off until a
// person says otherwise, which lasts.
func TestRefusedStateDirectoryMutes(t *testing.T) {
	for _, used := range []bool{false, true} {
		dir := t.TempDir()
		if used {
			if err := os.WriteFile(filepath.Join(dir, "volume.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := loadedAnyway(t, "[state]\ndir = \"here\"\n", "STATE_DIRECTORY="+dir)
		for range 2 { // the second time it is used
			if _, muted := state.Remember(c, condition.NewBook(slog.New(slog.DiscardHandler))); muted == used {
				t.Errorf("used %v: muted %v", used, muted)
			}
		}
	}
}

// What is refused is a condition: shown and said, with what holds meanwhile; a reload with a refused file changes nothing and
// is one as well, until the next that is not.
func TestRefusedIsACondition(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	refused := loadedAnyway(t, "[audio]\nvolume = 300\n[voice]\nremember = 1\n")
	reload.Refused(*refused, b.conds, b.Device.log)
	list := b.conds.List()
	if len(list) != 1 || list[0].Code != condition.ConfigRefused || list[0].Do == "" {
		t.Fatalf("conditions %+v", list)
	}
	for _, want := range []string{"audio.volume = 300", "voice.remember = 1", "neither kept nor recalled"} {
		if !strings.Contains(list[0].Text, want) {
			t.Errorf("%q does not say %q", list[0].Text, want)
		}
	}
	if clip := condition.ConfigRefused.Clip(); clip != "setting_wrong" {
		t.Errorf("it is said as %q", clip)
	}
	if !strings.Contains((status{b.Device}).StatusLine(), string(condition.ConfigRefused)) {
		t.Errorf("systemctl status says %q", (status{b.Device}).StatusLine())
	}
	b.conds.Clear(condition.ConfigRefused)

	text := "[audio]\nvolume = 300\n"
	file := filepath.Join(t.TempDir(), "conch.toml")
	r := reload.New(reload.Options{Level: new(slog.LevelVar), Load: func() (*config.Config, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.LoadOptions{File: file, Environ: []string{}})
	}}, b.cfg, reloads{b.Device}, b.conds, b.Device.log)
	r.Reload()
	if !b.conds.Holds(condition.ConfigRefused) || b.memory.Volume() != b.cfg.Audio.Volume {
		t.Errorf("after a reload with a refused file: condition %v, volume %d", b.conds.Holds(condition.ConfigRefused), b.memory.Volume())
	}
	text = "[audio]\nvolume = 30\n"
	r.Reload()
	if b.conds.Holds(condition.ConfigRefused) || b.memory.Volume() != 30 {
		t.Errorf("after it is mended: condition %v, volume %d", b.conds.Holds(condition.ConfigRefused), b.memory.Volume())
	}
}
