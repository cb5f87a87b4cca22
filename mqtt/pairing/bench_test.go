package pairing

import (
	"testing"
)

// BenchmarkPairing is a whole pairing over TLS on loopback: connection, both handshakes, both sides' computing, and the moment that the
// ends take to close.
func BenchmarkPairing(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		h, g := open(b, nil), newGuest(b, "bedroom")
		l := listen(b)
		ended := make(chan error, 1)
		go func() { ended <- ServeTLS(b.Context(), l, h.id, &Door{}, h.Window) }()
		if _, err := g.dial(b, l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		if err := <-h.ran; err != nil {
			b.Fatal(err)
		}
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is the same without TLS.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		h, g := open(b, nil), newGuest(b, "bedroom")
		if _, err := g.join(h, testCode); err != nil {
			b.Fatal(err)
		}
		_ = await(h.ran)
	}
}
