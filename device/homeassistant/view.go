package homeassistant

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// history is over how many presses quantiles are.
const history = 100

// view is what is known of the device. It only computes.
type view struct {
	p       control.Picture
	silence samples // ms from a press to silence
	first   samples // ms from the end of a question to the first sound
	decided *decided
	links   int // to this broker, that came up
}

// decided is the room's last decision.
type decided struct {
	at time.Time
	d  round.Decision
}

// samples are the last of a measurement, oldest first.
type samples []float64

func (s *samples) add(ms float64) {
	if *s = append(*s, ms); len(*s) > history {
		*s = slices.Delete(*s, 0, len(*s)-history)
	}
}

// quantile is the nearest rank; false: nothing was measured.
func (s samples) quantile(q float64) (float64, bool) {
	if len(s) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)], true
}

// happening is something that was, and is over: an event of an entity.
type happening struct {
	key  string // of the entity
	data any    // with its event_type
}

// pressed is what the button's events tell.
type pressed struct {
	Type    string   `json:"event_type"`
	Silence *float64 `json:"press_to_silence_ms,omitempty"` // of a stop
	Who     string   `json:"who,omitempty"`                 // whose answer was stopped
}

// see takes an event of the feed. What cannot be read is of another version, and changes nothing.
func (v *view) see(e control.Event) []happening {
	switch e.Kind {
	case control.EventPicture:
		var p control.Picture
		if json.Unmarshal(e.Data, &p) == nil {
			v.begin(p)
		}
	case control.EventStatus:
		var s control.Status
		if json.Unmarshal(e.Data, &s) == nil {
			v.p.Status = s
		}
	case control.EventRoom:
		var r control.RoomStatus
		if json.Unmarshal(e.Data, &r) == nil {
			if r.Wire == nil && v.p.Room != nil { // not told each time
				r.Wire = v.p.Room.Wire
			}
			v.p.Room = &r
		}
	case control.EventDoing:
		var d control.Doing
		if json.Unmarshal(e.Data, &d) == nil {
			v.p.Doing = d
		}
	case control.EventPress:
		return []happening{{keyButton, pressed{Type: eventPress}}}
	case control.EventRelease:
		return []happening{{keyButton, pressed{Type: eventRelease}}}
	case control.EventTurn:
		return v.ended(e)
	case control.EventEntry:
		v.entered(e)
	}
	return nil
}

// begin takes a whole picture, and what was before it where nothing is known of that yet.
func (v *view) begin(p control.Picture) {
	fresh := len(v.silence)+len(v.first) == 0 && v.decided == nil
	recent := p.Recent
	v.p, v.p.Recent = p, nil
	for _, e := range recent {
		if fresh && (e.Kind == control.EventTurn || e.Kind == control.EventEntry) {
			v.see(e) // what happened then is no event now
		}
	}
}

func (v *view) ended(e control.Event) []happening {
	var t control.Turn
	if json.Unmarshal(e.Data, &t) != nil {
		return nil
	}
	if ms := t.PressToSilence; ms != nil && plausible(*ms) {
		v.silence.add(*ms)
	}
	if ms := t.CommitToFirstAudio; ms > 0 && plausible(ms) && t.Source != sourceInject {
		v.first.add(ms)
	}
	if !t.CutShort() {
		return nil
	}
	return []happening{{keyButton, pressed{Type: eventStop, Silence: t.PressToSilence, Who: t.Who}}}
}

// sourceInject is of a turn that nobody has asked for.
const sourceInject = "inject"

func plausible(ms float64) bool { return ms >= 0 && !math.IsInf(ms, 0) }

// entered takes a decision of the room. What is private is nobody's business but the two devices'.
func (v *view) entered(e control.Event) {
	var entry round.Entry
	if json.Unmarshal(e.Data, &entry) != nil || entry.Kind != round.EntryRound || entry.Decision == nil {
		return
	}
	if m := entry.Message; m != nil {
		idle := entry.Decision.Winner == "" && !entry.Decision.Ended && (m.Metadata.Silence || !m.From.Human())
		if m.Private() || idle { // nobody would ask why nobody went on talking
			return
		}
	}
	v.decided = &decided{at: e.At, d: *entry.Decision}
}

// here are the companions of this device.
func (v *view) here() []round.Card {
	if v.p.Room == nil {
		return nil
	}
	for _, m := range v.p.Room.Members {
		if m.Device == v.p.Room.Device {
			return m.Cards
		}
	}
	return nil
}

// name of a companion, anywhere in the room.
func (v *view) name(id round.CompanionID) string {
	if v.p.Room != nil {
		for _, m := range v.p.Room.Members {
			for _, c := range m.Cards {
				if c.ID == id {
					return cmp.Or(c.Name, string(id))
				}
			}
		}
	}
	return string(id)
}
