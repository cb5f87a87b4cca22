package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/device/control"
)

// attacked is a room of two good devices, each conch as it is shipped, and of a third one, the pantry, whose key and certificate a program
// of another make has (testdata/attack: paho-mqtt, OpenSSL, PyCA's Ed25519).
type attacked struct {
	*testing.T
	python        string
	kitchen, hall appliance // the kitchen keeps the room
	stopHall      func()
	pantry        appliance
	port          string // of the kitchen
}

// A member is attacked by one that lies, each kind in a room of its own. What is expected stands beside the kind (attack_kinds_test.go); what
// was seen is in the log of the test.
func TestAForeignLiarAttacks(t *testing.T) {
	if os.Getenv("CONCH_TEST_LIARS") == "" {
		t.Skip("takes some minutes: make test-liars (CONCH_TEST_LIARS)")
	}
	for _, k := range attacks {
		t.Run(k.kind, func(t *testing.T) { k.try(newAttacked(t, k.hall...)) })
	}
}

func newAttacked(t *testing.T, hall ...string) *attacked {
	t.Helper()
	a := &attacked{T: t}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import paho.mqtt.client, cryptography").Run() == nil {
			a.python = python
		}
	}
	if a.python == "" {
		t.Skip("needs another MQTT client: apt-get install python3-paho-mqtt python3-cryptography")
	}
	a.kitchen, _ = startAppliance(t, "kitchen", "Ada")
	a.hall, a.stopHall = startAppliance(t, "hall", "Ben", hall...)
	pantry, stop := startAppliance(t, "pantry", "Eve")
	a.pantry = pantry
	for _, d := range []appliance{a.hall, pantry} {
		a.pair(d)
	}
	stop()
	return a
}

// pair lets a device into the kitchen's room.
func (a *attacked) pair(d appliance) {
	a.Helper()
	window := ask[control.PairOpened](a, a.kitchen, "POST", "/room/pair", map[string]any{})
	if len(window.Addresses) == 0 {
		a.Skip("this machine has no address besides loopback: a window without one says no port")
	}
	var err error
	if _, a.port, err = net.SplitHostPort(window.Addresses[0]); err != nil {
		a.Fatal(err)
	}
	if out, status := d.conch(a.T, "room", "join", window.Code, "--host", "127.0.0.1:"+a.port); status != 0 {
		a.Fatalf("join: status %d: %s", status, out)
	}
	a.until("it is in the room", func() bool {
		list, _ := d.conch(a.T, "room", "list")
		return regexp.MustCompile(`(?m)^kitchen .*\bhere\b`).MatchString(list)
	})
}

// ask is one request at an appliance, which has to be granted.
func ask[A any](a *attacked, d appliance, method, path string, in any) (out A) {
	a.Helper()
	a.do(d, method, path, in, &out)
	return out
}

func (a *attacked) do(d appliance, method, path string, in, out any) {
	a.Helper()
	r, err := control.Dial(d.config())
	if err == nil {
		err = r.Do(a.Context(), method, path, in, out)
	}
	if err != nil {
		a.Fatalf("%s %s: %v", method, path, err)
	}
}

func (a *attacked) until(what string, cond func() bool) {
	a.Helper()
	if !soon(cond) {
		a.Fatalf("not in %s: %s", patience, what)
	}
}

// liar is one run of the program; what it says can be read while it runs.
type liar struct {
	a    *attacked
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

func (l *liar) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *liar) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// value is what it has said of something, or nothing.
func (l *liar) value(name string) string {
	for line := range strings.Lines(l.said()) {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// attack starts a kind of lie.
func (a *attacked) attack(kind string, long time.Duration) *liar {
	a.Helper()
	l := &liar{a: a, done: make(chan struct{})}
	cmd := exec.CommandContext(a.Context(), a.python, "-B", "testdata/attack/attacker.py", a.pantry.path("state"), "127.0.0.1:"+a.port, kind, fmt.Sprint(long.Seconds()))
	cmd.Stdout, cmd.Stderr = l, l
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	go func() { defer close(l.done); _ = cmd.Wait() }()
	a.Cleanup(func() { _ = cmd.Process.Kill(); <-l.done })
	return l
}

// end waits for it. It has to have been believed, or it would have shown nothing, and may not have heard what is not for it.
func (l *liar) end() *liar {
	l.a.Helper()
	<-l.done
	l.a.Logf("the liar says:\n%s", l.said())
	if strings.Contains(l.said(), "Traceback") {
		l.a.Errorf("it has not lied to its end:\n%s", l.said())
	}
	if l.value("believed") == "False" {
		l.a.Error("nobody believed its session, and so it has shown nothing")
	}
	if l.value("secret") != "" {
		l.a.Errorf("it has heard what is private, or its own lie from another one: %s", l.value("secret"))
	}
	return l
}

// conditions are what an appliance says of what is wrong.
func (a *attacked) conditions(d appliance) string {
	a.Helper()
	var b strings.Builder
	for _, c := range ask[control.Status](a, d, "GET", "/status", nil).Conditions {
		fmt.Fprintf(&b, "%s: %s; %s\n", c.Code, c.Text, c.Do)
	}
	return b.String()
}

// named: an appliance names the liar in a condition, with the command that ends it.
func (a *attacked) named(d appliance, code string) {
	a.Helper()
	seen := ""
	if !soon(func() bool {
		seen = a.conditions(d)
		return regexp.MustCompile(`(?m)^room\.` + code + `\..*pantry.*conch room remove pantry`).MatchString(seen)
	}) {
		a.Errorf("no condition room.%s names the pantry:\n%s", code, seen)
	}
	a.Logf("conditions at %s:\n%s", d.dir, seen)
}

// hushes: a press at one device ends what a companion says at the other.
func (a *attacked) hushes(at, speaks appliance, companion string) {
	a.Helper()
	before := strings.Count(speaks.read(a.T, "log"), "reason=interrupted")
	claims := func() int {
		return strings.Count(speaks.read(a.T, "log"), "event=room.claim")
	}
	for try, had := 0, claims(); claims() == had && try < 3; try++ {
		go func() { _, _ = at.conch(a.T, "ask", companion+", tell me a story") }()
		_ = soon(func() bool { return claims() > had })
	}
	a.until(companion+" speaks", func() bool { return !ask[control.Status](a, speaks, "GET", "/status", nil).Quiet })
	_ = ask[control.Hushed](a, at, "POST", "/hush", nil)
	a.until("a press hushes "+companion, func() bool { return strings.Count(speaks.read(a.T, "log"), "reason=interrupted") > before })
}

// answers: a question at one device is answered by the companion at the other.
func (a *attacked) answers(at appliance, companion string, x, y int) {
	a.Helper()
	said := ""
	for try := 1; try <= 4; try++ {
		ctx, cancel := context.WithTimeout(a.Context(), 10*time.Second) // somebody who asks again, where nothing comes
		c := exec.CommandContext(ctx, "conch", "ask", fmt.Sprintf("%s, what is %d plus %d", companion, x, y))
		c.Env = at.env
		out, _ := c.CombinedOutput()
		cancel()
		if said = string(out); strings.Contains(said, strconv.Itoa(x+y)) {
			if try > 1 {
				a.Logf("%s has answered what was asked %d times", companion, try)
			}
			return
		}
	}
	a.Errorf("%s does not answer: %s", companion, said)
}

// unchanged: who belongs to the room, how all are called, and whether they may talk.
func (a *attacked) unchanged() {
	a.Helper()
	for _, d := range []appliance{a.kitchen, a.hall} {
		list, _ := d.conch(a.T, "room", "list")
		for _, want := range []string{`(?m)^kitchen .*\bAda\b`, `(?m)^hall .*\bBen\b`, `(?m)^pantry `} {
			if !regexp.MustCompile(want).MatchString(list) {
				a.Errorf("no %s in\n%s", want, list)
			}
		}
		if lie := regexp.MustCompile(`(?m)^guest|^mine|muted|swordfish`).FindString(list); lie != "" {
			a.Errorf("%s is in the list:\n%s", lie, list)
		}
	}
	a.nowhere("swordfish", a.kitchen, a.hall)
}

// nowhere: a word is in no file of these, the log included.
func (a *attacked) nowhere(word string, in ...appliance) {
	a.Helper()
	for _, d := range in {
		if where := find(a.T, d.dir, word); len(where) > 0 {
			a.Errorf("%s is in %v", word, where)
		}
	}
}

// find gives the files below a directory that have a text in them.
func find(t *testing.T, dir, text string) (where []string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
				where = append(where, path)
			}
		}
		return nil
	})
	return where
}

// kernel is a number that the kernel has of an appliance's process, in a file of /proc: "status VmRSS" (kB), "io write_bytes".
func (a *attacked) kernel(d appliance, file, name string) int {
	a.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", d.read(a.T, "pid"), file))
	if err != nil {
		a.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `:\s+([0-9]+)`).FindSubmatch(text)
	if m == nil {
		a.Fatalf("no %s in\n%s", name, text)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}
