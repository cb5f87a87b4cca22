package decode

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// id3Frame is one of a tag (ID3v2.2 to 2.4).
type id3Frame struct {
	id   string
	body []byte
}

// id3Reader goes through the frames of a tag. Of those that are longer than what is wanted it reads nothing.
type id3Reader struct {
	r       io.ReaderAt
	at, end int64
	version byte // 2, 3 or 4
	seen    int  // frames, of maxFrames
}

// id3 reads a tag, of which r is all.
func (t *Tags) id3(r *io.SectionReader) {
	h := readAt(r, 0, 14)
	if len(h) < 14 || string(h[:3]) != "ID3" {
		return
	}
	f := &id3Reader{r: r, at: 10, end: min(r.Size(), 10+int64(syncsafe(h[6:]))), version: h[3]}
	if f.version < 2 || f.version > 4 {
		return
	}
	if h[5]&0x80 != 0 && f.version < 4 { // a zero behind each 0xff, for players that look for nothing but frames of sound
		b := bytes.ReplaceAll(readAt(r, 0, min(f.end, maxComments)), []byte{0xff, 0}, []byte{0xff})
		f.r, f.end = bytes.NewReader(b), int64(len(b))
	}
	if h[5]&0x40 != 0 && f.version > 2 { // more of a head
		n := int64(binary.BigEndian.Uint32(h[10:])) + 4
		if f.version == 4 {
			n = int64(syncsafe(h[10:]))
		}
		f.at += n
	}
	listed := map[string]bool{} // chapters that a table of contents has
	type chap struct {
		id string
		Chapter
	}
	var chapters []chap
	for {
		fr, ok := f.next()
		if !ok {
			break
		}
		switch fr.id {
		case "CHAP":
			if id, c, ok := chapOf(fr.body, f.version); ok && len(chapters) < maxChapters {
				chapters = append(chapters, chap{id, c})
			}
		case "CTOC":
			for _, id := range contents(fr.body) {
				if len(listed) < maxChapters {
					listed[id] = true
				}
			}
		default:
			t.frame(fr)
		}
	}
	if slices.ContainsFunc(chapters, func(c chap) bool { return listed[c.id] }) {
		chapters = slices.DeleteFunc(chapters, func(c chap) bool { return !listed[c.id] })
	}
	for _, c := range chapters {
		t.chapter(c.Chapter)
	}
}

func (t *Tags) frame(f id3Frame) {
	switch f.id {
	case "TIT2", "TT2":
		set(&t.Title, textOf(f.body))
	case "TPE1", "TP1", "TPE2", "TP2":
		set(&t.Artist, textOf(f.body))
	case "TALB", "TAL":
		set(&t.Album, textOf(f.body))
	case "TRCK", "TRK":
		setNumber(&t.Track, textOf(f.body))
	case "TPOS", "TPA":
		setNumber(&t.Disc, textOf(f.body))
	}
}

// next is the next frame that is wanted.
func (f *id3Reader) next() (id3Frame, bool) {
	head := int64(10)
	if f.version == 2 {
		head = 6
	}
	for ; f.seen < maxFrames && f.end-f.at >= head; f.seen++ {
		h := readAt(f.r, f.at, head)
		if int64(len(h)) < head || h[0] < 'A' || h[0] > 'Z' { // zeros, up to the sound
			break
		}
		fr := id3Frame{id: string(h[:3])}
		var size int64
		packed := false
		switch f.version {
		case 2:
			size = int64(h[3])<<16 | int64(h[4])<<8 | int64(h[5])
		default:
			fr.id, size = string(h[:4]), int64(binary.BigEndian.Uint32(h[4:]))
			packed = h[9]&0xc0 != 0
			if f.version == 4 {
				packed = h[9]&0x0c != 0
				if size&0x80808080 == 0 { // else somebody has written it as version 3 does
					size = int64(syncsafe(h[4:]))
				}
			}
		}
		begins := f.at + head
		f.at = begins + size
		if packed || size > maxFrame || f.at > f.end || !wanted(fr.id) {
			continue
		}
		if fr.body = readAt(f.r, begins, size); f.version > 2 {
			fr.body = plain(fr.body, h[9], f.version)
		}
		f.seen++
		return fr, true
	}
	return id3Frame{}, false
}

func wanted(id string) bool { return id[0] == 'T' || id == "CHAP" || id == "CTOC" }

// plain is a frame without what its flags put around it.
func plain(b []byte, flags, version byte) []byte {
	extra := 0
	switch {
	case version == 3 && flags&0x20 != 0: // a group
		extra = 1
	case version == 4:
		if flags&0x40 != 0 {
			extra++
		}
		if flags&0x01 != 0 { // its length once more
			extra += 4
		}
	}
	if b = b[min(extra, len(b)):]; version == 4 && flags&0x02 != 0 {
		b = bytes.ReplaceAll(b, []byte{0xff, 0}, []byte{0xff})
	}
	return b
}

func syncsafe(b []byte) uint32 {
	return uint32(b[0]&0x7f)<<21 | uint32(b[1]&0x7f)<<14 | uint32(b[2]&0x7f)<<7 | uint32(b[3]&0x7f)
}

// chapOf is a chapter: its id, four numbers, of which the first is its time in milliseconds, and frames of its own.
func chapOf(b []byte, version byte) (id string, c Chapter, ok bool) {
	name, rest, ok := bytes.Cut(b, []byte{0})
	if !ok || len(rest) < 16 {
		return "", c, false
	}
	c.At = time.Duration(binary.BigEndian.Uint32(rest)) * time.Millisecond
	own := &id3Reader{r: bytes.NewReader(rest), at: 16, end: int64(len(rest)), version: version}
	for {
		fr, ok := own.next()
		if !ok {
			return string(name), c, true
		}
		if fr.id == "TIT2" {
			set(&c.Title, textOf(fr.body))
		}
	}
}

// contents are the ids that a table of contents has.
func contents(b []byte) (all []string) {
	_, rest, ok := bytes.Cut(b, []byte{0})
	if !ok || len(rest) < 2 {
		return nil
	}
	n := int(rest[1])
	rest = rest[2:]
	for len(all) < n {
		id, more, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		all, rest = append(all, string(id)), more
	}
	return all
}

// textOf is the first text of a frame, in whichever of the four alphabets it is.
func textOf(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	alphabet, b := b[0], b[1:min(len(b), 1+2*maxText)]
	switch alphabet {
	case 1, 2:
		var order binary.ByteOrder = binary.BigEndian
		if b[0] == 0xff && alphabet == 1 {
			order = binary.LittleEndian
		}
		var units []uint16
		for ; len(b) > 1; b = b[2:] {
			switch u := order.Uint16(b); {
			case u == 0:
				return string(utf16.Decode(units))
			case u != 0xfeff:
				units = append(units, u)
			}
		}
		return string(utf16.Decode(units))
	case 3:
		text, _, _ := strings.Cut(string(b), "\x00")
		return text
	}
	return latin1(b)
}

func latin1(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	runes := make([]rune, len(b))
	for i, x := range b {
		runes[i] = rune(x)
	}
	return string(runes)
}

// id3v1 is the oldest kind: 128 bytes at the end, of which each text has thirty.
func (t *Tags) id3v1(b []byte) {
	if len(b) < 128 || string(b[:3]) != "TAG" {
		return
	}
	set(&t.Title, latin1(b[3:33]))
	set(&t.Artist, latin1(b[33:63]))
	set(&t.Album, latin1(b[63:93]))
	if b[125] == 0 && t.Track == 0 {
		t.Track = int(b[126])
	}
}
