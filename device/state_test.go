package device

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// A power cut at a bad moment, a worn card, a directory in the way: the appliance starts all the same, and says so.
func TestUsageThatCannotBeReadKeepsNobodyFromTalking(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":        func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"huge":        func(path string) error { return os.WriteFile(path, make([]byte, maxValue+1), 0o600) },
	} {
		dir := t.TempDir()
		if err := spoil(filepath.Join(dir, "usage.json")); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		d := &Device{store: s, conds: &conditions{log: slog.New(slog.DiscardHandler)}}
		data, err := d.loadUsage(usageName)
		if err != nil || data != nil {
			t.Errorf("%s: loadUsage() = %q, %v; want nothing", name, data, err)
		}
		if l := d.conds.list(); len(l) != 1 || l[0].Code != "state.unreadable" || l[0].Do == "" {
			t.Errorf("%s: conditions %+v; want that it could not be read", name, l)
		}
	}
}
