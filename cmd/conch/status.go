package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"conch/device/control"
	"conch/device/printable"
)

type statusCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is what conch status --help says on top.
func (statusCmd) Help() string {
	return "The first line says what it does now, the last what is wrong, with what to do about it. conch doctor looks deeper, and needs no running appliance."
}

func (c statusCmd) Run(e *env) error {
	var s control.Status
	if err := e.request("GET", "/status", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		return e.json(s)
	}
	fmt.Fprint(e.out, statusText(s, columns(e.out, 0), time.Now()))
	return nil
}

// statusText is how an appliance is, for people: a line a thing, wrapped where the terminal is narrow.
func statusText(s control.Status, width int, now time.Time) string {
	rows := [][2]string{{"state", doing(s)}, {"voice", printable.Text(s.Voice)},
		{"button", cmp.Or(printable.Text(s.Button), "none")}, {"card", printable.Text(s.Sound)}}
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, [2]string{name, text})
		}
	}
	add("volume", fmt.Sprintf("%d, %s", s.Volume, volumeFrom(s.VolumeFrom)))
	if s.Muted {
		add("mute", "on: the microphone is closed (conch mute off)")
	} else {
		add("mute", "off")
	}
	add("room", roomLine(s.Room, s.Pairing))
	add("silence", silenceLine(s.Silence, now))
	add("today", todayLine(s.Today))
	if len(s.Conditions) == 0 {
		add("wrong", "nothing")
	}
	for _, c := range s.Conditions {
		add("wrong", fmt.Sprintf("%s (%s)", sentence(printable.Text(c.Text)), since(now.Sub(c.Since))))
		add("do", printable.Text(c.Do))
	}
	var b strings.Builder
	twoColumns(&b, "", rows, width)
	return b.String()
}

// doing is what the turn machine does, and whether it could talk.
func doing(s control.Status) string {
	if !s.Ready {
		return s.Doing() + ", not ready yet"
	}
	return s.Doing()
}

// volumeFrom is where the volume comes from, in a person's words.
func volumeFrom(origin string) string {
	origin = printable.Text(origin)
	if rest, ok := strings.CutPrefix(origin, "remembered"); ok {
		return "as it was set last by word or command" + rest
	}
	if rest, ok := strings.CutPrefix(origin, "default"); ok {
		return "the default" + rest
	}
	return "from " + origin
}

func roomLine(r *control.RoomBrief, pairing control.PairingLine) string {
	if r == nil && pairing.Restarts {
		return "just paired; it takes its place once nobody talks here and no line is half typed"
	}
	if r == nil {
		return "none: it is alone (conch room pair)"
	}
	var here []string
	for _, name := range r.Here {
		here = append(here, printable.Name(name))
	}
	who := strings.Join(here, ", ")
	switch {
	case r.Alone:
		return who + ", on this device alone"
	case !r.Connected:
		return printable.Name(r.Name) + ", not connected; here " + who
	}
	return fmt.Sprintf("%s: %s, on %d %s", printable.Name(r.Name), who, r.Devices, map[bool]string{true: "device", false: "devices"}[r.Devices == 1])
}

func silenceLine(s *control.Silence, now time.Time) string {
	if s == nil {
		return "never measured here (conch bench silence)"
	}
	return fmt.Sprintf("%.1f ms after a press (p99, promised: %.0f), measured %s", s.P99, s.Budget, ago(now.Sub(s.When)))
}

func todayLine(u *control.UsageReport) string {
	if u == nil {
		return "" // this voice counts nothing
	}
	text := fmt.Sprintf("%d answers, %d tokens", u.Responses, u.Tokens)
	if u.Cost > 0 || u.CeilingCost > 0 {
		text += fmt.Sprintf(", cost %.2f", u.Cost)
	}
	if u.CeilingCost > 0 {
		text += fmt.Sprintf(" of %.2f", u.CeilingCost)
	}
	if u.Cost == 0 && u.CeilingCost == 0 && u.Tokens > 0 {
		text += ", cost unknown (voice.price_in)"
	}
	if u.Refusing != "" {
		text += "; no new answers: " + printable.Text(u.Refusing) + " (conch usage reset)"
	}
	return text
}

func sentence(text string) string { return strings.TrimSuffix(text, ".") }

func ago(d time.Duration) string {
	if d < time.Minute {
		return "just now"
	}
	return span(d) + " ago"
}

func since(d time.Duration) string { return "for " + span(d) }

// span is a duration in its largest unit: nobody needs the seconds of yesterday.
func span(d time.Duration) string {
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int(d / u.one); n == 1 {
			return "1 " + u.name
		} else if n > 1 {
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return "a moment"
}
