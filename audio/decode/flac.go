package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/mewkiz/flac/frame"

	"conch/audio"
)

// The library says of each frame of some rates, into the log of everybody, that it has not been tried with them. It was, here.
func init() { log.SetOutput(unsaid{log.Writer()}) }

type unsaid struct{ w io.Writer }

func (u unsaid) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("The flac library test cases do not yet include")) {
		return len(b), nil
	}
	return u.w.Write(b)
}

// flacFile is what STREAMINFO says (RFC 9639 8.2), and where the frames begin.
type flacFile struct {
	f           io.ReaderAt
	begin, size int64
	hz          int
	bits        int
	block       int64 // samples of a frame, where all have as many
	total       int64
	to          int64 // where another sound begins behind this one, or the end of the file; 0: it was not looked for
}

func openFLAC(f io.ReaderAt, at, size int64) (container, error) {
	at += 4
	fl := &flacFile{f: f, size: size}
	for last, n := false, 0; !last; n++ {
		var h [4]byte
		if n == flacBlocks {
			return nil, errBroken
		}
		if _, err := f.ReadAt(h[:], at); err != nil {
			return nil, err
		}
		last = h[0]&0x80 != 0
		n := int64(h[1])<<16 | int64(h[2])<<8 | int64(h[3])
		if h[0]&0x7f == 0 && fl.hz == 0 {
			var b [flacInfo]byte
			if _, err := f.ReadAt(b[:], at+4); err != nil {
				return nil, err
			}
			fl.info(b[:])
		}
		at += 4 + n
		if at > size {
			return nil, io.ErrUnexpectedEOF
		}
	}
	fl.begin = at
	if h, _, err := fl.from(at).find(); err == nil { // what STREAMINFO says of it is wrong in files that were cut
		fl.block = int64(h.BlockSize)
	}
	return fl, fl.check()
}

// check says why the library cannot decode it; nil: it can.
func (f *flacFile) check() error {
	if f.hz == 0 {
		return errFLAC
	}
	if f.bits > flacBits {
		return ForeignError{fmt.Sprintf("FLAC of %d bits", f.bits)}
	}
	return nil
}

// readFLAC reads what comes before the frames of a stream.
func readFLAC(r *bufio.Reader) (*flacFile, error) {
	fl := &flacFile{}
	h := make([]byte, 4)
	if _, err := io.ReadFull(r, h); err != nil { // its mark
		return nil, err
	}
	for last, read := false, int64(0); !last; {
		if _, err := io.ReadFull(r, h); err != nil {
			return nil, err
		}
		last = h[0]&0x80 != 0
		n := int64(h[1])<<16 | int64(h[2])<<8 | int64(h[3])
		if h[0]&0x7f == 0 && fl.hz == 0 && n >= flacInfo {
			b := make([]byte, flacInfo)
			if _, err := io.ReadFull(r, b); err != nil {
				return nil, err
			}
			fl.info(b)
			n -= flacInfo
		}
		if read += n + 4; read > maxGarbage {
			return nil, errBroken
		}
		if _, err := io.CopyN(io.Discard, r, n); err != nil {
			return nil, err
		}
	}
	return fl, fl.check()
}

const (
	flacBits   = 24                     // of a sample, at most: the library takes no others
	flacMark   = "fLaC\x00\x00\x00\x22" // and STREAMINFO behind it
	flacLast   = "fLaC\x80\x00\x00\x22" // which is all of the metadata
	flacInfo   = 18                     // bytes of STREAMINFO up to what is of use here
	flacBlocks = 4000                   // of metadata
	flacFrame  = 4 << 20                // bytes of a frame: 65,536 samples of 8 channels, of 33 bits each, and their heads
)

var errFLAC = errors.New("it does not say what it is")

func (f *flacFile) info(b []byte) {
	f.block = int64(binary.BigEndian.Uint16(b))
	x := binary.BigEndian.Uint64(b[10:])
	f.hz, f.bits, f.total = int(x>>44), int(x>>36&31)+1, int64(x&(1<<36-1))
}

func (f *flacFile) rate() int     { return f.hz }
func (f *flacFile) frames() int64 { return f.total }

func (f *flacFile) seek(place int64) (forward, error) {
	if place <= f.block {
		return f.from(f.begin), nil
	}
	at := bisect(f.begin, f.joint(), place, func(offset, to int64) (int64, int64, bool) {
		d := f.from(offset)
		for range maxBroken {
			h, piece, err := d.find()
			if err != nil || piece >= to {
				return 0, 0, false
			}
			if d.whole(h) { // what only looks like a head is not followed by a frame
				return piece, d.place(h), true
			}
		}
		return 0, 0, false
	})
	return f.from(at), nil
}

// joint finds where another sound begins behind this one; without one it returns the size. A search must not lead into that one: its
// frames count from 0 again.
func (f *flacFile) joint() int64 {
	if f.to > 0 {
		return f.to
	}
	f.to = f.size
	if f.alone() {
		return f.to
	}
	b, began := make([]byte, 1<<20), time.Now()
	for at := f.begin; time.Since(began) < maxWait; at += int64(len(b) - len(flacMark)) {
		n, err := f.f.ReadAt(b, at)
		for _, mark := range [...]string{flacMark, flacLast} {
			if i := bytes.Index(b[:n], []byte(mark)); i >= 0 {
				f.to = min(f.to, at+int64(i))
			}
		}
		if err != nil || f.to < f.size {
			break
		}
	}
	return f.to
}

// alone reports whether the frames count up through the whole file, to the number that STREAMINFO says: there is one sound in it.
func (f *flacFile) alone() bool {
	const probes, tail = 64, 256 << 10
	before, began := int64(0), time.Now()
	for i := range int64(probes) {
		_, at, err := f.from(f.begin + (f.size-f.begin)/probes*i).next()
		if i > 0 && ended(err) { // it is behind the last head
			break
		}
		if err != nil || at < before || time.Since(began) > maxWait { // of much that is none of its sound
			return false
		}
		before = at
	}
	for d := f.from(max(f.begin, f.size-tail)); ; {
		if _, _, err := d.next(); err != nil {
			return ended(err) && d.end == f.total
		}
	}
}

func (f *flacFile) from(offset int64) *flacForward {
	return &flacForward{of: f, offset: offset, r: bufio.NewReaderSize(io.NewSectionReader(f.f, offset, f.size-offset), 64<<10)}
}

// flacForward decodes frame by frame, and looks for the next one where one is damaged.
type flacForward struct {
	of     *flacFile
	r      *bufio.Reader
	offset int64 // of what r gives next
	end    int64 // behind the last frame
	broken int
}

const flacHead = 16 // bytes that the head of a frame has at most

// find goes to the next head, and leaves it to be read.
func (d *flacForward) find() (*frame.Frame, int64, error) {
	for skipped := 0; skipped < maxGarbage; skipped++ {
		b, err := d.r.Peek(flacHead)
		if len(b) < 6 {
			return nil, 0, errors.Join(err, io.EOF)
		}
		if string(b[:4]) == "fLaC" && d.offset > d.of.begin {
			return nil, 0, partError{offset: d.offset}
		}
		if b[0] == 0xff && b[1]&0xfe == 0xf8 {
			if h, err := frame.New(bytes.NewReader(b)); err == nil {
				return h, d.offset, nil
			}
		}
		d.discard(1)
	}
	return nil, 0, errBroken
}

func (d *flacForward) discard(n int) {
	n, _ = d.r.Discard(n)
	d.offset += int64(n)
}

// place is that of a frame's first sample.
func (d *flacForward) place(h *frame.Frame) int64 {
	if h.HasFixedBlockSize {
		return int64(h.Num) * d.of.block // the last one is shorter
	}
	return int64(h.Num)
}

// whole says whether the frame that begins here is one.
func (d *flacForward) whole(*frame.Frame) bool {
	_, err := d.parse()
	return err == nil
}

// parse reads the frame that begins here; of what is none it takes one byte.
func (d *flacForward) parse() (fr *frame.Frame, err error) {
	n := &counted{r: d.r}
	defer func() { d.offset += n.n }()
	err = safely(func() error {
		fr, err = frame.Parse(n)
		return err
	})
	return fr, err
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	if c.n >= flacFrame {
		return 0, errBroken
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (d *flacForward) rate() int { return d.of.hz }
func (d *flacForward) close()    {}

func (d *flacForward) next() ([]int16, int64, error) {
	for {
		if _, _, err := d.find(); err != nil {
			return nil, 0, behind(err, d.end)
		}
		fr, err := d.parse()
		if err != nil {
			if d.broken++; d.broken > maxBroken || ended(err) {
				return nil, 0, err
			}
			continue
		}
		d.broken = 0
		pcm := d.of.mono(fr)
		at := d.place(fr)
		d.end = at + int64(len(pcm))
		return pcm, at, nil
	}
}

// mono is the middle of the channels of a frame.
func (f *flacFile) mono(fr *frame.Frame) []int16 {
	bits := int(fr.BitsPerSample)
	if bits == 0 {
		bits = f.bits
	}
	pcm := make([]int16, fr.BlockSize)
	scale := 32768 / float64(int64(1)<<(bits-1)) / float64(len(fr.Subframes))
	for i := range pcm {
		sum := 0.0
		for _, s := range fr.Subframes {
			sum += float64(s.Samples[i])
		}
		pcm[i] = audio.Saturate(float32(sum * scale))
	}
	return pcm
}

// flacCodec has a head, and behind it as many packets of metadata as it says (Ogg FLAC 1.0).
type flacCodec struct {
	of    flacFile
	heads int
}

func (f *flacCodec) head(packet []byte) (bool, error) {
	if f.heads++; f.heads == 1 {
		if len(packet) < 17+flacInfo {
			return false, errFLAC
		}
		f.of.info(packet[17:])
		return false, f.of.check()
	}
	return packet[0]&0x80 != 0, nil
}

func (f *flacCodec) decode(dst []int16, packet []byte) ([]int16, error) {
	fr, err := frame.Parse(bytes.NewReader(packet))
	if err != nil {
		return dst, err
	}
	return append(dst, f.of.mono(fr)...), nil
}

func (f *flacCodec) rate() int   { return f.of.hz }
func (f *flacCodec) lead() int64 { return 0 }
func (f *flacCodec) anew()       {}
