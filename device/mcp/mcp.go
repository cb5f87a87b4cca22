package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"conch/companions/skills"
	"conch/device/config"
)

// Log events of servers; each has the server's name.
const (
	logReady   = "mcp.ready"   // tools, of, ms: it has said which tools it has
	logLost    = "mcp.lost"    // err, again_s: it is not there
	logStderr  = "mcp.stderr"  // text: what it says to nobody in particular
	logAllow   = "mcp.allow"   // tool, err
	logEndless = "mcp.endless" // tools, err: of its list
	logCall    = "mcp.call"    // err: of a call, in the words of the protocol
)

// times are how long things may take.
type times struct {
	start              time.Duration // from its start until it has shaken hands: npx may fetch it first
	list               time.Duration // until it has said which tools it has
	lives              time.Duration // until it has answered at all, where a call came to nothing
	anew               time.Duration // that a call waits until it is known whether it lives, or until it is there again
	between            time.Duration // two lists
	retryMin, retryMax time.Duration
	steady             time.Duration // that it lived: the next start is soon
}

var usual = times{
	start: time.Minute, list: 20 * time.Second, lives: time.Second, anew: 8 * time.Second, between: time.Second,
	retryMin: time.Second, retryMax: 5 * time.Minute, steady: time.Minute,
}

// Options are what Servers are made of.
type Options struct {
	Servers []config.MCP
	Log     *slog.Logger
	// Tools is told the tools of a server whenever they change; none: it is lost. It is called by one goroutine a server.
	Tools func(server string, tools []skills.Tool)
}

// Servers are all that are configured.
type Servers struct{ all []*server }

// New makes them; nothing runs before Run.
func New(o Options) *Servers {
	return newServers(o, usual)
}

func newServers(o Options, t times) *Servers {
	var s Servers
	for _, c := range o.Servers {
		where := c.URL
		if where == "" {
			where = c.Command[0]
		}
		s.all = append(s.all, &server{
			cfg: c, times: t, log: o.Log.With("server", c.Name), tools: func(tools []skills.Tool) { o.Tools(c.Name, tools) },
			changed: make(chan struct{}, 1), doubted: make(chan struct{}, 1), state: State{Name: c.Name, Where: where, Is: Starting, Since: time.Now()},
		})
	}
	slices.SortFunc(s.all, func(a, b *server) int { return cmp.Compare(a.cfg.Name, b.cfg.Name) })
	return &s
}

// Run keeps them there until ctx ends, and their processes with them.
func (s *Servers) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, x := range s.all {
		wg.Go(func() { x.run(ctx) })
	}
	wg.Wait()
	return nil
}

// Is is whether a server is there.
type Is string

// What a server is.
const (
	Starting Is = "starting" // for the first time
	Ready    Is = "ready"
	Lost     Is = "lost" // also while it is started again
)

// State is a server as it is now.
type State struct {
	Name      string    `json:"name"`
	Where     string    `json:"where"` // its address, or its program
	Is        Is        `json:"is"`
	Since     time.Time `json:"since"`             // that it is there, or is not
	Trouble   string    `json:"trouble,omitempty"` // why it is lost
	Lost      int       `json:"lost,omitempty"`    // how often it was
	Again     time.Time `json:"again,omitzero"`    // when it is started again; zero: it is there, or being started
	Tools     []string  `json:"tools,omitempty"`   // as a model calls them, those that are left out among them
	LeftOut   []string  `json:"left_out,omitempty"`
	LatencyMS float64   `json:"latency_ms,omitempty"` // of its last answer to who asked for its tools
}

// States are all of them, in the order of their names.
func (s *Servers) States() (all []State) {
	for _, x := range s.all {
		x.mu.Lock()
		all = append(all, x.state)
		x.mu.Unlock()
	}
	return all
}
