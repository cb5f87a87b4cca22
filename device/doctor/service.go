package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"conch/device/printable"
)

// unitState is what systemctl show says of the unit.
type unitState struct {
	known   bool   // systemd runs and answered
	why     string // it did not
	have    map[string]string
	groups  []string
	mainPID int
}

// unit asks systemd once.
func (s *Subject) unit(ctx context.Context, m *Machine) unitState {
	s.once.unit.Do(func() { s.seen.unit = askUnit(ctx, m, s) })
	return s.seen.unit
}

func askUnit(ctx context.Context, m *Machine, s *Subject) (u unitState) {
	if !m.Exists("/run/systemd/system") { // sd_booted(3)
		u.why = "systemd does not run here"
		return u
	}
	unit := cmp.Or(s.Unit, "conch.service")
	out, err := m.Run(ctx, "systemctl", "show", unit, "--no-pager",
		"--property=LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainCode,ExecMainStatus,User,SupplementaryGroups,LimitRTPRIO,"+
			"WatchdogUSec,MainPID,StatusText,NeedDaemonReload,NotifyAccess,Type")
	if err != nil {
		u.why = "systemctl: " + err.Error()
		return u
	}
	u.known, u.have = true, map[string]string{}
	for line := range strings.Lines(out) {
		if k, v, is := strings.Cut(strings.TrimSpace(line), "="); is {
			u.have[k] = v
		}
	}
	u.groups = strings.Fields(u.have["SupplementaryGroups"])
	u.mainPID, _ = strconv.Atoi(u.have["MainPID"])
	return u
}

// restarts from which a service is said to be unwell; one may be a person's, or the watchdog's on a bad day.
const manyRestarts = 3

func checkUnit(ctx context.Context, m *Machine, s *Subject) []Finding {
	u := s.unit(ctx, m)
	switch {
	case !u.known && s.Unit == "":
		return note("", "conch is not installed as a service here; %s", u.why)
	case !u.known:
		return note("", "conch is installed as a service, and its state cannot be asked: %s", u.why)
	case u.have["LoadState"] == "not-found":
		return note("", "conch is not installed as a service here")
	}
	journal := "journalctl -u conch -b -n 50 --no-pager"
	if u.have["ExecMainCode"] == "1" && u.have["ExecMainStatus"] == "2" && s.Refused == nil { // mended since, or the caller may not see
		journal = "sudo conch check, and if it is content: sudo systemctl restart conch; else " + journal
	}
	active, file := u.have["ActiveState"], u.have["UnitFileState"]
	switch {
	case u.have["LoadState"] == "masked" || strings.HasPrefix(file, "masked"):
		return bad("", "the service is masked: systemd will not start it, whoever asks", "somebody ran systemctl mask conch",
			"sudo systemctl unmask conch && sudo systemctl enable --now conch")
	case u.have["LoadState"] != "loaded":
		return bad("", "systemd cannot load the unit ("+u.have["LoadState"]+")", "the unit file or a drop-in is broken", "systemd-analyze verify conch.service")
	case active == "failed":
		return bad("", "the service has failed ("+exited(u)+")", causeOfExit(u), journal)
	case u.have["SubState"] == "auto-restart":
		return bad("", fmt.Sprintf("the service ended (%s) and is started again and again: %s times so far", exited(u), u.have["NRestarts"]), causeOfExit(u),
			journal)
	case active == "activating":
		return note("", "the service is starting")
	case active != "active":
		do := "sudo systemctl start conch"
		if file == "disabled" {
			do = "sudo systemctl enable --now conch"
		}
		return bad("", "the service is not running ("+active+")", "it was stopped, or never started", do)
	}
	out := ok("", "the service runs")
	if text := u.have["StatusText"]; text != "" {
		out = ok("", "the service runs: %s", text)
	}
	if file == "disabled" {
		out = warn("", "the service runs, but will not start at the next boot", "it is disabled", "sudo systemctl enable conch")
	}
	if n, _ := strconv.Atoi(u.have["NRestarts"]); n >= manyRestarts {
		out = append(out, warn("restarts", fmt.Sprintf("systemd had to restart it %d times", n),
			"it ended by itself, or its watchdog found a loop that was stuck", journal+" | grep -iE 'watchdog|panic|fatal|exited'")...)
	} else if n > 0 {
		out = append(out, note("restarts", "systemd restarted it %s since it was started", printable.Count(n, "time"))...)
	}
	if w := u.have["WatchdogUSec"]; u.have["Type"] == "notify" && (w == "0" || w == "infinity") {
		out = append(out, warn("watchdog", "no watchdog: a stuck appliance stays stuck", "WatchdogSec is not set in the unit or is overridden",
			"systemctl cat conch, and remove the drop-in that sets it")...)
	}
	if u.have["NeedDaemonReload"] == "yes" {
		out = append(out, warn("reload", "the unit file has changed since systemd read it", "it was edited or upgraded by hand",
			"sudo systemctl daemon-reload && sudo systemctl restart conch")...)
	}
	return out
}

// exited is how the main process ended, in words. ExecMainCode is that of waitid(2): 1 exited, 2 killed, 3 dumped.
func exited(u unitState) string {
	status := u.have["ExecMainStatus"]
	switch {
	case u.have["Result"] == "watchdog":
		return "the watchdog ended it"
	case u.have["Result"] == "oom-kill":
		return "the kernel ended it for lack of memory"
	case u.have["ExecMainCode"] == "2" || u.have["ExecMainCode"] == "3":
		return "signal " + status
	case u.have["ExecMainCode"] == "1":
		return "exit status " + status
	}
	return u.have["Result"]
}

// causeOfExit knows our own exit codes (cmd/conch) and those of systemd.exec(5).
func causeOfExit(u unitState) string {
	switch u.have["Result"] {
	case "watchdog":
		return "a loop that matters was stuck for longer than WatchdogSec; the journal has where every goroutine was"
	case "oom-kill":
		return "the memory of the machine, or MemoryMax of the unit, was used up"
	case "start-limit-hit":
		return "it ended so often that systemd gave up"
	}
	if u.have["ExecMainCode"] != "1" {
		return "the program was killed or crashed"
	}
	switch u.have["ExecMainStatus"] {
	case "2":
		return "conch refused its configuration; conch check says why"
	case "203":
		return "the program could not be executed: it is missing, or built for another processor"
	case "216", "217":
		return "the unit's user or a group of it does not exist"
	case "243":
		return "systemd could not load the credentials in /etc/conch/credentials"
	}
	return "see the last lines of its log"
}

// wanted are the groups that own what conch uses: what for, and how one sees that it is on this machine.
var wanted = []struct{ group, use, device string }{
	{"gpio", "the button", "/dev/gpiochip*"},
	{"audio", "the sound card", "/dev/snd/pcm*"},
	{"spi", "a light on SPI", "/dev/spidev*"},
	{"i2c", "recognising a board", "/dev/i2c-*"},
}

func checkGroups(ctx context.Context, m *Machine, s *Subject) []Finding {
	if s.Unit == "" {
		return nil
	}
	a, known := m.account(s.User)
	if !known {
		return bad("", "there is no user "+s.User, "the package's user was removed, or never made", "sudo systemd-sysusers && sudo systemctl restart conch")
	}
	unit := s.unit(ctx, m)
	var out, have []string
	var findings []Finding
	for _, w := range wanted {
		id := m.groupID(w.group)
		switch {
		case len(m.glob(w.device)) == 0:
		case id < 0:
			out = append(out, w.group)
			findings = append(findings,
				warn("", "there is no group "+w.group+", so "+a.String()+" may not use "+w.use, "this system has no such group; conch's package makes it",
					"sudo systemd-sysusers && sudo udevadm trigger && sudo systemctl restart conch")...)
		case slices.Contains(a.Groups, id), slices.Contains(unit.groups, w.group):
			have = append(have, w.group)
		default:
			out = append(out, w.group)
			findings = append(findings, bad("", a.String()+" is not in the group "+w.group+", which has "+w.use,
				"the user was made without it, or was taken out", a.rights(w.group))...)
		}
	}
	if len(out) > 0 {
		return findings
	}
	if len(have) == 0 {
		return ok("", "%s; nothing here needs a group", a)
	}
	return ok("", "%s is in %s", a, named(have))
}

func checkConfig(_ context.Context, m *Machine, s *Subject) []Finding {
	if s.Refused != nil {
		var out []Finding
		cause := "the configuration says what conch does not take; the service starts all the same"
		if s.Meanwhile != "" {
			cause += ": " + s.Meanwhile
		}
		for line := range strings.Lines(s.Refused.Error()) {
			out = append(out, bad("", strings.TrimPrefix(strings.TrimSpace(line), "config: "), cause, "mend it, then: conch check")...)
		}
		return out
	}
	var out []Finding
	for _, w := range s.Warnings {
		out = append(out, warn("", strings.TrimPrefix(w, "config: "), "the configuration", "conch check shows every value and where it comes from")...)
	}
	if len(out) > 0 {
		return out
	}
	if s.File == "" {
		return ok("", "no file: every value is its default")
	}
	if a := s.account(m); !a.Caller {
		if can, _, err := m.may(a, s.File, 4); err == nil && !can {
			return bad("", s.File+" cannot be read by "+a.String(), "its mode is for others", "sudo chmod 644 "+s.File)
		}
	}
	return ok("", "%s", s.File)
}

func checkRunning(ctx context.Context, m *Machine, s *Subject) []Finding {
	r, here, err := s.running(ctx)
	switch {
	case !here && s.Unit != "":
		if can, _, err := m.may(Account{UID: m.UID, Groups: m.Groups, Caller: true}, s.RuntimeDir, 1); err == nil && !can {
			return unknown("", "whether the service answers", "sudo conch doctor")
		}
		return note("", "no appliance answers in %s", s.RuntimeDir)
	case !here:
		return tip("", "no conch is running for this configuration", "start it with: conch run")
	case errors.Is(err, context.DeadlineExceeded):
		return bad("", "a conch is running but does not answer", "it is stuck, or the machine is very busy", "sudo systemctl restart conch")
	case err != nil:
		return bad("", "a conch is running but does not answer: "+err.Error(), "the socket is there and what is behind it is not well",
			"sudo systemctl restart conch, or end it and start it again")
	}
	out := ok("", "state %s, %s", r.State, printable.Count(r.Turns, "turn"))
	if r.Muted {
		out = append(out, Finding{Check: "muted", Level: Note, Text: "the microphone is closed, by wish: it hears nothing", Do: "conch mute off"})
	}
	for _, c := range r.Conditions {
		if c.Code == "config.refused" && s.Refused != nil { // said already, and in full
			continue
		}
		if c.Code == "key.missing" { // how a fresh box is, and what it says when it is asked
			out = append(out, Finding{Check: "condition " + c.Code, Level: Note, Text: c.Text, Do: c.Do})
			continue
		}
		out = append(out, bad("condition "+c.Code, c.Text, "the running appliance says so, since "+c.Since.Local().Format("2006-01-02 15:04"), c.Do)...)
	}
	return out
}

func checkPrograms(ctx context.Context, m *Machine, s *Subject) []Finding {
	var missing []string
	for _, p := range []string{"flite", "pocketsphinx_continuous", "espeak-ng"} {
		if !m.program(p) {
			missing = append(missing, p)
		}
	}
	const all = "flite, pocketsphinx and espeak-ng are there"
	switch {
	case len(missing) == 0:
		return ok("", all)
	case !s.Voice.Kind.Local, s.Voice.KeyHidden: // or nobody knows
		return ok("", "%s not installed; only the rehearsal voice needs them", named(missing))
	}
	return tip("", "not installed: "+named(missing)+" (the rehearsal voice hears and speaks with them)",
		"sudo apt install flite pocketsphinx pocketsphinx-en-us espeak-ng")
}

// program says whether a program is installed, where service managers and people look for one.
func (m *Machine) program(name string) bool {
	if m.Root == "" {
		_, err := exec.LookPath(name)
		return err == nil
	}
	return m.Exists("/usr/bin/" + name)
}
