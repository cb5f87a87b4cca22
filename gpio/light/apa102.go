package light

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"periph.io/x/conn/v3"
	"periph.io/x/conn/v3/physic"
	"periph.io/x/conn/v3/spi"
	"periph.io/x/devices/v3/apa102"

	"conch/device/system"
)

// A row of APA102 (DotStar) LEDs on SPI, or on two pins that are moved by hand: the Adafruit bonnets have theirs on pins
// that no SPI controller reaches (gpio/FACTS.md).

// row is such LEDs. The library maps what the eye sees to the LEDs' 13 bits.
type row struct {
	leds  *apa102.Dev
	port  spiPort
	shape Shape
	rgb   []byte
}

// spiPort is a way to the LEDs.
type spiPort interface {
	spi.Port
	Close() error
}

func openAPA102(c Config) (Driver, error) {
	port, err := openSPI(c)
	if err != nil {
		return nil, err
	}
	return newRow(port, c.Count, 0)
}

func openAPA102GPIO(c Config) (Driver, error) {
	p, err := c.pins(2, "data, clock")
	if err != nil {
		return nil, err
	}
	// A frame is a system call for each edge of each bit: half the frames will do.
	return newRow(&bitbang{data: p[0], clock: p[1]}, c.Count, 2*tick)
}

func newRow(port spiPort, count int, least time.Duration) (*row, error) {
	count = max(1, count)
	leds, err := apa102.New(port, &apa102.Opts{NumPixels: count, Intensity: 255, Temperature: apa102.NeutralTemp})
	if err != nil {
		_ = port.Close()
		return nil, fmt.Errorf("light: %s: %w", port, err)
	}
	return &row{leds, port, Shape{Pixels: count, Colour: true, Dim: true, Least: least}, make([]byte, 3*count)}, nil
}

func (r *row) Shape() Shape   { return r.shape }
func (r *row) String() string { return fmt.Sprintf("%d APA102 on %s", r.shape.Pixels, r.port) }

func (r *row) Set(f Frame) error {
	r.leds.Intensity = uint8(math.Ceil(255 * Linear(255, f.Brightness)))
	for i, c := range f.LEDs {
		r.rgb[3*i], r.rgb[3*i+1], r.rgb[3*i+2] = c.R, c.G, c.B
	}
	if _, err := r.leds.Write(r.rgb); err != nil {
		return fmt.Errorf("light: %s: %w", r.port, err)
	}
	return nil
}

func (r *row) Close() error { return errors.Join(r.leds.Halt(), r.port.Close()) }

// spidev is a file of Linux' spidev. The library has one of its own, in a package that would also look for every other bus
// and register the pins of /sys/class/gpio under names that the character device's have (see gpio/periph.go).
type spidev struct {
	file *os.File
	name string
}

// Requests of spidev's ioctl (linux/spi/spidev.h), the same on every architecture of ours.
const (
	spiWriteMode  = 0x40016b01
	spiWriteSpeed = 0x40046b04
	// spiSpeed is less than the LEDs can take: wires are long, and a frame of twelve is through in a tenth of a millisecond.
	spiSpeed = 4 * physic.MegaHertz
)

func openSPI(c Config) (*spidev, error) {
	var bus, chip int
	if n, err := fmt.Sscanf(c.SPI, "%d.%d", &bus, &chip); n != 2 || err != nil {
		return nil, fmt.Errorf("light: light.spi = %q: %w: must be like 0.0, bus and chip select", c.SPI, ErrConfig)
	}
	name := filepath.Join("/", c.Root, fmt.Sprintf("dev/spidev%d.%d", bus, chip))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("light: %w; switch SPI on (dtparam=spi=on in config.txt, or raspi-config) and restart the Pi", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("light: %w; join the group spi (sudo usermod -aG spi $USER) and log in again", err)
	case err != nil:
		return nil, fmt.Errorf("light: %w", err)
	}
	return &spidev{f, name}, nil
}

func (s *spidev) String() string               { return s.name }
func (s *spidev) Close() error                 { return s.file.Close() }
func (s *spidev) Duplex() conn.Duplex          { return conn.Half }
func (s *spidev) TxPackets([]spi.Packet) error { return errors.ErrUnsupported }

// Connect sets mode and speed for what follows.
func (s *spidev) Connect(f physic.Frequency, mode spi.Mode, bits int) (spi.Conn, error) {
	if bits != 8 {
		return nil, errors.ErrUnsupported
	}
	m, hz := uint8(mode&spi.Mode3), uint32(min(f, spiSpeed)/physic.Hertz)
	if err := errors.Join(s.ioctl(spiWriteMode, unsafe.Pointer(&m)), s.ioctl(spiWriteSpeed, unsafe.Pointer(&hz))); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *spidev) ioctl(request uintptr, value unsafe.Pointer) error {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = system.Ioctl(fd, request, value) })
	return errors.Join(err, failed)
}

// Tx writes; the LEDs say nothing.
func (s *spidev) Tx(w, _ []byte) error {
	_, err := s.file.Write(w)
	return err
}

// bitbang is SPI by hand. The LEDs take a bit at the rising edge of the clock.
type bitbang struct {
	data, clock pin
	high        bool // data
}

func (b *bitbang) String() string               { return b.data.String() + " and " + b.clock.String() }
func (b *bitbang) Close() error                 { return errors.Join(b.data.Close(), b.clock.Close()) }
func (b *bitbang) Duplex() conn.Duplex          { return conn.Half }
func (b *bitbang) TxPackets([]spi.Packet) error { return errors.ErrUnsupported }

func (b *bitbang) Connect(physic.Frequency, spi.Mode, int) (spi.Conn, error) {
	return b, b.data.Set(false)
}

func (b *bitbang) Tx(w, _ []byte) error {
	for _, x := range w {
		for mask := byte(0x80); mask != 0; mask >>= 1 {
			if bit := x&mask != 0; bit != b.high {
				if err := b.data.Set(bit); err != nil {
					return err
				}
				b.high = bit
			}
			if err := errors.Join(b.clock.Set(true), b.clock.Set(false)); err != nil {
				return err
			}
		}
	}
	return nil
}
