package device

import (
	"errors"
	"fmt"
	"net/http"

	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
)

var errNoUsage = errors.New("usage: this voice does not count what it uses")

// Used tells what was used today.
func (d *Device) Used() (control.UsageReport, error) {
	if len(d.meters) == 0 {
		return control.UsageReport{}, errNoUsage
	}
	u := d.meters[0].Usage()
	return control.UsageReport{
		Day: u.Day, Tokens: u.All.Tokens(), Cost: u.All.Cost, Responses: u.All.Responses, HeardSeconds: u.All.HeardSeconds, SaidSeconds: u.All.SaidSeconds,
		CeilingTokens: d.cfg.Voice.Ceiling, CeilingCost: d.cfg.Voice.CeilingCost, Refusing: u.Refusing, Until: u.Until,
	}, nil
}

// ResetUsage counts the day from zero: a limit that was reached is lifted, also across a restart, however that comes about. An
// error may be that it holds until then only.
func (d *Device) ResetUsage() (control.UsageReport, error) {
	var kept error
	for _, m := range d.meters {
		kept = errors.Join(kept, m.ResetUsage())
	}
	d.conds.Clear(condition.VoiceCeiling)
	u, err := d.Used()
	if kept != nil {
		err = fmt.Errorf("usage: the day counts from zero, but only until the next start: %w", kept)
	}
	return u, err
}

// refusedAnswer makes a condition of the household's own limit; what the provider refuses is the voice's to tell.
func (d *Device) refusedAnswer(e turn.ResponseRefused) {
	if e.Say != turn.WordsCeiling {
		return
	}
	if u, err := d.Used(); err == nil {
		d.conds.Set(condition.VoiceCeiling, "today's own limit is reached: "+u.Refusing,
			fmt.Sprintf("it goes on by itself on %s; conch usage reset lifts it now", u.Until.Format("2006-01-02 at 15:04")))
	}
}

// usageMux serves conch usage:
//
//	GET  /usage        -> UsageReport
//	POST /usage/reset  -> UsageReport
func (d *Device) usageMux(mux *http.ServeMux) {
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) {
		u, err := d.Used()
		control.Reply(w, u, err)
	})
	mux.HandleFunc("POST /usage/reset", func(w http.ResponseWriter, _ *http.Request) {
		u, err := d.ResetUsage()
		control.Reply(w, u, err)
	})
}
