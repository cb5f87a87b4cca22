package membership

import (
	"path/filepath"

	"conch/mqtt"
)

// Look is Open for who only looks, perhaps while the device runs: what a power cut has left stays, and nothing is ever written.
func Look(dir string, id mqtt.Identity) (*Membership, error) {
	m, err := Open("", id, Clock{})
	if err != nil {
		return nil, err
	}
	s := store{dir: filepath.Join(dir, roomDir), looks: true}
	rec, _, err := s.read(id)
	if err != nil || rec == nil {
		return m, err
	}
	return m, m.adopt(rec)
}
