package realtime

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/voice/kit"
	"github.com/coder/websocket"
)

// link is one connection: a reader, a writer and a watcher that end together, with their reason in ctx.
type link struct {
	conn   *websocket.Conn
	line   *line
	hangUp func() error // without a goodbye
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	in   chan message // reader -> Run; two are enough to decode one while one is read
	out  chan []byte  // Run -> writer
	back chan []byte  // writer -> Run: frames to use again
	kick chan bool    // to look at the line now; true: and ask it for a sign of life

	born    time.Time
	wished  kit.Wishes // that the session knows of
	dialect Dialect    // of the server
	omitted omitted

	// atomic
	asked   atomic.Int64 // when an answer was asked for last, since the line was born
	said    atomic.Int64 // when something of a message came last; a pong is none
	clogged atomic.Int64 // since when the writer has been at one frame; 0: it is at none
	pongs   atomic.Bool  // it has answered a ping
}

// message is one decoded event; buf is its text, which audio points into, and goes back by recycle.
type message struct {
	ev    inbound
	audio []byte // base64
	sum   uint64 // of the text, when it has an event_id: a message that comes twice is looked at once
	err   error  // unreadable: counted
	buf   []byte
}

// open dials, and returns when the session is described and acknowledged. It runs on a goroutine of its own.
func (cfg *Config) open(ctx context.Context, key string, wished kit.Wishes, without parts, silence time.Duration) (*link, error) {
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
	var under atomic.Pointer[line]
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := cfg.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			l := newLine(c)
			under.Store(l)
			return l, nil
		},
		// A server that takes the connection and then says nothing is left like one that is not there.
		TLSClientConfig: &tls.Config{RootCAs: cfg.Roots}, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: dialTimeout,
		MaxResponseHeaderBytes: maxHeaders,
		Proxy:                  http.ProxyFromEnvironment, ForceAttemptHTTP2: false, DisableKeepAlives: true,
	}
	l := newLink()
	// The library closes the body of a refused handshake and owns that of an accepted one.
	//nolint:bodyclose // see above
	conn, resp, err := websocket.Dial(ctx, cfg.endpoint(), &websocket.DialOptions{
		HTTPHeader: header,
		HTTPClient: &http.Client{
			Transport: transport,
			// A redirect would carry the key to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		OnPingReceived: l.mayPong,
		OnPongReceived: func(context.Context, []byte) { l.pongs.Store(true) },
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			var body []byte
			if resp.Body != nil {
				body, _ = io.ReadAll(io.LimitReader(resp.Body, 4<<10))
			}
			no := &refused{RefusalError: *kit.ReadRefusal(resp, body)}
			no.Text = kit.Redact(no.Text, key)
			return nil, no
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(readLimit)
	l.start(conn, under.Load())
	if err := cfg.greet(ctx, l, wished, without, silence); err != nil {
		l.cancel(err)
		l.close()
		var no *refused
		if errors.As(err, &no) {
			no.Text = kit.Redact(no.Text, key)
		}
		return nil, err
	}
	l.omitted.why = kit.Redact(l.omitted.why, key)
	return l, nil
}

func newLink() *link {
	return &link{born: time.Now(), in: make(chan message, 2), out: make(chan []byte, 4), back: make(chan []byte, 16), kick: make(chan bool, 1)}
}

func (l *link) start(conn *websocket.Conn, under *line) {
	l.conn, l.line, l.hangUp = conn, under, conn.CloseNow
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	for _, f := range []func() error{l.read, l.write, l.watch} {
		l.wg.Go(func() { l.cancel(f()) })
	}
}

// read hands every message to Run, in order, and decodes ahead of it.
func (l *link) read() error {
	for {
		kind, r, err := l.conn.Reader(l.ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		var m message
		m.buf, err = readAll(saying{r, l}, getBuf())
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

// saying is a message that comes.
type saying struct {
	io.Reader
	l *link
}

func (s saying) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.l.said.Store(int64(s.l.age()))
	return n, err
}

func (l *link) write() error {
	for {
		select {
		case f := <-l.out:
			l.clogged.Store(int64(l.age()) | 1)
			ctx, cancel := context.WithTimeout(l.ctx, stuckAfter)
			err := l.conn.Write(ctx, websocket.MessageText, f)
			cancel()
			l.clogged.Store(0)
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

// age is the clock of what is kept about the line.
func (l *link) age() time.Duration { return time.Since(l.line.born) }

// watch looks after the line, and asks it for a sign of life where it gives none (line.go).
func (l *link) watch() error {
	var f liveness
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ask := false; ; {
		now := l.age()
		v := l.line.vitals(now)
		v.pongs, v.owed = l.pongs.Load(), l.unanswered() > 0
		ping, next, dead := f.look(now, v, ask)
		if dead != nil {
			return dead
		}
		if ping {
			l.wg.Go(func() {
				ctx, cancel := context.WithTimeout(l.ctx, pingWait)
				defer cancel()
				_ = l.conn.Ping(ctx) // what it proves is seen on the line
			})
		}
		timer.Reset(next)
		select {
		case <-timer.C:
			ask = false
		case ask = <-l.kick:
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

// mayPong says whether a ping is answered: not while the writer cannot get rid of a frame. The pong would wait for it, and
// with it everything that is read.
func (l *link) mayPong(context.Context, []byte) bool {
	since := time.Duration(l.clogged.Load())
	return since == 0 || l.age()-since < time.Second
}

// expect asks for a sign of life now: the world has changed.
func (l *link) expect() { l.look(true) }

// asks notes that an answer was asked for. Run calls it.
func (l *link) asks() {
	if l.unanswered() == 0 {
		l.asked.Store(int64(l.age()))
	}
	l.look(false)
}

func (l *link) look(ask bool) {
	select {
	case l.kick <- ask:
	default: // it looks anyway
	}
}

// unanswered tells for how long nothing but pongs has come since an answer was asked for; zero: something has, or none was.
func (l *link) unanswered() time.Duration {
	asked := time.Duration(l.asked.Load())
	if asked == 0 || time.Duration(l.said.Load()) > asked {
		return 0
	}
	return max(1, l.age()-asked)
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

// keepBuf is the largest message buffer that is used again; 100 ms of speech is 6.4 kB of text.
const keepBuf = 64 << 10

var bufs = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

func getBuf() []byte { return (*bufs.Get().(*[]byte))[:0] }

func putBuf(b []byte) {
	if cap(b) <= keepBuf {
		bufs.Put(&b)
	}
}

// readAll reads r into b and grows it only as bytes arrive, never by what a header promises.
func readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

var seed = maphash.MakeSeed()

func checksum(b []byte) uint64 { return maphash.Bytes(seed, b) }
