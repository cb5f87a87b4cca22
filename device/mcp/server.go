package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"conch/companions/skills"
	"conch/device/config"
)

// legacy is the protocol that every server speaks today. One that refuses it is spoken to in the newest the next time.
const legacy = "2025-11-25"

// server is one of them; its goroutine is Servers.Run's.
type server struct {
	cfg   config.MCP
	times times
	log   *slog.Logger
	lines allowance // of its standard error
	tools func([]skills.Tool)

	changed chan struct{} // 1: it says that its tools are others
	doubted chan struct{} // 1: a call came to nothing, and it is asked whether it lives
	newest  bool          // it refused legacy

	mu      sync.Mutex // guards the rest
	state   State
	hide    *strings.Replacer // what the configuration says to it alone
	session *session          // nil: it is not there
	known   chan struct{}     // nil: it is not in doubt; else closed once it is known whether it lives, and another is there if not
}

// session is what calls speak to, from one start of the server to the next.
type session struct {
	*mcp.ClientSession
	hung chan struct{} // closed when it is ended because it answered nothing
}

// Errors of a server that is started again at once.
const (
	errHung   = plain("a call came to nothing, and it answered nothing after that")
	errForgot = plain("it refused a call, and whatever came after that: it has forgotten the session")
)

// refusal is a call that a server answered with a status of HTTP instead of a result.
type refusal struct{ error }

// codeRejected is the library's own error of a status; the words of the server are not in it.
const codeRejected = -32005

// status is where a request of HTTP puts the status of its answer.
type status struct{}

// run keeps it there until ctx ends.
func (s *server) run(ctx context.Context) {
	wait := s.times.retryMin
	for {
		err := s.serve(ctx)
		hung := (errors.Is(err, errHung) || errors.Is(err, errForgot)) && ctx.Err() == nil // it is started at once, and its tools are not withdrawn for that
		if err = s.hidden(err); !hung {
			s.meet(nil)
			s.tools(nil)
		}
		if ctx.Err() != nil {
			return
		}
		if hung {
			s.note(func(st *State) { st.Is, st.Trouble, st.Lost = Lost, err.Error(), st.Lost+1 })
			s.log.Warn(logLost, "err", err, "again_s", 0)
			continue
		}
		s.note(func(st *State) {
			if st.Is == Ready && time.Since(st.Since) > s.times.steady {
				wait = s.times.retryMin
			}
			st.Is, st.Trouble, st.Tools, st.Lost, st.Again = Lost, clip(err.Error(), 300), nil, st.Lost+1, time.Now().Add(wait)
		})
		s.log.Warn(logLost, "err", err, "again_s", wait.Seconds())
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		wait = min(2*wait, s.times.retryMax)
	}
}

// way is how a server is spoken to.
type way struct {
	mcp.Transport
	why  func(error) error // in words, what is wrong where the connection says this
	stop func()            // ends what was started, and waits for that
	web  *web              // nil: a command
}

// plain is an error in words that need no others.
type plain string

func (p plain) Error() string { return string(p) }

// serve starts it once, and returns why it is lost.
func (s *server) serve(ctx context.Context) error {
	s.note(func(st *State) { st.Again = time.Time{} })
	to, err := s.way()
	if err != nil {
		return err
	}
	defer to.stop()
	by, err := s.connect(ctx, to)
	if err != nil {
		return err
	}
	defer func() { _ = by.Close() }()
	session := &session{by, make(chan struct{})}
	tools, err := s.list(ctx, session, nil)
	lost := make(chan error, 1)
	go func() { lost <- session.Wait() }() // ends with the session
	changed, pace := s.changed, pace{least: s.times.between, most: s.times.steady}
	lostBy := to.why
	if err == nil && to.web != nil {
		lostBy = func(err error) error {
			if to.web.refused.Load() {
				return errForgot
			}
			return to.why(err)
		}
	}
	rest := time.NewTimer(pace.least)
	defer rest.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return lostBy(cmpErr(err, io.EOF))
		case <-rest.C:
			changed = s.changed
			continue
		case <-changed:
			changed = nil
			rest.Reset(pace.rest(time.Now()))
		case <-s.doubted:
			if err = s.lives(ctx, session); errors.Is(err, errHung) || errors.Is(err, errForgot) {
				return err
			}
			continue
		}
		tools, err = s.list(ctx, session, tools)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return lostBy(err)
}

func cmpErr(err, or error) error {
	if err == nil {
		return or
	}
	return err
}

// connect shakes hands.
func (s *server) connect(ctx context.Context, to way) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "conch", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // neither a model of ours nor a person of ours is theirs to ask, nor files
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			poke(s.changed)
		},
	})
	starting, over := context.WithTimeout(ctx, s.times.start)
	defer over()
	o := &mcp.ClientSessionOptions{ProtocolVersion: legacy}
	if s.newest {
		o = nil
	}
	session, err := client.Connect(starting, to.Transport, o)
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) {
		s.newest = !s.newest
	}
	switch {
	case err == nil:
		return session, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case starting.Err() != nil:
		err = plain(fmt.Sprintf("it did not answer within %g s of its start", s.times.start.Seconds()))
	}
	return nil, to.why(err)
}

// way is the way to it, and what the configuration says to it alone is hidden from then on.
func (s *server) way() (to way, err error) {
	var secret map[string]string
	if s.cfg.URL != "" {
		secret, err = s.cfg.Headers()
	} else {
		secret, err = s.cfg.Environment()
	}
	if err != nil {
		return way{}, err
	}
	hide := hiding(secret)
	s.mu.Lock()
	s.hide = hide
	s.mu.Unlock()
	if s.cfg.URL != "" {
		at, err := url.Parse(s.cfg.URL)
		if err != nil {
			return way{}, err
		}
		by := http.DefaultTransport.(*http.Transport).Clone()
		w := &web{by: by, to: at, headers: secret}
		return way{&mcp.StreamableClientTransport{
			Endpoint: s.cfg.URL, MaxRetries: 2, MaxEventSize: maxMessage, HTTPClient: &http.Client{Transport: w},
		}, w.why, by.CloseIdleConnections, w}, nil
	}
	c, err := start(s.cfg.Command, secret, hide, s.log, &s.lines)
	if err != nil {
		return way{}, err
	}
	return way{&mcp.IOTransport{Reader: c, Writer: c, MaxLineLength: 2 * maxMessage}, c.why, func() {
		_ = c.Close()
		c.over(context.Background())
	}, nil}, nil
}

// hiding puts the name of each of these values into the value's place; of those that are long enough not to be words of others.
func hiding(values map[string]string) *strings.Replacer {
	var pairs []string
	longer := func(a, b string) int { return cmp.Or(len(values[b])-len(values[a]), strings.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(values), longer) { // of two that begin alike, the longer first
		if v := values[name]; len(v) >= 4 {
			pairs = append(pairs, v, "["+name+"]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// hidden is an error without what the configuration says to the server alone.
func (s *server) hidden(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hide == nil || err == nil {
		return err
	}
	return errors.New(s.hide.Replace(err.Error()))
}

// list asks for its tools, and offers them where they are others than it had.
func (s *server) list(ctx context.Context, session *session, had []skills.Tool) ([]skills.Tool, error) {
	asking, over := context.WithTimeout(ctx, s.times.list)
	defer over()
	began := time.Now()
	tools := []skills.Tool{}
	var names []string
	missing := map[string]bool{}
	for _, name := range s.cfg.Allow {
		missing[name] = true
	}
	met := map[string]bool{}
	for page := (&mcp.ListToolsParams{}); page != nil; {
		res, err := session.ListTools(asking, page)
		if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) {
			return nil, plain("it does not say which tools it has: " + refused.Message)
		}
		if asking.Err() != nil {
			return nil, plain(fmt.Sprintf("it does not say within %g s which tools it has", s.times.list.Seconds()))
		}
		if err != nil {
			return nil, err
		}
		before := len(met)
		for _, t := range res.Tools {
			if t == nil || met[t.Name] || len(met) == maxListed {
				continue
			}
			met[t.Name] = true
			delete(missing, t.Name)
			if s.allowed(t.Name) {
				x := s.toolOf(t)
				tools, names = append(tools, x), append(names, x.Name)
			}
		}
		switch page = (&mcp.ListToolsParams{Cursor: res.NextCursor}); {
		case res.NextCursor == "":
			page = nil
		case len(met) == before || len(met) == maxListed:
			page = nil
			s.log.Warn(logEndless, "tools", len(met), "err", "its list does not end; what it named until then counts")
		}
	}
	took := time.Since(began)
	s.note(func(st *State) {
		st.Is, st.Trouble, st.Tools, st.LatencyMS = Ready, "", names, float64(took.Microseconds())/1000
	})
	s.meet(session) // a server that answers calls is in no state of loss
	if had != nil && slices.EqualFunc(had, tools, sameTool) {
		return had, nil
	}
	for name := range missing {
		s.log.Warn(logAllow, "tool", name, "err", "allow names a tool that it does not have")
	}
	s.log.Info(logReady, "tools", len(tools), "of", len(met), "ms", took.Milliseconds())
	s.tools(tools)
	return tools, nil
}

func sameTool(a, b skills.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

// lives asks it whether it lives; any answer will do that is none of HTTP alone. One that does not is left, and what waits for it is asked
// anew or refused.
func (s *server) lives(ctx context.Context, session *session) error {
	var code atomic.Int64
	asking, over := context.WithTimeout(context.WithValue(ctx, status{}, &code), s.times.lives)
	defer over()
	err, refused := session.Ping(asking, nil), (*jsonrpc.Error)(nil)
	known := err == nil || errors.As(err, &refused) && (code.Load() == 0 || refused.Code == jsonrpc.CodeMethodNotFound)
	switch {
	case ctx.Err() != nil:
		return nil
	case known:
		s.meet(session)
		return nil
	case code.Load() != 0:
		err = errForgot
	case asking.Err() != nil:
		err = errHung
	default: // of a connection that ends
		return err
	}
	close(session.hung)
	return err
}

// meet says with whom calls speak from now on; nil: with nobody.
func (s *server) meet(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session = session; s.known != nil {
		close(s.known)
		s.known = nil
	}
}

// doubt says that a call of a session came to nothing: the next one waits until it is known whether the server lives.
func (s *server) doubt(of *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == of && s.known == nil {
		s.known = make(chan struct{})
	}
}

// spoken is with whom a call speaks: a server in doubt is asked first, and one that hangs is started again, which is worth a wait.
func (s *server) spoken(ctx context.Context) (*session, error) {
	late := time.NewTimer(s.times.anew)
	defer late.Stop()
	for {
		s.mu.Lock()
		session, known := s.session, s.known
		s.mu.Unlock()
		switch {
		case known == nil && session == nil:
			return nil, fmt.Errorf("%s is not there; it is started again", s.cfg.Name)
		case known == nil:
			return session, nil
		}
		poke(s.doubted)
		select {
		case <-known:
		case <-late.C:
			return nil, fmt.Errorf("%s hung in another call and is being started again; try again in a moment", s.cfg.Name)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// call calls one of its tools. It returns when ctx ends, whatever the server does. What it may do twice is asked again where it hung; what
// it refused because it has forgotten the session, in a new one.
func (s *server) call(ctx skills.Context, tool string, args json.RawMessage, twice bool) (skills.Result, error) {
	var was *session
	var out skills.Result
	var last error
	for again := false; ; again = true {
		session, err := s.spoken(ctx)
		if refused := (refusal{}); again && errors.As(last, &refused) && (err != nil || session == was) {
			return out, last
		}
		if err != nil {
			return skills.Result{}, err
		}
		out, last = s.ask(ctx, session, tool, args)
		switch refused := (refusal{}); {
		case errors.As(last, &refused):
			if again {
				return out, last
			}
			was = session
		case !errors.Is(last, errHung):
			return out, last
		case !twice || again:
			return out, fmt.Errorf("%s hung in another call and is started again; it is not known whether it did this", s.cfg.Name)
		}
	}
}

// ask is one call of a session; errHung says that the session was ended because of another call.
func (s *server) ask(ctx skills.Context, session *session, tool string, args json.RawMessage) (skills.Result, error) {
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	var code atomic.Int64
	within, over := context.WithCancel(context.WithValue(ctx, status{}, &code))
	if s.cfg.Deadline > 0 {
		within, over = context.WithTimeout(within, s.cfg.Deadline)
	}
	defer over()
	back := make(chan answer, 1)
	go func() { // ends with within, or where the server does not even read, after stdinStall
		res, err := session.CallTool(within, &mcp.CallToolParams{Name: tool, Arguments: args})
		back <- answer{res, err}
	}()
	var a answer
	select {
	case a = <-back:
	case <-within.Done():
		a.err = within.Err()
	case <-session.hung:
		return skills.Result{}, errHung
	}
	refused := (*jsonrpc.Error)(nil)
	switch {
	case a.err == nil && a.res.IsError:
		return skills.Result{}, s.hidden(fmt.Errorf("%s says: %s", s.cfg.Name, textOf(a.res)))
	case a.err == nil:
		return skills.Result{Output: textOf(a.res)}, nil
	case ctx.Err() != nil:
		s.doubt(session)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) { // one that was called off may be at work still: the next call asks
			poke(s.doubted)
		}
		return skills.Result{}, ctx.Err()
	case errors.Is(a.err, context.DeadlineExceeded):
		s.doubt(session)
		poke(s.doubted)
		return skills.Result{}, fmt.Errorf("%s did not answer within %s", s.cfg.Name, s.cfg.Deadline)
	case code.Load() != 0:
		s.doubt(session)
		if errors.As(a.err, &refused) && refused.Code != codeRejected {
			return skills.Result{}, refusal{s.hidden(fmt.Errorf("%s says: %s", s.cfg.Name, refused.Message))}
		}
		return skills.Result{}, refusal{fmt.Errorf("%s answers: %d %s", s.cfg.Name, code.Load(), http.StatusText(int(code.Load())))}
	case errors.As(a.err, &refused):
		return skills.Result{}, s.hidden(fmt.Errorf("%s says: %s", s.cfg.Name, refused.Message))
	default:
		s.doubt(session)
		poke(s.doubted)
		ctx.Log.Warn(logCall, "err", s.hidden(a.err))
		return skills.Result{}, fmt.Errorf("%s was lost before it had answered; it is started again", s.cfg.Name)
	}
}

func (s *server) note(f func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.state.Is
	f(&s.state)
	if (s.state.Is == Ready) != (was == Ready) {
		s.state.Since = time.Now()
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
