package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"conch/device/control"
	"conch/device/wait"
)

// A loop can be made to stand still on purpose, to see what the watchdog makes of it: conch debug stall LOOP. Only who may
// end the process anyway may ask for it: root, or the user it runs as.

// stallLimit ends a stall that nobody ended.
const stallLimit = 5 * time.Minute

// stall has the loop named stand still for so long, or until ctx ends. A prefix of the name does.
func stall(ctx context.Context, loops []Loop, name string, length time.Duration, log *slog.Logger) (string, error) {
	i := slices.IndexFunc(loops, func(l Loop) bool { return name != "" && strings.HasPrefix(l.Name, name) })
	if i < 0 {
		var names []string
		for _, l := range loops {
			names = append(names, l.Name)
		}
		return "", fmt.Errorf("%w: debug stall: %q is no loop of this device (there are %s)", control.ErrRefused, name, strings.Join(names, ", "))
	}
	log.Warn("debug.stall", "loop", loops[i].Name, "for", length)
	stand := func() { _ = wait.For(ctx, length) }
	for ctx.Err() == nil { // the watchdog's own token may be in the place for it
		if loops[i].Call(stand) {
			return loops[i].Name, nil
		}
		_ = wait.For(ctx, 10*time.Millisecond)
	}
	return "", ctx.Err()
}

// DebugMux serves what is for whoever tests the appliance, until ctx ends:
//
//	POST /debug/stall  {"loop": …, "for_ms": …}  -> {"loop": …}
func DebugMux(ctx context.Context, mux *http.ServeMux, h Host, log *slog.Logger) {
	mux.HandleFunc("POST /debug/stall", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Loop string `json:"loop"`
			For  int64  `json:"for_ms"`
		}
		if !control.MayEnd(r) {
			http.Error(w, "control: debug: only root and the user that conch runs as may do that", http.StatusForbidden)
			return
		}
		if !control.Decode(w, r, &q) {
			return
		}
		length := max(time.Second, time.Duration(min(q.For, stallLimit.Milliseconds()))*time.Millisecond)
		name, err := stall(ctx, h.Loops(time.Second), q.Loop, length, log)
		control.Reply(w, map[string]string{"loop": name}, err)
	})
}
