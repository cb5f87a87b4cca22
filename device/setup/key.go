package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"conch/device/control"
	"conch/device/language"
	"conch/device/system"
)

// Credentials is the directory that systemd hands to the service (LoadCredential in conch.service).
const Credentials = "/etc/conch/credentials"

// KeyFile is the key's file in a directory of credentials.
func KeyFile(dir string) string { return filepath.Join(dir, "openai_api_key") }

// KeyWritable says whether a key can be stored there. Before asking: nobody shall type a key for nothing.
func KeyWritable(dir string, l language.Language) error {
	refused := func(text string) error { return fmt.Errorf("%w: key: %s", control.ErrRefused, text) }
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return refused(l.Phrase("key.root", "dir", dir))
	case errors.Is(err, fs.ErrNotExist):
		return refused(l.Phrase("key.no_dir", "dir", dir))
	case err != nil:
		return fmt.Errorf("%w: key: %w", control.ErrRefused, err)
	case !info.IsDir():
		return refused(l.Phrase("key.not_dir", "dir", dir))
	}
	switch err := system.Access(dir, system.Write|system.Pass); {
	case errors.Is(err, syscall.EROFS):
		return errors.New("key: " + l.Phrase("key.read_only", "dir", dir))
	case err != nil:
		return refused(l.Phrase("key.root", "dir", dir))
	}
	return nil
}

// StoreKey replaces the file as a whole: whatever happens, the old key or the new one is there. The name of what is being
// written begins with a dot, which LoadCredential passes over.
func StoreKey(path, key string, l language.Language) (err error) {
	defer func() {
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			err = errors.New("key: " + l.Phrase("key.full", "file", path, "dir", filepath.Dir(path)))
		case err != nil:
			err = fmt.Errorf("key: %w (%s)", err, l.Phrase("key.as_it_was"))
		}
	}()
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op once renamed
	_, err = f.WriteString(key + "\n")
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return system.SyncDirectory(dir)
}
