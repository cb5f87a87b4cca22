package device

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/language"
	"conch/device/metrics"
	"conch/device/service"
	"conch/device/sound"
	"conch/device/state"
	"conch/gpio/twin"
)

// socket is the device as whoever asks at the control socket sees it (package control).
type socket struct{ d *Device }

// serve answers until ctx ends. Without a socket one can still talk to the device: that is a condition, not an end.
func (s socket) serve(ctx context.Context) error {
	d := s.d
	l, err := control.Listen(d.cfg.State.Socket())
	if errors.Is(err, control.ErrRunning) {
		return err
	}
	if err != nil {
		d.conds.Set(condition.ControlClosed, err.Error(),
			"set state.runtime to a directory this user may write, with a short path; until a restart, conch ask, say and why do not reach this appliance")
		return nil
	}
	mux := s.mux()
	service.DebugMux(ctx, mux, status{d}, d.log)
	return control.Serve(ctx, l, mux, d.restarting.Load)
}

func (s socket) mux() *http.ServeMux {
	d, mux := s.d, control.Mux(s)
	d.room.Mux(mux, status{d}.RoomStatus)
	d.pairing.Mux(mux)
	d.sound.Serve(mux)
	d.usage.Mux(mux)
	d.lights.Serve(mux)
	if d.opts.Logs != nil {
		d.opts.Logs.Serve(mux)
	}
	d.kept.ServeNotes(mux)
	d.alerts.serve(mux)
	d.memory.ServeVolume(mux, d.speaker.SetVolume)
	mux.HandleFunc("POST /hush", func(w http.ResponseWriter, r *http.Request) {
		d.Hush()
		d.pairing.Pressed()
		control.Reply(w, d.room.Hushed(r.Context(), d.now()), nil)
	})
	mux.HandleFunc("GET /events", s.d.serveEvents)
	d.page.Mux(mux)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { s.measured().Write(w) })
	return mux
}

// Inquire asks, and waits for what the question comes to.
func (s socket) Inquire(ctx context.Context, text string, to ...string) (control.Answer, error) {
	return s.d.room.Inquire(ctx, text, to...)
}

// Say announces.
func (s socket) Say(ctx context.Context, text string, in inject.Injection) (string, error) {
	return s.d.Say(ctx, text, in)
}

// errNotYet refuses a press that would silence nothing.
var errNotYet = errors.New("the appliance begins, or ends: it takes no press now; try again in a second")

// Press presses a button that no hand is at.
func (s socket) Press(by control.Client) error { return taken(s.d.key.Press(twin.Client(by))) }

// Release lets it go.
func (s socket) Release(by control.Client) error { return taken(s.d.key.Release(twin.Client(by))) }

func taken(yes bool) error {
	if !yes {
		return errNotYet
	}
	return nil
}

// Why tells who spoke last and why, and whose words caused the last call of a tool.
func (s socket) Why(l language.Language) string {
	if s.d.whyTool == nil {
		return s.d.room.Why(l)
	}
	return strings.TrimSpace(s.d.room.Why(l) + "\n" + s.d.whyTool())
}

// Last is the turn that ended last.
func (s socket) Last() *control.Turn { return s.d.room.Last() }

// Recent are the last lines of the flight recorder.
func (s socket) Recent() []coordinator.Line { return s.d.coordinator.Recent() }

// Status is what the box is and does now.
func (s socket) Status() control.Status {
	d := s.d
	now := control.Status{
		Servers: d.serverStates(),
		Version: Version(), Device: d.self, State: d.coordinator.State().String(), Quiet: d.Quiet(), Sound: d.sound.Words(), Voice: status{d}.voiceLine(),
		Ready: d.Ready(), Turns: d.turns.Load(), Volume: d.memory.Volume(), VolumeFrom: d.memory.VolumeFrom(), Conditions: d.conds.List(),
		Muted: d.sound.Muted(), Light: d.lights.String(), Pairing: d.pairing.Now(), Paired: d.link.Status(d.room.Members()),
	}
	if first := d.room.Cards[0]; first.ID != "" {
		now.Companion = &control.Named{ID: first.ID, Name: first.Name}
	}
	now.Now = d.goesOn()
	for _, m := range d.missed.List() {
		now.Missed = append(now.Missed, control.MissedRow{At: m.At, Text: m.Text, Why: string(m.Why)})
	}
	if d.page != nil {
		now.Page = d.page.Pages()
	}
	now.Button = strings.Join(status{d}.buttonNames(), "; ")
	if g, ok := d.sound.Audible(); ok {
		now.Buffer = g.Name + ": " + sound.Words(d.cfg, g)
	}
	if today, err := d.usage.Report(); err == nil {
		now.Today = &today
	}
	var last state.Silence
	if dir := d.memory.Dir(); dir != "" && state.Look(dir, state.SilenceFile, &last) == nil && len(last.Rows) > 0 {
		worst, p99 := last.Worst()
		now.Silence = &control.Silence{When: last.When, Card: last.Card, P99: p99, Max: worst, Budget: state.SilenceBudgetMS}
	}
	if r, err := (status{d}).RoomStatus(); err == nil {
		now.Room = r.Brief()
	}
	return now
}

// measured is what the device measures of itself.
func (s socket) measured() metrics.Snapshot {
	d := s.d
	m := metrics.Snapshot{
		Turns: d.turns.Load(), Ready: d.Ready(), Muted: d.sound.Muted(), Conditions: d.conds.List(), Volume: d.memory.Volume(), Bound: d.sound.Bound(),
		Speaker: d.speaker.Stats(),
	}
	m.Xruns, m.XrunsHour = d.sound.Xruns()
	if room, err := (status{d}).RoomStatus(); err == nil {
		m.Room = &room
	}
	if d.room.Refiner != nil {
		votes := d.room.Refiner.Stats()
		m.Refiner = &votes
	}
	return m
}
