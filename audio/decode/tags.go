package decode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Tags are what a file says of itself. What it does not say is empty.
type Tags struct {
	Title, Artist, Album string
	Disc, Track          int
	Chapters             []Chapter // by their time; none, or two at least
}

// Chapter begins somewhere in a file.
type Chapter struct {
	At    time.Duration
	Title string
}

// Our choices: whatever a file promises, no more than this is read and kept of its tags.
const (
	maxText     = 300      // bytes of a text
	maxFrame    = 8 << 10  // … of a frame of text, or of a chapter
	maxFrames   = 4000     // pictures are passed over, unread
	maxComments = oggLimit // bytes: pictures may come before what is wanted
	maxChapters = 1000
)

// ReadTags reads ID3, Vorbis comments and the INFO of a WAV. It reads what it can of what is damaged.
func ReadTags(f *os.File) (t Tags) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return t
	}
	return readTags(f, st.Size())
}

func readTags(f io.ReaderAt, size int64) (t Tags) {
	_ = safely(func() error { t.read(f, size); return nil }) // what was read until there counts
	slices.SortFunc(t.Chapters, func(a, b Chapter) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Title, b.Title)) })
	if len(t.Chapters) < 2 {
		t.Chapters = nil
	}
	return t
}

func (t *Tags) read(f io.ReaderAt, size int64) {
	at, err := behindTags(f, 0)
	if err != nil {
		return
	}
	for from := int64(0); from < at; {
		head := readAt(f, from, 16)
		length, ok := tagSize(head)
		if !ok {
			break
		}
		t.id3(io.NewSectionReader(f, from, length))
		from += length
	}
	switch kindOf(readAt(f, at, 16)) {
	case kindFLAC:
		t.flac(f, at+4, size)
	case kindOgg:
		t.comments(oggComments(f, at, size))
	case kindWAV:
		t.wav(f, at+12, size)
	default:
		t.id3v1(readAt(f, size-128, 128))
	}
}

// readAt gives as much as there is.
func readAt(f io.ReaderAt, at, n int64) []byte {
	if at < 0 || n <= 0 {
		return nil
	}
	b := make([]byte, n)
	k, _ := f.ReadAt(b, at) // at the end it is less
	return b[:k]
}

// set keeps the first of what is said of one thing.
func set(of *string, text string) {
	if *of == "" {
		*of = clean(text)
	}
}

func setNumber(of *int, text string) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "/") // "3/12"
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && *of == 0 && n > 0 && n < 10000 {
		*of = n
	}
}

// clean is a text in one line, of no more than is kept.
func clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

func (t *Tags) chapter(c Chapter) {
	if len(t.Chapters) < maxChapters {
		t.Chapters = append(t.Chapters, c)
	}
}

// flac looks for the comments among the blocks of metadata (RFC 9639 8).
func (t *Tags) flac(f io.ReaderAt, at, size int64) {
	for range maxFrames {
		h := readAt(f, at, 4)
		if len(h) < 4 || at > size {
			return
		}
		n := int64(h[1])<<16 | int64(h[2])<<8 | int64(h[3])
		if h[0]&0x7f == 4 { // there is one (RFC 9639 8.6)
			t.comments(readAt(f, at+4, min(n, maxComments)))
			return
		}
		if at += 4 + n; h[0]&0x80 != 0 {
			return
		}
	}
}

// oggComments is the second packet of the first sound, behind its name.
func oggComments(f io.ReaderAt, at, size int64) (packet []byte) {
	pages := newOggPages(io.NewSectionReader(f, at, size-at), at, sniffed)
	serial, begun := uint32(0), false
	for range 100 {
		page, err := pages.next()
		if err != nil {
			break
		}
		if !begun && page.flags&oggFirst != 0 {
			if oggCodecOf(page.body) != nil {
				serial, begun = page.serial, true
			}
			continue
		}
		if !begun || page.serial != serial {
			continue
		}
		body, ends := page.body, false
		for _, l := range page.lacing {
			packet, body, ends = append(packet, body[:l]...), body[l:], l < 255
			if ends {
				break
			}
		}
		if ends || len(packet) > maxComments {
			break
		}
	}
	for _, name := range []string{"\x03vorbis", "OpusTags"} {
		if rest, ok := bytes.CutPrefix(packet, []byte(name)); ok {
			return rest
		}
	}
	return nil
}

// comments are a vendor, a number, and so many texts with their names, each behind its length.
func (t *Tags) comments(b []byte) {
	next := func() (text []byte, ok bool) {
		if len(b) < 4 {
			return nil, false
		}
		n := int64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b)) {
			return nil, false
		}
		text, b = b[:n], b[n:]
		return text, true
	}
	if _, ok := next(); !ok || len(b) < 4 {
		return
	}
	b = b[4:]
	chapters := map[string]*Chapter{}
	for {
		text, ok := next()
		if !ok {
			break
		}
		name, value, _ := bytes.Cut(text[:min(len(text), maxFrame)], []byte("="))
		t.comment(strings.ToUpper(string(name)), string(value), chapters)
	}
	for _, c := range chapters {
		if c.At >= 0 {
			t.chapter(*c)
		}
	}
}

func (t *Tags) comment(name, value string, chapters map[string]*Chapter) {
	switch name {
	case "TITLE":
		set(&t.Title, value)
	case "ARTIST", "AUTHOR", "ALBUMARTIST":
		set(&t.Artist, value)
	case "ALBUM":
		set(&t.Album, value)
	case "TRACKNUMBER":
		setNumber(&t.Track, value)
	case "DISCNUMBER":
		setNumber(&t.Disc, value)
	}
	rest, ok := strings.CutPrefix(name, "CHAPTER")
	digits := strings.TrimRight(rest, "NAME")
	if _, err := strconv.ParseUint(digits, 10, 16); !ok || err != nil {
		return
	}
	c := chapters[digits]
	if c == nil {
		if len(chapters) == maxChapters {
			return
		}
		c = &Chapter{At: -1}
		chapters[digits] = c
	}
	switch rest[len(digits):] {
	case "":
		c.At = clockTime(value)
	case "NAME":
		c.Title = clean(value)
	}
}

// clockTime is that of HH:MM:SS.mmm; less than 0: it is none.
func clockTime(s string) time.Duration {
	parts := strings.Split(strings.TrimSpace(s), ":")
	if len(parts) != 3 {
		return -1
	}
	h, err1 := strconv.ParseUint(parts[0], 10, 10)
	m, err2 := strconv.ParseUint(parts[1], 10, 10)
	sec, err3 := strconv.ParseFloat(parts[2], 64)
	if err1 != nil || err2 != nil || err3 != nil || !(sec >= 0 && sec < 1000) {
		return -1
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec*1000)*time.Millisecond
}

// wav goes through the chunks for a list of texts (RIFF INFO), or an ID3 tag.
func (t *Tags) wav(f io.ReaderAt, at, size int64) {
	for range 64 {
		h := readAt(f, at, 12)
		if len(h) < 8 || at > size {
			return
		}
		n := int64(binary.LittleEndian.Uint32(h[4:]))
		switch id := string(h[:4]); {
		case id == "LIST" && string(h[8:]) == "INFO":
			t.info(readAt(f, at+12, min(n-4, 8*maxFrame)))
		case strings.EqualFold(id, "id3 "):
			t.id3(io.NewSectionReader(f, at+8, n))
		}
		at += 8 + n + n&1
	}
}

func (t *Tags) info(b []byte) {
	for len(b) >= 8 {
		n := int(min(int64(binary.LittleEndian.Uint32(b[4:])), int64(len(b)-8)))
		text, _, _ := strings.Cut(string(b[8:8+n]), "\x00")
		switch string(b[:4]) {
		case "INAM":
			set(&t.Title, text)
		case "IART":
			set(&t.Artist, text)
		case "IPRD":
			set(&t.Album, text)
		case "ITRK", "IPRT":
			setNumber(&t.Track, text)
		}
		b = b[min(8+n+n&1, len(b)):]
	}
}
