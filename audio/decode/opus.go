package decode

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/pion/opus"
)

const (
	opusRate = 48000             // of places in a file, whatever it was made from
	opusMost = opusRate * 3 / 25 // samples of the longest packet
)

// opusCodec has two heads, of which the second has nothing for us (RFC 7845 5).
type opusCodec struct {
	dec      opus.Decoder
	heads    int
	skip     int64
	gain     float32
	channels int
	buf      []float32
}

func (o *opusCodec) head(packet []byte) (bool, error) {
	o.heads++
	if o.heads == 2 {
		return true, nil
	}
	if len(packet) < 19 || packet[8]>>4 != 0 {
		return false, errors.New("it is of an unknown version")
	}
	o.channels = int(packet[9])
	if packet[18] != 0 || o.channels < 1 || o.channels > 2 {
		return false, ForeignError{"Opus of more than two channels"}
	}
	o.skip = int64(binary.LittleEndian.Uint16(packet[10:]))
	o.gain = float32(math.Pow(10, float64(int16(binary.LittleEndian.Uint16(packet[16:])))/256/20))
	o.buf = make([]float32, opusMost*o.channels)
	o.anew()
	return false, nil
}

func (o *opusCodec) decode(dst []int16, packet []byte) ([]int16, error) {
	n, err := o.dec.DecodeToFloat32(packet, o.buf)
	if err != nil {
		return dst, err
	}
	out := o.buf[:n*o.channels]
	for i := range out {
		out[i] *= o.gain
	}
	return mean(dst, out, o.channels), nil
}

func (o *opusCodec) rate() int   { return opusRate }
func (o *opusCodec) lead() int64 { return o.skip }

func (o *opusCodec) anew() {
	dec, err := opus.NewDecoderWithOutput(opusRate, o.channels)
	if err != nil {
		panic(err) //nolint:forbidigo // impossible: one or two channels, at a rate that it has
	}
	o.dec = dec
}
