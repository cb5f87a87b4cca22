package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"conch/audio"
	"conch/audio/wav"
)

// book FILE SECONDS writes a WAV of noise, of which each moment is found again in what a device has played.
func book(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: book FILE SECONDS")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, x := []byte(nil), uint32(1)
	for range n * audio.Rate {
		x = x*1664525 + 1013904223
		data = binary.LittleEndian.AppendUint16(data, uint16(x>>18)-8192)
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.Create(path)
	ts.Check(err)
	w, err := wav.NewFile(f, audio.Rate)
	ts.Check(err)
	_, err = w.Write(data)
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(f.Close())
}

// read-on WAV BOOK TIMES: in what the device played the book was interrupted so often, and went on each time where it was: nothing of
// it was lost, and nothing said twice, to some ten milliseconds (exactly: TestABookGoesOnAtTheSampleThatWasHeardLast).
func readOn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: read-on WAV BOOK TIMES")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	played, err := wav.Read(args[0], f)
	ts.Check(err)
	whole, err := wav.Load(ts.MkAbs(args[1]))
	ts.Check(err)
	read := whole
	if played.Rate == audio.CardRate {
		read = audio.Upsample(whole)
	}
	step := played.Rate / 100
	at := func(i int) float64 { return float64(i) / float64(played.Rate) }
	interrupted, where, when := 0, -1, 0 // the place in the book that was found last, and when it was played
	for i := 0; i+step <= len(played.Samples); i += step {
		window := played.Samples[i : i+step]
		if audio.Peak(window) < 1000 {
			continue
		}
		from, to := 0, len(read)
		if where >= 0 { // it sounds on, or, if it has not sounded all the time, goes on where it was
			from, to = where-late*step, where+(late+3)*step
			if _, like := likest(read, window, where+i-when, where+i-when); like >= alike {
				from, to = where+i-when, where+i-when
			}
		}
		place, like := likest(read, window, from, to)
		if like < alike {
			continue
		}
		if where >= 0 {
			switch pause, on := i-when, place-where; {
			case on == pause:
			case pause > step && on >= -late*step: // what lies between is covered by windows that are not all of the book
				interrupted++
				ts.Logf("%.2f s: the book was at %.3f s, and goes on %.2f s later at %.3f s", at(when), at(where), at(pause), at(place))
			default:
				ts.Fatalf("%s: %.3f s of the book at %.3f s, then %.3f s at %.3f s", args[0], at(where), at(when), at(place), at(i))
			}
		}
		where, when = place, i
	}
	if interrupted != want {
		ts.Fatalf("%s: the book was interrupted %d times; want %d", args[0], interrupted, want)
	}
}

// late is by how many hundredths of a second a virtual card falls silent late, at most, where the machine stands still: so much is said twice.
const late = 5

// alike is how like the book a window is that is of it: the rest is how it was made louder.
const alike = 0.97

// likest finds the place between two of them at which a window is most like the book: 1 is the book itself.
func likest(read, window []int16, from, to int) (place int, like float64) {
	for i := max(0, from); i+len(window) <= min(len(read), to+len(window)); i++ {
		var dot, book, heard float64
		for k := 0; k < len(window); k += 5 {
			x, y := float64(read[i+k]), float64(window[k])
			dot, book, heard = dot+x*y, book+x*x, heard+y*y
		}
		if l := dot / math.Sqrt(book*heard+1); l > like {
			place, like = i, l
		}
	}
	return place, like
}
