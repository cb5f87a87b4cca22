package gpio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unsafe"
)

// A rotary encoder is two switches, A and B, that close to ground a quarter of a step apart: from one detent to the next both go
// low and high again, A first in the one direction and B in the other.
//
//	A ‾‾\______/‾‾‾‾        A ‾‾‾‾\______/‾‾
//	B ‾‾‾‾\______/‾‾        B ‾‾\______/‾‾‾‾
//	   louder                  softer

// quadrature is where an encoder is, as a value.
type quadrature struct {
	open  uint8 // the switches, a bit each: 0b11 at a detent
	moved int8  // quarters since the last detent
}

// quarters is what it means to go from one of the four levels to another. Both at once is a change that was missed: which way it went,
// the quarters before and after it say.
var quarters = [4][4]int8{
	0b11: {0b10: +1, 0b01: -1},
	0b10: {0b00: +1, 0b11: -1},
	0b00: {0b01: +1, 0b10: -1},
	0b01: {0b11: +1, 0b00: -1},
}

// next takes the levels, A the lowest bit, and says at a detent which way it went. A contact that bounces goes to and fro between
// two levels, which is nothing in sum; half a step is enough, so that one that was missed does no harm.
func (q quadrature) next(open uint8) (quadrature, int) {
	q.moved += quarters[q.open][open&3]
	q.open = open & 3
	if q.open != 0b11 {
		return q, 0
	}
	by := 0
	switch {
	case q.moved >= 2:
		by = 1
	case q.moved <= -2:
		by = -1
	}
	q.moved = 0
	return q, by
}

// Encoder is one on two pins of ours.
type Encoder struct {
	file *lineFile
	name string
	a    uint32 // the line that falls first when it is turned to be louder
	at   quadrature
	buf  [eventsAtOnce * eventSize]byte
}

// EncoderPins reads "GPIO5,GPIO6": A and B.
func EncoderPins(pins string) (a, b int, err error) {
	one, two, ok := strings.Cut(pins, ",")
	if !ok || strings.Contains(two, ",") {
		return 0, 0, fmt.Errorf("gpio: encoder %q is not two pins: must be A and B, with a comma between them, such as GPIO5,GPIO6 (%w)", pins, ErrNoPin)
	}
	if a, err = pinNumber(strings.TrimSpace(one)); err == nil {
		b, err = pinNumber(strings.TrimSpace(two))
	}
	if err == nil && a == b {
		err = fmt.Errorf("gpio: encoder %q is one pin twice: must be two (%w)", pins, ErrNoPin)
	}
	return a, b, err
}

// OpenEncoder takes two pins. chip is a label; empty means the header's. Close it after Run has returned.
func OpenEncoder(pins, chip string) (*Encoder, error) { return host.openEncoder(pins, chip) }

func (k *kernel) openEncoder(pins, label string) (*Encoder, error) {
	a, b, err := EncoderPins(pins)
	if err != nil {
		return nil, err
	}
	chip, err := k.find(label)
	if err != nil {
		return nil, fmt.Errorf("gpio: open the encoder: %w", err)
	}
	defer chip.Close()
	name := fmt.Sprintf("encoder on GPIO%d and GPIO%d of %s", a, b, chip.Label)
	var info LineInfo
	for _, n := range [...]int{a, b} {
		if info, err = chip.line(n); err != nil {
			return nil, fmt.Errorf("gpio: open the %s: %w", name, err)
		}
		if info.Used {
			return nil, fmt.Errorf("gpio: open the %s: %w: %s holds GPIO%d (see conch gpio list)", name, ErrPinInUse, busy(info), n)
		}
	}
	file, err := chip.request([]int{a, b}, flagInput|flagRising|flagFalling|flagPullUp, 0)
	if err != nil {
		return nil, fmt.Errorf("gpio: open the %s: %w", name, err)
	}
	return &Encoder{file: file, name: name, a: uint32(a)}, nil
}

func (e *Encoder) String() string { return e.name }

// Close ends it.
func (e *Encoder) Close() { e.file.close() }

// Run tells of each step, louder or softer, until ctx ends.
func (e *Encoder) Run(ctx context.Context, on func(by int)) error {
	levels, err := e.file.read()
	if err != nil {
		return fmt.Errorf("gpio: read the %s: %w", e.name, err)
	}
	e.at = quadrature{open: uint8(levels & 3)}
	for ctx.Err() == nil {
		if err := e.file.file.SetReadDeadline(time.Now().Add(LookEvery)); err != nil {
			return fmt.Errorf("gpio: read the %s: %w", e.name, err)
		}
		n, err := e.file.file.Read(e.buf[:])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			n = 0
		case errors.Is(err, io.EOF), err == nil && n < eventSize:
			return fmt.Errorf("gpio: read the %s: %w", e.name, ErrGone)
		case err != nil:
			return fmt.Errorf("gpio: read the %s: %w", e.name, gone(unwrapPath(err)))
		}
		for i := 0; i+eventSize <= n; i += eventSize {
			e.take(e.buf[i:i+eventSize], on)
		}
		if n > 0 {
			continue
		}
		levels, err := e.file.read() // the kernel keeps some events and forgets the rest
		if err != nil {
			return fmt.Errorf("gpio: read the %s: %w", e.name, err)
		}
		e.move(uint8(levels&3), on)
	}
	return nil
}

// take takes one event of the kernel.
func (e *Encoder) take(raw []byte, on func(int)) {
	id := binary.NativeEndian.Uint32(raw[unsafe.Offsetof(lineEvent{}.Id):])
	offset := binary.NativeEndian.Uint32(raw[unsafe.Offsetof(lineEvent{}.Offset):])
	bit := uint8(0b10)
	if offset == e.a {
		bit = 0b01
	}
	open := e.at.open &^ bit
	if id == risingEdge {
		open |= bit
	}
	e.move(open, on)
}

func (e *Encoder) move(open uint8, on func(int)) {
	var by int
	if e.at, by = e.at.next(open); by != 0 {
		on(by)
	}
}
