package light

import (
	"fmt"
	"time"
)

// Hours are a part of each day, in minutes since midnight, local time; they may go over midnight. From == To: none.
//
// They are looked up on the wall's clock each time, so summer time, a journey and a clock that jumps need no thought.
type Hours struct{ From, To int }

// ParseHours reads "22:00-07:00"; empty is none.
func ParseHours(s string) (Hours, error) {
	if s == "" {
		return Hours{}, nil
	}
	var fh, fm, th, tm int
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%d:%d-%d:%d %s", &fh, &fm, &th, &tm, &rest)
	if n != 5 || rest != "." || min(fh, fm, th, tm) < 0 || max(fh, th) > 23 || max(fm, tm) > 59 {
		return Hours{}, fmt.Errorf("light: hours %q: must be like 22:00-07:00", s)
	}
	return Hours{60*fh + fm, 60*th + tm}, nil
}

// known is a time before which no clock can be that has been set: a Pi without a battery wakes up in 1970.
var known = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Contain says whether a time is in them. A clock that has never been set is in none.
func (h Hours) Contain(t time.Time) bool {
	if t.Before(known) {
		return false
	}
	now := 60*t.Hour() + t.Minute()
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
