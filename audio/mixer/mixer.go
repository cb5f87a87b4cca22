// Package mixer reads and sets the levels of a sound card's own mixer: ALSA's control interface, by the kernel's own calls
// (include/uapi/sound/asound.h), so that neither amixer nor libasound has to be there.
package mixer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"conch/device/system"
)

// Control is one level, switch or choice of a card.
type Control struct {
	Name     string
	Min, Max int // of a switch 0 and 1, of a choice the first and the last
	Values   []int
	Switch   bool

	number uint32
	kind   int32
}

// Silent says that it lets nothing through.
func (c Control) Silent() bool {
	for _, v := range c.Values {
		if v > c.Min {
			return false
		}
	}
	return len(c.Values) > 0
}

// Card is a mixer that is open.
type Card struct {
	f    *os.File
	call func(f *os.File, request uintptr, arg unsafe.Pointer) error
}

// Open opens the mixer of a card by its id, as in CARD=wm8960soundcard.
func Open(id string) (*Card, error) {
	link, err := os.Readlink(filepath.Join("/proc/asound", filepath.Base(id)))
	number, is := strings.CutPrefix(link, "card")
	if err != nil || !is {
		return nil, fmt.Errorf("mixer: there is no card %q", id)
	}
	f, err := os.OpenFile("/dev/snd/controlC"+number, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("mixer: %w", err)
	}
	return &Card{f: f, call: func(f *os.File, request uintptr, arg unsafe.Pointer) error {
		return system.Ioctl(f.Fd(), request, arg)
	}}, nil
}

// Close gives the mixer back.
func (c *Card) Close() { _ = c.f.Close() }

// What the kernel calls its structures; int has the size of its long.
type (
	elemID struct {
		number, iface, device, sub uint32
		name                       [44]byte
		index                      uint32
	}
	elemList struct {
		offset, space, used, count uint32
		ids                        unsafe.Pointer
		_                          [50]byte
	}
	elemInfo struct {
		id            elemID
		kind          int32
		access, count uint32
		_             int32 // owner
		low, high, _  int   // of an integer; of a choice the number of its items is where low is
		_             [128 - 3*unsafe.Sizeof(int(0))]byte
		_             [64]byte
	}
	elemValue struct {
		id     elemID
		_      [2]uint32 // indirect, and to the next multiple of 8
		values [128]int
		_      [128]byte
	}
)

const (
	boolean    = 1
	integer    = 2
	enumerated = 3

	accessRead, accessWrite, accessInactive = 1, 2, 1 << 8

	maxControls = 1024 // our choice; the largest codec of the table has 97
)

// request is _IOWR('U', number, size) (asm-generic/ioctl.h).
func request(number, size uintptr) uintptr { return 3<<30 | size<<16 | 'U'<<8 | number }

var (
	listRequest  = request(0x10, unsafe.Sizeof(elemList{}))
	infoRequest  = request(0x11, unsafe.Sizeof(elemInfo{}))
	readRequest  = request(0x12, unsafe.Sizeof(elemValue{}))
	writeRequest = request(0x13, unsafe.Sizeof(elemValue{}))
)

// Controls are those that can be read and set.
func (c *Card) Controls() (all []Control, err error) {
	ids := make([]elemID, maxControls)
	list := elemList{space: maxControls, ids: unsafe.Pointer(&ids[0])}
	if err := c.call(c.f, listRequest, unsafe.Pointer(&list)); err != nil {
		return nil, fmt.Errorf("mixer: list: %w", err)
	}
	for _, id := range ids[:min(list.used, maxControls)] {
		info := elemInfo{id: elemID{number: id.number}}
		if err := c.call(c.f, infoRequest, unsafe.Pointer(&info)); err != nil {
			continue // it went away since
		}
		one := Control{Name: string(bytes.TrimRight(info.id.name[:], "\x00")), number: id.number, kind: info.kind}
		switch {
		case info.access&(accessRead|accessWrite) != accessRead|accessWrite, info.access&accessInactive != 0:
			continue
		case info.kind == boolean:
			one.Max, one.Switch = 1, true
		case info.kind == integer:
			one.Min, one.Max = info.low, info.high
		case info.kind == enumerated:
			one.Max = int(*(*uint32)(unsafe.Pointer(&info.low))) - 1
		default:
			continue
		}
		value := elemValue{id: elemID{number: id.number}}
		if err := c.call(c.f, readRequest, unsafe.Pointer(&value)); err != nil {
			continue
		}
		for i := range min(int(info.count), len(value.values)) {
			one.Values = append(one.Values, *value.at(one.kind, i))
		}
		all = append(all, one)
	}
	return all, nil
}

// at is one of the values; those of a choice are 32 bits wide.
func (v *elemValue) at(kind int32, i int) *int {
	if kind == enumerated {
		n := int((*(*[128]uint32)(unsafe.Pointer(&v.values)))[i])
		return &n
	}
	return &v.values[i]
}

// Set sets all values of a control to one.
func (c *Card) Set(one Control, to int) error {
	if to < one.Min || to > one.Max {
		return fmt.Errorf("mixer: %s = %d: must be %d to %d", one.Name, to, one.Min, one.Max)
	}
	value := elemValue{id: elemID{number: one.number}}
	for i := range one.Values {
		if one.kind == enumerated {
			(*(*[128]uint32)(unsafe.Pointer(&value.values)))[i] = uint32(to)
		} else {
			value.values[i] = to
		}
	}
	if err := c.call(c.f, writeRequest, unsafe.Pointer(&value)); err != nil {
		return fmt.Errorf("mixer: %s: %w", one.Name, errors.Join(err))
	}
	return nil
}
