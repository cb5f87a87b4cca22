package gpio

import (
	"os"
	"path/filepath"
	"strings"
)

// SoundCards are the ids of the ALSA cards that are up. root is put before /proc; empty on a real machine.
func SoundCards(root string) []string {
	data, err := os.ReadFile(filepath.Join(root, "/proc/asound/cards"))
	if err != nil {
		return nil // no sound in this kernel
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		// " 1 [wm8960soundcard]: simple-card - wm8960-soundcard", and a second line of its long name
		if _, rest, ok := strings.Cut(line, "["); ok && strings.Contains(rest, "]:") {
			id, _, _ := strings.Cut(rest, "]")
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}
