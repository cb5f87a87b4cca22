//go:build !linux

package gpio

import (
	"errors"
	"os"
	"runtime"
)

const whyNoChip = "there are no GPIO lines on " + runtime.GOOS + ": the page in the browser has a button, and so has the keyboard"

// What the rest of the package names of Linux's kernel; nobody here answers such a request.
type (
	chipInfo struct {
		Name, Label [32]byte
		Lines       uint32
	}
	lineInfo struct {
		Name, Consumer [32]byte
		Offset         uint32
		Flags          uint64
	}
	lineRequest struct {
		Offsets   [linesInRequest]uint32
		Consumer  [32]byte
		Config    lineConfig
		Num_lines uint32 //nolint:staticcheck // as golang.org/x/sys/unix spells it
		Fd        int32
	}
	lineConfig struct {
		Flags     uint64
		Num_attrs uint32 //nolint:staticcheck // likewise
		Attrs     [1]lineAttribute
	}
	lineAttribute struct{ Attr, Mask uint64 }
	lineValues    struct{ Bits, Mask uint64 }
	lineEvent     struct{ Id, Offset uint32 } //nolint:staticcheck // likewise
	inputClock    [2]int
)

const getChipInfo, getLineInfo, getLine, getValues, setValues, risingEdge = 0, 0, 0, 0, 0, 1

func lineLevels(values uint64) uint64 { return values }

func lineOpened(int) (*os.File, error) { return nil, errors.ErrUnsupported }
