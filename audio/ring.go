package audio

import "sync/atomic"

// ring carries samples from one writer to one reader without a lock. Positions only grow; a sample at position p lives in
// the block at p mod size. The reader is wait-free: it looks at written, reads what it likes in between, and releases.
//
// Generations are not stored beside samples: a ring belongs to one source, and a source to one generation, so that one
// comparison in the callback silences everything that was written before a Drop.
type ring struct {
	blocks [][]int16 // a power of two of them; nil: nothing was written there yet
	mask   uint64    // of a position in the ring
	shift  uint      // of a position to its block

	_ [64]byte // the writer's and the reader's position on cache lines of their own
	w atomic.Uint64
	_ [64]byte
	r atomic.Uint64
	_ [64]byte
}

// A ring is for a minute, and mostly holds seconds of it: its memory comes block by block. It is not only that untouched
// memory is cheap: what the collector counts as live, it lets grow by as much again before it looks.
const (
	ringShift = 14 // blocks of 16384 samples: 0.7 s at Rate, 32 KiB
	ringKept  = 16 // blocks that stay after use: 11 s
)

// newRing makes a ring for at least n samples. Its writer allocates what it needs for the first time.
func newRing(n int) *ring { return newRingOf(n, ringShift) }

func newRingOf(n int, shift uint) *ring {
	count := 1
	for count<<shift < n {
		count *= 2
	}
	return &ring{blocks: make([][]int16, count), mask: uint64(count<<shift) - 1, shift: shift}
}

// newWholeRing makes one whose writer is the audio thread and must not allocate.
func newWholeRing(n int) *ring {
	r := newRing(n)
	for i := range r.blocks {
		r.blocks[i] = make([]int16, 1<<r.shift)
	}
	return r
}

// size is how many samples it can hold.
func (r *ring) size() int { return int(r.mask) + 1 }

// write takes as much of p as fits while no more than limit samples are queued, and returns how much that was.
// Writer only.
func (r *ring) write(p []int16, limit int) int {
	w := r.w.Load()
	room := min(limit, r.size()) - int(w-r.r.Load())
	n := min(len(p), max(0, room))
	for done := 0; done < n; {
		at := w + uint64(done)
		block := &r.blocks[at&r.mask>>r.shift]
		if *block == nil {
			*block = make([]int16, 1<<r.shift)
		}
		done += copy((*block)[at&(1<<r.shift-1):], p[done:n])
	}
	r.w.Store(w + uint64(n)) // the reader looks at no block before that
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

// at returns up to n samples from position p on, fewer where a block ends. Reader only, between released and written.
func (r *ring) at(p uint64, n int) []int16 {
	seg := r.blocks[p&r.mask>>r.shift][p&(1<<r.shift-1):]
	return seg[:min(n, len(seg))]
}

// release gives everything before position p back to the writer. Reader only.
func (r *ring) release(p uint64) { r.r.Store(p) }

// reset empties the ring for its next owner, and gives back all memory but for what most answers need. Nobody else may hold it.
func (r *ring) reset() {
	r.w.Store(0)
	r.r.Store(0)
	clear(r.blocks[min(ringKept, len(r.blocks)):])
}
