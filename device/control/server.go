package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"conch/device/system"
	"conch/mqtt"
)

// MaxRequest is how many bytes a request may have.
const MaxRequest = 64 << 10

// ErrRunning: a live appliance serves this socket. Two on one state directory would fight over it.
var ErrRunning = errors.New("another conch is running here (stop it, or set state.runtime)")

// Listen opens the socket. A stale one, left by a killed process, is replaced.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if err := mqtt.CheckDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("control: %w (or state.runtime)", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("control: %s: %w", path, ErrRunning)
	} else if system.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("control: %w", err)
	}
	return l, nil
}

// Decode reads the JSON of a request, bounded; it answers what cannot be read.
func Decode(w http.ResponseWriter, r *http.Request, v any) bool {
	err := read(w, r, v)
	if err != nil {
		http.Error(w, fmt.Sprintf("control: request: %v", err), http.StatusBadRequest)
	}
	return err == nil
}

// read takes one value. A field that nobody knows is a wish that would be lost.
func read(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("a %s: want an object", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%s is a %s: want %s", kind.Field, kind.Value, kind.Type)
	}
	return err
}

// DecodeText reads a text, and whom it is for; it answers what is none.
func DecodeText(w http.ResponseWriter, r *http.Request) (string, []string, bool) {
	var q struct {
		Text string   `json:"text"`
		To   []string `json:"to"` // names of companions: whom in particular
	}
	if err := read(w, r, &q); err != nil || strings.TrimSpace(q.Text) == "" {
		refuseText(w, err)
		return "", nil, false
	}
	return q.Text, q.To, true
}

// refuseText refuses a request that cannot be read, or that has no text.
func refuseText(w http.ResponseWriter, err error) {
	if err == nil {
		err = errors.New("text is empty")
	}
	http.Error(w, fmt.Sprintf("control: request: %v (send {\"text\": \"...\"}, at most %d bytes)", err, MaxRequest), http.StatusBadRequest)
}

// Reply answers v, or err with the status that says whether it was refused.
func Reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, ErrRefused) {
			code = http.StatusBadRequest
		}
		http.Error(w, Refusal(err), code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away: its loss
}

// Refusal is an error for people: that it was refused is for programs, which have the status.
func Refusal(err error) string { return strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ") }

// peerKey is under what the context of a request has the user at the other end.
type peerKey struct{}

// MayEnd says whether the user who asks could end this process.
func MayEnd(r *http.Request) bool {
	uid, ok := r.Context().Value(peerKey{}).(int)
	return ok && (uid == 0 || uid == os.Getuid())
}
