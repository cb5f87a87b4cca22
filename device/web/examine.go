package web

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// AuthorityDir is where a device keeps its page's authority, below its state directory.
const AuthorityDir = "web"

// Examine says what would keep a page closed: at the address where it is to listen, and, for the network, in what encrypts it. It opens the
// address and closes it again, reads no sessions, and makes no authority where there is none yet.
func Examine(o DoorOptions) (address, encryption error) {
	o.Load, o.Save = nil, nil
	d, _ := NewDoor(o) // an error is one of sessions
	list, address := d.Listen()
	for _, l := range list {
		_ = l.Close()
	}
	if d.certs != nil && !d.certs.owned() && o.AuthorityDir != "" {
		if _, err := os.Stat(filepath.Join(o.AuthorityDir, authorityFile)); errors.Is(err, fs.ErrNotExist) {
			return address, nil
		}
	}
	return address, d.Check()
}
