package web

import (
	"net/http"

	"conch/device/control"
)

// LinkRequest asks for a link (POST /web/link).
type LinkRequest struct {
	Look bool `json:"look"` // whoever opens it may only look
}

// Sessions are those there are (GET /web/sessions).
type Sessions struct {
	Sessions []Row `json:"sessions"`
}

// Revoked is how many sessions were ended (DELETE /web/sessions, DELETE /web/sessions/ID).
type Revoked struct {
	Revoked int    `json:"revoked"`
	Unkept  string `json:"unkept,omitempty"` // why that could not be written down: a restart brings them back
}

// Mux serves the control socket. On a nil door there is no page, and nobody who was let in.
//
//	POST   /web/link         LinkRequest -> Link
//	GET    /web/sessions                 -> Sessions
//	DELETE /web/sessions                 -> Revoked: all of them
//	DELETE /web/sessions/ID              -> Revoked
func (d *Door) Mux(mux *http.ServeMux) {
	mux.HandleFunc("POST /web/link", func(w http.ResponseWriter, r *http.Request) {
		var q LinkRequest
		if !control.Decode(w, r, &q) {
			return
		}
		if d == nil {
			control.Reply(w, nil, ErrNoPage)
			return
		}
		l, err := d.Link(q.Look)
		control.Reply(w, l, err)
	})
	mux.HandleFunc("GET /web/sessions", func(w http.ResponseWriter, _ *http.Request) {
		if d == nil {
			control.Reply(w, Sessions{Sessions: []Row{}}, nil)
			return
		}
		control.Reply(w, Sessions{Sessions: d.sessions.rows()}, nil)
	})
	mux.HandleFunc("DELETE /web/sessions", func(w http.ResponseWriter, _ *http.Request) { d.revoke(w, "") })
	mux.HandleFunc("DELETE /web/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { d.revoke(w, r.PathValue("id")) })
}

func (d *Door) revoke(w http.ResponseWriter, id string) {
	if d == nil {
		control.Reply(w, nil, ErrNoPage)
		return
	}
	n, err := d.sessions.revoke(id)
	answer := Revoked{Revoked: n}
	if err != nil && n > 0 {
		answer.Unkept, err = err.Error(), nil
	}
	control.Reply(w, answer, err)
}
