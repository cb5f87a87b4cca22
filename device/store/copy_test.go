package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/device/condition"
)

// Whatever has become of the file: what the copy has comes back, the damaged one is kept as it was, and a person is told what may be missing.
func TestADamagedFileHasACopy(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"half written":  func(b []byte) []byte { return b[:len(b)/2] },
		"torn":          func(b []byte) []byte { return b[:2*os.Getpagesize()] },
		"within a page": func(b []byte) []byte { return b[:100] },
		"empty":         func([]byte) []byte { return nil },
		"zeroes":        func(b []byte) []byte { return make([]byte, len(b)) },
		"garbage":       func(b []byte) []byte { return bytes.Repeat([]byte("not a database\n"), len(b)/15) },
		"foreign":       func([]byte) []byte { return foreign(t) },
		"gone":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			k := opened(t, path)
			put(t, k, "reminders", "", "a", "the pills")
			put(t, k, "reminders", "", "b", strings.Repeat("x", 20_000))
			shut(t, k)
			if spoil == nil {
				check(t, os.Remove(path))
			} else {
				check(t, os.WriteFile(path, spoil(bytesOf(t, path)), 0o600))
			}
			var bad []byte
			if spoil != nil {
				bad = bytesOf(t, path)
			}
			for range 2 { // and the file that has its place is as good as any
				k = opened(t, path)
				wants(t, k, "reminders", "", "a", "the pills")
				if told := k.conds.List(); len(told) != 1 || told[0].Code != condition.SkillsUnread ||
					!strings.Contains(told[0].Text, "what was set or changed since may be missing") || told[0].Do == "" {
					t.Errorf("%v", told)
				}
				shut(t, k)
				if spoil == nil {
					check(t, os.Remove(path))
					continue
				}
				aside, _ := filepath.Glob(path + ".*.broken")
				if len(aside) == 0 || !slices.ContainsFunc(aside, func(p string) bool { return bytes.Equal(bytesOf(t, p), bad) }) {
					t.Errorf("the damaged one is not kept: %q", aside)
				}
				check(t, os.WriteFile(path, bad, 0o600))
			}
		})
	}
}

// Where the copy is damaged as well, both are kept, and it begins anew.
func TestADamagedCopyIsPutAsideToo(t *testing.T) {
	path := file(t)
	k := opened(t, path)
	put(t, k, "reminders", "", "a", "the pills")
	shut(t, k)
	check(t, os.WriteFile(path, []byte("x"), 0o600))
	check(t, os.WriteFile(path+copied, []byte("y"), 0o600))
	k = opened(t, path)
	put(t, k, "reminders", "", "b", "new")
	wants(t, k, "reminders", "", "a", "")
	told := k.conds.List()
	if aside, _ := filepath.Glob(path + "*.broken"); len(aside) != 2 || len(told) != 1 || !strings.Contains(told[0].Do, "anew") {
		t.Errorf("%q, %v", aside, told)
	}
}

// What a worn card has damaged while it was open does not take the place of the copy.
func TestADamagedFileIsNotCopied(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut":          func(path string) error { return os.Truncate(path, int64(2*os.Getpagesize())) },
		"a first page": func(path string) error { return overwrite(path, make([]byte, 512)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			k := opened(t, path)
			put(t, k, "reminders", "", "a", "the pills")
			check(t, k.copy())
			before := bytesOf(t, path+copied)
			put(t, k, "reminders", "", "b", strings.Repeat("x", 20_000))
			check(t, damage(path))
			if err := k.copy(); err == nil || !bytes.Equal(bytesOf(t, path+copied), before) {
				t.Errorf("it was copied: %v", err)
			}
			k.dirty.Store(false) // nor at the end
		})
	}
}

// overwrite puts bytes over the beginning of a file.
func overwrite(path string, with []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(with, 0)
	return errors.Join(err, f.Close())
}

// A copy is made some time behind the first write, once for all of them, and none while nothing is written; what is erased is gone from it at once.
func TestWhenACopyIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := opened(t, file(t))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		is := func(skill, companion, key, want string) {
			t.Helper()
			if got := k.copyOf(t, skill, companion, key); got != want {
				t.Errorf("the copy has %q; want %q", got, want)
			}
		}
		put(t, k, "reminders", "", "a", "the pills")
		pass(copyAfter / 2)
		put(t, k, "reminders", "", "b", "the drops")
		if _, err := os.Stat(k.path + copied); err == nil {
			t.Error("it is made at once")
		}
		pass(copyAfter/2 + 1)
		is("reminders", "", "b", "the drops")
		before := stat(t, k.path+copied)
		pass(10 * copyAfter)
		if !os.SameFile(before, stat(t, k.path+copied)) {
			t.Error("it is written again, and nothing was")
		}
		put(t, k, NotesOf, "ada", "a", "a secret")
		pass(copyAfter + 1)
		is(NotesOf, "ada", "a", "a secret")
		check(t, k.Skill(NotesOf).Put("ada", map[string][]byte{"a": nil}))
		is(NotesOf, "ada", "a", "")
		cancel()
		check(t, <-done)
		put(t, k, "reminders", "", "c", "the last")
		shut(t, k)
		is("reminders", "", "c", "the last")
	})
}

// On a disk that is full a copy stays as it was, and a damaged file is replaced by it all the same.
func TestAFullDiskHasACopy(t *testing.T) {
	dir := smallDisk(t, "256k")
	if dir == "" {
		return
	}
	path := filepath.Join(dir, File)
	k := opened(t, path)
	put(t, k, "reminders", "", "a", "the pills")
	check(t, k.copy())
	before := bytesOf(t, path+copied)
	for n := 4096; n >= 1; n /= 2 { // to the last byte
		f, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		check(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, n))
		}
		check(t, f.Close())
	}
	k.dirty.Store(true)
	if err := k.copy(); err == nil || !bytes.Equal(bytesOf(t, path+copied), before) {
		t.Errorf("the copy has changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 3 {
		t.Errorf("left behind: %q", left)
	}
	shut(t, k)
	check(t, os.Truncate(path, int64(os.Getpagesize())))
	k = opened(t, path)
	wants(t, k, "reminders", "", "a", "the pills")
	if !slices.Contains(k.codes(), condition.SkillsUnread) {
		t.Error(k.codes())
	}
	check(t, os.Remove(filepath.Join(dir, "ballast")))
}

// copyOf reads what the copy has.
func (k kept) copyOf(t *testing.T, skill, companion, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), File)
	check(t, os.WriteFile(path, bytesOf(t, k.path+copied), 0o600))
	db, err := Look(path)
	check(t, err)
	value, err := db.Skill(skill).Get(companion, key)
	check(t, errors.Join(err, db.Close()))
	return string(value)
}

// pass has some time go by, as a test's clock tells it.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func shut(t *testing.T, k kept) {
	t.Helper()
	check(t, k.Close())
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return b
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	return info
}
