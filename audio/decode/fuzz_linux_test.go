package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// limited runs f with 200 MB of address space more than the process has: an allocation beyond that is fatal. The fuzzer itself takes 100 MB
// between two inputs, so each input has its own limit. A limit of the garbage collector's (debug.SetMemoryLimit) refuses nothing.
func limited(t *testing.T, f func()) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	size, _, _ := strings.Cut(string(b), " ")
	pages, err := strconv.ParseUint(size, 10, 63)
	if err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &was); err != nil {
		t.Fatal(err)
	}
	of := was
	of.Cur = pages*uint64(os.Getpagesize()) + 200<<20
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &of); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_AS, &was) }()
	f()
}

// The limit ends a process, else the fuzzer finds nothing that is too large.
func TestTheFuzzersLimitEndsAProcess(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv("CONCH_TEST_ALLOCATES")); err == nil {
		limited(t, func() { clear(make([]byte, n<<20)) })
		return
	}
	for n, ends := range map[int]bool{50: false, 300: true} {
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), "CONCH_TEST_ALLOCATES="+strconv.Itoa(n))
		if out, err := child.CombinedOutput(); ends != (err != nil && bytes.Contains(out, []byte("out of memory"))) {
			t.Errorf("%d MB: %v, %.200s", n, err, out)
		}
	}
}

// FuzzOgg mends the checksums of pages, so that what is changed comes to the decoders.
func FuzzOgg(f *testing.F) {
	all := heads()
	for _, name := range slices.Sorted(maps.Keys(all)) { // a seed is a number
		f.Add(all[name])
	}
	samples(f, "Ogg")
	f.Setenv("PATH", "")
	f.Fuzz(func(t *testing.T, b []byte) { limited(t, func() { played(t, mendOgg(b)) }) })
}

// FuzzFLAC mends those of frames.
func FuzzFLAC(f *testing.F) {
	f.Add(tinyFLAC())
	samples(f, "fLaC")
	f.Setenv("PATH", "")
	f.Fuzz(func(t *testing.T, b []byte) { limited(t, func() { played(t, mendFLAC(b)) }) })
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
	if c, err := safelyOpen(b); err == nil && c != nil && fits(c.rate()) == nil {
		for _, from := range []int{0, 30000} {
			l := &file{f: os.Stdin, parts: []part{{of: c}}}
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
		c, err = open(bytes.NewReader(b), 0, int64(len(b)))
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
	if pcm, err := (&file{f: os.Stdin, parts: []part{{of: c}}}).From(0); err != nil || len(pcm) != 4096 || pcm[0] != 0x0102 {
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
