package library

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"conch/companions/skills"
)

// playing is one stream: a work, from a place on to its end.
type playing struct {
	s     *Skill
	of    work
	files []skills.Title // of the work
	first int            // the file that it begins with
	music bool           // it has no bookmark
	speed int            // in percent
	long  int            // samples of the file that it begins with; 0: nobody knows
	wake  chan struct{}  // of one place: a bookmark is due

	mu       sync.Mutex
	parts    []part // what was written, file by file
	heard    int
	kept     int // heard, at the last bookmark
	finished bool
	over     bool
}

// part is what of a stream is one file's.
type part struct {
	file  string
	from  int // its sample that comes first
	since int // the stream's sample that this is
}

// stream plays a work from one of its places on. It is opened now, so that who asked is told.
func (s *Skill) stream(x *index, w work, file, at int) (skills.Result, error) {
	p := &playing{s: s, of: w, files: x.titles[w.from:w.to], first: file, wake: make(chan struct{}, 1)}
	sound, err := s.of.Open(p.files[file].File)
	if err != nil {
		return skills.Result{}, err
	}
	n := sound.Samples()
	sound.Close()
	p.long = n
	if p.music = !w.folder && n > 0 && n < int(short.Seconds()*skills.Rate); p.music {
		p.speed = normal
	} else if p.speed, err = s.marks.speed(); err != nil {
		return skills.Result{}, err
	}
	p.parts = []part{{p.files[file].File, at, 0}}
	return skills.Result{Effect: skills.AudioStream{
		Key: w.key, Pauses: true, Patience: patience,
		Run: func(ctx context.Context, write func([]int16) error) error {
			s.begin(p)
			s.sleep.Begin(s.now())
			done := make(chan struct{})
			var writer sync.WaitGroup
			writer.Go(func() { p.mark(done) })
			defer writer.Wait()
			defer close(done)
			return p.run(ctx, write)
		},
		Heard: p.hear,
		Ended: p.ended,
	}}, nil
}

// run writes file after file.
func (p *playing) run(_ context.Context, write func([]int16) error) error {
	sent := 0
	for i := p.first; i < len(p.files); i++ {
		at := 0
		p.mu.Lock()
		if i == p.first {
			at = p.parts[0].from
		} else {
			p.parts = append(p.parts, part{p.files[i].File, 0, sent})
		}
		p.mu.Unlock()
		n, err := p.read(p.files[i].File, at, write)
		if sent += n; err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.finished = true
	p.mu.Unlock()
	return nil
}

// read writes a file from a sample on, and says how many samples that has become.
func (p *playing) read(file string, at int, write func([]int16) error) (sent int, err error) {
	sound, err := p.s.of.Open(file)
	if err != nil {
		return 0, err
	}
	defer sound.Close()
	out := func(pcm []int16) error {
		if len(pcm) == 0 {
			return nil
		}
		if p.s.sleep.Fade(pcm, p.s.now()) {
			return skills.ErrAsleep
		}
		sent += len(pcm)
		return write(pcm)
	}
	stretch := p.s.of.Stretch(p.speed)
	for {
		pcm, err := sound.From(at)
		if errors.Is(err, io.EOF) {
			return sent, out(stretch.End())
		} else if err != nil {
			return sent, err
		}
		at += len(pcm)
		if err := out(stretch.Step(pcm)); err != nil {
			return sent, err
		}
	}
}

// hear is told what was heard; a bookmark is due at a pause, and every so often.
func (p *playing) hear(samples int, paused bool) {
	p.mu.Lock()
	p.heard = samples
	due := !p.music && (paused && samples != p.kept || samples-p.kept >= int(often.Seconds()*skills.Rate))
	if due {
		p.kept = samples
	}
	p.mu.Unlock()
	if due {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// mark writes bookmarks when they are due.
func (p *playing) mark(done <-chan struct{}) {
	for {
		select {
		case <-p.wake:
			p.keep(true)
		case <-done:
			return
		}
	}
}

func (p *playing) keep(last bool) {
	if err := p.s.marks.keep(p.place, last); err != nil {
		p.s.log.Warn(logMark, "err", err)
	}
}

// ended is told once how much was heard, and what became of it.
func (p *playing) ended(how skills.Ended, heard int) {
	p.mu.Lock()
	p.heard = heard
	p.over = how == skills.Finished && p.finished
	p.mu.Unlock()
	if counts, last := p.s.end(p); counts {
		p.keep(last)
	}
}

// Shows implements skills.Shower.
func (s *Skill) Shows() []skills.Shown {
	p := s.current()
	if p == nil {
		return nil
	}
	at := p.place()
	shown := skills.Shown{Name: p.of.name, Position: length(at.At)}
	if at.File == p.files[p.first].File {
		shown.Length = length(p.long)
	}
	return []skills.Shown{shown}
}

func length(samples int) time.Duration { return time.Duration(samples) * time.Second / skills.Rate }

// place is where its listener is.
func (p *playing) place() place {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.parts[0]
	for _, s := range p.parts {
		if s.since <= p.heard {
			in = s
		}
	}
	read := int64(p.heard-in.since) * int64(p.speed) / normal // of the file, which is what a bookmark counts
	return place{Work: p.of.key, File: in.file, At: in.from + int(read), Over: p.over, Music: p.music}
}
