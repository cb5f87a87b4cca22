package decode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// oggPage is one of an Ogg stream (RFC 3533 6).
type oggPage struct {
	offset  int64
	flags   byte
	granule int64 // place of the end of its last packet; -1: none ends in it
	serial  uint32
	lacing  []byte
	body    []byte
}

const (
	oggContinued = 1
	oggFirst     = 2
	oggLast      = 4

	oggHead  = 27
	oggMost  = oggHead + 255 + 255*255
	oggLimit = 1 << 20 // bytes of a packet; of a longer one (a picture) the beginning is kept
	oggVain  = 64      // pages in a row whose checksum is wrong: each costs a look at all of it
	oggHeads = 4000    // pages before the sound of a file begins
)

// oggPages cuts a stream into pages, and leaves out what is none.
type oggPages struct {
	r      *bufio.Reader
	offset int64
	most   int // bytes between two pages
}

func newOggPages(r io.Reader, offset int64, most int) *oggPages {
	return &oggPages{r: bufio.NewReaderSize(r, 1<<17), offset: offset, most: most}
}

// next is the next whole page; it is good until the one after it.
func (p *oggPages) next() (oggPage, error) {
	for skipped, vain := 0, 0; skipped <= p.most && vain <= oggVain; skipped++ {
		h, err := p.r.Peek(oggHead)
		if err != nil {
			return oggPage{}, err
		}
		if string(h[:5]) == "OggS\x00" {
			vain++
			page, n, err := p.page(int(h[26]))
			if err == nil {
				page.offset = p.offset
				p.offset += int64(n)
				_, err = p.r.Discard(n) // the bytes stay where they are until the next Peek
				return page, err
			} else if !errors.Is(err, errBroken) {
				return oggPage{}, err
			}
		}
		if _, err := p.r.Discard(1); err != nil {
			return oggPage{}, err
		}
		p.offset++
	}
	return oggPage{}, errBroken
}

func (p *oggPages) page(segments int) (page oggPage, n int, err error) {
	h, err := p.r.Peek(oggHead + segments)
	if err != nil {
		return page, 0, err
	}
	n = len(h)
	for _, l := range h[oggHead:] {
		n += int(l)
	}
	b, err := p.r.Peek(n)
	if err != nil {
		return page, 0, err
	}
	if oggSum(b) != binary.LittleEndian.Uint32(b[22:]) {
		return page, 0, errBroken
	}
	return oggPage{
		flags: b[5], granule: int64(binary.LittleEndian.Uint64(b[6:])), serial: binary.LittleEndian.Uint32(b[14:]),
		lacing: b[oggHead : oggHead+segments], body: b[oggHead+segments:],
	}, n, nil
}

// oggTable is that of a checksum of 32 bits that is not reflected, which hash/crc32 has not.
var oggTable = func() (t [256]uint32) {
	for i := range t {
		r := uint32(i) << 24
		for range 8 {
			r = r<<1 ^ (r>>31)*0x04c11db7
		}
		t[i] = r
	}
	return t
}()

// oggSum is the checksum of a page, whose own bytes count as zeros.
func oggSum(page []byte) (sum uint32) {
	for i, b := range page {
		if i >= 22 && i < 26 {
			b = 0
		}
		sum = sum<<8 ^ oggTable[byte(sum>>24)^b]
	}
	return sum
}

// oggCodec is one of the kinds of sound in Ogg.
type oggCodec interface {
	// head takes a packet of the beginning, and says whether it was the last one.
	head(packet []byte) (done bool, err error)
	decode(dst []int16, packet []byte) ([]int16, error)
	rate() int
	lead() int64 // frames that are made and not heard
	anew()       // what comes next does not follow what came last
}

// oggForward decodes a page at a time.
type oggForward struct {
	pages  *oggPages
	live   bool // a stream, in which one sound may follow another
	serial uint32
	codec  oggCodec
	ready  bool // its heads were read
	other  bool // a stream was passed over
	packet []byte
	cut    bool // packet has no beginning, or not all of what it had
	at     int64
	known  bool // at is where the next frame is
	broken int
	spent  time.Duration // in the decoder, since next was called
}

func (o *oggForward) rate() int { return o.codec.rate() }
func (o *oggForward) close()    {}

func (o *oggForward) next() ([]int16, int64, error) {
	for o.spent = 0; ; {
		page, err := o.pages.next()
		if err != nil {
			return nil, 0, err
		}
		if err := o.begin(page); err != nil {
			return nil, 0, err
		}
		if o.codec == nil || page.serial != o.serial {
			continue
		}
		pcm, err := o.decode(page)
		if err != nil {
			return nil, 0, err
		}
		if pcm, at := o.placed(page, pcm); len(pcm) > 0 {
			return pcm, at, nil
		}
	}
}

// begin looks at a page: the first one of a stream that can be decoded begins a sound, others are passed over.
func (o *oggForward) begin(page oggPage) error {
	switch first := page.flags&oggFirst != 0; {
	case first && o.codec != nil && page.serial != o.serial && o.ready && !o.live:
		return partError{page.offset, max(0, o.at)}
	case first && (o.codec == nil || o.live && page.serial != o.serial):
		codec := oggCodecOf(page.body)
		if o.other = o.other || codec == nil; codec != nil {
			o.codec, o.serial, o.ready, o.known, o.packet, o.cut = codec, page.serial, false, false, o.packet[:0], false
		}
	case o.codec == nil && o.other:
		return ForeignError{"Ogg without Vorbis, Opus or FLAC in it"}
	}
	return nil
}

// oggCodecOf knows a stream by its first packet; nil: it is none that is decoded here.
func oggCodecOf(head []byte) oggCodec {
	switch {
	case len(head) > 8 && string(head[:8]) == "OpusHead":
		return &opusCodec{}
	case len(head) > 7 && string(head[:7]) == "\x01vorbis":
		return &vorbisCodec{}
	case len(head) > 5 && string(head[1:5]) == "FLAC":
		return &flacCodec{}
	}
	return nil
}

// decode goes through the packets that end in a page.
func (o *oggForward) decode(page oggPage) (pcm []int16, err error) {
	if continued := page.flags&oggContinued != 0; !continued {
		o.packet, o.cut = o.packet[:0], false // what was begun and not gone on with is lost
	} else if len(o.packet) == 0 {
		o.cut = true
	}
	body := page.body
	for _, l := range page.lacing {
		if room := oggLimit - len(o.packet); int(l) > room {
			o.cut = true
		} else {
			o.packet = append(o.packet, body[:l]...)
		}
		body = body[l:]
		if l == 255 {
			continue
		}
		if pcm, err = o.take(pcm); err != nil {
			return nil, err
		}
		o.packet, o.cut = o.packet[:0], false
	}
	return pcm, nil
}

// take decodes a packet.
func (o *oggForward) take(pcm []int16) ([]int16, error) {
	if !o.ready {
		done, err := o.codec.head(o.packet)
		if err != nil {
			return nil, fmt.Errorf("it begins wrong: %w", err)
		}
		o.ready = done
		return pcm, nil
	}
	if o.cut || len(o.packet) == 0 {
		return pcm, nil
	}
	more, began := pcm, time.Now()
	err := safely(func() (err error) {
		more, err = o.codec.decode(pcm, o.packet)
		return err
	})
	if o.spent += time.Since(began); o.spent > maxWait { // a page has up to 255 packets
		return nil, errSlow
	}
	if err != nil {
		o.codec.anew()
		if o.broken++; o.broken > maxBroken {
			return nil, errBroken
		}
		return pcm, nil
	}
	o.broken = 0
	return more, nil
}

// placed says where in the sound that is which a page has brought, and takes off what is behind its end.
func (o *oggForward) placed(page oggPage, pcm []int16) ([]int16, int64) {
	if page.granule < 0 || !o.ready {
		at := o.at
		o.at += int64(len(pcm))
		return pcm, at
	}
	end := page.granule - o.codec.lead()
	at := end - int64(len(pcm))
	if page.flags&oggLast != 0 && o.known {
		at = o.at
		pcm = pcm[:max(0, min(int64(len(pcm)), end-at))]
	}
	o.at, o.known = end, true
	return pcm, at
}

// oggFile is a file of one sound.
type oggFile struct {
	f           io.ReaderAt
	begin, size int64 // begin is behind the heads
	serial      uint32
	first       oggForward // as it is behind the heads
	total       int64
}

func openOgg(f io.ReaderAt, at, size int64) (container, error) {
	o := &oggFile{f: f, size: size}
	fw := &oggForward{pages: newOggPages(io.NewSectionReader(f, at, size-at), at, sniffed)}
	for n := 0; !fw.ready; n++ {
		page, err := fw.pages.next()
		if err != nil {
			return nil, err
		}
		if n == oggHeads {
			return nil, errBroken
		}
		if err := fw.begin(page); err != nil {
			return nil, err
		}
		if fw.codec == nil || page.serial != fw.serial {
			continue
		}
		if _, err := fw.decode(page); err != nil {
			return nil, err
		}
		o.begin = fw.pages.offset
	}
	o.serial, o.first = fw.serial, *fw
	o.total = o.last()
	return o, nil
}

// last is the place at the end.
func (o *oggFile) last() (end int64) {
	from := max(o.begin, o.size-2*oggMost)
	pages := newOggPages(io.NewSectionReader(o.f, from, o.size-from), from, 4*oggMost)
	for {
		p, err := pages.next()
		if err != nil {
			return max(0, end)
		}
		if p.serial == o.serial && p.granule >= 0 {
			end = p.granule - o.first.codec.lead()
		}
	}
}

func (o *oggFile) rate() int     { return o.first.codec.rate() }
func (o *oggFile) frames() int64 { return o.total }

func (o *oggFile) seek(place int64) (forward, error) {
	before := place - int64(o.rate()) // a second is enough for either decoder to settle
	at := o.begin
	if before > 0 {
		at = bisect(o.begin, o.size, before, func(offset, to int64) (int64, int64, bool) {
			pages := newOggPages(io.NewSectionReader(o.f, offset, o.size-offset), offset, maxGarbage)
			for {
				p, err := pages.next()
				if err != nil || p.offset >= to {
					return 0, 0, false
				}
				if p.serial == o.serial && p.granule >= 0 {
					return p.offset, p.granule - o.first.codec.lead(), true
				}
			}
		})
	}
	fw := o.first
	fw.codec.anew()
	fw.pages = newOggPages(io.NewSectionReader(o.f, at, o.size-at), at, maxGarbage)
	fw.packet, fw.cut, fw.known, fw.at = nil, false, at == o.begin, -fw.codec.lead()
	return &fw, nil
}
