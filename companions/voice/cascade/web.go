package cascade

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// Bounds of what a server may do to us; our choices.
const (
	connectLimit = 5 * time.Second // for each of: name and connection, TLS
	listLimit    = 5 * time.Second // for the list of models
	mostReply    = 4 << 20         // bytes of an answer in text
	mostSound    = 64 << 20        // bytes of a piece's sound: 20 min
	mostFault    = 16 << 10
	mostHeaders  = 64 << 10
)

var errRedirect = &unusable{turn.WordsElsewhere, "it sends us elsewhere: put the final address into the configuration, a key is not sent elsewhere"}

// Pool is the way to all servers of one device, over TCP.
func Pool(roots *x509.CertPool) *http.Client { return pool(roots, nil) }

// PoolBy is the same, by other ways of the machine.
func PoolBy(roots *x509.CertPool, dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	return pool(roots, dial)
}

// pool is the way to all servers of one device: connections stay open between turns, and are shared by its companions.
func pool(roots *x509.CertPool, dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: connectLimit, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second,
			Interval: 5 * time.Second, Count: 3}}).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: connectLimit,
			TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 4, IdleConnTimeout: 10 * time.Minute, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: mostHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
}

// web is the way to one server.
type web struct {
	target
	client *http.Client
	secret key
	turns  chan struct{} // of one, for a server that serves one request at a time; nil: it serves more

	used atomic.Int64 // when it last answered, Unix nanoseconds; 0: never
}

func newWeb(t target, client *http.Client, secret key) *web {
	w := &web{target: t, client: client, secret: secret}
	if t.profile.Single {
		w.turns = make(chan struct{}, 1)
	}
	return w
}

// turnKey is of the turn that a request belongs to, if it does to one: what a server has in its log can be found by it.
type turnKey struct{}

// Do sends a request when the server has room for it. It is what go-openai calls (HTTPDoer). A status that is no success, a web page
// and what ends too early are errors here, in one way for all stages.
func (w *web) Do(q *http.Request) (*http.Response, error) {
	release := func() {}
	if w.turns != nil {
		select {
		case w.turns <- struct{}{}:
			release = func() { <-w.turns }
		case <-q.Context().Done():
			return nil, context.Cause(q.Context())
		}
	}
	q.Header.Set("User-Agent", "conch")
	if id, ok := q.Context().Value(turnKey{}).(turn.ID); ok {
		q.Header.Set("X-Client-Request-Id", string(id)) // OpenAI keeps it with its own name of the request, and others pass it by
	}
	resp, err := w.client.Do(q)
	if err == nil {
		err = w.judge(resp)
	}
	if err != nil {
		release()
		if cause := context.Cause(q.Context()); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	w.used.Store(time.Now().UnixNano())
	resp.Body = &body{ReadCloser: resp.Body, left: mostSound, release: release}
	return resp, nil
}

// judge makes an error of an answer that is none.
func (w *web) judge(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && kind != "text/html" {
		return nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostFault)) // what came of it
	no := kit.ReadRefusal(resp, text)
	no.Text = kit.Redact(no.Text, w.key())
	no.Page = no.Page || kind == "text/html"
	return no
}

// body gives the server free when it is closed, and is bounded.
type body struct {
	io.ReadCloser
	left    int
	release func()
	shut    atomic.Bool
}

var errEndless = errors.New("it does not end")

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEndless
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if b.shut.CompareAndSwap(false, true) {
		b.release()
	}
	return err
}

// post sends JSON, or what was written as something else.
func (w *web) post(ctx context.Context, path, kind string, content []byte) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String()+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", kind)
	w.sign(q)
	return w.Do(q)
}

func (w *web) key() string { return w.secret.now() }

func (w *web) sign(q *http.Request) {
	if key := w.key(); key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
}

// listed is what a server's list of models shows.
type listed struct {
	models []string
	owners []string
	rooms  map[string]int // tokens of a model's context, where the list has it
	server string         // as it calls itself
	none   bool           // it has no list
	took   time.Duration
}

// list asks for the list of models: a connection that is open afterwards, and a key that was tried.
func (w *web) list(ctx context.Context) (l listed, err error) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url.String()+w.profile.List, nil)
	if err != nil {
		return l, err
	}
	w.sign(q)
	began := time.Now()
	resp, err := w.Do(q)
	l.took = time.Since(began)
	var no *kit.RefusalError
	if errors.As(err, &no) && !no.Page && (no.Status == http.StatusNotFound || no.Status == http.StatusMethodNotAllowed ||
		no.Status == http.StatusNotImplemented) {
		l.none = true // it is there, and has no list
		return l, nil
	}
	if err != nil {
		return l, w.failed("its list of models", err)
	}
	defer resp.Body.Close()
	l.server = resp.Header.Get("Server")
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostReply))
	if err != nil {
		return l, w.failed("its list of models", err)
	}
	var said struct {
		Data []struct {
			ID     string          `json:"id"`
			Owner  string          `json:"owned_by"`
			Meta   json.RawMessage `json:"meta"`           // of llama.cpp
			Length json.RawMessage `json:"max_model_len"`  // of vLLM
			Room   json.RawMessage `json:"context_length"` // of others
		} `json:"data"`
	}
	if json.Unmarshal(text, &said) != nil {
		l.none = true
	}
	for _, m := range said.Data {
		l.models, l.owners = append(l.models, m.ID), append(l.owners, strings.ToLower(m.Owner))
		if n := roomOf(m.Meta, m.Length, m.Room); n > 0 {
			if l.rooms == nil {
				l.rooms = map[string]int{}
			}
			l.rooms[m.ID] = n
		}
	}
	return l, nil
}

// roomOf is the context of a model in tokens, in the shapes that lists have for it; 0: none of them.
func roomOf(meta json.RawMessage, numbers ...json.RawMessage) int {
	var llama struct {
		Context float64 `json:"n_ctx"`
	}
	if json.Unmarshal(meta, &llama) == nil && llama.Context >= 1 {
		return int(min(llama.Context, 1<<30))
	}
	for _, raw := range numbers {
		var n float64
		if json.Unmarshal(raw, &n) == nil && n >= 1 {
			return int(min(n, 1<<30))
		}
	}
	return 0
}

// failed says at which server, and of what, an error is; of a key that is refused, which.
func (w *web) failed(of string, err error) error {
	var no *kit.RefusalError
	if errors.As(err, &no) && no.Status == http.StatusUnauthorized && w.key() == "" {
		return fmt.Errorf("cascade: %s: %s: %w", w.url.Host, of, &keyless{no, w.url.Host, w.secret})
	}
	if errors.As(err, &no) && no.Status == http.StatusUnauthorized {
		return fmt.Errorf("cascade: %s: %s: %w (%v)", w.url.Host, of, err, w.secret)
	}
	return fmt.Errorf("cascade: %s: %s: %w", w.url.Host, of, err)
}

// Errors of an answer that came and cannot be used. They are told as what they are.
type unusable struct {
	say  turn.Words
	text string
}

func (u *unusable) Error() string             { return u.text }
func (u *unusable) Words() (turn.Words, bool) { return u.say, false }

// cutOffError is an answer that ended without saying so.
type cutOffError struct{}

func (cutOffError) Error() string             { return "the answer broke off" }
func (cutOffError) Words() (turn.Words, bool) { return turn.WordsNoAnswer, false }

// slow is a deadline of ours that has passed.
type slow struct {
	what  string
	limit time.Duration
	begun bool // something had come
}

func (s *slow) Error() string {
	if s.begun {
		return fmt.Sprintf("nothing more of %s within %v", s.what, s.limit)
	}
	return fmt.Sprintf("nothing of %s within %v", s.what, s.limit)
}
func (s *slow) Words() (turn.Words, bool) { return turn.WordsNoAnswer, false }

// patience ends a request of which nothing comes for too long: first until the first byte, then between two of them.
type patience struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	begun  atomic.Bool
}

// patient is a context that ends with a *slow; over has to be called.
func patient(ctx context.Context, what string, first, idle time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, idle: idle}
	p.timer = time.AfterFunc(first, func() {
		if p.begun.Load() {
			cancel(&slow{what, idle, true})
		} else {
			cancel(&slow{what, first, false})
		}
	})
	return ctx, p
}

// progress: something came.
func (p *patience) progress() {
	p.begun.Store(true)
	p.timer.Reset(p.idle)
}

func (p *patience) over() {
	p.timer.Stop()
	p.cancel(context.Canceled)
}

// bought says that a request is to be paid for, however it ended: a server has taken it. One that a press or a deadline ended is done
// there all the same, for all that is known here.
func bought(err error) bool {
	var no *kit.RefusalError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return true
	case errors.As(err, &no), errors.Is(err, errRedirect):
		return false
	}
	say, _ := kit.WordsOf(err, time.Now())
	return !say.Unreached() && say != turn.WordsNotTrusted && say != turn.WordsClockWrong
}

// tries are the attempts at one request so far, and how long was waited between them.
type tries struct {
	n      int
	waited time.Duration
}

// again says whether a request that failed is worth another attempt, and after how long, and counts that.
func (t *tries) again(err error) (wait time.Duration, ok bool) {
	if wait, ok = again(err, t.n); !ok || t.waited+wait > mostWaited {
		return 0, false
	}
	t.n++
	t.waited += wait
	return wait, true
}

// again is the same of the attempt of that number, from 0.
func again(err error, try int) (wait time.Duration, ok bool) {
	var no *kit.RefusalError
	var late *slow
	var bad *unusable
	if try >= len(waits) || errors.As(err, &late) || errors.Is(err, errRedirect) || errors.Is(err, context.Canceled) {
		return 0, false
	}
	if errors.As(err, &bad) || errors.Is(err, cutOffError{}) {
		return 0, try == 0
	}
	if errors.As(err, &no) {
		busy := no.Status == http.StatusServiceUnavailable || no.Status == http.StatusTooManyRequests || no.Status == http.StatusConflict
		if !busy && (no.Status < 500 || try > 0) || no.After > maxAfter {
			return 0, false
		}
		if say, _ := no.Words(); say == turn.WordsNoCredit {
			return 0, false
		}
		return max(waits[try], no.After), true
	}
	say, _ := kit.WordsOf(err, time.Now())
	return waits[try], say.Unreached() && try == 0
}

// waits are between attempts, as long as nothing of an answer was heard; what a server wants longer than maxAfter is an answer.
var waits = [...]time.Duration{150 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond, 1200 * time.Millisecond, 2400 * time.Millisecond}

const (
	maxAfter   = 3 * time.Second
	mostWaited = 5 * time.Second // for one request, all together
)
