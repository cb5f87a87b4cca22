package audio

import "sync/atomic"

// ring carries samples from one writer to one reader without a lock. Positions only grow; a sample at position p lives in
// buf[p mod len]. The reader is wait-free: it looks at written, reads what it likes in between, and releases.
//
// Generations are not stored beside samples: a ring belongs to one source, and a source to one generation, so that one
// comparison in the callback silences everything that was written before a Drop.
type ring struct {
	buf  []int16 // a power of two long
	mask uint64

	_ [64]byte // the writer's and the reader's position on cache lines of their own
	w atomic.Uint64
	_ [64]byte
	r atomic.Uint64
	_ [64]byte
}

// newRing makes a ring for at least n samples.
func newRing(n int) *ring {
	size := 1
	for size < n {
		size *= 2
	}
	return &ring{buf: make([]int16, size), mask: uint64(size - 1)}
}

// write takes as much of p as fits while no more than limit samples are queued, and returns how much that was.
// Writer only.
func (r *ring) write(p []int16, limit int) int {
	w := r.w.Load()
	room := min(limit, len(r.buf)) - int(w-r.r.Load())
	n := min(len(p), max(0, room))
	for done := 0; done < n; {
		done += copy(r.buf[(w+uint64(done))&r.mask:], p[done:n])
	}
	r.w.Store(w + uint64(n))
	return n
}

// queued is how many samples wait. Any goroutine; exact only for the writer and the reader.
func (r *ring) queued() int {
	read := r.r.Load() // first: written cannot be behind it then
	return int(r.w.Load() - read)
}

// written is the position after the last sample. Reader only may use it to read.
func (r *ring) written() uint64 { return r.w.Load() }

// released is the position of the first sample that may still be read.
func (r *ring) released() uint64 { return r.r.Load() }

// at returns up to n samples from position p on, fewer where the buffer wraps. Reader only, between released and written.
func (r *ring) at(p uint64, n int) []int16 {
	seg := r.buf[p&r.mask:]
	return seg[:min(n, len(seg))]
}

// release gives everything before position p back to the writer. Reader only.
func (r *ring) release(p uint64) { r.r.Store(p) }

// reset empties the ring for its next owner. Nobody else may hold it.
func (r *ring) reset() {
	r.w.Store(0)
	r.r.Store(0)
}
