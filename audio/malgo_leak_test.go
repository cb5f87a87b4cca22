//go:build cgo

package audio_test

import (
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/pulsetest"
)

// A keeper tries every few seconds, for days if need be: an attempt that fails must leave nothing behind.
func TestPulseAttemptsThatFailLeaveNothing(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "pulse")
	open := func(device string) error {
		s, err := m.OpenPlayback(audio.StreamConfig{Device: device}, sine(440))
		if err == nil {
			await(t, "callbacks", 3*time.Second, func() bool { return s.Stats().Callbacks > 2 })
			err = s.Close()
		}
		return err
	}
	check := func(what string, round func()) {
		t.Helper()
		for range 2 {
			round()
		}
		files := descriptors(t)
		for range 10 {
			round()
		}
		if n := descriptors(t); n > files+2 {
			t.Errorf("%s, 10 times: %d open files; %d before", what, n, files)
		}
	}
	check("a device that is not there", func() {
		if err := open("pulse:headset"); err == nil || !strings.Contains(err.Error(), `no device "pulse:headset"`) {
			t.Errorf("open pulse:headset: %v", err)
		}
	})
	check("a server that was killed and is back", func() {
		if err := open(pulsetest.Speaker); err != nil {
			t.Error(err)
		}
		server.Kill()
		if err := open(pulsetest.Speaker); err == nil {
			t.Error("a server that is gone opened a stream")
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	})
}
