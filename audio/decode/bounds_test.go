package decode

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// readers is what has been read of some bytes.
type readers struct {
	*bytes.Reader
	read int64
}

func (r *readers) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(b, at)
	r.read += int64(n)
	return n, err
}

// Each bound refuses what is beyond it, and takes what is within.
func TestBounds(t *testing.T) {
	file := func(b []byte) error {
		_, err := safelyOpen(b)
		return err
	}
	stream := func(b []byte) error {
		_, err := NewLive(bytes.NewReader(b))
		return err
	}
	ogg, mark, flac := heads()["in order"], []byte("fLaC"), tinyFLAC()[4:]
	vain := append([]byte("OggS"), make([]byte, oggHead-4)...)
	empty := mendOgg(vain)
	metadata := []byte{1, 0, 0, 0}
	frames := func(n int) func(before []byte) error {
		return func(b []byte) error {
			_, err := newMP3Frames(bytes.NewReader(b), 0, mp3Head{}, n).find()
			return err
		}
	}
	tag := append([]byte("ID3\x04"), make([]byte, 6)...)
	for name, tt := range map[string]struct {
		of         func([]byte) error
		front      []byte
		part       []byte
		in, beyond int
		behind     []byte
		ends       error // of what is within
	}{
		"Ogg: pages with a wrong checksum": {file, ogg[:0], vain, oggVain, oggVain + 1, ogg, nil},
		"Ogg: pages before the sound":      {file, nil, empty, oggHeads - 3, oggHeads + 1, ogg, nil},
		"FLAC: metadata of a file":         {file, mark, metadata, flacBlocks - 1, flacBlocks, flac, nil},
		"FLAC: metadata of a stream":       {stream, mark, metadata, maxGarbage/4 - 20, maxGarbage/4 + 1, flac, nil},
		"MP3: tags in a row":               {frames(100), nil, tag, 100, 101, nil, io.EOF},
		"tags before a sound":              {file, nil, tag, maxTags - 1, maxTags, append(mark, flac...), nil},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(n int) []byte {
				return append(append(bytes.Clone(tt.front), bytes.Repeat(tt.part, n)...), tt.behind...)
			}
			if err := tt.of(build(tt.in)); !errors.Is(err, tt.ends) {
				t.Errorf("%d of them: %v", tt.in, err)
			}
			if err := tt.of(build(tt.beyond)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%d of them: %v", tt.beyond, err)
			}
		})
	}
}

// A frame that does not end is read no further than the longest there is.
func TestAFrameOfFLACIsBounded(t *testing.T) {
	head := tinyFLAC()[42:50] // of a frame; behind it a subframe of residuals, whose first one does not end
	b := append(append(bytes.Clone(head), 0x10, 0, 0), make([]byte, 4*flacFrame)...)
	d := &flacForward{r: bufio.NewReader(bytes.NewReader(b))}
	if _, err := d.parse(); !errors.Is(err, errBroken) || d.offset < flacFrame || d.offset > flacFrame+1<<16 {
		t.Errorf("%d bytes, %v", d.offset, err)
	}
}

// Bytes that look like frames, and are none, do not have a search read all of the file at each of its steps: only the first search
// reads it, once, for another sound behind this one.
func TestASearchInFLACIsBounded(t *testing.T) {
	b := tinyFLAC()
	frame := bytes.Clone(b[42:])
	frame[len(frame)-1]++ // its checksum is wrong
	b = append(b, bytes.Repeat(frame, 400_000)...)
	r := &readers{Reader: bytes.NewReader(b)}
	c, err := open(r, 0, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{int64(len(b)) + 2<<20, 1 << 20} {
		r.read = 0
		if _, err := c.seek(1 << 30); err != nil {
			t.Fatal(err)
		}
		if r.read > most {
			t.Errorf("%d of %d bytes were read; want %d at most", r.read, len(b), most)
		}
	}
}

// Of the comments of FLAC there is one block, and of the chapters in tables of contents no more than are kept.
func TestTagsAreBounded(t *testing.T) {
	block := func(kind byte, text string) []byte {
		b := append([]byte{4, 0, 0, 0, 'c', 'o', 'n', 'c', 1, 0, 0, 0, byte(len(text)), 0, 0, 0}, text...)
		return append([]byte{kind, 0, 0, byte(len(b))}, b...)
	}
	b := append(append([]byte("fLaC"), block(4, "TITLE=a")...), block(0x84, "ARTIST=b")...)
	if tags := readTags(bytes.NewReader(b), int64(len(b))); tags.Title != "a" || tags.Artist != "" {
		t.Errorf("%+v", tags)
	}
	var body []byte
	frame := func(id string, b []byte) {
		body = append(append(body, id...), 0, 0, byte(len(b)>>7), byte(len(b)&0x7f), 0, 0)
		body = append(body, b...)
	}
	table := func(ids ...string) {
		b := []byte{'t', 0, 3, byte(len(ids))}
		for _, id := range ids {
			b = append(append(b, id...), 0)
		}
		frame("CTOC", b)
	}
	for i := range maxChapters/100 + 1 {
		var ids []string
		for j := range 100 {
			ids = append(ids, string([]byte{'x', byte('0' + i), byte('0' + j)}))
		}
		table(ids...)
	}
	table("a")
	for _, id := range []string{"a", "b"} {
		frame("CHAP", append([]byte(id+"\x00"), make([]byte, 16)...))
	}
	b = append([]byte{'I', 'D', '3', 4, 0, 0, 0, 0, byte(len(body) >> 7), byte(len(body) & 0x7f)}, body...)
	if tags := readTags(bytes.NewReader(b), int64(len(b))); len(tags.Chapters) != 2 {
		t.Errorf("%+v", tags)
	}
}

// costly is a codec, and a container, whose each piece costs 100 ms.
type costly struct{ pieces int }

func (c *costly) decode(dst []int16, _ []byte) ([]int16, error) {
	time.Sleep(100 * time.Millisecond)
	c.pieces++
	return append(dst, make([]int16, 100)...), nil
}

func (c *costly) next() ([]int16, int64, error) {
	if c.pieces == 1000 {
		return nil, 0, io.EOF
	}
	pcm, _ := c.decode(nil, nil)
	return pcm, -1000, nil
}

func (*costly) head([]byte) (bool, error)     { return true, nil }
func (*costly) rate() int                     { return 24000 }
func (*costly) lead() int64                   { return 0 }
func (*costly) anew()                         {}
func (*costly) close()                        {}
func (*costly) frames() int64                 { return 0 }
func (c *costly) seek(int64) (forward, error) { return c, nil }
func (c *costly) within(t *testing.T, err error) {
	t.Helper()
	if most := int(maxWait/(100*time.Millisecond)) + 1; c.pieces > most || !errors.Is(err, errSlow) {
		t.Errorf("%d pieces, at most %d; %v", c.pieces, most, err)
	}
}

// A page of costly packets, and a file whose sound is all before its beginning, are given up: a call comes back, so that a press ends it.
func TestWhatCostsTooMuchTimeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := append(append([]byte("OggS"), make([]byte, oggHead-4)...), bytes.Repeat([]byte{1}, 510)...)
		page[26] = 255
		c := &costly{}
		_, _, err := (&oggForward{pages: newOggPages(bytes.NewReader(mendOgg(page)), 0, sniffed), codec: c, ready: true}).next()
		c.within(t, err)

		c = &costly{}
		_, err = (&file{f: os.Stdin, parts: []part{{of: c}}}).From(0)
		c.within(t, err)
	})
}
