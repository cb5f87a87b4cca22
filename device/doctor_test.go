package device

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/device/config"
	"conch/device/doctor"
	"conch/device/wait"
)

// diagnose examines this machine with a configuration of flags, and a home of its own.
func diagnose(t *testing.T, flags map[string]string, environ ...string) doctor.Diagnosis {
	t.Helper()
	return doctor.Examine(t.Context(), doctor.Options{LoadOptions: config.LoadOptions{Environ: append([]string{"HOME=" + t.TempDir()}, environ...), Flags: flags}})
}

// says fails unless a finding has the parts.
func says(t *testing.T, d doctor.Diagnosis, check string, level doctor.Level, text, cause, do string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Check == check && f.Level == level && strings.Contains(f.Text, text) && strings.Contains(f.Cause, cause) && strings.Contains(f.Do, do) {
			return
		}
	}
	var out strings.Builder
	d.Print(&out, true)
	t.Errorf("want %s %s %q, cause %q, do %q; got\n%s", level, check, text, cause, do, out.String())
}

// What the running appliance says of itself is what is judged: a look from outside would disturb it.
func TestDoctorAsksTheRunningAppliance(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.State.Dir, cfg.State.Runtime = t.TempDir(), shortDir(t)
	cfg.Audio.Backend = "null"
	cfg.Button.Source = "none"
	d, err := New(cfg, Options{Control: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }() // awaited below
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := d.WaitReady(ctx, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	d.conds.Set("test.trouble", "the tap drips", "mend it")
	got := diagnose(t, map[string]string{
		"state.dir": cfg.State.Dir, "state.runtime": cfg.State.Runtime, "audio.backend": "null", "button.source": "none"})
	says(t, got, "running", doctor.OK, "state IDLE, 0 turns", "", "")
	says(t, got, "condition test.trouble", doctor.Bad, "the tap drips", "the running appliance says so", "mend it")
	says(t, got, "gaps", doctor.OK, "none", "", "")
	if slices.ContainsFunc(got.Findings, func(f doctor.Finding) bool { return f.Check == "buffer" }) {
		t.Error("the card of a running appliance was opened a second time")
	}
}

// dryCard stands still once, in a callback, for four times what the card holds.
type dryCard struct {
	*audio.MalgoCard
	dry *atomic.Bool
}

func (c dryCard) OpenPlayback(conf audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	return c.MalgoCard.OpenPlayback(conf, func(out []int16) {
		if c.dry.Swap(false) {
			<-time.After(60 * time.Millisecond)
		}
		render(out)
	})
}

// A real card that ran dry is counted, told in the log, and doctor says so.
func TestDoctorSeesXrunsOnALSA(t *testing.T) {
	if !alone(t) {
		return
	}
	sim := alsacard.Start(t, alsacard.Options{})
	dry := &atomic.Bool{}
	log := &eventLog{}
	cfg := config.Default()
	cfg.State.Dir, cfg.State.Runtime = t.TempDir(), shortDir(t)
	cfg.Audio.Playback, cfg.Audio.Capture = sim.Device(), sim.Device()
	cfg.Button.Source, cfg.Voice.Kind = "none", "rehearsal"
	d, err := New(cfg, Options{Control: true, Card: dryCard{openCard(t, "alsa"), dry}, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }() // awaited below
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := d.WaitReady(ctx, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	limit, stop := context.WithTimeout(ctx, stateLimit)
	defer stop()
	for n := range uint64(6) { // so often an hour is for a reason
		dry.Store(true)
		d.speaker.Play(make([]int16, audio.Rate/10), false, d.speaker.Generation()) // a card that rests asks nobody for sound
		_ = wait.Until(limit, func() bool { return !dry.Load() && uint64(sim.Stats().Underruns) > n })
	}
	if wait.Until(limit, func() bool {
		now, _ := d.sound.Xruns()
		return now >= 6 && strings.Contains(log.text(), "msg="+audio.EventXrun)
	}) != nil {
		t.Fatalf("the card had %d underruns, of which counted are only some; the log:\n%s", sim.Stats().Underruns, log.text())
	}
	got := diagnose(t, map[string]string{
		"state.dir": cfg.State.Dir, "state.runtime": cfg.State.Runtime, "audio.playback": sim.Device(), "button.source": "none"})
	says(t, got, "gaps", doctor.Warn, "the sound card ran dry", "too busy for the audio thread", "priority")
}

// shortDir is a directory whose path is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "conch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// The rehearsal server, which checks what it is sent, takes the session; it is asked for no answer. A running appliance that
// has a session already is believed: a server of one's own may have room for one.
func TestDoctorsSessionCostsNothing(t *testing.T) {
	t.Parallel()
	runtime := shortDir(t)
	b := newBox(t, boxOptions{control: true, config: func(c *config.Config) { c.State.Runtime = runtime }})
	b.until("ready", b.Ready)
	const key = "OPENAI_API_KEY=any-key-will-do"
	server := map[string]string{"voice.kind": "realtime", "voice.url": b.cfg.Voice.URL, "state.runtime": t.TempDir(), "audio.backend": "null"}
	says(t, diagnose(t, server, key), "session", doctor.OK, "opened in", "", "")
	b.until("the end of doctor's session", func() bool { return b.log.count("rehearsal.session_end") == 1 })
	if n := b.log.count("rehearsal.answer"); n != 0 {
		t.Errorf("%d answers were made", n)
	}

	server["state.runtime"] = runtime
	for _, x := range []struct{ model, text string }{{b.cfg.Voice.Model, "the running appliance has one"}, {"another", "opened in"}} {
		server["voice.model"] = x.model
		says(t, diagnose(t, server, key), "session", doctor.OK, x.text, "", "")
	}
}
