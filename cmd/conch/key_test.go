package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"conch/device/language"
	"conch/device/setup"
)

func (p *person) echoes() bool { return p.settings().Lflag&unix.ECHO != 0 }

// noService keeps a conch that runs on this machine from being restarted.
func noService(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\necho inactive\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// The key is typed at a terminal that does not show it, and nothing that conch prints has it.
func TestKeyIsTypedUnseen(t *testing.T) {
	noService(t)
	dir := t.TempDir()
	p := sitAt(t, "key", "--dir", dir)
	if !soon(func() bool { return !p.echoes() }) {
		t.Fatal("the terminal still shows what is typed")
	}
	p.types(storyKey + "\r")
	if err := p.program.Wait(); err != nil {
		t.Fatal(err)
	}
	if !p.echoes() {
		t.Error("the terminal no longer shows what is typed")
	}
	path := filepath.Join(dir, "openai_api_key")
	stored, err := os.ReadFile(path)
	if err != nil || string(stored) != storyKey+"\n" {
		t.Errorf("stored %q, %v; want what was typed", stored, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	if !soon(func() bool { return strings.Contains(p.screen(), "stored in "+path) }) {
		t.Error("it does not say where it is stored")
	}
	for from := range len(storyKey) - 8 {
		if piece := storyKey[from : from+8]; piece != "sk-proj-" && strings.Contains(p.screen()+p.log.String(), piece) {
			t.Fatalf("the screen has %q of the key", piece)
		}
	}
}

// Ctrl-C at the question leaves the terminal as it was, and the key that was stored.
func TestKeyQuestionCanBeLeft(t *testing.T) {
	noService(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "openai_api_key")
	if err := os.WriteFile(path, []byte("sk-before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sitAt(t, "key", "--dir", dir)
	if !soon(func() bool { return !p.echoes() }) {
		t.Fatal("the terminal still shows what is typed")
	}
	p.types("sk-half\x03")
	if err := p.program.Wait(); p.program.ProcessState.ExitCode() != exitFault {
		t.Errorf("%v; want status 1", err)
	}
	if !p.echoes() {
		t.Error("the terminal no longer shows what is typed")
	}
	if left, err := os.ReadFile(path); string(left) != "sk-before\n" {
		t.Errorf("stored %q, %v; want what was", left, err)
	}
	if !strings.Contains(p.log.String(), "none was given") {
		t.Errorf("it says %q", p.log.String())
	}
}

// A disk that is full, for real: a file system of one page. What was stored is as it was, and nothing is left beside it.
func TestKeyOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "openai_api_key")
	if err := os.WriteFile(path, []byte("sk-before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := setup.StoreKey(path, storyKey, language.English)
	want := "key: " + path + ": no space left on this file system; what was stored is as it was (free some: df -h " + dir + ")"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if left, err := os.ReadFile(path); string(left) != "sk-before\n" {
		t.Errorf("stored %q, %v; want what was", left, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v; want the key alone", entries, err)
	}
}
