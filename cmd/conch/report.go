package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"conch/device"
	"conch/device/config"
	"conch/device/control"
	"conch/device/doctor"
	"conch/device/language"
	"conch/device/pattern"
	"conch/device/printable"
	"conch/device/state"
)

type reportCmd struct {
	Out   string `help:"File to write, which must not be there yet; -: standard output. Without it: conch-report-TIME.txt, here." placeholder:"FILE"`
	Words bool   `help:"Also what was said and answered last, word for word."`
}

// Help is what conch report --help says on top.
func (reportCmd) Help() string {
	return "It is made to be read by others: no key, no password, no name of a user, a host, a room or a Wi-Fi, no address, " +
		"and nothing that anybody has said, unless " +
		"--words asks for it. Read it before you send it. Only its owner may read the file."
}

func (c reportCmd) Run(e *env) (err error) {
	cfg, err := e.loadAnyway()
	if err != nil {
		return err
	}
	if cfg.RefusedFlags() {
		return fmt.Errorf("%w: %w", control.ErrRefused, cfg.Refused())
	}
	path := c.Out
	if path == "" {
		path = "conch-report-" + time.Now().Format("20060102-150405") + ".txt"
	}
	out := io.Writer(e.out)
	if path != "-" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // before the work: nobody shall wait for nothing
		if err != nil {
			return fmt.Errorf("%w: report: %s: %w (--out FILE names another)", control.ErrRefused, path, config.UnwrapPath(err))
		}
		defer func() {
			if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
				_ = os.Remove(path) // half a report is none
				err = fmt.Errorf("report: %s: %w", path, config.UnwrapPath(err))
				return
			}
			what := "no key, no names or addresses of the house, and nothing that was said"
			if c.Words {
				what = "no key, no names or addresses of the house, but what was said last"
			}
			fmt.Fprintf(e.out, "%s\n", path)
			fmt.Fprintf(e.err,
				"conch: in it: doctor's findings, versions, the status, the last turns and the configuration; %s. Read it before you send it.\n", what)
		}()
		out = printable.NewWriter(f)
	}
	_, err = out.Write(c.text(e.ctx, cfg, e))
	return err
}

// text is the report.
func (c reportCmd) text(ctx context.Context, cfg config.Config, e *env) []byte {
	var b bytes.Buffer
	d := doctor.Examine(ctx, doctor.Options{LoadOptions: config.LoadOptions{File: e.config, Flags: e.set}, Tools: device.Tools, Anonymous: true})
	hide := func(text string) string { return v6().ReplaceAllString(d.Hide(text), "[address]") }
	heading := func(text string) { fmt.Fprintf(&b, "\n== %s\n", text) }
	fmt.Fprintf(&b, "conch report of %s\n", time.Now().UTC().Format(time.RFC3339))
	heading("versions")
	fmt.Fprintf(&b, "%s\n%s, %s\n", device.Version(), system(), runtime.GOARCH)

	heading("doctor")
	doctor.Print(&b, d.Findings, true)

	heading("status")
	var s control.Status
	var lines []device.RecentLine
	remote, err := control.Dial(cfg)
	if err == nil {
		err = errors.Join(remote.Do(ctx, "GET", "/status", nil, &s), remote.Do(ctx, "GET", "/recent", nil, &lines))
	}
	if err != nil {
		fmt.Fprintln(&b, hide(err.Error()))
	} else {
		if s.Room != nil {
			s.Room.Name = "[room]"
		}
		if !c.Words { // people named their timers, and announcements are their words
			s.Now, s.Missed = nil, nil
		}
		fmt.Fprintf(&b, "version  %s\n%s", s.Version, hide(describe{language.English, time.Now()}.status(s, 0)))
	}

	heading("the last turns: seconds, <- fact, -> order, == change of state")
	for _, l := range lines {
		if c.Words {
			fmt.Fprintln(&b, hide(printable.Text(l.String())))
			continue
		}
		l.Text = strings.Join(wordless().FindAllString(l.Text, -1), " ")
		fmt.Fprintln(&b, printable.Text(l.String()))
	}

	heading("configuration")
	if err := cfg.Refused(); err != nil {
		fmt.Fprintln(&b, hide(err.Error()))
	}
	for _, r := range state.InForce(ctx, cfg) {
		if slices.Contains(private, r.Key) && !cfg.Unset(r.Key) {
			r.Value = "[set]"
		}
		fmt.Fprintf(&b, "%-24s %-40s %s\n", r.Key, hide(r.Value), hide(r.Origin))
	}
	return b.Bytes()
}

// private are settings that tell of a house, or are words.
var private = []string{
	"device.name", "device.companion", "voice.url", "voice.instructions", "room.broker", "room.name",
	"room.listen", "room.members", "room.user", "room.vote_url",
}

// wordless are fields of facts and orders that cannot be words: ids, times, counts, states.
var wordless = pattern.New(`\b(?:Turn|Response|Item|At|From|To|Reason|State|Button|Samples|Heard|Left|Alone|Gone)` +
	`:(?:t-[0-9a-f]+|(?:resp|item)_[0-9A-Za-z]+|[0-9.]+(?:ns|µs|ms|s)?(?:[0-9.]+s)?|true|false|[A-Z][A-Z_]{3,})(?:[ }]|$)`)

var v6 = pattern.New(`\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b|\b[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*::(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?`)

// system is what this machine runs.
func system() string {
	name := "unknown system"
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				name = strings.Trim(v, `"`)
			}
		}
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		name += ", Linux " + strings.TrimSpace(string(kernel))
	}
	return name
}
