package homeassistant

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"conch/device/config"
	"conch/device/pattern"
)

// note is what must survive a restart, so that nothing of this device is left at a broker for good: where it was told of, and as what.
// There is no secret in it: the password's file is named.
type note struct {
	ID     string  `json:"id,omitempty"` // of a device that has none by itself
	Places []place `json:"places"`       // the latest last
}

// place is where the device was told of.
type place struct {
	Broker       string            `json:"broker"`
	User         string            `json:"user,omitempty"`
	PasswordFile string            `json:"password_file,omitempty"`
	CAFile       string            `json:"ca_file,omitempty"`
	Prefix       string            `json:"prefix"`
	Device       string            `json:"device"`
	Entities     map[string]string `json:"entities"`        // platforms, by key: all there ever were
	Parts        int               `json:"parts,omitempty"` // of the discovery, at most so many; 0: one
}

// Bounds of a note. Our choices.
const (
	maxPlaces   = 8
	maxEntities = 100
	maxNote     = 64 << 10
)

func (p place) config() config.HomeAssistant {
	return config.HomeAssistant{Broker: p.Broker, User: p.User, PasswordFile: p.PasswordFile, CAFile: p.CAFile, Prefix: p.Prefix}
}

// same says that both are one place, by whatever user it is reached.
func (p place) same(o place) bool {
	return p.Broker == o.Broker && p.Prefix == o.Prefix && p.Device == o.Device
}

// load reads a note; one that is not there is empty.
func load(path string) (note, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return note{}, nil
	}
	if err != nil {
		return note{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return note{}, err
	}
	var n note
	if err := json.Unmarshal(text, &n); err != nil {
		return note{}, fmt.Errorf("%s: %w", path, err)
	}
	n.Places = slices.DeleteFunc(n.Places, func(p place) bool { return !isID().MatchString(p.Device) || !isID().MatchString(p.Prefix) })
	if !isID().MatchString(n.ID) {
		n.ID = ""
	}
	return n, nil
}

// save replaces the note, or removes it where nothing is noted.
func (n note) save(path string) error {
	if path == "" {
		return nil
	}
	if n.ID == "" && len(n.Places) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// with is the note with a place as the latest; the oldest is given up where there are too many.
func (n note) with(p place) note {
	for _, o := range n.Places {
		if o.same(p) {
			p.Entities, p.Parts = union(o.Entities, p.Entities), max(o.Parts, p.Parts)
		}
	}
	n.Places = append(n.without(p).Places, p)
	n.Places = n.Places[max(0, len(n.Places)-maxPlaces):]
	return n
}

func (n note) without(p place) note {
	n.Places = slices.DeleteFunc(slices.Clone(n.Places), p.same)
	return n
}

// at is what is noted of a place.
func (n note) at(p place) place {
	for _, o := range n.Places {
		if o.same(p) {
			return o
		}
	}
	return p
}

// union has the newer ones in any case, and the older as far as there is room.
func union(older, newer map[string]string) map[string]string {
	m := maps.Clone(newer)
	if m == nil {
		m = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(older)) {
		if _, ok := m[key]; !ok && len(m) < maxEntities {
			m[key] = older[key]
		}
	}
	return m
}

// isID is what a level of Home Assistant's topics looks like.
var isID = pattern.New(`^[A-Za-z0-9_-]{1,64}$`)

// newID is for a device that has none by itself.
func newID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
