package membership

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"conch/device/printable"
	"conch/device/system"
	"conch/mqtt"
)

// Files of a room, in room/ of the state directory.
const (
	roomDir  = "room"
	roomFile = "room.json" // the commit point: without it this device is in no room
	keyFile  = "ca.key"    // of the device that keeps the room; written before room.json
	newFile  = ".new"      // what is being written
	pemType  = "PRIVATE KEY"
)

// store is a room on disk.
type store struct {
	dir    string                      // of the room; empty: nothing is kept
	before func(op, path string) error // what a test does in place of, or before, each change
	looks  bool                        // nothing is cleared away
}

func (s *store) do(op, path string, f func() error) error {
	if s.before != nil {
		if err := s.before(op, path); err != nil {
			return err
		}
	}
	return f()
}

// read gives the room, or nil where there is none. Half of a room, left by a power cut, is cleared away.
func (s *store) read(id mqtt.Identity) (*record, *ecdsa.PrivateKey, error) {
	if s.dir == "" {
		return nil, nil, nil
	}
	path := filepath.Join(s.dir, roomFile)
	data, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.dir); err != nil || s.looks {
			return nil, nil, nil //nolint:nilerr // no directory, no room
		}
		return nil, nil, s.clear()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, f := range []string{roomFile, keyFile} { // the write that a power cut ended
		if s.looks {
			break
		}
		_ = os.Remove(filepath.Join(s.dir, f+newFile))
	}
	r, err := decode(data, id)
	if err != nil {
		return nil, nil, fmt.Errorf("membership: %s: %w: %w", path, ErrDamaged, err)
	}
	if !r.isHost() || r.Foreign {
		if !s.looks {
			_ = s.dropKey() // of a power cut while this device became the keeper, or another one did
		}
		return r, nil, nil
	}
	path = filepath.Join(s.dir, keyFile)
	data, err = readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("membership: %s is missing, and this device keeps the room: %w", path, ErrDamaged)
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := parseKey(data)
	if err != nil {
		return nil, nil, fmt.Errorf("membership: %s: %w: %w", path, ErrDamaged, err)
	}
	if c, err := r.credentials(id); err != nil || !key.PublicKey.Equal(c.ca.PublicKey) {
		return nil, nil, fmt.Errorf("membership: %s: %w: it is the key of another room", path, ErrDamaged)
	}
	return r, key, nil
}

// readPrivate reads a small file that nobody else may read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("membership: %s: %w: not a file", path, ErrDamaged)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("membership: %s: %w (mode %04o); run: %s (and if others could have, leave the room and pair again)", path, ErrOpen,
			mode, printable.Chmod("600", path))
	}
	if info.Size() > maxRecord {
		return nil, fmt.Errorf("membership: %s: %w: %d bytes; at most %d", path, ErrDamaged, info.Size(), maxRecord)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	return data, nil
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(rest) > 0 {
		return nil, errors.New("no private key in it")
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("no private key in it") // the parser's words might repeat some of it
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("not the kind of key that a room has")
	}
	return key, nil
}

// writeKey keeps the room's key.
func (s *store) writeKey(key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("membership: keep the room's key: %w", err)
	}
	return s.write(keyFile, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
}

// dropKey takes away the key of a device that does not keep the room.
func (s *store) dropKey() error {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, keyFile)
	if err := s.do("remove", path, func() error { return os.Remove(path) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("membership: %w", err)
	}
	return nil
}

func (s *store) writeRecord(r *record) error {
	data, err := mqtt.JSON(r)
	if err != nil {
		return fmt.Errorf("membership: keep the room: %w", err)
	}
	if len(data) >= maxRecord {
		return fmt.Errorf("membership: keep the room: %w", ErrFull)
	}
	return s.write(roomFile, append(data, '\n'))
}

// write replaces a file whole: after a power cut there is the old one or the new one (rename(2), and fsync(2) of file and directory).
func (s *store) write(name string, data []byte) (err error) {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, name)
	defer func() {
		if err != nil {
			_ = os.Remove(path + newFile)
			err = fmt.Errorf("membership: keep the room: %w%s", err, advice(err))
		}
	}()
	if err := s.do("mkdir", s.dir, func() error { return os.MkdirAll(s.dir, 0o700) }); err != nil {
		return err
	}
	var f *os.File
	if err := s.do("create", path, func() (err error) {
		_ = os.Remove(path + newFile) // whoever made it may have left it open to others
		f, err = os.OpenFile(path+newFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	}); err != nil {
		return err
	}
	err = s.do("write", path, func() error { _, err := f.Write(data); return err })
	if err == nil {
		err = s.do("sync", path, f.Sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, missing := os.Lstat(path)
	if err := s.do("rename", path, func() error { return os.Rename(path+newFile, path) }); err != nil {
		return err
	}
	if err := s.do("sync directory", path, s.syncDirs); err != nil {
		if errors.Is(missing, fs.ErrNotExist) { // whoever is told that it failed must not find it done
			_ = os.Remove(path)
		}
		return err
	}
	return nil
}

func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return " (free some space and try again)"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return " (state.dir must be writable)"
	}
	return ""
}

// syncDirs makes the names durable, the directory's own included.
func (s *store) syncDirs() error {
	return errors.Join(system.SyncDirectory(s.dir), system.SyncDirectory(filepath.Dir(s.dir)))
}

// errStillIn says that the file which decides is still there.
var errStillIn = errors.New("this device is still in its room")

// clear ends the room on disk: room.json first, for it decides.
func (s *store) clear() error {
	if s.dir == "" {
		return nil
	}
	for _, f := range []string{roomFile, roomFile + newFile, keyFile, keyFile + newFile} {
		path := filepath.Join(s.dir, f)
		err := s.do("remove", path, func() error { return os.Remove(path) })
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist) && f == roomFile:
			return fmt.Errorf("membership: leave the room: %w: %w%s", errStillIn, err, advice(err))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("membership: leave the room: %w", err)
		}
		if f == roomFile && err == nil {
			if err := s.do("sync directory", path, func() error { return system.SyncDirectory(s.dir) }); err != nil {
				return fmt.Errorf("membership: leave the room: %w", err)
			}
		}
	}
	return nil
}

// Forget ends the membership on disk, whatever state its files are in: the way out of a damaged room.
func Forget(dir string) error {
	s := store{dir: filepath.Join(dir, roomDir)}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.clear()
}
