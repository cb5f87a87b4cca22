// Package system is the skill of the device itself: the time, the volume, silence, and what was missed.
package system

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/companions/skills"
)

// Skill has the tools get_time, set_volume, mute, list_missed and stop.
type Skill struct {
	Mute   func() error      // closes the microphone; nil: there is no such tool
	Missed skills.MissedFunc // the same
}

// New is the skill.
func New(h skills.Host) skills.Skill { return Skill{Mute: h.Mute, Missed: h.Missed} }

// Brief is for a model with little room.
func (Skill) Brief() string {
	return "The time and date, here or at a place: always ask. percent: loudness. stop: silence. mute: the microphone. What was missed today."
}

// Tools lists them.
func (s Skill) Tools() []skills.Tool {
	tools := []skills.Tool{
		{
			Name: "get_time", Kind: skills.Reads, Own: true,
			Description: "The date and time here, or at another place. Use it for every question about the time, the day or the date.",
			Schema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string","maxLength":60,` +
				`"description":"a city, or a zone as Asia/Tokyo; empty: here"}},"additionalProperties":false}`),
			Handler: getTime,
		},
		{
			Name: "set_volume", Kind: skills.ChangesDevice, Own: true,
			Description: "Sets the loudness of the device in percent; 0 is silent. It is remembered.",
			Schema: json.RawMessage(`{"type":"object","properties":{"percent":{"type":"integer",` +
				`"description":"loudness in percent, 0 to 100"}},"required":["percent"],"additionalProperties":false}`),
			Handler: setVolume,
		},
		{
			Name: "stop", Kind: skills.ChangesDevice, Own: true,
			Description: "Stops whatever plays: music, a book, a call. Use it when the person asks for silence.",
			Handler:     stop,
		},
	}
	if s.Mute != nil {
		tools = append(tools, skills.Tool{
			Name: "mute", Kind: skills.Erases, Own: true,
			Description: "Switches the microphone off, when the person asks for that. It can be switched on again by hand only: " +
				"by holding the button for five seconds. Say so.",
			Handler: s.mute,
		})
	}
	if s.Missed != nil {
		tools = append(tools, skills.Tool{
			Name: "list_missed", Kind: skills.Reads,
			Description: "Tells which reminders, timers and announcements of the last day the person silenced or did not hear: what did I miss?",
			Handler:     s.listMissed,
		})
	}
	return tools
}

const mostTold = 5 // that are said; more is no answer to listen to

func (s Skill) listMissed(ctx skills.Context, _ json.RawMessage) (skills.Result, error) {
	all, more := s.Missed(ctx.Turn, mostTold)
	if len(all) == 0 {
		return skills.Result{Output: "Nothing was missed in the last day."}, nil
	}
	var lines []string
	for _, m := range all {
		lines = append(lines, when(m.At, ctx.Now())+", "+strings.TrimRight(skills.Short(m.Text), ".!? ")+", "+why[m.Why])
	}
	out := strings.Join(lines, "; ")
	if more > 0 {
		out += "; and " + skills.Count(more, "other")
	}
	return skills.Result{Output: out + "."}, nil
}

// why it was not heard, in words.
var why = map[skills.Outcome]string{
	skills.OutcomeInterrupted: "which was silenced",
	skills.OutcomeUnheard:     "which was silenced twice",
	skills.OutcomeUnanswered:  "which rang, and nobody pressed",
	skills.OutcomeExpired:     "which could not be said in time",
	skills.OutcomeFailed:      "which could not be said",
}

func when(at, now time.Time) string {
	at = at.In(now.Location())
	if at.YearDay() == now.YearDay() {
		return "at " + at.Format("15:04")
	}
	return "yesterday at " + at.Format("15:04")
}

func (s Skill) mute(skills.Context, json.RawMessage) (skills.Result, error) {
	if err := s.Mute(); err != nil {
		return skills.Result{}, err
	}
	return skills.Result{Output: "The microphone is off. Holding the button for five seconds switches it on again."}, nil
}

func getTime(ctx skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct {
		Place string `json:"place"`
	}
	if err := json.Unmarshal(args, &a); len(args) > 0 && err != nil {
		return skills.Result{}, fmt.Errorf("the place must be a text: %w", err)
	}
	now, begin := ctx.Now(), "It is "
	if place := named(a.Place); place != "" {
		zone, ok := zoneOf(place)
		if !ok {
			return skills.Result{Output: "What time it is in " + place + " is not known here."}, nil
		}
		now, begin = now.In(zone), "In "+place+" it is "
	}
	return skills.Result{Output: begin + now.Format("3:04 PM") + " on " + now.Format("Monday, January 2, 2006") + "."}, nil
}

// named is a place as its name is written: new york is New York.
func named(place string) string {
	words := strings.Fields(strings.ReplaceAll(place, "_", " "))
	for i, w := range words {
		r, n := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(r)) + w[n:]
	}
	return strings.Join(words, " ")
}

// areas of the zones of the IANA, in which a city is looked for.
var areas = []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"}

// zoneOf is the zone of a city that has given one its name, or of a zone's own name.
func zoneOf(place string) (*time.Location, bool) {
	name := strings.ReplaceAll(place, " ", "_")
	if area, _, ok := strings.Cut(name, "/"); ok && slices.Contains(areas, area) {
		zone, err := time.LoadLocation(name)
		return zone, err == nil
	}
	for _, area := range areas {
		if zone, err := time.LoadLocation(area + "/" + name); err == nil {
			return zone, true
		}
	}
	return nil, false
}

func setVolume(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct {
		Percent int `json:"percent"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the volume must be a whole number from 0 to 100: %w", err)
	}
	a.Percent = min(100, max(0, a.Percent))
	return skills.Result{
		Output: fmt.Sprintf("The volume is %d percent.", a.Percent),
		Effect: skills.SetVolume{Percent: a.Percent},
	}, nil
}

func stop(skills.Context, json.RawMessage) (skills.Result, error) {
	return skills.Result{Output: "Stopped.", Effect: skills.CancelMedia{}}, nil
}
