package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"conch/device/config"
	"conch/device/system"
)

// ErrRefused wraps every refusal of a flag, file, device or value: nothing was started, exit status 2.
var ErrRefused = errors.New("refused")

// ErrNoConch: nobody serves a socket.
var ErrNoConch = errors.New("no running conch")

// A Remote is a running appliance, as the CLI sees it.
type Remote struct {
	Path   string
	client *http.Client
}

// serviceRuntime is where the shipped unit's socket is (RuntimeDirectory). Nobody who asks the service something has that
// directory in the environment, as the service itself has.
const serviceRuntime = "/run/conch"

// Dial finds the appliance of this configuration: at its own socket, and where nobody has set state.runtime, the service.
func Dial(cfg config.Config) (*Remote, error) {
	r, err := DialSocket(cfg.State.Socket())
	service := config.State{Runtime: serviceRuntime}.Socket()
	if err == nil || !cfg.Unset("state.runtime") || service == cfg.State.Socket() {
		return r, err
	}
	if _, e := os.Lstat(serviceRuntime); e != nil { // it is not installed, or does not run
		return nil, err
	}
	return DialSocket(service)
}

// DialSocket finds the appliance at a socket.
func DialSocket(path string) (*Remote, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	c, err := dial(context.Background(), "", "")
	if err != nil {
		return nil, noConch(path, err)
	}
	_ = c.Close()
	return &Remote{Path: path, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// Local is an appliance of this process, by what it serves.
func Local(h http.Handler) *Remote {
	return &Remote{Path: "this process", client: &http.Client{Transport: within{h}}}
}

// within has requests answered without a socket.
type within struct{ http.Handler }

// RoundTrip implements http.RoundTripper. The whole answer is there when it returns.
func (h within) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &written{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	h.ServeHTTP(w, r)
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// written is an answer.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header         { return w.header }
func (w *written) WriteHeader(status int)      { w.status = status }
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }

// Close gives up the connections that are kept for the next request.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// noConch says why nobody answers at path.
func noConch(path string, err error) error {
	switch {
	case system.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not talk to conch; %s", path, joinGroup(path))
	case errors.Is(err, syscall.ENOENT), system.Is(err, syscall.ECONNREFUSED): // what a killed one leaves
		return fmt.Errorf("%w at %s (start one with: conch run)", ErrNoConch, path)
	}
	return fmt.Errorf("no running conch at %s: %w (start one with: conch run)", path, err)
}

// joinGroup is how whoever asks comes to be let in: the socket is its group's.
func joinGroup(path string) string {
	group, me := "conch", "$USER"
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		info, err = os.Stat(path)
	}
	if err == nil {
		_, gid, ok := system.Owner(info)
		if !ok || gid == 0 || info.IsDir() && info.Mode()&0o050 != 0o050 {
			return "run it as the user that conch runs as"
		}
		if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
			group = g.Name
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		me = u.Username
	}
	return fmt.Sprintf("let it: sudo usermod -aG %s %s, and log in again; or for now: sudo conch ...", group, me)
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
		return r.broken(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return r.broken(err)
	}
	if resp.StatusCode >= 300 {
		return failure(resp.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// Service says that it is the installed service, whose log systemd keeps.
func (r *Remote) Service() bool { return r.Path == config.State{Runtime: serviceRuntime}.Socket() }

// ErrEnded is the end of the appliance in the middle of a request.
var ErrEnded = errors.New("the appliance has ended")

// broken is why a request came to nothing: the appliance may have ended in the middle of it.
func (r *Remote) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || system.Is(err, syscall.ECONNRESET) {
		err = ErrEnded
	}
	return fmt.Errorf("conch at %s: %w", r.Path, err)
}

// Lines sends one request and calls each with every line of the answer, as it comes, until ctx ends.
func (r *Remote) Lines(ctx context.Context, path string, each func(line []byte)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://conch"+path, nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("conch at %s: %w", r.Path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, MaxRequest))
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
		return fmt.Errorf("conch at %s: %w", r.Path, err)
	}
	return ErrEnded
}
