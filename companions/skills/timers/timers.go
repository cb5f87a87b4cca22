// Package timers is the skill that tells when some time is over: eggs, tea, the oven.
package timers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"conch/companions/skills"
)

// Our choices.
const (
	again    = 5 * time.Minute  // "five more minutes", where nobody says how many
	recent   = 10 * time.Minute // what has rung within it can be had once more
	together = time.Second      // within it one press has ended them
	retry    = 10 * time.Second // for what was kept and cannot be read
	tellable = 24 * time.Hour   // how long one that was missed is worth telling
)

// Skill has the tools set_timer, list_timers, cancel_timer and snooze_timer.
type Skill struct {
	host  skills.Host
	begun time.Time // its monotonic reading is the clock of this process
	woken skills.Woken

	mu   sync.Mutex
	set  set
	have bool     // what was kept has been read
	gone []string // keys that could not be deleted yet
	rung []*timer // that have rung lately, the last at the end
}

// New is the skill; nil where nothing can ring.
func New(h skills.Host) skills.Skill {
	if h.Ring == nil {
		return nil
	}
	return &Skill{host: h, begun: time.Now(), woken: skills.NewWoken()}
}

// Shows implements skills.Shower. One that rings is the device's to show.
func (s *Skill) Shows() (all []skills.Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.set.sorted() {
		if t.ringing {
			continue
		}
		all = append(all, skills.Shown{Name: t.labelIn(s.host.Language), Ends: t.Due, Length: t.Length})
	}
	return all
}

func (s *Skill) now() moment { return moment{time.Since(s.begun), s.host.Now().Round(0)} }

// Run rings.
func (s *Skill) Run(ctx context.Context) error {
	return s.woken.Run(ctx, s.look)
}

// look does what is due, and says in how long to look again; false: when something has changed.
func (s *Skill) look(ctx context.Context) (in time.Duration, any bool) {
	now := s.now()
	due, in, any := s.due(now)
	for _, t := range due {
		if t.missed(now) {
			s.tell(ctx, t, now)
		} else {
			s.ring(ctx, t, now)
		}
	}
	return in, any
}

// due takes the timers that are over.
func (s *Skill) due(now moment) (due []*timer, in time.Duration, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, retry, true // the database's condition says it
	}
	if anew := s.set.look(now); len(anew) > 0 {
		_ = s.keep(anew...) // what is kept is wrong after a restart; the condition says it
	}
	due = s.set.over(now)
	for _, t := range due {
		t.ringing = true
	}
	in, any = s.set.wake(now)
	return due, in, any
}

// ring sounds until a person has heard it. It stays on the disk until then.
func (s *Skill) ring(ctx context.Context, t *timer, now moment) {
	label := func(language string) string {
		if by := now.mono - t.at; t.read && by > 30*time.Second {
			return t.words(language, "late", by)
		}
		return t.labelIn(language)
	}
	s.host.Log.Info("timer.rings", "timer", t.ID, "late", (now.mono - t.at).Round(time.Millisecond))
	later := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := s.later(t, t.Companion, again)
		return err
	}
	s.host.Snoozed.Heard(own, s.handle(s.snooze))
	stop := s.host.Ring(skills.Alert{Text: label(s.host.Language), Later: later, Ended: func(how skills.Ended) {
		if ctx.Err() != nil {
			return // conch ends: it rings on when it is back
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.set.has(t) {
			return // somebody has cancelled it, or wants it later
		}
		t.ended = s.now().mono
		s.host.Snoozed.Heard(own, s.handle(s.snooze))
		s.rung = append(slices.DeleteFunc(s.rung, func(o *timer) bool { return t.ended-o.ended >= recent }), t)
		if how == skills.Failed && s.host.Announce != nil {
			s.host.Announce(skills.Announcement{Prompt: "The timer is over: " + label("en") + ".",
				Text: phrases.In(s.host.Language, "over", "timer", label(s.host.Language)), Companion: t.Companion,
				Priority: skills.BlockBehindComms, Heed: true})
		}
		s.drop(t)
	}})
	s.mu.Lock()
	t.stop = stop
	cancelled := !s.set.has(t)
	s.mu.Unlock()
	if cancelled {
		stop()
	}
}

// tell says of one that nobody heard. It stays on the disk until it was said.
func (s *Skill) tell(ctx context.Context, t *timer, now moment) {
	s.host.Log.Info("timer.missed", "timer", t.ID, "late", (now.mono - t.at).Round(time.Second))
	if s.host.Announce == nil {
		s.mu.Lock()
		s.drop(t)
		s.mu.Unlock()
		return
	}
	s.host.Announce(skills.Announcement{
		Prompt: t.words("en", "missed", now.mono-t.at), Text: t.words(s.host.Language, "missed", now.mono-t.at),
		Companion: t.Companion, Priority: skills.BlockBehindComms, TTL: tellable, Heed: true, Key: "timer " + strconv.Itoa(t.ID), Done: func(skills.Outcome) {
			if ctx.Err() == nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.drop(t)
			}
		},
	})
}

// load reads what was kept, once.
func (s *Skill) load() error {
	if s.have || s.host.Store == nil {
		s.have = true
		return nil
	}
	now := s.now()
	var found []*timer
	err := s.host.Store.All("", func(key string, value []byte) bool {
		t := new(timer)
		if err := json.Unmarshal(value, t); err != nil || t.key() != key || t.Length <= 0 {
			s.host.Log.Error("timer.unreadable", "key", key, "err", err) // it stays where it is
			return true
		}
		found = append(found, t)
		return true
	})
	if err != nil {
		return err
	}
	s.have = true
	for _, t := range found {
		s.set.found(now, t)
	}
	return nil
}

func (t *timer) key() string { return fmt.Sprintf("timer %08d", t.ID) }

// keep writes timers, and deletes what could not be deleted before.
func (s *Skill) keep(timers ...*timer) error {
	if s.host.Store == nil {
		return nil
	}
	values := make(map[string][]byte, len(timers))
	for _, key := range s.gone {
		values[key] = nil
	}
	for _, t := range timers {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		values[t.key()] = b
	}
	err := s.host.Store.Put("", values)
	if err == nil {
		s.gone = nil
	}
	return err
}

// drop forgets a timer for good.
func (s *Skill) drop(t *timer) {
	s.set.remove(t)
	s.gone = append(s.gone, t.key())
	_ = s.keep() // with the next one that is kept; after a restart it may ring once more
	s.woken.Wake()
}
