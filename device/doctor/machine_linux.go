package doctor

import (
	"os"
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
		Temporary: uint32(s.Type) == unix.TMPFS_MAGIC || uint32(s.Type) == unix.RAMFS_MAGIC, // 32 bits, signed on some machines
	}, nil
}

func rtprio() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &l)
	return l.Cur, err
}

// chips asks every GPIO chip for its lines without taking one (kernel doc, userspace-api/gpio: GET_CHIPINFO, V2_GET_LINEINFO).
func (m *Machine) chips() []Chip {
	var all []Chip
	for _, path := range m.glob("/dev/gpiochip*") {
		if info, err := os.Lstat(m.path(path)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			continue // a Pi 5 has gpiochip4 as a link to gpiochip0
		}
		all = append(all, chip(m.path(path), path))
	}
	return all
}

// maxLines bounds a chip: the largest in a Pi has 58.
const maxLines = 512

func chip(path, name string) Chip {
	c := Chip{Path: name}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		c.Err = err
		return c
	}
	defer f.Close()
	var info unix.GPIOChipInfo
	if c.Err = ask(f, unix.GPIO_GET_CHIPINFO_IOCTL, unsafe.Pointer(&info)); c.Err != nil {
		return c
	}
	c.Label = unix.ByteSliceToString(info.Label[:])
	for i := range min(info.Lines, maxLines) {
		line := unix.GPIOV2LineInfo{Offset: i}
		if c.Err = ask(f, unix.GPIO_V2_GET_LINEINFO_IOCTL, unsafe.Pointer(&line)); c.Err != nil {
			return c
		}
		const used = 1 // GPIO_V2_LINE_FLAG_USED
		c.Lines = append(c.Lines, Line{Offset: int(i), Name: unix.ByteSliceToString(line.Name[:]),
			Used: line.Flags&used != 0, Consumer: unix.ByteSliceToString(line.Consumer[:])})
	}
	return c
}

func ask(f *os.File, request uintptr, into unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(into)); errno != 0 {
		return errno
	}
	return nil
}
