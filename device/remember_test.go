package device

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/companions"
	"conch/device/config"
	"conch/device/room"
)

// With voice.remember = false nothing of what was said in a room is on the disk or in the log, and what was there before is gone; the
// ledger tells who voted how, without a word, and its replay says so. Otherwise it is there, for the room and its replay. Turned off
// while the device runs, what was kept goes at once.
func TestARoomThatIsNotToRememberKeepsNothing(t *testing.T) {
	t.Parallel()
	const word = "marzipan"
	dir := t.TempDir()
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
	visit := func(name string, remember, reload bool) {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, boxOptions{room: &RoomOptions{Cards: companions.DefaultCards()[:2]}, config: func(c *config.Config) {
				c.State.Dir, c.Voice.Remember = dir, remember
			}})
			b.asked.Add(1)
			if a, err := b.room.Inquire(t.Context(), "Ada, where is the "+word+"?"); err != nil {
				t.Errorf("%+v, %v", a, err)
			}
			if why := b.room.Why(""); why == "" {
				t.Error("nobody can ask why")
			}
			for line := range strings.Lines(b.log.text()) { // the test's server is not discreet; an appliance's is (package kinds)
				if strings.Contains(line, word) && !strings.Contains(line, " rehearsal.") {
					t.Errorf("the log says what was said: %s", line)
				}
			}
			if !reload {
				return
			}
			b.until("it is on the disk", func() bool { return len(holds()) == 2 })
			next := b.cfg
			next.Voice.Remember = false
			if running := b.cfg; !(reloads{b.Device}).Take("voice.remember", &next, &running) || running.Voice.Remember {
				t.Error("a reload does not turn it off")
			}
			if next.Voice.Remember = true; (reloads{b.Device}).Take("voice.remember", &next, &next) {
				t.Error("a reload turns it on: what was said before would be missing")
			}
			b.until("it is gone", func() bool { return len(holds()) == 0 })
			if a, err := b.room.Inquire(t.Context(), "Ada, is there more "+word+"?"); err != nil {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	visit("remember", true, false)
	if got := holds(); len(got) != 2 {
		t.Errorf("remembered in %q; want the room's memory and its ledger", got)
	}
	visit("forget", false, false)
	entries, skipped, err := companions.ReadLedger(dir)
	rounds, redacted, differences := companions.ReplayLedger(entries)
	if got := holds(); len(got) > 0 || err != nil || skipped > 0 || rounds > 0 || redacted == 0 || len(differences) > 0 {
		t.Errorf("still in %q; the ledger: %d entries, %d rounds and %d redacted, %v, %v", got, len(entries), rounds, redacted, differences, err)
	}
	var out bytes.Buffer
	if err := room.Replay(&out, []string{dir}, room.Replayed{}); err != nil || !strings.Contains(out.String(), "their words were not kept") {
		t.Errorf("conch room replay: %v: %s", err, out.String())
	}
	visit("remember again", true, true)
	if got := holds(); len(got) > 0 {
		t.Errorf("after it was turned off by a reload it is in %q", got)
	}
}
