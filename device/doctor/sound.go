package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"conch/device/pattern"
	"conch/gpio"
)

// alsaCard is one card as /proc/asound has it.
type alsaCard struct {
	number   string
	id, name string
	plays    bool
	records  bool
}

var cardLine = pattern.New(`(?m)^ *(\d+) \[([^\]]*)\]: (\S+) - (.*)$`)

func (m *Machine) cards() (all []alsaCard) {
	for _, f := range cardLine().FindAllStringSubmatch(m.say("/proc/asound/cards"), -1) {
		c := alsaCard{number: f[1], id: strings.TrimSpace(f[2]), name: strings.TrimSpace(f[4])}
		dir := "/proc/asound/card" + c.number
		c.plays, c.records = len(m.glob(dir+"/pcm*p")) > 0, len(m.glob(dir+"/pcm*c")) > 0
		all = append(all, c)
	}
	return all
}

// alsa says whether the cards of the kernel are what conch plays on.
func (s *Subject) alsa() bool {
	return s.Sound.Backend == "auto" || s.Sound.Backend == "alsa" || s.Sound.Backend == ""
}

// cardOf is the card id in an identity such as "plughw:CARD=seeed2micvoicec,DEV=0".
func cardOf(identity string) string {
	_, rest, named := strings.Cut(identity, "CARD=")
	if !named {
		return ""
	}
	id, _, _ := strings.Cut(rest, ",")
	return id
}

func checkCard(_ context.Context, m *Machine, s *Subject) []Finding {
	if !s.alsa() {
		return ok("", "not asked for: audio.backend = %q", s.Sound.Backend)
	}
	all := m.cards()
	var plays, records, hdmi []string
	for _, c := range all {
		if c.plays {
			plays = append(plays, c.id)
			if strings.Contains(strings.ToLower(c.id), "hdmi") {
				hdmi = append(hdmi, c.id)
			}
		}
		if c.records {
			records = append(records, c.id)
		}
	}
	if missing := overlayMissing(m, s, all); missing != nil {
		return missing
	}
	if len(all) == 0 {
		if s.Sound.Backend == "alsa" || s.Unit != "" || m.isPi() {
			return bad("", "there is no sound card", "none is plugged in, or its driver is not loaded",
				"plug in a USB sound card, or name the board: conch gpio list, then device.board in /etc/conch/conch.toml")
		}
		return note("", "the kernel has no sound card here; a sound server may have one")
	}
	for _, w := range []struct {
		key, identity string
		among         []string
	}{{"audio.playback", s.Sound.Playback, plays}, {"audio.capture", s.Sound.Capture, records}} {
		if id := cardOf(w.identity); id != "" && !slices.Contains(w.among, id) {
			return bad("", fmt.Sprintf("%s = %q is not there; there is %s", w.key, w.identity, orNone(w.among)),
				"it is unplugged, or its driver gave it another id", "plug it in, or choose another: conch audio list")
		}
	}
	a := s.account(m)
	for _, p := range m.glob("/dev/snd/pcm*") {
		if can, group, err := m.may(a, p, 6); err == nil && !can {
			group = cmp.Or(group, "audio")
			return bad("", p+": "+a.String()+" may not open it", rightsCause(m, p), a.rights(group))
		}
	}
	switch {
	case len(plays) == 0:
		return bad("", "no card can play; there is "+named(records), "only a microphone is there", "plug in a loudspeaker, or a board with one")
	case len(records) == 0:
		return bad("microphone", "no card can record; there is "+named(plays), "there is no microphone: the Pi itself has none",
			"plug in a USB microphone, or a board with one")
	case len(hdmi) == len(plays) && s.Sound.Playback == "": // who names it wants it
		return warn("", "the only loudspeaker is HDMI ("+named(hdmi)+")", "no other card is there, or its driver is not loaded",
			"for another one, name the board: conch gpio list, then device.board in /etc/conch/conch.toml")
	}
	return ok("", "plays: %s; records: %s", named(plays), named(records))
}

// overlayMissing: a board is there, or is said to be, and the card it should be is not.
func overlayMissing(m *Machine, s *Subject, all []alsaCard) []Finding {
	b, known := gpio.FindBoard(s.Board)
	product, plugged, says := s.plugged(m)
	why := fmt.Sprintf("device.board = %q", s.Board)
	if says && (!known || plugged.Name == b.Name) {
		if !known {
			b = plugged
		}
		known, why = true, fmt.Sprintf("the HAT says it is %q", product)
	}
	if !known || len(b.Cards) == 0 {
		return nil
	}
	var ids []string
	for _, c := range all {
		ids = append(ids, c.id)
		if slices.Contains(b.Cards, c.id) {
			return nil
		}
	}
	f := Finding{Check: "overlay", Level: Bad,
		Text: fmt.Sprintf("%s, and there is no sound card %s (there is: %s)", why, strings.Join(b.Cards, " or "), orNone(ids))}
	line := b.Overlay
	switch {
	case line == "":
		f.Cause, f.Do = "the board's driver is not loaded", "install the driver as the board's maker says; "+b.Note
	case !m.overlay(line):
		f.Cause, f.Do = "the board's driver is not installed: there is no overlay for "+line,
			"install it as the board's maker says, then: "+m.addLine(line)+"; "+b.Note
	case strings.Contains("\n"+m.say(m.configTxt())+"\n", "\n"+line+"\n"):
		f.Cause, f.Do = m.configTxt()+" has "+line+", and the driver found no board or is not in this kernel",
			"reboot if the line is new; else: dmesg | grep -iE 'asoc|snd|codec' and see that the board sits well"
	default:
		f.Cause, f.Do = "the overlay is missing in "+m.configTxt(), m.addLine(line)
	}
	return []Finding{f}
}

// overlay says whether the file that a line of config.txt names is there; where nobody can tell, it is.
func (m *Machine) overlay(line string) bool {
	dir := path.Join(path.Dir(m.configTxt()), "overlays")
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "dtoverlay="), ",")
	return len(m.glob(dir+"/*.dtbo")) == 0 || m.Exists(dir+"/"+name+".dtbo")
}

// use is one open stream of a card.
type use struct {
	card, stream string // id; "playback" or "capture"
	pid          int
	command      string
	params       map[string]string
}

func (m *Machine) uses() (all []use) {
	for _, p := range m.glob("/proc/asound/card*/pcm*/sub*/status") {
		status := m.say(p)
		_, rest, open := strings.Cut(status, "owner_pid")
		if !open {
			continue
		}
		sub := path.Dir(p)
		pcm := path.Base(path.Dir(sub))
		u := use{card: m.say(path.Join(sub, "../../id")), stream: "playback", params: map[string]string{}}
		if strings.HasSuffix(pcm, "c") {
			u.stream = "capture"
		}
		_, _ = fmt.Sscanf(strings.TrimLeft(rest, " \t:"), "%d", &u.pid)
		u.command = m.say("/proc/" + strconv.Itoa(u.pid) + "/comm")
		for line := range strings.Lines(m.say(sub + "/hw_params")) {
			if k, v, is := strings.Cut(strings.TrimSpace(line), ": "); is {
				u.params[k] = v
			}
		}
		all = append(all, u)
	}
	return all
}

// mine says whether a stream is conch's: by the service's process, or by name (the audio thread's number is reported, whose
// name is the program's).
func (s *Subject) mine(ctx context.Context, m *Machine, u use) bool {
	if strings.HasPrefix(u.command, "conch") {
		return true
	}
	main := s.unit(ctx, m).mainPID
	return main != 0 && (u.pid == main || strings.HasPrefix(m.say(fmt.Sprintf("/proc/%d/status", u.pid)), "Name:\tconch") ||
		strings.Contains(m.say(fmt.Sprintf("/proc/%d/status", u.pid)), fmt.Sprintf("\nTgid:\t%d\n", main)))
}

var servers = map[string]string{
	"pulseaudio": "systemctl --user mask --now pulseaudio.socket pulseaudio.service",
	"pipewire":   "systemctl --user mask --now pipewire.socket pipewire.service pipewire-pulse.socket pipewire-pulse.service wireplumber.service",
}

func checkHolder(ctx context.Context, m *Machine, s *Subject) []Finding {
	if !s.alsa() {
		return nil
	}
	var ours []string
	var others []use
	for _, u := range m.uses() {
		want := map[string]string{"playback": cardOf(s.Sound.Playback), "capture": cardOf(s.Sound.Capture)}[u.stream]
		switch {
		case s.mine(ctx, m, u):
			ours = append(ours, u.stream+" of "+u.card)
		case want == "" || want == u.card:
			others = append(others, u)
		}
	}
	var out []Finding
	for _, u := range others {
		held := false
		for _, o := range ours {
			held = held || strings.HasPrefix(o, u.stream)
		}
		if held { // conch has another card for it: nothing is wrong
			continue
		}
		who := u.command
		if who == "" {
			who = "process " + strconv.Itoa(u.pid)
		}
		cause, do := "it opened the card first, and a card plays for one program",
			fmt.Sprintf("end it (sudo kill %d), or choose another card: conch audio list", u.pid)
		if stop, is := servers[u.command]; is {
			cause, do = "a sound server of somebody logged in has the card", "as that user: "+stop+"; or set audio.backend = \"pulse\""
		}
		out = append(out, bad("", fmt.Sprintf("%s of %s is held by %s", u.stream, u.card, who), cause, do)...)
	}
	switch {
	case len(out) > 0:
		return out
	case len(ours) > 0:
		return ok("", "conch has %s", named(ours))
	}
	return ok("", "nobody holds a card")
}

// bound is the longest time from a press to silence: the callback may just have run, the card holds its periods, then comes
// the fade (audio/FACTS.md 4, 5).
func bound(period, periods, rate int, fade time.Duration) time.Duration {
	if rate == 0 {
		return fade
	}
	return time.Duration((periods+1)*period)*time.Second/time.Duration(rate) + fade
}

func judge(text string, b time.Duration, promise time.Duration) []Finding {
	if b > promise {
		return warn("", fmt.Sprintf("%s: silent within %.0f ms of a press, more than the %d promised", text, msOf(b), promise.Milliseconds()),
			"the card, or the setting, takes so much sound in advance",
			"try audio.period_ms = 5 and audio.periods = 0, or another card; conch bench silence measures it")
	}
	return ok("", "%s: silent within %.0f ms of a press", text, msOf(b))
}

func msOf(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func checkBuffer(ctx context.Context, m *Machine, s *Subject) []Finding {
	running, runs, _ := s.running(ctx)
	for _, u := range m.uses() {
		if u.stream != "playback" || !s.mine(ctx, m, u) {
			continue
		}
		var rate, period, buffer int
		_, _ = fmt.Sscan(u.params["rate"], &rate)
		_, _ = fmt.Sscan(u.params["period_size"], &period)
		_, _ = fmt.Sscan(u.params["buffer_size"], &buffer)
		if rate > 0 && period > 0 && buffer >= period {
			text := fmt.Sprintf("%s: %s, %s channels, %d Hz, %d frames x %d", u.card, u.params["format"], u.params["channels"], rate, period, buffer/period)
			silent := time.Duration(running.Metrics["conch_audio_bound_seconds"] * float64(time.Second))
			switch kept := bound(period, buffer/period, rate, s.Sound.Fade); {
			case !runs || silent == 0: // nobody says that it is rewound
				silent = kept
			case silent < kept:
				text += ", of which it gives back what it has not played"
			}
			return judge(text, silent, s.Sound.Promise)
		}
	}
	switch {
	case runs || s.Open == nil: // the card is the appliance's: a second opening would be refused, or disturb it
		return nil
	case s.Unit != "" && s.unit(ctx, m).have["ActiveState"] == "active": // it runs, and does not answer this caller
		return unknown("", "what the card gave to the service", "sudo conch doctor")
	}
	for _, u := range m.uses() {
		if !s.mine(ctx, m, u) && s.alsa() {
			return nil // the check of the holder says so
		}
	}
	o, err := s.Open(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return bad("", "the sound card does not answer", "its driver or the sound server hangs",
			"unplug and plug it, or restart the sound server; dmesg | tail")
	case err != nil:
		return bad("", err.Error(), "the sound system or the card refused",
			"conch audio list shows what there is; audio.backend = \"auto\" and an empty audio.playback take the first that works")
	}
	if o.Backend == "null" {
		return warn("", "no sound card and no sound server: nothing will be heard, and nothing said", "none is there, or audio.backend = \"null\"",
			"plug in a card (conch audio list shows it), or start PulseAudio or PipeWire")
	}
	out := judge(fmt.Sprintf("%s (%s): %s", o.Playback, o.Backend, o.Buffer), o.Bound, s.Sound.Promise)
	if o.CaptureErr != nil {
		return append(out,
			bad("microphone", o.CaptureErr.Error(), "there is no microphone, or it refused", "plug one in; conch audio list shows what there is")...)
	}
	return append(out, ok("microphone", "%s", o.Capture)...)
}

const (
	dryTurns = 1.0 // so many gaps a turn are heard as stuttering
	dryHour  = 6   // so often in an hour a card is dry for a reason; a single time is a machine that was busy with something else
)

func checkUnderruns(ctx context.Context, m *Machine, s *Subject) []Finding {
	r, here, err := s.running(ctx)
	if !here || err != nil {
		return nil
	}
	gaps, turns := r.Metrics["conch_audio_underruns_total"], r.Metrics["conch_turns_total"]
	dry, all := r.Metrics["conch_audio_xruns_hour"], r.Metrics["conch_audio_xruns_total"]
	switch {
	case dry >= dryHour:
		return warn("", fmt.Sprintf("the sound card ran dry %.0f times in the last hour, or lost what it had captured (%.0f since the start)", dry, all),
			"the machine is too busy for the audio thread, or it has no real-time priority",
			"see power, temperature, memory and priority; if they are well, set audio.period_ms = 10: fewer gaps, and a press is silent "+
				"some milliseconds later")
	case turns > 0 && gaps/turns > dryTurns:
		return warn("", fmt.Sprintf("answers had %.0f gaps in %.0f turns", gaps, turns), "the server's sound came too late: the network, or the server",
			"see wifi and server")
	case all > 0:
		return note("", "the sound card ran dry %.0f times in the last hour, %.0f since the start: nothing to do, unless it is heard", dry, all)
	case gaps > 0:
		return note("", "%.0f gaps in %.0f turns", gaps, turns)
	}
	return ok("", "none since the start")
}

func checkSilence(_ context.Context, m *Machine, s *Subject) []Finding {
	last := s.Measured
	switch {
	case last.Hidden:
		return unknown("", "the last measurement", "sudo conch doctor")
	case last.Err != nil:
		return note("", "%v", last.Err)
	case last.When.IsZero():
		return tip("", "never measured on this device", "measure it in under a minute: conch bench silence")
	}
	age := m.Now().Sub(last.When)
	text := fmt.Sprintf("press to silence p99 %.1f ms, worst %.1f ms (%s, measured %s)", last.P99, last.Worst, last.Card, ago(age))
	promise := msOf(s.Sound.Promise)
	switch {
	case last.Worst >= promise:
		return warn("", text, fmt.Sprintf("this device did not hold %.0f ms", promise),
			"try audio.period_ms = 5, or another card, and measure again: conch bench silence")
	case age > 180*24*time.Hour:
		return tip("", text, "measure again: conch bench silence")
	}
	return ok("", "%s", text)
}

func ago(d time.Duration) string {
	switch days := int(d.Hours() / 24); {
	case d < 0:
		return "in the future, says the clock"
	case days == 0:
		return "today"
	case days == 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}

// plays says whether conch has a card open.
func (s *Subject) plays(ctx context.Context, m *Machine) bool {
	return slices.ContainsFunc(m.uses(), func(u use) bool { return s.mine(ctx, m, u) })
}

// realtime says whether a thread of a process is scheduled FIFO or round robin (proc(5), stat: field 41, policy).
func (m *Machine) realtime(pid int) bool {
	for _, p := range m.glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) {
		text := m.say(p)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may have spaces; state is field 3
		if len(f) > 38 && (f[38] == "1" || f[38] == "2") {
			return true
		}
	}
	return false
}

func checkPriority(ctx context.Context, m *Machine, s *Subject) []Finding {
	const why = "under load the sound may stutter and silence come late"
	if s.Unit != "" {
		if u := s.unit(ctx, m); u.known {
			if u.have["LoadState"] != "loaded" { // masked: what systemd shows then is nobody's
				return nil
			}
			limit := u.have["LimitRTPRIO"]
			if n, err := strconv.ParseUint(limit, 10, 64); err == nil && n < s.Sound.Priority {
				return warn("", fmt.Sprintf("the unit allows real-time priority up to %d, the audio thread wants %d", n, s.Sound.Priority), why,
					"remove what overrides LimitRTPRIO: systemctl cat conch")
			}
			switch {
			case !s.plays(ctx, m) || m.realtime(u.mainPID):
			case m.CPUs == 1: // audio/realtime_linux.go
				return note("", "none is taken on a machine with one processor, which a card that fails could then stop")
			default:
				return warn("", "the audio thread runs without real-time priority, though the unit allows it", why,
					"journalctl -u conch -b | grep audio.thread says what it got; sudo systemctl restart conch")
			}
			return ok("", "the unit allows the audio thread real-time priority")
		}
	}
	limit, err := m.RTPrio()
	switch {
	case err != nil:
		return note("", "the real-time limit cannot be read: %v", err)
	case m.UID != 0 && limit < s.Sound.Priority:
		return warn("", fmt.Sprintf("real-time priority up to %d is allowed, the audio thread wants %d", limit, s.Sound.Priority), why,
			"run it as the service, which sets LimitRTPRIO, or: echo '@audio - rtprio 95' | sudo tee /etc/security/limits.d/audio.conf, and log in again")
	}
	return ok("", "the audio thread may be real-time")
}
