package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/skills"
	"conch/companions/skills/reminders"
	"conch/companions/skills/timers"
	"conch/device/condition"
	"conch/device/store"
)

const (
	killedIn = "CONCH_STORE_KILLED_IN" // a child's directory
	killEnd  = "CONCH_STORE_KILL_END"  // the last child: it adds nothing, and ends when all was told
	killOne  = "CONCH_STORE_KILL_ONE"  // so many seconds: it sets one timer, and nobody presses; 0: nor does it set one
)

// kill -9 at random instants of a real process that sets timers and reminders and writes bookmarks: what was confirmed rings and is told,
// nothing that somebody has heard comes again but with words that say so, and a bookmark is the last that was written.
// `make test-kills` does it 200 times.
func TestKilledAtAnyInstant(t *testing.T) {
	if dir := os.Getenv(killedIn); dir != "" {
		newVictim(dir).lives(t)
		return
	}
	t.Parallel()
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("CONCH_TEST_KILLS")); err == nil {
		kills = n
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("CONCH_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("CONCH_SEED=%d, %d kills", seed, kills)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	for range kills {
		child := start(t, dir)
		time.Sleep(time.Duration(rng.IntN(400_000)) * time.Microsecond) // the instant
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed
		copied(t, filepath.Join(dir, store.File+".copy"))
	}
	child := start(t, dir, killEnd+"=1")
	if err := child.Wait(); err != nil {
		t.Fatalf("the last one: %v", err)
	}
	judge(t, filepath.Join(dir, "journal"))
}

// copied says whether a copy is whole at a kill, if there is one.
func copied(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	other := filepath.Join(t.TempDir(), store.File)
	if err = errors.Join(err, os.WriteFile(other, b, 0o600)); err == nil {
		var db *store.DB
		if db, err = store.Look(other); err == nil {
			err = db.Close()
		}
	}
	if err != nil {
		t.Errorf("the copy: %v", err)
	}
}

// A timer is over a second after kill -9, and another was a second before, in which nobody pressed: both ring when conch is back.
func TestATimerASecondAfterKillNine(t *testing.T)  { aroundTheKill(t, 2, time.Second) }
func TestATimerASecondBeforeKillNine(t *testing.T) { aroundTheKill(t, 1, 2*time.Second) }

func aroundTheKill(t *testing.T, seconds int, alive time.Duration) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	rings := func() int {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "ring egg\n")
	}
	child := start(t, dir, killOne+"="+strconv.Itoa(seconds))
	time.Sleep(alive) // a real process, which is killed then
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	before := rings()
	if over := alive > time.Duration(seconds)*time.Second; over != (before == 1) {
		t.Fatalf("it rang %d times before the kill", before)
	}
	child = start(t, dir, killOne+"=0")
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait() // killed
	}()
	for began := time.Now(); rings() == before; {
		if time.Since(began) > time.Minute {
			t.Fatal("it did not ring when conch was back")
		}
		time.Sleep(10 * time.Millisecond) // another process writes
	}
}

// start returns when the child is at work.
func start(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledAtAnyInstant$")
	child.Env = append(append(os.Environ(), killedIn+"="+dir), env...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "at work" {
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return child
}

// victim is the process that is killed. What it has done it writes down, a line at once: a kill -9 leaves what was written to a file.
type victim struct {
	dir     string
	journal *os.File
	db      *store.DB
	mu      sync.Mutex // guards rest
	rest    *rand.Rand
}

func newVictim(dir string) *victim {
	return &victim{dir: dir, rest: rand.New(rand.NewPCG(rand.Uint64(), 0))}
}

func (v *victim) note(format string, args ...any) { fmt.Fprintf(v.journal, format+"\n", args...) }

// while waits a little.
func (v *victim) while(most time.Duration) {
	v.mu.Lock()
	d := time.Duration(v.rest.Int64N(int64(most)))
	v.mu.Unlock()
	time.Sleep(d) // a real process, whose instants are real
}

func (v *victim) lives(t *testing.T) {
	var err error
	if v.journal, err = os.OpenFile(filepath.Join(v.dir, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	conds := condition.NewBook(slog.New(slog.DiscardHandler))
	v.db = store.New(filepath.Join(v.dir, store.File), conds, time.Now)
	host := skills.Host{Log: slog.New(slog.DiscardHandler), Now: time.Now, Ring: v.ring, Announce: v.announce}
	host.Store = v.db.Skill("timers")
	ring := timers.New(host)
	host.Store = v.db.Skill("reminders")
	remind := reminders.New(host)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	v.db.CopyAfter(10 * time.Millisecond)
	go func() { _ = v.db.Run(ctx) }() // likewise
	for _, s := range []skills.Skill{ring, remind} {
		go func() { _ = s.(skills.Runner).Run(ctx) }() // ends with the process
	}
	v.note("start")
	if seconds, err := strconv.Atoi(os.Getenv(killOne)); err == nil {
		if seconds > 0 {
			call(ring, "set_timer", map[string]any{"name": "egg", "seconds": seconds}, func() {})
		}
		fmt.Println("at work")
		select {} // until it is killed
	}
	v.bookmark(t)
	fmt.Println("at work")
	if os.Getenv(killEnd) != "" {
		for { // until nothing is left to be told
			timers, err1 := v.left("timers", `"due"`)
			open, err2 := v.left("reminders", `"due":`)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if timers+open == 0 {
				v.while(200 * time.Millisecond)
				break
			}
			v.while(50 * time.Millisecond)
		}
		for _, c := range conds.List() {
			t.Error(c.Code, c.Text)
		}
		return
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%d-%d", os.Getpid(), i)
		call(ring, "set_timer", map[string]any{"name": "timer" + name, "seconds": 1}, func() { v.note("set timer%s", name) })
		at := time.Now().Add(1500 * time.Millisecond).Format("2006-01-02T15:04:05")
		call(remind, "add_reminder", map[string]any{"text": "pill" + name, "at": at}, func() { v.note("set pill%s", name) })
		v.bookmark(t)
		v.while(20 * time.Millisecond)
	}
}

// left counts what a skill has still to tell.
func (v *victim) left(skill, mark string) (n int, err error) {
	err = v.db.Skill(skill).All("", func(_ string, value []byte) bool {
		if s := string(value); strings.Contains(s, mark) || skill == "reminders" && !strings.Contains(s, `"told"`) {
			n++
		}
		return true
	})
	return n, err
}

// bookmark writes the next one, and looks at the last.
func (v *victim) bookmark(t *testing.T) {
	s := v.db.Skill("library")
	last, err := s.Get("", "bookmark")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(last))
	v.note("found %d", n)
	if err := s.Put("", map[string][]byte{"bookmark": []byte(strconv.Itoa(n + 1)), "twin": []byte(strconv.Itoa(n + 1))}); err != nil {
		t.Fatal(err)
	}
	v.note("marked %d", n+1)
	if twin, err := s.Get("", "twin"); err != nil || string(twin) != strconv.Itoa(n+1) {
		t.Fatalf("a half of it: %q, %v", twin, err)
	}
}

// ring is pressed soon.
func (v *victim) ring(a skills.Alert) func() {
	name, _, _ := strings.Cut(a.Text, ",")
	v.note("ring %s", name)
	if os.Getenv(killOne) != "" {
		return func() {}
	}
	go func() {
		v.while(30 * time.Millisecond)
		a.Ended(skills.Pressed)
		v.note("pressed %s", name)
	}()
	return func() {}
}

// announce takes a little.
func (v *victim) announce(a skills.Announcement) {
	how, name := "told", strings.TrimSuffix(a.Text[strings.LastIndex(a.Text, " ")+1:], ".")
	if strings.Contains(a.Text, "may have heard") {
		how = "perhaps"
	}
	v.note("%s %s", how, name)
	v.while(30 * time.Millisecond)
	a.Done(skills.OutcomeDelivered)
}

func call(s skills.Skill, tool string, args map[string]any, confirmed func()) {
	b, _ := json.Marshal(args)
	for _, each := range s.Tools() {
		if each.Name == tool {
			if _, err := each.Handler(skills.Context{Context: context.Background(), Now: time.Now}, b); err == nil { // else there are too many
				confirmed()
			}
		}
	}
}

// judge reads what all of them have done.
func judge(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, rung, told, perhaps, pressed, marked := map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}, 0
	for line := range strings.Lines(string(b)) {
		what, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, _ := strconv.Atoi(name)
		switch what {
		case "set":
			set[name] = true
		case "ring":
			if pressed[name] {
				t.Errorf("%s rang after somebody had pressed", name)
			}
			rung[name]++
		case "pressed":
			pressed[name] = true
		case "told":
			if told[name]++; told[name]+perhaps[name] > 1 {
				t.Errorf("%s was told again, without a word of that", name)
			}
		case "perhaps":
			perhaps[name]++
		case "found":
			if n != marked && n != marked+1 {
				t.Errorf("bookmark %d after %d", n, marked)
			}
		case "marked":
			marked = n
		}
	}
	timers, pills := 0, 0
	for name := range set {
		switch {
		case strings.HasPrefix(name, "timer"):
			timers++
			if rung[name] == 0 {
				t.Errorf("%s was confirmed, and never rang", name)
			}
		default:
			pills++
			if told[name]+perhaps[name] == 0 {
				t.Errorf("%s was confirmed, and never told", name)
			}
		}
	}
	t.Logf("%d timers, %d reminders (%d told with doubt), %d bookmarks", timers, pills, len(perhaps), marked)
	if timers < 10 || pills < 10 || marked < 10 {
		t.Error("so few show nothing")
	}
}
