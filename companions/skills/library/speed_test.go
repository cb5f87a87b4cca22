package library

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"conch/companions/skills"
)

// Somebody listens faster: what is kept is where in the book that is, sample by sample.
func TestABookmarkIsInTheTimeOfTheBook(t *testing.T) {
	d := &disk{values: map[string][]byte{}}
	again := func() *Skill {
		h := books("Moby Dick/1.mp3", "Moby Dick/2.mp3", "sea.mp3", "music.mp3")
		h.Store = d
		return New(h).(*Skill)
	}
	kept := func(file string, seconds float64) {
		t.Helper()
		var p place
		if err := json.Unmarshal(d.values["last"], &p); err != nil || p.File != file || p.At != int(seconds*skills.Rate) {
			t.Errorf("the bookmark is %+v, %v; want %s at %d", p, err, file, int(seconds*skills.Rate))
		}
	}
	s := again()
	s.says(t, "speed", m{"percent": 150}, "Books are read at 150 percent.")
	s.plays(t, "play", m{"title": "sea"}, 101)
	kept("sea.mp3", 151.5)
	s = again() // kept on the disk
	s.plays(t, "play", m{"title": "moby dick"}, 2)
	if at := s.plays(t, "skip", m{"seconds": 2937}, 40+100); at != 29400 { // over the end of a chapter
		t.Errorf("behind 2 s and a skip it begins at %d; want 29400", at)
	}
	kept("Moby Dick/2.mp3", 150)
	s.says(t, "now_playing", nil, "You were at Moby Dick, chapter 2 of 2, 2 minutes in.")
	s.says(t, "speed", m{"by": 100}, "Books are read at 200 percent.")
	if at := s.plays(t, "go_on", nil, 10); at != 1300 {
		t.Errorf("it goes on at %d; want 1300, which is 20 s of the book earlier", at)
	}
	kept("Moby Dick/2.mp3", 150)
	if at := s.plays(t, "skip", m{"seconds": 30}, 10); at != 1800 {
		t.Errorf("thirty seconds later is %d; want 1800", at)
	}
	kept("Moby Dick/2.mp3", 200)
	s.plays(t, "play", m{"title": "music"}, 100)
	kept("music.mp3", 100) // as it is
	s.says(t, "speed", m{"percent": 100}, "Books are read at their normal speed.")
	s.says(t, "speed", m{"by": -100}, "Books are read at 75 percent.")
	s.plays(t, "play", m{"title": "sea"}, 40)
	kept("sea.mp3", 131.5+30)
	if _, err := s.call(t, "speed", nil); err == nil {
		t.Error("no speed at all is taken")
	}
}

// What plays goes on where it is, and no twenty seconds earlier.
func TestWhatPlaysGoesOnAtTheNewSpeed(t *testing.T) {
	s := newSkill("sea.mp3", "music.mp3")
	r, _ := s.call(t, "play", m{"title": "sea"})
	var faster skills.Result
	old := r.Effect.(skills.AudioStream)
	_ = old.Run(t.Context(), func([]int16) error {
		old.Heard(50*skills.Rate, true)
		var err error
		if faster, err = s.call(t, "speed", m{"percent": 200}); err != nil {
			t.Error(err)
		}
		s.says(t, "speed", m{"percent": 100}, "Books are read at their normal speed.") // as what plays does
		s.says(t, "speed", m{"percent": 200}, "")
		return errCut
	})
	old.Ended(skills.Stopped, 50*skills.Rate)
	if at := listen(t, faster, 30*skills.Rate); at != 500 {
		t.Errorf("it goes on at %d; want 500", at)
	}
	s.says(t, "now_playing", nil, "You were at sea, 110 seconds in.")

	r, _ = s.call(t, "play", m{"title": "music"})
	old = r.Effect.(skills.AudioStream)
	_ = old.Run(t.Context(), func([]int16) error {
		s.says(t, "speed", m{"percent": 150}, "Books are read at 150 percent. Music stays as it is.")
		return errCut
	})
	old.Ended(skills.Stopped, skills.Rate)
}

// The sleep timer counts minutes of the clock, whatever the speed.
func TestItFallsAsleepInTimeAtAnySpeed(t *testing.T) {
	h, now := books("rain.mp3"), time.Unix(1e9, 0)
	h.Now = func() time.Time { return now }
	s := New(h).(*Skill)
	s.says(t, "speed", m{"percent": 200}, "Books are read at 200 percent.")
	s.says(t, "sleep_timer", m{"minutes": 2}, "Nothing plays now. What plays in 2 minutes stops then.")
	r, _ := s.call(t, "play", m{"title": "rain"})
	stream, heard := r.Effect.(skills.AudioStream), 0
	began := now
	if err := stream.Run(t.Context(), func(pcm []int16) error {
		heard += len(pcm)
		now = began.Add(time.Duration(heard) * time.Second / skills.Rate)
		return nil
	}); !errors.Is(err, skills.ErrAsleep) {
		t.Fatal(err)
	}
	stream.Ended(skills.Stopped, heard)
	if seconds := heard / skills.Rate; seconds < 119 || seconds > 121 {
		t.Errorf("it plays %d s; want 120", seconds)
	}
	var p place
	if p, _ = s.marks.last(); p.Over || p.At != 2*heard {
		t.Errorf("the bookmark is %+v; want at %d", p, 2*heard)
	}
}
