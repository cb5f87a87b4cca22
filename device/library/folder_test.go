package library

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/audio/wav"
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

func TestALibraryIsAFolderOfFiles(t *testing.T) {
	dir := t.TempDir()
	f := Folder(filepath.Join(dir, "library"))
	if all, err := f.titles(); err != nil || all != nil {
		t.Errorf("before there is one: %q, %v", all, err)
	}
	put(t, filepath.Join(dir, "library", "the_sea.wav"))
	put(t, filepath.Join(dir, "library", "Melville", "Moby Dick.WAV"))
	put(t, filepath.Join(dir, "library", ".trash", "old.wav"))
	put(t, filepath.Join(dir, "secret.wav"))
	for link, to := range map[string]string{"out.wav": "../secret.wav", "gone.wav": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, "library", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "library", "notes.txt"), []byte("no sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := f.titles()
	if want := []string{"Melville, Moby Dick", "gone", "out", "the sea"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v; want %q", all, err, want)
	}
	for title, ok := range map[string]bool{"the sea": true, "Melville, Moby Dick": true, "out": false, "gone": false, "nothing": false} {
		sound, err := f.open(title)
		if (err == nil) != ok {
			t.Errorf("%s: %v", title, err)
		}
		if err == nil {
			sound.Close()
		} else if !strings.HasPrefix(err.Error(), title) {
			t.Errorf("%s: %v", title, err)
		}
	}
}
