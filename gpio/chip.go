package gpio

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"conch/device/system"
)

// The kernel's GPIO character device, version 2 (Documentation/userspace-api/gpio/chardev.rst; Linux 5.10), spoken directly
// where periph.io cannot (periph.go says what of a button that is), and where it does not go: who holds a line, its bias and
// its direction, which conch gpio list shows; many lines at once, which conch gpio learn watches; and outputs that have their
// level from the first moment on.
//
//	/dev/gpiochipN ── info, line info ──> Chip, LineInfo
//	      └────────── line request ────> lineFile: levels, edges, one descriptor for up to 64 lines

// Why a line could not be had; errors.Is tells them apart, the message says what to do.
var (
	ErrNoChip   = errors.New("no GPIO chip")
	ErrNoRights = errors.New("no right to use the GPIO chip")
	ErrNoPin    = errors.New("no such pin")
	ErrPinInUse = errors.New("pin in use")
	ErrPinTaken = errors.New("pin belongs to the sound board")
	ErrGone     = errors.New("the GPIO chip is gone")
)

// headers are the labels of the chips that carry a Raspberry Pi's header (gpio/FACTS.md). Labels, because the numbers moved
// with the kernel more than once; a list, because a laptop has GPIO chips too, and its pins are not for buttons.
var headers = []string{"pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835"}

// headerPins are the pins of the header, as BCM numbers them: 0 to 27.
const headerPins = 28

// Line flags (linux/gpio.h).
const (
	flagUsed      = 1 << 0
	flagActiveLow = 1 << 1
	flagInput     = 1 << 2
	flagOutput    = 1 << 3
	flagRising    = 1 << 4
	flagFalling   = 1 << 5
	flagPullUp    = 1 << 8
	flagPullDown  = 1 << 9
	flagNoPull    = 1 << 10

	eventSize      = int(unsafe.Sizeof(lineEvent{}))
	eventsAtOnce   = 16 // what the kernel keeps for one line by default; on top of it the oldest are dropped
	linesInRequest = 64
)

// kernel is the machine's, or a test's.
type kernel struct {
	dev   string // where gpiochipN are
	ioctl func(fd int, request uint, arg unsafe.Pointer) error
}

var host = &kernel{dev: "/dev", ioctl: func(fd int, request uint, arg unsafe.Pointer) error {
	for {
		if err := system.Ioctl(uintptr(fd), uintptr(request), arg); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}}

// Chip is a GPIO chip that has been opened. Close it; lines that were requested of it live on.
type Chip struct {
	Name  string // gpiochip0: moves with the kernel
	Label string // pinctrl-rp1: what it is
	Lines int

	kernel *kernel
	file   *os.File
	fd     int
}

// LineInfo is what the kernel tells of a line without taking it.
type LineInfo struct {
	Offset   int
	Name     string
	Consumer string // who holds it; empty: nobody, or somebody without a name
	Used     bool   // by a program, or by the kernel itself for I2S, SPI, ...
	Output   bool
	Low      bool // active low
	Bias     Bias // auto: nobody has said
}

// chips opens all chips there are, ours to close. What cannot be opened is passed over unless it is all.
func (k *kernel) chips() ([]*Chip, error) {
	pattern := filepath.Join(k.dev, "gpiochip*")
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("%w: there is no %s; %s", ErrNoChip, pattern, whyNoChip)
	}
	slices.SortFunc(paths, byNumber)
	var all []*Chip
	var failed error
	seen := map[string]bool{}
	for _, path := range paths {
		c, err := k.open(path)
		if err != nil {
			failed = err
			continue
		}
		if seen[c.Name] { // a Pi 5 has gpiochip4 as a link to gpiochip0
			c.Close()
			continue
		}
		seen[c.Name] = true
		all = append(all, c)
	}
	switch {
	case len(all) > 0:
		return all, nil
	case errors.Is(failed, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w; join the group gpio (sudo usermod -aG gpio $USER) and log in again", ErrNoRights, failed)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoChip, failed)
}

// byNumber puts 2 before 10.
func byNumber(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

func (k *kernel) open(path string) (*Chip, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &Chip{kernel: k, file: f, fd: int(f.Fd())}
	var info chipInfo
	if err := k.ioctl(c.fd, getChipInfo, unsafe.Pointer(&info)); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, gone(err))
	}
	c.Name, c.Label, c.Lines = text(info.Name[:]), text(info.Label[:]), int(info.Lines)
	c.Label = cmp.Or(c.Label, c.Name)
	return c, nil
}

// find opens the chip with the label; an empty one means the header's.
func (k *kernel) find(label string) (*Chip, error) {
	all, err := k.chips()
	if err != nil {
		return nil, err
	}
	var found *Chip
	var labels []string
	for _, c := range all {
		if found == nil && (c.Label == label || label == "" && slices.Contains(headers, c.Label)) {
			found = c
			continue
		}
		labels = append(labels, strconv.Quote(c.Label))
		c.Close()
	}
	if found != nil {
		return found, nil
	}
	what := "with the label " + strconv.Quote(label)
	if label == "" {
		what = "of a Raspberry Pi's header"
	}
	return nil, fmt.Errorf("%w %s; there is %s (set button.chip to one of them if it has your button)", ErrNoChip, what, strings.Join(labels, ", "))
}

// there says whether the chip is still here: nil, or why not.
func (c *Chip) there() error {
	var info chipInfo
	return gone(c.kernel.ioctl(c.fd, getChipInfo, unsafe.Pointer(&info)))
}

// Close gives the chip back.
func (c *Chip) Close() { _ = c.file.Close() }

// line is the offset of a pin: the line of that name, else the offset itself, which on a Pi's chip is the BCM number
// whatever the names say.
func (c *Chip) line(number int) (LineInfo, error) {
	name := fmt.Sprintf("GPIO%d", number)
	for offset := range c.Lines {
		info, err := c.Info(offset)
		if err != nil {
			return LineInfo{}, err
		}
		if info.Name == name {
			return info, nil
		}
	}
	if number >= c.Lines {
		return LineInfo{}, fmt.Errorf("%w: the chip has lines 0 to %d", ErrNoPin, c.Lines-1)
	}
	return c.Info(number)
}

// Info tells of a line without taking it.
func (c *Chip) Info(offset int) (LineInfo, error) {
	raw := lineInfo{Offset: uint32(offset)}
	if err := c.kernel.ioctl(c.fd, getLineInfo, unsafe.Pointer(&raw)); err != nil {
		return LineInfo{}, fmt.Errorf("ask %s for line %d: %w", c.Label, offset, gone(err))
	}
	info := LineInfo{Offset: offset, Name: text(raw.Name[:]), Consumer: text(raw.Consumer[:]),
		Used: raw.Flags&flagUsed != 0, Output: raw.Flags&flagOutput != 0, Low: raw.Flags&flagActiveLow != 0}
	switch {
	case raw.Flags&flagPullUp != 0:
		info.Bias = BiasUp
	case raw.Flags&flagPullDown != 0:
		info.Bias = BiasDown
	case raw.Flags&flagNoPull != 0:
		info.Bias = BiasOff
	}
	return info, nil
}

// request takes lines. values are the levels of outputs, a bit each in the order of offsets.
func (c *Chip) request(offsets []int, flags uint64, values uint64) (*lineFile, error) {
	if len(offsets) == 0 || len(offsets) > linesInRequest {
		return nil, fmt.Errorf("%d lines in one request; 1 to %d go", len(offsets), linesInRequest)
	}
	var r lineRequest
	for i, o := range offsets {
		r.Offsets[i] = uint32(o)
	}
	copy(r.Consumer[:len(r.Consumer)-1], consumer())
	r.Num_lines = uint32(len(offsets))
	r.Config.Flags = flags
	if flags&flagOutput != 0 {
		r.Config.Num_attrs = 1
		r.Config.Attrs[0] = lineAttribute{Attr: lineLevels(values), Mask: 1<<len(offsets) - 1}
	}
	if err := c.kernel.ioctl(c.fd, getLine, unsafe.Pointer(&r)); err != nil {
		return nil, gone(err)
	}
	file, err := lineOpened(int(r.Fd))
	if err != nil {
		return nil, err
	}
	f := &lineFile{kernel: c.kernel, file: file, lines: len(offsets)}
	raw, err := f.file.SyscallConn()
	if err != nil {
		_ = f.file.Close()
		return nil, err
	}
	f.raw = raw
	f.get = func(fd uintptr) {
		f.err = f.kernel.ioctl(int(fd), getValues, unsafe.Pointer(&f.values))
	}
	f.set = func(fd uintptr) {
		f.err = f.kernel.ioctl(int(fd), setValues, unsafe.Pointer(&f.values))
	}
	return f, nil
}

// lineFile is the descriptor of lines that are ours. Close may come from any goroutine and ends a read; the rest is for one.
type lineFile struct {
	kernel *kernel
	file   *os.File
	raw    syscall.RawConn // keeps the descriptor from being somebody else's while it is used
	lines  int

	// owned by the one who reads and writes; here so that nothing is allocated between an edge and silence
	values   lineValues
	err      error
	get, set func(fd uintptr)
}

// read gives the levels, a bit each.
func (f *lineFile) read() (uint64, error) {
	f.values = lineValues{Mask: 1<<f.lines - 1}
	if err := f.raw.Control(f.get); err != nil {
		return 0, err
	}
	return f.values.Bits, gone(f.err)
}

// write sets the levels of outputs.
func (f *lineFile) write(bits uint64) error {
	f.values = lineValues{Bits: bits, Mask: 1<<f.lines - 1}
	if err := f.raw.Control(f.set); err != nil {
		return err
	}
	return gone(f.err)
}

func (f *lineFile) close() { _ = f.file.Close() }

// gone makes sense of what the kernel says when a chip has been unbound.
func gone(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%w (%w)", ErrGone, err)
	}
	return err
}

// consumer is how gpioinfo names us: as periph.io does it.
func consumer() string { return fmt.Sprintf("%s@%d", filepath.Base(os.Args[0]), os.Getpid()) }

// busy says who holds a line.
func busy(info LineInfo) string {
	switch {
	case info.Consumer == consumer():
		return "conch itself, for another purpose"
	case info.Consumer == "":
		return "another program, or the kernel,"
	}
	return info.Consumer
}

func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
