package intercom

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

// Datagrams: RTP (RFC 3550) in AEAD_AES_128_GCM as SRTP has it (RFC 7714, 8 and 9), 16 bits of big-endian PCM (RFC 3551, L16). Keys and salts
// are those of the TLS session (RFC 8446, 7.5), not derived once more from a master key.
const (
	keyLength  = 16
	saltLength = 12
	headerSize = 12
	tagSize    = 16
	payload    = 96        // dynamic (RFC 3551, 6)
	replayed   = 64        // datagrams behind the latest that are told apart
	maxIndex   = 1<<48 - 1 // RFC 3711, 9.2
)

var (
	errDatagram = errors.New("intercom: not a datagram of this call")
	errReplay   = errors.New("intercom: a datagram came twice, or far too late")
)

// seal makes datagrams of one direction.
type seal struct {
	aead  cipher.AEAD
	salt  [saltLength]byte
	ssrc  uint32
	index uint64 // of the next
	buf   []byte
}

// open takes datagrams of one direction.
type open struct {
	aead  cipher.AEAD
	salt  [saltLength]byte
	ssrc  uint32
	begun bool
	last  uint64 // the highest index that was authentic
	seen  uint64 // bit n: last-n was
	buf   []byte
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func newSeal(keys []byte, ssrc uint32) (*seal, error) {
	aead, err := newAEAD(keys[:keyLength])
	s := &seal{aead: aead, ssrc: ssrc}
	copy(s.salt[:], keys[keyLength:])
	return s, err
}

func newOpen(keys []byte, ssrc uint32) (*open, error) {
	aead, err := newAEAD(keys[:keyLength])
	o := &open{aead: aead, ssrc: ssrc}
	copy(o.salt[:], keys[keyLength:])
	return o, err
}

// nonce is that of RFC 7714, 8.1.
func nonce(salt [saltLength]byte, ssrc uint32, index uint64) []byte {
	var iv [saltLength]byte
	binary.BigEndian.PutUint32(iv[2:], ssrc)
	binary.BigEndian.PutUint32(iv[6:], uint32(index>>16))
	binary.BigEndian.PutUint16(iv[10:], uint16(index))
	for i := range iv {
		iv[i] ^= salt[i]
	}
	return iv[:]
}

// packet is the next datagram; it is good until the next one. Without sound it only shows that somebody is there.
func (s *seal) packet(pcm []int16) ([]byte, error) {
	if s.index > maxIndex {
		return nil, errDatagram
	}
	b := append(s.buf[:0], 0x80, payload)
	b = binary.BigEndian.AppendUint16(b, uint16(s.index))
	b = binary.BigEndian.AppendUint32(b, uint32(s.index*240)) // a frame each, also of silence
	b = binary.BigEndian.AppendUint32(b, s.ssrc)
	for _, x := range pcm {
		b = binary.BigEndian.AppendUint16(b, uint16(x))
	}
	iv := nonce(s.salt, s.ssrc, s.index)
	s.index++
	s.buf = s.aead.Seal(b[:headerSize], iv, b[headerSize:], b[:headerSize])
	return s.buf, nil
}

// packet takes a datagram: its number and its samples, which are good until the next one.
func (o *open) packet(b []byte, pcm []int16) (number uint16, samples []int16, err error) {
	if len(b) < headerSize+tagSize || len(b)%2 != 0 || b[0] != 0x80 || b[1] != payload || binary.BigEndian.Uint32(b[8:]) != o.ssrc {
		return 0, nil, errDatagram
	}
	number = binary.BigEndian.Uint16(b[2:])
	index := o.guess(number)
	if o.begun && index <= o.last && (o.last-index >= replayed || o.seen&(1<<(o.last-index)) != 0) {
		return 0, nil, errReplay
	}
	o.buf, err = o.aead.Open(o.buf[:0], nonce(o.salt, o.ssrc, index), b[headerSize:], b[:headerSize])
	if err != nil {
		return 0, nil, errDatagram
	}
	switch {
	case !o.begun:
		o.begun, o.last, o.seen = true, index, 1
	case index > o.last:
		if d := index - o.last; d < 64 {
			o.seen = o.seen<<d | 1
		} else {
			o.seen = 1
		}
		o.last = index
	default:
		o.seen |= 1 << (o.last - index)
	}
	for i := 0; i+1 < len(o.buf); i += 2 {
		pcm = append(pcm, int16(binary.BigEndian.Uint16(o.buf[i:])))
	}
	return number, pcm, nil
}

// guess is the index that a number stands for: the one nearest to the latest (RFC 3711, 3.3.1).
func (o *open) guess(number uint16) uint64 {
	if !o.begun {
		return uint64(number)
	}
	index := o.last&^0xffff | uint64(number)
	switch {
	case index+0x8000 < o.last:
		index += 0x10000
	case index > o.last+0x8000 && index >= 0x10000:
		index -= 0x10000
	}
	return index
}
