package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"conch/audio/alsacard"
)

// conch bench silence, as it is documented: every state, on a card and on the virtual one, with any number of presses, and what was
// granted with the bound that follows from it.
func TestBenchSilence(t *testing.T) {
	t.Parallel()
	card := alsacard.ForChild(t, alsacard.Options{})
	for _, args := range [][]string{{"-n", "2"}, {"-n", "1", "--virtual"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "conch", append([]string{"bench", "silence"}, args...)...)
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home,
				"ALSA_CONFIG_PATH="+card.ConfigPath(), "CONCH_AUDIO_PLAYBACK="+card.Device(), "CONCH_AUDIO_CAPTURE="+card.Device())
			cmd.WaitDelay = 5 * time.Second
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			for _, want := range []string{"granted 240 frames x 8 at 48000 Hz", "= 8.5 ms", "committing", "speaking", "tool", "awaiting", "content", "injected", "call", "ringing", "tail"} {
				if err != nil || !strings.Contains(string(out), want) {
					t.Fatalf("%v; want %q\n%s%s", err, want, out, errs.String())
				}
			}
		})
	}
}
