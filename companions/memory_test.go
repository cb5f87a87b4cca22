package companions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
)

// remembering is a memory with its writer; stop waits until everything is written or refused.
func remembering(t *testing.T, dir, room string, keep int) (m *Memory, troubles *[]string, stop func()) {
	t.Helper()
	troubles = &[]string{}
	m = newMemory(dir, room, keep, slog.New(slog.DiscardHandler), func(what string, err error) {
		*troubles = append(*troubles, fmt.Sprintf("%s: %v", what, err))
	})
	done, gone := make(chan struct{}), make(chan struct{})
	go func() { m.writing(done); close(gone) }()
	stopped := false
	return m, troubles, func() {
		if !stopped {
			stopped = true
			close(done)
			<-gone
		}
	}
}

func message(id int, text string, to ...round.Participant) round.Message {
	return round.Message{
		ID: round.MessageID(fmt.Sprintf("m%03d", id)), From: "human:d-kitchen", To: to, Text: text,
		Epoch: round.Epoch{N: uint64(id), Device: "d-kitchen"}, Number: 1,
	}
}

func texts(messages []round.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Text)
	}
	return all
}

func TestMemorySurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	m, _, stop := remembering(t, dir, "home", 3)
	for i := range 5 {
		m.add(message(i, fmt.Sprint("text ", i)))
	}
	m.add(message(4, "the same once more"))
	m.correct("m003", "text", nil)
	stop()
	again, troubles, stop := remembering(t, dir, "home", 3)
	defer stop()
	if got, want := texts(again.Recent()), []string{"text 2", "text", "text 4"}; !slices.Equal(got, want) {
		t.Errorf("after a restart %q, want the last three, one of them corrected: %q", got, want)
	}
	if len(*troubles) > 0 {
		t.Errorf("troubles: %q, want none", *troubles)
	}
}

func TestWhisperIsMarkedInTheFile(t *testing.T) {
	dir := t.TempDir()
	m, _, stop := remembering(t, dir, "home", 3)
	m.add(message(1, "for ben alone", "ben"))
	m.add(message(2, "for both", "ben", "ada"))
	stop()
	data, err := os.ReadFile(m.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if marked := strings.Contains(line, `"whispered":"ben"`); marked != strings.Contains(line, "for ben alone") {
			t.Errorf("line %s: marked is %v", line, marked)
		}
	}
}

func TestRoomsNeverMix(t *testing.T) {
	dir := t.TempDir()
	// Names whose readable parts are the same, and a file that was renamed by hand.
	for _, room := range []string{"home", "HOME", "ho me", "家", "屋"} {
		m, _, stop := remembering(t, dir, room, 5)
		if got := m.Recent(); len(got) > 0 {
			t.Errorf("room %q begins with %q of another room", room, texts(got))
		}
		m.add(message(1, "said in "+room))
		stop()
	}
	m, _, stop := remembering(t, dir, "home", 5)
	stop()
	if got := texts(m.Recent()); !slices.Equal(got, []string{"said in home"}) {
		t.Errorf("home remembers %q", got)
	}
	if err := os.Rename(filepath.Join(dir, memoryFile("家")), filepath.Join(dir, memoryFile("home"))); err != nil {
		t.Fatal(err)
	}
	m, _, stop = remembering(t, dir, "home", 5)
	defer stop()
	if got := m.Recent(); len(got) > 0 {
		t.Errorf("home took %q from the file of another room", texts(got))
	}
}

// TestMemorySurvivesPowerCutAtAnyInstant cuts the file at every byte, as a torn write would leave it.
func TestMemorySurvivesPowerCutAtAnyInstant(t *testing.T) {
	dir := t.TempDir()
	m, _, stop := remembering(t, dir, "home", 10)
	for i := range 4 {
		m.add(message(i, fmt.Sprintf("Größe %d", i)))
	}
	stop()
	whole, err := os.ReadFile(m.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(m.path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		m, troubles, stop := remembering(t, dir, "home", 10)
		want := max(0, bytes.Count(whole[:cut], []byte("\n"))-1)
		if got := len(m.Recent()); got != want {
			t.Errorf("cut at %d of %d: %d messages, want %d", cut, len(whole), got, want)
		}
		m.add(message(9, "after the cut"))
		stop()
		if len(*troubles) > 0 {
			t.Errorf("cut at %d: %q", cut, *troubles)
		}
		after, _, stop := remembering(t, dir, "home", 10)
		if got := texts(after.Recent()); len(got) != want+1 || got[want] != "after the cut" {
			t.Errorf("cut at %d: what was said after it is not remembered: %q", cut, got)
		}
		stop()
		left, _ := filepath.Glob(filepath.Join(dir, "*.tmp"))
		if len(left) > 0 {
			t.Errorf("cut at %d: left behind: %q", cut, left)
		}
	}
}

func TestMemoryReadsAroundNonsense(t *testing.T) {
	dir := t.TempDir()
	good, _ := json.Marshal(memoryLine{Message: &round.Message{ID: "m1", Text: "kept"}})
	room := "home"
	head, _ := json.Marshal(memoryLine{Memory: 1, Room: &room})
	data := bytes.Join([][]byte{head, []byte("not json"), []byte(`{"message":7}`), bytes.Repeat([]byte("x"), maxLine+5), good, {0, 0, 0}}, []byte("\n"))
	if err := os.WriteFile(filepath.Join(dir, memoryFile(room)), data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, _, stop := remembering(t, dir, room, 5)
	stop()
	if got := texts(m.Recent()); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("got %q, want the one good message", got)
	}
	if s := m.stats(); s.Skipped != 4 {
		t.Errorf("%d lines skipped, want 4 (counted, so that doctor can say so)", s.Skipped)
	}
}

func TestMemoryFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	m := newMemory(dir, "home", 5, slog.New(slog.DiscardHandler), nil) // written here, step by step
	largest := int64(0)
	for i := range 500 {
		m.add(message(i, strings.Repeat("word ", 20)))
		if _, err := m.write(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if st, err := os.Stat(m.path); err == nil {
			largest = max(largest, st.Size())
		}
	}
	if limit := int64((4*5 + 20) * 400); largest > limit || largest == 0 {
		t.Errorf("the file grew to %d bytes, want at most %d", largest, limit)
	}
}

// TestMemoryWithoutDisk takes the state directory away and gives it back.
func TestMemoryWithoutDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		m, troubles, stop := remembering(t, dir, "home", 5)
		defer stop()
		m.add(message(1, "before"))
		synctest.Wait()
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // nothing can be made below a file
			t.Fatal(err)
		}
		m.add(message(2, "during"))
		synctest.Wait()
		time.Sleep(time.Minute + time.Second) // not at a time when it tries
		synctest.Wait()
		if len(*troubles) != 1 || !strings.Contains((*troubles)[0], "free some space") {
			t.Fatalf("troubles %q, want the disk's, once, with what to do", *troubles)
		}
		if got := texts(m.Recent()); !slices.Equal(got, []string{"before", "during"}) {
			t.Errorf("without a disk %q is remembered", got)
		}
		if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(diskPatience + time.Second)
		synctest.Wait()
		if len(*troubles) != 2 || (*troubles)[1] != "memory: <nil>" {
			t.Errorf("troubles %q, want the end of it", *troubles)
		}
		again, _, stop2 := remembering(t, dir, "home", 5)
		defer stop2()
		if got := texts(again.Recent()); !slices.Equal(got, []string{"before", "during"}) {
			t.Errorf("after the disk came back %q is on it", got)
		}
	})
}

// Words that came late are kept where what was said had none, before what was answered; another's are not, and those that came in time
// stay what they were.
func TestMemoryHasLateWords(t *testing.T) {
	dir := t.TempDir()
	said := func(id int, from round.Participant, text string) round.Message {
		m := message(id, text)
		m.From, m.Turn = from, "t-1"
		return m
	}
	m, _, stop := remembering(t, dir, "home", 10)
	for _, msg := range []round.Message{
		said(1, "human:d-kitchen", round.Unwritten), said(2, "ada", "Of course."), said(3, "human:d-hall", "I said nothing"),
		said(4, "human:d-kitchen", "Ada, are you there?"), said(5, "human:d-kitchen", "Ada, are you deaf?"),
	} {
		m.add(msg)
	}
	stop()
	want := []string{"Ada, are you there?", "Of course.", "I said nothing", "Ada, are you deaf?"}
	if got := texts(m.Recent()); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	again, _, stop := remembering(t, dir, "home", 10)
	defer stop()
	if got := texts(again.Recent()); !slices.Equal(got, want) {
		t.Errorf("after a restart %q; want %q", got, want)
	}
}
