package decode

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// tagged makes ten seconds of a tone by some programs, one after the other.
func tagged(t testing.TB, name string, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	w := []string{"Call me Ishmäl", "Herman Melville", "Moby-Dick", "3/12"}
	chapters := ";FFMETADATA1\n"
	for i, title := range []string{"Loomings", "The Carpet-Bag", "Die Straße"} {
		chapters += fmt.Sprintf("[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n", i*3000, (i+1)*3000, title)
	}
	if err := os.WriteFile(filepath.Join(dir, "chapters.txt"), []byte(chapters), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range append([]string{"sox -n -r 22050 -b 16 in.wav synth 10 sine 440"}, commands...) {
		args := strings.Fields(c)
		for i, a := range args {
			args[i] = strings.NewReplacer("TITLE", w[0], "ARTIST", w[1], "ALBUM", w[2], "TRACK", w[3], "OUT", name, "CARPET", "The Carpet-Bag", "STREET", "Die Straße").Replace(a)
		}
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skipf("%s is not installed", args[0])
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8") // their arguments are read by it
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
	return filepath.Join(dir, name)
}

func tagsOf(t testing.TB, file string) Tags {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return ReadTags(f)
}

const (
	meta = " -metadata title=TITLE -metadata artist=ARTIST -metadata album=ALBUM -metadata track=TRACK OUT"
	read = "ffmpeg -loglevel error -i in.wav -i chapters.txt -map 0:a -map_chapters 1"
)

// tagKinds are how people's programs write tags.
var tagKinds = []struct {
	name, file string
	commands   []string
	chapters   bool
}{
	{"ID3 1 and 2.3, by lame", "a.mp3", []string{"lame --quiet --tt TITLE --ta ARTIST --tl ALBUM --tn TRACK in.wav OUT"}, false},
	{"ID3 2.3 in UTF-16, by lame", "a.mp3", []string{"lame --quiet --id3v2-only --id3v2-utf16 --tt TITLE --ta ARTIST --tl ALBUM --tn TRACK in.wav OUT"}, false},
	{"ID3 1 alone", "a.mp3", []string{"lame --quiet --id3v1-only --tt TITLE --ta ARTIST --tl ALBUM --tn TRACK in.wav OUT"}, false},
	{"ID3 2.3 with chapters", "a.mp3", []string{read + " -id3v2_version 3" + meta}, true},
	{"ID3 2.4 with chapters", "a.mp3", []string{read + " -id3v2_version 4" + meta}, true},
	{"a cover before the texts", "a.mp3", []string{
		"ffmpeg -loglevel error -f lavfi -i testsrc=s=700x700,noise=alls=100 -frames:v 1 cover.png",
		"ffmpeg -loglevel error -i in.wav -i cover.png -map 0:a -map 1:v -c:v copy -id3v2_version 3" + meta}, false},
	{"Vorbis with chapters", "a.ogg", []string{"oggenc -Q -t TITLE -a ARTIST -l ALBUM -N TRACK -c CHAPTER001=00:00:00.000 -c CHAPTER001NAME=Loomings " +
		"-c CHAPTER002=00:00:03.000 -c CHAPTER002NAME=CARPET -c chapter003=00:00:06 -c Chapter003Name=STREET -o OUT in.wav"}, true},
	{"Opus with chapters, by ffmpeg", "a.opus", []string{read + " -c:a libopus" + meta}, true},
	{"FLAC with a cover", "a.flac", []string{
		"ffmpeg -loglevel error -f lavfi -i testsrc=s=700x700,noise=alls=100 -frames:v 1 cover.png",
		"flac -s --picture=cover.png -T title=TITLE -T artist=ARTIST -T album=ALBUM -T tracknumber=TRACK -o OUT in.wav"}, false},
	{"WAV", "a.wav", []string{"ffmpeg -loglevel error -i in.wav" + meta}, false},
}

func TestTagsOfRealFiles(t *testing.T) {
	for _, k := range tagKinds {
		t.Run(k.name, func(t *testing.T) {
			want := Tags{Title: "Call me Ishmäl", Artist: "Herman Melville", Album: "Moby-Dick", Track: 3}
			if k.chapters {
				want.Chapters = []Chapter{{0, "Loomings"}, {3 * time.Second, "The Carpet-Bag"}, {6 * time.Second, "Die Straße"}}
			}
			file := tagged(t, k.file, k.commands...)
			if got := tagsOf(t, file); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v; want %+v", got, want)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n < min(len(b), 4000); n += 7 { // cut off anywhere
				readTags(bytes.NewReader(b[:n]), int64(n))
			}
		})
	}
}

// A table of contents says which chapters count; one that none has is no table.
func TestATableOfContents(t *testing.T) {
	frame := func(id, body string) string { return id + "\x00\x00\x00" + string(rune(len(body))) + "\x00\x00" + body }
	chap := func(id string, at byte) string {
		return frame("CHAP", id+"\x00\x00\x00"+string([]byte{at % 128, 0})+strings.Repeat("\x00", 12)+frame("TIT2", "\x03"+id))
	}
	tag := func(frames string) Tags {
		b := []byte("ID3\x03\x00\x00\x00\x00" + string([]byte{byte(len(frames) >> 7), byte(len(frames) & 127)}) + frames)
		return readTags(bytes.NewReader(b), int64(len(b)))
	}
	all := chap("b", 20) + chap("a", 10) + chap("c", 30)
	for contents, want := range map[string]int{"toc\x00\x03\x02a\x00c\x00": 2, "toc\x00\x03\x01z\x00": 3, "toc\x00\x03": 3, "": 3} {
		got := tag(frame("CTOC", contents) + all).Chapters
		if len(got) != want || got[0].Title != "a" || got[0].At != 2560*time.Millisecond {
			t.Errorf("%q: %+v; want %d", contents, got, want)
		}
	}
}

// endless is a file that promises as much as can be promised, and counts what is read.
type endless struct {
	head, more string
	n          int64
	k          int
}

func (e *endless) ReadAt(b []byte, at int64) (int, error) {
	e.n += int64(len(b))
	e.k++
	for i := range b {
		if p := at + int64(i); p < int64(len(e.head)) {
			b[i] = e.head[p]
		} else {
			b[i] = e.more[(p-int64(len(e.head)))%int64(len(e.more))]
		}
	}
	return len(b), nil
}

// Whatever a file promises, little of it is read, and less is kept.
func TestTagsOfAHostileFileAreBounded(t *testing.T) {
	const size = 1 << 40
	const tag = "ID3\x03\x00\x00\x0f\x7f\x7f\x7f"
	for name, of := range map[string][2]string{
		"tags without an end":     {"", "ID3\x04\x00\x00\x00\x00\x00\x00"},
		"frames without an end":   {tag, "TXXX\x00\x00\x00\x00\x00\x00"},
		"pictures without an end": {tag, "APIC\x00\x00\x00\x01\x00\x00x"},
		"chapters without an end": {tag, "CHAP\x00\x00\x00\x12\x00\x00x\x00" + strings.Repeat("\x00", 16)},
		"not synchronous":         {"ID3\x03\x80\x00\x0f\x7f\x7f\x7f", "TIT2\x00\x00\x00\x02\x00\x00\x00x"},
		"blocks without an end":   {"fLaC", "\x04\xff\xff\xff"},
		"small blocks":            {"fLaC", "\x04\x00\x00\x00"},
		"chunks without an end":   {"RIFF\xff\xff\xff\x7fWAVE", "LIST\xff\xff\xff\x7fINFO"},
		"pages without an end":    {"", "OggS\x00\x02"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f := &endless{head: of[0], more: of[1]}
		readTags(f, size)
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; f.n > 128<<20 || made > 160<<20 || f.k > 20000 {
			t.Errorf("%s: %d bytes in %d reads, %d of memory", name, f.n, f.k, made)
		}
		t.Logf("%s: %d bytes in %d reads", name, f.n, f.k)
	}
}

func FuzzTags(f *testing.F) {
	for _, k := range tagKinds {
		if b, err := os.ReadFile(tagged(f, k.file, k.commands...)); err == nil && len(b) < 200<<10 {
			f.Add(b[:min(len(b), 3000)])
		}
	}
	f.Add([]byte("ID3\x02\x80\x00\x00\x00\x00\x20TT2\x00\x00\x03\x00ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tags := readTags(bytes.NewReader(b), int64(len(b)))
		for _, s := range []string{tags.Title, tags.Artist, tags.Album} {
			if len(s) > 2*maxText || strings.ContainsAny(s, "\x00\n\x1b") {
				t.Errorf("%q", s)
			}
		}
		if len(tags.Chapters) > maxChapters || !slices.IsSortedFunc(tags.Chapters, func(a, b Chapter) int { return int(a.At - b.At) }) {
			t.Errorf("%d chapters", len(tags.Chapters))
		}
		for _, c := range tags.Chapters {
			if c.At < 0 {
				t.Errorf("a chapter at %v", c.At)
			}
		}
	})
}
