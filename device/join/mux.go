package join

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"conch/device/control"
)

// joinLimit is how long POST /room/join may take: a minute of listening, three runs, and what looking takes.
const joinLimit = 3 * time.Minute

// Mux serves pairing (control/pairing.go).
func (p *Pairing) Mux(mux *http.ServeMux) {
	mux.HandleFunc("POST /room/pair", does(openLimit, p.Open))
	mux.HandleFunc("POST /room/join", asks(joinLimit, p.Join))
	mux.HandleFunc("POST /room/cancel", does(openLimit, p.Cancel))
	mux.HandleFunc("POST /room/remove", asks(openLimit, p.Remove))
	mux.HandleFunc("POST /room/leave", does(openLimit, p.Leave))
	mux.HandleFunc("POST /room/rename", asks(openLimit, func(ctx context.Context, q control.RenameRequest) (control.RenameAnswer, error) {
		return p.Rename(ctx, q.Device, q.Name)
	}))
	mux.HandleFunc("POST /room/keep", asks(openLimit, func(ctx context.Context, q control.KeepRequest) (control.PairingLine, error) {
		return p.Keep(ctx, q.At)
	}))
	mux.HandleFunc("GET /room/pairing", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		lines := p.Watch(ctx)
		out := http.NewResponseController(w)
		w.Header().Set("Content-Type", "application/x-ndjson")
		enc := json.NewEncoder(w)
		for l := range lines {
			if enc.Encode(l) != nil || out.Flush() != nil {
				return
			}
		}
	})
}

// openLimit is how long opening a window, or asking the host something, may take. Our choice.
const openLimit = 15 * time.Second

// does replies what do answers within the limit.
func does[A any](limit time.Duration, do func(context.Context) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		a, err := do(ctx)
		control.Reply(w, a, err)
	}
}

// asks reads a request first.
func asks[Q, A any](limit time.Duration, do func(context.Context, Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if control.Decode(w, r, &q) {
			does(limit, func(ctx context.Context) (A, error) { return do(ctx, q) })(w, r)
		}
	}
}
