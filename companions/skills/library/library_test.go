package library

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio/stretch"
	"conch/companions/skills"
)

// hour is a long sound whose samples tell their place, in tenths of a second.
type hour struct{ length int }

func (h hour) From(sample int) ([]int16, error) {
	if sample >= h.length {
		return nil, io.EOF
	}
	pcm := make([]int16, min(h.length-sample, skills.Rate-sample%skills.Rate))
	for i := range pcm {
		pcm[i] = int16((sample + i) / (skills.Rate / 10))
	}
	return pcm, nil
}

func (h hour) Samples() int { return h.length }
func (hour) Close() error   { return nil }

// disk is a store that counts how often it is written.
type disk struct {
	mu     sync.Mutex
	values map[string][]byte
	puts   int
	err    error
}

func (d *disk) Get(_, key string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[key], d.err
}

func (d *disk) Put(_ string, values map[string][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.puts++
	for k, v := range values {
		if d.values[k] = v; v == nil {
			delete(d.values, k)
		}
	}
	return d.err
}

func (d *disk) All(string, func(string, []byte) bool) error { return errors.ErrUnsupported }
func (d *disk) Companions() ([]string, error)               { return nil, errors.ErrUnsupported }

// books are files of fifty minutes; what has music in its name has three minutes.
func books(files ...string) skills.Host {
	all := make([]skills.Title, len(files))
	for i, f := range files {
		all[i] = skills.Title{File: f, Name: strings.NewReplacer("_", " ", "/", ", ").Replace(strings.TrimSuffix(f, path.Ext(f)))}
	}
	return skills.Host{Library: &skills.Library{
		Titles: func() ([]skills.Title, error) { return all, nil },
		Open: func(file string) (skills.Long, error) {
			switch {
			case strings.HasPrefix(file, "gone"):
				return nil, errors.New("gone is not in the library any more")
			case strings.Contains(file, "music"):
				return hour{180 * skills.Rate}, nil
			}
			return hour{3000 * skills.Rate}, nil
		},
		Stretch: func(percent int) skills.Stretch { return stretch.New(percent) },
	}}
}

func newSkill(files ...string) *Skill { return New(books(files...)).(*Skill) }

func (s *Skill) call(t *testing.T, tool string, args map[string]any) (skills.Result, error) {
	t.Helper()
	i := slices.IndexFunc(s.Tools(), func(t skills.Tool) bool { return t.Name == tool })
	b, _ := json.Marshal(args)
	return s.Tools()[i].Handler(skills.Context{Context: t.Context()}, b)
}

type m = map[string]any

// says is what a tool answers.
func (s *Skill) says(t *testing.T, tool string, args m, want string) {
	t.Helper()
	if r, err := s.call(t, tool, args); err != nil || r.Output != want {
		t.Errorf("%s %v: %q, %v; want %q", tool, args, r.Output, err, want)
	}
}

var errCut = errors.New("cut")

// listen plays a stream for so many samples, ends it as a press and "stop" do, and says what its first one was.
func listen(t *testing.T, r skills.Result, samples int) (first int) {
	t.Helper()
	stream, ok := r.Effect.(skills.AudioStream)
	if !ok {
		t.Fatalf("%+v plays nothing", r)
	}
	heard, first := 0, -1
	err := stream.Run(context.Background(), func(pcm []int16) error {
		if first < 0 {
			first = int(pcm[0])
		}
		if heard+len(pcm) >= samples {
			heard = samples
			stream.Heard(heard, true)
			return errCut
		}
		heard += len(pcm)
		stream.Heard(heard, false)
		return nil
	})
	how := skills.Stopped
	if err == nil {
		how = skills.Finished
	}
	stream.Ended(how, heard)
	return first
}

// plays has a tool play, and says where that begins, in tenths of a second.
func (s *Skill) plays(t *testing.T, tool string, args m, seconds int) int {
	t.Helper()
	r, err := s.call(t, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return listen(t, r, seconds*skills.Rate)
}

func TestATitleIsFoundByWhatSomebodySays(t *testing.T) {
	s := newSkill("Melville/Moby Dick 1.mp3", "Melville/Moby Dick 2.mp3", "rain.mp3", "rain in the night.mp3", "gone.mp3",
		"Der Fänger/01 Eins.mp3", "Der Fänger/02 Zwei.mp3", "Der Fänger/10 Zehn.mp3")
	for _, row := range []struct{ said, says string }{
		{"rain", ""},
		{"the night", ""},
		{"moby dick 2", ""},
		{"Moby dick, two", ""},
		{"melville", ""},
		{"MOBI DICK one", ""}, // as a recogniser may hear it
		{"the sea", ""},       // "the" is all that anything has of it
		{"der fanger", ""},
		{"Der Fänger, chapter three", ""},
		{"der fanger chapter four", "Der Fänger has 3 chapters."},
		{"moby dick", "Which of them: Melville, Moby Dick 1, Melville, Moby Dick 2?"},
		{"chess", "There is no chess. There is Der Fänger, gone, Melville, rain in the night, rain."},
		{"", "There is Der Fänger, gone, Melville, rain in the night, rain."},
	} {
		r, err := s.call(t, "play", m{"title": row.said})
		if err != nil || r.Output != row.says || (r.Effect != nil) != (row.says == "") {
			t.Errorf("%q: %+v, %v; want %q", row.said, r.Output, err, row.says)
		}
	}
	if r, err := s.call(t, "play", m{"title": "gone"}); err == nil || r.Effect != nil {
		t.Errorf("of a file that vanished: %+v, %v", r, err)
	}
	newSkill().says(t, "play", m{"title": "rain"}, "The library is empty. MP3, FLAC, Ogg or WAV files belong into it; conch doctor says where that is.")
	if got := list([]string{"1", "2", "3", "4", "5", "6", "7"}); got != "1, 2, 3, 4, 5, and 2 more" {
		t.Errorf("%q", got)
	}
}

func TestItGoesOnALittleBeforeWhereItWasStopped(t *testing.T) {
	for _, name := range []string{"with a store", "without one"} {
		t.Run(name, func(t *testing.T) {
			h := books("rain.mp3")
			if name == "with a store" {
				h.Store = &disk{values: map[string][]byte{}}
			}
			s := New(h).(*Skill)
			s.says(t, "go_on", nil, "There is nothing to go on with.")
			s.says(t, "now_playing", nil, "Nothing plays, and nothing was played.")
			if at := s.plays(t, "play", m{"title": "rain"}, 100); at != 0 {
				t.Errorf("it begins at %d", at)
			}
			s.says(t, "now_playing", nil, "You were at rain, 100 seconds in.")
			if at := s.plays(t, "go_on", nil, 5); at != 800 {
				t.Errorf("it goes on at %d tenths of a second; want 800", at)
			}
			if at := s.plays(t, "play", m{"title": "rain"}, 3600); at != 650 {
				t.Errorf("asked for again it goes on at %d tenths of a second; want 650", at)
			}
			if r, _ := s.call(t, "go_on", nil); r.Effect != nil {
				t.Errorf("after its end it goes on: %+v", r)
			}
			s.says(t, "now_playing", nil, "The last was rain. It is over.")
			if at := s.plays(t, "play", m{"title": "rain"}, 200); at != 0 {
				t.Errorf("after its end it begins at %d", at)
			}
			if at := s.plays(t, "play", m{"title": "rain", "from_the_beginning": true}, 1); at != 0 {
				t.Errorf("from the beginning is at %d", at)
			}
		})
	}
}

// Who had one book, and then another one, finds each where it was, also after a restart.
func TestEachBookHasItsBookmark(t *testing.T) {
	d := &disk{values: map[string][]byte{}}
	again := func() *Skill {
		h := books("Moby Dick/1.mp3", "Moby Dick/2.mp3", "Moby Dick/10.mp3", "sea.mp3", "music.mp3")
		h.Store = d
		return New(h).(*Skill)
	}
	s := again()
	s.plays(t, "play", m{"title": "moby dick"}, 3000+200)
	s.plays(t, "play", m{"title": "sea"}, 50)
	s.plays(t, "play", m{"title": "music"}, 100)
	s = again()
	s.says(t, "now_playing", nil, "You were at music, 100 seconds in.")
	if at := s.plays(t, "go_on", nil, 1); at != 800 {
		t.Errorf("music that was paused goes on at %d; want 800", at)
	}
	if at := s.plays(t, "play", m{"title": "music"}, 1); at != 0 {
		t.Errorf("music begins at %d", at)
	}
	if at := s.plays(t, "play", m{"title": "sea"}, 1); at != 300 {
		t.Errorf("the other book begins at %d; want 300", at)
	}
	if at := s.plays(t, "play", m{"title": "moby dick"}, 1); at != 1800 {
		t.Errorf("the book begins at %d; want 1800", at)
	}
	s.says(t, "now_playing", nil, "You were at Moby Dick, chapter 2 of 3, 3 minutes in.")
	d.err = errors.New("the disk has gone")
	if _, err := s.call(t, "play", m{"title": "sea"}); err == nil || !strings.Contains(err.Error(), "the bookmark cannot be read: the disk has gone") {
		t.Errorf("without a disk: %v", err)
	}
}

func TestChaptersAndSkips(t *testing.T) {
	s := newSkill("Moby Dick/1.mp3", "Moby Dick/2.mp3", "Moby Dick/10.mp3", "sea.mp3")
	s.says(t, "chapter", m{"number": 2}, "There is nothing to go on with.")
	s.says(t, "skip", m{"seconds": -30}, "There is nothing to go on with.")
	s.says(t, "pause", nil, "Nothing plays.")
	s.plays(t, "play", m{"title": "moby dick"}, 100)
	for _, row := range []struct {
		tool string
		args m
		at   int
		says string // behind it, of 10 s
	}{
		{"skip", m{"seconds": -30}, 700, "You were at Moby Dick, chapter 1 of 3, 80 seconds in."},
		{"skip", m{"seconds": 60}, 1400, "You were at Moby Dick, chapter 1 of 3, 2 minutes in."},
		{"chapter", m{"number": 3}, 0, "You were at Moby Dick, chapter 3 of 3, 10 seconds in."},
		{"skip", m{"seconds": -70}, 29400, "You were at Moby Dick, chapter 2 of 3, 49 minutes in."},
		{"skip", m{"seconds": 120}, 700, "You were at Moby Dick, chapter 3 of 3, 80 seconds in."},
		{"chapter", m{"by": -1}, 0, "You were at Moby Dick, chapter 2 of 3, 10 seconds in."},
		{"chapter", m{"by": -1}, 0, "You were at Moby Dick, chapter 1 of 3, 10 seconds in."},
		{"chapter", m{"by": -1}, 0, "You were at Moby Dick, chapter 1 of 3, 10 seconds in."},
		{"skip", m{"seconds": -36000}, 0, "You were at Moby Dick, chapter 1 of 3, 10 seconds in."},
		{"chapter", m{"by": 1}, 0, "You were at Moby Dick, chapter 2 of 3, 10 seconds in."},
	} {
		if at := s.plays(t, row.tool, row.args, 10); at != row.at {
			t.Errorf("%s %v: begins at %d; want %d", row.tool, row.args, at, row.at)
		}
		s.says(t, "now_playing", nil, row.says)
	}
	s.says(t, "chapter", m{"number": 4}, "Moby Dick has 3 chapters.")
	s.plays(t, "play", m{"title": "sea"}, 1)
	s.says(t, "chapter", m{"by": 1}, "sea is one file, without chapters.")
}

// A card wears: of what plays a bookmark is written each quarter of a minute, of what is paused none.
func TestABookmarkIsWrittenEveryFifteenSecondsOfWhatIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{values: map[string][]byte{}}
		h := books("rain.mp3")
		h.Store = d
		s := New(h).(*Skill)
		r, err := s.call(t, "play", m{"title": "rain"})
		if err != nil {
			t.Fatal(err)
		}
		stream := r.Effect.(skills.AudioStream)
		heard := 0
		_ = stream.Run(t.Context(), func(pcm []int16) error {
			for range 10 { // as the coordinator tells it
				heard += len(pcm) / 10
				stream.Heard(heard, false)
				synctest.Wait()
				d.mu.Lock()
				var p place
				_ = json.Unmarshal(d.values["last"], &p)
				late := heard - p.At
				d.mu.Unlock()
				if late > 15*skills.Rate {
					t.Fatalf("after a power cut %d s would be lost", late/skills.Rate)
				}
			}
			if heard == 300*skills.Rate {
				return errCut
			}
			return nil
		})
		if d.puts != 20 {
			t.Errorf("%d times in five minutes; want 20", d.puts)
		}
		for range 1000 { // and paused
			stream.Heard(heard, true)
		}
		synctest.Wait()
		if d.puts != 20 {
			t.Errorf("%d times behind a pause; want 20: nothing was heard since", d.puts)
		}
		stream.Ended(skills.Stopped, heard+3)
		var p place
		if err := json.Unmarshal(d.values["work/rain.mp3"], &p); err != nil || p.At != heard+3 {
			t.Errorf("at its end the bookmark is %+v, %v; want at %d", p, err, heard+3)
		}
	})
}

func TestItFallsAsleep(t *testing.T) {
	h, now := books("rain.mp3"), time.Unix(1e9, 0)
	h.Now = func() time.Time { return now }
	s := New(h).(*Skill)
	s.says(t, "sleep_timer", m{"minutes": 20}, "Nothing plays now. What plays in 20 minutes stops then.")
	s.sleep.Fade(nil, now)
	s.says(t, "sleep_timer", m{"minutes": 1}, "It stops in 1 minute.")
	s.says(t, "sleep_timer", m{"minutes": 0}, "It does not stop by itself.")
	s.says(t, "sleep_timer", m{"minutes": 2}, "It stops in 2 minutes.")
	r, err := s.call(t, "play", m{"title": "rain"})
	if err != nil {
		t.Fatal(err)
	}
	stream := r.Effect.(skills.AudioStream)
	seconds := 0
	var loud []float64
	err = stream.Run(t.Context(), func(pcm []int16) error {
		loud = append(loud, float64(pcm[0])/max(1, float64(seconds*10)))
		now, seconds = now.Add(time.Second), seconds+1
		return nil
	})
	stream.Ended(skills.Stopped, seconds*skills.Rate)
	if !errors.Is(err, skills.ErrAsleep) || seconds != 120 {
		t.Fatalf("it plays %d s, %v; want 120", seconds, err)
	}
	if loud[90] != 1 || loud[110] > 0.55 || loud[110] < 0.45 || loud[119] > 0.06 {
		t.Errorf("it is as loud as %.2f, %.2f, %.2f; want 1, 0.5, 0.05", loud[90], loud[110], loud[119])
	}
	s.says(t, "now_playing", nil, "You were at rain, 2 minutes in.")
	if at := s.plays(t, "go_on", nil, 300); at != 1000 {
		t.Errorf("it goes on at %d; want 1000", at)
	}
}

// Somebody who only interrupted it and says "go on" needs no second stream: it comes back by itself.
func TestWhatWasOnlyInterruptedIsNotBegunAgain(t *testing.T) {
	s := newSkill("rain.mp3")
	r, _ := s.call(t, "play", m{"title": "rain"})
	stream := r.Effect.(skills.AudioStream)
	_ = stream.Run(context.Background(), func([]int16) error {
		if r, _ := s.call(t, "go_on", nil); r.Effect != nil || r.Output != "It goes on." {
			t.Errorf("%+v", r)
		}
		if r, _ := s.call(t, "pause", nil); r.Effect != (skills.CancelMedia{}) {
			t.Errorf("%+v", r)
		}
		return errCut
	})
	stream.Ended(skills.Stopped, 0)
}

// "Go on" means what was paused, then what lies beneath something that was stopped, then what was played last.
func TestWhatGoesOn(t *testing.T) {
	h, beneath, asked := books("rain.mp3", "sea.mp3"), true, 0
	h.GoOn = func(context.Context) bool { asked++; return beneath }
	s := New(h).(*Skill)
	s.says(t, "go_on", nil, "It goes on.")
	r, _ := s.call(t, "play", m{"title": "rain"})
	stream := r.Effect.(skills.AudioStream)
	if stream.Key != "rain.mp3" {
		t.Errorf("its key is %q: another place in it is to take its place, and another work is not", stream.Key)
	}
	_ = stream.Run(t.Context(), func([]int16) error {
		s.says(t, "pause", nil, "It is paused.")
		return errCut
	})
	stream.Ended(skills.Stopped, 100*skills.Rate)
	if at := s.plays(t, "go_on", nil, 200); at != 800 || asked != 1 {
		t.Errorf("what was paused goes on at %d, and the device was asked %d times; want 800 and 1", at, asked)
	}
	s.says(t, "go_on", nil, "It goes on.") // that was stopped and not paused
	beneath = false
	if at := s.plays(t, "go_on", nil, 10); at != 2600 || asked != 3 {
		t.Errorf("what was played last goes on at %d, and the device was asked %d times; want 2600 and 3", at, asked)
	}
}

// As people number what they have.
func TestChaptersAreInNaturalOrder(t *testing.T) {
	want := []string{"a/1.mp3", "a/2 b.mp3", "a/002 c.mp3", "a/10.mp3", "a/b/1.mp3", "B/x9.mp3", "b/x10.mp3", "ca.mp3"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestWordsOf(t *testing.T) {
	for text, want := range map[string]string{
		"Die Straße, Teil 02": "die strasse teil 2", "Les Misérables": "les miserables", "twenty one": "21", "Twenty": "20",
		"Don’t stop": "dont stop", "Ørsted": "orsted", "seventy five": "75", "chapter nineteen": "chapter 19", "1984": "1984", "20 7": "20 7",
	} {
		if got := strings.Join(wordsOf(text), " "); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
