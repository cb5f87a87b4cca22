package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"conch/device/control"
)

// Credentials is the directory that systemd hands to the service (LoadCredential in conch.service).
const Credentials = "/etc/conch/credentials"

// KeyFile is the key's file in a directory of credentials.
func KeyFile(dir string) string { return filepath.Join(dir, "openai_api_key") }

// KeyWritable says whether a key can be stored there. Before asking: nobody shall type a key for nothing.
func KeyWritable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: key: %s belongs to root: run it as sudo conch key", control.ErrRefused, dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: key: there is no %s: it comes with the Debian package; without that, put the key into a file of mode 0600 "+
			"and name it in voice.key_file", control.ErrRefused, dir)
	case err != nil:
		return fmt.Errorf("%w: key: %w", control.ErrRefused, err)
	case !info.IsDir():
		return fmt.Errorf("%w: key: %s is not a directory", control.ErrRefused, dir)
	}
	switch err := syscall.Access(dir, 3); { // W_OK and X_OK
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("key: %s is on a file system that is read-only (a worn or full card, or an overlay): mount it writable first", dir)
	case err != nil:
		return fmt.Errorf("%w: key: %s belongs to root: run it as sudo conch key", control.ErrRefused, dir)
	}
	return nil
}

// StoreKey replaces the file as a whole: whatever happens, the old key or the new one is there. The name of what is being
// written begins with a dot, which LoadCredential passes over.
func StoreKey(path, key string) (err error) {
	defer func() {
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			err = fmt.Errorf("key: %s: no space left on this file system; what was stored is as it was (free some: df -h %s)", path, filepath.Dir(path))
		case err != nil:
			err = fmt.Errorf("key: %w (what was stored is as it was)", err)
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
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync() // or a power cut brings the old name back
}
