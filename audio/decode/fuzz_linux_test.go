package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// limited has a worker of the fuzzer end where it asks for 200 MB more than it has. The runtime has reserved its address space by the time of
// the first input, and takes more in steps of 64 MB: an allocation beyond the limit is fatal, and a finding. A limit of the garbage
// collector's (debug.SetMemoryLimit) refuses nothing.
var limited = sync.OnceFunc(func() {
	if worker := flag.Lookup("test.fuzzworker"); worker == nil || worker.Value.String() != "true" {
		return
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages := uint64(0)
	for _, c := range strings.Fields(string(b))[0] {
		pages = 10*pages + uint64(c-'0')
	}
	var of syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &of); err != nil {
		panic(err)
	}
	if of.Cur = pages*uint64(os.Getpagesize()) + 200<<20; syscall.Setrlimit(syscall.RLIMIT_AS, &of) != nil {
		panic("the address space cannot be limited")
	}
})

// FuzzOgg mends the checksums of pages, so that what is changed comes to the decoders.
func FuzzOgg(f *testing.F) {
	for _, b := range heads() {
		f.Add(b)
	}
	samples(f, "Ogg")
	f.Fuzz(func(t *testing.T, b []byte) { played(t, mendOgg(b)) })
}

// FuzzFLAC mends those of frames.
func FuzzFLAC(f *testing.F) {
	f.Add(tinyFLAC())
	samples(f, "fLaC")
	f.Fuzz(func(t *testing.T, b []byte) { played(t, mendFLAC(b)) })
}

// samples are real sounds of a kind.
func samples(f *testing.F, magic string) {
	for i, k := range kinds {
		if _, err := exec.LookPath(k.encode[0]); err != nil {
			continue
		}
		if b, err := os.ReadFile(real(f, i)); err == nil && strings.HasPrefix(string(b), magic) {
			f.Add(b[:min(len(b), 12000)])
		}
	}
}

// played takes bytes as a file and as a stream.
func played(t *testing.T, b []byte) {
	limited()
	if c, err := safelyOpen(b); err == nil && c != nil && fits(c.rate()) == nil {
		for _, from := range []int{0, 30000} {
			l := &file{f: os.Stdin, of: c}
			for range 20 {
				pcm, err := l.From(from)
				if err != nil {
					break
				}
				from += len(pcm)
			}
			if l.Samples() < 0 {
				t.Errorf("%d samples", l.Samples())
			}
		}
	}
	readTags(bytes.NewReader(b), int64(len(b)))
	l, err := NewLive(bytes.NewReader(b))
	for range 200 {
		if err != nil {
			break
		}
		_, err = l.Next()
	}
}

func safelyOpen(b []byte) (c container, err error) {
	err = safely(func() (err error) {
		c, err = open(bytes.NewReader(b), int64(len(b)))
		return err
	})
	return c, err
}

// tinyFLAC is a file of one frame, of one value.
func tinyFLAC() []byte {
	b := append([]byte("fLaC\x80\x00\x00\x22\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00\x05\xdc\x00\xf0\x00\x00\x10\x00"), make([]byte, 16)...)
	return mendFLAC(append(b, 0xff, 0xf8, 0x70, 0x08, 0, 0x0f, 0xff, 0, 0, 1, 2, 0, 0))
}

// mendFLAC gives each frame the checksums that it ought to have: of its head (RFC 9639 9.1.8), and of all of it (9.3).
func mendFLAC(b []byte) []byte {
	b = bytes.Clone(b)
	for i := 0; i+flacHead < len(b)+8; i++ {
		if i+6 > len(b) || b[i] != 0xff || b[i+1]&0xfe != 0xf8 {
			continue
		}
		n := 5
		for x := b[i+4]; x&0xc0 == 0xc0; x <<= 1 { // its number, as UTF-8 has it
			n++
		}
		n += [16]int{6: 1, 7: 2}[b[i+2]>>4] + [16]int{12: 1, 13: 2, 14: 2}[b[i+2]&15]
		if i+n >= len(b) {
			continue
		}
		b[i+n] = byte(sum(b[i:i+n], 8, 0x07))
		d := &flacForward{r: bufio.NewReader(bytes.NewReader(b[i:]))}
		_, _ = d.parse() // it ends behind the second one, right or wrong
		if n := int(d.offset); n > 8 && i+n <= len(b) {
			binary.BigEndian.PutUint16(b[i+n-2:], uint16(sum(b[i:i+n-2], 16, 0x8005)))
			i += n - 1
		}
	}
	return b
}

func sum(b []byte, bits int, polynomial uint32) (x uint32) {
	for _, c := range b {
		x ^= uint32(c) << (bits - 8)
		for range 8 {
			x = x<<1 ^ x>>(bits-1)&1*polynomial
		}
		x &= 1<<bits - 1
	}
	return x
}

// The seed has to come to the decoder, else the fuzzer tries nothing.
func TestMendedSoundsArePlayed(t *testing.T) {
	c, err := safelyOpen(tinyFLAC())
	if err != nil {
		t.Fatal(err)
	}
	if pcm, err := (&file{f: os.Stdin, of: c}).From(0); err != nil || len(pcm) != 4096 || pcm[0] != 0x0102 {
		t.Errorf("%d samples, %v", len(pcm), err)
	}
	b := heads()["in order"]
	b[22]++ // its first page's sum
	if _, err := safelyOpen(b); err == nil {
		t.Error("a page with a wrong checksum was taken")
	}
	if _, err := safelyOpen(mendOgg(b)); err != nil {
		t.Error(err)
	}
}
