package device

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/config"
)

// The control socket: HTTP and JSON over a unix socket in the runtime directory, for the CLI and for whoever watches the
// box. Requests enter the same inboxes as the button.
//
//	POST /ask    {"text": …, "to": [names]}  -> Answer, when the question has come to its end, here or in the room
//	POST /say    {"text": …}  -> {"outcome": …}
//	POST /press, /release     -> 204
//	POST /mute, /light        -> mute.go, light.go
//	GET /usage, POST /usage/reset -> usage.go
//	GET  /status              -> Status
//	GET  /room, …             -> room_control.go, pair_control.go
//	GET  /why                 -> {"text": …}: who spoke last and why, and why the others did not
//	GET  /recent              -> the last facts, orders and transitions, oldest first
//	GET  /metrics             -> Prometheus text
const (
	maxRequest      = 64 << 10
	controlDeadline = 3 * time.Minute // longer than any turn without a person
)

// Status is what the box is and does now.
type Status struct {
	Version    string                `json:"version"`
	Device     round.DeviceID        `json:"device,omitempty"` // empty: it has no identity
	State      string                `json:"state"`
	Quiet      bool                  `json:"quiet"` // no turn is live, nothing sounds and no words are to come
	Button     string                `json:"button"`
	Sound      string                `json:"sound"`
	Buffer     string                `json:"buffer,omitempty"` // of the loudspeaker: what was granted, and what that means
	Voice      string                `json:"voice"`
	Ready      bool                  `json:"ready"`
	Turns      uint64                `json:"turns"`
	Volume     int                   `json:"volume"`
	VolumeFrom string                `json:"volume_from"` // remembered, or where the configuration has it from (Row.Origin)
	Muted      bool                  `json:"muted"`       // no capture device is open, by wish
	Light      string                `json:"light,omitempty"`
	Conditions []condition.Condition `json:"conditions"`
	Usage      any                   `json:"usage,omitempty"`

	Pairing PairingLine  `json:"pairing"`
	Paired  *RoomPairing `json:"paired,omitempty"` // the room this device is in by pairing
}

// errRunning: a live appliance serves this socket. Two on one state directory would fight over it.
var errRunning = errors.New("another conch is running here (stop it, or set state.runtime)")

// serveControl serves until ctx ends. Without a socket one can still talk to the device: that is a condition, not an end.
func (d *Device) serveControl(ctx context.Context) error {
	l, err := listenControl(d.cfg.State.Socket())
	if errors.Is(err, errRunning) {
		return err
	}
	if err != nil {
		d.conds.Set(condition.ControlClosed, err.Error(), "set state.runtime to a directory this user may write, with a short path; until a restart, conch ask, say and why do not reach this appliance")
		return nil
	}
	mux := d.controlMux()
	d.debugMux(ctx, mux)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: withPeer}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if d.restarting.Load() { // whoever asked for that has its answer first
			c, cancel := context.WithTimeout(context.Background(), restartAnswers)
			defer cancel()
			_ = srv.Shutdown(c)
		}
		_ = srv.Close()
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}

// restartAnswers is what those who are connected get of the time when the device begins anew. Our choice: an answer takes
// milliseconds, and who watches is told that it is over.
const restartAnswers = 500 * time.Millisecond

// listenControl opens the socket. A stale one, left by a killed process, is replaced.
func listenControl(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("control: %s: %w", path, errRunning)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
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

func (d *Device) controlMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		text, to, ok := requestText(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), controlDeadline)
		defer cancel()
		a, err := d.Inquire(ctx, text, to...)
		reply(w, a, err)
	})
	mux.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) {
		text, _, ok := requestText(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), controlDeadline)
		defer cancel()
		outcome, err := d.Say(ctx, text)
		reply(w, map[string]string{"outcome": outcome}, err)
	})
	mux.HandleFunc("POST /press", func(w http.ResponseWriter, _ *http.Request) {
		d.Press()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /release", func(w http.ResponseWriter, _ *http.Request) {
		d.Release()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { reply(w, d.Status(), nil) })
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"text": d.Why()}, nil) })
	mux.HandleFunc("GET /recent", func(w http.ResponseWriter, _ *http.Request) { reply(w, d.coordinator.Recent(), nil) })
	d.roomMux(mux)
	d.pairMux(mux)
	d.muteMux(mux)
	d.usageMux(mux)
	d.lightMux(mux)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { d.writeMetrics(w) })
	return mux
}

// decodeRequest reads the JSON of a request, bounded; it answers what cannot be read.
func decodeRequest(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("control: request: %v", err), http.StatusBadRequest)
	}
	return err == nil
}

func requestText(w http.ResponseWriter, r *http.Request) (string, []string, bool) {
	var q struct {
		Text string   `json:"text"`
		To   []string `json:"to"` // names of companions: whom in particular
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&q)
	if err == nil && strings.TrimSpace(q.Text) == "" {
		err = errors.New("text is empty")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("control: request: %v (send {\"text\": \"...\"}, at most %d bytes)", err, maxRequest), http.StatusBadRequest)
		return "", nil, false
	}
	return q.Text, q.To, true
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, ErrRefused) {
			code = http.StatusBadRequest
		}
		http.Error(w, refusal(err), code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away: its loss
}

// refusal is an error for people: that it was refused is for programs, which have the status.
func refusal(err error) string { return strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ") }

// A Remote is a running appliance, as the CLI sees it.
type Remote struct {
	path   string
	client *http.Client
}

// serviceRuntime is where the shipped unit's socket is (RuntimeDirectory). Nobody who asks the service something has that
// directory in the environment, as the service itself has.
const serviceRuntime = "/run/conch"

// Dial finds the appliance of this configuration: at its own socket, and where nobody has set state.runtime, the service.
func Dial(cfg config.Config) (*Remote, error) {
	r, err := dialAt(cfg.State.Socket())
	service := config.State{Runtime: serviceRuntime}.Socket()
	if err == nil || !cfg.Unset("state.runtime") || service == cfg.State.Socket() {
		return r, err
	}
	if _, e := os.Lstat(serviceRuntime); e != nil { // it is not installed, or does not run
		return nil, err
	}
	return dialAt(service)
}

func dialAt(path string) (*Remote, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	c, err := dial(context.Background(), "", "")
	if err != nil {
		return nil, noConch(path, err)
	}
	_ = c.Close()
	return &Remote{path: path, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// noConch says why nobody answers at path.
func noConch(path string, err error) error {
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not talk to conch (run it as the user that conch runs as, or join that one's group)", path)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED): // what a killed one leaves
		return fmt.Errorf("no running conch at %s (start one with: conch run)", path)
	}
	return fmt.Errorf("no running conch at %s: %w (start one with: conch run)", path, err)
}

// failure is the error in an answer.
func failure(status int, text []byte) error {
	err := errors.New(strings.TrimSpace(string(text)))
	if status == http.StatusBadRequest {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// Do sends one request and decodes the answer into out, if not nil.
func (r *Remote) Do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = strings.NewReader(string(data))
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://conch"+path, body)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("conch at %s: %w", r.path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return fmt.Errorf("conch at %s: %w", r.path, err)
	}
	if resp.StatusCode >= 300 {
		return failure(resp.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// Lines sends one request and calls each with every line of the answer, as it comes, until ctx ends.
func (r *Remote) Lines(ctx context.Context, path string, each func(line []byte)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://conch"+path, nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("conch at %s: %w", r.path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxRequest))
		return failure(resp.StatusCode, data)
	}
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		each(sc.Bytes())
	}
	if ctx.Err() != nil {
		return nil // that is how one stops watching
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("conch at %s: %w", r.path, err)
	}
	return errors.New("the appliance has ended")
}
