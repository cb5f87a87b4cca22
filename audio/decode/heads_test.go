package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bitsOf writes numbers from the lowest bit on, as Vorbis has them.
type bitsOf struct {
	b []byte
	n int
}

func (w *bitsOf) put(width int, x uint64) *bitsOf {
	for i := range width {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(x>>i&1) << (w.n % 8)
		w.n++
	}
	return w
}

// oggPacket is a packet in pages of its own, with their checksums.
func oggPacket(flags byte, serial uint32, seq *uint32, packet []byte) (out []byte) {
	for first := true; ; first = false {
		n := min(len(packet), 255*255)
		lacing := bytes.Repeat([]byte{255}, n/255)
		if n < len(packet) || n < 255*255 {
			lacing = append(lacing, byte(n%255))
		}
		if len(lacing) > 255 {
			lacing = lacing[:255]
		}
		page := make([]byte, oggHead, oggHead+len(lacing)+n)
		copy(page, "OggS")
		if page[5] = flags; !first {
			page[5] = oggContinued
		}
		binary.LittleEndian.PutUint32(page[14:], serial)
		binary.LittleEndian.PutUint32(page[18:], *seq)
		*seq++
		page[26] = byte(len(lacing))
		page = append(append(page, lacing...), packet[:n]...)
		out = append(out, mendOgg(page)...)
		if packet = packet[n:]; len(packet) == 0 {
			return out
		}
	}
}

// mendOgg gives each page of a stream the checksum that it ought to have.
func mendOgg(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte("OggS\x00"))
		if i < 0 || at+i+oggHead > len(b) {
			return b
		}
		at += i
		end := at + oggHead + int(b[at+26])
		for _, l := range b[min(len(b), at+oggHead):min(len(b), end)] {
			end += int(l)
		}
		if end > len(b) {
			continue
		}
		binary.LittleEndian.PutUint32(b[at+22:], oggSum(b[at:end]))
		at = end - 1
	}
}

// vorbisOf is a Vorbis file of one channel, or more, whose third head is given, with some packets of sound behind it.
func vorbisOf(serial uint32, channels, blocks byte, setup []byte, packets ...[]byte) []byte {
	id := make([]byte, 30)
	copy(id, "\x01vorbis")
	id[11] = channels
	binary.LittleEndian.PutUint32(id[12:], 48000)
	id[28], id[29] = blocks, 1
	seq := uint32(0)
	out := oggPacket(oggFirst, serial, &seq, id)
	out = append(out, oggPacket(0, serial, &seq, []byte("\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01"))...)
	out = append(out, oggPacket(0, serial, &seq, append([]byte("\x05vorbis"), setup...))...)
	for _, p := range packets {
		out = append(out, oggPacket(0, serial, &seq, p)...)
	}
	return out
}

// vorbisSetup is a third head, in order but for what a test puts into it.
type vorbisSetup struct {
	dimensions, entries uint64
	lookup              uint64
	words               func(*bitsOf) // the lengths of a book's; nil: in order
	begin, end, size    uint64        // of the residue
	floor               uint64
	books               int // how many such
}

func (v vorbisSetup) bytes() []byte {
	w := &bitsOf{}
	w.put(8, uint64(max(v.books, 1)-1))
	for range max(v.books, 1) {
		w.put(24, 0x564342).put(16, v.dimensions).put(24, v.entries)
		if v.words != nil {
			v.words(w)
		} else { // in order, all of one length
			length := 0
			for 1<<length < v.entries {
				length++
			}
			w.put(1, 1).put(5, uint64(max(length, 1)-1))
			n := 0
			for v.entries>>n > 0 {
				n++
			}
			w.put(n, v.entries)
		}
		if w.put(4, v.lookup); v.lookup > 0 {
			w.put(32, 0).put(32, 0).put(4, 0).put(1, 0)
			for range min(64, int(math.Pow(float64(v.entries), 1/float64(v.dimensions)))) {
				w.put(1, 1)
			}
		}
	}
	w.put(6, 0).put(16, 0)                     // times
	w.put(6, 0).put(16, v.floor)               // floors
	w.put(5, 1).put(4, 0)                      // a partition …
	w.put(3, 0).put(2, 0).put(8, 0)            // … and its class
	w.put(2, 0).put(4, 4).put(4, 3)            // up to 16
	w.put(6, 0).put(16, 1).put(24, v.begin)    // residues
	w.put(24, v.end).put(24, v.size).put(6, 0) // of one class …
	w.put(8, 0).put(3, 1).put(1, 0).put(8, 0)  // … and one book
	w.put(6, 0).put(16, 0).put(1, 0).put(1, 0) // mappings
	w.put(2, 0).put(8, 0).put(8, 0).put(8, 0)  //
	w.put(6, 0).put(1, 0).put(32, 0).put(8, 0) // modes
	return w.put(1, 1).b
}

// sound is what of a packet is needed to have the residue be read.
func (vorbisSetup) sound() []byte { return bytes.Repeat([]byte{0b1010}, 64) }

// heads are files that declare more than they have.
func heads() map[string][]byte {
	fine := vorbisSetup{dimensions: 1, entries: 2, end: 32, size: 7, lookup: 1, floor: 1}
	all := map[string][]byte{}
	add := func(name string, change func(*vorbisSetup)) {
		v := fine
		change(&v)
		all[name] = vorbisOf(1, 1, 0xb6, v.bytes(), v.sound(), v.sound(), v.sound())
	}
	add("in order", func(*vorbisSetup) {})
	add("no entries", func(v *vorbisSetup) { v.entries, v.words = 0, func(w *bitsOf) { w.put(2, 0) } })
	add("all entries", func(v *vorbisSetup) { v.entries = 1<<24 - 1 })
	add("20000 entries of 65535 dimensions", func(v *vorbisSetup) {
		v.entries, v.dimensions = 20000, 65535
		v.words = func(w *bitsOf) {
			w.put(2, 2)
			for i := range 20000 {
				w.put(1, uint64(1-min(i, 1)))
				if i == 0 {
					w.put(5, 0)
				}
			}
		}
	})
	add("many books of many entries", func(v *vorbisSetup) { v.books, v.entries, v.dimensions = 200, 1<<15, 8 })
	add("no dimensions", func(v *vorbisSetup) { v.dimensions = 0 })
	add("no word", func(v *vorbisSetup) { v.words = func(w *bitsOf) { w.put(2, 2).put(2, 0) } })
	add("words that leave some unused", func(v *vorbisSetup) { v.words = func(w *bitsOf) { w.put(2, 0).put(5, 1).put(5, 1) } })
	add("more words than there are", func(v *vorbisSetup) { v.entries, v.words = 4, func(w *bitsOf) { w.put(2, 0).put(20, 0) } })
	add("words in order, more than there are", func(v *vorbisSetup) { v.words = func(w *bitsOf) { w.put(1, 1).put(5, 0).put(2, 3) } })
	add("a residue that ends before it begins", func(v *vorbisSetup) { v.begin, v.end, v.size = 20, 10, 0 })
	add("the oldest floor", func(v *vorbisSetup) { v.floor = 0 })
	all["ends in its books"] = vorbisOf(1, 1, 0xb6, (&bitsOf{}).put(8, 255).put(24, 0x564342).put(16, 1).put(24, 1<<16).put(1, 1).put(5, 0).b)
	all["255 channels"] = vorbisOf(1, 255, 0xb6, fine.bytes(), fine.sound())
	all["blocks of 32768"] = vorbisOf(1, 8, 0xff, fine.bytes(), fine.sound())
	bad := fine
	bad.entries, bad.words = 0, func(w *bitsOf) { w.put(2, 0) }
	all["a second sound behind the first"] = append(bytes.Clone(all["in order"]), vorbisOf(2, 1, 0xb6, bad.bytes(), bad.sound())...)
	return all
}

// No head has a decoder take more memory than a sound needs, and whatever it is it comes to an end.
func TestAHeadIsBoundedBeforeADecoderReadsIt(t *testing.T) {
	t.Setenv("PATH", "")
	for name, b := range heads() {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "in order") != (checked(t, b) == nil) && !strings.HasPrefix(name, "a second") {
				t.Errorf("%v", checked(t, b))
			}
		})
	}
}

// checked plays a file, and the same bytes as a stream, and measures what they allocate.
func checked(t *testing.T, b []byte) (refused error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	name := filepath.Join(t.TempDir(), "x.ogg")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	l, refused := Open(f)
	if errors.Is(refused, errSilent) { // its head is in order
		return nil
	} else if refused == nil {
		_, err := l.From(0)
		t.Logf("from its beginning: %v", err)
		l.Close()
	} else if errors.Is(refused, errBroken) {
		t.Errorf("the library has met what it should not have: %v", refused)
	}
	if s, err := NewLive(bytes.NewReader(b)); err == nil {
		for err == nil {
			_, err = s.Next()
		}
		t.Logf("as a stream: %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
	return refused
}
