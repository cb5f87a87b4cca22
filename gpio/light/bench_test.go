package light

import (
	"testing"
	"time"

	"periph.io/x/conn/v3"
	"periph.io/x/conn/v3/physic"
	"periph.io/x/conn/v3/spi"
)

// deaf is SPI without a wire.
type deaf struct{}

func (deaf) String() string                                            { return "deaf" }
func (deaf) Close() error                                              { return nil }
func (deaf) Tx(_, _ []byte) error                                      { return nil }
func (deaf) TxPackets([]spi.Packet) error                              { return nil }
func (deaf) Duplex() conn.Duplex                                       { return conn.Half }
func (deaf) Connect(physic.Frequency, spi.Mode, int) (spi.Conn, error) { return deaf{}, nil }

// A frame of a ring, drawn and made ready for the wire; 30 of them a second are the most there are.
func BenchmarkFrame(b *testing.B) {
	r, err := newRow(deaf{}, 12, 0)
	if err != nil {
		b.Fatal(err)
	}
	s := Sample(Waiting)
	for i := 0; b.Loop(); i++ {
		f, _ := s.Frame(r.Shape(), time.Duration(i)*tick, 0.5, 0.4)
		if err := r.Set(f); err != nil {
			b.Fatal(err)
		}
	}
}
