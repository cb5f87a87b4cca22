// Package either is the voice of an address that does not say what it speaks: http:// or https:// with voice.kind = "auto". The server is
// asked, when there is a network, and what it was found to speak is remembered.
//
//	an upgrade to a WebSocket is taken    realtime
//	else a list of models, or chat        cascade
//	neither                               told, and asked again
//
// What is ordered meanwhile waits in the inbox that whoever is found goes on with.
package either

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/kit"
	"conch/companions/voice/realtime"
	"conch/coordinator/turn"
)

const (
	logFound = "voice.found" // what the server speaks
	logRetry = "voice.asked" // and when it was not found
)

// Kind is this voice, as the device knows it. Nobody names it: it is what "auto" comes to where an address does not tell.
func Kind() voice.Kind {
	return voice.Kind{Name: "auto", New: newVoices, Check: check, Plan: cascade.Kind().Plan}
}

// finder finds out what a server speaks, once for all companions.
type finder struct {
	voice.Settings
	client *http.Client

	asking sync.Mutex // held while it is asked; before mu
	mu     sync.Mutex // guards what follows
	found  Speaks
	sure   bool // it was found by this process, and not only remembered
}

func newVoices(s voice.Settings, of []voice.Companion) (made voice.Made, err error) {
	f := &finder{Settings: s, client: cascade.Pool(s.Roots)}
	if s.Found != nil {
		f.found = Speaks(s.Found(s.URL))
	}
	pool := &kit.Pool{}
	var called [2]string
	far := s
	far.URL = webSocket(s.URL)
	called[0] = realtime.Called(far)
	if called[1], err = cascade.Called(s); err != nil {
		return made, voice.SettingError{Err: err}
	}
	for _, c := range of {
		x := &either{f: f}
		if x.session, err = x.build(s, far, c, pool); err != nil {
			return made, voice.SettingError{Err: err}
		}
		made.Sessions = append(made.Sessions, x.session)
	}
	made.Now = func() string {
		switch f.known() {
		case Realtime:
			return called[0]
		case Chat:
			return called[1]
		}
		return fmt.Sprintf("whatever %s speaks", s.URL)
	}
	made.Called = made.Now()
	return made, nil
}

// either is the voice of one companion.
type either struct {
	*kit.Inbox
	f       *finder
	real    *realtime.Client
	chain   *cascade.Client
	session voice.Session
	log     *slog.Logger
}

// build makes both, of which one will run, on one inbox and one meter.
func (x *either) build(s, far voice.Settings, c voice.Companion, pool *kit.Pool) (voice.Session, error) {
	r, err := realtime.Configure(far, c)
	if err != nil {
		return voice.Session{}, err
	}
	k, err := cascade.Configure(s, c)
	if err != nil {
		return voice.Session{}, err
	}
	x.Inbox, x.log = kit.NewInbox(int(max(s.Longest, 61*time.Second)*kit.Rate/time.Second)), c.Log
	if x.log == nil {
		x.log = slog.Default()
	}
	k.Pool, k.Client, k.Wall, k.Log = pool, x.f.client, time.Now, x.log
	meter, err := kit.NewMeter(k.Metering())
	if err != nil {
		return voice.Session{}, err
	}
	r.Inbox, k.Inbox, r.Meter, k.Meter = x.Inbox, x.Inbox, meter, meter
	if x.real, err = realtime.New(r); err != nil {
		return voice.Session{}, err
	}
	if x.chain, err = cascade.New(k); err != nil {
		return voice.Session{}, err
	}
	return voice.Session{Voice: x, Usage: meter.Usage, Reset: meter.Reset, Spent: meter.Spent}, nil
}

// errElsewhere: what was remembered is not so any more.
var errElsewhere = errors.New("the server speaks something else by now")

// Run finds out who is to run, and runs that.
func (x *either) Run(ctx context.Context, out voice.Outlet) error {
	for ctx.Err() == nil {
		speaks, sure := x.f.get()
		if speaks == "" {
			if speaks = x.find(ctx, out); speaks == "" {
				break
			}
			sure = true
		}
		run, stop := context.WithCancelCause(ctx)
		o := &watched{Outlet: out, doubt: !sure, stop: stop}
		var err error
		if speaks == Realtime {
			err = x.real.Run(run, o)
		} else {
			err = x.chain.Run(run, o)
		}
		wrong := errors.Is(context.Cause(run), errElsewhere)
		stop(nil)
		if !wrong {
			return err
		}
		x.f.forget()
	}
	return nil
}

// watched looks whether what was remembered is still so: the first that is told of a session shows it.
type watched struct {
	voice.Outlet
	doubt bool
	stop  context.CancelCauseFunc
}

func (w *watched) Post(ev turn.Event) {
	switch e := ev.(type) {
	case turn.SessionReady:
		w.doubt = false
	case turn.SessionLost:
		if w.doubt && e.Say == turn.WordsElsewhere {
			w.stop(errElsewhere)
		}
	}
	w.Outlet.Post(ev)
}

// find asks until it is known; "": ctx has ended.
func (x *either) find(ctx context.Context, out voice.Outlet) Speaks {
	told, wait := kit.Told{Out: out}, kit.Backoff{}
	for {
		if x.waited(ctx, &wait) {
			return ""
		}
		if x.f.Hold != nil {
			if say := x.f.Hold(); say != "" {
				told.Lost(turn.SessionLost{At: out.Now(), Say: say, Fatal: true})
				wait.At = time.Now().Add(kit.KeyLook)
				continue
			}
		}
		wait.Last = time.Now()
		speaks, err := x.f.ask(ctx)
		if err == nil {
			x.log.Info(logFound, "url", x.f.URL, "speaks", speaks)
			return speaks
		}
		say, fatal := kit.WordsOf(err, time.Now())
		wait.Fail(time.Now(), fatal || say == turn.WordsElsewhere, rand.N)
		x.log.Warn(logRetry, "err", err, "in", time.Until(wait.At).Round(time.Millisecond))
		told.Lost(turn.SessionLost{At: out.Now(), Say: say, Fatal: fatal})
	}
}

// waited waits for the time of the next attempt, or a nudge; true: ctx has ended.
func (x *either) waited(ctx context.Context, b *kit.Backoff) bool {
	for {
		t := time.NewTimer(time.Until(b.At))
		select {
		case <-ctx.Done():
			t.Stop()
			return true
		case <-t.C:
			return false
		case <-x.Wake: // what was ordered stays where it is
			if t.Stop(); x.Called() {
				b.Anew(time.Now())
			}
		}
	}
}

func (f *finder) known() Speaks {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}

func (f *finder) get() (Speaks, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found, f.sure
}

func (f *finder) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found, f.sure = "", false
}

// ask asks the server, unless another companion has meanwhile.
func (f *finder) ask(ctx context.Context) (Speaks, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if speaks := f.known(); speaks != "" {
		return speaks, nil
	}
	speaks, err := Ask(ctx, f.client, f.URL, f.Key())
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	f.found, f.sure = speaks, true
	f.mu.Unlock()
	if f.Finding != nil {
		f.Finding(f.URL, string(speaks))
	}
	return speaks, nil
}
