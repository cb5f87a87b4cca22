package pairing

import "errors"

// How a pairing can end other than well. Errors of Join, Window.Serve and Window.Run wrap one of them; what a person is told
// follows from which (errors.Is). None ever holds a code or a key.
var (
	ErrWrongCode = errors.New("pairing: the code is wrong")
	ErrTooMany   = errors.New("pairing: three wrong codes")
	ErrExpired   = errors.New("pairing: the window has expired")
	ErrClosed    = errors.New("pairing: the window is closed")
	ErrNoWindow  = errors.New("pairing: that device has no window open")
	ErrBusy      = errors.New("pairing: too many devices are pairing with that one at this moment")
	ErrRefused   = errors.New("pairing: the room did not admit this device")
	ErrNotStored = errors.New("pairing: the joining device could not keep what it was given")
	ErrVersion   = errors.New("pairing: the other device speaks another version")
	ErrProtocol  = errors.New("pairing: the other device does not keep to the protocol")
	ErrSlow      = errors.New("pairing: the other device took too long")
	ErrLost      = errors.New("pairing: the connection was lost")
)
