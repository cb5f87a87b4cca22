package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/device/language"
	"conch/device/redact"
	"conch/device/system"
)

// Appliance is what answers.
type Appliance interface {
	Inquire(ctx context.Context, text string, to ...string) (Answer, error)
	Say(ctx context.Context, text string, in inject.Injection) (outcome string, err error)
	Press(by Client) error // nil: it is silent
	Release(by Client) error
	Status() Status
	Why(l language.Language) string
	Last() *Turn // nil: none yet
	Recent() []coordinator.Line
}

const deadline = 3 * time.Minute // longer than any turn without a person

// Mux serves what is asked of every appliance; whoever has more to say adds it.
func Mux(a Appliance) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		text, to, ok := DecodeText(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), deadline)
		defer cancel()
		answer, err := a.Inquire(ctx, text, to...)
		Reply(w, answer, err)
	})
	mux.HandleFunc("POST /say", serveSay(a))
	mux.HandleFunc("POST /press", button(a.Press))
	mux.HandleFunc("POST /release", button(a.Release))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Status(), nil) })
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, r *http.Request) {
		Reply(w, map[string]string{"text": a.Why(language.Language(r.URL.Query().Get("lang")))}, nil)
	})
	mux.HandleFunc("GET /last", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Last(), nil) })
	mux.HandleFunc("GET /recent", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Recent(), nil) })
	return mux
}

// button answers a press or a release when it is done.
func button(move func(by Client) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, _ := r.Context().Value(clientKey{}).(Client)
		if err := move(by); err != nil {
			Reply(w, nil, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// Client is a program or a page that presses the button.
type Client struct {
	ID    string          // of its connection, or of its session; empty: a part of this process
	Owner string          // its process; empty: not known
	Gone  <-chan struct{} // closed when it has gone; nil: it never does
}

type clientKey struct{}

// WithClient says who asks.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// connections are those of a server, for as long as each is open.
type connections struct {
	count atomic.Uint64
	gone  sync.Map // of net.Conn to chan struct{}
}

// begin is an http.Server's ConnContext.
func (o *connections) begin(ctx context.Context, c net.Conn) context.Context {
	gone := make(chan struct{})
	o.gone.Store(c, gone)
	by := Client{ID: fmt.Sprint("connection ", o.count.Add(1)), Gone: gone}
	if uid, pid, ok := system.Peer(c); ok {
		ctx = context.WithValue(ctx, peerKey{}, uid)
		if pid > 0 {
			by.Owner = fmt.Sprint("process ", pid)
		}
	}
	return WithClient(ctx, by)
}

// state is an http.Server's ConnState.
func (o *connections) state(c net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	if gone, ok := o.gone.LoadAndDelete(c); ok {
		close(gone.(chan struct{}))
	}
}

// restartAnswers is what those who are connected get of the time when the device begins anew. Our choice: an answer takes
// milliseconds, and who watches is told that it is over.
const restartAnswers = 500 * time.Millisecond

// Serve answers at l until ctx ends. Where the device begins anew, whoever asked for that has its answer first.
func Serve(ctx context.Context, l net.Listener, mux http.Handler, restarting func() bool) error {
	var open connections
	srv := &http.Server{
		Handler: redact.Handler(mux), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: open.begin, ConnState: open.state,
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if restarting() {
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
