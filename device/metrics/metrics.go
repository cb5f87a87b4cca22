// Package metrics is what a device measures of itself, in the text format of Prometheus 0.0.4. Names and labels are an interface: they
// stay.
package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"conch/audio"
	"conch/companions"
	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt"
)

// Snapshot is a device at one moment.
type Snapshot struct {
	Turns            uint64 // ended
	Ready, Muted     bool
	Conditions       []condition.Condition
	Volume           int
	Bound            time.Duration // from a press to silence; 0: no loudspeaker is open
	Speaker          audio.Stats
	Xruns, XrunsHour uint64
	Room             *control.RoomStatus      // nil: none
	Refiner          *companions.RefinerStats // nil: no model refines votes
}

// metric is one family.
type metric struct {
	name, kind, help string
	label            string             // of all its samples; empty: there is one, without
	one              any                // without a label
	by               map[string]float64 // with one
}

func (m metric) write(w io.Writer) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
	if m.label == "" {
		fmt.Fprintf(w, "%s %v\n", m.name, m.one)
		return
	}
	for _, value := range slices.Sorted(maps.Keys(m.by)) {
		fmt.Fprintf(w, "%s{%s=\"%s\"} %v\n", m.name, m.label, labelValue.Replace(value), m.by[value])
	}
}

// labelValue escapes what the format wants escaped in a label's value.
var labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Write writes all of it.
func (s Snapshot) Write(w io.Writer) {
	held := map[string]float64{}
	for _, c := range s.Conditions {
		held[string(c.Code)] = 1
	}
	all := []metric{
		{name: "conch_turns_total", kind: "counter", help: "Turns ended.", one: s.Turns},
		{name: "conch_ready", kind: "gauge", help: "1 when sound and voice are up, or their trouble is known.", one: oneIf(s.Ready)},
		{name: "conch_conditions", kind: "gauge", help: "Things wrong that a person can fix.", one: len(held)},
		{name: "conch_condition", kind: "gauge", help: "1 for each thing wrong that a person can fix, by its code.", label: "code", by: held},
		{name: "conch_volume_percent", kind: "gauge", help: "Volume.", one: s.Volume},
		{name: "conch_muted", kind: "gauge", help: "1 while no capture device is open because a person wants it so.", one: oneIf(s.Muted)},
		{name: "conch_audio_bound_seconds", kind: "gauge", help: "Longest time from a press to silence on the loudspeaker that is open; 0: none is.",
			one: s.Bound.Seconds()},
		{name: "conch_audio_callbacks_total", kind: "counter", help: "Callbacks of the loudspeaker's device.", one: s.Speaker.Callbacks},
		{name: "conch_audio_underruns_total", kind: "counter", help: "Times a source had nothing to play.", one: s.Speaker.Underruns},
		{name: "conch_audio_xruns_total", kind: "counter", help: "Times the card ran dry, or lost what it had captured, because a callback came too late.",
			one: s.Xruns},
		{name: "conch_audio_xruns_hour", kind: "gauge", help: "The same, within the last hour.", one: s.XrunsHour},
		{name: "conch_audio_refused_total", kind: "counter", help: "Sources refused because too many sounded.", one: s.Speaker.Refused},
	}
	if s.Room != nil {
		all = append(all, ofRoom(*s.Room)...)
		if s.Refiner != nil {
			all = append(all, ofRefiner(*s.Refiner)...)
		}
	}
	for _, m := range all {
		m.write(w)
	}
}

// ofRoom are those of the room. Counters of what can happen begin at 0, so that a rate can be taken from the first time on.
func ofRoom(s control.RoomStatus) []metric {
	cards := 0
	for _, m := range s.Members {
		cards += len(m.Cards)
	}
	outcomes := map[string]float64{}
	for _, k := range []round.EntryKind{round.EntryAnswered, round.EntrySilent, round.EntrySuperseded} {
		outcomes[string(k)] = float64(s.Driver.Entries[k])
	}
	ignored := s.Ignored()
	for _, r := range []mqtt.Reason{mqtt.ReasonForged, mqtt.ReasonFrom, mqtt.ReasonMalformed, mqtt.ReasonOversized, mqtt.ReasonRepeated, mqtt.ReasonStranger} {
		ignored[string(r)] += 0
	}
	entries := func(k round.EntryKind) uint64 { return s.Driver.Entries[k] }
	out := []metric{
		{name: "conch_room_members", kind: "gauge", help: "Devices in the room, this one included.", one: len(s.Members)},
		{name: "conch_room_missing", kind: "gauge", help: "Devices of room.members that are not there.", one: len(s.Missing)},
		{name: "conch_room_companions", kind: "gauge", help: "Companions in the room.", one: cards},
		{name: "conch_room_rounds_total", kind: "counter", help: "Rounds decided.", one: entries(round.EntryRound)},
		{name: "conch_room_claims_total", kind: "counter", help: "Claims of the floor seen.", one: entries(round.EntryClaim)},
		{name: "conch_room_withdrawn_total", kind: "counter", help: "Claims taken back for a better one.", one: entries(round.EntryWithdraw)},
		{name: "conch_room_failed_total", kind: "counter", help: "Times the floor was lost without a word.", one: entries(round.EntryFailed)},
		{name: "conch_room_presses_total", kind: "counter", help: "Presses in the room.", one: entries(round.EntryPress)},
		{name: "conch_room_questions_total", kind: "counter", help: "Questions asked at this device, by how they ended.", label: "outcome", by: outcomes},
		{name: "conch_room_ignored_total", kind: "counter", help: "Facts and packets that changed nothing, by reason.", label: "reason", by: floats(ignored)},
		{name: "conch_room_ledger_bytes", kind: "gauge", help: "Size of the ledger.", one: s.Driver.Ledger.Bytes},
	}
	if s.Wire != nil {
		out = append(out,
			metric{name: "conch_mqtt_up", kind: "gauge", help: "1 when the room can be reached.", one: oneIf(s.Wire.Up)},
			metric{name: "conch_mqtt_connects_total", kind: "counter", help: "Connections that came up.", one: s.Wire.Connects},
			metric{name: "conch_mqtt_envelopes_total", kind: "counter", help: "Envelopes, by direction; own ones that come back are not counted.",
				label: "direction",
				by:    map[string]float64{"sent": float64(s.Wire.Envelopes), "received": float64(s.Wire.Arrived)}},
			metric{name: "conch_mqtt_bytes_total", kind: "counter", help: "Bytes of these envelopes, by direction.", label: "direction",
				by: map[string]float64{"sent": float64(s.Wire.Bytes), "received": float64(s.Wire.ArrivedB)}},
			metric{name: "conch_mqtt_unsent_total", kind: "counter", help: "Packets that were not sent, by reason.", label: "reason",
				by: floats(s.Wire.Unsent)},
		)
	}
	return out
}

// ofRefiner are those of the model that refines votes.
func ofRefiner(m companions.RefinerStats) []metric {
	return []metric{
		{name: "conch_model_calls_total", kind: "counter", help: "Calls of the model that refines votes.", one: m.Calls},
		{name: "conch_model_votes_total", kind: "counter", help: "Votes put to it, by what came of them.", label: "outcome",
			by: map[string]float64{"refined": float64(m.Refined), "rules": float64(m.Failed)}},
		{name: "conch_model_tokens_total", kind: "counter", help: "Tokens, by direction.", label: "direction",
			by: map[string]float64{"sent": float64(m.TokensIn), "received": float64(m.TokensOu)}},
	}
}

func floats(of map[string]uint64) map[string]float64 {
	out := make(map[string]float64, len(of))
	for k, n := range of {
		out[k] = float64(n)
	}
	return out
}
