package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

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
	most   int  // bytes between two frames
	begun  bool // a frame was passed
	live   bool // a stream, whose kind may change
}

const (
	mp3Buffer = 32 << 10
	mp3Tag    = 200 // bytes in which a frame that tells of the others says so
)

func newMP3Frames(r io.Reader, offset int64, like mp3Head, most int) *mp3Frames {
	return &mp3Frames{r: bufio.NewReaderSize(r, mp3Buffer), offset: offset, like: like, most: most}
}

// find goes to the next frame and leaves it to be read. Where a file was joined to another one it gives a partError.
func (m *mp3Frames) find() (mp3Head, error) {
	for skipped := 0; ; {
		b, err := m.r.Peek(mp3Tag)
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
		if h, ok := mp3Header(b); ok && h.layer == 3 {
			_, tag := mp3InfoOf(b, h)
			switch {
			case h.like(m.like) && (m.live || !tag || !m.begun):
				return h, nil
			case h.like(m.like):
				return h, partError{offset: m.offset}
			case !m.follow(h):
			case m.like.rate == 0 || m.live:
				m.like = h
				return h, nil
			default:
				return h, partError{offset: m.offset}
			}
		}
		if skipped++; skipped > m.most {
			return mp3Head{}, errBroken
		}
		if err := m.discard(1); err != nil {
			return mp3Head{}, err
		}
	}
}

// follow says whether two frames of the same kind follow one, as far as there is more.
func (m *mp3Frames) follow(h mp3Head) bool {
	at := h.size
	for range 2 {
		b, err := m.r.Peek(at + 4)
		if len(b) < at+4 {
			return err != nil && len(b) >= at
		}
		n, ok := mp3Header(b[at:])
		if !ok || !n.like(h) {
			return false
		}
		at += n.size
	}
	return true
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
	m.begun = true
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
	count int64   // frames; 0: the file does not say
	total int64   // samples, about
	end   int64   // samples; forever: the file does not say
	marks []int64 // where each mp3Stride-th frame is
}

const (
	mp3Stride  = 64
	mp3Settles = 24 // frames before what is wanted: a frame may need bytes of as many before it, and the filters two
	mp3Places  = 64 // in which a file is looked at whose length is not known
)

func openMP3(f io.ReaderAt, at, size int64) (container, error) {
	frames := newMP3Frames(io.NewSectionReader(f, at, size-at), at, mp3Head{}, sniffed)
	h, err := frames.find()
	if err != nil {
		return nil, what(nil)
	}
	if h.version == 25 && h.rate == 8000 && ffmpeg() == "" { // the library has no table for its bands
		return nil, ForeignError{"MP3 of 8 kHz"}
	}
	m := &mp3File{f: f, size: size, first: h, end: forever}
	begins := frames.offset
	frame, _, err := frames.read()
	if err != nil {
		return nil, err
	}
	info, ok := mp3InfoOf(frame, h)
	if ok { // a frame of data on the others
		begins, m.lead = frames.offset, info.lead
	}
	m.marks = []int64{begins}
	if m.count = info.frames; m.count == 0 {
		m.total = m.estimate(begins)
		return m, nil
	}
	m.total = max(0, m.count*int64(h.frames())-m.lead-info.tail)
	if info.lead > 0 {
		m.end = m.total
	}
	if next := begins + info.bytes; info.bytes > 0 && next < size { // was another file joined to it?
		if _, err := newMP3Frames(io.NewSectionReader(f, next, size-next), next, mp3Head{}, mp3Buffer).find(); err == nil {
			m.total = int64(float64(m.total) * float64(size-begins) / float64(info.bytes))
		}
	}
	return m, nil
}

// estimate is how many samples a file has, by the length of the frames in many places of it.
func (m *mp3File) estimate(begins int64) int64 {
	var of, places float64 // frames of a byte
	for i := range int64(mp3Places) {
		var bytes, frames float64
		at := begins + (m.size-begins)*i/mp3Places
		walk := newMP3Frames(io.NewSectionReader(m.f, at, min(m.size-at, mp3Buffer/2)), at, mp3Head{}, sniffed)
		for range 8 {
			b, h, err := walk.read()
			if err != nil || !h.like(m.first) {
				break
			}
			bytes, frames = bytes+float64(len(b)), frames+1
		}
		if frames > 0 {
			of, places = of+frames/bytes, places+1
		}
	}
	return int64(float64(m.size-begins) * of / max(1, places) * float64(m.first.frames()))
}

// mp3Info is what a frame tells of the others.
type mp3Info struct {
	frames     int64 // 0: it does not say
	bytes      int64 // 0: it does not say
	lead, tail int64 // samples that are none of the sound
}

// mp3Delay is what a decoder adds to the lead.
const mp3Delay = 529

// mp3InfoOf says whether a frame has no sound, but tells of the others.
func mp3InfoOf(frame []byte, h mp3Head) (info mp3Info, ok bool) {
	side := map[[2]int]int{{1, 2}: 32, {1, 1}: 17, {2, 2}: 17, {2, 1}: 9}[[2]int{min(2, h.version), h.channels}]
	if b := frame[min(len(frame), 4+side):]; len(b) >= 12 && (string(b[:4]) == "Xing" || string(b[:4]) == "Info") {
		if b[7]&1 != 0 {
			info.frames = int64(binary.BigEndian.Uint32(b[8:]))
		}
		if b[7]&3 == 3 && len(b) >= 16 {
			info.bytes = int64(binary.BigEndian.Uint32(b[12:]))
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
		return mp3Info{frames: int64(binary.BigEndian.Uint32(b[14:])), bytes: int64(binary.BigEndian.Uint32(b[10:]))}, true
	}
	return info, false
}

func (m *mp3File) rate() int     { return m.first.rate }
func (m *mp3File) frames() int64 { return m.total }

func (m *mp3File) seek(frame int64) (forward, error) {
	length := int64(m.first.frames())
	n := max(0, (frame+m.lead)/length-mp3Settles)
	mark := min(n/mp3Stride, int64(len(m.marks)-1))
	at := m.marks[mark]
	frames := newMP3Frames(io.NewSectionReader(m.f, at, m.size-at), at, m.first, maxGarbage)
	for i := mark * mp3Stride; i < n; i++ {
		h, err := frames.find()
		if err == nil && m.count > 0 && i >= m.count {
			err = partError{offset: frames.offset}
		}
		if err != nil {
			return nil, behind(err, min(m.end, i*length-m.lead))
		}
		if i%mp3Stride == 0 && i/mp3Stride == int64(len(m.marks)) {
			m.marks = append(m.marks, frames.offset)
		}
		frames.begun = true
		if err := frames.discard(int64(h.size)); err != nil {
			return nil, err
		}
	}
	from := mp3Source{frames: frames, left: -1}
	if m.count > 0 {
		from.left = max(0, m.count-n)
	}
	return newMP3Forward(from, m.first, n*length-m.lead, m.end, ffmpeg() != "")
}

// mp3Source gives frames, until there are as many as the file has said.
type mp3Source struct {
	frames *mp3Frames
	left   int64 // negative: not known
}

func (s *mp3Source) next() ([]byte, mp3Head, error) {
	if s.left == 0 {
		h, err := s.frames.find()
		if err == nil {
			err = partError{offset: s.frames.offset}
		}
		return nil, h, err
	}
	s.left--
	return s.frames.read()
}

// newMP3Forward decodes in a child, if there is one: the library for MP3 is not kept any more, and loses short blocks of two channels.
func newMP3Forward(from mp3Source, of mp3Head, at, end int64, child bool) (forward, error) {
	if !child {
		return &mp3Forward{from: from, of: of, at: at, end: end}, nil
	}
	c, err := startChild(nil, func(w io.Writer) error {
		for {
			frame, _, err := from.next()
			if err != nil {
				return err
			}
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
	}, slices.Concat(childSoon, []string{"-f", "mp3", "-i", "pipe:0", "-ac", "1", "-ar", strconv.Itoa(of.rate), "-f", "s16le", "pipe:1"})...)
	if err != nil { // on a kernel that confines nothing
		return newMP3Forward(from, of, at, end, false)
	}
	if !from.frames.live {
		c.resting()
	}
	return &childForward{c: c, hz: of.rate, at: at, end: end}, nil
}

// mp3Forward decodes frame by frame. One that cannot be decoded is silence, as long as it would have been.
type mp3Forward struct {
	from   mp3Source
	of     mp3Head
	at     int64
	end    int64
	broken int // in a row
	feed   bytes.Buffer
	dec    *mp3.Decoder
	b      []byte
}

func (m *mp3Forward) rate() int { return m.of.rate }
func (m *mp3Forward) close()    {}

func (m *mp3Forward) next() ([]int16, int64, error) {
	for {
		frame, h, err := m.from.next()
		if err != nil {
			return nil, 0, behind(err, min(m.at, m.end))
		}
		if !h.like(m.of) {
			m.dec = nil
		}
		pcm, at := make([]int16, h.frames()), m.at
		m.of, m.at = h, m.at+int64(len(pcm))
		if at >= m.end {
			continue
		}
		if err := safely(func() error { return m.decode(frame, h, pcm) }); err != nil {
			m.dec = nil // what it has of the past is not to be relied on
			clear(pcm)
			if m.broken++; m.broken > maxBroken {
				return nil, 0, errBroken
			}
		} else {
			m.broken = 0
		}
		return pcm[:min(int64(len(pcm)), m.end-at)], at, nil
	}
}

func (m *mp3Forward) decode(frame []byte, h mp3Head, pcm []int16) error {
	if m.dec == nil {
		m.feed.Reset()
	}
	fed, over := fit(frame, h)
	m.feed.Write(fed)
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
	if m.feed.Len() > 0 { // it has taken other frames than we have
		return errBroken
	}
	if r := reservoir(m.dec); over < 0 {
		*r = append(*r, frame[len(frame)+over:]...)
	} else {
		*r = (*r)[:max(0, len(*r)-over)]
	}
	for i := range pcm {
		l, r := int16(binary.LittleEndian.Uint16(b[4*i:])), int16(binary.LittleEndian.Uint16(b[4*i+2:]))
		pcm[i] = int16((int(l) + int(r)) / 2)
	}
	return nil
}

// fit makes a frame as long as the library takes it for, with zeros behind it, or without its last bytes: over is how many. Of versions 2
// and 2.5 it takes a padded frame for a byte shorter where 144 * bitrate / rate is even. Version 2.5 it refuses, although 11025 and
// 12000 Hz have the bands of 16000 Hz.
func fit(frame []byte, h mp3Head) (fed []byte, over int) {
	if h.version == 1 {
		return frame, 0
	}
	rate, index := h.rate, frame[2]>>2&3
	if h.version == 25 {
		rate, index = 16000, 2
	}
	bitrate, padding := frame[2]>>4, 0
	length := func() int { return (144*mp3Bitrates[2][bitrate]*1000/rate + padding) / 2 }
	for ; length() < len(frame) && (bitrate < 14 || padding == 0); padding ^= 1 {
		bitrate += byte(padding)
	}
	n := length()
	fed = append(make([]byte, 0, max(n, len(frame))), frame...)[:n]
	fed[1] = fed[1]&^0x18 | 0x10
	fed[2] = bitrate<<4 | index<<2 | byte(padding)<<1 | fed[2]&1
	return fed, n - len(frame)
}

// reservoir is what the decoder keeps of the last frames for the next ones to begin in.
func reservoir(dec *mp3.Decoder) *[]byte {
	v := reflect.ValueOf(dec).Elem().FieldByName("frame").Elem().FieldByName("mainDataBits").Elem().FieldByName("vec")
	return (*[]byte)(unsafe.Pointer(v.UnsafeAddr()))
}
