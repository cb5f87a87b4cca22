package intercom

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"conch/companions/round"
	"conch/mqtt"
)

// What is said about a call: an offer through the room, lines between the two.

// Method is that of the note by which a device is called.
const Method = "members.call"

const (
	maxLine      = 512 // bytes
	maxAddresses = 8
	nameLength   = 32 // of a call: 128 bits in hex
)

// offer calls a device: come to one of these addresses.
type offer struct {
	To   round.DeviceID `json:"to"`
	Call string         `json:"call"`
	At   []string       `json:"at"` // address:port, numbers
}

func (o offer) note() (mqtt.Note, error) {
	b, err := json.Marshal(o)
	return mqtt.Note{Method: Method, Body: b}, err
}

// readOffer takes what another member sent.
func readOffer(b []byte) (o offer, err error) {
	if err := json.Unmarshal(b, &o); err != nil {
		return offer{}, fmt.Errorf("intercom: an offer: %w", err)
	}
	switch {
	case !mqtt.IsDeviceID(o.To):
		return offer{}, errors.New("intercom: an offer to nobody")
	case len(o.Call) != nameLength || strings.Trim(o.Call, "0123456789abcdef") != "":
		return offer{}, errors.New("intercom: an offer without the name of its call")
	case len(o.At) == 0 || len(o.At) > maxAddresses:
		return offer{}, fmt.Errorf("intercom: an offer with %d addresses; must be 1 to %d", len(o.At), maxAddresses)
	}
	for _, a := range o.At {
		at, err := netip.ParseAddrPort(a)
		if err != nil || at.Port() < 1024 || at.Addr().IsMulticast() || at.Addr().IsUnspecified() {
			return offer{}, fmt.Errorf("intercom: an offer to come to %.60q", a)
		}
	}
	return o, nil
}

// message is a line between the two.
type message struct {
	Is   string `json:"is"`
	Call string `json:"call,omitempty"` // of hello
	On   bool   `json:"on,omitempty"`   // of muted
}

// What a message is.
const (
	isHello   = "hello"   // the one that is called has come
	isRinging = "ringing" // there
	isAccept  = "accept"  // somebody answers
	isBusy    = "busy"    // nobody can
	isAlive   = "alive"   // every second
	isMuted   = "muted"   // the microphone is closed, or open again
	isBye     = "bye"     // it is over, by somebody's wish
)

func (m message) line() []byte {
	b, _ := json.Marshal(m) // strings and a truth
	return append(b, '\n')
}

// readMessage reads one line; what it does not know is an empty message.
func readMessage(line []byte) (message, error) {
	var m message
	line = bytes.TrimSuffix(line, []byte("\n"))
	if len(line) > maxLine {
		return m, fmt.Errorf("intercom: a line of %d bytes", len(line))
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("intercom: a line: %w", err)
	}
	switch m.Is {
	case isHello, isRinging, isAccept, isBusy, isAlive, isMuted, isBye:
		return m, nil
	}
	return message{}, nil // of a newer version
}

// lines reads a connection line by line, none of them long.
func lines(r *bufio.Reader) (message, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return message{}, err // bufio.ErrBufferFull: too long
	}
	return readMessage(line)
}
