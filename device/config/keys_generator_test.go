package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"conch/gpio"
)

// The service may read keys exactly where the configuration has a key for a button: whoever reads them reads what is typed, too.
func TestKeysAreReadOnlyWhereOneIsTheButton(t *testing.T) {
	t.Parallel()
	files := []string{
		"", "[button]\nsource = \"evdev\"\n", "[button]\n  source=\"evdev\" # a presenter\n", "button.source = 'evdev'\n",
		"[button]\n#source = \"evdev\"\n", "[button]\nsource = \"gpio\"\n", "[device]\nboard = \"usb-speakerphone\"\n[button]\nsource = \"gpio\"\n",
		"[device]\nname = \"evdev\"\n", "[knob]\nkeys = \"on\"\n", "knob.keys = 'on'\n", "[knob]\nkeys = \"off\"\n", "[knob]\nkeys = \"auto\"\n",
	}
	for _, b := range gpio.Boards {
		files = append(files, "[device]\nboard = \""+b.Name+"\"\n")
	}
	granted := 0
	for _, text := range files {
		dir := t.TempDir()
		file := filepath.Join(dir, "conch.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := Load(LoadOptions{File: file, Keyless: true, Root: dir})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		c := exec.Command("../../systemd/keys-generator", dir, dir, dir)
		c.Env = append(os.Environ(), "CONCH_TOML="+file)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%q: %v: %s", text, err, out)
		}
		_, err = os.Stat(filepath.Join(dir, "conch.service.d/50-keys.conf"))
		if (err == nil) != (cfg.Button.Source == "evdev" || cfg.Knob.Keys == "on") {
			t.Errorf("%q: button.source is %s, and the right to read keys is given: %t", text, cfg.Button.Source, err == nil)
		}
		if err == nil {
			granted++
		}
	}
	if granted < 6 {
		t.Errorf("given %d times", granted)
	}
}
