package web

import (
	"context"
	"net/http"
	"slices"

	"conch/device/control"
)

// What a page may ask of a device: what the control socket allows its group, but for keys, configuration, pairing and the log.
var (
	doable  = []string{"ask", "say", "press", "release", "hush", "volume", "mute", "room/control", "alert/stop", "alert/later"} // POST
	tellers = []string{"why", "status", "room"}                                                                                 // GET
)

// act hands a request of a page to the control socket's own handler.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	action, allowed := r.PathValue("action"), tellers
	if r.Method == http.MethodPost {
		allowed = doable
	}
	if !slices.Contains(allowed, action) || r.Method != http.MethodPost && r.Method != http.MethodGet {
		http.Error(w, "a page cannot ask for that", http.StatusNotFound)
		return
	}
	i := slices.IndexFunc(s.o.Boxes, func(b Box) bool { return b.Name == r.PathValue("device") })
	if i < 0 {
		http.Error(w, "there is no such device", http.StatusNotFound)
		return
	}
	h := s.o.Boxes[i].Control()
	if h == nil {
		http.Error(w, s.o.Boxes[i].Name+" is not there just now", http.StatusServiceUnavailable)
		return
	}
	ctx := r.Context()
	if action == "ask" || action == "say" { // who leaves the page has still asked
		ctx = context.WithoutCancel(ctx)
	}
	if action == "press" || action == "release" {
		ctx = control.WithClient(ctx, s.o.Door.client(ctx))
	}
	in := r.Clone(ctx)
	in.URL.Path, in.URL.RawPath, in.Pattern = "/"+action, "", ""
	h.ServeHTTP(w, in)
}
