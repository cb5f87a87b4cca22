package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"conch/coordinator"
	"conch/coordinator/inject"
)

// Appliance is what answers.
type Appliance interface {
	Inquire(ctx context.Context, text string, to ...string) (Answer, error)
	Say(ctx context.Context, text string, in inject.Injection) (outcome string, err error)
	Press()
	Release()
	Status() Status
	Why() string
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
	mux.HandleFunc("POST /press", func(w http.ResponseWriter, _ *http.Request) {
		a.Press()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /release", func(w http.ResponseWriter, _ *http.Request) {
		a.Release()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Status(), nil) })
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, _ *http.Request) { Reply(w, map[string]string{"text": a.Why()}, nil) })
	mux.HandleFunc("GET /last", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Last(), nil) })
	mux.HandleFunc("GET /recent", func(w http.ResponseWriter, _ *http.Request) { Reply(w, a.Recent(), nil) })
	return mux
}

// restartAnswers is what those who are connected get of the time when the device begins anew. Our choice: an answer takes
// milliseconds, and who watches is told that it is over.
const restartAnswers = 500 * time.Millisecond

// Serve answers at l until ctx ends. Where the device begins anew, whoever asked for that has its answer first.
func Serve(ctx context.Context, l net.Listener, mux http.Handler, restarting func() bool) error {
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: withPeer}
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
