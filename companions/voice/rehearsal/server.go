package rehearsal

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"conch/companions/voice"
	"conch/companions/voice/realtime"
)

// Rate is the sample rate on the wire and inside, in Hz.
const Rate = 24000

// Bounds. Protocol limits first, our own after.
const (
	maxAppend    = 15 << 20         // bytes of base64 in one input_audio_buffer.append
	maxFrame     = 16 << 20         // bytes of one WebSocket message
	minCommit    = Rate / 10        // samples: 100 ms, or the commit is refused
	sessionLife  = 60 * time.Minute // the service ends a session after that
	maxMetadata  = 16               // pairs, 64 and 512 characters
	maxInput     = 5 * 60 * Rate    // samples in the input buffer; an append beyond it is refused
	maxItems     = 512              // entries of a conversation; the oldest are forgotten beyond it
	maxKept      = 3 * 60 * Rate    // samples of sound kept with their entries (conversation.item.retrieve)
	maxResponses = 8                // responses at work at once, out of band included
	maxOutbox    = 64 << 20         // bytes not yet written; beyond it the session ends
	fullOutbox   = 256 << 10        // bytes not yet written, above which answers wait
	writeTimeout = 30 * time.Second // for one frame to a client that does not read
)

// Log events. What people say, and what is answered, is for debugging only: an appliance keeps no diary.
const (
	logSessionBegin = "rehearsal.session_begin"
	logSessionEnd   = "rehearsal.session_end"
	logRefused      = "rehearsal.refused"
	logViolation    = "rehearsal.violation"
	logHeard        = "rehearsal.heard"
	logAnswer       = "rehearsal.answer"
	logWords        = "rehearsal.words"
	logTrouble      = "rehearsal.trouble"
)

// Options of a server. The zero value works: it hears and speaks with what is installed.
type Options struct {
	Seed        uint64           // of ids, small talk and faults
	Recognizer  Recognizer       // nil: NewRecognizer
	Synthesizer Synthesizer      // nil: NewSynthesizer
	Brain       Brain            // nil: Rules
	Faults      Faults           // what goes wrong; SetFaults changes it
	Pace        float64          // sound is sent at Pace times real time; 0: 4; negative: as fast as possible
	Key         string           // the only key accepted; empty: any but the empty one
	Language    string           // of those who speak to it, ISO 639-1; "": English
	Private     bool             // no web page is let in, not even one of this machine
	MaxSessions int              // at once; 0: 16
	Life        time.Duration    // of a session; 0: 60 minutes, like the service
	Log         *slog.Logger     // nil: silent
	Discreet    bool             // nothing of what is said goes to the log
	Now         func() time.Time // what the clock on the wall says; nil: time.Now
}

// Server is a Realtime server. It is an http.Handler for /v1/realtime.
type Server struct {
	o Options // fixed after New

	mu       sync.Mutex
	faults   Faults
	sessions map[*session]struct{}
	born     uint64 // sessions so far
	closed   bool
	wg       sync.WaitGroup // one per ServeHTTP beyond the handshake

	listener net.Listener // set by Listen
}

// New makes a server; nothing runs before a client comes.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Language = cmp.Or(o.Language, english)
	if o.Recognizer == nil {
		o.Recognizer = NewRecognizer()
	}
	if o.Synthesizer == nil {
		o.Synthesizer = NewSynthesizer()
	}
	if o.Brain == nil {
		o.Brain = Rules{}
	}
	o.Pace = cmp.Or(o.Pace, 4)
	o.MaxSessions = cmp.Or(o.MaxSessions, 16)
	o.Life = cmp.Or(o.Life, sessionLife)
	return &Server{o: o, faults: o.Faults, sessions: map[*session]struct{}{}}
}

// SetFaults changes what goes wrong, for live sessions too.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	s.faults = f
	s.mu.Unlock()
}

// Faults tells what goes wrong now.
func (s *Server) Faults() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// Sessions counts the live ones.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// About says in one line what the server hears and speaks with.
func (s *Server) About() string {
	return fmt.Sprintf("hears with %s, speaks with %s", s.o.Recognizer, s.o.Synthesizer)
}

// Listen opens the port and returns the WebSocket address to dial. Only a loopback address is accepted: nothing here
// protects a conversation from a network. Run serves it.
func (s *Server) Listen(addr string) (url string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("rehearsal: address %q: must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("rehearsal: address %q: not loopback (the rehearsal server has no protection; use 127.0.0.1:PORT)", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("rehearsal: listen on %s: %w", addr, err)
	}
	s.listener = l
	return "ws://" + l.Addr().String() + "/v1/realtime", nil
}

// Run serves the port opened by Listen until ctx ends, then ends every session and waits for it.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("rehearsal: Run before Listen")
	}
	return s.Serve(ctx, s.listener)
}

// Serve is Run on a listener of the caller's, which it closes.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s, ConnContext: withGate, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(ctx, func() {
		s.Close()
		h.Close()
	})
	defer stop()
	err := h.Serve(gates{l})
	s.Close()
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("rehearsal: serve %s: %w", l.Addr(), err)
}

// Close ends all sessions, refuses new ones, and returns when no goroutine of the server is left. Harmless twice.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for x := range s.sessions {
		x.cancel(errShutdown)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

var errShutdown = errors.New("the server is shutting down")

// ServeHTTP is one session, from handshake to end.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := s.Faults()
	switch status, code, text := s.admit(r, f); {
	case status != 0:
		s.o.Log.Warn(logRefused, "status", status, "code", code, "from", r.RemoteAddr)
		refuse(w, status, code, text)
		return
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		refuse(w, http.StatusUpgradeRequired, "upgrade_required", "This address speaks WebSocket: connect with ws:// or wss://.")
		return
	}
	x, err := s.begin(r, f)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "server_busy", err.Error())
		return
	}
	defer s.end(x)
	// Browsers (and the browser flavour of the official client) bring their key as a subprotocol and expect an echo.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{"realtime"}, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		s.o.Log.Warn(logRefused, "err", err, "from", r.RemoteAddr)
		return
	}
	conn.SetReadLimit(maxFrame)
	x.gate, _ = r.Context().Value(gateKey{}).(*gate)
	x.run(conn)
}

// admit decides about a request before the upgrade; status 0 lets it pass.
func (s *Server) admit(r *http.Request, f Faults) (status int, code, text string) {
	q := r.URL.Query()
	switch key := requestKey(r); {
	case r.URL.Path != "/v1/realtime":
		return http.StatusNotFound, "not_found", "Unknown address " + r.URL.Path + ": the Realtime server is at /v1/realtime."
	case !literal(r.Host):
		return http.StatusForbidden, "forbidden_host", "This server is called by its address or as localhost, by no other name."
	case !s.originAllowed(r):
		return http.StatusForbidden, "forbidden_origin", "Web pages are not let in."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "method_not_allowed", "Use GET with a WebSocket upgrade."
	case key == "":
		return http.StatusUnauthorized, "missing_api_key", "No key: send it as Authorization: Bearer KEY." + anyKey(s.o.Key)
	case f.RefuseKey, s.o.Key != "" && subtle.ConstantTimeCompare([]byte(key), []byte(s.o.Key)) != 1:
		return http.StatusUnauthorized, "invalid_api_key", "The key is not accepted."
	case f.RateLimit:
		return http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests: try again later."
	case q.Get("intent") != "" || q.Get("call_id") != "":
		return http.StatusBadRequest, "invalid_value", "The rehearsal server holds conversations only: connect with model=NAME, without intent and call_id."
	case len(q.Get("model")) > 256:
		return http.StatusBadRequest, "invalid_value", "The model's name is too long."
	}
	return 0, "", ""
}

// literal says whether a request came by an address, or as localhost: a name of somebody's domain may lead here, too, and then a web page
// of that domain is within its origin (DNS rebinding).
func literal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

// originAllowed says whether a request is no web page's; a developer's page of this machine may come where it is invited.
func (s *Server) originAllowed(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || s.o.Private {
			return false
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && !ip.IsLoopback() {
			return false
		}
	}
	return true
}

// anyKey says that the key does not matter, where it does not.
func anyKey(key string) string {
	if key == "" {
		return " The rehearsal server takes any."
	}
	return ""
}

func requestKey(r *http.Request) string {
	if k, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(k)
	}
	if k := r.Header.Get("Api-Key"); k != "" {
		return k
	}
	for _, h := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(h, ",") {
			if k, ok := strings.CutPrefix(strings.TrimSpace(p), "openai-insecure-api-key."); ok {
				return k
			}
		}
	}
	return ""
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	kind := "invalid_request_error"
	if status == http.StatusTooManyRequests {
		kind = "requests"
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(m{"error": m{"message": text, "type": kind, "param": nil, "code": code}}))
}

// begin registers a session, bounded.
func (s *Server) begin(r *http.Request, f Faults) (*session, error) {
	model := cmp.Or(r.URL.Query().Get("model"), "rehearsal")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errShutdown
	}
	if len(s.sessions) >= s.o.MaxSessions {
		return nil, fmt.Errorf("already %d sessions, which is the limit", len(s.sessions))
	}
	s.born++
	x := newSession(s, model, rand.New(rand.NewPCG(s.o.Seed, s.born)))
	if f.Expire > 0 {
		x.life = f.Expire
	}
	s.sessions[x] = struct{}{}
	s.wg.Add(1)
	return x, nil
}

func (s *Server) end(x *session) {
	x.cancel(nil)
	s.mu.Lock()
	delete(s.sessions, x)
	s.mu.Unlock()
	s.wg.Done()
}

// Kind is this voice, as the device knows it: a server of its own for each device, and the realtime voice as its client.
func Kind(o Options) voice.Kind {
	return kind(func(s voice.Settings) *Server {
		own := o
		own.Log, own.Language = s.Log, s.Mouth
		return New(own.private())
	})
}

// private is a server for its own process: nobody else on this machine converses with it.
func (o Options) private() Options {
	o.Private, o.Key = true, cmp.Or(o.Key, crand.Text())
	return o
}

// Kind is this voice with that server, which nobody runs yet.
func (s *Server) Kind() voice.Kind { return kind(func(voice.Settings) *Server { return s }) }

func kind(server func(voice.Settings) *Server) voice.Kind {
	return voice.Kind{
		Name: "rehearsal", Local: true, Names: slices.Sorted(maps.Keys(voices)),
		Check: func(_ context.Context, x voice.Examined) (out voice.Findings) {
			out.Note("", "rehearsal ("+x.Why+")", "for a real voice: "+x.GiveKey)
			return out
		},
		New: func(s voice.Settings, of []voice.Companion) (voice.Made, error) {
			x := server(s)
			made := voice.Made{Called: "rehearsal, on this machine", More: x.About(), Run: x.Run}
			address, err := x.Listen("127.0.0.1:0")
			if err != nil {
				return made, err
			}
			s.URL, s.Own, s.Roots, s.Hold = address, map[string]string{"dialect": "ga"}, nil, nil
			s.Key = func() string { return cmp.Or(x.o.Key, "rehearsal") }
			confs := make([]realtime.Config, len(of))
			for i, c := range of {
				c.Model, c.Voice = "rehearsal", Voice(c.Voice)
				if confs[i], err = realtime.Configure(s, c); err != nil {
					return made, err
				}
				confs[i].Assumed = realtime.Assumed{}
			}
			made.Sessions, err = realtime.Sessions(confs)
			return made, err
		},
	}
}
