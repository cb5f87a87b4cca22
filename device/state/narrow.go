package state

import (
	"os"
	"path/filepath"
	"slices"

	"conch/device/system"
)

// ours are how the names of what conch keeps end. Whoever has set state.dir to a home, or to /tmp, has other files there.
var ours = []string{".json", ".jsonl", ".db", ".key", ".broken", ".new", ".tmp"}

// narrow leaves a state directory and what conch has kept in it to its owner alone: 0700 and 0600. What belongs to somebody else is
// not touched, nor is a directory that everybody shares.
func narrow(dir string) {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be narrowed, and whoever needs it says so
	paths := []string{dir}
	for _, e := range entries {
		if slices.Contains(ours, filepath.Ext(e.Name())) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		want := os.FileMode(0o600)
		if uid, _, ok := system.Owner(info); !ok || uid != os.Geteuid() || info.Mode()&os.ModeSticky != 0 {
			continue
		}
		switch {
		case info.IsDir():
			want = 0o700
		case !info.Mode().IsRegular():
			continue
		}
		if mode := info.Mode().Perm(); mode&^want != 0 {
			_ = os.Chmod(path, mode&want) // it stays as it is; the next start tries again
		}
	}
}
