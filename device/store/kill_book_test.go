package store_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"conch/companions/skills"
	"conch/companions/skills/library"
	"conch/device/condition"
	soundfolder "conch/device/library"
	"conch/device/store"
)

const (
	readIn = "CONCH_STORE_BOOK_IN" // the directory of a child that plays a book
	within = 20 * time.Second      // of what was heard is the bookmark, at any instant
	pace   = 5                     // so much faster than people the child hears
	tell   = skills.Rate / 10      // samples heard, from one report to the next: the coordinator makes ten a second
)

// kill -9 at random instants of a real process that plays a book, a file of sound, with the real store: when it is gone the bookmark is
// where something was heard, within 20 s of the last, and the next process goes on there, with 20 s that somebody hears once more.
func TestABookmarkIsNearWhatWasHeardAtAKill(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(readIn); dir != "" {
		readAloud(t, dir)
		return
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("CONCH_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("CONCH_SEED=%d", seed)
	for book := range 2 {
		t.Run(strconv.Itoa(book), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(book)))
			dir := t.TempDir()
			write(t, filepath.Join(dir, "Moby Dick.wav"), 30*time.Minute)
			most, first := 0, 0 // heard in any life, and the sample that this one begins with
			for life := range 2 {
				child := exec.Command(os.Args[0], "-test.run=^TestABookmarkIsNearWhatWasHeardAtAKill$")
				child.Env = append(os.Environ(), readIn+"="+dir)
				child.Stderr = os.Stderr
				if err := child.Start(); err != nil {
					t.Fatal(err)
				}
				hears(t, dir, (20+rng.IntN(25))*skills.Rate)
				time.Sleep(time.Duration(rng.IntN(300_000)) * time.Microsecond) // the instant, which is any
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = child.Wait() // killed
				heard := first + lastLine(dir)
				at := bookmark(t, dir)
				t.Logf("life %d: heard from %v to %v, bookmark %v", life, seconds(first), seconds(heard), seconds(at))
				if most = max(most, heard); at > most || seconds(max(heard-at, at-heard)) > within {
					t.Errorf("life %d: the bookmark is at %v, and %v was heard last", life, seconds(at), seconds(heard))
				}
				first = max(0, at-int(within.Seconds())*skills.Rate)
				if err := os.Remove(filepath.Join(dir, "journal")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func seconds(samples int) time.Duration {
	return (time.Duration(samples) * time.Second / skills.Rate).Round(10 * time.Millisecond)
}

// write makes a file of silence, which takes no room.
func write(t *testing.T, path string, long time.Duration) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	data := uint32(long.Seconds()) * skills.Rate * 2
	le := binary.LittleEndian
	head := le.AppendUint32([]byte("RIFF"), 36+data)
	head = le.AppendUint32(append(head, "WAVEfmt "...), 16)
	head = le.AppendUint16(le.AppendUint16(head, 1), 1) // PCM, mono
	head = le.AppendUint32(le.AppendUint32(head, skills.Rate), skills.Rate*2)
	head = le.AppendUint16(le.AppendUint16(head, 2), 16)
	head = le.AppendUint32(append(head, "data"...), data)
	_, err = f.Write(head)
	if err := errors.Join(err, f.Truncate(int64(len(head))+int64(data)), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// hears waits until the child has heard so much.
func hears(t *testing.T, dir string, samples int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // another process writes
		if lastLine(dir) >= samples {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%v of %v were heard", seconds(lastLine(dir)), seconds(samples))
		}
	}
}

// lastLine is how much the child has heard; 0: it has not begun.
func lastLine(dir string) int {
	b, _ := os.ReadFile(filepath.Join(dir, "journal"))
	whole := strings.Split(string(b), "\n") // what follows the last line break is nothing, or was cut
	n, _ := strconv.Atoi(whole[max(0, len(whole)-2)])
	return n
}

// bookmark is the book's, in samples; 0: there is none.
func bookmark(t *testing.T, dir string) int {
	t.Helper()
	db := store.New(filepath.Join(dir, store.File), condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
	defer db.Close()
	v, err := db.Skill("library").Get("", "work/Moby Dick.wav")
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ At int }
	if v != nil {
		err = json.Unmarshal(v, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.At
}

// readAloud is the process that is killed: it plays the book, and writes down what it has heard before it tells that to the skill.
func readAloud(t *testing.T, dir string) {
	journal, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(filepath.Join(dir, store.File), condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
	s := library.New(skills.Host{Log: slog.New(slog.DiscardHandler), Now: time.Now, Store: db.Skill("library"), Library: soundfolder.New(dir, "").Library()})
	for _, each := range s.Tools() {
		if each.Name != "play" {
			continue
		}
		r, err := each.Handler(skills.Context{Context: t.Context(), Now: time.Now}, json.RawMessage(`{"title":"moby dick"}`))
		stream, is := r.Effect.(skills.AudioStream)
		if err != nil || !is {
			t.Fatal(r.Output, err)
		}
		heard := 0
		tick := time.NewTicker(time.Second / 10 / pace)
		err = stream.Run(context.Background(), func(pcm []int16) error {
			for n := tell; n <= len(pcm); n += tell {
				<-tick.C
				heard += tell
				if _, err := fmt.Fprintln(journal, heard); err != nil {
					return err
				}
				stream.Heard(heard, false)
			}
			return nil
		})
		if err == nil {
			err = io.EOF
		}
		t.Fatal("it was not killed:", err)
	}
}
