package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// status is what the kernel says of an open card (/proc/asound/CARD/pcm0p/sub0/status).
type status struct {
	written int64 // frames since the start, less what was taken back
	taken   int64 // by the driver
	delay   int64 // how many of them have not been played
}

func (m *marker) read() (s status, err error) {
	var text [1024]byte
	n, err := unix.Pread(int(m.status.Fd()), text[:], 0)
	if err != nil {
		return s, fmt.Errorf("%s: %w", m.status.Name(), err)
	}
	for _, field := range []struct {
		name string
		to   *int64
	}{{"\ndelay", &s.delay}, {"\nhw_ptr", &s.taken}, {"\nappl_ptr", &s.written}} {
		_, rest, _ := bytes.Cut(text[:n], []byte(field.name))
		_, rest, _ = bytes.Cut(rest, []byte(":"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if *field.to, err = strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64); err != nil {
			return s, fmt.Errorf("%s says %q: %w", m.status.Name(), text[:n], err)
		}
	}
	return s, nil
}

// monotonic is a time on CLOCK_MONOTONIC.
func monotonic(t time.Time) int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every Linux has it
	return now.Nano() - time.Since(t).Nanoseconds()
}
