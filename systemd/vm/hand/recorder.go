package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// recorder records what conch's card plays, at the other end of the loopback.
//
// Where a sample is in time: sample n was played at base + n/rate. The samples arrive late by up to a period of the
// recorder, a pipe and a scheduler; the least late of the last two seconds gives the base. The loopback moves once a jiffy, of
// 4 ms. What both come to, calibrate tells (silence.go): seen are 1 to 4 ms too early.
//
// The loopback has been seen to stop for one recorder while it went on for conch: then another one is started.
type recorder struct {
	card string
	now  func() time.Duration
	quit chan struct{} // closed by close
	done chan struct{} // closed when hear has ended

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

const (
	stalled    = time.Second // without a sample, when there should be two hundred periods
	mostStarts = 50
)

// listen starts recording, and returns when the first samples are there.
func listen(card string, now func() time.Duration) (*recorder, error) {
	e := &recorder{card: card, now: now, last: -1, first: -1, quit: make(chan struct{}), done: make(chan struct{})}
	go e.hear() // ends with close, or when no recorder lasts
	for from := now(); ; time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		count, err := e.count, e.err
		e.mu.Unlock()
		switch {
		case count > 0:
			return e, nil
		case err != nil:
			return nil, err
		case now()-from > 20*time.Second:
			e.close()
			return nil, fmt.Errorf("arecord on %s delivers nothing", card)
		}
	}
}

func (e *recorder) close() {
	close(e.quit)
	<-e.done
}

func (e *recorder) hear() {
	defer close(e.done)
	var err error
	for range mostStarts {
		if err = e.record(); err == nil {
			return
		}
		e.mu.Lock()
		begun := e.count > 0
		e.arrivals, e.next = nil, 0
		e.mu.Unlock()
		if !begun { // the card is not there at all
			break
		}
		fmt.Fprintln(os.Stderr, "hand: another recorder:", err)
	}
	e.mu.Lock()
	e.err = fmt.Errorf("arecord on %s: %w", e.card, err)
	e.mu.Unlock()
}

// record runs one recorder until close (nil) or its end.
func (e *recorder) record() error {
	cmd := exec.Command("arecord", "-q", "-D", e.card, "-t", "raw", "-f", "S16_LE", "-r", fmt.Sprint(rate), "-c", "1",
		"--period-size", fmt.Sprint(readSize), "--buffer-size", fmt.Sprint(64*readSize))
	cmd.Stderr = os.Stderr
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd.Stdout = out
	err = cmd.Start()
	_ = out.Close()
	if err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	buf := make([]byte, 2*4*readSize)
	rest := 0
	for limit := 20 * stalled; ; limit = stalled { // the first samples take a start and an open
		select {
		case <-e.quit:
			return nil
		default:
		}
		_ = in.SetReadDeadline(time.Now().Add(limit))
		n, err := in.Read(buf[rest:])
		n += rest
		e.take(buf[:n], e.now())
		rest = n % 2
		if rest == 1 {
			buf[0] = buf[n-1]
		}
		if err != nil {
			return err
		}
	}
}

// take notes whole samples that have just arrived.
func (e *recorder) take(data []byte, at time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := 0; i+1 < len(data); i += 2 {
		s := int16(binary.LittleEndian.Uint16(data[i:]))
		if s > audible || s < -audible {
			if e.last < 0 || e.count-e.last > rate/5 {
				e.first = e.count
			}
			e.last = e.count
		}
		e.samples = append(e.samples, s)
		e.count++
	}
	if len(e.samples) > longest+longest/4 {
		e.samples = slices.Delete(e.samples, 0, len(e.samples)-longest)
	}
	if len(data) < 2 {
		return
	}
	base := at - length(e.count)
	if len(e.arrivals) < chunks {
		e.arrivals = append(e.arrivals, base)
	} else {
		e.arrivals[e.next%chunks] = base
	}
	e.next++
}

func length(samples int64) time.Duration {
	return time.Duration(samples) * time.Second / rate
}

// base needs mu: when sample 0 was played, or would have been.
func (e *recorder) base() time.Duration {
	if len(e.arrivals) == 0 { // between two recorders
		return e.now() - length(e.count)
	}
	return slices.Min(e.arrivals)
}

// at needs mu: when sample n was played.
func (e *recorder) at(n int64) time.Duration { return e.base() + length(n) }

// lastSound is when something was last audible; the beginning, when nothing was.
func (e *recorder) lastSound() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last < 0 {
		return 0
	}
	return e.at(e.last)
}

// soundSince is when sound began, or went on, at or after a time.
func (e *recorder) soundSince(from time.Duration) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last < 0 || e.at(e.last) < from {
		return 0, false
	}
	return max(from, e.at(e.first)), true
}

// between is what was played from one time to another, and when its first sample was.
func (e *recorder) between(from, to time.Duration) ([]int16, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	base := e.base()
	oldest := e.count - int64(len(e.samples))
	number := func(t time.Duration) int64 {
		return min(max(int64((t-base)*rate/time.Second), oldest), e.count)
	}
	a, b := number(from), number(to)
	return slices.Clone(e.samples[a-oldest : b-oldest]), base + length(a)
}

// keep writes what was played since the last keep.
func (e *recorder) keep(file string) error {
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
