// Package store is what the skills keep: one embedded database in the state directory (bbolt), in which each skill has a place of its
// own for each companion.
//
//	conch        layout = "1"
//	skills       NAME of a skill
//	               =             the device itself
//	               =COMPANION    key = value
//
// A write is on the disk, whole, when it returns: two flushes of the card each. So what is written seldom belongs here, and what is
// the same as before is not written again. A copy lies beside it, some minutes old, and takes its place where it is damaged.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"conch/companions/skills"
	"conch/device/condition"
)

// File is its name in the state directory.
const File = "skills.db"

// Bounds. Our choices: a thousand reminders are a quarter of a MiB.
const (
	MaxFile  = 16 << 20
	MaxKey   = 256
	MaxValue = 64 << 10
)

// Our choices.
const (
	lockWait = time.Second      // for another process to let go of the file
	retry    = 10 * time.Second // a full disk is tried again

	triedPages = 8
)

var (
	rootConch   = []byte("conch")
	rootSkills  = []byte("skills")
	keyLayout   = []byte("layout")
	keyTried    = []byte("tried")
	errSame     = errors.New("as it was")
	errShutdown = errors.New("what skills keep cannot be reached any more: conch ends")
)

// DB is that database. It is opened when somebody needs it first, so that what is never asked costs nothing. All methods may be called from
// any goroutine.
type DB struct {
	path   string
	conds  *condition.Book
	now    func() time.Time
	every  time.Duration // how often Run tries again
	delay  time.Duration // of a copy
	failed chan struct{} // a token: something could not be written

	written chan struct{} // a token: the copy is older
	dirty   atomic.Bool   // it is
	copying sync.Mutex

	mu      sync.Mutex
	db      *bbolt.DB // nil: it is not open
	looks   bool      // it is only read, whatever could be
	refused error     // by a file that only a newer conch understands; stays
	closed  bool
}

// New is the database at path, which need not be there; now dates what is put aside.
func New(path string, conds *condition.Book, now func() time.Time) *DB {
	return &DB{path: path, conds: conds, now: now, every: retry, delay: copyAfter, failed: make(chan struct{}, 1), written: make(chan struct{}, 1)}
}

// Run tries again what could not be written, until ctx ends: whoever asked was told, but the condition has to end by itself. And it copies.
func (d *DB) Run(ctx context.Context) error {
	var again, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.failed:
			again = time.After(d.every)
		case <-again:
			again = nil
			_ = d.update(d.tried) // the condition says it
		case <-d.written:
			late = time.After(d.delay)
		case <-late:
			late = nil
			_ = d.copy() // it is tried again
		}
	}
}

// tried is a write that changes nothing for anybody. It takes more than what a skill writes: in a file there are pages that are free, and
// on a full disk a small write ends well.
func (d *DB) tried(tx *bbolt.Tx) error {
	return tx.Bucket(rootConch).Put(keyTried, append(make([]byte, triedPages*os.Getpagesize()), d.now().UTC().Format(time.RFC3339)...))
}

// Close copies what is not copied yet. What is asked later is refused.
func (d *DB) Close() error {
	_ = d.copy() // the file itself is written
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}

// Skill is the place of one skill.
func (d *DB) Skill(name string) skills.Store { return place{d, []byte(name)} }

// place is a skills.Store.
type place struct {
	d     *DB
	skill []byte
}

func bucket(companion string) []byte { return append([]byte("="), companion...) }

// of is the place's bucket for a companion; nil: nothing is kept for it.
func (p place) of(tx *bbolt.Tx, companion string) *bbolt.Bucket {
	all := tx.Bucket(rootSkills).Bucket(p.skill)
	if all == nil {
		return nil
	}
	return all.Bucket(bucket(companion))
}

func (p place) Get(companion, key string) (value []byte, err error) {
	err = p.d.view(func(tx *bbolt.Tx) error {
		if b := p.of(tx, companion); b != nil {
			value = bytes.Clone(b.Get([]byte(key)))
		}
		return nil
	})
	return value, err
}

func (p place) Put(companion string, values map[string][]byte) error {
	for key, value := range values {
		switch {
		case key == "" || len(key)+len(companion) > MaxKey:
			return fmt.Errorf("a key of %d bytes cannot be kept: 1 to %d", len(key), MaxKey-len(companion))
		case len(value) > MaxValue:
			return fmt.Errorf("%d bytes are too much to keep: at most %d", len(value), MaxValue)
		}
	}
	err := p.d.update(func(tx *bbolt.Tx) error {
		same := true
		old := p.of(tx, companion)
		for key, value := range values {
			var was []byte
			if old != nil {
				was = old.Get([]byte(key))
			}
			same = same && (was == nil) == (value == nil) && bytes.Equal(was, value)
		}
		if same {
			return errSame
		}
		all, err := tx.Bucket(rootSkills).CreateBucketIfNotExists(p.skill)
		if err != nil {
			return err
		}
		b, err := all.CreateBucketIfNotExists(bucket(companion))
		for key, value := range values {
			switch {
			case err != nil:
			case value == nil:
				err = b.Delete([]byte(key))
			default:
				err = b.Put([]byte(key), value)
			}
		}
		if first, _ := b.Cursor().First(); err == nil && first == nil { // nobody for whom nothing is kept
			err = all.DeleteBucket(bucket(companion))
		}
		return err
	})
	if err == nil && string(p.skill) == NotesOf {
		p.d.erased(values)
	}
	return err
}

func (p place) All(companion string, f func(key string, value []byte) bool) error {
	type entry struct {
		key   string
		value []byte
	}
	var all []entry
	err := p.d.view(func(tx *bbolt.Tx) error {
		all = nil
		b := p.of(tx, companion)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			all = append(all, entry{string(k), bytes.Clone(v)})
			return nil
		})
	})
	for _, e := range all { // f is somebody else's: nothing is held meanwhile
		if err != nil || !f(e.key, e.value) {
			break
		}
	}
	return err
}

func (p place) Companions() (all []string, err error) {
	err = p.d.view(func(tx *bbolt.Tx) error {
		all = nil
		of := tx.Bucket(rootSkills).Bucket(p.skill)
		if of == nil {
			return nil
		}
		return of.ForEachBucket(func(name []byte) error {
			all = append(all, string(name[1:]))
			return nil
		})
	})
	return all, err
}

func (d *DB) view(f func(*bbolt.Tx) error) error {
	err := berrors.ErrDatabaseNotOpen
	for range 2 { // somebody may just open it anew
		if !errors.Is(err, berrors.ErrDatabaseNotOpen) {
			break
		}
		var db *bbolt.DB
		if db, err = d.open(); err == nil {
			err = guarded(func() error { return db.View(f) })
		}
	}
	if err == nil || errors.Is(err, errShutdown) {
		return err
	}
	return d.troubled("what was kept cannot be read", err)
}

func (d *DB) update(f func(*bbolt.Tx) error) error {
	db, err := d.open()
	if err == nil && db.IsReadOnly() { // that was all that could be had: now it may be more
		d.letGo(db)
		db, err = d.open()
	}
	if err == nil {
		err = guarded(func() error { return db.Update(f) })
	}
	switch {
	case err == nil:
		d.conds.Clear(condition.SkillsUnwritten)
		d.stale()
		return nil
	case errors.Is(err, errSame):
		return nil
	case errors.Is(err, errShutdown):
		return err
	case errors.Is(err, berrors.ErrDatabaseReadOnly):
		err = fmt.Errorf("%s can only be read: %w", d.path, err)
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return errors.New("it cannot be kept: there is as much already as I can keep; forget something first")
	}
	return d.troubled("it cannot be kept", err)
}

// letGo closes a database that was opened to be read.
func (d *DB) letGo(db *bbolt.DB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == db && !d.looks {
		_ = guarded(db.Close) // nothing was written
		d.db = nil
	}
}

// spoken is an error that companions tell: it has plain words, and the condition has the rest.
type spoken struct {
	text string
	of   error
}

func (s spoken) Error() string { return s.text }
func (s spoken) Unwrap() error { return s.of }

// plain is why, in words for ears.
func plain(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "my disk is full"
	case errors.Is(err, syscall.EROFS), errors.Is(err, berrors.ErrDatabaseReadOnly):
		return "my disk can only be read"
	case errors.Is(err, fs.ErrPermission):
		return "I may not use my disk"
	case errors.Is(err, errNewer):
		return errNewer.Error()
	case errors.Is(err, ErrLocked):
		return "another conch has it"
	}
	return "my disk is in trouble"
}

// troubled has people told of what went wrong, and Run try again.
func (d *DB) troubled(what string, err error) error {
	told := spoken{what + ": " + plain(err), err}
	d.mu.Lock()
	refused := d.refused != nil
	d.mu.Unlock()
	if refused { // it has a condition of its own, and no attempt will help
		return told
	}
	d.conds.Set(condition.SkillsUnwritten, fmt.Sprintf("%s: %v", what, err),
		"free some space, or set state.dir; until then timers, reminders and notes are refused")
	select {
	case d.failed <- struct{}{}:
	default: // one is there already
	}
	return told
}
