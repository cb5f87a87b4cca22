package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"conch/device/condition"
)

// layout is how the database is arranged (see the top of the package). Who changes it raises this, and turns the older one into it in open.
const layout = 1

// errDamaged is of a file that is no database, or not a whole one. errNewer is of one that this conch does not understand.
var (
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("it was written by a newer conch")
)

// open gives the database. What is damaged is put aside under another name, and an empty one takes its place.
func (d *DB) open() (*bbolt.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errShutdown
	case d.refused != nil:
		return nil, d.refused
	case d.db != nil:
		return d.db, nil
	}
	err := examine(d.path)
	if err == nil {
		d.db, err = open(d.path)
	}
	switch {
	case err == nil:
		return d.db, nil
	case errors.Is(err, errNewer):
		d.refused = fmt.Errorf("%s: %w", d.path, err)
		d.conds.Set(condition.SkillsUnread, d.refused.Error(),
			"install the newer conch again; the file is left as it is, and until then timers, reminders and notes are refused")
		return nil, d.refused
	case errors.Is(err, errDamaged):
		if err = d.putAside(err); err == nil {
			err = create(d.path)
		}
	case errors.Is(err, fs.ErrNotExist):
		err = create(d.path)
	}
	if err == nil {
		d.db, err = open(d.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path, err)
	}
	return d.db, nil
}

func (d *DB) putAside(why error) error {
	name := d.path + "." + d.now().UTC().Format("20060102-150405")
	to := name + ".broken"
	for n := 2; ; n++ { // a clock that is wrong tells the same time twice
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = name + "-" + strconv.Itoa(n) + ".broken"
	}
	if err := os.Rename(d.path, to); err != nil {
		return err
	}
	d.conds.Set(condition.SkillsUnread, fmt.Sprintf("%s: %v; it is now %s", d.path, why, filepath.Base(to)),
		"set timers, reminders and notes anew; look at the disk if this comes again")
	return nil
}

// open opens a file of which it is known that it is whole.
func open(path string) (db *bbolt.DB, err error) {
	db, err = library(path)
	if err == nil {
		if err = guarded(func() error { return db.View(version) }); err != nil {
			_ = guarded(db.Close) // nothing was written
			return nil, err
		}
	}
	return db, err
}

// library opens a database, whatever is in it.
func library(path string) (db *bbolt.DB, err error) {
	var file *os.File
	err = guarded(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockWait, MaxSize: MaxFile, NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
				file, err = os.OpenFile(name, flag, mode)
				return file, err
			},
		})
		return err
	})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		err = errors.New("another process has it open: end that, or set state.dir")
	}
	if file != nil {
		_ = file.Close() // after a panic it is open, and locked
	}
	return nil, err
}

// examine looks at the whole file before anybody trusts it. It is small.
func examine(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no file: remove it, or set state.dir")
	case info.Size() > 2*MaxFile:
		return fmt.Errorf("%w: %d bytes are more than it may have", errDamaged, info.Size())
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return look(file)
}

// version says whether the layout is ours.
func version(tx *bbolt.Tx) error {
	top := tx.Bucket(rootConch)
	if top == nil {
		return fmt.Errorf("%w: it does not say by whom it was written", errDamaged)
	}
	switch n, err := strconv.Atoi(string(top.Get(keyLayout))); {
	case err != nil:
		return fmt.Errorf("%w: its layout is %q", errDamaged, top.Get(keyLayout))
	case n > layout:
		return fmt.Errorf("%w: its layout is %d, and this one knows %d", errNewer, n, layout)
	case n < layout || tx.Bucket(rootSkills) == nil:
		return fmt.Errorf("%w: its layout is %d, and it has no skills", errDamaged, n)
	}
	return nil
}

// create makes an empty one beside, and then gives it its name: a power cut leaves none or a whole one.
func create(path string) error {
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	db, err := library(tmp)
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			top, err := tx.CreateBucket(rootConch)
			if err == nil {
				err = top.Put(keyLayout, []byte(strconv.Itoa(layout)))
			}
			if err == nil {
				_, err = tx.CreateBucket(rootSkills)
			}
			return err
		})
		err = errors.Join(err, db.Close())
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the next attempt does
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// guarded makes errors of what the library does when it meets what it did not write: it panics, or reads where no memory is.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return f()
}
