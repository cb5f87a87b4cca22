package device

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/companions"
	"conch/device/config"
)

// With voice.remember = false nothing of what was said in a room is on the disk, and what was there before is gone; otherwise it
// is there, for the room and its replay.
func TestARoomThatIsNotToRememberKeepsNothing(t *testing.T) {
	t.Parallel()
	const word = "marzipan"
	dir := t.TempDir()
	visit := func(remember bool) {
		t.Run(map[bool]string{true: "remember", false: "forget"}[remember], func(t *testing.T) {
			b := newBox(t, boxOptions{room: &RoomOptions{Cards: companions.DefaultCards()[:2]}, config: func(c *config.Config) {
				c.State.Dir, c.Voice.Remember = dir, remember
			}})
			b.asked.Add(1)
			if a, err := b.room.Inquire(t.Context(), "Ada, where is the "+word+"?"); err != nil {
				t.Errorf("%+v, %v", a, err)
			}
			if why := b.room.Why(); why == "" {
				t.Error("nobody can ask why")
			}
		})
	}
	holds := func() (files []string) {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), word) {
					files = append(files, e.Name())
				}
			}
			return nil
		})
		return files
	}
	visit(true)
	if got := holds(); len(got) != 2 {
		t.Errorf("remembered in %q; want the room's memory and its ledger", got)
	}
	visit(false)
	if got := holds(); len(got) > 0 {
		t.Errorf("still in %q", got)
	}
}
