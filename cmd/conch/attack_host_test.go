package main

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"conch/device/control"
)

// small: the keeper stays below 46 + 16 MiB, puts the liar out, names it, and is what it was within a minute. The others converse meanwhile.
func (a *attacked) small(kind string) {
	before, most := a.kernel(a.kitchen, "status", "VmRSS"), 0
	l := a.attack(kind, 10*time.Second)
	go func() { a.answers(a.hall, "Ada", 3, 4) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
			most = max(most, a.kernel(a.kitchen, "status", "VmRSS"))
		case <-l.done:
			over = true
		}
	}
	if l.end().value("put out") == "" {
		a.Error("it was not put out")
	}
	a.Logf("the kitchen had %.1f MiB, %.1f at most", float64(before)/1024, float64(most)/1024)
	if most > 62<<10 {
		a.Errorf("the kitchen has grown to %.1f MiB; want 62 at most", float64(most)/1024)
	}
	a.named(a.kitchen, "kept_out")
	a.answers(a.hall, "Ada", 2, 5)
	began, now := time.Now(), 0
	if !soon(func() bool { now = a.kernel(a.kitchen, "status", "VmRSS"); return now < before+4<<10 }) {
		a.Errorf("after %v the kitchen still has %.1f MiB", time.Since(began), float64(now)/1024)
	}
	a.Logf("%.0f s later it has %.1f MiB", time.Since(began).Seconds(), float64(now)/1024)
}

var pressed = regexp.MustCompile(`(?m)^time=(\S+) .*event=room\.hush .*why="a person pressed at hall"`)

// floods: of the presses of a good one none is lost, however many others' arrive, forged and not. What comes as fast as it goes is put out and named.
func (a *attacked) floods(what string, out bool) {
	const n = 20
	l := a.attack(what, 12*time.Second)
	a.until("the liar floods", func() bool { return l.value("believed") != "" })
	tick := time.NewTicker(450 * time.Millisecond)
	defer tick.Stop()
	var began []time.Time
	for range n {
		<-tick.C
		began = append(began, time.Now())
		_ = ask[control.Hushed](a, a.hall, "POST", "/hush", nil)
	}
	var arrived [][]string
	a.until("all presses have hushed the kitchen", func() bool {
		arrived = pressed.FindAllStringSubmatch(a.kitchen.read(a.T, "log"), -1)
		return len(arrived) >= n
	})
	l.end()
	var late []time.Duration
	for i, m := range arrived[:n] {
		at, _ := time.Parse(time.RFC3339Nano, m[1])
		late = append(late, at.Sub(began[i]))
	}
	slices.Sort(late)
	a.Logf("%d of %d presses at the hall were heard in the kitchen, %v after they were asked for (median), %v at most", len(arrived), n, late[n/2], late[n-1])
	if out {
		a.named(a.kitchen, "kept_out")
	}
	a.answers(a.hall, "Ada", 2, 5)
	a.unchanged()
}

// writes: what an appliance writes to its disk while a lie lasts.
func (a *attacked) writes(kind string, long time.Duration) int {
	before, size := a.kernel(a.kitchen, "io", "write_bytes"), len(a.kitchen.read(a.T, "log"))
	l := a.attack(kind, long)
	l.end()
	written := a.kernel(a.kitchen, "io", "write_bytes") - before
	a.Logf("the kitchen has written %d kB, of which %d kB are its log, while the liar said %s", written>>10, (len(a.kitchen.read(a.T, "log"))-size)>>10, l.value("sent"))
	return written
}

// wear: whatever a member says that is written down is counted, refused and named; the disk is written to a fifth of what it once was
// (2.5 MB in 10 s).
func (a *attacked) wear(kind, code string) {
	if kb := a.writes(kind, 12*time.Second) >> 10; kb > 500 {
		a.Errorf("%d kB", kb)
	}
	if code != "" {
		a.named(a.kitchen, code)
	}
	a.answers(a.hall, "Ada", 2, 5)
}

// presses without end are named, and count no more.
func (a *attacked) presses() {
	if kb := a.writes("presses", 20*time.Second) >> 10; kb > 500 {
		a.Errorf("%d kB", kb)
	}
	a.named(a.kitchen, "presses")
	a.named(a.hall, "presses")
	if n := strings.Count(a.kitchen.read(a.T, "log"), `why="a person pressed at pantry"`); n < 10 || n > 90 {
		a.Errorf("%d of its presses have counted; want 30 in 10 s, and no more once it is named", n)
	}
	a.answers(a.hall, "Ada", 2, 5)
}

// sessions: whatever MQTT has that no device uses is refused, and nobody else's link ends.
func (a *attacked) sessions() {
	l := a.attack("sessions", 6*time.Second)
	a.answers(a.hall, "Ada", 2, 5)
	l.end()
	for _, what := range []string{"another's id", "no id", "another's will", "a will that is kept", "a session that is kept", "to all", "a packet of 256 MB"} {
		if got := l.value(what); got != "" && !strings.HasPrefix(got, "refused") && !strings.HasSuffix(got, "put out") {
			a.Errorf("%s: %s", what, got)
		}
	}
	for what, want := range map[string]string{"what was kept": "let in, then nothing", "another room": "let in, then answered 9003000180", "everything": "let in, then answered 9003000180"} {
		if got := l.value(what); got != want {
			a.Errorf("%s: %s; want %s", what, got, want)
		}
	}
	a.answers(a.hall, "Ada", 2, 6)
	if strings.Contains(a.hall.read(a.T, "log"), "event=mqtt.down") {
		a.Error("the hall has lost its link")
	}
	a.unchanged()
}

// silent connections fill no door: a good device pairs meanwhile.
func (a *attacked) silent() {
	if out, status := a.hall.conch(a.T, "room", "leave", "--yes"); status != 0 {
		a.Fatalf("leave: status %d: %s", status, out)
	}
	a.until("the hall is alone", func() bool { return ask[control.Status](a, a.hall, "GET", "/status", nil).Paired == nil })
	l := a.attack("silent", 15*time.Second)
	a.until("the liar holds connections", func() bool { return l.value("open") != "" })
	began := time.Now()
	a.pair(a.hall)
	a.Logf("paired in %v", time.Since(began))
	l.end()
}

// stranger: whoever shakes hands is shown neither device nor room.
func (a *attacked) stranger() {
	l := a.attack("stranger", time.Second).end()
	lines := strings.Count(l.said(), "shown: ")
	if told := lines - strings.Count(l.said(), ": nothing\n") - strings.Count(l.said(), ": no handshake ("); told > 0 || !strings.Contains(l.said(), ": nothing\n") {
		a.Errorf("%d of %d times something is told", told, lines)
	}
}

// removed, it hears nothing any more, and nobody listens to it.
func (a *attacked) removed() {
	if out, status := a.hall.conch(a.T, "room", "remove", "pantry", "--yes"); status != 0 {
		a.Fatalf("remove: status %d: %s", status, out)
	}
	l := a.attack("listens", 5*time.Second)
	<-l.done
	if want := "heard: 0"; !strings.Contains(l.said(), want) || l.value("believed") != "False" {
		a.Errorf("removed, it hears the room:\n%s", l.said())
	}
}
