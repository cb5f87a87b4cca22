package pulsetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Rate of everything recorded and played here: mono, signed 16 bit.
const Rate = 48000

// playLimit is for a sound of some seconds: who plays to a server that starves would wait for ever.
const playLimit = time.Minute

// Tape records a monitor (or any source). Its methods may be called from any goroutine.
type Tape struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu      sync.Mutex
	samples []int16
	began   time.Time // the earliest that sample 0 can have been, over all arrivals: see At
}

// Record starts to record what the speaker plays. Stop it.
func (s *Server) Record() (*Tape, error) { return s.RecordSource("speaker.monitor") }

// RecordSource records any source by its name.
func (s *Server) RecordSource(source string) (*Tape, error) {
	cmd := exec.Command("parec", "--raw", "--format=s16le", "--channels=1", fmt.Sprint("--rate=", Rate), "--latency-msec=1", "--device="+source)
	cmd.Env = s.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("pulsetest: %w", err)
	}
	t := &Tape{cmd: cmd, done: make(chan struct{})}
	go t.read(out)
	return t, nil
}

func (t *Tape) read(out io.Reader) {
	defer close(t.done)
	buf := make([]byte, 1<<16)
	odd := 0
	for {
		n, err := out.Read(buf[odd:])
		now := time.Now()
		n += odd
		t.mu.Lock()
		for i := 0; i+1 < n; i += 2 {
			t.samples = append(t.samples, int16(binary.LittleEndian.Uint16(buf[i:])))
		}
		// A block arrives after its last sample was played, by the time the server and the pipe took. The smallest such time
		// over all blocks is the closest one can come to the truth from outside; it is about 1 ms.
		if first := now.Add(-at(len(t.samples))); len(t.samples) > 0 && (t.began.IsZero() || first.Before(t.began)) {
			t.began = first
		}
		t.mu.Unlock()
		if odd = n % 2; odd == 1 {
			buf[0] = buf[n-1]
		}
		if err != nil {
			return
		}
	}
}

func at(samples int) time.Duration { return time.Duration(samples) * time.Second / Rate }

// Stop ends the recording and returns all of it.
func (t *Tape) Stop() []int16 {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-t.done:
	case <-time.After(stopLimit):
		_ = t.cmd.Process.Kill()
		<-t.done
	}
	_ = t.cmd.Wait()
	return t.Samples()
}

// Samples is what was recorded until now. The slice must not be written to.
func (t *Tape) Samples() []int16 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.samples[:len(t.samples):len(t.samples)]
}

// Time is when sample i was played, to within about a millisecond (the later it is asked the better).
func (t *Tape) Time(i int) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.began.Add(at(i))
}

// LastAudible is when the last sample louder than threshold was played, not before from and before to (zero: the end).
func (t *Tape) LastAudible(from, to time.Time, threshold int) (time.Time, bool) {
	samples := t.Samples()
	for i := len(samples) - 1; i >= 0; i-- {
		when := t.Time(i)
		if when.Before(from) {
			break
		}
		if v := int(samples[i]); (v > threshold || v < -threshold) && (to.IsZero() || when.Before(to)) {
			return when, true
		}
	}
	return time.Time{}, false
}

// WaitFor returns when fits says yes to what was recorded, asked at every arrival; false when limit has passed.
func (t *Tape) WaitFor(limit time.Duration, fits func([]int16) bool) bool {
	deadline := time.After(limit)
	for {
		if fits(t.Samples()) {
			return true
		}
		select {
		case <-deadline:
			return false
		case <-t.done:
			return fits(t.Samples())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Play plays pcm (mono, Rate) into the microphone and returns when the server has taken it all; cancel ends it early.
func (s *Server) Play(cancel <-chan struct{}, pcm []int16) error {
	b := make([]byte, 0, 2*len(pcm))
	for _, v := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	cmd := exec.Command("pacat", "--playback", "--raw", "--format=s16le", "--channels=1", fmt.Sprint("--rate=", Rate), "--latency-msec=20", "--device=micbus")
	return s.play(cancel, cmd, b)
}

// PlayFile plays a sound file (WAV and whatever libsndfile reads) into the microphone.
func (s *Server) PlayFile(cancel <-chan struct{}, file string) error {
	return s.play(cancel, exec.Command("paplay", "--device=micbus", file), nil)
}

func (s *Server) play(cancel <-chan struct{}, cmd *exec.Cmd, input []byte) error {
	cmd.Env = s.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pulsetest: %w", err)
	}
	go func() {
		_, _ = in.Write(input)
		_ = in.Close()
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-cancel:
		_ = cmd.Process.Kill()
		return <-ended
	case <-time.After(playLimit):
		_ = cmd.Process.Kill()
		return fmt.Errorf("pulsetest: %s did not end within %v: %w", cmd.Path, playLimit, <-ended)
	}
}
