package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	rate     = 48000
	longest  = 2 * 60 * rate // samples that are kept
	audible  = 150           // of 32768: what is louder is sound
	chunks   = 400           // times of arrival that the clock is made of: some two seconds
	readSize = 240           // samples; 5 ms
)

// ears record what conch's card plays, at the other end of the loopback.
//
// Where a sample is in time: sample n was played at base + n/rate. The samples arrive late by up to a period of the
// recorder, a pipe and a scheduler; the least late of the last two seconds gives the base. What is left of that lateness is
// in every figure: a silence measured here came sooner, never later.
type ears struct {
	cmd *exec.Cmd
	now func() time.Duration

	mu       sync.Mutex
	samples  []int16 // the last ones
	count    int64   // of all, ever
	kept     int64   // count at the last keep
	last     int64   // number of the last that was audible; -1: none
	first    int64   // number of the first audible one after a gap of quiet; -1: none
	arrivals []time.Duration
	next     int
	err      error
}

// listen starts recording, and returns when the first samples are there.
func listen(card string, now func() time.Duration) (*ears, error) {
	e := &ears{now: now, last: -1, first: -1}
	e.cmd = exec.Command("arecord", "-q", "-D", card, "-t", "raw", "-f", "S16_LE", "-r", fmt.Sprint(rate), "-c", "1",
		"--period-size", fmt.Sprint(readSize), "--buffer-size", fmt.Sprint(64*readSize))
	e.cmd.Stderr = os.Stderr
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go e.hear(out) // ends with the recorder, which close ends
	for from := now(); ; time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		count, err := e.count, e.err
		e.mu.Unlock()
		switch {
		case count > 0:
			return e, nil
		case err != nil:
			return nil, fmt.Errorf("arecord on %s: %w", card, err)
		case now()-from > 20*time.Second:
			return nil, fmt.Errorf("arecord on %s delivers nothing", card)
		}
	}
}

func (e *ears) close() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

func (e *ears) hear(in io.Reader) {
	buf := make([]byte, 2*4*readSize)
	rest := 0
	for {
		n, err := in.Read(buf[rest:])
		at := e.now()
		n += rest
		e.mu.Lock()
		for i := 0; i+1 < n; i += 2 {
			s := int16(binary.LittleEndian.Uint16(buf[i:]))
			if s > audible || s < -audible {
				if e.last < 0 || e.count-e.last > rate/5 {
					e.first = e.count
				}
				e.last = e.count
			}
			e.samples = append(e.samples, s)
			e.count++
		}
		rest = n % 2
		if rest == 1 {
			buf[0] = buf[n-1]
		}
		if len(e.samples) > longest+longest/4 {
			e.samples = slices.Delete(e.samples, 0, len(e.samples)-longest)
		}
		base := at - length(e.count)
		if len(e.arrivals) < chunks {
			e.arrivals = append(e.arrivals, base)
		} else {
			e.arrivals[e.next%chunks] = base
		}
		e.next++
		e.err = err
		e.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func length(samples int64) time.Duration {
	return time.Duration(samples) * time.Second / rate
}

// at needs mu: when sample n was played.
func (e *ears) at(n int64) time.Duration { return slices.Min(e.arrivals) + length(n) }

// lastSound is when something was last audible; the beginning, when nothing was.
func (e *ears) lastSound() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last < 0 {
		return 0
	}
	return e.at(e.last)
}

// soundSince is when sound began, or went on, at or after a time.
func (e *ears) soundSince(from time.Duration) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last < 0 || e.at(e.last) < from {
		return 0, false
	}
	return max(from, e.at(e.first)), true
}

// between is what was played from one time to another, and when its first sample was.
func (e *ears) between(from, to time.Duration) ([]int16, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	base := slices.Min(e.arrivals)
	oldest := e.count - int64(len(e.samples))
	number := func(t time.Duration) int64 {
		return min(max(int64((t-base)*rate/time.Second), oldest), e.count)
	}
	a, b := number(from), number(to)
	return slices.Clone(e.samples[a-oldest : b-oldest]), base + length(a)
}

// keep writes what was played since the last keep.
func (e *ears) keep(file string) error {
	e.mu.Lock()
	n := min(e.count-e.kept, int64(len(e.samples)))
	data := slices.Clone(e.samples[int64(len(e.samples))-n:])
	e.kept = e.count
	e.mu.Unlock()
	var b bytes.Buffer
	b.WriteString("RIFF")
	for _, part := range []any{uint32(36 + 2*len(data)), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate),
		uint16(2), uint16(16), []byte("data"), uint32(2 * len(data)), data} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
