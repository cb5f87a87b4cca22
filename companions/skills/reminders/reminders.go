// Package reminders is the skill that tells people at a time of the day what they wanted to be told.
package reminders

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

// Skill has the tools add_reminder, list_reminders, cancel_reminder, acknowledge_reminder and snooze_reminder.
type Skill struct {
	host  skills.Host
	woken skills.Woken

	mu   sync.Mutex
	all  []*reminder
	last int  // id
	have bool // what was kept has been read
}

// New is the skill; nil where nothing can be kept, or told.
func New(h skills.Host) skills.Skill {
	if h.Store == nil || h.Announce == nil {
		return nil
	}
	return &Skill{host: h, woken: skills.NewWoken()}
}

// Shows implements skills.Shower: those that are to come, the next first.
func (s *Skill) Shows() (all []skills.Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.called("", func(r *reminder) bool { return !first(r.Again, r.Due).IsZero() }) {
		all = append(all, skills.Shown{Name: r.Text, Due: first(r.Again, r.Due)})
	}
	return all
}

// again is how often a disk is tried.
const again = 10 * time.Second

func (s *Skill) now() time.Time { return s.host.Now().Round(0) }

// Run tells.
func (s *Skill) Run(ctx context.Context) error {
	return s.woken.Run(ctx, s.look)
}

// look tells what is due, and says in how long to look again; false: when something has changed.
func (s *Skill) look(ctx context.Context) (in time.Duration, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return again, true // the database's condition says it
	}
	now := s.now()
	for _, r := range slices.Clone(s.all) {
		if r.over(now) {
			_ = s.remove(r) // it is tried again
			continue
		}
		was := *r
		how := r.step(now)
		if how == silent && was.Of.Equal(r.Of) {
			continue
		}
		if err := s.keep(r); err != nil { // nothing is said of which is not known whether it was
			*r = was
			return again, true
		}
		if how != silent {
			s.tell(ctx, r, r.sentence("en", how, now), r.sentence(s.host.Language, how, now))
		}
	}
	for _, r := range s.all {
		if at := r.wake(now); !at.IsZero() {
			if !any || at.Sub(now) < in {
				in = at.Sub(now)
			}
			any = true
		}
	}
	return min(max(in, 0), look), any
}

// tell has it said. What the disk knows of it is right whatever comes.
func (s *Skill) tell(ctx context.Context, r *reminder, prompt, text string) {
	s.host.Log.Info("reminder.due", "reminder", r.ID, "late", s.now().Sub(r.Of).Round(time.Second))
	s.host.Snoozed.Heard(own, s.handle(s.snooze))
	id := r.ID
	r.leave() // of an earlier time
	r.left = make(chan struct{})
	a := skills.Announcement{
		Prompt: prompt, Text: text, Companion: r.Companion, Priority: skills.BlockBehindComms,
		Key: "reminder " + strconv.Itoa(id), TTL: time.Hour, Heed: true, Left: r.left,
		Done: func(how skills.Outcome) { go s.said(ctx, id, how) }, // whoever calls it waits for no disk
	}
	go s.host.Announce(a) // nor is anybody waited for here
}

// said is the end of the words. One that a person silenced counts as told: where nobody heeded it, it was said twice and is listed as missed.
func (s *Skill) said(ctx context.Context, id int, how skills.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return // conch ends, and nobody knows: the disk says so
	}
	for _, r := range s.all {
		if r.ID == id && r.busy {
			r.told(s.now(), how == skills.OutcomeDelivered || how == skills.OutcomeInterrupted || how == skills.OutcomeUnheard)
			s.host.Log.Info("reminder.told", "reminder", id, "how", string(how))
			s.host.Snoozed.Heard(own, s.handle(s.snooze))
			_ = s.keep(r) // after a restart it says that it may have been heard
			s.woken.Wake()
		}
	}
}

// load reads what was kept, once.
func (s *Skill) load() error {
	if s.have {
		return nil
	}
	var found []*reminder
	house := s.now().Location()
	err := s.host.Store.All("", func(key string, value []byte) bool {
		r := new(reminder)
		err := json.Unmarshal(value, r)
		if err == nil {
			err = r.found(house)
		}
		if err != nil || r.key() != key {
			s.host.Log.Error("reminder.unreadable", "key", key, "err", err) // it stays where it is
			return true
		}
		found = append(found, r)
		return true
	})
	if err != nil {
		return err
	}
	s.have = true
	for _, r := range found {
		s.all, s.last = append(s.all, r), max(s.last, r.ID)
	}
	return nil
}

func (r *reminder) key() string { return fmt.Sprintf("reminder %08d", r.ID) }

// keep writes a reminder.
func (s *Skill) keep(r *reminder) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.host.Store.Put("", map[string][]byte{r.key(): b})
}

// remove forgets one, once that is on the disk.
func (s *Skill) remove(r *reminder) error {
	if err := s.host.Store.Put("", map[string][]byte{r.key(): nil}); err != nil {
		return err
	}
	r.leave()
	s.all = slices.DeleteFunc(s.all, func(o *reminder) bool { return o == r })
	return nil
}
