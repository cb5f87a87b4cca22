package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"conch/device/condition"
	"conch/device/system"
)

// layout is how the database is arranged (see the top of the package). A change raises it, gives the copy another name (see copied), and
// turns the older layout into the new one in open.
const layout = 1

// ErrLocked is of a file that another process has. errDamaged is of one that is no database, or not a whole one. errNewer is of one that
// this conch does not understand.
var (
	ErrLocked  = errors.New("another process has it open: end that, or set state.dir")
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("it was written by a newer conch")
)

// open gives the database. What is damaged is put aside under another name, and its copy takes its place, or an empty one.
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
	held, err := d.try()
	defer func() { _ = held.Close() }() // until it has another name, a damaged one is nobody else's
	if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		err = d.again(err)
	}
	if errors.Is(err, errNewer) {
		d.refused = fmt.Errorf("%s: %w", d.path, err)
		d.conds.Set(condition.SkillsUnread, d.refused.Error(), "install the newer conch again; the file is left as it is, and until then timers, "+
			"reminders and notes are refused"+d.older())
		err = d.refused
	}
	if err == nil || d.refused != nil {
		return d.db, err
	}
	return nil, fmt.Errorf("%s: %w", d.path, err)
}

// older offers the copy from before the upgrade; without a whole one of this layout it returns nothing.
func (d *DB) older() string {
	file, err := exclusive(d.path+copied, os.O_RDONLY)
	if err != nil {
		return ""
	}
	info, err := file.Stat()
	if half, _, bad := examine(file); err != nil || bad != nil || half {
		_ = file.Close() // nothing was written
		return ""
	}
	db, err := open(file) // and is it of this layout?
	if err != nil {
		return ""
	}
	_ = guarded(db.Close) // nothing was written
	return fmt.Sprintf("; or take the copy of %[2]s, which this conch wrote: sudo systemctl stop conch; sudo mv %[1]s %[1]s.newer; "+
		"sudo cp -p %[1]s%[3]s %[1]s; sudo systemctl start conch", d.path, info.ModTime().Format("2006-01-02 15:04"), copied)
}

// try opens the file that is there; held is it where it is not taken.
func (d *DB) try() (held *os.File, err error) {
	file, err := exclusive(d.path, os.O_RDWR)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) { // what is kept counts all the same
		file, err = exclusive(d.path, os.O_RDONLY)
	}
	if err == nil {
		if err = d.take(file); err == nil {
			return nil, nil
		}
	}
	return file, err
}

// take opens a file, if it is whole, and nobody else has it.
func (d *DB) take(file *os.File) error {
	half, all, err := examine(file)
	if err != nil {
		return err
	}
	db, err := open(file)
	if err != nil {
		return err
	}
	if half {
		d.halved(all)
		_ = guarded(func() error { return db.Update(d.tried) }) // over the damaged page; else the next start says it again
	}
	d.db = db
	if old, err := os.ReadFile(d.path + copied); !db.IsReadOnly() && (err != nil || !bytes.Equal(old, all)) {
		_ = d.copyFrom(db) // Run does
	}
	return nil
}

// begin makes an empty database, and opens it.
func (d *DB) begin() error {
	if err := create(d.path); err != nil {
		return err
	}
	file, err := exclusive(d.path, os.O_RDWR)
	if err == nil {
		d.db, err = open(file)
	}
	return err
}

// Look opens a database that is there, for who wants to read it while conch does not run: it is changed in nothing, nor put aside.
func Look(path string) (*DB, error) {
	d := New(path, condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
	d.looks = true
	file, err := exclusive(path, os.O_RDONLY)
	if err == nil {
		if _, _, err = examine(file); err == nil {
			d.db, err = open(file)
		} else {
			_ = file.Close() // nothing was written
		}
	}
	switch {
	case errors.Is(err, errDamaged):
		err = fmt.Errorf("%w: conch puts it aside when it starts", err)
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("this user may not read it: run it as root, or as the user that conch runs as")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// halved tells that one of the two pages which say what is newest is damaged, and keeps the file as it was found. Which of them it was cannot
// be told: the older one costs nothing, the newer one the last write.
func (d *DB) halved(file []byte) {
	to, kept := d.aside(), ""
	if err := os.WriteFile(to, file, 0o600); err == nil {
		kept = "; as it was found it is now " + filepath.Base(to)
	} else {
		_ = os.Remove(to) // half of it, on a full disk
	}
	d.conds.Set(condition.SkillsUnread, fmt.Sprintf(
		"%s: one of its two first pages is damaged, and the other was taken: what was set or changed last may be missing%s", d.path, kept),
		"look whether the last timers, reminders, notes and bookmarks are there, and set anew what is not; look at the disk if this comes again")
}

// aside is a name for a damaged file that none has.
func (d *DB) aside() string {
	name := d.path + "." + d.now().UTC().Format("20060102-150405")
	to := name + ".broken"
	for n := 2; ; n++ { // a clock that is wrong tells the same time twice
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to
		}
		to = name + "-" + strconv.Itoa(n) + ".broken"
	}
}

// putAside gives the file another name, and says which.
func (d *DB) putAside() (name string, err error) {
	to := d.aside()
	return filepath.Base(to), os.Rename(d.path, to)
}

// exclusive opens a file for this process alone, before it looks at it: what another one is just writing seems to be damaged.
func exclusive(path string, flag int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // to open it may wait for ever
		return nil, errors.New("it is no file: remove it, or set state.dir")
	}
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; <-time.After(lockWait / 20) { // the system has no lock with a deadline
		switch err = system.Lock(file); {
		case err == nil:
			return file, nil
		case errors.Is(err, system.ErrTaken) && time.Now().Before(end):
			continue
		case errors.Is(err, system.ErrTaken):
			err = ErrLocked
		}
		_ = file.Close() // nothing was written
		return nil, err
	}
}

// open opens a file of which it is known that it is whole.
func open(file *os.File) (db *bbolt.DB, err error) {
	db, err = library(file)
	if err == nil {
		if err = guarded(func() error { return db.View(version) }); err != nil {
			_ = guarded(db.Close) // nothing was written
			return nil, err
		}
	}
	return db, err
}

// writes says whether a file was opened to be written: then nothing can be written, else not even that.
func writes(file *os.File) bool {
	_, err := file.Write(nil)
	return err == nil
}

// library opens a database, whatever is in it; the file, which is locked, is its own from then on.
func library(file *os.File) (db *bbolt.DB, err error) {
	err = guarded(func() (err error) {
		db, err = bbolt.Open(file.Name(), 0o600, &bbolt.Options{
			Timeout: lockWait, MaxSize: MaxFile, NoStatistics: true, ReadOnly: !writes(file),
			OpenFile: func(string, int, os.FileMode) (*os.File, error) { return file, nil },
		})
		return err
	})
	if err != nil {
		_ = file.Close() // after a panic it is open, and locked
		return nil, err
	}
	return db, nil
}

// examine looks at the whole file before anybody trusts it, and gives it. It is small. half: one of its two first pages is damaged.
func examine(file *os.File) (half bool, all []byte, err error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return false, nil, err
	case info.Size() > 2*MaxFile:
		return false, nil, fmt.Errorf("%w: %d bytes are more than it may have", errDamaged, info.Size())
	}
	all = make([]byte, info.Size())
	if _, err := file.ReadAt(all, 0); err != nil {
		return false, nil, err
	}
	half, err = look(all)
	return half, all, err
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
	file, err := exclusive(tmp, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	db, err := library(file)
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
		err = named(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the next attempt does
	}
	return err
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
