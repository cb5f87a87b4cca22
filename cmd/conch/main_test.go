package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"conch/audio"
	"conch/audio/wav"
	"conch/device/mcp/mcptest"
)

// The stories of testdata run the program itself: this test binary, which is conch when it is called so. Each story has a
// directory of its own for state, socket and configuration, no key, no sound card and no network beyond loopback.
func TestMain(m *testing.M) {
	// Stories wait nearly always: for an answer to be spoken, for a device to be missed. A -parallel on the command line comes
	// later and wins.
	_ = flag.Set("test.parallel", "8")        // every test binary has it
	if filepath.Base(os.Args[0]) != "conch" { // English, wherever this runs; a story may say otherwise to its conch
		for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
			_ = os.Unsetenv(name)
		}
	}
	syscall.Umask(0o022) // what most have, and the least that conch may rely on
	testscript.Main(m, map[string]func(){"conch": main, "mcp-server": func() { mcptest.Serve(strings.Join(os.Args[1:], " ")) }})
}

// patience bounds every wait of a story; what it waits for normally takes well under a second.
const patience = 90 * time.Second

func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, stories("testdata"))
}

// stories are what the scripts of a directory may use.
func stories(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(6 * time.Minute), // of all scripts, two at a time: a program that hangs shows where
		Setup: func(e *testscript.Env) error {
			for name, dir := range map[string]string{
				"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run",
			} {
				path := filepath.Join(e.WorkDir, dir)
				if err := os.Mkdir(path, 0o700); err != nil {
					return err
				}
				e.Setenv(name, path)
			}
			e.Setenv("CONCH_AUDIO_BACKEND", "null") // a laptop that runs the stories shall not talk
			e.Setenv("SOCKET", filepath.Join(e.WorkDir, "run/conch/control.sock"))
			e.Setenv("KEY", storyKey)
			e.Defer(func() { endsQuietly(e) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":        await,
			"listening":    listening,
			"nothing-left": nothingLeft,
			"secret":       secret,
			"status":       status,
			"one-line":     oneLine,
			"terminate":    signalled(syscall.SIGTERM), // as a service manager ends
			"killed":       signalled(syscall.SIGKILL), // as a power cut ends
			"hangup":       signalled(syscall.SIGHUP),  // as a service manager reloads
			"big":          big,
			"events":       events,
			"silenced":     silenced,
			"fifo":         fifo,
			"in-order":     inOrder,
			"one-voice":    oneVoice,
			"hushed":       hushed,
			"replayed":     replayed,
			"house":        house,
			"eventually":   eventually,
			"samples":      samples,
			"book":         book,
			"read-on":      readOn,
		},
	}
}

// endsQuietly demands that no conch of the story logs a fault while it ends because it was asked to.
func endsQuietly(e *testscript.Env) {
	files, _ := filepath.Glob(filepath.Join(e.WorkDir, "*.err"))
	for _, f := range files {
		log, _ := os.ReadFile(f)
		_, end, _ := bytes.Cut(log, []byte("event=device.ending"))
		if fault := regexp.MustCompile(`(?m)^.*level=(WARN|ERROR).*$`).Find(end); fault != nil {
			e.T().Fatal(fmt.Sprintf("%s, while it ends: %s", filepath.Base(f), fault))
		}
	}
}

// await FILE REGEXP: until the file, which a program in the background writes, has it.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	data := []byte(nil)
	if !soon(func() bool {
		data, _ = os.ReadFile(path) // it may not exist yet
		return re.Match(data)
	}) {
		ts.Fatalf("%s has no %q after %s:\n%s", args[0], args[1], patience, data)
	}
}

// listening: until the appliance in the background takes requests.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: listening")
	}
	if !soon(func() bool {
		c, err := net.Dial("unix", ts.Getenv("SOCKET"))
		if err == nil {
			c.Close()
		}
		return err == nil
	}) {
		ts.Fatalf("nobody listens at %s after %s", ts.Getenv("SOCKET"), patience)
	}
}

// nothing-left: no socket of this story that anybody serves, and no process that it started.
func nothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nothing-left")
	}
	if c, err := net.Dial("unix", ts.Getenv("SOCKET")); err == nil {
		c.Close()
		ts.Fatalf("%s is still served", ts.Getenv("SOCKET"))
	}
	mark := []byte("XDG_RUNTIME_DIR=" + ts.Getenv("XDG_RUNTIME_DIR") + "\x00")
	left := ""
	// A child that was told to end may need a moment; its parent does not wait for what it no longer needs.
	if !soon(func() bool {
		left = ""
		all, err := filepath.Glob("/proc/[0-9]*/environ")
		ts.Check(err)
		for _, path := range all {
			env, err := os.ReadFile(path) // others' processes, and those that just ended, cannot be read
			if err == nil && bytes.Contains(append(env, 0), mark) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				left += filepath.Base(filepath.Dir(path)) + ": " + strings.ReplaceAll(string(line), "\x00", " ") + "\n"
			}
		}
		return left == ""
	}) {
		ts.Fatalf("still running after %s:\n%s", patience, left)
	}
}

// storyKey looks like a real key, so that whatever recognises one by its looks does.
const storyKey = "sk-proj-Zq7Kd93mXw5TtB1nLr8Vy2Hc6Jf4Gs0PaEuRiOe"

// secret FILE...: none of the files, stdout or stderr, has the story's key, or any longer piece of it.
func secret(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: secret FILE...")
	}
	for _, name := range args {
		text := ts.ReadFile(name)
		if text == "" {
			ts.Fatalf("%s is empty: this would show nothing", name)
		}
		for from := len("sk-proj-"); from+8 <= len(storyKey); from++ {
			if piece := storyKey[from : from+8]; strings.Contains(text, piece) {
				ts.Fatalf("%s has %q of the key:\n%s", name, piece, text)
			}
		}
	}
}

// status N COMMAND...: the command ends with status N, having written nothing to standard output.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	exit := (*exec.ExitError)(nil)
	got := "0"
	switch {
	case errors.As(err, &exit):
		got = strconv.Itoa(exit.ExitCode())
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("status %s; want %s", got, args[0])
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("refused, and yet it says\n%s", out)
	}
}

// one-line: the last command's standard error is one line.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	if text := ts.ReadFile("stderr"); strings.Count(text, "\n") != 1 {
		ts.Fatalf("not one line:\n%s", text)
	}
}

// signalled is a command without arguments: what runs in the background gets the signal.
func signalled(sig os.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("usage: terminate or hangup, alone")
		}
		for _, c := range ts.BackgroundCmds() {
			ts.Check(c.Process.Signal(sig))
		}
	}
}

// big FILE: a gigabyte that takes no room.
func big(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: big FILE")
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, nil, 0o600))
	ts.Check(os.Truncate(path, 1<<30))
}

// fifo FILE: a pipe that nobody writes to.
func fifo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fifo FILE")
	}
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// events FILE: every line is a JSON object whose first key is event, and the last is the rehearsal's end.
func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: events FILE")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	for i, line := range lines {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%s:%d: %v: %s", args[0], i+1, err, line)
		}
		if !strings.HasPrefix(line, `{"event":"`) {
			ts.Fatalf("%s:%d: the first key is not event: %s", args[0], i+1, line)
		}
		if last := i == len(lines)-1; last != (object["event"] == "rehearsal.end") {
			ts.Fatalf("%s:%d of %d: %s", args[0], i+1, len(lines), line)
		}
	}
}

// silenced FILE WAV: before every hush that FILE tells of the device of that name, pressed there, the WAV sounds; within 30 ms of its edge it falls silent, for as
// long as the shortest cue is away from it; and hush says how soon, within the millisecond of the cue's own clock.
func silenced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: silenced FILE WAV")
	}
	f, err := os.Open(ts.MkAbs(args[1]))
	ts.Check(err)
	defer f.Close()
	wav, err := wav.Read(args[1], f)
	ts.Check(err)
	at := func(ms float64) int { return min(len(wav.Samples), int(ms*float64(wav.Rate)/1000)) }
	hushes := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var hush struct {
			Event, Device, By string
			AtMS              float64 `json:"at_ms"`
			MS                float64
		}
		ts.Check(json.Unmarshal([]byte(line), &hush))
		if hush.Event != "hush" || hush.Device != hush.By || hush.Device+".wav" != filepath.Base(args[1]) {
			continue
		}
		hushes++
		if before := audio.Peak(wav.Samples[at(hush.AtMS-1000):at(hush.AtMS)]); before < 500 {
			ts.Fatalf("%s: in the second before the press at %.0f ms the peak is %d: nothing sounded", args[1], hush.AtMS, before)
		}
		if hush.MS <= 0 || hush.MS >= 30 {
			ts.Fatalf("silent %.1f ms after the press; want less than 30", hush.MS)
		}
		if after := audio.Peak(wav.Samples[at(hush.AtMS+30) : at(hush.AtMS+30)+wav.Rate/200]); after != 0 {
			ts.Logf("a cue follows the press at once")
		}
		// A second of holding the button, past the ready cue: nobody answers any more.
		if after := audio.Peak(wav.Samples[at(hush.AtMS+400):at(hush.AtMS+1000)]); after != 0 {
			ts.Fatalf("%s: from 0.4 to 1 s after the press at %.0f ms the peak is %d; want 0", args[1], hush.AtMS, after)
		}
	}
	if hushes == 0 {
		ts.Fatalf("%s tells of no hush", args[0])
	}
}

// soon polls until cond holds, at most for patience.
func soon(cond func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit.C:
			return cond()
		}
	}
	return true
}
