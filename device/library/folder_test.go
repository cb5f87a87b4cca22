package library

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio/wav"
	"conch/companions/skills"
)

// put writes a second of silence into a library.
func put(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := wav.NewFile(f, 24000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 48000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func named(f *Folder) (all []string, err error) {
	titles, err := f.Titles()
	for _, t := range titles {
		all = append(all, t.Name)
	}
	slices.Sort(all)
	return all, err
}

func TestALibraryIsAFolderOfFiles(t *testing.T) {
	dir := t.TempDir()
	f := New(filepath.Join(dir, "library"), "")
	if all, err := named(f); err != nil || all != nil {
		t.Errorf("before there is one: %q, %v", all, err)
	}
	put(t, filepath.Join(dir, "library", "the_sea.wav"))
	put(t, filepath.Join(dir, "library", "Melville", "Moby Dick.WAV"))
	for _, deleted := range []string{".trash", ".Trash-1000/files", ".Trashes/501", "#recycle", "Melville/#recycle", "$RECYCLE.BIN/S-1-5-21", "RECYCLER",
		"@eaDir/a.mp3", "@Recycle", "#snapshot/daily", "lost+found", "FOUND.000", "System Volume Information", "__MACOSX", ".AppleDouble", "Network Trash Folder"} {
		put(t, filepath.Join(dir, "library", deleted, "old.wav"))
	}
	put(t, filepath.Join(dir, "library", "._the_sea.wav"))
	put(t, filepath.Join(dir, "library", "#1 Hits", "@home", "$5.wav"))
	put(t, filepath.Join(dir, "secret.wav"))
	for link, to := range map[string]string{"out.wav": "../secret.wav", "gone.wav": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, "library", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "library", "notes.txt"), []byte("no sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := named(f)
	if want := []string{"#1 Hits, @home, $5", "Melville, Moby Dick", "gone", "out", "the sea"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v; want %q", all, err, want)
	}
	for title, ok := range map[string]bool{"the_sea": true, "Melville/Moby Dick": false, "out": false, "gone": false, "nothing": false} {
		sound, err := f.open(title + ".wav")
		if (err == nil) != ok {
			t.Errorf("%s: %v", title, err)
		}
		if err == nil {
			sound.Close()
		} else if !strings.HasPrefix(err.Error(), strings.ReplaceAll(title, "/", ", ")) {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// What is put there is found at once, and nothing is looked through anew where nothing has changed.
func TestAFolderIsLookedThroughWhereItHasChanged(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "books", "one.wav"))
	f := New(dir, "")
	for _, name := range []string{dir, filepath.Join(dir, "books")} {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	first, err := f.Titles()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := f.Titles(); &again[0] != &first[0] {
		t.Error("it was looked through again, and nothing had changed")
	}
	put(t, filepath.Join(dir, "books", "two.wav"))
	if all, err := named(f); err != nil || !slices.Equal(all, []string{"books, one", "books, two"}) {
		t.Errorf("%q, %v", all, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if all, err := named(f); err != nil || all != nil {
		t.Errorf("of a folder that has vanished: %q, %v", all, err)
	}
	if _, err := f.open("books/one.wav"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("of a file of it: %v", err)
	}
}

// What cannot be played is there all the same, and says why.
func TestAForeignFileSaysWhatItIs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Moby Dick.m4b"), []byte("\x00\x00\x00\x20ftypM4B \x00\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	f := New(dir, "")
	if all, err := named(f); err != nil || !slices.Equal(all, []string{"Moby Dick"}) {
		t.Errorf("%q, %v", all, err)
	}
	_, err := f.open("Moby Dick.m4b")
	if err == nil || skills.Words(err) != "Moby Dick cannot be played: it is AAC or ALAC (M4A, M4B), for which ffmpeg has to be installed" {
		t.Error(err)
	}
}

// What is wrong with a file is said in a few words, as somebody wants to hear them; the log has the rest.
func TestWhatIsWrongWithAFileIsAShortSentence(t *testing.T) {
	dir := t.TempDir()
	sox := func(name string, args ...string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if _, err := exec.LookPath("sox"); err != nil {
			t.Skip("sox is not installed: no files")
		}
		if b, err := exec.Command("sox", append(append([]string{"-n"}, args...), file, "synth", "1", "sine", "440")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		return file
	}
	edit := func(file string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sox("slow.wav", "-r", "12345")
	sox("packed.wav", "-e", "ms-adpcm")
	edit(sox("headless.wav"), func(b []byte) []byte { return b[:30] })
	edit(sox("lying.wav"), func(b []byte) []byte { copy(b[16:], "\xff\xff\xff\x7f"); return b })
	edit(sox("page.wav"), func([]byte) []byte { return []byte("<!DOCTYPE html><p>404") })
	edit(sox("empty.wav"), func([]byte) []byte { return nil })
	edit(sox(strings.Repeat("long ", 48)+".wav"), func([]byte) []byte { return nil })
	edit(sox("noise.wav"), func(b []byte) []byte { return bytes.Repeat([]byte("noise"), 1000) })
	for link, to := range map[string]string{"out.wav": "/etc/passwd", "up.wav": "../../x.wav"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.wav"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	f := New(dir, "")
	for name, says := range map[string]string{
		"slow":     "it is a WAV file of a rare kind, for which ffmpeg has to be installed",
		"packed":   "it is a WAV file of a rare kind, for which ffmpeg has to be installed",
		"headless": "it is damaged", "lying": "it is damaged", "page": "it is a page of the web, and no sound", "empty": "it is empty",
		"noise": "it is no sound that conch knows", "out": "it is a link to what is not in the library",
		"up": "it is a link to what is not in the library", "pipe": "it is no file", strings.Repeat("long ", 48): "it is empty",
	} {
		_, err := f.open(name + ".wav")
		if err == nil {
			t.Errorf("%s is played", name)
			continue
		}
		named := name
		if strings.Contains(name, " ") {
			named = strings.TrimSpace(strings.Repeat("long ", 12))
		}
		if got, want := skills.Words(err), named+" cannot be played: "+says; got != want {
			t.Errorf("said is %q; want %q", got, want)
		}
	}
}
