package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/device/language"
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
	fmt.Fprint(e.out, e.describe().status(s, columns(e.out, 0)))
	return nil
}

// describe says how an appliance is, for people.
type describe struct {
	in  language.Language
	now time.Time
}

// describe does so in the language of the configuration, or of who asks.
func (e *env) describe() describe {
	d := describe{now: time.Now()}
	if cfg, err := e.loadAnyway(); err == nil {
		d.in = cfg.Device.Language
	}
	return d
}

// status is a line a thing, wrapped where the terminal is narrow.
func (d describe) status(s control.Status, width int) string {
	doing := s.Doing(d.in)
	if !s.Ready {
		doing = d.in.Phrase("status.not_ready", "doing", doing)
	}
	rows := [][2]string{{d.in.Phrase("status.state"), doing}, {d.in.Phrase("status.voice"), d.value(s.Voice)},
		{d.in.Phrase("status.button"), cmp.Or(d.value(s.Button), d.in.Phrase("status.none"))}, {d.in.Phrase("status.card"), d.value(s.Sound)}}
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, [2]string{name, text})
		}
	}
	add(d.in.Phrase("status.volume"), fmt.Sprintf("%d, %s", s.Volume, d.volumeFrom(s.VolumeFrom)))
	if s.Muted {
		add(d.in.Phrase("status.mute"), d.in.Phrase("status.mute_on"))
	} else {
		add(d.in.Phrase("status.mute"), d.in.Phrase("status.mute_off"))
	}
	add(d.in.Phrase("status.room"), d.room(s.Room, s.Pairing))
	add(d.in.Phrase("status.silence"), d.silence(s.Silence))
	add(d.in.Phrase("status.today"), d.today(s.Today))
	add(d.in.Phrase("status.page"), strings.Join(s.Page, " "))
	if s.Now != nil {
		for _, r := range s.Now.Ringing {
			add(d.in.Phrase("status.timer"), d.in.Phrase("status.timer_rings", "name", printable.Text(r.Text)))
		}
		for _, t := range s.Now.Timers {
			add(d.in.Phrase("status.timer"), d.timer(t))
		}
	}
	for _, m := range s.Missed {
		add(d.in.Phrase("status.missed"), fmt.Sprintf("%s: %s (%s)", d.ago(d.now.Sub(m.At)), sentence(printable.Text(m.Text)), d.in.Phrase("missed."+m.Why)))
	}
	if len(s.Conditions) == 0 {
		add(d.in.Phrase("status.wrong"), d.in.Phrase("status.nothing"))
	}
	for _, c := range s.Conditions {
		text, do, details := d.wrong(c)
		add(d.in.Phrase("status.wrong"), fmt.Sprintf("%s (%s)", text, d.in.Phrase("status.for", "span", d.span(d.now.Sub(c.Since)))))
		add(d.in.Phrase("status.do"), do)
		add(d.in.Phrase("status.detail"), details)
	}
	var b strings.Builder
	twoColumns(&b, "", rows, width)
	return b.String()
}

// wrong is what a condition is and what to do about it. What is known of it beyond that is in English, and stands behind in another language.
func (d describe) wrong(c condition.Condition) (text, do, details string) {
	text, do = sentence(printable.Text(c.Text)), printable.Text(c.Do)
	if d.in.Code() == language.English.Code() {
		return text, do, ""
	}
	code := string(c.Code)
	for !language.Has("wrong."+code) && strings.Contains(code, ".") {
		code = code[:strings.LastIndex(code, ".")]
	}
	switch clip := c.Said(); {
	case clip != "":
		return sentence(d.in.Phrase("clip." + clip)), "", text + "; " + do
	case language.Has("wrong." + code):
		return sentence(d.in.Phrase("wrong." + code)), "", text + "; " + do
	}
	return text, do, ""
}

// value is a state in words, which the appliance says in English.
func (d describe) value(english string) string { return d.in.Retell("value", printable.Text(english)) }

// timer is one that runs.
func (d describe) timer(t control.TimerRow) string {
	return d.in.Phrase("status.timer_left", "name", printable.Text(t.Name), "span", d.span(max(0, t.Ends.Sub(d.now))))
}

// volumeFrom is where the volume comes from.
func (d describe) volumeFrom(origin string) string {
	origin = printable.Text(origin)
	if rest, ok := strings.CutPrefix(origin, "remembered"); ok {
		return d.in.Phrase("status.volume_set") + rest
	}
	if rest, ok := strings.CutPrefix(origin, "default"); ok {
		return d.in.Phrase("status.volume_default") + rest
	}
	return d.in.Phrase("status.volume_from", "origin", d.value(origin))
}

func (d describe) room(r *control.RoomBrief, pairing control.PairingLine) string {
	if r == nil && pairing.Restarts {
		return d.in.Phrase("status.just_paired")
	}
	if r == nil {
		return d.in.Phrase("status.no_room")
	}
	var here []string
	for _, name := range r.Here {
		here = append(here, printable.Name(name))
	}
	who := strings.Join(here, ", ")
	switch {
	case r.Alone:
		return who + ", " + d.in.Phrase("status.here_alone")
	case !r.Connected:
		return printable.Name(r.Name) + ", " + d.in.Phrase("status.not_connected", "names", who)
	}
	return printable.Name(r.Name) + ": " + d.in.Phrase("status.on_devices", "names", who, "n", r.Devices)
}

func (d describe) silence(s *control.Silence) string {
	if s == nil {
		return d.in.Phrase("status.never_measured")
	}
	return d.in.Phrase("status.measured", "ms", fmt.Sprintf("%.1f", s.P99), "promised", fmt.Sprintf("%.0f", s.Budget), "ago", d.ago(d.now.Sub(s.When)))
}

func (d describe) today(u *control.UsageReport) string {
	if u == nil {
		return "" // this voice counts nothing
	}
	text := d.in.Phrase("status.answers", "n", u.Responses, "tokens", u.Tokens)
	switch {
	case u.CeilingCost > 0:
		text += ", " + d.in.Phrase("status.cost_of", "cost", control.Money(u.Cost), "ceiling", control.Money(u.CeilingCost))
	case u.Priced:
		text += ", " + d.in.Phrase("status.cost", "cost", control.Money(u.Cost))
	case u.Tokens > 0:
		text += ", " + d.in.Phrase("status.cost_unknown")
	}
	if u.Refusing != "" {
		text += "; " + d.in.Phrase("status.refusing", "why", spent(d.in, *u))
	}
	return text
}

func sentence(text string) string { return strings.TrimSuffix(text, ".") }

func (d describe) ago(past time.Duration) string {
	if past < time.Minute {
		return d.in.Phrase("status.just_now")
	}
	return d.in.Phrase("status.ago", "span", d.span(past))
}

// span is a duration in its largest unit: nobody needs the seconds of yesterday.
func (d describe) span(long time.Duration) string {
	switch {
	case long >= 24*time.Hour:
		return d.in.Phrase("status.days", "n", int(long/(24*time.Hour)))
	case long >= time.Hour:
		return d.in.Phrase("status.hours", "n", int(long/time.Hour))
	case long >= time.Minute:
		return d.in.Phrase("status.minutes", "n", int(long/time.Minute))
	case long >= time.Second:
		return d.in.Phrase("status.seconds", "n", int(long/time.Second))
	}
	return d.in.Phrase("status.moment")
}
