package pairing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/mqtt/cpace"
)

// recordAll keeps what is sent.
func recordAll(to *[][]byte) func(*wire, []byte) [][]byte {
	return func(_ *wire, f []byte) [][]byte {
		*to = append(*to, slices.Clone(f))
		return [][]byte{f}
	}
}

// TestReplay: a recorded pairing, played to another window with the same code by somebody who has even the joiner's key, is nothing;
// nor is the window's half, played to the joiner.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g := open(t, nil), newGuest(t, "bedroom")
		j, w := pipe(g.id, h.id, "tls")
		var fromJoiner, fromWindow [][]byte
		j.on, w.on = recordAll(&fromJoiner), recordAll(&fromWindow)
		go func() { _ = h.Serve(t.Context(), w) }()
		if _, err := g.enter(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if err := <-h.ran; err != nil || len(fromJoiner) != 4 || len(fromWindow) != 3 {
			t.Fatalf("%v; %d and %d frames", err, len(fromJoiner), len(fromWindow))
		}
		for _, binding := range []string{"tls", "another"} { // even a TLS session could not be had twice
			again := open(t, func(c *WindowConfig) { c.Identity = h.id })
			again.id = h.id
			ch, served := again.run(g.id, binding)
			for _, f := range fromJoiner {
				_ = ch.Send(f)
			}
			wantErr(t, <-served, ErrWrongCode)
			if len(again.admitted) != 0 || !slices.Equal(again.kinds(), []WindowEventKind{EventWrong}) {
				t.Errorf("admitted %v, events %v", again.admitted, again.kinds())
			}
			again.works(t)

			j, w := pipe(g.id, h.id, binding)
			for _, f := range fromWindow {
				_ = w.Send(f)
			}
			victim := *g
			victim.kept = nil
			victim.cfg.Store = func(Party, []byte) error { t.Error("the joiner kept a recording"); return nil }
			_, err := victim.enter(t.Context(), j)
			wantErr(t, err, ErrWrongCode)
		}
	})
}

// TestRelay: somebody in the middle who passes everything on is refused. On TLS the hellos betray him; on a channel that proved no
// keys, the binding would; with hellos of his own, the shares do not fit.
func TestRelay(t *testing.T) {
	for _, c := range []struct {
		name     string
		unproven bool
		own      bool // says hello himself
		window   error
		joiner   error
	}{
		{"as it is", false, false, ErrProtocol, ErrProtocol},
		{"unproven keys", true, false, ErrWrongCode, ErrWrongCode},
		{"own hellos", false, true, ErrWrongCode, ErrWrongCode},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, g, mallory := open(t, nil), newGuest(t, "bedroom"), identity(t)
				toWindow, served := h.run(mallory, "session with the window")
				j, toJoiner := pipe(g.id, mallory, "session with the joiner")
				if c.unproven {
					h.stop() // a window whose channel proves nothing
					h = open(t, nil)
					var w *wire
					toWindow, w = pipe(mallory, h.id, "session with the window")
					w.peer, j.peer = nil, nil
					ended := make(chan error, 1)
					go func() { ended <- h.Serve(context.Background(), w) }()
					served = ended
				}
				hellos := func(role cpace.Role, room string) func(*wire, []byte) [][]byte {
					return func(_ *wire, f []byte) [][]byte {
						if kind, _, _ := decode(f); kind != FrameHello || !c.own {
							return [][]byte{f}
						}
						s, err := newSecrets(role, mallory, "mallory", room, "", nil)
						if err != nil {
							t.Error(err)
						}
						return [][]byte{s.self}
					}
				}
				toWindow.on, toJoiner.on = hellos(cpace.Initiator, ""), hellos(cpace.Responder, "rabc")
				pass := func(from, to *wire) {
					for {
						f, err := from.Receive(context.Background())
						if err != nil {
							return
						}
						_ = to.Send(f)
					}
				}
				go pass(toJoiner, toWindow)
				go pass(toWindow, toJoiner)
				_, err := g.enter(t.Context(), j)
				wantErr(t, err, c.joiner)
				wantErr(t, <-served, c.window)
				if len(h.admitted) > 0 || len(g.kept) > 0 {
					t.Errorf("admitted %v, kept %v", h.admitted, g.kept)
				}
				toWindow.over.end()
				toJoiner.over.end()
				h.works(t)
			})
		})
	}
}

// guess is what somebody in the middle can do with one run on each side: take part with a code of his choice. It says what he
// learned: whether the joiner's confirmation fits his guess, and how the window answered.
func guess(t *testing.T, h *host, j *Joiner, code string) (fits bool, window, joiner error) {
	t.Helper()
	mallory := identity(t)
	// Towards the joiner he is the window.
	ch, mine := pipe(j.cfg.Identity, mallory, "session with the joiner")
	ended := make(chan error, 1)
	go func() { _, err := j.Join(context.Background(), ch, testCode); ended <- err }()
	next := func(w *wire) []byte {
		f, err := w.Receive(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	read := func(b []byte) any {
		_, f, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	s, err := newSecrets(cpace.Responder, mallory, "mallory", "rabc", "", mine.binding)
	if err != nil {
		t.Fatal(err)
	}
	raw := next(mine)
	if no, ok := read(raw).(*refused); ok { // the joiner has given up
		return false, nil, errors.Join(no.Why.err(), <-ended)
	}
	if err := s.begin(code, raw, *read(raw).(*hello)); err != nil {
		t.Fatal(err)
	}
	_ = mine.Send(s.self)
	if err := s.finish(read(next(mine)).(*share).Share); err != nil {
		t.Fatal(err)
	}
	_ = mine.Send(encode(&share{FrameShare, s.share}))
	fits = s.joinerIsRight(read(next(mine)).(*confirm).Tag)
	sealed, err := s.seal([]byte("come to me"))
	if err != nil {
		t.Fatal(err)
	}
	_ = mine.Send(encode(&welcome{FrameWelcome, s.windowTag, sealed}))
	joiner = <-ended

	// Towards the window he is a joiner.
	toWindow, _ := h.run(mallory, "session with the window")
	asJoiner := NewJoiner(JoinConfig{Identity: mallory, Name: "mallory", Store: func(Party, []byte) error { return nil }})
	_, window = asJoiner.Join(context.Background(), toWindow, code)
	return fits, window, joiner
}

// TestGuess: somebody in the middle has one guess a run, three at a window and three at a joiner; then both are closed to him, also
// to the right guess. With the right code at once he would be in: so the harness can.
func TestGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g := open(t, nil), newGuest(t, "bedroom")
		j := NewJoiner(g.cfg)
		for i, code := range []string{"000000", "482914", "582915"} {
			fits, window, joiner := guess(t, h, j, code)
			if fits {
				t.Fatalf("%s fits", code)
			}
			wantErr(t, window, ErrWrongCode)
			wantErr(t, joiner, ErrWrongCode)
			if got := errors.Is(joiner, ErrTooMany); got != (i == 2) {
				t.Errorf("after %d failed confirmations the joiner says %v", i+1, joiner)
			}
		}
		wantErr(t, <-h.ran, ErrTooMany)
		fits, _, joiner := guess(t, h, j, testCode)
		wantErr(t, joiner, ErrTooMany)
		if _, err := newGuest(t, "late").join(h, testCode); fits || len(g.kept) > 0 || len(h.admitted) > 0 || !errors.Is(err, ErrClosed) {
			t.Errorf("fits %v, kept %v, admitted %v, %v", fits, g.kept, h.admitted, err)
		}

		h, g = open(t, nil), newGuest(t, "bedroom")
		fits, window, joiner := guess(t, h, NewJoiner(g.cfg), testCode)
		if !fits || window != nil || joiner != nil || !slices.Equal(g.kept, []string{"come to me"}) {
			t.Errorf("the harness cannot guess right: %v %v %v", fits, window, joiner)
		}
		_ = await(h.ran)
	})
}

// TestThreeWrongCodes: the window says each, closes with the third, and the next one has another code.
func TestThreeWrongCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for i := range 3 {
			g := newGuest(t, "bedroom")
			if _, err := g.join(h, "111111"); !errors.Is(err, ErrWrongCode) || len(g.kept) > 0 {
				t.Fatalf("%d: %v", i, err)
			}
		}
		wantErr(t, <-h.ran, ErrTooMany)
		if got := h.kinds(); !slices.Equal(got, []WindowEventKind{EventWrong, EventWrong, EventWrong, EventTooMany}) {
			t.Fatalf("events %v", got)
		}
		for i, e := range h.events[:3] {
			if e.Left != 2-i || e.Party.Name != "bedroom" {
				t.Errorf("%+v", e)
			}
		}
		if _, err := newGuest(t, "late").join(h, testCode); !errors.Is(err, ErrClosed) {
			t.Errorf("the right code at a closed window: %v", err)
		}
		if h.Left() != 0 || len(h.admitted) > 0 {
			t.Error("still open")
		}
	})
	codes := map[string]bool{}
	for range 100 {
		w, err := NewWindow(WindowConfig{Identity: identity(t), RoomID: "r", Admit: func(context.Context, Party) ([]byte, error) { return nil, nil }})
		if err != nil || !ValidCode(w.Code()) {
			t.Fatal(err, w.Code())
		}
		codes[w.Code()] = true
	}
	if len(codes) < 98 { // of a million: three alike are not to be expected in a lifetime of runs
		t.Errorf("%d codes of 100 windows", len(codes))
	}
}

// TestExpired: the window closes by itself, a run that is under way included.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, slow := open(t, nil), newGuest(t, "slow")
		time.Sleep(WindowLength - 3*time.Second)
		if h.Left() != 3*time.Second {
			t.Errorf("%v left", h.Left())
		}
		ch, served := h.run(slow.id, "tls")
		ch.on = func(_ *wire, f []byte) [][]byte {
			if kind, _, _ := decode(f); kind == FrameConfirm {
				time.Sleep(3 * time.Second) // the right code, at the very end
			}
			return [][]byte{f}
		}
		_, err := slow.enter(t.Context(), ch)
		wantErr(t, err, ErrExpired)
		wantErr(t, <-served, ErrExpired)
		wantErr(t, <-h.ran, ErrExpired)
		if _, err := newGuest(t, "late").join(h, testCode); !errors.Is(err, ErrClosed) {
			t.Errorf("the right code after the end: %v", err)
		}
		if got := h.kinds(); !slices.Equal(got, []WindowEventKind{EventExpired}) || len(h.admitted) > 0 {
			t.Errorf("events %v, admitted %v", got, h.admitted)
		}
	})
}

// badFrames are what a joiner may send instead of a frame; each is made of the good one.
var badFrames = map[string]func(f []byte) []byte{
	"nothing":         func([]byte) []byte { return nil },
	"no JSON":         func([]byte) []byte { return []byte("\x00\xff hello") },
	"a list":          func([]byte) []byte { return []byte(`[{"type":"stored"}]`) },
	"an unknown kind": func([]byte) []byte { return []byte(`{"type":"open sesame"}`) },
	"no kind":         func([]byte) []byte { return []byte(`{}`) },
	"oversized": func(f []byte) []byte {
		return append(f[:len(f)-1:len(f)-1], append(bytes.Repeat([]byte(" "), MaxFrame), '}')...)
	},
	"huge":          func([]byte) []byte { return bytes.Repeat([]byte("["), maxSealed+1) },
	"deep":          func([]byte) []byte { return bytes.Repeat([]byte("["), MaxFrame) },
	"a field more":  func(f []byte) []byte { return append(f[:len(f)-1:len(f)-1], `,"admin":true}`...) },
	"a field twice": func(f []byte) []byte { return append([]byte(`{"type":"stored",`), f[1:]...) },
	"another case":  func(f []byte) []byte { return bytes.Replace(f, []byte(`"type"`), []byte(`"Type"`), 1) },
	"a space":       func(f []byte) []byte { return append(f, ' ') },
	"two frames":    func(f []byte) []byte { return append(f, f...) },
	"a stored":      func([]byte) []byte { return encode(&stored{FrameStored}) },
	"a welcome": func([]byte) []byte {
		return encode(&welcome{FrameWelcome, make([]byte, tagSize), make([]byte, 64)})
	},
	"a short share": func([]byte) []byte { return encode(&share{FrameShare, make([]byte, 31)}) },
	"a long tag":    func([]byte) []byte { return encode(&confirm{FrameConfirm, make([]byte, tagSize+1)}) },
	"not base64":    func(f []byte) []byte { return bytes.Replace(f, []byte(`":"`), []byte(`":"%%`), 2) },
}

// TestBadFrames: what is malformed, oversized, unknown or out of order, at each step, ends that run and nothing else: no try is
// used up, nobody is admitted.
func TestBadFrames(t *testing.T) {
	for name, bad := range badFrames {
		for step, kind := range []FrameKind{FrameHello, FrameShare, FrameConfirm} {
			t.Run(fmt.Sprintf("%s for %s", name, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, g := open(t, nil), newGuest(t, "bedroom")
					ch, served := h.run(g.id, "tls")
					n := 0
					ch.on = func(_ *wire, f []byte) [][]byte {
						if n++; n == step+1 {
							return [][]byte{bad(slices.Clone(f))}
						}
						return [][]byte{f}
					}
					_, err := g.enter(t.Context(), ch)
					wantErr(t, err, ErrProtocol)
					wantErr(t, <-served, ErrProtocol)
					if len(h.admitted) > 0 || len(h.kinds()) > 0 {
						t.Errorf("admitted %v, events %v", h.admitted, h.kinds())
					}
					h.works(t)
				})
			})
		}
	}
}

// TestBadWindow: the same from a window; the joiner keeps nothing.
func TestBadWindow(t *testing.T) {
	for name, bad := range badFrames {
		for step, kind := range []FrameKind{FrameHello, FrameShare, FrameWelcome} {
			if name == "oversized" && kind == FrameWelcome || name == "a welcome" && kind == FrameWelcome {
				continue // a welcome may be longer; and one with another tag is a wrong code: TestReplay
			}
			t.Run(fmt.Sprintf("%s for %s", name, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, g := open(t, nil), newGuest(t, "bedroom")
					j, w := pipe(g.id, h.id, "tls")
					n := 0
					w.on = func(_ *wire, f []byte) [][]byte {
						if n++; n == step+1 {
							return [][]byte{bad(slices.Clone(f))}
						}
						return [][]byte{f}
					}
					served := make(chan error, 1)
					go func() { served <- h.Serve(context.Background(), w) }()
					_, err := g.enter(t.Context(), j)
					wantErr(t, err, ErrProtocol)
					_ = await(served)
					if len(g.kept) > 0 || len(h.stored) > 0 {
						t.Errorf("kept %v, stored %v", g.kept, h.stored)
					}
					h.stop()
				})
			})
		}
	}
}

// TestTagOneBitOff: the window's confirmation is checked for itself, although only who has the key could have sealed the welcome.
func TestTagOneBitOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g := open(t, nil), newGuest(t, "bedroom")
		j, w := pipe(g.id, h.id, "tls")
		w.on = func(_ *wire, b []byte) [][]byte {
			if _, f, _ := decode(b); f != nil {
				if f, ok := f.(*welcome); ok {
					f.Tag[0] ^= 1
					b = encode(f)
				}
			}
			return [][]byte{b}
		}
		go func() { _ = h.Serve(context.Background(), w) }()
		_, err := g.enter(t.Context(), j)
		wantErr(t, err, ErrWrongCode)
		wantErr(t, <-h.ran, ErrNotStored)
		if len(g.kept) > 0 {
			t.Error("kept")
		}
	})
}

// TestForeignHello: a hello must be that of the key that the channel has proved, of another version it is refused by name, and
// nobody pairs with itself.
func TestForeignHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g, other := open(t, nil), newGuest(t, "bedroom"), identity(t)
		for name, c := range map[string]struct {
			change func(*hello)
			want   error
		}{
			"another's key":     {func(f *hello) { f.Key, f.Device = other.PublicKey(), other.ID() }, ErrProtocol},
			"another's id":      {func(f *hello) { f.Device = other.ID() }, ErrProtocol},
			"the window's own":  {func(f *hello) { f.Key, f.Device = h.id.PublicKey(), h.id.ID() }, ErrProtocol},
			"version 2":         {func(f *hello) { f.Version = 2 }, ErrVersion},
			"no nonce":          {func(f *hello) { f.Nonce = nil }, ErrProtocol},
			"no name":           {func(f *hello) { f.Name = "" }, ErrProtocol},
			"an unclean name":   {func(f *hello) { f.Name = "bed\nroom" }, ErrProtocol},
			"a name too long":   {func(f *hello) { f.Name = strings.Repeat("x", MaxName+1) }, ErrProtocol},
			"a room of its own": {func(f *hello) { f.RoomID = "rabc" }, ErrProtocol},
		} {
			ch, served := h.run(g.id, "tls")
			ch.on = func(_ *wire, b []byte) [][]byte {
				var f hello
				if kind, _, _ := decode(b); kind == FrameHello {
					if err := json.Unmarshal(b, &f); err != nil {
						t.Error(err)
					}
					c.change(&f)
					b = encode(&f)
				}
				return [][]byte{b}
			}
			_, err := g.enter(t.Context(), ch)
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			wantErr(t, <-served, c.want)
		}
		j, w := pipe(h.id, h.id, "tls")
		go func() { _ = h.Serve(context.Background(), w) }()
		cfg := g.cfg
		cfg.Identity = h.id
		if _, err := NewJoiner(cfg).Join(t.Context(), j, testCode); !errors.Is(err, ErrProtocol) {
			t.Errorf("a device that pairs with itself: %v", err)
		}
		h.works(t)
	})
}
