package realtime

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"conch/coordinator/turn"
)

// link is one connection: a reader, a writer and a pinger that end together, with their reason in err.
type link struct {
	conn   *websocket.Conn
	hangUp func() error // without a goodbye
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	in   chan message // reader -> Run; two are enough to decode one while one is read
	out  chan []byte  // Run -> writer
	back chan []byte  // writer -> Run: frames to use again
	kick chan struct{}

	born  time.Time
	tools int // version of the tools the session was opened with

	dialect Dialect // of the server
}

// message is one decoded event; buf is its text, which audio points into, and goes back by recycle.
type message struct {
	ev    inbound
	audio []byte // base64
	sum   uint64 // of the text, when it has an event_id: a message that comes twice is looked at once
	err   error  // unreadable: counted
	buf   []byte
}

// refused is a handshake the server answered with a status or an error event.
type refused struct {
	status int
	code   string
	kind   string // the type of the error
	text   string
	page   bool          // a web page
	after  time.Duration // the server wants nothing before; zero: it did not say
}

func (r *refused) Error() string {
	switch {
	case r.status >= 300 && r.status < 400:
		return fmt.Sprintf("the server redirects (status %d): put the final address into URL, a key is not sent elsewhere", r.status)
	case r.status != 0:
		return fmt.Sprintf("the server refuses: status %d %s %.512q", r.status, r.code, r.text)
	}
	return fmt.Sprintf("the server refuses the session: %s %s", r.code, r.text)
}

// retryAfter reads the header of that name in seconds (RFC 9110 10.2.3); its other form, a date, needs a clock that is
// right, which a Pi without a network has not.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n <= 0 {
		return 0
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, retryMost)
}

// open dials, and returns when the session is described and acknowledged. It runs on a goroutine of its own.
func (cfg *Config) open(ctx context.Context, key string, specs []turn.ToolSpec) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	header := http.Header{}
	if key != "" {
		if h := cfg.Dialect.KeyHeader; h != "" {
			header.Set(h, key)
		} else {
			header.Set("Authorization", "Bearer "+key)
		}
	}
	transport := &http.Transport{DialContext: cfg.Dial, TLSClientConfig: &tls.Config{RootCAs: cfg.Roots}, TLSHandshakeTimeout: dialTimeout, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: false, DisableKeepAlives: true}
	// The library closes the body of a refused handshake and owns that of an accepted one.
	//nolint:bodyclose // see above
	conn, resp, err := websocket.Dial(ctx, cfg.endpoint(), &websocket.DialOptions{
		HTTPHeader: header,
		HTTPClient: &http.Client{
			Transport: transport,
			// A redirect would carry the key to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			var body []byte
			if resp.Body != nil {
				body, _ = io.ReadAll(io.LimitReader(resp.Body, 4<<10))
			}
			no := refusal(resp, body)
			no.text = redact(no.text, key)
			return nil, no
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(readLimit)
	d, err := cfg.greet(ctx, conn, specs)
	if err != nil {
		_ = conn.CloseNow()
		var no *refused
		if errors.As(err, &no) {
			no.text = redact(no.text, key)
		}
		return nil, err
	}
	l := startLink(conn)
	l.dialect = d
	return l, nil
}

// redact takes the key out of what a server says about it: such sentences go to the log.
func redact(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "(the key)")
}

// greet waits for the first event, which may tell the dialect, describes the session and waits for session.updated. Errors
// that do not name the description end the session only if it is not acknowledged soon: some servers refuse a field in
// words and take the rest.
func (cfg *Config) greet(ctx context.Context, conn *websocket.Conn, specs []turn.ToolSpec) (Dialect, error) {
	const id = "conch_session"
	d := cfg.Dialect
	described := false
	var said *refused
	for n := 0; ; n++ {
		kind, msg, err := conn.Read(ctx)
		if err != nil && said != nil && ctx.Err() != nil {
			return d, said
		}
		if no := closing(err); no != nil {
			return d, no
		}
		if err != nil {
			return d, fmt.Errorf("wait for the session: %w", err)
		}
		var ev inbound
		if kind != websocket.MessageText {
			err = errNotAnObject
		} else {
			_, err = decode(msg, &ev)
		}
		switch {
		case n > maxGarbage:
			return d, errors.New("wait for the session: the server talks of other things")
		case err != nil: // garbage; the loop is bounded
		case ev.Type == "error":
			e := ev.Error
			if e == nil {
				e = &wireError{}
			}
			no := &refused{code: e.Code, kind: e.Type, text: e.Message}
			if say, _ := no.words(); !described || e.EventID == id || say != turn.WordsServerError {
				return d, no
			}
			if said == nil {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, earlyError)
				defer cancel()
			}
			said = no
		case !described && slices.Contains(d.FirstEvents, ev.Type):
			d = d.guessed(msg)
			b, err := json.Marshal(cfg.session(&d, id, specs))
			if err == nil {
				err = conn.Write(ctx, websocket.MessageText, b)
			}
			if err != nil {
				return d, fmt.Errorf("describe the session: %w", err)
			}
			described = true
		case described && ev.Type == "session.updated":
			return d, nil
		}
	}
}

func startLink(conn *websocket.Conn) *link {
	l := &link{
		conn: conn, hangUp: conn.CloseNow, born: time.Now(),
		in: make(chan message, 2), out: make(chan []byte, 4), back: make(chan []byte, 16), kick: make(chan struct{}, 1),
	}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	for _, f := range []func() error{l.read, l.write, l.ping} {
		l.wg.Go(func() { l.cancel(f()) })
	}
	return l
}

// read hands every message to Run, in order, and decodes ahead of it.
func (l *link) read() error {
	for {
		kind, r, err := l.conn.Reader(l.ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		var m message
		m.buf, err = readAll(r, getBuf())
		switch {
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case kind != websocket.MessageText:
			m.err = errNotAnObject
		default:
			m.audio, m.err = decode(m.buf, &m.ev)
			if m.ev.EventID != "" {
				m.sum = checksum(m.buf)
			}
		}
		select {
		case l.in <- m:
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

func (l *link) write() error {
	for {
		select {
		case f := <-l.out:
			ctx, cancel := context.WithTimeout(l.ctx, writeTimeout)
			err := l.conn.Write(ctx, websocket.MessageText, f)
			cancel()
			if err != nil {
				return fmt.Errorf("write: %w", err)
			}
			select {
			case l.back <- f:
			default:
			}
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

// ping notices a line that went dead without a word (no FIN): every pingEvery, and at once when a turn starts to wait.
func (l *link) ping() error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.kick:
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
		ctx, cancel := context.WithTimeout(l.ctx, pingTimeout)
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("no answer to a ping: %w", err)
		}
	}
}

// expect asks for a sign of life now: somebody waits for an answer.
func (l *link) expect() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// close says goodbye when the peer can still hear it, within closePatience, and waits for the goroutines.
func (l *link) close() {
	if l.ctx.Err() == nil {
		t := time.AfterFunc(closePatience, func() { _ = l.hangUp() })
		_ = l.conn.Close(websocket.StatusNormalClosure, "")
		t.Stop()
	}
	l.cancel(context.Canceled)
	_ = l.hangUp()
	l.wg.Wait()
}
