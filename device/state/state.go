// Package state is what must survive a power cut: small named JSON values in the state directory.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"conch/companions"
	"conch/device/config"
	"conch/device/system"
	"conch/mqtt"
)

// Store keeps them, each in a file of its own in the state directory,
// replaced atomically (write beside, fsync, rename, fsync the directory). A full or read-only disk is an error to the
// caller, who turns it into a condition; the conversation goes on.
type Store struct {
	Dir string

	mu   sync.Mutex        // one writer at a time; guards owed
	owed map[string][]byte // the latest value of each name that could not be written
}

// MaxValue bounds one value; what conch keeps is a volume, a day's usage, a last measurement, a conversation of 16 kB.
const MaxValue = 1 << 20

// Open opens the directory, and makes it if it is not there. A store whose directory cannot be made is a store all the
// same: what it owes is written once it can.
func Open(dir string) (*Store, error) {
	s := &Store{Dir: dir, owed: map[string][]byte{}}
	return s, s.mkdir()
}

func (s *Store) mkdir() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("state: directory %s: %w (set state.dir to a place this user may write)", s.Dir, err)
	}
	if err := mqtt.CheckDirectory(s.Dir); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// Writable says whether something could be written, as far as rights and mounts go.
func (s *Store) Writable() error {
	err := s.mkdir()
	if err == nil {
		if err = system.Access(s.Dir, system.Write); err != nil {
			err = fmt.Errorf("state: directory %s: %w (set state.dir to a place this user may write)", s.Dir, err)
		}
	}
	return err
}

// Fresh says that nothing is kept here yet.
func (s *Store) Fresh() bool {
	entries, err := os.ReadDir(s.Dir)
	return err == nil && len(entries) == 0
}

// Tidy removes what a power cut in the middle of a write has left beside the files, and takes from others the rights that an older
// conch, or a copy from a backup, has given them. Only for the one process that owns the directory, at its start.
func (s *Store) Tidy() {
	narrow(s.Dir)
	left, _ := filepath.Glob(filepath.Join(s.Dir, "*.tmp")) // the pattern is good
	for _, path := range left {
		_ = os.Remove(path) // it stays; the next start tries again
	}
}

// Remove forgets name for good.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owed, name)
	path := filepath.Join(s.Dir, name+".json")
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("state: %s: %w", path, err)
	}
	return system.SyncDirectory(s.Dir)
}

// Load reads name into v and says whether there was one. A broken file is set aside under .broken, never lost silently.
func (s *Store) Load(name string, v any) (bool, error) {
	path := filepath.Join(s.Dir, name+".json")
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("state: %s: %w", path, err)
	case st.Size() > MaxValue:
		return false, s.setAside(path, fmt.Errorf("%d bytes, at most %d", st.Size(), MaxValue))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("state: %s: %w", path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, s.setAside(path, err)
	}
	return true, nil
}

func (s *Store) setAside(path string, why error) error {
	if err := os.Rename(path, path+".broken"); err != nil {
		return fmt.Errorf("state: %s: %w, and it could not be set aside: %w", path, why, err)
	}
	return fmt.Errorf("state: %s: %w (set aside as %s.broken; defaults are used)", path, why, filepath.Base(path))
}

// Save replaces name by v, and writes what is owed. When it returns nil, all of it survives a power cut; otherwise v is
// owed, and Settle tries again.
func (s *Store) Save(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("state: %s: %w", name, err)
	}
	s.mu.Lock()
	s.owed[name] = data
	s.mu.Unlock()
	return s.Settle()
}

// Owes says whether something could not be written.
func (s *Store) Owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.owed) > 0
}

// Settle writes what is owed.
func (s *Store) Settle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) == 0 {
		return nil
	}
	if err := s.mkdir(); err != nil {
		return err
	}
	var errs []error
	for name, data := range s.owed {
		path := filepath.Join(s.Dir, name+".json")
		if err := companions.ReplaceFile(path, data); err != nil {
			errs = append(errs, fmt.Errorf("state: %s: %w (free some space, or set state.dir)", path, err))
			continue
		}
		delete(s.owed, name)
	}
	return errors.Join(errs...)
}

// Look reads a value of the state directory and, unlike the store, leaves a broken one where it is.
func Look(dir, name string, v any) error {
	data, _, err := config.ReadBounded(filepath.Join(dir, name+".json"), MaxValue)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
