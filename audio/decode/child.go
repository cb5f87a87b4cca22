package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"conch/audio"
	"conch/device/system"
)

// ffmpeg is the program that decodes what this package cannot, and MP3 where it is installed. It runs confined: it reads its own libraries
// and the file, has no keys, no network and no environment, and ends with its output.

// Our choices.
const (
	childMemory = 1 << 30          // bytes of addresses: its libraries alone take 300 MB of them
	childWait   = 8 * time.Second  // for its first sample, and for each next one: a small board loads it from a slow card
	childEnds   = 4 * time.Second  // behind the end of its output
	childRest   = 30 * time.Second // after which a program is ended of which nothing is asked
	liveWait    = time.Minute      // of a stream, whose reader gives up sooner where nothing comes
)

var (
	// childPaths is what it is made of.
	childPaths = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"}
	// childSoon has it decode a stream before it has looked at seconds of it.
	childSoon = []string{"-probesize", "8192", "-analyzeduration", "0"}
	// childKinds are sounds alone: no lists, which name other files.
	childKinds = "aac,ac3,aiff,amr,ape,asf,au,caf,dsf,dts,eac3,flac,latm,loas,matroska,mov,mp3,mpc,mpc8,mpegts,ogg,tta,w64,wav,webm,wv"
)

// errRested is of a program that was ended because nothing was asked of it.
var errRested = errors.New("ffmpeg was at rest")

// ffmpeg is where the program is; empty: it is not installed.
func ffmpeg() string {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return ""
	}
	return path
}

// CanDecodeAll says whether the program is installed that decodes what this package cannot.
func CanDecodeAll() bool { return ffmpeg() != "" }

// child is the program at work: samples come out of it, of one channel.
type child struct {
	cmd  *exec.Cmd
	out  *os.File
	errs bytes.Buffer
	fed  chan error // how what feed wrote ended; nil: it reads a file
	end  sync.Once

	begun bool          // a sample came out
	wait  time.Duration // for a sample
	rest  *time.Timer   // ends the program of a file that is paused; nil: nothing does
	over  atomic.Bool   // it did
	b     []byte
	odd   int // bytes of half a sample
}

// startChild starts the program on a file, or on what feed writes.
func startChild(file *os.File, feed func(io.Writer) error, args ...string) (*child, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c := &child{out: out, b: make([]byte, 8<<10), wait: childWait}
	c.cmd = command(ffmpeg(), append([]string{"-nostdin", "-hide_banner", "-loglevel", "error", "-threads", "1"}, args...)...)
	c.cmd.Stdout, c.cmd.Stderr = in, &head{&c.errs, 400}
	var pipe io.WriteCloser
	var files []*os.File
	if file != nil {
		c.cmd.Stdin, files = file, []*os.File{file}
	} else if pipe, err = c.cmd.StdinPipe(); err != nil {
		out.Close()
		return nil, err
	}
	if err := system.Confine(c.cmd, reach(c.cmd.Path), files...); err != nil {
		out.Close()
		return nil, fmt.Errorf("start ffmpeg: %w", err)
	}
	system.Bound(c.cmd.Process, childMemory, 24*3600, 0)
	if feed != nil {
		c.fed = make(chan error, 1)
		go func() {
			err := feed(pipe)
			pipe.Close()
			c.fed <- err
		}()
	}
	return c, nil
}

// reach is what the program may read: what it is made of, wherever it was installed.
func reach(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	dir := filepath.Dir(real)
	if err != nil || dir == "/" {
		return childPaths
	}
	return append(slices.Clone(childPaths), dir, filepath.Join(dir, "../lib"))
}

func command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = []string{"LANG=C.UTF-8"}, "/"
	cmd.SysProcAttr, cmd.WaitDelay = system.Apart(false), time.Second
	return cmd
}

// head keeps the first bytes of what is written.
type head struct {
	of   *bytes.Buffer
	most int
}

func (h *head) Write(b []byte) (int, error) {
	h.of.Write(b[:min(len(b), max(0, h.most-h.of.Len()))])
	return len(b), nil
}

// read gives the samples that come next. At the end it gives the error of what fed it, or why the program ended.
func (c *child) read() ([]int16, error) {
	if c.rest != nil {
		c.rest.Stop()
		defer c.rest.Reset(childRest)
	}
	_ = c.out.SetReadDeadline(time.Now().Add(c.wait))
	n, err := io.ReadAtLeast(c.out, c.b[c.odd:], 2-c.odd)
	n += c.odd
	pcm := make([]int16, n/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(c.b[2*i:]))
	}
	if c.odd = n & 1; c.odd == 1 {
		c.b[0] = c.b[n-1]
	}
	switch {
	case len(pcm) > 0:
		c.begun = true
		return pcm, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case c.over.Load():
		return nil, errRested
	}
	defer time.AfterFunc(childEnds, func() { _ = c.cmd.Process.Kill() }).Stop() // else it might keep what follows waiting
	if c.fed != nil {
		err := <-c.fed
		c.fed <- err // for the next time
		if err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
			return nil, err
		}
	}
	err = c.stop()
	if !c.begun && c.errs.Len() > 0 {
		err = errors.Join(err, errSilent)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: ffmpeg: %w: %.200s", errBroken, err, bytes.TrimSpace(c.errs.Bytes()))
	}
	return nil, io.EOF
}

// resting has the program of a file end when nothing is asked of it: a book that is paused for a day takes no memory.
func (c *child) resting() *child {
	c.rest = time.AfterFunc(childRest, func() {
		c.over.Store(true)
		_ = c.cmd.Process.Kill()
	})
	return c
}

// close ends the program; what feeds it ends at its next write.
func (c *child) close() {
	if c.rest != nil {
		c.rest.Stop()
	}
	_ = c.cmd.Process.Kill()
	_ = c.stop()
}

func (c *child) stop() (err error) {
	c.end.Do(func() {
		err = c.cmd.Wait()
		system.SignalGroup(c.cmd.Process, syscall.SIGKILL) // what it may have left
		c.out.Close()
	})
	return err
}

// childForward is a sound that the program decodes, at a place.
type childForward struct {
	c       *child
	hz      int
	at, end int64
}

func (f *childForward) rate() int { return f.hz }
func (f *childForward) close()    { f.c.close() }

func (f *childForward) next() ([]int16, int64, error) {
	for {
		pcm, err := f.c.read()
		if err != nil {
			return nil, 0, behind(err, min(f.at, f.end))
		}
		at := f.at
		f.at += int64(len(pcm))
		if pcm = pcm[:max(0, min(int64(len(pcm)), f.end-at))]; len(pcm) > 0 {
			return pcm, at, nil
		}
	}
}

// childFile is a file that the program decodes, in whatever form.
type childFile struct {
	f     *os.File
	hz    int
	total int64
}

// openChild has ffprobe look at a file; what it cannot read is an error.
func openChild(f *os.File) (container, error) {
	path, err := exec.LookPath("ffprobe")
	if err != nil {
		return nil, err
	}
	cmd := command(path, "-v", "error", "-protocol_whitelist", "file", "-format_whitelist", childKinds,
		"-select_streams", "a:0", "-show_entries", "format=duration:stream=sample_rate", "-of", "json", "-i", "file:/dev/fd/0")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, &head{&out, 64 << 10}, &head{&errs, 400}
	if err := system.Confine(cmd, reach(path), f); err != nil {
		return nil, fmt.Errorf("start ffprobe: %w", err)
	}
	system.Bound(cmd.Process, childMemory, 20, 0)
	slow := time.AfterFunc(childWait, func() { _ = cmd.Process.Kill() })
	defer slow.Stop()
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: ffprobe: %w: %.200s", errBroken, err, bytes.TrimSpace(errs.Bytes()))
	}
	var of struct {
		Streams []struct {
			Rate int `json:"sample_rate,string"`
		}
		Format struct {
			Duration float64 `json:",string"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &of); err != nil {
		return nil, fmt.Errorf("ffprobe: %w", err)
	}
	if len(of.Streams) == 0 {
		return nil, errSilent
	}
	rate := of.Streams[0].Rate
	if fits(rate) != nil {
		rate = audio.Rate
	}
	return &childFile{f, rate, int64(of.Format.Duration * float64(rate))}, nil
}

func (c *childFile) rate() int     { return c.hz }
func (c *childFile) frames() int64 { return c.total }

// seek begins at a whole second, so that what is sought there is resampled as it was when it was played.
func (c *childFile) seek(frame int64) (forward, error) {
	from := max(0, frame/int64(c.hz)-1)
	args := []string{"-protocol_whitelist", "file", "-format_whitelist", childKinds}
	if from > 0 {
		args = append(args, "-ss", strconv.FormatInt(from, 10))
	}
	dec, err := startChild(c.f, nil, append(args, "-i", "file:/dev/fd/0", "-map", "0:a:0", "-ac", "1", "-ar", strconv.Itoa(c.hz), "-f", "s16le", "pipe:1")...)
	if err != nil {
		return nil, err
	}
	return &childForward{c: dec.resting(), hz: c.hz, at: from * int64(c.hz), end: forever}, nil
}
