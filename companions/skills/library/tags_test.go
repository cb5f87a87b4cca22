package library

import (
	"slices"
	"strings"
	"testing"

	"conch/companions/skills"
)

// shelf is a skill whose files say something of themselves.
func shelf(tags map[string]skills.Tags, files ...string) *Skill {
	h := books(files...)
	all, _ := h.Library.Titles()
	for i := range all {
		all[i].Tags = tags[all[i].File]
	}
	return New(h).(*Skill)
}

// What tags say is what a work is called; the names of its files are understood as well.
func TestATitleOfATagIsFoundAndSaid(t *testing.T) {
	s := shelf(map[string]skills.Tags{
		"dl/q1.mp3": {Title: "Loomings", Artist: "Herman Melville", Album: "Moby Dick", Track: 2},
		"dl/q2.mp3": {Title: "Etymology", Artist: "Herman Melville", Album: "Moby Dick", Track: 1},
		"x/y1.mp3":  {Title: "Yesterday", Artist: "The Beetles"},
		"x/y2.mp3":  {Title: "Yesterday", Artist: "Francis"},
		"x/y3.mp3":  {Title: "♫"},
		"plain.mp3": {Title: "", Artist: "Nobody"},
	}, "dl/q1.mp3", "dl/q2.mp3", "x/y1.mp3", "x/y2.mp3", "x/y3.mp3", "plain.mp3")
	for said, file := range map[string]string{
		"moby dick": "dl", "melville": "dl", "dl": "dl", "loomings": "dl/q1.mp3", "q1": "dl/q1.mp3", "yesterday by francis": "x/y2.mp3", "y1": "x/y1.mp3",
		"plain": "plain.mp3", "y3": "x/y3.mp3",
	} {
		x, _ := s.look()
		if found := x.find(said); len(found) != 1 || found[0].key != file {
			t.Errorf("%q: %+v; want %s", said, found, file)
		}
	}
	s.says(t, "play", m{"title": "yesterday"}, "Which of them: Yesterday by The Beetles, Yesterday by Francis?")
	s.says(t, "play", m{"title": ""}, "There is Moby Dick, plain, x.")
	s.plays(t, "play", m{"title": "moby dick chapter two"}, 10) // by their numbers, not by their names
	s.says(t, "now_playing", nil, "You were at Moby Dick, chapter 2 of 2, Loomings, 10 seconds in.")
}

// A file that says where its chapters begin has them.
func TestChaptersWithinAFile(t *testing.T) {
	const minute = 60 * skills.Rate
	s := shelf(map[string]skills.Tags{
		"moby.mp3":  {Title: "Moby Dick", Marks: []skills.Mark{{At: 40, Name: "Loomings"}, {At: 10 * minute, Name: "The Carpet-Bag"}, {At: 20 * minute}}},
		"two/a.mp3": {Marks: []skills.Mark{{At: 0, Name: "One"}, {At: minute, Name: "Two"}}},
	}, "moby.mp3", "two/a.mp3", "two/b.mp3")
	if at := s.plays(t, "play", m{"title": "Moby Dick chapter two"}, 20); at != 6000 {
		t.Errorf("chapter 2 begins at %d tenths of a second; want 6000", at)
	}
	s.says(t, "now_playing", nil, "You were at Moby Dick, chapter 2 of 3, The Carpet-Bag, 20 seconds in.")
	for _, row := range []struct{ by, at int }{{1, 12000}, {-1, 6000}, {-1, 0}, {-1, 0}} {
		if at := s.plays(t, "chapter", m{"by": row.by}, 10); at != row.at {
			t.Errorf("by %d it begins at %d; want %d", row.by, at, row.at)
		}
	}
	s.says(t, "now_playing", nil, "You were at Moby Dick, chapter 1 of 3, Loomings, 10 seconds in.")
	s.says(t, "chapter", m{"number": 4}, "Moby Dick has 3 chapters.")
	if at := s.plays(t, "play", m{"title": "two chapter two"}, 5); at != 600 {
		t.Errorf("the second chapter of a file of a folder begins at %d; want 600", at)
	}
	s.says(t, "now_playing", nil, "You were at two, chapter 2 of 3, Two, 5 seconds in.")
}

// Names are said as far as they can be listened to, and no two alike.
func TestNamesAreSaid(t *testing.T) {
	long, short := strings.Repeat("very ", 47)+"long", strings.TrimSpace(strings.Repeat("very ", 12))
	for _, row := range []struct {
		files []string
		said  string
		says  string
	}{
		{[]string{"empty.wav", "empty.mp3"}, "empty", "Which of them: empty as MP3, empty as WAV?"},
		{[]string{"a_b.mp3", "a b.mp3"}, "a b", "Which of them: a b, number 1, a b, number 2?"},
		{[]string{long + "1.mp3", long + "2.mp3"}, "", "There is " + short + ", number 1, " + short + ", number 2."},
		{[]string{"___.mp3", "!!/..mp3", "♫.mp3"}, "", "Nothing in the library has a name that can be said."},
		{[]string{"___.mp3", "rain.mp3"}, "", "There is rain."},
		{[]string{strings.Repeat("x", 240) + ".mp3"}, "", "There is " + strings.Repeat("x", 60) + "."},
	} {
		s := newSkill(row.files...)
		r, err := s.call(t, "play", m{"title": row.said})
		if err != nil || r.Output != row.says {
			t.Errorf("%q: %q, %v; want %q", row.said, r.Output, err, row.says)
		}
	}
	s := newSkill("empty.wav", "empty.mp3")
	x, _ := s.look()
	if found := x.find("empty WAV"); len(found) != 1 || found[0].key != "empty.wav" {
		t.Errorf("what is told apart is not understood: %+v", found)
	}
}

// Who asks while the index is made anew, since more is known of the files, is answered by the old one.
func TestASearchDoesNotWaitForANewIndex(t *testing.T) {
	h := books("rain.mp3")
	all, _ := h.Library.Titles()
	h.Library.Titles = func() ([]skills.Title, error) { return slices.Clone(all), nil }
	s := New(h).(*Skill)
	was, err := s.look()
	if err != nil {
		t.Fatal(err)
	}
	s.making.Lock()
	if x, err := s.look(); err != nil || x != was {
		t.Errorf("%v, %v; want the old one", x, err)
	}
	s.making.Unlock()
	if x, err := s.look(); err != nil || x == was {
		t.Errorf("%v; want a new one", err)
	}
}

// What cannot be played is not offered; who asks for it by name is told why.
func TestWhatCannotBePlayedIsNotOffered(t *testing.T) {
	h := books("gone.mp3", "rain.mp3", "rain music.mp3", "dl/q1.mp3")
	all, _ := h.Library.Titles()
	for i := range all {
		all[i].Unfit = all[i].File != "rain.mp3"
	}
	s := New(h).(*Skill)
	s.says(t, "play", map[string]any{"title": ""}, "There is rain.")
	if _, err := s.call(t, "play", map[string]any{"title": "gone"}); err == nil {
		t.Error("nobody is told why it cannot be played")
	}
}
