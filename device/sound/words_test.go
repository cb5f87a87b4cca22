package sound

import (
	"strings"
	"testing"

	"conch/audio"
	"conch/device/config"
)

// That sound was switched off by a setting is told as that, and no card is missed.
func TestSilenceByWishIsToldAsThat(t *testing.T) {
	for backend, want := range map[string]string{audio.BackendNull: `no loudspeaker (audio.backend = "null")`, "auto": "no loudspeaker (no sound card"} {
		c := &Card{o: Options{Audio: config.Audio{Backend: backend}}}
		null := &state{granted: audio.Granted{Backend: audio.BackendNull}}
		c.playback.state.Store(null)
		c.capture.state.Store(null)
		if got := c.Words(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s; want %s", backend, got, want)
		}
	}
}
