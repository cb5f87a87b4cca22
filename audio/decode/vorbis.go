package decode

import "github.com/jfreymuth/vorbis"

// vorbisCodec has three heads, of which the second has nothing for us.
type vorbisCodec struct {
	dec   vorbis.Decoder
	heads int
	of    vorbisHead
	buf   []float32
}

func (v *vorbisCodec) head(packet []byte) (bool, error) {
	v.heads++
	if v.heads == 2 {
		return false, nil
	}
	err := safely(func() (err error) {
		if v.heads == 1 {
			v.of, err = readVorbisHead(packet)
		} else {
			err = checkVorbisSetup(packet, v.of)
		}
		if err == nil {
			err = v.dec.ReadHeader(packet)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if v.heads < 3 {
		return false, nil
	}
	v.buf = make([]float32, v.dec.BufferSize())
	return true, nil
}

func (v *vorbisCodec) decode(dst []int16, packet []byte) ([]int16, error) {
	out, err := v.dec.DecodeInto(packet, v.buf)
	if err != nil {
		return dst, err
	}
	return mean(dst, out, v.dec.Channels()), nil
}

func (v *vorbisCodec) rate() int   { return v.dec.SampleRate() }
func (v *vorbisCodec) lead() int64 { return 0 }
func (v *vorbisCodec) anew()       { v.dec.Clear() }
