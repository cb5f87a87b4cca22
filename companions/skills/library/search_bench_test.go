package library

import (
	"fmt"
	"testing"
	"time"

	"conch/companions/skills"
)

// library of so many files, as people name them.
func library(n int) []skills.Title {
	first := []string{"The", "A", "Der", "La", "Old", "New", "Lost", "Silent", "Golden", "Broken"}
	second := []string{"Sea", "Whale", "Mountain", "Straße", "Forêt", "River", "House", "Winter", "Garden", "Letter", "Clock", "Road"}
	all := make([]skills.Title, n)
	for i := range all {
		b := i / 20
		book := fmt.Sprintf("Author %d/%s %s of %s %d", b%97, first[b%len(first)], second[b%len(second)], second[(b/7)%len(second)], b)
		all[i] = skills.Title{File: fmt.Sprintf("%s/%02d - Chapter.mp3", book, i%20+1), Name: fmt.Sprintf("%s, %02d - Chapter", book, i%20+1)}
	}
	return all
}

// BenchmarkSearch finds a book among ten thousand files, and fails where that takes 50 ms.
func BenchmarkSearch(b *testing.B) {
	x := newIndex(library(10000))
	for name, said := range map[string]string{"one": "der winter of sea 127", "misheard": "the golden mountein of winter", "many": "the sea chapter", "none": "xylophon zebra"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.find(said)
			}
			if per := b.Elapsed() / time.Duration(b.N); per > 50*time.Millisecond {
				b.Errorf("%v a search", per)
			}
		})
	}
}

// BenchmarkIndex makes the index of ten thousand files, as is done once when one was added.
func BenchmarkIndex(b *testing.B) {
	all := library(10000)
	b.ReportAllocs()
	for b.Loop() {
		newIndex(all)
	}
}
