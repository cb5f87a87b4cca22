package homeassistant

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/printable"
)

// Keys of entities. They are in topics and ids: they stay.
const (
	keyButton      = "button"
	keyMicrophone  = "microphone"
	keyTalk        = "talk"
	keyInvolvement = "involvement" // of the room; behind an underscore the companion of whom
)

// Events of the button.
const (
	eventPress   = "press"
	eventRelease = "release"
	eventStop    = "stop" // a press has cut an answer, and it is silent
)

// What stands for a state, by the convention.
const (
	on, off = "ON", "OFF"
	unknown = "None"
	press   = "PRESS"

	maxState = 255 // characters of one, as Home Assistant counts: code points
	maxSay   = 255 // of what a text field takes
	nobody   = "nobody"
)

// States of the device.
const (
	stateIdle      = "idle"
	stateListening = "listening"
	stateThinking  = "thinking"
	stateSpeaking  = "speaking"
	statePlaying   = "playing" // content, an alarm, a call
	stateMuted     = "muted"
	stateError     = "error"
	stateOffline   = "offline" // what answers is elsewhere, and cannot be reached
)

var states = []string{stateIdle, stateListening, stateThinking, stateSpeaking, statePlaying, stateMuted, stateError, stateOffline}

var involvements = []string{string(round.InvolvementOff), string(round.InvolvementLow), string(round.InvolvementMedium), string(round.InvolvementHigh)}

// rules are what the configuration says of what there is.
type rules struct {
	mayListen bool // what comes from there may open the microphone
	priced    bool // what is used has a price
}

// entity is a thing of Home Assistant's.
type entity struct {
	key        string
	platform   string
	name       string
	icon       string
	category   string         // "", config or diagnostic
	class      string         // of its platform
	more       map[string]any // of its platform, as the convention abbreviates it
	state      string
	attributes any                                     // nil: none
	events     []string                                // it is one of what happens: no state
	command    func(payload string) (request, problem) // nil: it takes none
}

// entities are all there are of a device as it is now, in the same order each time.
func (v *view) entities(r rules) []entity {
	all := []entity{
		{
			key: keyButton, platform: "event", name: "Button", class: "button", events: []string{eventPress, eventRelease, eventStop},
			more: map[string]any{"evt_typ": []string{eventPress, eventRelease, eventStop}},
		},
		{key: "state", platform: "sensor", name: "State", icon: "mdi:account-voice", class: "enum", more: map[string]any{"ops": states}, state: v.state()},
		{key: keyMicrophone, platform: "switch", name: "Microphone", icon: "mdi:microphone", state: onIf(v.hears()), command: microphone(r)},
		{key: "stop", platform: "button", name: "Stop", icon: "mdi:stop", command: stop},
		{
			key: "volume", platform: "number", name: "Volume", icon: "mdi:volume-high", category: "config",
			more:  map[string]any{"min": 0, "max": 100, "step": 1, "mode": "slider", "unit_of_meas": "%"},
			state: strconv.Itoa(v.p.Status.Volume), command: volume,
		},
		{key: "say", platform: "text", name: "Say", icon: "mdi:message-text", more: map[string]any{"min": 1, "max": maxSay}, command: say(maxSay)},
		{key: "announce", platform: "notify", name: "Announce", icon: "mdi:bullhorn", command: say(maxPayload)},
		{key: "speaking", platform: "binary_sensor", name: "Speaking", icon: "mdi:account-voice", state: onIf(v.state() == stateSpeaking)},
	}
	if r.mayListen {
		all = append(all, entity{
			key: keyTalk, platform: "switch", name: "Push to talk", icon: "mdi:record-rec", state: onIf(v.state() == stateListening), command: talk,
		})
	}
	if v.p.Room != nil {
		all = append(all, v.ofRoom()...)
	}
	return append(all, v.diagnostics(r)...)
}

// ofRoom are those of a device that is not alone.
func (v *view) ofRoom() []entity {
	floor, last := nobody, unknown
	if id := v.p.Doing.Floor; id != "" {
		floor = v.name(round.CompanionID(id))
	}
	var why any = struct{}{}
	if v.decided != nil {
		last, why = cmp.Or(v.reason(), unknown), v.whole()
	}
	all := []entity{
		{key: "floor", platform: "sensor", name: "Floor", icon: "mdi:account-star", state: floor},
		{key: "reason", platform: "sensor", name: "Last reason", icon: "mdi:help-circle", state: last, attributes: why},
		involvement(keyInvolvement, "Involvement of the room", "", v.p.Room.Setting.Involvement),
	}
	for _, c := range v.here() {
		all = append(all, involvement(keyInvolvement+"_"+slug(string(c.ID)), "Involvement of "+printable.Name(c.Name), c.ID, c.Involvement))
	}
	return all
}

func involvement(key, name string, of round.CompanionID, now round.Involvement) entity {
	return entity{
		key: key, platform: "select", name: name, icon: "mdi:account-voice", category: "config", more: map[string]any{"ops": involvements},
		state: string(cmp.Or(now, round.InvolvementMedium)), command: involve(of),
	}
}

// reason is the last decision in a line.
func (v *view) reason() string {
	if v.decided.d.Winner == "" {
		return v.decided.d.Reason
	}
	return v.name(v.decided.d.Winner) + ": " + v.decided.d.Reason
}

// whole is the last decision with what a line has no room for. No word of what was said is in it but those that a reason quotes.
func (v *view) whole() any {
	type silent struct {
		Companion string `json:"companion"`
		Reason    string `json:"reason"`
	}
	w := struct {
		At        time.Time `json:"at"`
		Companion string    `json:"companion,omitempty"`
		Reason    string    `json:"reason"`
		Silent    []silent  `json:"silent"`
		Votes     int       `json:"votes"`
		Waited    float64   `json:"waited_ms"`
	}{At: v.decided.at, Reason: printable.Text(v.decided.d.Reason), Silent: []silent{}, Votes: len(v.decided.d.Votes), Waited: v.decided.d.Waited}
	if id := v.decided.d.Winner; id != "" {
		w.Companion = printable.Name(v.name(id))
	}
	for _, s := range v.decided.d.Silent {
		if len(w.Silent) == maxSilent {
			break
		}
		w.Silent = append(w.Silent, silent{printable.Name(v.name(s.Companion)), printable.Cut(printable.Text(s.Reason), maxState)})
	}
	return w
}

// Bounds of attributes. Our choices: rooms are smaller, and what is wrong is told in a sentence or two.
const (
	maxSilent = 32
	maxWords  = 1000 // characters
)

// diagnostics are what the device measures of itself.
func (v *view) diagnostics(r rules) []entity {
	measured := func(key, name string, s samples, q float64, attributes any) entity {
		return entity{
			key: key, platform: "sensor", name: name, icon: "mdi:timer-outline", category: "diagnostic", class: "duration",
			more: map[string]any{"unit_of_meas": "ms", "stat_cla": "measurement", "sug_dsp_prc": 1}, state: milliseconds(s, q), attributes: attributes,
		}
	}
	all := []entity{
		measured("silence_p50", "Press to silence, median", v.silence, 0.5, map[string]int{"presses": len(v.silence)}),
		measured("silence_p99", "Press to silence, 99 %", v.silence, 0.99, map[string]int{"presses": len(v.silence)}),
		measured("first_sound_p50", "First sound, median", v.first, 0.5, map[string]int{"answers": len(v.first)}),
		counter("reconnects", "Reconnects", max(1, v.links)-1),
		{
			key: "problem", platform: "binary_sensor", name: "Problem", category: "diagnostic", class: "problem",
			state: onIf(v.wrong(condition.Note + 1)), attributes: map[string]any{"conditions": v.conditions()},
		},
	}
	if v.p.Room != nil && v.p.Room.Wire != nil {
		all = append(all, counter("room_reconnects", "Reconnects of the room", int(max(1, v.p.Room.Wire.Connects)-1)))
	}
	if used := v.p.Status.Today; used != nil {
		all = append(all, entity{
			key: "tokens", platform: "sensor", name: "Tokens today", icon: "mdi:counter", category: "diagnostic",
			more: map[string]any{"unit_of_meas": "tokens", "stat_cla": "total_increasing"}, state: strconv.FormatInt(used.Tokens, 10),
		})
		if r.priced {
			all = append(all, cost(*used))
		}
	}
	return all
}

func counter(key, name string, n int) entity {
	return entity{
		key: key, platform: "sensor", name: name, icon: "mdi:lan-connect", category: "diagnostic",
		more: map[string]any{"stat_cla": "total_increasing"}, state: strconv.Itoa(n),
	}
}

// cost is in a currency that the configuration does not name, so it has no unit. It begins anew each day, which has to be said: a total
// that falls is a refund else.
func cost(used control.UsageReport) entity {
	return entity{
		key: "cost", platform: "sensor", name: "Cost today", category: "diagnostic", class: "monetary",
		more: map[string]any{
			"stat_cla": "total", "sug_dsp_prc": 2, "val_tpl": "{{ value_json.cost }}", "lrst_val_tpl": "{{ value_json.since }}",
		},
		state: encode(map[string]any{"cost": used.Cost, "since": used.Until.AddDate(0, 0, -1)}),
	}
}

func milliseconds(s samples, q float64) string {
	ms, ok := s.quantile(q)
	if !ok {
		return unknown
	}
	return strconv.FormatFloat(ms, 'f', 1, 64)
}

// state is what the device does, or why it does nothing.
func (v *view) state() string {
	switch v.p.Doing.State {
	case "LISTENING":
		return stateListening
	case "COMMITTING", "AWAITING_NEXT_RESPONSE":
		return stateThinking
	case "IN_RESPONSE", "APPLYING_FACTORIES":
		return stateSpeaking
	}
	switch {
	case !v.p.Status.Quiet && v.p.Status.State == "IDLE":
		return statePlaying
	case v.wrong(condition.Trouble):
		return stateError
	case v.p.Status.Muted:
		return stateMuted
	case v.wrong(condition.Offline):
		return stateOffline
	}
	return stateIdle
}

// wrong says whether a condition holds that is at least so bad.
func (v *view) wrong(least condition.Severity) bool {
	for _, c := range v.p.Status.Conditions {
		if c.Code.Severity() >= least {
			return true
		}
	}
	return false
}

// hears says whether there is a microphone that is live.
func (v *view) hears() bool {
	return !v.p.Status.Muted && !slices.ContainsFunc(v.p.Status.Conditions, func(c condition.Condition) bool { return c.Code == condition.SoundMicrophone })
}

func (v *view) conditions() []condition.Condition {
	all := []condition.Condition{}
	for _, c := range v.p.Status.Conditions {
		if len(all) == maxSilent {
			break
		}
		c.Text, c.Do = printable.Cut(printable.Text(c.Text), maxWords), printable.Cut(printable.Text(c.Do), maxWords)
		all = append(all, c)
	}
	return all
}

func onIf(yes bool) string {
	if yes {
		return on
	}
	return off
}

// slug is s as a part of ids and topics: two that are different stay so.
func slug(s string) string {
	plain := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}
	t := strings.Map(plain, s)
	if t == s && len(s) <= maxSlug {
		return s
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return t[:min(len(t), maxSlug)] + "_" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

const maxSlug = 40
