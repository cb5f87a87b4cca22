package radio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
)

// sender is a station that brings so many seconds each time that it is connected to; none: it cannot be.
type sender struct {
	mu       sync.Mutex
	brings   []int
	refusal  error // of those that cannot be
	attempts []time.Time
	opened   int
}

// open are the connections that nobody has closed.
func (s *sender) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

type connection struct {
	of   *sender
	left int
	done chan struct{}
	once sync.Once
}

func (s *sender) Open(_ context.Context, station string) (skills.Live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, time.Now())
	n := s.brings[0]
	if len(s.brings) > 1 {
		s.brings = s.brings[1:]
	}
	if n == 0 && s.refusal != nil {
		return nil, s.refusal
	}
	if n == 0 {
		return nil, errors.New(station + " cannot be played: its server does not answer")
	}
	s.opened++
	return &connection{of: s, left: n, done: make(chan struct{})}, nil
}

func (c *connection) Next() ([]int16, error) {
	if c.left == 0 {
		return nil, io.EOF
	}
	c.left--
	select {
	case <-time.After(time.Second):
		return make([]int16, skills.Rate), nil
	case <-c.done:
		return nil, errors.New("closed")
	}
}

func (c *connection) Close() error {
	c.once.Do(func() {
		close(c.done)
		c.of.mu.Lock()
		c.of.opened--
		c.of.mu.Unlock()
	})
	return nil
}

const long = 1e9

func newSkill(s *sender) (*Skill, *[]skills.Announcement) {
	var said []skills.Announcement
	return New(skills.Host{
		Radio:    &skills.Radio{Stations: []string{"Radio One", "Radio Two", "Jazz around the Clock"}, Open: s.Open},
		Announce: func(a skills.Announcement) { said = append(said, a) },
	}).(*Skill), &said
}

func (s *Skill) call(t *testing.T, tool, station string) (skills.Result, error) {
	t.Helper()
	i := slices.IndexFunc(s.Tools(), func(t skills.Tool) bool { return t.Name == tool })
	args, _ := json.Marshal(map[string]string{"station": station})
	return s.Tools()[i].Handler(skills.Context{Context: t.Context()}, args)
}

func TestAStationIsFoundByWhatSomebodySays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &sender{brings: []int{long}}
		s, _ := newSkill(one)
		for _, row := range []struct{ said, says, plays string }{
			{"radio two", "", "Radio Two"},
			{"the station one", "", "Radio One"},
			{"jazz", "", "Jazz around the Clock"},
			{"", "", "Radio One"},
			{"the radio", "", "Radio One"},
			{"one two", "Which of them: Radio One, Radio Two?", ""},
			{"chess", "There is no station chess. There is Radio One, Radio Two, Jazz around the Clock.", ""},
		} {
			r, err := s.call(t, "play_radio", row.said)
			if err != nil || r.Output != row.says || (r.Effect != nil) != (row.plays != "") {
				t.Errorf("%q: %q, %v; want %q", row.said, r.Output, err, row.says)
			}
		}
		if r, _ := s.call(t, "list_stations", ""); r.Output != "There is Radio One, Radio Two, Jazz around the Clock." {
			t.Errorf("%q", r.Output)
		}
		if r, _ := s.call(t, "stop_radio", ""); r.Output != "No radio plays." || r.Effect != nil {
			t.Errorf("%+v", r)
		}
		if one.open() != 5 {
			t.Errorf("%d are open", one.open())
		}
		time.Sleep(2 * unheard) // none of them ever began
		if one.open() != 0 {
			t.Errorf("%d are open two minutes later", one.open())
		}
		one.brings = []int{0}
		if _, err := s.call(t, "play_radio", "jazz"); err == nil || err.Error() != "Jazz around the Clock cannot be played: its server does not answer" {
			t.Error(err)
		}
	})
	if New(skills.Host{}) != nil {
		t.Error("a skill without stations")
	}
}

// hear plays a station for so long, and says how much of it was heard.
func (s *Skill) hear(t *testing.T, for_ time.Duration) (seconds int, err error) {
	t.Helper()
	r, err := s.call(t, "play_radio", "two")
	if err != nil {
		t.Fatal(err)
	}
	stream := r.Effect.(skills.AudioStream)
	if !stream.Live {
		t.Error("it is not live")
	}
	ctx, cancel := context.WithTimeout(t.Context(), for_)
	defer cancel()
	err = stream.Run(ctx, func(pcm []int16) error {
		seconds += len(pcm) / skills.Rate
		if r, _ := s.call(t, "stop_radio", ""); r.Effect != (skills.CancelMedia{}) {
			t.Errorf("stop: %+v", r)
		}
		return ctx.Err()
	})
	stream.Ended(skills.Stopped, seconds*skills.Rate)
	return seconds, err
}

func TestAStationThatIsLostComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &sender{brings: []int{60, 0, 0, 0, 60, 30, long}}
		s, said := newSkill(one)
		began := time.Now()
		seconds, _ := s.hear(t, 10*time.Minute)
		var after []int
		for _, a := range one.attempts {
			after = append(after, int(a.Sub(began).Seconds()))
		}
		// Lost at 60: at once, then 1, 2 and 4 s later; at 127 and 157 it is there again at once.
		if want := []int{0, 60, 61, 63, 67, 127, 157}; !slices.Equal(after, want) || seconds != 593 {
			t.Errorf("connected to at %v, %d s heard; want %v, 593", after, seconds, want)
		}
		if one.open() != 0 || len(*said) != 0 {
			t.Errorf("%d are open at the end, said was %v", one.open(), *said)
		}
		if r, _ := s.call(t, "stop_radio", ""); r.Effect != nil {
			t.Errorf("at its end something plays: %+v", r)
		}
		r, err := s.call(t, "play_radio", "")
		if err != nil {
			t.Fatal(err)
		}
		r.Effect.(skills.AudioStream).Ended(skills.Stopped, 0)
		if s.last != "Radio Two" {
			t.Errorf("the last was %q", s.last)
		}
	})
}

// A server that lets in and breaks off at once is not asked any more often than one that does not answer.
// What the device says by itself is in its language, what the model is told in English.
func TestInTheLanguageOfTheDevice(t *testing.T) {
	if lack := phrases.Lack("de", "es", "fr"); len(lack) > 0 {
		t.Errorf("missing: %q", lack)
	}
	synctest.Test(t, func(t *testing.T) {
		s, said := newSkill(&sender{brings: []int{1, 0}})
		s.language = "de"
		_, _ = s.hear(t, time.Hour)
		if len(*said) != 1 || (*said)[0].Text != "Das Radio ist aus: Radio Two ist nicht mehr zu hören." ||
			(*said)[0].Prompt != "The radio is off: Radio Two cannot be played: its server does not answer." {
			t.Errorf("said was %+v", *said)
		}
	})
}

func TestWhatDoesNotComeBackIsGivenUpInWords(t *testing.T) {
	for name, brings := range map[string][]int{"that does not answer": {1, 0}, "that breaks off": {1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := &sender{brings: brings}
				s, said := newSkill(one)
				began := time.Now()
				_, err := s.hear(t, time.Hour)
				if d := time.Since(began); err == nil || d < giveUp || d > giveUp+time.Minute || len(one.attempts) > 20 {
					t.Errorf("given up after %v and %d attempts: %v", d, len(one.attempts), err)
				}
				if len(*said) != 1 || (*said)[0].Text != "The radio is off: Radio Two cannot be heard any more." ||
					!strings.HasPrefix((*said)[0].Prompt, "The radio is off: ") {
					t.Errorf("said was %+v", *said)
				}
				if one.open() != 0 {
					t.Errorf("%d are open", one.open())
				}
			})
		})
	}
}

// What will never play is not connected to again, and said at once.
func TestWhatWillNeverPlayIsGivenUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &sender{brings: []int{7, 0}, refusal: &skills.SpokenError{Say: "Radio Two cannot be played: it sends HLS", Err: errors.New("x"), Final: true}}
		s, said := newSkill(one)
		began := time.Now()
		seconds, err := s.hear(t, time.Hour)
		if d := time.Since(began); d != 7*time.Second || seconds != 7 || len(one.attempts) != 2 || !errors.Is(err, one.refusal) {
			t.Errorf("given up after %v, %d s and %d attempts: %v", d, seconds, len(one.attempts), err)
		}
		if len(*said) != 1 || (*said)[0].Prompt != "The radio is off: Radio Two cannot be played: it sends HLS." {
			t.Errorf("said was %+v", *said)
		}
	})
}
