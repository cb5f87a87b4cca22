package doctor

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clockSynced asks the kernel (adjtimex(2)), whoever keeps the clock: chrony, timesyncd, ntpd. It changes nothing.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, err
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, nil
}

func space(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	return Space{
		Free: s.Bavail * uint64(s.Bsize), Inodes: s.Files, Left: s.Ffree,
		ReadOnly:  s.Flags&unix.ST_RDONLY != 0,
		Temporary: s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC,
	}, nil
}

func rtprio() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &l)
	return l.Cur, err
}

// chips asks every GPIO chip for its lines without taking one (kernel doc, userspace-api/gpio: GET_CHIPINFO, V2_GET_LINEINFO).
func (m *Machine) chips() ([]Chip, error) {
	var all []Chip
	for _, path := range m.glob("/dev/gpiochip*") {
		all = append(all, chip(path))
	}
	return all, nil
}

// maxLines bounds a chip: the largest in a Pi has 58.
const maxLines = 512

func chip(path string) Chip {
	c := Chip{Path: path}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.Err = err
		return c
	}
	defer f.Close()
	// struct gpiochip_info: name[32], label[32], lines.
	var info struct {
		name, label [32]byte
		lines       uint32
	}
	if err := ask(f, unix.GPIO_GET_CHIPINFO_IOCTL, unsafe.Pointer(&info)); err != nil {
		c.Err = err
		return c
	}
	c.Label = unix.ByteSliceToString(info.label[:])
	for i := range min(info.lines, maxLines) {
		// struct gpio_v2_line_info: name[32], consumer[32], offset, num_attrs, flags, attrs[10] of 16 bytes, padding[4].
		line := struct {
			name, consumer [32]byte
			offset, attrs  uint32
			flags          uint64
			attr           [10][2]uint64
			padding        [4]uint32
		}{offset: i}
		if err := ask(f, unix.GPIO_V2_GET_LINEINFO_IOCTL, unsafe.Pointer(&line)); err != nil {
			c.Err = err
			return c
		}
		const used = 1 // GPIO_V2_LINE_FLAG_USED
		c.Lines = append(c.Lines, Line{Offset: int(i), Name: unix.ByteSliceToString(line.name[:]),
			Used: line.flags&used != 0, Consumer: unix.ByteSliceToString(line.consumer[:])})
	}
	return c
}

func ask(f *os.File, request uintptr, into unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(into)); errno != 0 {
		return errno
	}
	return nil
}
