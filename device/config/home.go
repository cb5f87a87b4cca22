package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/mqtt"
)

// Thing is something in the house that companions may switch or read, and nothing else is (SKILLS.md 3).
type Thing struct {
	Name      string
	Topic     string            // where it is told what to be; empty: it is only read
	Payloads  map[string]string // what it may be, in words, and what is said for that
	Numbers   bool              // it may be a number, from Low to High
	Low, High float64
	Read      string // where what it is stands; empty: nowhere
	Field     string // of JSON that stands there; empty: what tells most
}

// thingName and valueName are no regular expressions: with letters of all scripts, forty times, those take megabytes.
func thingName(name string) bool { return sayable(name, " '-") }
func valueName(name string) bool { return sayable(name, " -") }

// sayable says that a name has 1 to 40 letters, digits and some others, of which none is the first.
func sayable(name, others string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && (i == 0 || !strings.ContainsRune(others, r)) {
			return false
		}
	}
	return name != "" && utf8.RuneCountInString(name) <= 40
}

func (l *loader) home() section {
	const names = `1 to 40 letters, digits, spaces, ' and -, as in [home."kitchen lamp"]`
	return section{name: "home", example: "lamp", named: thingName, names: names, begin: func(name string) ([]field, func() string) {
		t := Thing{Name: name}
		return []field{
				{"topic", "topic of MQTT under which it is told what to be, at the room's broker; empty: it is only read",
					"a topic without + and #, and none of conch's own",
					`"zigbee2mqtt/kitchen lamp/set"`, topic(&t.Topic)},
				{"payloads", "what it may be, in words that people say, and what is said to it for that", `a table, as in { on = "ON", off = "OFF" }`,
					`{ on = "ON", off = "OFF" }`, words(&t.Payloads, valueName)},
				{"range", "it may also be a number from the first to the second, which is said as it is; empty: no number",
					"a list of two numbers, as in [0, 100], or empty", `[]`, func(v any) string {
						list, ok := v.([]any)
						if ok && len(list) == 0 {
							return ""
						}
						if !ok || len(list) != 2 {
							return bare
						}
						var isLow, isHigh bool
						t.Low, isLow = number(list[0])
						t.High, isHigh = number(list[1])
						if t.Numbers = isLow && isHigh && t.Low < t.High; !t.Numbers {
							return bare
						}
						return ""
					}},
				{"read", "topic under which the broker keeps what it is; empty: it cannot be read",
					"a topic without + and #, and none of conch's own", `"zigbee2mqtt/kitchen lamp"`, topic(&t.Read)},
				{"field", "which field of it is told, where it is JSON, as in temperature or color.hue; empty: its state, or whatever values it has",
					"one line of text", `""`, func(v any) string {
						s, ok := v.(string)
						if !ok || len(s) > maxName || !oneLine(s) && s != "" {
							return bare
						}
						t.Field = s
						return ""
					}},
			}, func() string {
				switch {
				case t.Topic == "" && t.Read == "":
					return "needs a topic, or read, or both"
				case t.Field != "" && t.Read == "":
					return "has a field, and no read in which it is"
				case t.Topic != "" && len(t.Payloads) == 0 && !t.Numbers:
					return "has a topic, and neither payloads nor a range: nothing may be said to it"
				}
				for _, o := range l.config.Home {
					if strings.EqualFold(o.Name, name) {
						return fmt.Sprintf("is called like [home.%s]: nobody hears capitals", Quote(o.Name))
					}
				}
				words := slices.Sorted(maps.Keys(t.Payloads))
				for i, w := range words {
					if slices.ContainsFunc(words[:i], func(o string) bool { return strings.EqualFold(o, w) }) {
						return fmt.Sprintf("has two payloads %s: nobody hears capitals", Quote(w))
					}
				}
				l.config.Home = append(l.config.Home, t)
				return ""
			}
	}}
}

func topic(into *string) func(any) string {
	return func(v any) string {
		s, ok := v.(string)
		if !ok {
			return bare
		}
		if s != "" {
			if err := mqtt.CheckForeign(s); err != nil {
				return err.Error()
			}
		}
		*into = s
		return ""
	}
}

// things is Home as a row of Describe.
func (c *Config) things() string {
	var all []string
	for _, t := range c.Home {
		what := t.Name + ": " + t.Topic
		for _, word := range slices.Sorted(maps.Keys(t.Payloads)) {
			what += " " + word + "=" + t.Payloads[word]
		}
		if t.Numbers {
			what += fmt.Sprintf(" %g-%g", t.Low, t.High)
		}
		if t.Read != "" {
			what += " <" + t.Read
		}
		if t.Field != "" {
			what += " ." + t.Field
		}
		all = append(all, Quote(what))
	}
	return "[" + strings.Join(all, ", ") + "]"
}
