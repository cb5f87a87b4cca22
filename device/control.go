package device

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/device/metrics"
)

// What answers at the control socket; package control says what is asked and answered there.

const controlDeadline = 3 * time.Minute // longer than any turn without a person

// serveControl serves until ctx ends. Without a socket one can still talk to the device: that is a condition, not an end.
func (d *Device) serveControl(ctx context.Context) error {
	l, err := control.Listen(d.cfg.State.Socket())
	if errors.Is(err, control.ErrRunning) {
		return err
	}
	if err != nil {
		d.conds.Set(condition.ControlClosed, err.Error(),
			"set state.runtime to a directory this user may write, with a short path; until a restart, conch ask, say and why do not reach this appliance")
		return nil
	}
	mux := d.controlMux()
	d.debugMux(ctx, mux)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: control.WithPeer}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if d.restarting.Load() { // whoever asked for that has its answer first
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

// restartAnswers is what those who are connected get of the time when the device begins anew. Our choice: an answer takes
// milliseconds, and who watches is told that it is over.
const restartAnswers = 500 * time.Millisecond

func (d *Device) controlMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		text, to, ok := control.DecodeText(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), controlDeadline)
		defer cancel()
		a, err := d.room.Inquire(ctx, text, to...)
		control.Reply(w, a, err)
	})
	mux.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) {
		text, _, ok := control.DecodeText(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), controlDeadline)
		defer cancel()
		outcome, err := d.Say(ctx, text)
		control.Reply(w, map[string]string{"outcome": outcome}, err)
	})
	mux.HandleFunc("POST /press", func(w http.ResponseWriter, _ *http.Request) {
		d.Press()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /release", func(w http.ResponseWriter, _ *http.Request) {
		d.Release()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { control.Reply(w, d.Status(), nil) })
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, _ *http.Request) {
		control.Reply(w, map[string]string{"text": d.room.Why()}, nil)
	})
	mux.HandleFunc("GET /recent", func(w http.ResponseWriter, _ *http.Request) { control.Reply(w, d.coordinator.Recent(), nil) })
	d.room.Mux(mux, d.RoomStatus)
	d.pairing.Mux(mux)
	d.sound.Serve(mux)
	d.usage.Mux(mux)
	d.lightMux(mux)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { d.measured().Write(w) })
	return mux
}

// measured is what the device measures of itself.
func (d *Device) measured() metrics.Snapshot {
	s := metrics.Snapshot{
		Turns: d.turns.Load(), Ready: d.Ready(), Muted: d.Muted(), Conditions: d.conds.List(), Volume: d.memory.Volume(), Bound: d.sound.Bound(),
		Speaker: d.speaker.Stats(),
	}
	s.Xruns, s.XrunsHour = d.sound.Xruns()
	if room, err := d.RoomStatus(); err == nil {
		s.Room = &room
	}
	if d.room.Refiner != nil {
		votes := d.room.Refiner.Stats()
		s.Refiner = &votes
	}
	return s
}
