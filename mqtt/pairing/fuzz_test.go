package pairing

import (
	"bytes"
	"context"
	"testing"
	"time"

	"conch/mqtt/cpace"
)

// seeds are one frame of each kind.
func seeds(f *testing.F) [][]byte {
	s, err := newSecrets(cpace.Responder, identity(f), "kitchen", "rabc", "home", nil)
	if err != nil {
		f.Fatal(err)
	}
	return [][]byte{
		s.self,
		encode(&share{FrameShare, make([]byte, cpace.ShareSize)}),
		encode(&confirm{FrameConfirm, make([]byte, tagSize)}),
		encode(&welcome{FrameWelcome, make([]byte, tagSize), make([]byte, 100)}),
		encode(&stored{FrameStored}),
		encode(&refused{FrameRefused, WhyWrong}),
	}
}

// FuzzFrame: what decode takes is within its bounds and has one spelling.
func FuzzFrame(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, frame, err := decode(b)
		if err != nil {
			if frame != nil || kind != "" {
				t.Fatal("refused, and something came of it")
			}
			return
		}
		if !bytes.Equal(encode(frame), b) || len(b) > maxSealed || kind != FrameWelcome && len(b) > MaxFrame {
			t.Fatalf("%s of %d bytes", kind, len(b))
		}
	})
}

// FuzzStream: whatever a stream holds, each frame taken from it is as long as was announced, and within its bound.
func FuzzStream(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, '{', '}', 0, 0, 0, 0})
	f.Add([]byte{0, 1, 0, 0})
	f.Add([]byte{0, 0, 0, 9, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			before := r.Len()
			frame, err := readFrame(r)
			if err != nil {
				if frame != nil {
					t.Fatal("an error, and a frame")
				}
				return
			}
			if len(frame) > maxSealed || before-r.Len() != 4+len(frame) {
				t.Fatalf("a frame of %d bytes took %d", len(frame), before-r.Len())
			}
		}
	})
}

// FuzzNote: the same of what comes at a meeting.
func FuzzNote(f *testing.F) {
	id := identity(f)
	m := &meeting{room: "home", self: id}
	for _, n := range []note{
		{Type: noteLook, Run: make([]byte, runSize)},
		{Type: noteOpen, To: id.ID(), Run: make([]byte, runSize), RoomID: "rabc", RoomName: "home"},
		{Type: noteFrame, To: id.ID(), Run: make([]byte, runSize), Answer: make([]byte, runSize), Seq: 1, Frame: []byte("x")},
	} {
		n.Key = id.PublicKey()
		n.Sig = m.sign(n)
		f.Add(encode(&n))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, _, ok := readNote("home", b)
		if ok && (!bytes.Equal(encode(n), b) || len(b) > maxNote) {
			t.Fatalf("%d bytes", len(b))
		}
	})
}

// FuzzWindow: whatever four frames a joiner sends that does not know the code, it is not admitted, and the run ends. (Its keys are random,
// and so its coverage is not the same twice: as in the Makefile, -fuzzminimizetime must be a number of times, or it minimizes for a minute.)
func FuzzWindow(f *testing.F) {
	s := seeds(f)
	f.Add(s[0], s[1], s[2], s[4], uint8(1))
	f.Add(s[1], s[0], s[2], s[4], uint8(2))
	f.Add(s[0], s[5], s[2], s[3], uint8(0))
	f.Fuzz(func(t *testing.T, a, b, c, d []byte, honest uint8) {
		id := identity(t)
		w, err := NewWindow(WindowConfig{Identity: identity(t), RoomID: "rabc", Admit: func(context.Context, Party) ([]byte, error) {
			t.Error("admitted")
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		frames := [][]byte{a, b, c, d}
		mine, err := newSecrets(cpace.Initiator, id, "x", "", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if honest > 0 { // so that what is random reaches the later steps
			frames[0] = mine.self
		}
		if honest > 1 {
			_, share, err := cpace.Start(cpace.Initiator, []byte("000000"), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			frames[1] = encode(&struct {
				Type  FrameKind `json:"type"`
				Share []byte    `json:"share"`
			}{FrameShare, share})
		}
		j, end := pipe(id, w.cfg.Identity, "tls")
		for _, frame := range frames {
			_ = j.send(frame)
		}
		j.over.end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = w.Serve(ctx, end)
		if w.state.Wrong > 1 || w.state.Winner != 0 {
			t.Fatalf("%+v", w.state)
		}
		w.Close()
	})
}
