package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"conch/device/control"
)

// What is tried, what is expected of it, and of what devices: more variables of the hall's environment.
var attacks = []struct {
	kind string
	hall []string
	try  func(a *attacked)
}{
	{"epochs", nil, (*attacked).epochs},
	{"unreading", nil, func(a *attacked) { a.small("unreading") }},
	{"subscriptions", nil, func(a *attacked) { a.small("subscriptions") }},
	{"history", nil, (*attacked).history},
	{"admission", nil, (*attacked).admission},
	{"floods/junk", nil, func(a *attacked) { a.floods("junk", true) }},
	{"floods/forged", nil, func(a *attacked) { a.floods("forged", true) }},
	{"floods/others", nil, func(a *attacked) { a.floods("others", true) }},
	{"floods/large", nil, func(a *attacked) { a.floods("large", true) }},
	{"floods/asks", nil, func(a *attacked) { a.floods("asks", false) }},
	{"floods/slow", nil, func(a *attacked) { a.floods("slow", false) }},
	{"names", nil, (*attacked).names},
	{"terminal", nil, (*attacked).terminal},
	{"forgetting", []string{"CONCH_VOICE_REMEMBER=false"}, (*attacked).forgetting},
	{"whispers", nil, (*attacked).whispers},
	{"wear/admission", nil, func(a *attacked) { a.wear("wear", "excess") }},
	{"wear/words", nil, func(a *attacked) { a.wear("words", "presses") }},
	{"wear/cards", nil, func(a *attacked) { a.wear("cards", "") }},
	{"wear/leaves", nil, func(a *attacked) { a.wear("leaves", "") }},
	{"claims", nil, func(a *attacked) { a.takes("claims") }},
	{"silences", nil, func(a *attacked) { a.takes("silences") }},
	{"nonsense", nil, (*attacked).nonsense},
	{"sessions", nil, (*attacked).sessions},
	{"presses", nil, (*attacked).presses},
	{"settings", nil, (*attacked).settings},
	{"silent", nil, (*attacked).silent},
	{"stranger", nil, (*attacked).stranger},
	{"removed", nil, (*attacked).removed},
}

// epochs: numbers of 2^32 and more, of anybody, in beats, presses and messages. A press of each good one still hushes the other, one that restarts
// agrees again, and nobody counts far.
func (a *attacked) epochs() {
	a.attack("epochs", 8*time.Second).end()
	a.hushes(a.hall, a.kitchen, "Ada")
	a.stopHall()
	a.stopHall = a.hall.start(a.T)
	a.hushes(a.hall, a.kitchen, "Ada")
	a.hushes(a.kitchen, a.hall, "Ben")
	var l *liar
	a.until("kitchen and hall count alike, and not far", func() bool {
		l = a.attack("listens", 3*time.Second).end()
		n, _, _ := strings.Cut(l.value("epoch kitchen"), "@")
		count, err := strconv.Atoi(n)
		return err == nil && count < 1000 && l.value("epoch hall") == l.value("epoch kitchen")
	})
	a.unchanged()
}

// history: a newcomer takes of what the liar hands on the liar's own line, and none of others.
func (a *attacked) history() {
	a.answers(a.hall, "Ada", 2, 3)
	l := a.attack("history", 14*time.Second)
	a.until("the liar is in the room", func() bool { return l.value("believed") == "True" })
	a.stopHall()
	for _, f := range find(a.T, a.hall.path("state"), "2 plus 3") { // it has forgotten
		if err := os.Remove(f); err != nil {
			a.Fatal(err)
		}
	}
	a.stopHall = a.hall.start(a.T)
	l.end()
	a.answers(a.hall, "Ada", 3, 4)
	if l.value("asked by") != "hall" {
		a.Error("the hall has asked nobody, so that nothing was tried")
	}
	if len(find(a.T, a.hall.path("state"), "turnip")) == 0 {
		a.Error("the liar's own line has not come either, so that nothing was tried")
	}
	a.unchanged()
}

// admission: a member lets nobody in without a window that all have heard of, and a press shuts that. By one that nobody shuts it does, for all to
// hear and to see; once such a one is removed, no member lets it in again.
func (a *attacked) admission() {
	l := a.attack("admission", time.Second)
	a.until("its window is announced in the hall", func() bool { return l.value("open") != "" && strings.Contains(a.hall.read(a.T, "log"), "open=true") })
	a.do(a.hall, "POST", "/press", struct{}{}, nil)
	a.do(a.hall, "POST", "/release", struct{}{}, nil)
	l.end()
	for name, want := range map[string]string{"without a window": "refused announce", "by a window of another name": "refused window", "at once": "refused early", "after a press": "refused window"} {
		if got := l.value(name); got != want {
			a.Errorf("a stranger %s: %s; want %s", name, got, want)
		}
	}
	a.unchanged()

	heard := strings.Count(a.hall.read(a.T, "log"), "open=true")
	if l = a.attack("heard", time.Second).end(); !strings.HasPrefix(l.value("after all have heard"), "admitted") {
		a.Errorf("a stranger, when all have heard: %s", l.value("after all have heard"))
	}
	if strings.Count(a.hall.read(a.T, "log"), "open=true") == heard {
		a.Error("the hall has not heard of the window")
	}
	if list, _ := a.hall.conch(a.T, "room", "list"); !regexp.MustCompile(`(?m)^guest .*pantry`).MatchString(list) {
		a.Errorf("the list does not say who let the guest in:\n%s", list)
	}
	if out, status := a.kitchen.conch(a.T, "room", "remove", "guest", "--yes"); status != 0 {
		a.Fatalf("remove: status %d: %s", status, out)
	}
	if l = a.attack("heard", time.Second).end(); l.value("after all have heard") != "refused removed" {
		a.Errorf("its accomplice lets it in again: %s", l.value("after all have heard"))
	}
	a.unchanged()
}

// names: whoever says that it is called as others are is called as the list has it, and its companions by other names.
func (a *attacked) names() {
	a.attack("names", 12*time.Second).end()
	a.answers(a.hall, "Ada", 2, 5)
	a.answers(a.kitchen, "Ben", 2, 6)
	a.unchanged()
}

// terminal: nothing that a terminal would obey is printed, whatever is asked while the liar writes it.
func (a *attacked) terminal() {
	watch := exec.CommandContext(a.Context(), "conch", "room", "watch")
	watched, err := os.Create(a.hall.path("watched"))
	if err != nil {
		a.Fatal(err)
	}
	watch.Env, watch.Stdout, watch.Stderr = a.hall.env, watched, watched
	if err := watch.Start(); err != nil {
		a.Fatal(err)
	}
	l := a.attack("terminal", 8*time.Second)
	for range 4 {
		a.prints("ask", "Eve, who are you?")
	}
	for _, args := range [][]string{{"room", "list"}, {"room", "list", "--json"}, {"why"}, {"why", "--all"}, {"status"}, {"doctor"}, {"logs"}} {
		a.prints(args...)
	}
	l.end()
	_ = watch.Process.Kill()
	_ = watch.Wait()
	watched.Close()
	text := a.hall.read(a.T, "watched")
	if found := steering(text); len(found) > 0 {
		a.Errorf("conch room watch prints %q", found)
	}
	if !strings.Contains(text, "lie") {
		a.Errorf("conch room watch has nothing of the liar's, so that nothing was tried:\n%s", text)
	}
	for _, d := range []appliance{a.kitchen, a.hall} {
		if found := steering(d.read(a.T, "log")); len(found) > 0 {
			a.Errorf("%s prints %q", d.dir, found)
		}
	}
	a.unchanged()
}

func (a *attacked) prints(args ...string) {
	a.Helper()
	if out, _ := a.hall.conch(a.T, args...); len(steering(out)) > 0 {
		a.Errorf("conch %v prints %q", args, out)
	}
}

// forgetting: of what anybody says nothing is in a file of the hall's, where the kitchen has it; and all files are their owner's alone.
func (a *attacked) forgetting() {
	l := a.attack("says", 6*time.Second)
	_, _ = a.hall.conch(a.T, "ask", "Ada, my parsnip is in the garden")
	_, _ = a.kitchen.conch(a.T, "ask", "Ben, my parsnip is in the garden")
	l.end()
	a.stopHall() // what waits to be written is
	for _, word := range []string{"parsnip", "turnip"} {
		if len(find(a.T, a.kitchen.path("state"), word)) == 0 {
			a.Errorf("the kitchen has no %s either, so that nothing was tried", word)
		}
		a.nowhere(word, a.hall)
	}
	for _, d := range []appliance{a.kitchen, a.hall, a.pantry} {
		_ = filepath.WalkDir(d.path("state"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				if info, err := e.Info(); err == nil && info.Mode().Perm() != 0o600 && info.Mode().IsRegular() {
					a.Errorf("%s: %v", path, info.Mode())
				}
			}
			return nil
		})
	}
}

// whispers: what is said to one companion reaches no other member, neither on the wire (the liar would tell of a secret) nor in a file or on
// the screen of a third device.
func (a *attacked) whispers() {
	l := a.attack("listens", 8*time.Second)
	a.until("the liar listens", func() bool { return l.value("believed") != "" })
	a.whisper()
	l.end()
	stop := a.pantry.start(a.T)
	a.until("the pantry is in the room", func() bool {
		list, _ := a.pantry.conch(a.T, "room", "list")
		return strings.Contains(list, "Ada") && strings.Contains(list, "Ben")
	})
	watch := exec.CommandContext(a.Context(), "conch", "room", "watch")
	watched, err := os.Create(a.pantry.path("watched"))
	if err != nil {
		a.Fatal(err)
	}
	watch.Env, watch.Stdout = a.pantry.env, watched
	if err := watch.Start(); err != nil {
		a.Fatal(err)
	}
	a.whisper()
	_, _ = a.pantry.conch(a.T, "ask", "Ben, what did the kitchen say?")
	for _, args := range [][]string{{"why", "--all"}, {"room", "list"}, {"logs"}} {
		if out, _ := a.pantry.conch(a.T, args...); strings.Contains(out, "chestnut") {
			a.Errorf("conch %v in the pantry: %s", args, out)
		}
	}
	_ = watch.Process.Kill()
	_ = watch.Wait()
	stop()
	if watched := a.pantry.read(a.T, "watched"); !strings.Contains(watched, "private") {
		a.Errorf("the pantry has not seen that something was whispered, so that nothing was tried:\n%s", watched)
	}
	a.nowhere("chestnut", a.pantry)
	if len(find(a.T, a.hall.path("state"), "chestnut")) == 0 {
		a.Error("the hall does not know it either, so that nothing was tried")
	}
}

func (a *attacked) whisper() {
	a.Helper()
	for at, to := range map[*appliance]string{&a.kitchen: "ben", &a.hall: "ada"} {
		if out, status := at.conch(a.T, "ask", "--to", to, "the chestnut is behind the door"); status != 0 {
			a.Errorf("ask --to %s: status %d: %s", to, status, out)
		}
	}
}

// settings of 2^53 and the like mute nobody, and what a person turns afterwards counts everywhere, and after a restart.
func (a *attacked) settings() {
	a.attack("settings", 8*time.Second).end()
	a.unchanged()
	a.answers(a.hall, "Ada", 2, 5)
	if out, status := a.hall.conch(a.T, "room", "control", "high"); status != 0 {
		a.Fatalf("room control: status %d: %s", status, out)
	}
	high := func(d appliance) func() bool {
		return func() bool { return ask[control.RoomStatus](a, d, "GET", "/room", nil).Setting.Involvement == "high" }
	}
	a.until("high holds in the kitchen", high(a.kitchen))
	a.stopHall()
	a.stopHall = a.hall.start(a.T)
	a.until("high holds in the hall after its restart", high(a.hall))
}

// takes: who takes the floor from whom a person has called is named, and nobody yields to it any more; nor to who says that nobody answers before
// anybody could.
func (a *attacked) takes(kind string) {
	l := a.attack(kind, time.Minute)
	a.until("the liar is in the room", func() bool { return l.value("believed") == "True" })
	for n := range 5 {
		a.answers(a.hall, "Ada", 2, 5+n)
	}
	if l.end(); kind == "claims" { // who lies about silence has no effect at all
		a.named(a.kitchen, "taken")
	}
	a.unchanged()
}

// nonsense in the liar's own envelopes, and recordings of others', change nothing.
func (a *attacked) nonsense() {
	l := a.attack("nonsense", 20*time.Second)
	a.until("the liar is in the room", func() bool { return l.value("believed") == "True" })
	for n := range 3 {
		_, _ = a.hall.conch(a.T, "ask", fmt.Sprintf("Ada, what is 3 plus %d", n))
		_, _ = a.kitchen.conch(a.T, "ask", fmt.Sprintf("Ben, what is 3 plus %d", n))
	}
	l.end()
	a.hushes(a.hall, a.kitchen, "Ada")
	a.answers(a.kitchen, "Ben", 2, 5)
	a.unchanged()
}
