package light

import "time"

// Hours are a part of each day, from one time since midnight to another, as clocks there show it; they may go over midnight.
// From == To: none.
//
// They are looked up on the wall's clock each time, so summer time, a journey and a clock that jumps need no thought.
type Hours struct{ From, To time.Duration }

// known is a time before which no clock can be that has been set: a Pi without a battery wakes up in 1970.
var known = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Contain says whether a time is in them. A clock that has never been set is in none.
func (h Hours) Contain(t time.Time) bool {
	if t.Before(known) {
		return false
	}
	now := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	if h.From <= h.To {
		return h.From <= now && now < h.To
	}
	return now >= h.From || now < h.To
}

// Settings are how bright the light is.
type Settings struct {
	Brightness float64 // 0 to 1, as the eye sees it
	Quiet      Hours
	Dimmed     float64 // in those hours
}

func (s Settings) at(t time.Time) float64 {
	if s.Quiet.Contain(t) {
		return min(s.Brightness, s.Dimmed)
	}
	return s.Brightness
}
