package homeassistant

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"conch/companions/round"
	"conch/coordinator"
	"conch/device/condition"
	"conch/device/control"
)

// Home Assistant's own rules, as its MQTT integration checks them (its source: schemas, discovery, each platform), and what others got
// wrong. Each has a name; each is shown to fail where it is broken.

// abbreviations are those that are used here, of its table.
var abbreviations = map[string]string{
	"dev": "device", "o": "origin", "avty": "availability", "cmps": "components", "t": "topic", "p": "platform",
	"uniq_id": "unique_id", "stat_t": "state_topic", "cmd_t": "command_topic", "json_attr_t": "json_attributes_topic", "ic": "icon",
	"ent_cat": "entity_category", "dev_cla": "device_class", "evt_typ": "event_types", "ops": "options", "unit_of_meas": "unit_of_measurement",
	"stat_cla": "state_class", "val_tpl": "value_template", "lrst_val_tpl": "last_reset_value_template", "sug_dsp_prc": "suggested_display_precision",
}

var deviceAbbreviations = map[string]string{
	"ids": "identifiers", "mf": "manufacturer", "mdl": "model", "sw": "sw_version", "cu": "configuration_url",
}

// common are keys that every platform takes.
var common = []string{"platform", "unique_id", "name", "icon", "entity_category", "json_attributes_topic", "default_entity_id"}

// takes are, by platform, the keys that it has beyond the common ones and those that it cannot do without, and its device classes as far
// as they are used here.
var takes = map[string]struct{ keys, needs, classes []string }{
	"event":         {[]string{"event_types", "state_topic", "device_class"}, []string{"event_types", "state_topic"}, []string{"button", "doorbell", "motion"}},
	"binary_sensor": {[]string{"state_topic", "device_class"}, []string{"state_topic"}, []string{"problem", "running", "sound", "connectivity"}},
	"switch":        {[]string{"state_topic", "command_topic", "device_class"}, []string{"command_topic"}, []string{"switch", "outlet"}},
	"button":        {[]string{"command_topic", "device_class"}, []string{"command_topic"}, []string{"identify", "restart", "update"}},
	"notify":        {[]string{"command_topic"}, []string{"command_topic"}, nil},
	"select":        {[]string{"state_topic", "command_topic", "options"}, []string{"command_topic", "options"}, nil},
	"text":          {[]string{"state_topic", "command_topic", "min", "max", "mode"}, []string{"command_topic"}, nil},
	"number": {[]string{"state_topic", "command_topic", "min", "max", "step", "mode", "unit_of_measurement", "device_class"},
		[]string{"command_topic"}, nil},
	"sensor": {[]string{"state_topic", "device_class", "options", "state_class", "unit_of_measurement", "value_template", "last_reset_value_template",
		"suggested_display_precision"}, []string{"state_topic"}, []string{"enum", "duration", "monetary"}},
}

// allPlatforms are those that a device may have.
var allPlatforms = strings.Fields(`alarm_control_panel binary_sensor button camera climate cover date datetime device_automation device_tracker event
	fan humidifier image lawn_mower light lock notify number scene select sensor siren switch tag text time update vacuum valve water_heater`)

// stateClasses are, by device class of a sensor, what it may be.
var stateClasses = map[string][]string{
	"":         {"measurement", "total", "total_increasing"},
	"duration": {"measurement", "total", "total_increasing"},
	"monetary": {"total"},
	"enum":     {},
}

var units = map[string][]string{"duration": {"d", "h", "min", "s", "ms", "µs"}}

var (
	topicOf  = regexp.MustCompile(`^[^/+#]+/device/[a-zA-Z0-9_-]+/config$`)
	entityID = regexp.MustCompile(`^[a-z_]+\.[a-z0-9_]+$`)
)

// expand spells keys out.
func expand(m map[string]any, table map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if long, ok := table[k]; ok {
			k = long
		}
		out[k] = v
	}
	return out
}

// understood is a discovery with its keys spelt out.
type understood struct {
	topic      string
	root       map[string]any
	device     map[string]any
	origin     map[string]any
	components map[string]map[string]any
	avail      []map[string]any
}

func understand(payload, topic string) (understood, error) {
	u := understood{topic: topic, components: map[string]map[string]any{}}
	var raw map[string]any
	if err := json.Unmarshal([]byte(payload), &raw); err != nil {
		return u, err
	}
	u.root = expand(raw, abbreviations)
	object := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	u.device, u.origin = expand(object(u.root["device"]), deviceAbbreviations), expand(object(u.root["origin"]), deviceAbbreviations)
	for key, c := range object(u.root["components"]) {
		u.components[key] = expand(object(c), abbreviations)
	}
	list, _ := u.root["availability"].([]any)
	for _, a := range list {
		u.avail = append(u.avail, expand(object(a), abbreviations))
	}
	return u, nil
}

func text(v any) string { s, _ := v.(string); return s }

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, x := range list {
		all = append(all, text(x))
	}
	return all
}

func has(m map[string]any, key string) bool { _, ok := m[key]; return ok }

// gone says that a component is to be taken away: it has a platform, and nothing else.
func gone(c map[string]any) bool { return len(c) == 1 && has(c, "platform") }

// rulesOfDiscovery are those that a payload can break.
var rulesOfDiscovery = map[string]func(u understood) error{
	"topic": func(u understood) error {
		if !topicOf.MatchString(u.topic) {
			return fmt.Errorf("%q is no topic of a device's discovery", u.topic)
		}
		return nil
	},
	"device has an identifier": func(u understood) error {
		if len(texts(u.device["identifiers"])) == 0 {
			return fmt.Errorf("it has none")
		}
		return nil
	},
	"device has only known keys": func(u understood) error {
		return only(u.device, append(slices.Collect(maps.Values(deviceAbbreviations)), "name", "hw_version", "serial_number", "model_id", "suggested_area"))
	},
	"origin is named": func(u understood) error {
		if text(u.origin["name"]) == "" {
			return fmt.Errorf("it is not")
		}
		return only(u.origin, []string{"name", "sw_version", "support_url"})
	},
	"root has only shared options": func(u understood) error {
		return only(u.root, []string{"device", "origin", "components", "availability", "availability_mode", "state_topic", "command_topic", "qos", "encoding"})
	},
	"availability is one's own topic": func(u understood) error {
		if len(u.avail) == 0 {
			return fmt.Errorf("there is none: an entity would be there for ever")
		}
		for _, a := range u.avail {
			if t := text(a["topic"]); t == "" || strings.ContainsAny(t, "+#") {
				return fmt.Errorf("topic %q", t)
			}
		}
		return nil
	},
	"platform is one there is": each(func(_ string, c map[string]any) error {
		if p := text(c["platform"]); !slices.Contains(allPlatforms, p) {
			return fmt.Errorf("platform %q", p)
		}
		return nil
	}),
	"component has what its platform needs": each(func(_ string, c map[string]any) error {
		for _, key := range append([]string{"unique_id"}, takes[text(c["platform"])].needs...) {
			if !gone(c) && !has(c, key) {
				return fmt.Errorf("%s has no %s", text(c["platform"]), key)
			}
		}
		return nil
	}),
	"component has only what its platform takes": each(func(_ string, c map[string]any) error {
		return only(c, slices.Concat(common, takes[text(c["platform"])].keys))
	}),
	"no object_id": each(func(_ string, c map[string]any) error {
		if has(c, "object_id") || has(c, "obj_id") {
			return fmt.Errorf("it is default_entity_id now")
		}
		return nil
	}),
	"default_entity_id is one, of its platform": each(func(_ string, c map[string]any) error {
		if id := text(c["default_entity_id"]); !gone(c) && (!entityID.MatchString(id) || !strings.HasPrefix(id, text(c["platform"])+".")) {
			return fmt.Errorf("%q", id)
		}
		return nil
	}),
	"unique ids and entity ids are unique": func(u understood) error {
		seen := map[string]bool{}
		for key, c := range u.components {
			for _, id := range []string{text(c["unique_id"]), text(c["default_entity_id"])} {
				if id != "" && seen[id] {
					return fmt.Errorf("%s: %s is there twice", key, id)
				}
				seen[id] = true
			}
		}
		return nil
	},
	"category": each(func(_ string, c map[string]any) error {
		switch cat := text(c["entity_category"]); {
		case !has(c, "entity_category"), cat == "diagnostic":
		case cat != "config":
			return fmt.Errorf("%q", cat)
		case slices.Contains([]string{"sensor", "binary_sensor", "event"}, text(c["platform"])):
			return fmt.Errorf("a %s cannot be configuration", text(c["platform"]))
		}
		return nil
	}),
	"device class is one of its platform": each(func(_ string, c map[string]any) error {
		if has(c, "device_class") && !slices.Contains(takes[text(c["platform"])].classes, text(c["device_class"])) {
			return fmt.Errorf("%s of %s", text(c["device_class"]), text(c["platform"]))
		}
		return nil
	}),
	"state class fits the device class": each(func(_ string, c map[string]any) error {
		if has(c, "state_class") && !slices.Contains(stateClasses[text(c["device_class"])], text(c["state_class"])) {
			return fmt.Errorf("%s of %s", text(c["state_class"]), text(c["device_class"]))
		}
		return nil
	}),
	"unit fits the device class": each(func(_ string, c map[string]any) error {
		if allowed, ok := units[text(c["device_class"])]; ok && !slices.Contains(allowed, text(c["unit_of_measurement"])) {
			return fmt.Errorf("%s of %s", text(c["unit_of_measurement"]), text(c["device_class"]))
		}
		return nil
	}),
	"options are those of an enum": each(func(_ string, c map[string]any) error {
		if text(c["platform"]) != "sensor" || !has(c, "options") {
			return nil
		}
		if text(c["device_class"]) != "enum" || has(c, "state_class") || has(c, "unit_of_measurement") || len(texts(c["options"])) == 0 {
			return fmt.Errorf("options with class %q", text(c["device_class"]))
		}
		return nil
	}),
	"last reset is that of a total": each(func(_ string, c map[string]any) error {
		if has(c, "last_reset_value_template") && text(c["state_class"]) != "total" {
			return fmt.Errorf("of %s", text(c["state_class"]))
		}
		return nil
	}),
	"text is no longer than a state": each(func(_ string, c map[string]any) error {
		if most, ok := c["max"].(float64); text(c["platform"]) == "text" && (!ok || most > 255 || c["min"].(float64) >= most) {
			return fmt.Errorf("max %v", c["max"])
		}
		return nil
	}),
	"number has a range": each(func(_ string, c map[string]any) error {
		if text(c["platform"]) != "number" {
			return nil
		}
		low, a := c["min"].(float64)
		high, b := c["max"].(float64)
		if !a || !b || low >= high {
			return fmt.Errorf("%v to %v", c["min"], c["max"])
		}
		return nil
	}),
	"icon": each(func(_ string, c map[string]any) error {
		if has(c, "icon") && !strings.HasPrefix(text(c["icon"]), "mdi:") {
			return fmt.Errorf("%q", text(c["icon"]))
		}
		return nil
	}),
	"topics are one's own, and good": each(func(_ string, c map[string]any) error {
		for _, key := range []string{"state_topic", "command_topic", "json_attributes_topic"} {
			if t := text(c[key]); has(c, key) && (!strings.HasPrefix(t, "conch-ha/") || strings.ContainsAny(t, "+#\x00~")) {
				return fmt.Errorf("%s %q", key, t)
			}
		}
		return nil
	}),
	"names do not repeat the device's": func(u understood) error {
		for key, c := range u.components {
			if n := text(u.device["name"]); n != "" && strings.HasPrefix(text(c["name"]), n) {
				return fmt.Errorf("%s: %q", key, text(c["name"]))
			}
		}
		return nil
	},
}

func only(m map[string]any, allowed []string) error {
	for key := range m {
		if !slices.Contains(allowed, key) {
			return fmt.Errorf("%s is not known", key)
		}
	}
	return nil
}

func each(f func(key string, c map[string]any) error) func(understood) error {
	return func(u understood) error {
		if len(u.components) == 0 {
			return fmt.Errorf("there are no components")
		}
		for _, key := range slices.Sorted(maps.Keys(u.components)) {
			if err := f(key, u.components[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	}
}

// check is which rules a discovery breaks.
func check(payload, topic string) (broken []string) {
	u, err := understand(payload, topic)
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(rulesOfDiscovery)) {
		if err := rulesOfDiscovery[name](u); err != nil {
			broken = append(broken, name+": "+err.Error())
		}
	}
	return broken
}

// checkStates is which messages a discovery does not fit.
func checkStates(all []message) (broken []string) {
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	by := map[string]message{}
	var u understood
	for i, m := range all {
		by[m.topic] = m
		switch {
		case strings.HasSuffix(m.topic, "/config"):
			u, _ = understand(m.payload, m.topic)
			if i != 0 {
				say("discovery comes after something else")
			}
		case strings.HasSuffix(m.topic, "/avail") && i != 1:
			say("availability does not follow discovery")
		}
		if !m.retained {
			say("%s: not retained: it is lost when Home Assistant begins anew", m.topic)
		}
		if m.payload == "" && strings.Contains(m.topic, "/old/") {
			delete(by, m.topic)
			continue
		}
		if m.payload == "" || !utf8.ValidString(m.payload) {
			say("%s: %q", m.topic, m.payload)
		}
	}
	for _, a := range u.avail {
		if by[text(a["topic"])].payload != "online" {
			say("nobody says that the device is there")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.components)) {
		c := u.components[key]
		state, ok := by[text(c["state_topic"])]
		if text(c["platform"]) == "event" {
			if ok {
				say("%s: an event has a state, which would be retained", key)
			}
			continue
		}
		if has(c, "state_topic") != ok && !gone(c) {
			say("%s: it has a topic of its state: %t, and a state: %t", key, has(c, "state_topic"), ok)
			continue
		}
		if ok {
			if why := unfit(c, state.payload); why != "" {
				say("%s: %s", key, why)
			}
		}
		if attributes, ok := by[text(c["json_attributes_topic"])]; ok {
			if m := map[string]any{}; json.Unmarshal([]byte(attributes.payload), &m) != nil {
				say("%s: attributes are no object: %s", key, attributes.payload)
			}
		}
	}
	return broken
}

// unfit is why Home Assistant would not show a state; empty: it does.
func unfit(c map[string]any, state string) string {
	if has(c, "value_template") {
		var m map[string]any
		if json.Unmarshal([]byte(state), &m) != nil {
			return "no JSON for a template"
		}
		for _, key := range []string{"value_template", "last_reset_value_template"} {
			name := strings.TrimSuffix(strings.TrimPrefix(text(c[key]), "{{ value_json."), " }}")
			if !has(m, name) {
				return "a template asks for " + name
			}
			if key == "value_template" {
				state = fmt.Sprint(m[name])
			}
		}
	}
	if n := utf8.RuneCountInString(state); n > 255 {
		return fmt.Sprintf("a state of %d characters is dropped", n)
	}
	if state == "None" { // unknown
		return ""
	}
	number := func() bool {
		f, err := strconv.ParseFloat(state, 64)
		return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	switch text(c["platform"]) {
	case "sensor":
		if has(c, "options") && !slices.Contains(texts(c["options"]), state) {
			return fmt.Sprintf("%q is not among its options", state)
		}
		if (has(c, "unit_of_measurement") || has(c, "state_class")) && !number() {
			return fmt.Sprintf("%q is no number", state)
		}
	case "select":
		if !slices.Contains(texts(c["options"]), state) {
			return fmt.Sprintf("%q is not among its options", state)
		}
	case "switch", "binary_sensor":
		if state != "ON" && state != "OFF" {
			return fmt.Sprintf("%q is neither ON nor OFF", state)
		}
	case "number":
		if f, err := strconv.ParseFloat(state, 64); err != nil || f < c["min"].(float64) || f > c["max"].(float64) {
			return fmt.Sprintf("%q is out of its range", state)
		}
	}
	return ""
}

func someAbout() about {
	return about{id: string(kitchen), name: "Kitchen", version: "1.2.3", model: "a board", prefix: "homeassistant", rules: rules{true, true}}
}

// views are devices as they may be.
func views(t testing.TB) map[string]*view {
	entry := func(d round.Decision) control.Event {
		return event(t, control.EventEntry, round.Entry{Kind: round.EntryRound, Decision: &d})
	}
	make := func(change func(p *control.Picture), events ...control.Event) *view {
		v := &view{}
		p := somePicture()
		if change != nil {
			change(&p)
		}
		v.see(event(t, control.EventPicture, p))
		for _, e := range events {
			v.see(e)
		}
		return v
	}
	ms := func(v float64) *float64 { return &v }
	long := strings.Repeat("because of everything that was said, ", 20)
	all := map[string]*view{
		"nothing is known": {},
		"in a room":        make(nil),
		"alone":            make(func(p *control.Picture) { p.Room = nil }),
		"no wire":          make(func(p *control.Picture) { p.Room.Wire = nil }),
		"not counted":      make(func(p *control.Picture) { p.Status.Today = nil }),
		"muted":            make(func(p *control.Picture) { p.Status.Muted = true }),
		"somebody speaks":  make(func(p *control.Picture) { p.Doing = control.Doing{State: "IN_RESPONSE", Floor: "cleo"} }),
		"trouble": make(func(p *control.Picture) {
			p.Status.Conditions = []condition.Condition{{Code: condition.SoundSpeaker, Text: long + long, Do: "plug\nit\x1b[31m in"}}
		}),
		"decided":   make(nil, entry(round.Decision{Winner: "ada", Reason: long, Silent: []round.Silent{{Companion: "ben", Reason: long}}})),
		"nobody":    make(nil, entry(round.Decision{Reason: "nobody: nothing is open"})),
		"no reason": make(nil, entry(round.Decision{})),
		"measured":  make(nil, event(t, control.EventTurn, control.Turn{Record: coordinator.Record{PressToSilence: ms(7.25), CommitToFirstAudio: 612}})),
		"hostile names": make(func(p *control.Picture) {
			p.Room.Members[0].Cards = []round.Card{
				{ID: "a/+#b", Name: "A\n\u202eB" + strings.Repeat("x", 400), Involvement: "high"}, {ID: "a/##b", Name: ""}, {ID: "ÄÖ"}, {ID: "äö"},
			}
			p.Doing.Floor = "a/+#b"
		}),
	}
	return all
}

// What is published fits Home Assistant's rules, whatever the device is and does.
func TestHomeAssistantsRules(t *testing.T) {
	for name, v := range views(t) {
		for what, r := range map[string]rules{"all": {true, true}, "least": {}} {
			t.Run(name+", "+what, func(t *testing.T) {
				a := someAbout()
				a.rules = r
				all := a.wanted(v, map[string]string{"old": "switch"}, unlimited)
				for _, problem := range check(all[0].payload, all[0].topic) {
					t.Error(problem)
				}
				for _, problem := range checkStates(all) {
					t.Error(problem)
				}
				if all[0].topic != configTopic || len(all[0].payload) > 32<<10 {
					t.Errorf("discovery under %s, of %d bytes", all[0].topic, len(all[0].payload))
				}
			})
		}
	}
}

// Each rule fails where it is broken.
func TestRulesCanFail(t *testing.T) {
	v := views(t)["in a room"]
	a := someAbout()
	sound := a.wanted(v, nil, unlimited)
	for rule, breaks := range map[string]func(m map[string]any){
		"device has an identifier":                   func(m map[string]any) { delete(m["dev"].(map[string]any), "ids") },
		"device has only known keys":                 func(m map[string]any) { m["dev"].(map[string]any)["colour"] = "red" },
		"origin is named":                            func(m map[string]any) { delete(m, "o") },
		"root has only shared options":               func(m map[string]any) { m["name"] = "x" },
		"availability is one's own topic":            func(m map[string]any) { delete(m, "avty") },
		"platform is one there is":                   part("say", "p", "media_player"),
		"component has what its platform needs":      part("say", "cmd_t", nil),
		"component has only what its platform takes": part("stop", "ops", []any{"a"}),
		"no object_id":                               part("stop", "object_id", "stop"),
		"default_entity_id is one, of its platform":  part("stop", "default_entity_id", "switch.stop"),
		"unique ids and entity ids are unique":       part("stop", "uniq_id", "conch_"+string(kitchen)+"_say"),
		"category":                                   part("state", "ent_cat", "config"),
		"device class is one of its platform":        part("button", "dev_cla", "stapler"),
		"state class fits the device class":          part("cost", "stat_cla", "total_increasing"),
		"unit fits the device class":                 part("silence_p50", "unit_of_meas", "µsec"),
		"options are those of an enum":               part("state", "dev_cla", nil),
		"last reset is that of a total":              part("cost", "stat_cla", nil),
		"text is no longer than a state":             part("say", "max", 256),
		"number has a range":                         part("volume", "max", 0),
		"icon":                                       part("stop", "ic", "stop"),
		"topics are one's own, and good":             part("stop", "cmd_t", "conch/room/stop"),
		"names do not repeat the device's":           part("stop", "name", "Kitchen stop"),
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(sound[0].payload), &m); err != nil {
			t.Fatal(err)
		}
		breaks(m)
		got := check(encode(m), sound[0].topic)
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, rule+":") }) {
			t.Errorf("%s: broken, and it holds; others: %v", rule, got)
		}
	}
	if got := check(sound[0].payload, "homeassistant/device/a b/config"); len(got) != 1 || !strings.HasPrefix(got[0], "topic:") {
		t.Errorf("a topic with a space: %v", got)
	}
	for what, breaks := range map[string]func(all []message) []message{
		"not retained":          func(all []message) []message { all[3].retained = false; return all },
		"among its options":     func(all []message) []message { return replace(all, "state/state", "asleep") },
		"neither ON nor OFF":    func(all []message) []message { return replace(all, "microphone/state", "on") },
		"out of its range":      func(all []message) []message { return replace(all, "volume/state", "101") },
		"characters is dropped": func(all []message) []message { return replace(all, "reason/state", strings.Repeat("ä", 256)) },
		"is no number":          func(all []message) []message { return replace(all, "tokens/state", "many") },
		"comes after something": func(all []message) []message { return append(all[1:], all[0]) },
		"that the device is":    func(all []message) []message { return replace(all, "avail", "here") },
		"would be retained": func(all []message) []message {
			return append(all, message{a.of(keyButton, "event"), `{"event_type":"press"}`, true})
		},
		"and a state: false": func(all []message) []message {
			return slices.DeleteFunc(all, func(m message) bool { return strings.HasSuffix(m.topic, "/floor/state") })
		},
		"attributes are no":   func(all []message) []message { return replace(all, "problem/attributes", "[]") },
		"a template asks for": func(all []message) []message { return replace(all, "cost/state", "{}") },
	} {
		if got := checkStates(breaks(slices.Clone(sound))); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, what) }) {
			t.Errorf("%s: broken, and it holds; others: %v", what, got)
		}
	}
}

func part(key, of string, to any) func(map[string]any) {
	return func(m map[string]any) {
		c := m["cmps"].(map[string]any)[key].(map[string]any)
		if c[of] = to; to == nil {
			delete(c, of)
		}
	}
}

func replace(all []message, topic, payload string) []message {
	for i := range all {
		if strings.HasSuffix(all[i].topic, string(kitchen)+"/"+topic) {
			all[i].payload = payload
		}
	}
	return all
}

// Two devices of one kind, and of one name, are two in Home Assistant.
func TestTwoDevicesAreTwo(t *testing.T) {
	v, ids, topics := views(t)["in a room"], map[string]bool{}, map[string]bool{}
	for _, id := range []round.DeviceID{kitchen, hall} {
		a := someAbout()
		a.id = string(id)
		for _, m := range a.wanted(v, nil, unlimited) {
			if topics[m.topic] {
				t.Errorf("both publish %s", m.topic)
			}
			topics[m.topic] = true
		}
		u, err := understand(a.wanted(v, nil, unlimited)[0].payload, a.discovery())
		if err != nil {
			t.Fatal(err)
		}
		all := texts(u.device["identifiers"])
		for _, c := range u.components {
			all = append(all, text(c["unique_id"]), text(c["command_topic"]))
		}
		for _, i := range all {
			if i != "" && ids[i] {
				t.Errorf("both are %s", i)
			}
			ids[i] = true
		}
	}
}

// An entity that is gone is told by its platform alone, and what opens the microphone is not there unless it may.
func TestEntitiesComeAndGo(t *testing.T) {
	v, a := views(t)["in a room"], someAbout()
	a.rules = rules{}
	u, err := understand(a.payload(v.entities(a.rules), map[string]string{keyTalk: "switch"}), a.discovery())
	if err != nil {
		t.Fatal(err)
	}
	if c := u.components[keyTalk]; !gone(c) || text(c["platform"]) != "switch" {
		t.Errorf("an entity that is gone is told as %v", c)
	}
	if c := u.components["cost"]; c != nil {
		t.Errorf("without a price there is a cost: %v", c)
	}
	for key, c := range u.components {
		if p := text(c["platform"]); p == "media_player" || p == "assist_satellite" {
			t.Errorf("%s is a %s, which MQTT discovery has none of", key, p)
		}
	}
}
