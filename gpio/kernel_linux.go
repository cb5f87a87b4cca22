package gpio

import (
	"os"

	"golang.org/x/sys/unix"
)

const whyNoChip = "this is not a Pi, or its kernel has no GPIO character device"

// What the kernel calls its structures and requests (linux/gpio.h).
type (
	chipInfo      = unix.GPIOChipInfo
	lineInfo      = unix.GPIOV2LineInfo
	lineRequest   = unix.GPIOV2LineRequest
	lineAttribute = unix.GPIOV2LineConfigAttribute
	lineValues    = unix.GPIOV2LineValues
	lineEvent     = unix.GPIOV2LineEvent
	inputClock    = unix.Timeval // of struct input_event
)

const (
	getChipInfo = unix.GPIO_GET_CHIPINFO_IOCTL
	getLineInfo = unix.GPIO_V2_GET_LINEINFO_IOCTL
	getLine     = unix.GPIO_V2_GET_LINE_IOCTL
	getValues   = unix.GPIO_V2_LINE_GET_VALUES_IOCTL
	setValues   = unix.GPIO_V2_LINE_SET_VALUES_IOCTL
	risingEdge  = unix.GPIO_V2_LINE_EVENT_RISING_EDGE
)

// lineLevels has outputs begin with these levels: its second field is a union, and here it holds values.
func lineLevels(values uint64) unix.GPIOV2LineAttribute {
	return unix.GPIOV2LineAttribute{Id: unix.GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES, Flags: values}
}

// lineOpened is a descriptor of lines as a file whose reads have deadlines.
func lineOpened(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "gpio lines"), nil
}
