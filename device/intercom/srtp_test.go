package intercom

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
)

func pair(t testing.TB) (*seal, *open) {
	keys := []byte("0123456789abcdefsalt-of-12-b")
	s, err := newSeal(keys, 7)
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOpen(keys, 7)
	if err != nil {
		t.Fatal(err)
	}
	return s, o
}

// The nonce, the header as associated data and the place of the tag are those of the standard: RFC 7714, 16.1.1.
func TestDatagramsAreThoseOfTheStandard(t *testing.T) {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	aead, err := newAEAD(key)
	if err != nil {
		t.Fatal(err)
	}
	header, _ := hex.DecodeString("8040f17b8041f8d35501a0b2")
	text := "Gallia est omnis divisa in partes tres"
	iv := nonce([saltLength]byte([]byte("Quid pro quo")), 0x5501a0b2, 0xf17b)
	if got := hex.EncodeToString(iv); got != "51753c6580c2726f20718414" {
		t.Errorf("nonce %s", got)
	}
	want := "8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833899d7f27beb16a9152cf765ee4390cce"
	if got := hex.EncodeToString(aead.Seal(header, iv, []byte(text), header)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDatagramsInOrderTwiceAndForged(t *testing.T) {
	s, o := pair(t)
	s.index = 65530 // over the turn of the number
	var sent [][]byte
	for i := range 200 {
		b, err := s.packet([]int16{int16(i), -1})
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, slices.Clone(b))
	}
	if bytes.Contains(sent[1], []byte{0, 1, 0xff, 0xff}) {
		t.Error("the samples can be read")
	}
	o.begun, o.last, o.seen = true, 65529, 1
	for _, i := range []int{0, 2, 1, 3, 50, 20, 199} {
		if _, pcm, err := o.packet(sent[i], nil); err != nil || pcm[0] != int16(i) {
			t.Fatalf("datagram %d: %v %v", i, pcm, err)
		}
	}
	for _, i := range []int{199, 50, 100} {
		if _, _, err := o.packet(sent[i], nil); !errors.Is(err, errReplay) {
			t.Errorf("datagram %d, a second time or too late: %v", i, err)
		}
	}
	for i := range sent[150] {
		b := slices.Clone(sent[150])
		b[i] ^= 1
		if _, _, err := o.packet(b, nil); err == nil {
			t.Errorf("with byte %d changed it is taken", i)
		}
	}
	if _, _, err := o.packet(sent[150], nil); err != nil {
		t.Errorf("what was forged has put the real one out: %v", err)
	}
}

func FuzzDatagram(f *testing.F) {
	s, _ := pair(f)
	b, _ := s.packet([]int16{1, 2, 3})
	f.Add(slices.Clone(b))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, o := pair(t)
		if _, pcm, err := o.packet(b, nil); err == nil && 2*len(pcm)+headerSize+tagSize != len(b) {
			t.Errorf("%d samples of %d bytes", len(pcm), len(b))
		}
		if _, err := readMessage(b); err == nil && len(b) > maxLine {
			t.Errorf("a line of %d bytes is taken", len(b))
		}
		_, _ = readOffer(b)
	})
}
