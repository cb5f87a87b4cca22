package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
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
	doubted chan struct{} // 1: a call came to nothing, and nobody knows whether it lives
	newest  bool          // it refused legacy

	mu    sync.Mutex // guards state
	state State
}

// run keeps it there until ctx ends.
func (s *server) run(ctx context.Context) {
	wait := s.times.retryMin
	for {
		began := time.Now()
		err := s.serve(ctx)
		s.tools(nil)
		if ctx.Err() != nil {
			return
		}
		s.note(func(st *State) { st.Is, st.Trouble, st.Tools, st.Lost = Lost, clip(err.Error(), 300), nil, st.Lost+1 })
		if time.Since(began) > s.times.steady {
			wait = s.times.retryMin
		}
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

// serve starts it once, and returns why it is lost.
func (s *server) serve(ctx context.Context) error {
	s.note(func(st *State) { st.Is = Starting })
	session, end, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := s.list(ctx, session); err != nil {
		return err
	}
	lost := make(chan error, 1)
	go func() { lost <- session.Wait() }() // ends with the session, which end closes
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return fmt.Errorf("it has ended: %w", cmpErr(err, errors.New("it closed the connection")))
		case <-s.changed:
		case <-s.doubted:
		}
		// Whoever is in doubt asks for its tools, too: that is an answer like any other.
		if err := s.list(ctx, session); err != nil {
			return err
		}
		pause := time.NewTimer(s.times.between) // one that changes its tools without end is not followed without end
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

func cmpErr(err, or error) error {
	if err == nil {
		return or
	}
	return err
}

// connect starts it and shakes hands. end ends it.
func (s *server) connect(ctx context.Context) (session *mcp.ClientSession, end func(), err error) {
	transport, stop, err := s.transport()
	if err != nil {
		return nil, nil, err
	}
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
	session, err = client.Connect(starting, transport, o)
	if err == nil {
		return session, func() { _ = session.Close(); stop() }, nil
	}
	stop()
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) {
		s.newest = !s.newest
	}
	if errors.Is(starting.Err(), context.DeadlineExceeded) {
		return nil, nil, fmt.Errorf("it did not answer within %s of its start", s.times.start)
	}
	return nil, nil, err
}

// transport is the way to it; stop ends what was started, and waits for that.
func (s *server) transport() (t mcp.Transport, stop func(), err error) {
	if s.cfg.URL != "" {
		to, err := url.Parse(s.cfg.URL)
		if err != nil {
			return nil, nil, err
		}
		headers, err := s.cfg.Headers()
		if err != nil {
			return nil, nil, err
		}
		by := http.DefaultTransport.(*http.Transport).Clone()
		return &mcp.StreamableClientTransport{
			Endpoint: s.cfg.URL, MaxRetries: 2, MaxEventSize: maxMessage, HTTPClient: &http.Client{Transport: web{by, to, headers}},
		}, by.CloseIdleConnections, nil
	}
	env, err := s.cfg.Environment()
	if err != nil {
		return nil, nil, err
	}
	c, err := start(s.cfg.Command, env, s.log, &s.lines)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.IOTransport{Reader: c, Writer: c, MaxLineLength: 2 * maxMessage}, func() {
		_ = c.Close()
		c.over(context.Background())
	}, nil
}

// list asks for its tools.
func (s *server) list(ctx context.Context, session *mcp.ClientSession) error {
	ctx, over := context.WithTimeout(ctx, s.times.list)
	defer over()
	began := time.Now()
	var tools []skills.Tool
	var names []string
	missing := map[string]bool{}
	for _, name := range s.cfg.Allow {
		missing[name] = true
	}
	seen := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("it does not say which tools it has: %w", err)
		}
		if seen++; seen > maxListed {
			break
		}
		delete(missing, t.Name)
		if s.allowed(t.Name) {
			x := s.toolOf(t, session)
			tools, names = append(tools, x), append(names, x.Name)
		}
	}
	took := time.Since(began)
	for name := range missing {
		s.log.Warn(logAllow, "tool", name, "err", "allow names a tool that it does not have")
	}
	s.note(func(st *State) {
		st.Is, st.Trouble, st.Tools, st.LatencyMS = Ready, "", names, float64(took.Microseconds())/1000
	})
	s.log.Info(logReady, "tools", len(tools), "of", seen, "ms", took.Milliseconds())
	s.tools(tools)
	return nil
}

// call calls one of its tools. It returns when ctx ends, whatever the server does.
func (s *server) call(ctx skills.Context, session *mcp.ClientSession, tool string, args json.RawMessage) (skills.Result, error) {
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	within, over := context.WithTimeout(ctx, s.cfg.Deadline)
	defer over()
	if s.cfg.Deadline <= 0 {
		within = ctx
	}
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
	}
	refused := (*jsonrpc.Error)(nil)
	switch {
	case a.err == nil && a.res.IsError:
		return skills.Result{}, fmt.Errorf("%s says: %s", s.cfg.Name, textOf(a.res))
	case a.err == nil:
		return skills.Result{Output: textOf(a.res)}, nil
	case ctx.Err() != nil:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			poke(s.doubted)
		}
		return skills.Result{}, ctx.Err()
	case errors.Is(a.err, context.DeadlineExceeded):
		poke(s.doubted)
		return skills.Result{}, fmt.Errorf("%s did not answer within %s", s.cfg.Name, s.cfg.Deadline)
	case errors.As(a.err, &refused):
		return skills.Result{}, fmt.Errorf("%s says: %s", s.cfg.Name, refused.Message)
	default:
		poke(s.doubted)
		ctx.Log.Warn(logCall, "err", a.err)
		return skills.Result{}, fmt.Errorf("%s was lost before it had answered; it is started again", s.cfg.Name)
	}
}

func (s *server) note(f func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.state.Is
	f(&s.state)
	if s.state.Is != was {
		s.state.Since = time.Now()
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
