package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"conch/device/condition"
	"conch/device/system"
)

const (
	copied    = ".copy"          // what the copy's name ends in; of each layout another: an older conch finds what it last copied
	copyAfter = 10 * time.Minute // behind the first write that it lacks; our choice: a card lives from few writes
)

// stale says that the copy is older.
func (d *DB) stale() {
	if d.dirty.Swap(true) {
		return // Run knows
	}
	select {
	case d.written <- struct{}{}:
	default:
	}
}

// copy writes what is kept beside it, where that is not the same already.
func (d *DB) copy() error {
	d.mu.Lock()
	db := d.db
	d.mu.Unlock()
	if db == nil || db.IsReadOnly() || !d.dirty.Load() {
		return nil
	}
	return d.copyFrom(db)
}

// copyFrom copies the file as it is between two writes. One that a worn card has damaged meanwhile takes no copy's place.
func (d *DB) copyFrom(db *bbolt.DB) error {
	d.copying.Lock()
	defer d.copying.Unlock()
	d.dirty.Store(false)
	var all []byte
	err := guarded(func() error {
		return db.Update(func(*bbolt.Tx) (err error) { // nobody writes meanwhile, and this one neither
			if all, err = os.ReadFile(d.path); err == nil {
				err = errSame
			}
			return err
		})
	})
	if errors.Is(err, errSame) {
		var half bool
		if half, err = look(all); half {
			err = damaged("one of its two first pages is")
		}
	}
	if err == nil {
		err = replace(d.path+copied, all)
	}
	if err != nil {
		d.stale()
	}
	return err
}

// erased takes out of the copy what a person wants forgotten: rather none than one that has it.
func (d *DB) erased(values map[string][]byte) {
	for _, value := range values {
		if value == nil {
			if d.copy() != nil {
				_ = os.Remove(d.path + copied) // Run makes another
			}
			return
		}
	}
}

// again puts a damaged file aside, and has the copy take its place, or that of one that is gone. Without a copy it begins an empty one.
func (d *DB) again(why error) error {
	what, gone := "it is gone", errors.Is(why, fs.ErrNotExist)
	if !gone {
		name, err := d.putAside()
		if err != nil {
			return err
		}
		what = fmt.Sprintf("%v; it is now %s", why, name)
	}
	info, err := os.Stat(d.path + copied)
	if err == nil {
		if err = named(d.path+copied, d.path); err == nil {
			var held *os.File
			held, err = d.try()
			defer func() { _ = held.Close() }()
		}
	}
	switch {
	case err == nil:
		d.conds.Set(condition.SkillsUnread, fmt.Sprintf("%s: %s; its copy of %s has its place: what was set or changed since may be missing",
			d.path, what, info.ModTime().Format("January 2, 15:04")),
			"look whether the last timers, reminders, notes and bookmarks are there, and set anew what is not; look at the disk if this comes again")
		return nil
	case errors.Is(err, errDamaged):
		name, err := d.putAside()
		if err != nil {
			return err
		}
		what += "; its copy was damaged, too, and is now " + name
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case gone: // there never was one
		return d.begin()
	}
	d.conds.Set(condition.SkillsUnread, d.path+": "+what, "set timers, reminders and notes anew; look at the disk if this comes again")
	return d.begin()
}

// replace writes a file beside, and then gives it its name.
func replace(path string, data []byte) error {
	tmp := path + ".tmp"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = named(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the next attempt does
	}
	return err
}

// named gives a file its name, also behind a power cut.
func named(tmp, path string) error {
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return system.SyncDirectory(filepath.Dir(path))
}
