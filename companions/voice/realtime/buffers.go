package realtime

import (
	"hash/maphash"
	"io"
	"sync"
)

// keepBuf is the largest message buffer that is used again; 100 ms of speech is 6.4 kB of text.
const keepBuf = 64 << 10

var bufs = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

func getBuf() []byte { return (*bufs.Get().(*[]byte))[:0] }

func putBuf(b []byte) {
	if cap(b) <= keepBuf {
		bufs.Put(&b)
	}
}

// readAll reads r into b and grows it only as bytes arrive, never by what a header promises.
func readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

var seed = maphash.MakeSeed()

func checksum(b []byte) uint64 { return maphash.Bytes(seed, b) }

// seen remembers the last messages, to look at each once.
type seen struct {
	ring [256]uint64
	next int
	set  map[uint64]bool
}

// twice tells whether sum was met before, and remembers it. Zero is a message without an event_id.
func (s *seen) twice(sum uint64) bool {
	if sum == 0 {
		return false
	}
	if s.set[sum] {
		return true
	}
	if s.set == nil {
		s.set = make(map[uint64]bool, len(s.ring))
	}
	delete(s.set, s.ring[s.next])
	s.ring[s.next] = sum
	s.set[sum] = true
	s.next = (s.next + 1) % len(s.ring)
	return false
}
