package mqtt

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"conch/companions/round"
	"conch/device/printable"
	"conch/device/system"
)

// identityFile holds the seed of the device's key, base64, one line.
const identityFile = "identity.key"

// Identity is a device's key and the name that follows from it (PAIRING.md: the id is the key's fingerprint, so that a
// name cannot be borrowed). The zero value signs nothing.
type Identity struct {
	key ed25519.PrivateKey
	id  round.DeviceID
}

// NewIdentity makes an identity that nobody keeps: for tests and rehearsals.
func NewIdentity() (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("mqtt: make a device key: %w", err)
	}
	return identityOf(key), nil
}

func identityOf(key ed25519.PrivateKey) Identity {
	return Identity{key: key, id: Fingerprint(key.Public().(ed25519.PublicKey))}
}

// ID is the device's id.
func (i Identity) ID() round.DeviceID { return i.id }

// String is the id: a key is never printed.
func (i Identity) String() string { return string(i.id) }

// GoString keeps the key out of %#v.
func (i Identity) GoString() string { return "mqtt.Identity(" + string(i.id) + ")" }

// PrivateKey is the key itself, for what pairing will sign.
func (i Identity) PrivateKey() ed25519.PrivateKey { return i.key }

// PublicKey is the other half; the id is its fingerprint.
func (i Identity) PublicKey() ed25519.PublicKey { return i.key.Public().(ed25519.PublicKey) }

// letters are those of a device's id.
const letters = "abcdefghijklmnopqrstuvwxyz234567"

var lowerBase32 = base32.NewEncoding(letters).WithPadding(base32.NoPadding)

// deviceIDLen is the length of a fingerprint: 100 bits, and still within the 23 bytes of a client id that every broker
// has to take (MQTT 3.1.1, 3.1.3.1).
const deviceIDLen = 20

// Fingerprint names the device that has a key: the first 100 bits of its SHA-256, in letters and digits that are safe in a topic, in a file
// name and in a host name.
func Fingerprint(pub ed25519.PublicKey) round.DeviceID {
	sum := sha256.Sum256(pub)
	return round.DeviceID(lowerBase32.EncodeToString(sum[:13])[:deviceIDLen])
}

// IsDeviceID says whether d can be the fingerprint of a key.
func IsDeviceID(d round.DeviceID) bool {
	return len(d) == deviceIDLen && strings.Trim(string(d), letters) == ""
}

// OpenIdentity reads the device's identity from dir, and makes it there at the first start. The file is written whole or
// not at all: a device whose power fails in the first second has no half key afterwards. A file that others can read is refused.
func OpenIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityFile)
	id, err := readIdentity(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if id, err = NewIdentity(); err != nil {
		return Identity{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Identity{}, fmt.Errorf("mqtt: make the state directory: %w", err)
	}
	if err := CheckDirectory(dir); err != nil {
		return Identity{}, fmt.Errorf("mqtt: keep the device key: %w", err)
	}
	made, err := writeIdentity(dir, path, id)
	if err != nil {
		return Identity{}, fmt.Errorf("mqtt: keep the device key: %w", err)
	}
	if !made { // somebody else was first: theirs is the device's
		return readIdentity(path)
	}
	return id, nil
}

// CheckDirectory says why a directory is not one to keep keys, memories or a socket in: somebody else owns it or the link to it, or, unless it
// is this user's own, everybody may write to it. The system's (root's) are as good as one's own, and root takes what it is told to.
func CheckDirectory(dir string) error {
	me := os.Geteuid()
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(dir)
		if err != nil {
			return err
		}
		owner := me
		if uid, _, ok := system.Owner(info); ok {
			owner = uid
		}
		switch link := info.Mode()&fs.ModeSymlink != 0; {
		case me == 0 && !link, owner == me:
		case owner != 0:
			return fmt.Errorf("%s belongs to another user (uid %d): set state.dir to a place of your own", dir, owner)
		case !link && info.Mode().Perm()&0o002 != 0:
			return fmt.Errorf("%s: everybody may write there: set state.dir to a place of your own", dir)
		}
	}
	return nil
}

func readIdentity(path string) (Identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Identity{}, fmt.Errorf("mqtt: read the device key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Identity{}, fmt.Errorf("mqtt: device key %s: not a file", path)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return Identity{},
			fmt.Errorf("mqtt: device key %s: mode %04o lets others read it; run: %s (and if others could have, delete it and pair again)",
				path, info.Mode().Perm(), printable.Chmod("600", path))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, fmt.Errorf("mqtt: read the device key: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return Identity{}, fmt.Errorf("mqtt: device key %s: damaged (want %d bytes in base64); delete it and pair again", path, ed25519.SeedSize)
	}
	return identityOf(ed25519.NewKeyFromSeed(seed)), nil
}

// writeIdentity is false when a key was there already.
func writeIdentity(dir, path string, id Identity) (made bool, err error) {
	f, err := os.CreateTemp(dir, identityFile+".*") // 0600
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(id.key.Seed()) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, err
	}
	// A link, unlike a rename, does not replace the key that another process has just made.
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, system.SyncDirectory(dir)
}
