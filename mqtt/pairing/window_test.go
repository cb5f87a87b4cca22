package pairing

import (
	"conch/mqtt"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTwoAtOnce: of two joiners with the right code one is in, and the other hears that the window is closed, however their frames
// fall.
func TestTwoAtOnce(t *testing.T) {
	for _, kind := range []FrameKind{FrameHello, FrameShare, FrameConfirm} {
		t.Run("the second held at its "+string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, first, second := open(t, nil), newGuest(t, "first"), newGuest(t, "second")
				ch, served := h.run(second.id, "tls 2")
				held, release := make(chan struct{}), make(chan struct{})
				ch.on = func(_ *wire, f []byte) [][]byte {
					if k, _, _ := decode(f); k == kind {
						close(held)
						<-release
					}
					return [][]byte{f}
				}
				lost := make(chan error, 1)
				go func() { _, err := second.enter(context.Background(), ch); lost <- err }()
				<-held
				synctest.Wait() // until the window knows of the second: one that comes while the first is let in is told that it is busy
				if _, err := first.join(h, testCode); err != nil {
					t.Fatal(err)
				}
				close(release)
				wantErr(t, <-lost, ErrClosed)
				wantErr(t, <-served, ErrClosed)
				if err := <-h.ran; err != nil || len(second.kept) > 0 || len(h.admitted) != 1 || len(h.stored) != 1 {
					t.Errorf("%v; kept %v, admitted %v, stored %v", err, second.kept, h.admitted, h.stored)
				}
			})
		})
	}
}

// TestManyAtOnce is the same as a real race: exactly one is in.
func TestManyAtOnce(t *testing.T) {
	for range 20 {
		h := open(t, nil)
		var all sync.WaitGroup
		guests, errs := make([]*guest, 6), make([]error, 6)
		for i := range guests {
			guests[i] = newGuest(t, fmt.Sprint("guest ", i))
			all.Go(func() { _, errs[i] = guests[i].join(h, testCode) })
		}
		all.Wait()
		in := 0
		for i, err := range errs {
			switch {
			case err == nil && len(guests[i].kept) == 1:
				in++
			case errors.Is(err, ErrClosed) || errors.Is(err, ErrBusy) || errors.Is(err, ErrLost):
			default:
				t.Errorf("%v, kept %v", err, guests[i].kept)
			}
		}
		if err := <-h.ran; err != nil || in != 1 || len(h.admitted) != 1 || len(h.stored) != 1 {
			t.Fatalf("%d are in: %v; admitted %v", in, err, h.admitted)
		}
	}
}

// TestTooManyRuns: the fifth hears that the window is busy; a second later a silent run gives way to it. Whoever connects and says
// nothing, as often as he likes, keeps nobody out.
func TestTooManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		var silent []<-chan error
		for i := range MaxRuns {
			_, served := h.run(identity(t), fmt.Sprint("silent ", i))
			silent = append(silent, served)
			synctest.Wait()
		}
		g := newGuest(t, "bedroom")
		if _, err := g.join(h, testCode); !errors.Is(err, ErrBusy) {
			t.Fatalf("the fifth run: %v", err)
		}
		for i := range 50 { // and they keep coming, faster than they can be waited out
			time.Sleep(yieldAfter / 4)
			_, served := h.run(identity(t), fmt.Sprint("flood ", i))
			silent = append(silent, served)
			synctest.Wait()
		}
		tries := 0
		for {
			if _, err := g.join(h, testCode); err == nil {
				break
			} else if !errors.Is(err, ErrBusy) {
				t.Fatal(err)
			}
			if tries++; tries > 8 {
				t.Fatal("an honest joiner is kept out")
			}
			time.Sleep(yieldAfter / 4)
		}
		if err := <-h.ran; err != nil || len(g.kept) != 1 {
			t.Fatal(err)
		}
		for _, served := range silent {
			_ = await(served)
		}
		if got := h.kinds(); !slices.Equal(got, []WindowEventKind{EventAdmitting, EventPaired}) {
			t.Errorf("events %v", got)
		}
	})
}

// TestSlow: a joiner that stops at any of its frames is waited for 5 s and no longer, on the window's side; a window that stops,
// on the joiner's. The window stays open meanwhile for others.
func TestSlow(t *testing.T) {
	for _, kind := range []FrameKind{FrameHello, FrameShare, FrameConfirm} {
		synctest.Test(t, func(t *testing.T) {
			h, g := open(t, nil), newGuest(t, "slow")
			ch, served := h.run(g.id, "tls")
			ch.on = func(_ *wire, f []byte) [][]byte {
				if k, _, _ := decode(f); k == kind {
					time.Sleep(time.Minute)
				}
				return [][]byte{f}
			}
			began := time.Now()
			late := make(chan error, 1)
			go func() { _, err := g.enter(context.Background(), ch); late <- err }()
			wantErr(t, <-served, ErrSlow)
			if took := time.Since(began); took != stepLength {
				t.Errorf("held at its %s for %v", kind, took)
			}
			h.works(t)
			if err := <-late; err == nil {
				t.Error("the slow one is in")
			}
		})
	}
	for kind, want := range map[FrameKind]time.Duration{FrameHello: stepLength, FrameShare: stepLength, FrameWelcome: RunLength} {
		synctest.Test(t, func(t *testing.T) {
			h, g := open(t, nil), newGuest(t, "bedroom")
			j, w := pipe(g.id, h.id, "tls")
			w.on = func(_ *wire, f []byte) [][]byte {
				if k, _, _ := decode(f); k == kind {
					time.Sleep(time.Minute)
				}
				return [][]byte{f}
			}
			served := make(chan error, 1)
			go func() { served <- h.Serve(context.Background(), w) }()
			began := time.Now()
			_, err := g.enter(t.Context(), j)
			wantErr(t, err, ErrSlow)
			if took := time.Since(began); took != want {
				t.Errorf("held at the window's %s for %v; want %v", kind, took, want)
			}
			_ = await(served)
			h.stop()
		})
	}
}

// TestNobodyRuns: a run on a window that nobody runs ends all the same.
func TestNobodyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWindow(WindowConfig{Identity: identity(t), RoomID: "rabc", Admit: func(context.Context, Party) ([]byte, error) { return nil, nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, end := pipe(identity(t), w.cfg.Identity, "tls")
		if err := w.Serve(t.Context(), end); err == nil {
			t.Error("served without a word")
		}
	})
}

// TestAdmitFails: the joiner hears it, the device is told why, nothing is pending, and the window is open to the next.
func TestAdmitFails(t *testing.T) {
	disk := errors.New("no space left on device")
	for _, c := range []struct {
		name  string
		admit func(ctx context.Context) ([]byte, error)
		want  error
	}{
		{"a full disk", func(context.Context) ([]byte, error) { return nil, disk }, disk},
		{"no host", func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, context.DeadlineExceeded},
		{"too long a welcome", func(context.Context) ([]byte, error) { return make([]byte, MaxWelcome+1), nil }, nil},
		{"too late", func(context.Context) ([]byte, error) { time.Sleep(RunLength + time.Second); return nil, nil }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := true
				h := open(t, func(cfg *WindowConfig) {
					good := cfg.Admit
					cfg.Admit = func(ctx context.Context, p Party) ([]byte, error) {
						if broken {
							return c.admit(ctx)
						}
						return good(ctx, p)
					}
				})
				g := newGuest(t, "bedroom")
				if _, err := g.join(h, testCode); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrSlow) {
					t.Fatal(err)
				}
				synctest.Wait()
				time.Sleep(2 * time.Second)
				e, ok := h.event(EventFailed)
				if !ok || e.Err == nil || c.want != nil && !errors.Is(e.Err, c.want) || e.Party.Device != g.id.ID() {
					t.Fatalf("%+v", e)
				}
				if len(g.kept) > 0 {
					t.Error("kept")
				}
				broken = false
				h.works(t)
			})
		})
	}
}

// TestStoreFails: a joiner with a full disk is out and says so; the opener is told that it cannot be sure.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g := open(t, nil), newGuest(t, "bedroom")
		g.fail = errors.New("no space left on device")
		_, err := g.join(h, testCode)
		wantErr(t, err, ErrNotStored, g.fail)
		wantErr(t, <-h.ran, ErrNotStored)
		e, ok := h.event(EventUnsure)
		if !ok || !errors.Is(e.Err, ErrNotStored) || e.Party.Name != "bedroom" || len(h.stored) > 0 {
			t.Errorf("%+v; stored %v", e, h.stored)
		}
	})
}

// TestClose: by its person, at each moment; nothing comes after the last event, and Run returns when all is over.
func TestClose(t *testing.T) {
	for _, kind := range []FrameKind{FrameHello, FrameShare, FrameConfirm, FrameStored} {
		synctest.Test(t, func(t *testing.T) {
			h, g := open(t, nil), newGuest(t, "bedroom")
			ch, served := h.run(g.id, "tls")
			ch.on = func(_ *wire, f []byte) [][]byte {
				if k, _, _ := decode(f); k == kind {
					h.Close()
					h.Close()
				}
				return [][]byte{f}
			}
			_, err := g.enter(t.Context(), ch)
			last, want, in := EventClosed, ErrClosed, 0
			if kind == FrameStored { // too late: the welcome is out, and kept
				last, want, in = EventUnsure, ErrNotStored, 1
			} else {
				wantErr(t, err, ErrClosed)
			}
			wantErr(t, <-h.ran, want)
			wantErr(t, <-served, ErrClosed)
			kinds := h.kinds()
			if len(g.kept) != in || len(h.admitted) != in || kinds[len(kinds)-1] != last {
				t.Errorf("closed at %s: kept %v, admitted %v, events %v", kind, g.kept, h.admitted, kinds)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // and while it admits
		began := make(chan struct{})
		h := open(t, func(c *WindowConfig) {
			c.Admit = func(ctx context.Context, _ Party) ([]byte, error) {
				close(began)
				<-ctx.Done()
				return []byte("too late"), nil
			}
		})
		g := newGuest(t, "bedroom")
		go func() { <-began; h.Close() }()
		_, err := g.join(h, testCode)
		wantErr(t, err, ErrClosed)
		wantErr(t, <-h.ran, ErrClosed)
		if len(g.kept) > 0 {
			t.Error("welcomed by a closed window")
		}
	})
}

// TestToldBeforeTheEnd: Run and Done say that a window is closed when its last event has been told, also if that takes its time and the
// runs are over sooner.
func TestToldBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := false
		h := open(t, func(c *WindowConfig) { c.On = func(WindowEvent) { time.Sleep(time.Second); told = true } })
		_, served := h.run(identity(t), "tls")
		synctest.Wait()
		go h.Close()
		wantErr(t, <-served, ErrClosed)
		<-h.Done()
		if !told {
			t.Error("done before it was told")
		}
		wantErr(t, <-h.ran, ErrClosed)
	})
}

// TestContext: the end of Run's context closes the window; that of Join's ends the joiner.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWindow(WindowConfig{Identity: identity(t), RoomID: "rabc", Admit: func(context.Context, Party) ([]byte, error) { return nil, nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- w.Run(ctx) }()
		synctest.Wait()
		cancel()
		wantErr(t, <-ran, ErrClosed)
		<-w.Done()

		g := newGuest(t, "bedroom")
		j, _ := pipe(g.id, identity(t), "tls")
		ctx, cancel = context.WithCancel(t.Context())
		joined := make(chan error, 1)
		go func() { _, err := g.enter(ctx, j); joined <- err }()
		synctest.Wait()
		cancel()
		wantErr(t, <-joined, context.Canceled)
	})
}

// TestSettings: what cannot work is refused before anything is open, and without the code.
func TestSettings(t *testing.T) {
	admit := func(context.Context, Party) ([]byte, error) { return nil, nil }
	for _, c := range []WindowConfig{
		{RoomID: "r", Admit: admit},
		{Identity: identity(t), RoomID: "r"},
		{Identity: identity(t), Admit: admit},
		{Identity: identity(t), RoomID: "r", Admit: admit, Code: "12345"},
		{Identity: identity(t), RoomID: "r", Admit: admit, Code: "12345x"},
	} {
		if _, err := NewWindow(c); err == nil {
			t.Errorf("%v", c)
		}
	}
	for _, code := range []string{"", "12345", "1234567", "abcdef", "１２３"} {
		g := newGuest(t, "bedroom")
		j, _ := pipe(g.id, identity(t), "tls")
		g.code = code
		_, err := g.enter(t.Context(), j)
		wantErr(t, err, ErrWrongCode)
	}
	for in, want := range map[string]string{"kitchen": "kitchen", " ": "?", "a\x00b\xffc": "abc", "Küche\n": "Küche"} {
		if got := mqtt.FitName(in, MaxName, "?"); got != want || !validName(got) {
			t.Errorf("%q is named %q", in, got)
		}
	}
	if got := mqtt.FitName(string(slices.Repeat([]rune("ü"), 40)), MaxName, "?"); len(got) != MaxName || !validName(got) {
		t.Errorf("%q", got)
	}
}
