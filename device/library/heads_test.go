package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// record makes a second of a tone, with tags, by lame.
func record(t testing.TB, file string, tags ...string) {
	t.Helper()
	wave := filepath.Join(t.TempDir(), "a.wav")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sox", "-n", "-r", "22050", "-b", "16", wave, "synth", "1", "sine", "440"}, append(append([]string{"lame", "--quiet"}, tags...), wave, file)} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skipf("%s is not installed", args[0])
		}
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
}

// old has all that is below a folder be of an hour ago.
func old(t testing.TB, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := filepath.Walk(dir, func(name string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, then, then)
	}); err != nil {
		t.Fatal(err)
	}
}

func titled(t *testing.T, f *Folder) (all []string) {
	t.Helper()
	titles, err := f.Titles()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range titles {
		all = append(all, fmt.Sprintf("%s %q %q %q %d", x.File, x.Tags.Title, x.Tags.Artist, x.Tags.Album, x.Tags.Track))
	}
	slices.Sort(all)
	return all
}

// What files say of themselves is known after a while, is found again by the next process, and read anew only of files that are others.
func TestHeadsAreReadOnce(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), Kept)
	record(t, filepath.Join(dir, "book", "a.mp3"), "--tt", "Loomings", "--ta", "Melville", "--tl", "Moby Dick", "--tn", "1")
	record(t, filepath.Join(dir, "rain.mp3"))
	old(t, dir)
	f := New(dir, kept)
	if got := titled(t, f); got[0] != `book/a.mp3 "" "" "" 0` {
		t.Errorf("before anything was read: %q", got)
	}
	told := make(chan struct{}, 9)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.learn(ctx, func() { told <- struct{}{} }) }()
	<-told
	want := []string{`book/a.mp3 "Loomings" "Melville" "Moby Dick" 1`, `rain.mp3 "" "" "" 0`}
	if got := titled(t, f); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	record(t, filepath.Join(dir, "new.mp3"), "--tt", "New")
	old(t, dir)
	titled(t, f) // as who asks does
	<-told
	if got := titled(t, f); !slices.Contains(got, `new.mp3 "New" "" "" 0`) {
		t.Errorf("of a file that came later: %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	// Another process: that nothing is read again shows where the files are spoiled behind its back, in size and time as they were.
	record(t, filepath.Join(dir, "book", "a.mp3"), "--tt", "Etcetera", "--ta", "Melville", "--tl", "Moby Dick", "--tn", "1")
	spoiled := time.Unix(0, f.heads["book/a.mp3"].Time)
	if err := os.Chtimes(filepath.Join(dir, "book", "a.mp3"), spoiled, spoiled); err != nil {
		t.Fatal(err)
	}
	again := New(dir, kept)
	again.load()
	if more, _ := again.pass(t.Context(), 0); more {
		t.Error("a second start found something that it had not kept")
	}
	if got := titled(t, again); !slices.Contains(got, want[0]) {
		t.Errorf("of a second start: %q", got)
	}
	if err := os.Chtimes(filepath.Join(dir, "book", "a.mp3"), spoiled, spoiled.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if more, _ := again.pass(t.Context(), 0); !more || !slices.Contains(titled(t, again), `book/a.mp3 "Etcetera" "Melville" "Moby Dick" 1`) {
		t.Errorf("of a file that was changed: %q", titled(t, again))
	}
}

// What is kept may be anything: it is not believed, and nothing else suffers.
func TestWhatIsKeptMayBeDamaged(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), Kept)
	record(t, filepath.Join(dir, "a.mp3"), "--tt", "One")
	for _, text := range []string{"", "{", "[1,2]", `{"Edition":99}` + "\n" + `{"File":"a.mp3"}`, `{"Edition":1}` + "\n{\"File\":\"a.mp3\",\"Head\":{\"Size\":1}}\n\x00\xff", strings.Repeat("{", 1<<20)} {
		if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := New(dir, kept)
		f.load()
		f.pass(t.Context(), 0)
		if got := titled(t, f); !slices.Equal(got, []string{`a.mp3 "One" "" "" 0`}) {
			t.Errorf("%.20q: %q", text, got)
		}
	}
	f := New(dir, "/nowhere/at/all") // where nothing can be kept
	f.load()
	f.pass(t.Context(), 0)
	f.save()
}

// A file that somebody is still copying is looked at again, and chapters come in samples.
func TestAFileThatIsStillWrittenIsLookedAtAgain(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a.mp3"))
	f := New(dir, "")
	if _, fresh := f.pass(t.Context(), 0); !fresh {
		t.Error("it is not looked at again")
	}
	old(t, dir)
	if _, fresh := f.pass(t.Context(), 0); fresh {
		t.Error("it is looked at for ever")
	}
}

// Which files cannot be played, and why, is known without playing them.
func TestWhatCannotBePlayed(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "good.mp3"))
	record(t, filepath.Join(dir, "really an mp3.wav"))
	put(t, filepath.Join(dir, "good.wav"))
	for name, text := range map[string]string{
		"lying.wav": "RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00", "page.mp3": "<html>", "book.m4b": "\x00\x00\x00\x20ftypM4B \x00\x00\x00\x00", "nothing.flac": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := os.ReadFile(filepath.Join(dir, "good.wav"))
	if err := os.WriteFile(filepath.Join(dir, "silent.wav"), b[:44], 0o600); err != nil {
		t.Fatal(err)
	}
	greedy, err := os.ReadFile("../../audio/decode/testdata/no-entries.ogg") // of which a decoder allocated 17 GB
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "greedy.ogg"), greedy, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	playable, unread, broken, err := New(dir, "").Examine(t.Context())
	var got []string
	for _, x := range broken {
		got = append(got, x.File+": "+x.Why+"; "+x.Do)
	}
	slices.Sort(got)
	want := []string{
		"book.m4b: it is AAC or ALAC (M4A, M4B), for which ffmpeg has to be installed; sudo apt install ffmpeg",
		"greedy.ogg: its Vorbis head is damaged, or of a kind that conch does not decode; ",
		"lying.wav: it is damaged; ", "nothing.flac: it is empty; ",
		"page.mp3: it is a page of the web, and no sound; ", "silent.wav: there is no sound in it; ",
	}
	if err != nil || playable != 3 || unread != 0 || !slices.Equal(got, want) {
		t.Errorf("%d playable, %d unread, %v:\n%s\nwant\n%s", playable, unread, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if playable, unread, _, err := New(dir, "").Examine(over); playable != 0 || unread != 9 || err != nil {
		t.Errorf("without time: %d playable, %d unread, %v", playable, unread, err)
	}
}

// A file that was refused is not opened again, until it has changed.
func TestARefusedFileIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.ogg")
	if err := os.WriteFile(name, []byte("no sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(dir, "")
	f.pass(t.Context(), 0)
	h := f.heads["a.ogg"]
	if h.Why == "" {
		t.Fatal("it was not refused")
	}
	h.Why = "it was refused"
	f.heads["a.ogg"] = h
	if _, err := f.open("a.ogg"); err == nil || !strings.Contains(err.Error(), "it was refused") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(name, []byte("another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open("a.ogg"); err == nil || strings.Contains(err.Error(), "it was refused") {
		t.Errorf("once it has changed: %v", err)
	}
}
