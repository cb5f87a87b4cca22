package device

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"conch/companions/skills"
	"conch/coordinator/alert"
	"conch/device/control"
)

// alerts are those that have no end yet, for people who look on.
type alerts struct {
	mu   sync.Mutex
	last uint64
	all  []*ringing
}

// ringing is one. Nothing of it changes.
type ringing struct {
	id    uint64
	text  string
	stop  func()
	later func() error // nil: it cannot
}

// add keeps one until drop.
func (a *alerts) add(of skills.Alert, stop func()) *ringing {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	r := &ringing{id: a.last, text: of.Text, later: of.Later, stop: stop}
	a.all = append(a.all, r)
	return r
}

// drop forgets one that has ended.
func (a *alerts) drop(r *ringing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = slices.DeleteFunc(a.all, func(o *ringing) bool { return o == r })
}

// rows are they, in the order in which they began.
func (a *alerts) rows() (all []control.RingingRow) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.all {
		all = append(all, control.RingingRow{ID: r.id, Text: r.text, Later: r.later != nil})
	}
	return all
}

// end stops one for a person, or has it ring again later.
func (a *alerts) end(id uint64, later bool) error {
	a.mu.Lock()
	i := slices.IndexFunc(a.all, func(r *ringing) bool { return r.id == id })
	if i < 0 {
		a.mu.Unlock()
		return fmt.Errorf("%w: alert %d does not ring any more", control.ErrRefused, id)
	}
	r := a.all[i]
	a.mu.Unlock() // a skill's own lock is not taken below this one
	switch {
	case !later:
		r.stop()
	case r.later == nil:
		return fmt.Errorf("%w: %s cannot ring later; stop it, and set a timer", control.ErrRefused, r.text)
	default:
		return r.later()
	}
	return nil
}

// serve answers at the control socket.
func (a *alerts) serve(mux *http.ServeMux) {
	for path, later := range map[string]bool{"POST /alert/stop": false, "POST /alert/later": true} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			var q control.AlertRequest
			if !control.Decode(w, r, &q) {
				return
			}
			if err := a.end(q.ID, later); err != nil {
				control.Reply(w, nil, err)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})
	}
}

// ring is a skill's Ring.
func (d *Device) ring(a skills.Alert) (stop func()) {
	done, stop := d.coordinator.Ring(a.Text, a.Longest)
	r := d.alerts.add(a, stop)
	go func() {
		how := <-done // each has one end, at the latest when the coordinator ends
		d.alerts.drop(r)
		defer func() {
			if p := recover(); p != nil {
				d.log.Error(logWorkerFailed, "worker", "an alert", "err", fmt.Sprint("panic: ", p), "stack", string(debug.Stack()))
			}
		}()
		if how == alert.Unanswered || how == alert.Unheeded {
			d.missed.Ended("", a.Text, skills.OutcomeUnanswered)
		}
		if a.Ended != nil {
			a.Ended([...]skills.Ended{
				alert.Stopped: skills.Stopped, alert.Unanswered: skills.Expired, alert.Taken: skills.Stopped, alert.Failed: skills.Failed,
				alert.Unheeded: skills.Expired, alert.Pressed: skills.Pressed,
			}[how])
		}
	}()
	return stop
}
