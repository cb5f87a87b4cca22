package skills

import (
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// fading is for how long what plays becomes softer before it stops; our choice.
const fading = 20 * time.Second

// pausing is for how long a turn may have paused what plays; our choice.
const pausing = 5 * time.Minute

// ErrAsleep is what Run of a stream returns that Sleep has ended: then it was stopped, and nothing that it has displaced comes back by itself.
var ErrAsleep = errors.New("it was to stop by now")

// Sleep is when what plays is to stop: one time for all that plays on a device. Its zero value is: never.
type Sleep struct {
	mu    sync.Mutex
	at    time.Time
	heard time.Time // something played then
}

// Begin is told that something begins to play: a time that was over before that is no longer meant.
func (s *Sleep) Begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.After(now) {
		s.at = time.Time{}
	}
}

// Fade makes the samples that are heard from now on softer as the end comes near, and tells when it is there.
func (s *Sleep) Fade(pcm []int16, now time.Time) (asleep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = now
	if s.at.IsZero() {
		return false
	}
	left := s.at.Sub(now)
	if left <= 0 {
		s.at = time.Time{}
		return true
	}
	for i := range pcm {
		if share := (left - time.Duration(i)*time.Second/Rate).Seconds() / fading.Seconds(); share < 1 {
			pcm[i] = int16(float64(pcm[i]) * max(0, share))
		}
	}
	return false
}

// Tool sets it.
func (s *Sleep) Tool(now func() time.Time) Tool {
	return Tool{
		Name: "sleep_timer", Kind: ChangesDevice, Own: true,
		Description: "Has the book, the music or the radio become silent and stop after so many minutes; 0 takes that back.",
		Schema: json.RawMessage(`{"type":"object","properties":{"minutes":{"type":"integer","minimum":0,"maximum":720}},` +
			`"required":["minutes"],"additionalProperties":false}`),
		Handler: InWords("the minutes must be a whole number", func(_ Context, a struct{ Minutes int }) (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if a.Minutes == 0 {
				s.at = time.Time{}
				return "It does not stop by itself.", nil
			}
			s.at = now().Add(time.Duration(a.Minutes) * time.Minute)
			in := Count(a.Minutes, "minute")
			if now().Sub(s.heard) > pausing {
				return "Nothing plays now. What plays in " + in + " stops then.", nil
			}
			return "It stops in " + in + ".", nil
		}),
	}
}
