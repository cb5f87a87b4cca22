package library

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"conch/companions/skills"
)

// hour is a sound whose samples tell their place, in tenths of a second.
type hour struct{ err error }

func (h hour) From(sample int) ([]int16, error) {
	if h.err != nil || sample >= 3600*skills.Rate {
		return nil, errors.Join(h.err, io.EOF)
	}
	pcm := make([]int16, skills.Rate-sample%skills.Rate)
	for i := range pcm {
		pcm[i] = int16((sample + i) / (skills.Rate / 10))
	}
	return pcm, nil
}

func (hour) Close() error { return nil }

func newSkill(titles ...string) *Skill {
	return New(skills.Host{Library: &skills.Library{
		Where:  "/srv/sound",
		Titles: func() ([]string, error) { return titles, nil },
		Open: func(title string) (skills.Long, error) {
			if title == "gone" {
				return nil, errors.New("gone is not in the library any more")
			}
			return hour{}, nil
		},
	}}).(*Skill)
}

func (s *Skill) call(t *testing.T, tool, title string) (skills.Result, error) {
	t.Helper()
	i := slices.IndexFunc(s.Tools(), func(t skills.Tool) bool { return t.Name == tool })
	args, _ := json.Marshal(map[string]string{"title": title})
	return s.Tools()[i].Handler(skills.Context{Context: t.Context()}, args)
}

// listen plays a stream for so many samples and ends it, and says what its first one was.
func listen(t *testing.T, r skills.Result, samples int) (first int16) {
	t.Helper()
	stream, ok := r.Effect.(skills.AudioStream)
	if !ok {
		t.Fatalf("%+v plays nothing", r)
	}
	heard, first := 0, -1
	err := stream.Run(context.Background(), func(pcm []int16) error {
		if first < 0 {
			first = pcm[0]
		}
		if heard += len(pcm); heard >= samples {
			return errors.New("cut")
		}
		return nil
	})
	how := skills.Interrupted
	if err == nil {
		how = skills.Finished
	}
	stream.Ended(how, min(heard, samples))
	return first
}

func TestATitleIsFoundByWhatSomebodySays(t *testing.T) {
	s := newSkill("Melville, Moby Dick 1", "Melville, Moby Dick 2", "rain", "rain in the night", "gone")
	for _, row := range []struct{ said, says string }{
		{"rain", ""},
		{"the night", ""},
		{"Moby dick, two", "Which of them: Melville, Moby Dick 1, Melville, Moby Dick 2?"},
		{"moby dick 2", ""},
		{"the sea", ""}, // "the" is all that anything has of it
		{"chess", "There is no chess. There is Melville, Moby Dick 1, Melville, Moby Dick 2, rain, rain in the night, gone."},
		{"", "There is Melville, Moby Dick 1, Melville, Moby Dick 2, rain, rain in the night, gone."},
	} {
		r, err := s.call(t, "play", row.said)
		if err != nil || r.Output != row.says || (r.Effect != nil) != (row.says == "") {
			t.Errorf("%q: %+v, %v; want %q", row.said, r, err, row.says)
		}
	}
	if r, err := s.call(t, "play", "gone"); err == nil || r.Effect != nil {
		t.Errorf("of a file that vanished: %+v, %v", r, err)
	}
	if r, _ := newSkill().call(t, "play", "rain"); r.Output != "The library is empty. MP3, FLAC, Ogg or WAV files belong into /srv/sound." {
		t.Errorf("of an empty library: %q", r.Output)
	}
	if got := list([]string{"1", "2", "3", "4", "5", "6", "7"}); got != "1, 2, 3, 4, 5, and 2 more" {
		t.Errorf("%q", got)
	}
}

func TestItGoesOnALittleBeforeWhereItWasStopped(t *testing.T) {
	s := newSkill("rain")
	if r, _ := s.call(t, "go_on", ""); r.Output != "There is nothing to go on with." {
		t.Errorf("before anything was played: %+v", r)
	}
	r, _ := s.call(t, "play", "rain")
	if at := listen(t, r, 100*skills.Rate); at != 0 {
		t.Errorf("it begins at %d", at)
	}
	r, _ = s.call(t, "go_on", "")
	if at := listen(t, r, 5*skills.Rate); at != 800 {
		t.Errorf("it goes on at %d tenths of a second; want 800", at)
	}
	r, _ = s.call(t, "go_on", "")
	if at := listen(t, r, 3600*skills.Rate); at != 650 {
		t.Errorf("it goes on at %d tenths of a second; want 650", at)
	}
	if r, _ := s.call(t, "go_on", ""); r.Effect != nil {
		t.Errorf("after its end it goes on: %+v", r)
	}
}

// Somebody who only interrupted it and says "go on" needs no second stream: it comes back by itself.
func TestWhatWasOnlyInterruptedIsNotBegunAgain(t *testing.T) {
	s := newSkill("rain")
	r, _ := s.call(t, "play", "rain")
	stream := r.Effect.(skills.AudioStream)
	_ = stream.Run(context.Background(), func([]int16) error {
		if r, _ := s.call(t, "go_on", ""); r.Effect != nil || r.Output != "It goes on." {
			t.Errorf("%+v", r)
		}
		return errors.New("cut")
	})
	stream.Ended(skills.Interrupted, 0)
}
