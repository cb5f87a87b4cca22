//go:build !cgo

package audio

import (
	"errors"
	"log/slog"
)

// MalgoCard cannot exist in a program built without cgo.
type MalgoCard struct{}

var errNoCgo = errors.New("audio: this conch was built without cgo and has no sound card (build with CGO_ENABLED=1 and a C compiler)")

// NewCard says why there is none.
func NewCard(string, *slog.Logger) (*MalgoCard, error) { return nil, errNoCgo }

// OpenPlayback implements Card.
func (*MalgoCard) OpenPlayback(StreamConfig, func([]int16)) (Stream, error) { return nil, errNoCgo }

// OpenCapture implements Card.
func (*MalgoCard) OpenCapture(StreamConfig, func([]int16)) (Stream, error) { return nil, errNoCgo }

// Devices lists none.
func (*MalgoCard) Devices() ([]Device, error) { return nil, errNoCgo }

// Better is never true.
func (*MalgoCard) Better(Granted) bool { return false }

// Abandoned is none.
func (*MalgoCard) Abandoned() int { return 0 }

// Spent is never true.
func (*MalgoCard) Spent() bool { return false }

// Close does nothing.
func (*MalgoCard) Close() {}
