package service

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"conch/device/redact"
)

// Ring keeps the last lines of the log, for whoever asks a running appliance that no journal listens to (conch logs). Make it with
// NewRing. Writing never waits for a reader.
type Ring struct {
	mu      sync.Mutex // guards what follows
	lines   [][]byte   // oldest first
	bytes   int
	readers map[chan []byte]bool
}

// Bounds of a Ring. Our choices: an hour of a quiet appliance, a page of a talkative one.
const (
	ringLines = 1000
	ringBytes = 256 << 10
	ringWaits = 256 // lines that a slow reader may be behind; then it is told that some are missing
)

// NewRing is an empty one.
func NewRing() *Ring { return &Ring{readers: map[chan []byte]bool{}} }

// Write takes one line.
func (r *Ring) Write(p []byte) (int, error) {
	line := slices.Clone(redact.Bytes(p))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	for r.bytes += len(line); len(r.lines) > ringLines || r.bytes > ringBytes; r.lines = r.lines[1:] {
		r.bytes -= len(r.lines[0])
	}
	for reader := range r.readers {
		select {
		case reader <- line:
		default: // it does not read
		}
	}
	return len(p), nil
}

// follow are the last n lines, and what comes from now on; end when nobody listens any more.
func (r *Ring) follow(n int) (last [][]byte, next chan []byte, end func()) {
	next = make(chan []byte, ringWaits)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[next] = true
	return slices.Clone(r.lines[max(0, len(r.lines)-n):]), next, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.readers, next)
	}
}

// Serve serves conch logs:
//
//	GET /logs?lines=N&follow=1  -> text, a line an event; with follow until the client goes away
func (r *Ring) Serve(mux *http.ServeMux) {
	mux.HandleFunc("GET /logs", func(w http.ResponseWriter, q *http.Request) {
		n, err := strconv.Atoi(q.FormValue("lines"))
		if err != nil || n < 0 {
			n = ringLines
		}
		last, next, end := r.follow(n)
		defer end()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for _, line := range last {
			_, _ = w.Write(line) // the client went away: its loss
		}
		if q.FormValue("follow") == "" {
			return
		}
		c := http.NewResponseController(w)
		for {
			_ = c.Flush()
			select {
			case line := <-next:
				if _, err := w.Write(line); err != nil {
					return
				}
			case <-q.Context().Done():
				return
			}
		}
	})
}

// Logger logs to the ring as well as to log: from info on, or from where level is, if that says more. A person's terminal may be spared
// what the ring has.
func (r *Ring) Logger(log *slog.Logger, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewMultiHandler(log.Handler(), slog.NewTextHandler(r, options(atLeastInfo{level}))))
}

type atLeastInfo struct{ of slog.Leveler }

func (a atLeastInfo) Level() slog.Level { return min(slog.LevelInfo, a.of.Level()) }
