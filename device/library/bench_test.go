package library

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkTitles looks whether anything has changed among ten thousand files in five hundred folders, as each search does, and fails
// where that takes 50 ms.
func BenchmarkTitles(b *testing.B) {
	dir := b.TempDir()
	for i := range 10000 {
		file := filepath.Join(dir, fmt.Sprintf("Author %d", i/200), fmt.Sprintf("Book %d", i/20), fmt.Sprintf("%02d.mp3", i%20))
		if i%20 == 0 {
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	f := New(dir, "")
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			f.folders = nil
			if all, err := f.Titles(); err != nil || len(all) != 10000 {
				b.Fatal(len(all), err)
			}
		}
	})
	f.scanned = f.scanned.Add(time.Hour) // as if the files were old
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if all, err := f.Titles(); err != nil || len(all) != 10000 {
				b.Fatal(len(all), err)
			}
		}
		if per := b.Elapsed() / time.Duration(b.N); per > 50*time.Millisecond {
			b.Errorf("%v a look", per)
		}
	})
}
