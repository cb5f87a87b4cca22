package device

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"conch/device/control"
	"conch/device/service"
	"conch/device/wait"
)

// A loop can be made to stand still on purpose, to see what the watchdog makes of it: conch debug stall LOOP. Only who may
// end the process anyway may ask for it: root, or the user it runs as.

// stallLimit ends a stall that nobody ended.
const stallLimit = 5 * time.Minute

// Stall has the loop named stand still for so long, or until ctx ends. A prefix of the name does.
func (d *Device) Stall(ctx context.Context, name string, length time.Duration) (string, error) {
	loops := d.Loops(time.Second)
	i := slices.IndexFunc(loops, func(l service.Loop) bool { return name != "" && strings.HasPrefix(l.Name, name) })
	if i < 0 {
		var names []string
		for _, l := range loops {
			names = append(names, l.Name)
		}
		return "", fmt.Errorf("%w: debug stall: %q is no loop of this device (there are %s)", control.ErrRefused, name, strings.Join(names, ", "))
	}
	length = min(length, stallLimit)
	d.log.Warn("debug.stall", "loop", loops[i].Name, "for", length)
	stand := func() {
		t := time.NewTimer(length)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil { // the watchdog's own token may be in the place for it
		if loops[i].Call(stand) {
			return loops[i].Name, nil
		}
		if wait.For(ctx, 10*time.Millisecond) != nil {
			break
		}
	}
	return "", ctx.Err()
}

// debugMux serves what is for whoever tests the appliance:
//
//	POST /debug/stall  {"loop": …, "for_ms": …}  -> {"loop": …}
func (d *Device) debugMux(ctx context.Context, mux *http.ServeMux) {
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
		name, err := d.Stall(ctx, q.Loop, max(time.Second, time.Duration(min(q.For, stallLimit.Milliseconds()))*time.Millisecond))
		control.Reply(w, map[string]string{"loop": name}, err)
	})
}
