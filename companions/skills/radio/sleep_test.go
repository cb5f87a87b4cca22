package radio

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
)

// "Stop in twenty minutes": a station becomes softer and stops, also while it is lost, and says nothing then; the next one plays on.
func TestTheRadioFallsAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			what   string
			brings []int
			plays  int // seconds
		}{
			{"a station that plays on", []int{long}, 1200},
			{"one that is lost a minute before", []int{1140, 0}, 1140},
		} {
			s, said := newSkill(&sender{brings: row.brings})
			sleep := s.Tools()[slices.IndexFunc(s.Tools(), func(t skills.Tool) bool { return t.Name == "sleep_timer" })]
			r, err := sleep.Handler(skills.Context{Context: t.Context()}, json.RawMessage(`{"minutes":20}`))
			if err != nil || r.Output != "Nothing plays now. What plays in 20 minutes stops then." {
				t.Fatalf("%+v, %v", r, err)
			}
			if r, err = s.call(t, "play_radio", "one"); err != nil {
				t.Fatal(err)
			}
			stream, began, seconds := r.Effect.(skills.AudioStream), time.Now(), 0
			if err := stream.Run(t.Context(), func([]int16) error {
				if seconds++; seconds > 2000 {
					return errors.New("enough")
				}
				return nil
			}); !errors.Is(err, skills.ErrAsleep) {
				t.Errorf("%s: %v", row.what, err)
			}
			stream.Ended(skills.Stopped, seconds*skills.Rate)
			took := time.Since(began)
			if seconds < row.plays-1 || seconds > row.plays || took < 20*time.Minute-time.Second || took > 21*time.Minute || len(*said) > 0 {
				t.Errorf("%s: it plays %d s in %v, and says %+v", row.what, seconds, took, *said)
			}
		}
	})
}

// A time that was over before a station begins is no longer meant.
func TestATimeThatIsOverStopsNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newSkill(&sender{brings: []int{long}})
		if _, err := s.sleep.Tool(s.now).Handler(skills.Context{Context: t.Context()}, json.RawMessage(`{"minutes":1}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		r, err := s.call(t, "play_radio", "one")
		if err != nil {
			t.Fatal(err)
		}
		stream, seconds := r.Effect.(skills.AudioStream), 0
		_ = stream.Run(t.Context(), func([]int16) error {
			if seconds++; seconds == 100 {
				return errors.New("enough")
			}
			return nil
		})
		if seconds != 100 {
			t.Errorf("it plays for %d s", seconds)
		}
		stream.Ended(skills.Stopped, 0)
	})
}
