package cpace

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gtank/ristretto255"
	"pgregory.net/rapid"
)

// unhex is bytes that a vector writes in hex.
type unhex []byte

func (h *unhex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// vectors are the draft's for this group (appendix B.3).
type vectors struct {
	PRS, DSI, CI, SID                         unhex
	ZpadLength                                int
	GeneratorString, GeneratorHash, Generator unhex
	ScalarA, ADa, ShareA                      unhex // the draft's ya, ADa, Ya
	ScalarB, ADb, ShareB                      unhex
	K                                         unhex
	TranscriptIR, DSIISK, ISKInputIR, ISKIR   unhex // initiator and responder
	TranscriptOC, ISKOC                       unhex // symmetric
	SidOutputIR, SidOutputOC                  unhex
	Valid                                     struct{ S, X, Product unhex }
	Invalid                                   []unhex
}

func load(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/ristretto255.json")
	if err != nil {
		t.Fatal(err)
	}
	// Keys that differ in case only (ya, Ya) are told apart by hand: encoding/json would not.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	var v vectors
	for name, to := range map[string]any{
		"prs": &v.PRS, "dsi": &v.DSI, "ci": &v.CI, "sid": &v.SID, "zpadLength": &v.ZpadLength,
		"generatorString": &v.GeneratorString, "generatorHash": &v.GeneratorHash, "generator": &v.Generator,
		"ya": &v.ScalarA, "ADa": &v.ADa, "Ya": &v.ShareA, "yb": &v.ScalarB, "ADb": &v.ADb, "Yb": &v.ShareB, "K": &v.K,
		"transcriptIR": &v.TranscriptIR, "dsiISK": &v.DSIISK, "iskInputIR": &v.ISKInputIR, "iskIR": &v.ISKIR,
		"transcriptOC": &v.TranscriptOC, "iskOC": &v.ISKOC, "sidOutputIR": &v.SidOutputIR, "sidOutputOC": &v.SidOutputOC,
		"valid": &v.Valid, "invalid": &v.Invalid,
	} {
		if err := json.Unmarshal(raw[name], to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return v
}

func scalar(t *testing.T, b []byte) *ristretto255.Scalar {
	t.Helper()
	s := ristretto255.NewScalar()
	if err := s.Decode(b); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestVectors is the whole of the draft's appendix B.3.
func TestVectors(t *testing.T) {
	v := load(t)
	same := func(what string, got, want []byte) {
		t.Helper()
		if len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", what, got, want)
		}
	}
	same("DSI", []byte(dsi), v.DSI)
	same("DSI_ISK", []byte(labelISK), v.DSIISK)
	gs := generatorString(v.PRS, v.CI, v.SID)
	same("generator_string", gs, v.GeneratorString)
	same("the padding", gs[1+len(v.DSI)+1+len(v.PRS):][:1+v.ZpadLength], append([]byte{byte(v.ZpadLength)}, make([]byte, v.ZpadLength)...))
	hash := sha512.Sum512(gs)
	same("hash", hash[:], v.GeneratorHash)
	same("generator", generator(v.PRS, v.CI, v.SID).Encode(nil), v.Generator)

	a, ya := start(Initiator, v.PRS, v.CI, v.SID, scalar(t, v.ScalarA))
	same("Ya", ya, v.ShareA)
	b, yb := start(Responder, v.PRS, v.CI, v.SID, scalar(t, v.ScalarB))
	same("Yb", yb, v.ShareB)
	k, ok := multiply(scalar(t, v.ScalarA), yb)
	same("K of A", k, v.K)
	k2, ok2 := multiply(scalar(t, v.ScalarB), ya)
	same("K of B", k2, v.K)
	if !ok || !ok2 {
		t.Error("a good share was refused")
	}
	ir := transcript(ya, v.ADa, yb, v.ADb)
	same("transcript_ir", ir, v.TranscriptIR)
	same("input of ISK", append(lvCat([]byte(labelISK), v.SID, k), ir...), v.ISKInputIR)
	iskA, errA := a.Finish(yb, v.ADa, v.ADb)
	iskB, errB := b.Finish(ya, v.ADa, v.ADb)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	same("ISK of A", iskA, v.ISKIR)
	same("ISK of B", iskB, v.ISKIR)

	// What pairing has no use for: the symmetric setting, and the session id that comes out. The parts are the same.
	parts := [][]byte{lvCat(ya, v.ADa), lvCat(yb, v.ADb)}
	slices.SortFunc(parts, func(a, b []byte) int { return bytes.Compare(b, a) })
	oc := slices.Concat([]byte("oc"), parts[0], parts[1])
	same("transcript_oc", oc, v.TranscriptOC)
	same("ISK, symmetric", key(v.SID, k, oc), v.ISKOC)
	sid := sha512.Sum512(append([]byte("CPaceSidOutput"), ir...))
	same("sid_output_ir", sid[:], v.SidOutputIR)
	sid = sha512.Sum512(append([]byte("CPaceSidOutput"), oc...))
	same("sid_output_oc", sid[:], v.SidOutputOC)

	k, ok = multiply(scalar(t, v.Valid.S), v.Valid.X)
	same("scalar_mult_vfy", k, v.Valid.Product)
	if !ok {
		t.Error("the valid element was refused")
	}
}

// TestInvalidPoints: the draft demands that the protocol aborts, on either side (8, and B.3.11).
func TestInvalidPoints(t *testing.T) {
	v := load(t)
	if len(v.Invalid) != 2 {
		t.Fatalf("%d invalid points; the draft has 2", len(v.Invalid))
	}
	bad := slices.Clone(v.Invalid)
	// And what is no encoding at all: too short, too long, not canonical (p, and p+1: RFC 9496, 4.3.1), negative.
	p, _ := hex.DecodeString("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")
	p1 := slices.Clone(p)
	p1[0]++
	one := append([]byte{1}, make([]byte, 31)...)
	bad = append(bad, nil, v.ShareA[:31], append(slices.Clone(v.ShareA), 0), p, p1, one, bytes.Repeat([]byte{0xff}, 32))
	for i, x := range bad {
		if _, ok := multiply(scalar(t, v.Valid.S), x); ok {
			t.Errorf("%d: %x was taken", i, []byte(x))
		}
		for _, role := range []Role{Initiator, Responder} {
			s, _, err := Start(role, v.PRS, v.CI, v.SID)
			if err != nil {
				t.Fatal(err)
			}
			if isk, err := s.Finish(x, v.ADa, v.ADb); !errors.Is(err, ErrShare) || isk != nil {
				t.Errorf("%d: role %d finished with %x: %v", i, role, []byte(x), err)
			}
		}
	}
}

// TestLengths is prepend_len and lv_cat beyond 127 bytes (the draft's appendix A has LEB128 with these lengths).
func TestLengths(t *testing.T) {
	for n, want := range map[int]string{0: "00", 1: "01", 127: "7f", 128: "8001", 300: "ac02", 16384: "808001"} {
		got := lvCat(make([]byte, n))
		if h := hex.EncodeToString(got[:len(got)-n]); h != want {
			t.Errorf("length %d is written %s, want %s", n, h, want)
		}
	}
	if got := hex.EncodeToString(lvCat([]byte("1234"), []byte("5"), nil, []byte("678"))); got != "0431323334"+"0135"+"00"+"03363738" {
		t.Error(got)
	}
}

// exchange is a run between two parties that may differ in what they believe.
type inputs struct{ prs, ci, sid, ada, adb []byte }

func exchange(t interface {
	Helper()
	Fatal(...any)
}, a, b inputs) (iskA, iskB, ya, yb []byte) {
	t.Helper()
	sa, ya, errA := Start(Initiator, a.prs, a.ci, a.sid)
	sb, yb, errB := Start(Responder, b.prs, b.ci, b.sid)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	iskA, errA = sa.Finish(yb, a.ada, a.adb)
	iskB, errB = sb.Finish(ya, b.ada, b.adb)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	return iskA, iskB, ya, yb
}

// TestSameOnlyIfAllIs: any difference in what two parties believe gives different keys, and tags that do not fit.
func TestSameOnlyIfAllIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []byte { return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, name) }
		a := inputs{draw("prs"), draw("ci"), draw("sid"), draw("ada"), draw("adb")}
		b := a
		field := rapid.IntRange(-1, 4).Draw(t, "differs")
		if field >= 0 {
			p := []*[]byte{&b.prs, &b.ci, &b.sid, &b.ada, &b.adb}[field]
			*p = append(slices.Clone(*p), 'x')
		}
		iskA, iskB, ya, yb := exchange(t, a, b)
		if len(iskA) != KeySize || bytes.Equal(iskA, iskB) != (field < 0) {
			t.Fatalf("field %d differs: %x, %x", field, iskA, iskB)
		}
		ai, ar := ConfirmationTags(iskA, a.sid, ya, a.ada, yb, a.adb)
		bi, br := ConfirmationTags(iskB, b.sid, ya, b.ada, yb, b.adb)
		if bytes.Equal(ai, bi) != (field < 0) || bytes.Equal(ar, br) != (field < 0) || bytes.Equal(ai, ar) {
			t.Fatalf("field %d differs; tags %x %x, %x %x", field, ai, bi, ar, br)
		}
	})
}

// TestServesOnce: a scalar that is used twice would give a second guess for the same share (9.9).
func TestServesOnce(t *testing.T) {
	s, share, err := Start(Initiator, []byte("482915"), nil, []byte("sid"))
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := Start(Responder, []byte("482915"), nil, []byte("sid"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(share, other) {
		t.Fatal("two runs have the same scalar")
	}
	if _, err := s.Finish(make([]byte, ShareSize), nil, nil); !errors.Is(err, ErrShare) {
		t.Fatal(err)
	}
	if isk, err := s.Finish(other, nil, nil); err == nil || isk != nil {
		t.Fatal("a second guess with the same share")
	} else if strings.Contains(err.Error(), "482915") {
		t.Fatal("the password is in an error")
	}
	if _, _, err := Start(0, nil, nil, nil); err == nil {
		t.Fatal("a party without a role")
	}
}

// FuzzFinish: whatever the other side sends, there is a key or ErrShare.
func FuzzFinish(f *testing.F) {
	_, good, err := Start(Responder, []byte("482915"), []byte("ci"), []byte("sid"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, []byte("ada"), []byte("adb"))
	f.Add(make([]byte, ShareSize), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, share, ada, adb []byte) {
		s, _, err := Start(Initiator, []byte("482915"), []byte("ci"), []byte("sid"))
		if err != nil {
			t.Fatal(err)
		}
		isk, err := s.Finish(share, ada, adb)
		if err == nil && len(isk) != KeySize || err != nil && (isk != nil || !errors.Is(err, ErrShare)) {
			t.Fatalf("%x, %v", isk, err)
		}
	})
}

// BenchmarkSide is all that one side computes: generator, share, key, tags.
func BenchmarkSide(b *testing.B) {
	_, peer, err := Start(Responder, []byte("482915"), []byte("ci"), []byte("sid"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, share, err := Start(Initiator, []byte("482915"), []byte("ci"), []byte("sid"))
		if err != nil {
			b.Fatal(err)
		}
		isk, err := s.Finish(peer, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		ConfirmationTags(isk, []byte("sid"), share, nil, peer, nil)
	}
}
