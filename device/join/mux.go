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
	mux.HandleFunc("POST /room/pair", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		opened, err := p.Open(ctx)
		control.Reply(w, opened, err)
	})
	mux.HandleFunc("POST /room/join", func(w http.ResponseWriter, r *http.Request) {
		var q control.JoinRequest
		if !control.Decode(w, r, &q) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), joinLimit)
		defer cancel()
		line, err := p.Join(ctx, q)
		control.Reply(w, line, err)
	})
	mux.HandleFunc("POST /room/cancel", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		line, err := p.Cancel(ctx)
		control.Reply(w, line, err)
	})
	mux.HandleFunc("POST /room/remove", func(w http.ResponseWriter, r *http.Request) {
		var q control.RemoveRequest
		if !control.Decode(w, r, &q) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		answer, err := p.Remove(ctx, q)
		control.Reply(w, answer, err)
	})
	mux.HandleFunc("POST /room/leave", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		answer, err := p.Leave(ctx)
		control.Reply(w, answer, err)
	})
	mux.HandleFunc("POST /room/rename", func(w http.ResponseWriter, r *http.Request) {
		var q control.RenameRequest
		if !control.Decode(w, r, &q) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		answer, err := p.Rename(ctx, q.Device, q.Name)
		control.Reply(w, answer, err)
	})
	mux.HandleFunc("POST /room/keep", func(w http.ResponseWriter, r *http.Request) {
		var q control.KeepRequest
		if !control.Decode(w, r, &q) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), openLimit)
		defer cancel()
		line, err := p.Keep(ctx, q.At)
		control.Reply(w, line, err)
	})
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
