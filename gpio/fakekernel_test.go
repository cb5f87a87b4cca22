package gpio

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fakeKernel answers the calls of the GPIO character device as Linux does (drivers/gpio/gpiolib-cdev.c), with files of the
// machine: a chip is a file, lines are one end of a pair of sockets, so that waiting, reading, closing and who closes first
// are real. What it cannot have is the kernel's timing; that is the machine test's (systemd/vm).
type fakeKernel struct {
	*kernel
	t *testing.T

	mu    sync.Mutex           // owns all below
	chips map[uint64]*fakeChip // by inode
	lines map[uint64]*fakeLines
	event unix.GPIOV2LineEvent // being sent
}

type fakeChip struct {
	name, label string
	lines       []fakeLine
	gone        bool
}

type fakeLine struct {
	name, consumer string
	flags          uint64
	high           bool
	held           *fakeLines
}

type fakeLines struct {
	chip    *fakeChip
	offsets []int
	kernel  int // our end; -1: closed
	seq     uint32
	quiet   bool // unbinding wakes nobody (Linux 6.1)
}

func newFakeKernel(t *testing.T) *fakeKernel {
	f := &fakeKernel{t: t, chips: map[uint64]*fakeChip{}, lines: map[uint64]*fakeLines{}}
	f.kernel = &kernel{dev: t.TempDir(), ioctl: f.answer}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, l := range f.lines {
			if l.kernel >= 0 {
				_ = unix.Close(l.kernel)
			}
		}
	})
	return f
}

// plug makes a chip appear as /dev/gpiochipN.
func (f *fakeKernel) plug(n int, label string, lines int) *fakeChip {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := "gpiochip" + strconv.Itoa(n)
	path := filepath.Join(f.dev, name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
	c := &fakeChip{name: name, label: label, lines: make([]fakeLine, lines)}
	for i := range c.lines {
		c.lines[i].name, c.lines[i].high = "GPIO"+strconv.Itoa(i), true
	}
	f.chips[inode(f.t, path)] = c
	return c
}

// unplug unbinds a chip: its file goes, its lines answer ENODEV, and whoever waits wakes up, but for quiet lines.
func (f *fakeKernel) unplug(c *fakeChip) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.gone = true
	if err := os.Remove(filepath.Join(f.dev, c.name)); err != nil {
		f.t.Fatal(err)
	}
	for _, l := range f.lines {
		if l.chip == c && l.kernel >= 0 && !l.quiet {
			_ = unix.Close(l.kernel) // the reader sees the end, at once and again and again
			l.kernel = -1
		}
	}
}

// set moves a wire and tells whoever listens.
func (f *fakeKernel) set(c *fakeChip, offset int, high bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := &c.lines[offset]
	if line.high == high {
		return
	}
	line.high = high
	l := line.held
	if l == nil || l.kernel < 0 {
		return
	}
	l.seq++
	f.event = unix.GPIOV2LineEvent{Id: unix.GPIO_V2_LINE_EVENT_FALLING_EDGE, Offset: uint32(offset), Seqno: l.seq}
	if high {
		f.event.Id = unix.GPIO_V2_LINE_EVENT_RISING_EDGE
	}
	_, _ = unix.Write(l.kernel, unsafe.Slice((*byte)(unsafe.Pointer(&f.event)), eventSize)) // full: forgotten, as by the kernel
}

func (f *fakeKernel) flags(c *fakeChip, offset int) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.lines[offset].flags
}

func (f *fakeKernel) level(c *fakeChip, offset int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.lines[offset].high
}

// holds is another program, which takes a line or gives it back.
func (f *fakeKernel) holds(c *fakeChip, offset int, who string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.lines[offset].consumer, c.lines[offset].flags = who, 0
	if who != "" {
		c.lines[offset].flags = flagUsed | flagInput
	}
}

func inode(t *testing.T, path string) uint64 {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func (f *fakeKernel) answer(fd int, request uint, arg unsafe.Pointer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	f.reap()
	if c := f.chips[st.Ino]; c != nil {
		if c.gone {
			return unix.ENODEV
		}
		return f.chip(c, request, arg)
	}
	if l := f.lines[st.Ino]; l != nil {
		if l.chip.gone {
			return unix.ENODEV
		}
		return f.values(l, request, (*unix.GPIOV2LineValues)(arg))
	}
	return unix.ENOTTY
}

// reap gives back the lines whose other end was closed.
func (f *fakeKernel) reap() {
	for ino, l := range f.lines {
		if l.kernel < 0 {
			continue
		}
		p := []unix.PollFd{{Fd: int32(l.kernel), Events: unix.POLLRDHUP}}
		if n, _ := unix.Poll(p, 0); n > 0 && p[0].Revents&(unix.POLLHUP|unix.POLLRDHUP) != 0 {
			for _, o := range l.offsets {
				l.chip.lines[o].held, l.chip.lines[o].consumer, l.chip.lines[o].flags = nil, "", 0
			}
			_ = unix.Close(l.kernel)
			delete(f.lines, ino)
		}
	}
}

func (f *fakeKernel) chip(c *fakeChip, request uint, arg unsafe.Pointer) error {
	switch request {
	case unix.GPIO_GET_CHIPINFO_IOCTL:
		info := (*unix.GPIOChipInfo)(arg)
		copy(info.Name[:], c.name)
		copy(info.Label[:], c.label)
		info.Lines = uint32(len(c.lines))
		return nil
	case unix.GPIO_V2_GET_LINEINFO_IOCTL:
		info := (*unix.GPIOV2LineInfo)(arg)
		if int(info.Offset) >= len(c.lines) {
			return unix.EINVAL
		}
		l := c.lines[info.Offset]
		copy(info.Name[:], l.name)
		copy(info.Consumer[:], l.consumer)
		info.Flags = l.flags
		return nil
	case unix.GPIO_V2_GET_LINE_IOCTL:
		r := (*unix.GPIOV2LineRequest)(arg)
		l := &fakeLines{chip: c}
		for _, o := range r.Offsets[:r.Num_lines] {
			if int(o) >= len(c.lines) {
				return unix.EINVAL
			}
			if c.lines[o].flags&flagUsed != 0 {
				return unix.EBUSY
			}
			l.offsets = append(l.offsets, int(o))
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = unix.SetNonblock(pair[1], true)
		l.kernel, r.Fd = pair[1], int32(pair[0])
		var st unix.Stat_t
		if err := unix.Fstat(pair[0], &st); err != nil {
			return err
		}
		f.lines[st.Ino] = l
		for i, o := range l.offsets {
			line := &c.lines[o]
			line.held, line.consumer, line.flags = l, text(r.Consumer[:]), r.Config.Flags|flagUsed
			if r.Config.Flags&flagOutput != 0 {
				line.high = r.Config.Attrs[0].Attr.Flags>>i&1 == 1
			}
		}
		return nil
	}
	return unix.ENOTTY
}

func (f *fakeKernel) values(l *fakeLines, request uint, v *unix.GPIOV2LineValues) error {
	switch request {
	case unix.GPIO_V2_LINE_GET_VALUES_IOCTL:
		v.Bits = 0
		for i, o := range l.offsets {
			if l.chip.lines[o].high {
				v.Bits |= 1 << i
			}
		}
		return nil
	case unix.GPIO_V2_LINE_SET_VALUES_IOCTL:
		for i, o := range l.offsets {
			if v.Mask>>i&1 == 1 {
				l.chip.lines[o].high = v.Bits>>i&1 == 1
			}
		}
		return nil
	}
	return unix.ENOTTY
}
