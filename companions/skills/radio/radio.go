// Package radio is the skill that plays stations. What it loses it connects to again by itself: at once, then after 1, 2, 4, … 30 s,
// until it has heard nothing for five minutes, or meets what will never play.
package radio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"conch/companions/skills"
	"conch/device/printable"
)

// Our choices.
const (
	openFor  = 8 * time.Second  // less than a tool has
	unheard  = time.Minute      // then a station that was opened and never began is closed
	firstGap = time.Second      // between two attempts
	longest  = 30 * time.Second // … at most
	giveUp   = 5 * time.Minute  // without a sound
	settled  = 10 * time.Second // of sound: then a station is well again
)

// Log events.
const (
	logLost = "radio.lost" // station, err
	logBack = "radio.back" // station, attempts
)

// Skill has the tools.
type Skill struct {
	of       skills.Radio
	log      *slog.Logger
	announce func(skills.Announcement)
	now      func() time.Time
	sleep    *skills.Sleep
	alone    bool // nobody else has its tool
	language string

	mu      sync.Mutex
	last    string // the station that was played last
	playing int    // streams that began and have not ended
}

// New is the skill; nil where there are no stations.
func New(h skills.Host) skills.Skill {
	if h.Radio == nil {
		return nil
	}
	s := &Skill{
		of: *h.Radio, log: h.Log, announce: h.Announce, language: h.Language,
		now: h.Now, sleep: cmp.Or(h.Sleep, &skills.Sleep{}), alone: h.Library == nil,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.announce == nil {
		s.announce = func(skills.Announcement) {}
	}
	return s
}

// Brief is for a model with little room.
func (s *Skill) Brief() string {
	return "Radio. station: one of " + strings.Join(quoted(s.of.Stations), ", ") + "; empty: the last one."
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	all := []skills.Tool{
		{
			Name: "play_radio", Kind: skills.ChangesDevice, Own: true,
			Description: "Plays a radio station, of these: " + strings.Join(quoted(s.of.Stations), ", ") + "; an empty name plays the one that was played " +
				"last. It begins when you have finished speaking.",
			Schema: json.RawMessage(`{"type":"object","properties":{"station":{"type":"string","maxLength":200,` +
				`"description":"its name or a part of it, as the person said it"}},"required":["station"],"additionalProperties":false}`),
			Handler: s.play,
		}, {
			Name: "stop_radio", Kind: skills.ChangesDevice, Own: true,
			Description: "Stops the radio.",
			Handler:     s.stop,
		}, {
			Name: "list_stations", Kind: skills.Reads, Own: true,
			Description: "Tells which radio stations there are.",
			Handler: func(skills.Context, json.RawMessage) (skills.Result, error) {
				return skills.Result{Output: "There is " + strings.Join(s.of.Stations, ", ") + "."}, nil
			},
		},
	}
	if s.alone {
		all = append(all, s.sleep.Tool(s.now))
	}
	return all
}

func (s *Skill) stop(skills.Context, json.RawMessage) (skills.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.playing == 0 {
		return skills.Result{Output: "No radio plays."}, nil
	}
	return skills.Result{Effect: skills.CancelMedia{}, Output: "The radio is off."}, nil
}

func (s *Skill) play(ctx skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Station string }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the station must be a text: %w", err)
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	found := find(s.of.Stations, a.Station)
	switch {
	case len(words(a.Station)) == 0 && last != "":
		found = []string{last}
	case len(words(a.Station)) == 0:
		found = s.of.Stations[:1]
	case len(found) == 0:
		return skills.Result{Output: "There is no station " + a.Station + ". There is " + strings.Join(s.of.Stations, ", ") + "."}, nil
	case len(found) > 1:
		return skills.Result{Output: "Which of them: " + strings.Join(found, ", ") + "?"}, nil
	}
	station := found[0]
	// Now, so that who asked is told what is wrong with it, and so that it sounds at once.
	opening, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	live, err := s.of.Open(opening, station)
	if err != nil {
		return skills.Result{}, err
	}
	p := &playing{s: s, station: station, live: live}
	p.unheard = time.AfterFunc(unheard, p.close)
	return skills.Result{Effect: skills.AudioStream{Key: "radio", Live: true, Run: p.run, Ended: p.ended}}, nil
}

// Shows implements skills.Shower.
func (s *Skill) Shows() []skills.Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.playing == 0 {
		return nil
	}
	return []skills.Shown{{Name: s.last}}
}

// playing is one stream.
type playing struct {
	s       *Skill
	station string
	unheard *time.Timer

	// owned by run
	gap   time.Duration // before the next attempt
	since time.Time     // it has not been well since then

	mu    sync.Mutex
	live  skills.Live // nil: none
	begun bool
}

// close closes what is open.
func (p *playing) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		p.live.Close()
		p.live = nil
	}
}

func (p *playing) set(live skills.Live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = live
}

func (p *playing) run(ctx context.Context, write func([]int16) error) error {
	p.unheard.Stop()
	p.mu.Lock()
	live := p.live
	p.begun = true
	p.mu.Unlock()
	p.s.mu.Lock()
	p.s.last = p.station
	p.s.playing++
	p.s.mu.Unlock()
	p.s.sleep.Begin(p.s.now())
	defer context.AfterFunc(ctx, p.close)() // a Next that waits is not waited for
	defer p.close()
	for p.since = time.Now(); ; {
		err := p.pass(live, write)
		if ctx.Err() != nil || err == nil {
			return ctx.Err()
		} else if errors.Is(err, skills.ErrAsleep) {
			return err
		}
		p.s.log.Warn(logLost, "station", p.station, "err", err)
		p.close()
		if live, err = p.again(ctx, err); err != nil {
			return err
		}
	}
}

// pass writes what a station brings, and says why it ended; nil: nobody hears it any more.
func (p *playing) pass(live skills.Live, write func([]int16) error) error {
	if live == nil {
		return fmt.Errorf("%s was not begun in time", p.station)
	}
	for n := 0; ; {
		pcm, err := live.Next()
		if errors.Is(err, io.EOF) {
			err = errors.New("the station has ended it")
		}
		if err != nil {
			return err
		}
		if p.s.sleep.Fade(pcm, p.s.now()) {
			return skills.ErrAsleep
		}
		if err := write(pcm); err != nil {
			return nil //nolint:nilerr // nobody hears it any more
		}
		if n += len(pcm); n >= int(settled.Seconds()*skills.Rate) {
			n, p.gap, p.since = 0, 0, time.Now()
		}
	}
}

// again connects once more, for as long as it takes, five minutes at most; not to what will never play.
func (p *playing) again(ctx context.Context, why error) (skills.Live, error) {
	for n := 1; time.Since(p.since) < giveUp; n++ {
		select {
		case <-time.After(p.gap):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p.s.sleep.Fade(nil, p.s.now()) {
			return nil, skills.ErrAsleep
		}
		p.gap = min(max(2*p.gap, firstGap), longest)
		opening, cancel := context.WithTimeout(ctx, openFor)
		live, err := p.s.of.Open(opening, p.station)
		cancel()
		if err == nil {
			if p.set(live); ctx.Err() != nil {
				p.close()
				return nil, ctx.Err()
			}
			p.s.log.Info(logBack, "station", p.station, "attempts", n)
			return live, nil
		}
		why = err
		if said := (*skills.SpokenError)(nil); errors.As(err, &said) && said.Final {
			break
		}
	}
	p.s.announce(skills.Announcement{
		Prompt: fmt.Sprintf("The radio is off: %s.", skills.Words(why)), Text: phrases.In(p.s.language, "off", "station", p.station),
		Key: "radio", TTL: time.Hour,
	})
	return nil, why
}

// phrases are what the device says without a model. Why it is so, the model is told, and the log.
var phrases = skills.Phrases{"off": {
	"en": "The radio is off: {station} cannot be heard any more.", "de": "Das Radio ist aus: {station} ist nicht mehr zu hören.",
	"es": "La radio está apagada: {station} ya no se oye.", "fr": "La radio est éteinte : on n'entend plus {station}.",
}}

func (p *playing) ended(skills.Ended, int) {
	p.mu.Lock()
	begun := p.begun
	p.mu.Unlock()
	if begun {
		p.s.mu.Lock()
		p.s.playing--
		p.s.mu.Unlock()
	}
	p.close()
}

// find are the stations that have most of the words of what was said; the one that is called so, if there is.
func find(all []string, said string) (found []string) {
	most, wanted := 0, words(said)
	for _, name := range all {
		has, n := words(name), 0
		for _, w := range wanted {
			if slices.Contains(has, w) {
				n++
			}
		}
		switch {
		case n == 0 || n < most:
			continue
		case slices.Equal(has, wanted):
			return []string{name}
		case n > most:
			most, found = n, nil
		}
		found = append(found, name)
	}
	return found
}

// quoted are names as a model reads them.
func quoted(names []string) (all []string) {
	for _, n := range names {
		all = append(all, printable.Named(n))
	}
	return all
}

// words are those of a name, in lower case, with small numbers in digits; those that every station may have are none.
func words(s string) []string {
	all := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range all {
		if n := slices.Index(numbers, w); n >= 0 {
			all[i] = fmt.Sprint(n)
		}
	}
	return slices.DeleteFunc(all, func(w string) bool { return slices.Contains(common, w) })
}

var (
	numbers = strings.Fields("zero one two three four five six seven eight nine ten")
	common  = strings.Fields("the a station radio channel")
)
