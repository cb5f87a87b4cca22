// Package announce is where skills ask for turns by themselves (TURNS.md 5): it hands them to the coordinator and tells their outcome. What
// is durable is on the disk before anything is done with it, and until its outcome.
//
//	Announce ─> record ─> queue ─> begins: recorded, then heard ─> outcome: record gone ─> Done
//	               │         │            │
//	     a crash:  └─────────┴ said       └ said once more, with words that say so; a crash in them ends it
package announce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"conch/companions/skills"
	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/language"
)

// Log events.
const (
	logNotKept = "announce.not_kept" // error: a durable announcement could not be written; it is said all the same, if the device lives
	logAgain   = "announce.again"    // what an earlier life of the device has left is said, or not: skill, key, what
	logUnknown = "announce.unknown"  // no companion of this device has that id
	logDone    = "announce.done"     // a skill's callback panicked
)

var errNoStore = errors.New("this device has no place for it")

// patience is how long the end of the device waits for skills that are told of outcomes. Our choice.
const patience = 2 * time.Second

// Options are what a Desk needs.
type Options struct {
	Log      *slog.Logger
	Now      func() time.Time // on the wall
	Language language.Language
	Store    skills.Store // nil: nothing can be kept
	Knows    func(companion string) bool
	Say      func(context.Context, coordinator.Announcement) <-chan inject.Outcome
	Missed   *Missed // nil: what is not heard is not noted
}

// Desk takes announcements. All methods may be called from any goroutine.
type Desk struct {
	o     Options
	told  sync.WaitGroup // skills that are told of an outcome
	ended chan struct{}  // Run's context has ended

	mu    sync.Mutex
	late  bool              // nobody waits for told any more
	read  bool              // what earlier lives have left, into …
	old   map[string]record // … this, until its outcome
	taken bool              // Run has these said
	next  uint64
}

// New makes a Desk. Nothing that was kept is said before Run.
func New(o Options) *Desk { return &Desk{o: o, ended: make(chan struct{})} }

// Run says what earlier lives have left, and works until ctx ends and every outcome is told.
func (d *Desk) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		if d.o.Missed != nil {
			d.o.Missed.end()
		}
		close(d.ended)
	})
	defer stop()
	if d.o.Missed != nil {
		d.o.Missed.read()
	}
	d.resume()
	for look := time.NewTicker(missedLook); !d.over(); {
		if d.o.Missed != nil {
			d.o.Missed.show()
		}
		select {
		case <-d.ended:
			look.Stop()
		case <-look.C:
		}
	}
	d.mu.Lock()
	d.late = true
	d.mu.Unlock()
	told := make(chan struct{})
	go func() { d.told.Wait(); close(told) }()
	select {
	case <-told:
	case <-time.After(patience):
	}
	return nil
}

// Announce asks for a turn for a skill. It waits for nothing but the disk, where it is durable.
func (d *Desk) Announce(skill string, a skills.Announcement) {
	r, key := recordOf(skill, a, d.o.Now()), ""
	if a.Durable {
		key, r = d.keep(r)
	}
	d.say(key, r, a.Left, a.Done)
}

// resume says what earlier lives have left.
func (d *Desk) resume() {
	d.mu.Lock()
	d.recall()
	old := maps.Clone(d.old)
	d.taken = true
	d.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(old)) {
		r := old[key]
		what := r.left(d.o.Now())
		d.o.Log.Info(logAgain, "skill", r.Skill, "key", r.Key, "begun", r.Begun, "what", [...]string{"said", "late", "heard"}[what])
		if what == waits {
			d.say(key, r, nil, nil)
		} else {
			if d.o.Missed != nil && what == late {
				d.o.Missed.Ended(r.fullKey(), r.Text, skills.OutcomeExpired)
			}
			d.forget(key)
		}
	}
}

// say hands an announcement to the coordinator, and has its outcome told. key names its record; empty: it has none. left takes it back.
func (d *Desk) say(key string, r record, left <-chan struct{}, done func(skills.Outcome)) {
	prompt, text := r.words(d.o.Language)
	a := coordinator.Announcement{
		Injection: inject.Injection{Prompt: prompt, Key: r.fullKey(), Priority: inject.Priority(r.Priority), TTL: r.wait(d.o.Now()), Heed: r.Heed},
		Who:       turn.Who(r.Companion), Text: text,
	}
	if r.Companion != "" && !d.o.Knows(r.Companion) {
		d.o.Log.Warn(logUnknown, "skill", r.Skill, "companion", r.Companion)
		a.Who = ""
	}
	k := &kept{d: d, key: key}
	if key != "" {
		a.Begins = func() { k.begins(r) }
	}
	ctx, leave := context.WithCancel(context.Background())
	outcome := d.o.Say(ctx, a)
	d.spawn(func() {
		defer leave()
		how := k.end(ended(outcome, left, leave))
		if d.o.Missed != nil {
			d.o.Missed.Ended(r.fullKey(), r.Text, how)
		}
		if done != nil {
			d.tell(r, done, how)
		}
	})
}

// ended waits for the outcome. The coordinator gives one at the latest when it ends. What the skill took back is replaced, not missed.
func ended(outcome <-chan inject.Outcome, left <-chan struct{}, leave func()) skills.Outcome {
	select {
	case how := <-outcome:
		return skills.Outcome(how.String())
	case <-left:
		leave()
	}
	how := <-outcome
	if how == inject.Delivered {
		return skills.OutcomeDelivered
	}
	return skills.OutcomeReplaced
}

// spawn runs what Run waits for, while it does.
func (d *Desk) spawn(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late {
		go f() // at the end of the device it is the skill's loss
		return
	}
	d.told.Go(f)
}

// kept is one announcement that may have a record. A disk that is slow to write that it begins does not write so behind its end.
type kept struct {
	d   *Desk
	key string // empty: it has none

	mu   sync.Mutex
	over bool
}

func (k *kept) begins(r record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.over {
		k.d.write(k.key, r.begins(k.d.o.Now()).bytes())
	}
}

// end ends the record with its announcement. What the end of the device has cut, or kept from being said, stays.
func (k *kept) end(how skills.Outcome) skills.Outcome {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	switch {
	case k.key == "":
	case k.d.over() && (how == skills.OutcomeFailed || how == skills.OutcomeInterrupted):
		return skills.OutcomeKept
	default:
		k.d.forget(k.key)
	}
	return how
}

// over tells that the device ends.
func (d *Desk) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

func (d *Desk) tell(r record, done func(skills.Outcome), how skills.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			d.o.Log.Error(logDone, "skill", r.Skill, "key", r.Key, "err", fmt.Sprint("panic: ", p))
		}
	}()
	done(how)
}

// keep writes a new record and gives its name; empty where it cannot be written. One of its key that an earlier life has left is replaced,
// whether Run has it said already or not. What says the same as that may have been heard; what says something else is new.
func (d *Desk) keep(r record) (string, record) {
	d.mu.Lock()
	d.recall()
	d.next++
	key := fmt.Sprintf("%016x", d.next)
	var replaced []string
	for name, o := range d.old {
		if r.Key == "" || o.Skill != r.Skill || o.Key != r.Key {
			continue
		}
		if o.Begun > 0 && o.Text == r.Text && o.Prompt == r.Prompt {
			r.Begun = 1
		}
		if !d.taken { // else the coordinator replaces it
			replaced = append(replaced, name)
		}
	}
	d.mu.Unlock()
	if !d.write(key, r.bytes()) {
		return "", r
	}
	for _, name := range replaced {
		d.forget(name)
	}
	return key, r
}

// forget ends a record.
func (d *Desk) forget(key string) {
	d.write(key, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.old, key)
}

// write writes a record, or deletes it.
func (d *Desk) write(key string, value []byte) bool {
	err := errNoStore
	if d.o.Store != nil {
		err = d.o.Store.Put("", map[string][]byte{key: value})
	}
	if err != nil {
		d.o.Log.Error(logNotKept, "record", key, "err", err)
	}
	return err == nil
}

// recall reads what earlier lives have left. What cannot be read is left where it is.
func (d *Desk) recall() {
	if d.read || d.o.Store == nil {
		return
	}
	d.read, d.old = true, map[string]record{}
	err := d.o.Store.All("", func(key string, value []byte) bool {
		if key == missedKey {
			return true
		}
		var n uint64
		if _, err := fmt.Sscanf(key, "%x", &n); err == nil {
			d.next = max(d.next, n)
		}
		var r record
		if err := json.Unmarshal(value, &r); err != nil {
			d.o.Log.Error(logNotKept, "record", key, "err", err)
			return true
		}
		d.old[key] = r
		return true
	})
	if err != nil {
		d.o.Log.Error(logNotKept, "err", err)
	}
}
