package store

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/device/condition"
)

const onSmallDisk = "CONCH_STORE_SMALL_DISK"

// A full disk is told in words and as a condition, costs nothing that was kept, and is over when there is space.
func TestAFullDisk(t *testing.T) {
	dir := smallDisk(t, "256k")
	if dir == "" {
		return
	}
	path := filepath.Join(dir, File)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not small")
	}
	k := opened(t, path)
	if err := k.Skill("notes").Put("ada", map[string][]byte{"a": []byte("1")}); err == nil || err.Error() != "it cannot be kept: my disk is full" {
		t.Errorf("before there is a file: %v", err)
	}
	if got := k.codes(); !slices.Equal(got, []condition.Code{condition.SkillsUnwritten}) {
		t.Error(got)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	var err error
	for ; err == nil && n < 1000; n++ {
		err = k.Skill("notes").Put("ada", map[string][]byte{fmt.Sprintf("%03da", n): make([]byte, 4000), fmt.Sprintf("%03db", n): {1}})
	}
	if err == nil || err.Error() != "it cannot be kept: my disk is full" {
		t.Errorf("%v", err)
	}
	whole := func() {
		count := 0
		if err := k.Skill("notes").All("ada", func(string, []byte) bool { count++; return true }); err != nil || count != 2*(n-1) {
			t.Errorf("%d values, %v; want %d, each with its other", count, err, 2*(n-1))
		}
	}
	whole()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = opened(t, path)
	whole()
	for i := range 20 {
		if err := k.Skill("notes").Put("ada", map[string][]byte{"more": make([]byte, 60000+i)}); err == nil {
			t.Error("it was written")
		}
	}
	whole()
	if err := k.update(k.tried); err == nil || !slices.Contains(k.codes(), condition.SkillsUnwritten) {
		t.Errorf("a trial ends well where what is bigger does not: %v, %v", k.codes(), err)
	}
	if err := os.Remove(ballast); err != nil { // somebody frees some space: it ends by itself
		t.Fatal(err)
	}
	over := make(chan struct{}, 1)
	k.conds.OnChange(func() { over <- struct{}{} })
	k.every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	<-over
	cancel()
	if err := <-done; err != nil || len(k.codes()) > 0 {
		t.Errorf("%v, %v", k.codes(), err)
	}
	put(t, k, "notes", "ada", "more", "kept")

	// A disk that can only be read: what is kept counts.
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("none", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	remount(syscall.MS_RDONLY)
	k = opened(t, path)
	wants(t, k, "notes", "ada", "more", "kept")
	if err := k.Skill("notes").Put("ada", map[string][]byte{"more": nil}); err == nil || err.Error() != "it cannot be kept: my disk can only be read" {
		t.Errorf("%v", err)
	}
	wants(t, k, "notes", "ada", "more", "kept")
	if got := k.codes(); !slices.Equal(got, []condition.Code{condition.SkillsUnwritten}) {
		t.Error(got)
	}
	remount(0)
	put(t, k, "notes", "ada", "more", "changed")
	wants(t, k, "notes", "ada", "more", "changed")
	if got := k.codes(); len(got) > 0 {
		t.Error(got)
	}
}

// smallDisk is a directory on a disk of its own. Empty: the test has run again where this process may mount one.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if dir := os.Getenv(onSmallDisk); dir != "" {
		if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("no disk to be mounted: %v", err)
		}
		return dir
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), onSmallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Skipf("no namespaces here: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("%v\n%s", err, out)
	}
	return ""
}
