package device

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio/twin"
	"conch/companions"
	"conch/device/config"
	"conch/device/control"
	"conch/device/join"
	"conch/device/tone"
	"conch/device/wait"
	"conch/mqtt/mqtttest"
)

// Power cuts: each device is a process of its own, which kills itself with SIGKILL at a step of pairing, and is started again with
// what it had on disk.

// pairProcessEnv tells a process of this test binary that it is a device: directory, name, companion, port, and the step at which it
// dies.
const pairProcessEnv = "CONCH_TEST_PAIR_PROCESS"

// pairProcess is the device, until it is killed.
func pairProcess(spec string) {
	f := strings.Split(spec, "\n")
	dir, name, who, dies := f[0], f[1], f[2], f[4]
	port, err := strconv.Atoi(f[3])
	if err != nil {
		panic(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("device", name)
	for {
		cfg := config.Default()
		cfg.Device.Name, cfg.State.Dir, cfg.State.Runtime = name, filepath.Join(dir, "state"), dir
		cfg.Room.Port, cfg.Room.Discovery = port, "off"
		card := twin.NewCard(twin.WallClock())
		voice := tone.New()
		voice.Play("speaking")
		d, err := New(cfg, Options{Log: log, Card: card, Now: card.Clock().Now, Voice: voice, Control: true, Room: RoomOptions{
			Cards: []companions.Card{companions.PlainCard(who)}, Listen: "127.0.0.1", Missing: 2 * time.Second,
			Reachable: func(port int) []string { return []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))} },
			Step: func(at string) {
				if at == dies {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {} // nothing more is done, however long the signal takes
				}
			},
		}})
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		played := make(chan error, 1)
		go func() { played <- card.Run(ctx, 1) }()
		err = d.Run(ctx)
		cancel()
		<-played //nolint:errcheck // it ends with ctx
		if !errors.Is(err, join.ErrRestart) {
			panic(err)
		}
	}
}

// cutDevice is the test's side of such a process.
type cutDevice struct {
	t              *testing.T
	dir, name, who string
	port           string
	process        *exec.Cmd
	diedOf         chan error
}

func (m *cutDevice) start(dies string) {
	m.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	m.process = exec.Command(exe)
	m.process.Env = append(os.Environ(), pairProcessEnv+"="+strings.Join([]string{m.dir, m.name, m.who, m.port, dies}, "\n"))
	log, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	m.process.Stderr = log
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
	p, died := m.process, make(chan error, 1)
	m.diedOf = died
	go func() { died <- p.Wait() }() // ends with the process, which the test kills at the latest
	m.status(func(s control.Status) bool { return s.Ready })
}

func (m *cutDevice) remote() (*control.Remote, error) {
	return control.DialSocket(config.State{Runtime: m.dir}.Socket())
}

// status waits until the device says what is wanted of it.
func (m *cutDevice) status(want func(control.Status) bool) (s control.Status) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if wait.Until(ctx, func() bool {
		r, err := m.remote()
		s = control.Status{}
		return err == nil && r.Do(ctx, "GET", "/status", nil, &s) == nil && want(s)
	}) != nil {
		m.t.Fatalf("%s is not what it should be after %s: %+v, paired %+v", m.name, patience, s, s.Paired)
	}
	return s
}

// dead waits until it has killed itself.
func (m *cutDevice) dead() {
	m.t.Helper()
	select {
	case err := <-m.diedOf:
		m.diedOf <- err
	case <-time.After(patience):
		m.t.Fatalf("%s still lives", m.name)
	}
}

func (m *cutDevice) end() {
	_ = m.process.Process.Kill()
	m.dead()
}

// in says that a device is in a room with both of them, for good.
func in(s control.Status) bool {
	if s.Paired == nil || len(s.Paired.Members) != 2 {
		return false
	}
	for _, o := range s.Paired.Members {
		if o.Pending || !o.Here {
			return false
		}
	}
	return true
}

// pairCut has a open its window and b join; whoever dies meanwhile leaves the other to it. again: nobody dies, and a device that has just
// begun anew is asked once more.
func pairCut(a, b *cutDevice, again bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var o control.PairOpened
	open := func() bool {
		r, err := a.remote()
		return err == nil && r.Do(ctx, "POST", "/room/pair", struct{}{}, &o) == nil
	}
	if again {
		_ = wait.Until(ctx, open) // what comes of it is seen by status
	} else if !open() {
		return
	}
	if r, err := b.remote(); err == nil {
		_ = r.Do(ctx, "POST", "/room/join", control.JoinRequest{Code: o.Code, Host: o.Addresses[0]}, nil) // what comes of it is seen by status
	}
}

func TestPowerCutWhilePairing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		who, at string
		in      bool // both are in, with nobody doing anything; else neither is, and pairing again works
	}{
		{"host", join.StepOpen, false}, {"host", join.StepAdmitting, false}, {"host", join.StepAdmitted, false}, {"host", join.StepConfirmed, true}, {"host", join.StepRestart, true},
		{"newcomer", join.StepTrying, false}, {"newcomer", join.StepStoring, false}, {"newcomer", join.StepJoined, true}, {"newcomer", join.StepRestart, true},
	} {
		t.Run(c.who+" "+c.at, func(t *testing.T) {
			t.Parallel()
			takeTurn(t)
			a := &cutDevice{t: t, dir: shortDir(t), name: "kitchen", who: "Ada", port: unusedPort(t)}
			b := &cutDevice{t: t, dir: shortDir(t), name: "hall", who: "Ben", port: unusedPort(t)}
			t.Cleanup(func() {
				for _, m := range []*cutDevice{a, b} {
					if log, err := os.ReadFile(filepath.Join(m.dir, "log")); err == nil && t.Failed() {
						t.Logf("%s:\n%s", m.name, log)
					}
				}
			})
			victim := a
			dies := [2]string{c.at, ""}
			if c.who == "newcomer" {
				victim, dies = b, [2]string{"", c.at}
			}
			a.start(dies[0])
			defer func() { a.end() }()
			b.start(dies[1])
			defer func() { b.end() }()
			pairCut(a, b, false)
			victim.dead()
			victim.start("")
			if !c.in {
				b.status(func(s control.Status) bool { return s.Paired == nil && s.Pairing.Over() })
				if s := a.status(func(s control.Status) bool { return s.Pairing.Over() || s.Pairing.State == control.PairingOpen }); s.Paired != nil && !s.Paired.Members[1].Pending {
					t.Errorf("the kitchen has %+v, and the hall is in no room", s.Paired.Members)
				}
				cancelPairing(t, a) // where its window is still open
				pairCut(a, b, true)
			}
			a.status(in)
			b.status(in)
			for m, files := range map[*cutDevice]int{a: 2, b: 1} { // what is being written is there for a moment
				var left []string
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				if wait.Until(ctx, func() bool {
					left, _ = filepath.Glob(filepath.Join(m.dir, "state", "room", "*")) // the pattern is good
					return len(left) == files
				}) != nil {
					t.Errorf("%s has %v on disk", m.name, left)
				}
				cancel()
			}
		})
	}
}

// The host is gone, and the power of the other one is cut while that takes its place; or of the host, when it is back and gives the room up. Either
// is what it was, or what it was to be, and the next attempt ends well.
func TestPowerCutWhileAnotherKeepsTheRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ who, at string }{
		{"member", join.StepKeeping}, {"member", join.StepKept}, {"member", join.StepRestart}, {"host", join.StepMoved}, {"host", join.StepRestart},
	} {
		t.Run(c.who+" "+c.at, func(t *testing.T) {
			t.Parallel()
			takeTurn(t)
			a := &cutDevice{t: t, dir: shortDir(t), name: "kitchen", who: "Ada", port: unusedPort(t)}
			b := &cutDevice{t: t, dir: shortDir(t), name: "hall", who: "Ben", port: unusedPort(t)}
			a.start("")
			defer func() { a.end() }()
			b.start("")
			defer func() { b.end() }()
			pairCut(a, b, false)
			a.status(in)
			self := b.status(in).Device
			a.end()
			if c.who == "member" {
				b.end()
				b.start(c.at)
				keepCut(b, "")
				b.dead()
				b.start("")
			}
			keepCut(b, "") // it does already, or not yet
			kept := func(s control.Status) bool { return s.Paired != nil && s.Paired.Host == self }
			b.status(kept)
			dies := ""
			if c.who == "host" {
				dies = c.at
			}
			a.start(dies)
			keepCut(a, "127.0.0.1:"+b.port)
			if dies != "" {
				a.dead()
				a.start("")
			}
			for _, m := range []*cutDevice{a, b} {
				m.status(func(s control.Status) bool { return in(s) && kept(s) })
				want := map[*cutDevice]int{a: 1, b: 2}[m] // room.json, and the keeper's ca.key
				m.status(func(control.Status) bool {      // it may be writing right now
					left, err := filepath.Glob(filepath.Join(m.dir, "state", "room", "*"))
					return err == nil && len(left) == want
				})
			}
		})
	}
}

// keepCut has the device keep the room, or go over to the one at an address, as soon as it may; until it does so or dies.
func keepCut(m *cutDevice, at string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = wait.Until(ctx, func() bool {
		r, err := m.remote()
		if err != nil {
			return len(m.diedOf) > 0
		}
		defer r.Close()
		err = r.Do(ctx, "POST", "/room/keep", control.KeepRequest{At: at}, nil)
		return err == nil || len(m.diedOf) > 0 || strings.Contains(err.Error(), "already")
	})
}

func cancelPairing(t *testing.T, m *cutDevice) {
	t.Helper()
	r, err := m.remote()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Do(context.Background(), "POST", "/room/cancel", struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	m.status(func(s control.Status) bool { return s.Pairing.Over() })
}

// unusedPort is one that nobody has right now.
func unusedPort(t *testing.T) string {
	t.Helper()
	port, err := mqtttest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return port
}
