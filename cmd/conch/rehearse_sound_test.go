package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"conch/audio"
	"conch/audio/pulsetest"
)

// Where there is a loudspeaker, the room can be heard: what the devices play is mixed into it.
func TestRoomIsHeardOnPulseAudio(t *testing.T) {
	if err := pulsetest.Missing(); err != nil {
		t.Skipf("no PulseAudio: %v", err)
	}
	t.Parallel()
	server, err := pulsetest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	tape, err := server.Record()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "conch", "rehearse")
	cmd.Env = append(server.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "CONCH_AUDIO_BACKEND=pulse")
	cmd.Stdin = strings.NewReader("how long do I boil eggs?\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	heard := 0
	samples := tape.Stop()
	for i := 0; i+pulsetest.Rate/100 <= len(samples); i += pulsetest.Rate / 100 {
		if audio.Peak(samples[i:i+pulsetest.Rate/100]) > 200 {
			heard++
		}
	}
	if !strings.Contains(string(out), "sound  loudspeaker ") || !strings.Contains(string(out), "Ada (kitchen): A soft egg") {
		t.Errorf("it says\n%s", out)
	}
	if heard < 200 { // hundredths of a second; the answer takes more than six seconds
		t.Errorf("%d ms of sound came out of the loudspeaker\n%s", heard*10, out)
	}
}
