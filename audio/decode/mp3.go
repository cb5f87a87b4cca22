package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/hajimehoshi/go-mp3"
)

// mp3Head is the head of a frame (ISO 11172-3 2.4.1.3, 13818-3 2.4.1.3).
type mp3Head struct {
	version  int // 1, 2, or 25 for 2.5
	layer    int
	rate     int // samples a second
	size     int // bytes of the frame
	channels int
	bitrate  int
}

// frames are the samples of a frame.
func (h mp3Head) frames() int {
	if h.version == 1 {
		return 1152
	}
	return 576
}

// like says whether two frames may be of one stream.
func (h mp3Head) like(o mp3Head) bool {
	return h.version == o.version && h.layer == o.layer && h.rate == o.rate
}

var (
	mp3Rates    = [3]int{44100, 48000, 32000}
	mp3Bitrates = map[int][15]int{ // kbit/s of layer III
		1: {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
		2: {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	}
)

// mp3Header reads the head of a frame; of other layers than III it knows the layer.
func mp3Header(b []byte) (h mp3Head, ok bool) {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return h, false
	}
	version, layer, bitrate, rate := b[1]>>3&3, b[1]>>1&3, b[2]>>4, b[2]>>2&3
	if version == 1 || layer == 0 || bitrate == 15 || rate == 3 || b[3]&3 == 2 {
		return h, false
	}
	h = mp3Head{version: [4]int{25, 0, 2, 1}[version], layer: 4 - int(layer), channels: 2}
	if h.layer != 3 {
		return h, true
	}
	if b[3]>>6 == 3 {
		h.channels = 1
	}
	h.rate = mp3Rates[rate]
	switch h.version {
	case 1:
		h.bitrate = mp3Bitrates[1][bitrate] * 1000
		h.size = 144 * h.bitrate / h.rate
	case 2, 25:
		h.rate /= 2
		if h.version == 25 {
			h.rate /= 2
		}
		h.bitrate = mp3Bitrates[2][bitrate] * 1000
		h.size = 72 * h.bitrate / h.rate
	}
	h.size += int(b[2] >> 1 & 1)
	return h, h.bitrate > 0 // of a free one the length is not known
}

// mp3Frames cuts a stream into frames.
type mp3Frames struct {
	r      *bufio.Reader
	offset int64 // of what r gives next
	like   mp3Head
	most   int // bytes between two frames
}

const mp3Buffer = 32 << 10

func newMP3Frames(r io.Reader, offset int64, like mp3Head, most int) *mp3Frames {
	return &mp3Frames{r: bufio.NewReaderSize(r, mp3Buffer), offset: offset, like: like, most: most}
}

// find goes to the next frame and leaves it to be read.
func (m *mp3Frames) find() (mp3Head, error) {
	for skipped := 0; ; {
		b, err := m.r.Peek(10)
		if len(b) < 4 {
			return mp3Head{}, errors.Join(err, io.EOF)
		}
		if size, ok := tagSize(b); ok { // where files were joined
			if skipped++; skipped > m.most {
				return mp3Head{}, errBroken
			}
			if err := m.discard(size); err != nil {
				return mp3Head{}, err
			}
			continue
		}
		if h, ok := mp3Header(b); ok && m.fits(h) {
			m.like = h
			return h, nil
		}
		if skipped++; skipped > m.most {
			return mp3Head{}, errBroken
		}
		if err := m.discard(1); err != nil {
			return mp3Head{}, err
		}
	}
}

// fits says whether that is a frame: of the kind of the last one, and, where there was none, with another one behind it.
func (m *mp3Frames) fits(h mp3Head) bool {
	if m.like.rate != 0 {
		return h.like(m.like)
	}
	if h.layer != 3 {
		return false
	}
	b, err := m.r.Peek(h.size + 4)
	if len(b) < h.size+4 {
		return err != nil && len(b) >= h.size // the only one
	}
	n, ok := mp3Header(b[h.size:])
	return ok && n.like(h)
}

func (m *mp3Frames) discard(n int64) error {
	for n > 0 {
		k, err := m.r.Discard(int(min(n, 1<<30)))
		n, m.offset = n-int64(k), m.offset+int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

// read gives the next frame.
func (m *mp3Frames) read() ([]byte, mp3Head, error) {
	h, err := m.find()
	if err != nil {
		return nil, h, err
	}
	b := make([]byte, h.size)
	n, err := io.ReadFull(m.r, b)
	m.offset += int64(n)
	return b, h, err
}

// mp3File knows where frames are, as far as it has been.
type mp3File struct {
	f     io.ReaderAt
	size  int64
	first mp3Head
	lead  int64   // samples that the encoder and we have put before the first
	total int64   // samples, about
	exact bool    // it is the total
	marks []int64 // where each mp3Stride-th frame is
}

const (
	mp3Stride  = 64
	mp3Settles = 24 // frames before what is wanted: a frame may need bytes of as many before it, and the filters two
)

func openMP3(f io.ReaderAt, at, size int64) (container, error) {
	frames := newMP3Frames(io.NewSectionReader(f, at, size-at), at, mp3Head{}, sniffed)
	h, err := frames.find()
	if err != nil {
		return nil, what(nil)
	}
	if h.version == 25 {
		return nil, unfitError{"it is MP3 of the kind 2.5, which conch does not play", "ffmpeg -i IN -ar 44100 OUT.mp3"}
	}
	m := &mp3File{f: f, size: size, first: h}
	begins := frames.offset
	frame, _, err := frames.read()
	if err != nil {
		return nil, err
	}
	m.total = (size - begins) * 8 * int64(h.rate) / int64(h.bitrate)
	if info, ok := mp3InfoOf(frame, h); ok { // a frame of data on the others
		begins, m.lead = frames.offset, info.lead
		if info.frames > 0 {
			m.total = max(0, info.frames*int64(h.frames())-m.lead-info.tail)
			m.exact = info.lead > 0
		}
	}
	m.marks = []int64{begins}
	return m, nil
}

// mp3Info is what a frame tells of the others.
type mp3Info struct {
	frames     int64 // 0: it does not say
	lead, tail int64 // samples that are none of the sound
}

// mp3Delay is what a decoder adds to the lead.
const mp3Delay = 529

// mp3InfoOf says whether a frame has no sound, but tells of the others.
func mp3InfoOf(frame []byte, h mp3Head) (info mp3Info, ok bool) {
	side := map[[2]int]int{{1, 2}: 32, {1, 1}: 17, {2, 2}: 17, {2, 1}: 9}[[2]int{h.version, h.channels}]
	if b := frame[min(len(frame), 4+side):]; len(b) >= 12 && (string(b[:4]) == "Xing" || string(b[:4]) == "Info") {
		if b[7]&1 != 0 {
			info.frames = int64(binary.BigEndian.Uint32(b[8:]))
		}
		if len(b) >= 144 && b[7]&15 == 15 { // LAME's, behind a name of nine bytes and twelve more
			x := int64(b[141])<<16 | int64(b[142])<<8 | int64(b[143])
			if lead, tail := x>>12, x&0xfff; lead > 0 {
				info.lead, info.tail = lead+mp3Delay, max(0, tail-mp3Delay)
			}
		}
		return info, true
	}
	if b := frame[min(len(frame), 36):]; len(b) >= 18 && string(b[:4]) == "VBRI" {
		return mp3Info{frames: int64(binary.BigEndian.Uint32(b[14:]))}, true
	}
	return info, false
}

func (m *mp3File) rate() int     { return m.first.rate }
func (m *mp3File) frames() int64 { return m.total }

func (m *mp3File) seek(frame int64) (forward, error) {
	n := max(0, (frame+m.lead)/int64(m.first.frames())-mp3Settles)
	mark := min(n/mp3Stride, int64(len(m.marks)-1))
	at := m.marks[mark]
	frames := newMP3Frames(io.NewSectionReader(m.f, at, m.size-at), at, m.first, maxGarbage)
	for i := mark * mp3Stride; i < n; i++ {
		h, err := frames.find()
		if err != nil {
			return nil, err
		}
		if i%mp3Stride == 0 && i/mp3Stride == int64(len(m.marks)) {
			m.marks = append(m.marks, frames.offset)
		}
		if err := frames.discard(int64(h.size)); err != nil {
			return nil, err
		}
	}
	fw := &mp3Forward{frames: frames, at: n*int64(m.first.frames()) - m.lead, of: m.first, end: math.MaxInt64}
	if m.exact {
		fw.end = m.total
	}
	return fw, nil
}

// mp3Forward decodes frame by frame. One that cannot be decoded is silence, as long as it would have been.
type mp3Forward struct {
	frames *mp3Frames
	of     mp3Head
	at     int64
	end    int64
	broken int // in a row
	feed   bytes.Buffer
	dec    *mp3.Decoder
	b      []byte
}

func (m *mp3Forward) rate() int { return m.of.rate }

func (m *mp3Forward) next() ([]int16, int64, error) {
	if m.at >= m.end {
		return nil, 0, io.EOF
	}
	frame, h, err := m.frames.read()
	if err != nil {
		return nil, 0, err
	}
	if h.version == 25 {
		return nil, 0, unfitError{say: "it is MP3 of the kind 2.5, which conch does not play"}
	}
	pcm, at := make([]int16, h.frames()), m.at
	m.of, m.at = h, m.at+int64(len(pcm))
	if err := safely(func() error { return m.decode(frame, pcm) }); err != nil {
		m.dec = nil // what it has of the past is not to be relied on
		clear(pcm)
		if m.broken++; m.broken > maxBroken {
			return nil, 0, errBroken
		}
		return pcm, at, nil
	}
	m.broken = 0
	return pcm[:min(int64(len(pcm)), m.end-at)], at, nil
}

func (m *mp3Forward) decode(frame []byte, pcm []int16) error {
	if m.dec == nil {
		m.feed.Reset()
	}
	m.feed.Write(frame)
	if m.dec == nil {
		dec, err := mp3.NewDecoder(&m.feed)
		if err != nil {
			return err
		}
		m.dec = dec
	}
	if m.b == nil {
		m.b = make([]byte, 4*1152)
	}
	b := m.b[:4*len(pcm)] // it always makes two channels
	if _, err := io.ReadFull(m.dec, b); err != nil {
		return err
	}
	if m.feed.Len() > mp3Buffer { // it has taken other frames than we have
		return errBroken
	}
	for i := range pcm {
		l, r := int16(binary.LittleEndian.Uint16(b[4*i:])), int16(binary.LittleEndian.Uint16(b[4*i+2:]))
		pcm[i] = int16((int(l) + int(r)) / 2)
	}
	return nil
}
