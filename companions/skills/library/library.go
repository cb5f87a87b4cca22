// Package library is the skill that plays what lies in a folder: audiobooks, music, recordings.
//
// A work is a file, or a folder, whose files are its chapters. Where somebody is in it is kept on the disk: at each press, at the end,
// and every 15 s of what was heard; what is paused writes nothing. Who goes on hears the last 20 s once more.
package library

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/skills"
)

const told = 5 // titles that are read out; our choice

// Log events.
const (
	logMark = "library.bookmark" // err: it was not written
	logLook = "library.look"     // err: there is no looking through it
)

// Skill has the tools.
type Skill struct {
	of    skills.Library
	marks *bookmarks
	log   *slog.Logger
	now   func() time.Time
	sleep *skills.Sleep
	goes  func(context.Context) bool // whether anything goes on

	making sync.Mutex // an index, which takes its time: held before mu

	mu      sync.Mutex
	index   *index
	titles  []skills.Title // of which index is
	streams []*playing     // that were begun and have not ended
	paused  bool           // a person has paused what plays, and nothing was begun since
}

// New is the skill; nil where there is no place for a library.
func New(h skills.Host) skills.Skill {
	if h.Library == nil {
		return nil
	}
	s := &Skill{of: *h.Library, marks: newBookmarks(h.Store), log: h.Log, now: h.Now, sleep: cmp.Or(h.Sleep, &skills.Sleep{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.goes = h.GoOn; s.goes == nil {
		s.goes = func(context.Context) bool { return s.current() != nil }
	}
	return s
}

// Run looks through the library, so that who asks first need not wait for it, and again when more of it is known.
func (s *Skill) Run(ctx context.Context) error {
	_, err := s.look()
	if s.of.Learn == nil {
		return err
	}
	if err != nil {
		s.log.Warn(logLook, "err", err)
	}
	return s.of.Learn(ctx, func() {
		if _, err := s.look(); err != nil {
			s.log.Warn(logLook, "err", err)
		}
	})
}

func schema(properties string, required ...string) json.RawMessage {
	list, _ := json.Marshal(append([]string{}, required...))
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(list) + `,"additionalProperties":false}`)
}

// Brief is for a model with little room.
func (*Skill) Brief() string {
	return "Books, music and sounds, by title; an empty title lists them. seconds: -30 skips back. by: 1 is the next chapter, 25 is faster."
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	return []skills.Tool{
		{
			Name: "play", Kind: skills.ChangesDevice,
			Description: "Plays a book, music or another recording of the person's own library, by its title or a part of it, a book from where " +
				"it was left; an empty title tells what there is. It begins when you have finished speaking. Do not announce a title that " +
				"the person did not say.",
			Schema: schema(`"title":{"type":"string","maxLength":200,"description":"title or a part of it, as the person said it"},`+
				`"from_the_beginning":{"type":"boolean","description":"only where the person asks for that"}`, "title"),
			Handler: s.play,
		}, {
			Name: "go_on", Kind: skills.ChangesDevice,
			Description: "Goes on with what was played last, a little before the place where it was stopped.",
			Handler:     s.goOn,
		}, {
			Name: "pause", Kind: skills.ChangesDevice, Own: true,
			Description: "Pauses the book or music that plays, and keeps the place.",
			Handler:     s.pause,
		}, {
			Name: "skip", Kind: skills.ChangesDevice,
			Description: "Goes back or forward in the book or music, by seconds: -30 is back thirty seconds.",
			Schema:      schema(`"seconds":{"type":"integer","minimum":-36000,"maximum":36000}`, "seconds"),
			Handler:     s.skip,
		}, {
			Name: "chapter", Kind: skills.ChangesDevice,
			Description: "Goes to a chapter of the book that plays or was played last, by its number, or with by = 1 to the next one and by = -1 to " +
				"the one before.",
			Schema:  schema(`"number":{"type":"integer","minimum":1,"maximum":10000},"by":{"type":"integer","minimum":-1,"maximum":1}`),
			Handler: s.chapter,
		}, {
			Name: "speed", Kind: skills.ChangesDevice, Own: true,
			Description: "Reads books faster or slower, at the same pitch: by percent of the speed that they were recorded at, 100 is normal; or by " +
				"so many percent more or less than now, 25 for faster and -25 for slower. It is kept. Music is always played as it is.",
			Schema: schema(fmt.Sprintf(`"percent":{"type":"integer","minimum":%d,"maximum":%d},"by":{"type":"integer","minimum":-125,"maximum":125}`,
				slowest, fastest)),
			Handler: s.speed,
		}, s.sleep.Tool(s.now), {
			Name: "now_playing", Kind: skills.Reads,
			Description: "Tells which book or music plays or was played last, and where in it the person is.",
			Handler:     s.nowPlaying,
		},
	}
}

// look is the index of what there is now.
func (s *Skill) look() (*index, error) {
	titles, err := s.of.Titles()
	if err != nil {
		return nil, err
	}
	x, same, less := s.has(titles)
	switch {
	case same:
		return x, nil
	case !less:
		s.making.Lock()
	case !s.making.TryLock():
		return x, nil // it will do until the next one is made
	}
	defer s.making.Unlock()
	if x, same, _ := s.has(titles); same { // meanwhile
		return x, nil
	}
	x = newIndex(titles)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index, s.titles = x, titles
	return x, nil
}

// has is the index that there is: the one of these titles, or one that knows less of the same files.
func (s *Skill) has(titles []skills.Title) (x *index, same, less bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	less = s.index != nil && len(titles) == len(s.titles)
	return s.index, less && (len(titles) == 0 || &titles[0] == &s.titles[0]), less
}

func (s *Skill) play(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct {
		Title     string
		Beginning bool `json:"from_the_beginning"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the title must be a text: %w", err)
	}
	x, err := s.look()
	switch {
	case err != nil:
		return skills.Result{}, err
	case len(x.titles) == 0:
		return skills.Result{Output: "The library is empty. MP3, FLAC, Ogg or WAV files belong into it; conch doctor says where that is."}, nil
	}
	title, chapter := chapterOf(a.Title)
	found := x.find(title)
	if len(found) == 0 && chapter > 0 {
		chapter, found = 0, x.find(a.Title)
	}
	if fit := slices.DeleteFunc(slices.Clone(found), func(w work) bool { return !x.plays(w) }); len(fit) > 0 {
		found = fit // else it is told why it cannot be played
	}
	switch {
	case len(found) == 1:
		return s.from(x, found[0], chapter, a.Beginning)
	case len(found) == 0 && len(wordsOf(a.Title)) > 0:
		return skills.Result{Output: "There is no " + skills.Short(a.Title) + ". " + x.tells()}, nil
	case len(found) == 0:
		return skills.Result{Output: x.tells()}, nil
	}
	names := make([]string, len(found))
	for i, w := range found {
		names[i] = w.name
	}
	return skills.Result{Output: "Which of them: " + list(names) + "?"}, nil
}

// tells says what there is.
func (x *index) tells() string {
	if names := x.names(); len(names) > 0 {
		return "There is " + list(names) + "."
	}
	return "Nothing in the library has a name that can be said."
}

// chapterOf takes a number of a chapter off what was said.
func chapterOf(said string) (title string, chapter int) {
	words := wordsOf(said)
	for i, w := range words[:max(0, len(words)-1)] {
		if n, ok := number(words[i+1]); ok && n > 0 && slices.Contains([]string{"chapter", "part", "track", "kapitel", "capitulo", "chapitre"}, w) { //nolint:misspell // Spanish
			return strings.Join(slices.Delete(words, i, i+2), " "), n
		}
	}
	return said, 0
}

// from plays a work, from its bookmark or one of its chapters on.
func (s *Skill) from(x *index, w work, chapter int, beginning bool) (skills.Result, error) {
	if chapter > 0 && (w.folder || len(x.marks(&w)) > 1) {
		return s.chapterOf(x, w, chapter)
	}
	if beginning {
		return s.stream(x, w, 0, 0)
	}
	p, err := s.marks.of(w.key)
	if err != nil {
		return skills.Result{}, err
	}
	file := x.at(&w, p.File)
	if file < 0 || p.Over {
		return s.stream(x, w, 0, 0)
	}
	return s.stream(x, w, file, earlier(p.At))
}

func earlier(at int) int { return max(0, at-int(again.Seconds()*skills.Rate)) }

func (s *Skill) chapterOf(x *index, w work, n int) (skills.Result, error) {
	marks := x.marks(&w)
	if n > len(marks) {
		return skills.Result{Output: w.name + " has " + skills.Count(len(marks), "chapter") + "."}, nil
	}
	return s.stream(x, w, marks[n-1].file, marks[n-1].at)
}

// here is the work that plays or was played last, and the place in it.
func (s *Skill) here() (x *index, w *work, file int, at place, err error) {
	if x, err = s.look(); err != nil {
		return nil, nil, 0, place{}, err
	}
	if p := s.current(); p != nil {
		at = p.place()
	} else if at, err = s.marks.last(); err != nil {
		return nil, nil, 0, place{}, err
	}
	if at.File == "" {
		return x, nil, 0, at, nil
	}
	if w = x.work(at.Work); w != nil {
		if file = x.at(w, at.File); file < 0 {
			w = nil
		}
	}
	if w == nil {
		return nil, nil, 0, at, fmt.Errorf("%s is not in the library any more", at.Work)
	}
	return x, w, file, at, nil
}

const nothing = "There is nothing to go on with."

// goOn: what was paused goes before what lies beneath it.
func (s *Skill) goOn(ctx skills.Context, _ json.RawMessage) (skills.Result, error) {
	s.mu.Lock()
	paused := s.paused
	s.mu.Unlock()
	if !paused && s.goes(ctx) { // it was only interrupted by being asked, or lies beneath something that was stopped
		return skills.Result{Output: "It goes on."}, nil
	}
	x, w, file, at, err := s.here()
	switch {
	case err != nil:
		return skills.Result{}, err
	case w == nil, at.Over:
		return skills.Result{Output: nothing}, nil
	}
	return s.stream(x, *w, file, earlier(at.At))
}

func (s *Skill) pause(skills.Context, json.RawMessage) (skills.Result, error) {
	if s.current() == nil {
		return skills.Result{Output: "Nothing plays."}, nil
	}
	s.mu.Lock()
	s.paused = true
	s.mu.Unlock()
	return skills.Result{Effect: skills.CancelMedia{}, Output: "It is paused."}, nil
}

func (s *Skill) skip(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Seconds int }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the seconds must be a number: %w", err)
	}
	x, w, file, at, err := s.here()
	switch {
	case err != nil:
		return skills.Result{}, err
	case w == nil:
		return skills.Result{Output: nothing}, nil
	}
	to := at.At + a.Seconds*skills.Rate
	for to < 0 && file > 0 { // into the chapter before
		file--
		n, err := s.length(x.titles[w.from+file].File)
		if err != nil {
			return skills.Result{}, err
		}
		to += n
	}
	for file+1 < w.to-w.from {
		n, err := s.length(x.titles[w.from+file].File)
		if err != nil {
			return skills.Result{}, err
		}
		if n == 0 || to < n {
			break
		}
		file, to = file+1, to-n
	}
	return s.stream(x, *w, file, max(0, to))
}

// length of a file, in samples.
func (s *Skill) length(file string) (int, error) {
	sound, err := s.of.Open(file)
	if err != nil {
		return 0, err
	}
	defer sound.Close()
	return sound.Samples(), nil
}

func (s *Skill) chapter(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Number, By int }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the chapter must be a number: %w", err)
	}
	x, w, file, at, err := s.here()
	if err != nil {
		return skills.Result{}, err
	} else if w == nil {
		return skills.Result{Output: nothing}, nil
	}
	marks := x.marks(w)
	if !w.folder && len(marks) < 2 {
		return skills.Result{Output: w.name + " is one file, without chapters."}, nil
	}
	return s.chapterOf(x, *w, max(1, cmp.Or(a.Number, chapterAt(marks, file, at.At)+1+a.By)))
}

func (s *Skill) nowPlaying(skills.Context, json.RawMessage) (skills.Result, error) {
	x, w, file, at, err := s.here()
	switch {
	case err != nil:
		return skills.Result{}, err
	case w == nil:
		return skills.Result{Output: "Nothing plays, and nothing was played."}, nil
	}
	text, marks := w.name, x.marks(w)
	n := chapterAt(marks, file, at.At)
	if w.folder || len(marks) > 1 {
		text += fmt.Sprintf(", chapter %d of %d", n+1, len(marks))
		if name := skills.Short(marks[n].name); name != "" {
			text += ", " + name
		}
	}
	if at.Over && s.current() == nil {
		return skills.Result{Output: "The last was " + text + ". It is over."}, nil
	}
	if seconds := (at.At - marks[n].at) / skills.Rate; seconds < 120 {
		text += ", " + skills.Count(seconds, "second") + " in"
	} else {
		text += fmt.Sprintf(", %d minutes in", seconds/60)
	}
	if s.current() == nil {
		return skills.Result{Output: "You were at " + text + "."}, nil
	}
	return skills.Result{Output: "It is " + text + "."}, nil
}

// begin is told of a stream that begins.
func (s *Skill) begin(p *playing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams, s.paused = append(s.streams, p), false
}

// end is told of one that has ended, and says whether its bookmark counts, and whether it was the last one: another one may have begun.
func (s *Skill) end(p *playing) (counts, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.Index(s.streams, p)
	if n < 0 {
		return false, false // it never began
	}
	s.streams = slices.Delete(s.streams, n, n+1)
	return !slices.ContainsFunc(s.streams, func(o *playing) bool { return o.of.key == p.of.key }), len(s.streams) == 0
}

// current is what plays, or is paused; nil: nothing.
func (s *Skill) current() *playing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) == 0 {
		return nil
	}
	return s.streams[len(s.streams)-1]
}

func list(titles []string) string {
	if n := len(titles) - told; n > 0 {
		return strings.Join(titles[:told], ", ") + fmt.Sprintf(", and %d more", n)
	}
	return strings.Join(titles, ", ")
}
