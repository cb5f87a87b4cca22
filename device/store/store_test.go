package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"conch/device/condition"
)

type kept struct {
	*DB
	conds *condition.Book
	path  string
}

func opened(t *testing.T, path string) kept {
	t.Helper()
	conds := condition.NewBook(slog.New(slog.DiscardHandler))
	d := New(path, conds, func() time.Time { return time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC) })
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return kept{d, conds, path}
}

func (k kept) codes() (all []condition.Code) {
	for _, c := range k.conds.List() {
		all = append(all, c.Code)
	}
	return all
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "state", File) }

func put(t *testing.T, k kept, skill, companion, key, value string) {
	t.Helper()
	if err := k.Skill(skill).Put(companion, map[string][]byte{key: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, k kept, skill, companion, key, value string) {
	t.Helper()
	if got, err := k.Skill(skill).Get(companion, key); err != nil || string(got) != value {
		t.Errorf("%s of %q: %q, %v; want %q", key, companion, got, err, value)
	}
}

func TestEachSkillKeepsForEachCompanionApart(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "notes", "", "a", "the device's")
	put(t, k, "notes", "ada", "a", "Ada's")
	put(t, k, "notes", "ada", "b", "")
	put(t, k, "timers", "ada", "a", "a timer")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = opened(t, path)
	wants(t, k, "notes", "", "a", "the device's")
	wants(t, k, "notes", "ada", "a", "Ada's")
	wants(t, k, "timers", "ada", "a", "a timer")
	if got, err := k.Skill("notes").Get("ada", "b"); got == nil || err != nil {
		t.Errorf("what is empty is not what is not there: %v, %v", got, err)
	}
	if got, err := k.Skill("notes").Get("ben", "a"); got != nil || err != nil {
		t.Errorf("of nobody: %q, %v", got, err)
	}
	if all, err := k.Skill("notes").Companions(); err != nil || !slices.Equal(all, []string{"", "ada"}) {
		t.Errorf("companions %q, %v", all, err)
	}
	if err := k.Skill("notes").Put("ada", map[string][]byte{"a": nil, "b": nil, "c": nil}); err != nil {
		t.Fatal(err)
	}
	if all, err := k.Skill("notes").Companions(); err != nil || !slices.Equal(all, []string{""}) {
		t.Errorf("companions %q, %v; want none for whom nothing is kept", all, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file that is its owner's", info.Mode(), err)
	}
}

func TestAllGoesByTheKeyUntilToldToStop(t *testing.T) {
	k := opened(t, file(t))
	s := k.Skill("notes")
	for _, key := range []string{"b", "c", "a"} {
		put(t, k, "notes", "ada", key, key)
	}
	var seen []string
	err := s.All("ada", func(key string, value []byte) bool {
		seen = append(seen, key+string(value))
		return s.Put("ada", map[string][]byte{key: nil}) == nil && len(seen) < 2
	})
	if err != nil || !slices.Equal(seen, []string{"aa", "bb"}) {
		t.Errorf("%q, %v", seen, err)
	}
	wants(t, k, "notes", "ada", "c", "c")
	wants(t, k, "notes", "ada", "a", "")
}

// Cards wear: what is as it was is not written.
func TestWhatIsTheSameIsNotWritten(t *testing.T) {
	k := opened(t, file(t))
	put(t, k, "timers", "", "a", "1")
	id := func() (n int) {
		if err := k.view(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	was := id()
	put(t, k, "timers", "", "a", "1")
	if n := id(); n != was {
		t.Errorf("transaction %d after %d", n, was)
	}
	put(t, k, "timers", "", "a", "2")
	if n := id(); n == was {
		t.Error("what changed was not written")
	}
}

func TestBoundsAreToldInWords(t *testing.T) {
	k := opened(t, file(t))
	s := k.Skill("notes")
	for want, values := range map[string]map[string][]byte{
		"at most 65536": {"a": []byte("1"), "b": make([]byte, MaxValue+1)},
		"1 to 253":      {"a": []byte("1"), strings.Repeat("x", MaxKey): nil},
		"of 0 bytes":    {"a": []byte("1"), "": []byte("x")},
	} {
		if err := s.Put("ada", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	wants(t, k, "notes", "ada", "a", "")
	var err error
	for i := 0; i < 300 && err == nil; i++ {
		err = s.Put("ada", map[string][]byte{fmt.Sprintf("%03d", i): make([]byte, MaxValue)})
	}
	if err == nil || !strings.Contains(err.Error(), "forget something") {
		t.Errorf("a full database: %v", err)
	}
	if info, err := os.Stat(k.path); err != nil || info.Size() > MaxFile {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	put(t, k, "notes", "ada", "000", "")
	if len(k.codes()) > 0 {
		t.Error(k.codes())
	}
}

func TestADamagedFileIsPutAside(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"text":    func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 4096)) },
		"torn":    func(b []byte) []byte { return b[:2*os.Getpagesize()] },
		"zeroed":  func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b },
		"foreign": func([]byte) []byte { return foreign(t) },
	} {
		path := file(t)
		k := opened(t, path)
		put(t, k, "notes", "ada", "a", "1")
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := spoil(whole)
		for n := 1; n <= 2; n++ {
			if err := errors.Join(os.WriteFile(path, bad, 0o600), os.Remove(path+copied)); err != nil {
				t.Fatal(err)
			}
			k = opened(t, path)
			wants(t, k, "notes", "ada", "a", "")
			put(t, k, "notes", "ada", "b", "2")
			if got := k.codes(); !slices.Equal(got, []condition.Code{condition.SkillsUnread}) {
				t.Errorf("%s: %v", name, got)
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			aside, _ := filepath.Glob(path + ".20261123-080000*.broken")
			if len(aside) != n {
				t.Fatalf("%s: %q", name, aside)
			}
			for _, path := range aside {
				if got, err := os.ReadFile(path); err != nil || string(got) != string(bad) {
					t.Errorf("%s: %s is %d bytes, %v; want the %d that were there", name, path, len(got), err, len(bad))
				}
			}
		}
	}
}

// Of two first pages one is damaged: the last write is lost, or none is, and nobody can tell. It is said either way, once, and the file is
// kept as it was found.
func TestADamagedFirstPageIsTold(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "notes", "ada", "a", "first")
	put(t, k, "notes", "ada", "a", "last")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for page := range 2 {
		bad := slices.Clone(whole)
		bad[page*os.Getpagesize()+head+16]++ // the place of the root
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		k = opened(t, path)
		value, err := k.Skill("notes").Get("ada", "a")
		if err != nil {
			t.Fatal(err)
		}
		found[string(value)] = true
		told := k.conds.List()
		if len(told) != 1 || told[0].Code != condition.SkillsUnread || !strings.Contains(told[0].Text, "may be missing; as it was found it is now "+File+".20261123-080000") {
			t.Errorf("page %d: %v", page, told)
		}
		if aside, _ := filepath.Glob(path + ".*.broken"); len(aside) != page+1 {
			t.Errorf("page %d: %q", page, aside)
		} else if got, err := os.ReadFile(aside[0]); err != nil || page == 0 && string(got) != string(bad) {
			t.Errorf("page %d: %s is not what was found (%v)", page, aside[0], err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		k = opened(t, path)
		wants(t, k, "notes", "ada", "a", string(value))
		if got := k.codes(); len(got) > 0 {
			t.Errorf("page %d: said again: %v", page, got)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !found["first"] || !found["last"] {
		t.Errorf("found %v; want what was before the last write, and the last", found)
	}
}

// foreign is a database of another program.
func foreign(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err == nil {
		err = db.Close()
	}
	b, err2 := os.ReadFile(path)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever a worn card has made of it: conch starts, and keeps what it is told from then on.
func TestAnyBytesOfTheFileMayBeWrong(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	for i := range 200 {
		put(t, k, []string{"notes", "timers"}[i%2], []string{"", "ada", "ben"}[i%3], fmt.Sprint(i), strings.Repeat("x", i*7))
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	aside := 0
	for n := range 300 {
		bad := slices.Clone(whole)
		for range 1 + rng.IntN(20) {
			page := rng.IntN(len(bad) / os.Getpagesize())
			in := rng.IntN(64) // headers, where they hurt
			if rng.IntN(2) == 0 {
				in = rng.IntN(os.Getpagesize())
			}
			bad[page*os.Getpagesize()+in] = byte(rng.Uint32())
		}
		if rng.IntN(5) == 0 {
			bad = bad[:rng.IntN(len(bad))]
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		k := opened(t, path)
		put(t, k, "notes", "ada", "new", "kept")
		wants(t, k, "notes", "ada", "new", "kept")
		if slices.Contains(k.codes(), condition.SkillsUnread) {
			aside++
		}
		if err := k.Close(); err != nil {
			t.Errorf("seed %d, %d: %v", seed, n, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d, file %d", seed, n)
		}
	}
	if aside < 50 {
		t.Errorf("seed %d: %d files were found damaged", seed, aside)
	}
}

// A page that is part of itself has no end.
func TestAPageIsUsedOnce(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "notes", "ada", "a", "1")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if half, err := look(b); err != nil || half {
		t.Fatal(half, err)
	}
	p := pages{file: b}
	if err := p.meta(); err != nil {
		t.Fatal(err)
	}
	at := b[p.root*p.size+head:] // the first entry, a bucket
	order.PutUint64(at[order.Uint32(at[4:])+order.Uint32(at[8:]):], p.root)
	if _, err := look(b); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "used twice") {
		t.Errorf("%v", err)
	}
}

// An older conch leaves what a newer one wrote as it is, and offers its own copy: its remedy does what it says.
func TestANewerLayoutIsLeftAlone(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "notes", "ada", "a", "1")
	if err := k.copy(); err != nil {
		t.Fatal(err)
	}
	if err := k.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(rootConch).Put(keyLayout, []byte("2")) }); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	k = opened(t, path)
	if err := k.Skill("notes").Put("ada", map[string][]byte{"a": []byte("2")}); err == nil || !strings.Contains(err.Error(), "newer conch") {
		t.Errorf("%v", err)
	}
	if _, err := k.Skill("notes").Get("ada", "a"); err == nil {
		t.Error("it was read")
	}
	if got := k.codes(); !slices.Equal(got, []condition.Code{condition.SkillsUnread}) {
		t.Error(got)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed (%v)", err)
	}
	remedy := k.conds.List()[0].Do
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	_, commands, ok := strings.Cut(remedy, "which this conch wrote: ")
	if !ok {
		t.Fatal(remedy)
	}
	if b, err := exec.Command("sh", "-ec", `sudo() { case $1 in systemctl) ;; *) "$@";; esac; }; `+commands).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", commands, err, b)
	}
	k = opened(t, path)
	if v, err := k.Skill("notes").Get("ada", "a"); err != nil || string(v) != "1" {
		t.Errorf("%q, %v", v, err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+copied, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.older(); got != "" {
		t.Errorf("a copy of the newer layout is offered: %s", got)
	}
	if kept, err := os.ReadFile(path + ".newer"); err != nil || string(kept) != string(before) {
		t.Errorf("what the newer one wrote is lost (%v)", err)
	}
}

// Without a whole copy none is offered.
func TestADamagedCopyIsNotOffered(t *testing.T) {
	for name, text := range map[string]string{"none": "", "damaged": strings.Repeat("x", 32<<10)} {
		d := New(filepath.Join(t.TempDir(), "x"), condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
		if text != "" {
			if err := os.WriteFile(d.path+copied, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.older(); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAFileThatAnotherProcessHasIsAnErrorSoon(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "notes", "ada", "a", "1")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	k = opened(t, path)
	if _, err := k.Skill("notes").Get("ada", "a"); err == nil || !strings.Contains(err.Error(), "another conch has it") {
		t.Errorf("%v", err)
	}
	if got := k.codes(); !slices.Equal(got, []condition.Code{condition.SkillsUnwritten}) {
		t.Error(got)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	wants(t, k, "notes", "ada", "a", "1")
	put(t, k, "notes", "ada", "a", "2")
	if got := k.codes(); len(got) > 0 {
		t.Error(got)
	}
}

// Whoever only looks changes nothing, whatever is in the file, and waits for nobody who has it.
func TestWhoLooksChangesNothing(t *testing.T) {
	path := file(t)
	if _, err := Look(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
	k := opened(t, path)
	put(t, k, "notes", "ada", "a", "1")
	if _, err := Look(path); !errors.Is(err, ErrLocked) {
		t.Errorf("of one that is open: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	half := slices.Clone(whole)
	half[head+16]++
	for want, bytes := range map[string][]byte{"": whole, "half": half, "conch puts it aside when it starts": whole[:len(whole)/2]} {
		if err := errors.Join(os.WriteFile(path, bytes, 0o600), os.Chmod(path, 0o400)); err != nil {
			t.Fatal(err)
		}
		d, err := Look(path)
		switch {
		case err != nil:
			if want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", want, err)
			}
		default:
			if v, err := d.Skill("notes").Get("ada", "a"); err != nil || want == "" && string(v) != "1" {
				t.Errorf("%q: %q, %v", want, v, err)
			}
			if err := d.Skill("notes").Put("ada", map[string][]byte{"a": nil}); err == nil {
				t.Errorf("%q: it was written", want)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(bytes) {
			t.Errorf("%q: the file has changed (%v)", want, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, _ := filepath.Glob(path + "*"); len(all) != 2 { // and its copy
		t.Errorf("%q", all)
	}
}

func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	k := opened(t, file(t))
	put(t, k, "notes", "ada", "a", "1")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.Skill("notes").Put("ada", map[string][]byte{"a": nil}); !errors.Is(err, errShutdown) {
		t.Errorf("%v", err)
	}
	if len(k.codes()) > 0 {
		t.Error(k.codes())
	}
}
