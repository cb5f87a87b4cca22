package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"conch/audio"
)

// A Finding is one thing doctor looked at.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"` // ok, note, warn, bad
	Text  string `json:"text"`  // what was found
	Do    string `json:"do,omitempty"`
}

// Doctor looks at everything a turn needs, each thing on its own, and says what to do about what is wrong. It changes
// nothing, starts no turn, and prints no secret. It works without root and before the appliance has ever run.
func Doctor(ctx context.Context, cfg Config) []Finding {
	var out []Finding
	for _, check := range []func(context.Context, Config) []Finding{
		checkClock, checkState, checkRunning, checkSound, checkButton, checkVoice, checkCards, checkRoom, checkPrograms, checkPriority, checkSilence,
	} {
		out = append(out, check(ctx, cfg)...)
	}
	return out
}

func ok(check, format string, args ...any) []Finding {
	return []Finding{{Check: check, Level: "ok", Text: fmt.Sprintf(format, args...)}}
}

func found(check, level, text, do string) []Finding {
	return []Finding{{Check: check, Level: level, Text: text, Do: do}}
}

// builtAfter is a date before which no conch exists: a clock that shows less was never set (no RTC on a Pi).
var builtAfter = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func checkClock(context.Context, Config) []Finding {
	now := time.Now()
	if now.Before(builtAfter) {
		return found("clock", "bad", "the clock says "+now.Format(time.RFC3339)+": TLS to the voice will fail", "wait for the network to set it, or: timedatectl set-ntp true")
	}
	return ok("clock", "%s", now.Format(time.RFC3339))
}

// minFree is what a year of small state files needs, amply.
const minFree = 16 << 20

func checkState(_ context.Context, cfg Config) []Finding {
	dir := cfg.State.Dir
	probe := dir
	for { // the directory may not exist yet: look at the nearest that does
		if _, err := os.Stat(probe); err == nil || probe == filepath.Dir(probe) {
			break
		}
		probe = filepath.Dir(probe)
	}
	if err := syscall.Access(probe, 2 /* W_OK */); err != nil {
		return found("state", "bad", fmt.Sprintf("%s cannot be written: %v", probe, err), "give this user the directory, or set state.dir")
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(probe, &fs); err != nil {
		return found("state", "warn", fmt.Sprintf("%s: %v", probe, err), "set state.dir to a local file system")
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < minFree {
		return found("state", "bad", fmt.Sprintf("%s has %d KiB left: volume and usage will not be remembered", probe, free>>10), "free some space")
	}
	return ok("state", "%s", dir)
}

func checkRunning(ctx context.Context, cfg Config) []Finding {
	r, err := Dial(cfg)
	if err != nil {
		return found("running", "note", "no conch is running for this configuration", "start it with: conch run")
	}
	var s Status
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := r.Do(ctx, "GET", "/status", nil, &s); err != nil {
		return found("running", "bad", "a conch is running but does not answer: "+err.Error(), "end it and start it again")
	}
	out := ok("running", "state %s, %d turns, sound %s, voice %s", s.State, s.Turns, s.Sound, s.Voice)
	for _, c := range s.Conditions {
		out = append(out, Finding{Check: "condition " + c.Code, Level: "bad", Text: c.Text, Do: c.Do})
	}
	return out
}

func checkButton(_ context.Context, cfg Config) []Finding {
	chips, _ := filepath.Glob("/dev/gpiochip*")
	switch {
	case len(chips) == 0 && cfg.Button.Source == "gpio":
		return found("button", "bad", "button.source is gpio, and there is no /dev/gpiochip*", "run on a Pi with GPIO, or set button.source = auto")
	case len(chips) == 0:
		return found("button", "note", "no GPIO chip: keyboard or lines on standard input are the button", "")
	}
	for _, c := range chips {
		if f, err := os.OpenFile(c, os.O_RDWR, 0); err == nil {
			_ = f.Close()
			return ok("button", "%s can be opened; pin GPIO%d", c, cfg.Button.Pin)
		} else if errors.Is(err, os.ErrPermission) {
			return found("button", "bad", c+": no permission", "add this user to the group gpio and log in again: sudo usermod -aG gpio $USER")
		}
	}
	return found("button", "bad", strings.Join(chips, ", ")+" cannot be opened", "see: dmesg | grep gpio")
}

func checkVoice(ctx context.Context, cfg Config) []Finding {
	kind, why := cfg.voiceKind()
	if kind == "rehearsal" {
		return found("voice", "note", "rehearsal ("+why+")", "set OPENAI_API_KEY, or voice.key_file, for a real voice")
	}
	u, err := url.Parse(cfg.Voice.URL)
	if err != nil {
		return found("voice", "bad", fmt.Sprintf("voice.url: %v", err), "write it like wss://HOST/v1/realtime")
	}
	took, why := reach(ctx, u, map[string]string{"wss": "443", "ws": "80"}[u.Scheme])
	if why != "" {
		return found("voice", "bad", why, "check the network, the name server (resolvectl status), the firewall and voice.url")
	}
	return ok("voice", "%s, model %s, reachable in %d ms", u.Host, cfg.Voice.Model, took.Milliseconds())
}

func checkSound(_ context.Context, cfg Config) []Finding {
	card, err := audio.NewCard(cfg.Audio.Backend, slog.New(slog.DiscardHandler))
	if err != nil {
		return found("sound", "bad", err.Error(), "set audio.backend = auto")
	}
	defer card.Close()
	p, err := card.OpenPlayback(audio.StreamConfig{Device: cfg.Audio.Playback, Period: cfg.Audio.Period, Periods: cfg.Audio.Periods}, func(out []int16) { clear(out) })
	if err != nil {
		return found("sound", "bad", err.Error(), "see conch audio list; while conch runs, the card may be its own")
	}
	g := p.Granted()
	_ = p.Close()
	if g.Backend == audio.BackendNull {
		return found("sound", "warn", "no sound card and no sound server: nothing will be heard", "plug in a card (arecord -l shows it), or start PulseAudio or PipeWire")
	}
	bound := ms(g.Queued()) + ms(g.Queued())/float64(max(1, g.Periods)) + ms(cfg.Audio.Fade)
	text := fmt.Sprintf("loudspeaker %s (%s): %d frames x %d at %d Hz, silent within %.0f ms of a press", g.Name, g.Backend, g.Period, g.Periods, g.Rate, bound)
	out := ok("sound", "%s", text)
	if bound >= budgetMS {
		out = found("sound", "warn", text+fmt.Sprintf(": more than %d", budgetMS), "this card grants no shorter period; try another, or audio.periods = 2")
	}
	c, err := card.OpenCapture(audio.StreamConfig{Device: cfg.Audio.Capture, Period: capturePeriod, Periods: 3}, func([]int16) {})
	if err != nil {
		return append(out, Finding{"microphone", "bad", err.Error(), "see conch audio list; plug in a microphone"})
	}
	name := c.Granted().Name
	_ = c.Close()
	return append(out, ok("microphone", "%s", name)...)
}

func checkPrograms(context.Context, Config) []Finding {
	var missing []string
	for _, p := range []string{"flite", "pocketsphinx_continuous", "espeak-ng"} {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return found("programs", "note", "not installed: "+strings.Join(missing, ", ")+" (the rehearsal voice hears and speaks with them)",
			"sudo apt install flite pocketsphinx pocketsphinx-en-us espeak-ng")
	}
	return ok("programs", "flite, pocketsphinx and espeak-ng are there")
}

// audioPriority is what the audio thread asks for (facts: SCHED_FIFO 50).
const audioPriority = 50

func checkPriority(context.Context, Config) []Finding {
	const rlimitRTPrio = 14 // RLIMIT_RTPRIO of linux/resource.h
	var l syscall.Rlimit
	if err := syscall.Getrlimit(rlimitRTPrio, &l); err != nil {
		return found("priority", "note", "cannot read the real-time limit: "+err.Error(), "")
	}
	if os.Geteuid() != 0 && l.Cur < audioPriority {
		return found("priority", "warn", fmt.Sprintf("real-time priority up to %d is allowed, the audio thread wants %d: under load the sound may stutter and silence come late", l.Cur, audioPriority),
			"run as a service (it sets LimitRTPRIO), or allow it in /etc/security/limits.d")
	}
	return ok("priority", "the audio thread may be real-time")
}

func checkSilence(_ context.Context, cfg Config) []Finding {
	s := store{dir: cfg.State.Dir}
	var last SilenceReport
	have, err := s.load(silenceFile, &last)
	switch {
	case err != nil:
		return found("silence", "note", err.Error(), "measure again: conch bench silence")
	case !have:
		return found("silence", "note", "never measured on this device", "measure it in under a minute: conch bench silence")
	}
	worst, p99 := last.worst()
	text := fmt.Sprintf("press to silence p99 %.1f ms, worst %.1f ms (%s, measured %s)", p99, worst, last.Card, last.When.Format("2006-01-02"))
	if worst >= budgetMS {
		return found("silence", "warn", text, fmt.Sprintf("this device does not hold %d ms: try audio.period_ms = 5, or another card", budgetMS))
	}
	return ok("silence", "%s", text)
}
