package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"golang.org/x/sys/unix"

	"conch/companions/voice/cascadetest"
	"conch/mqtt"
	"conch/mqtt/membership"
)

// A pi is what setup sees of a Raspberry Pi, in a directory, with a service that it can stop and start.
type pi struct {
	t   *testing.T
	dir string
	env []string // of the programs that run on it, besides what the tests have
}

const bootTxt = "# For more options and information see\n# http://rptl.io/configtxt\ndtparam=audio=on\n[cm4]\notg_mode=1\n[all]\n"

// A configuration that a person has written, with their words around it.
const ownToml = "# our kitchen\n\n[device]\nquiet = \"\"\nlanguage = \"en\"\n\n[audio]\nbackend = \"null\" # for now\n# volume = 70\n\n[log]\nlevel = \"warn\" # quiet\n\n[homeassistant]\ndiscovery = false\n"

func newPi(t *testing.T) *pi {
	t.Helper()
	p := &pi{t: t, dir: t.TempDir()}
	p.env = []string{"PATH=" + filepath.Join(p.dir, "bin") + ":" + os.Getenv("PATH")}
	p.write("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.5\x00")
	p.write("proc/stat", "cpu 1\nbtime 1000000000\n")
	p.write("boot/firmware/config.txt", bootTxt)
	p.write("boot/firmware/overlays/wm8960-soundcard.dtbo", "")
	p.write("conch.toml", ownToml)
	p.write("bin/systemctl", "#!/bin/sh\necho \"$@\" >>"+p.dir+"/calls\ncase $1 in show) cat "+p.dir+"/state;; stop) echo inactive >"+p.dir+
		"/state;; restart) echo active >"+p.dir+"/state;; esac\n")
	p.write("state", "active\n")
	if err := errors.Join(os.Chmod(filepath.Join(p.dir, "bin/systemctl"), 0o700), os.Mkdir(filepath.Join(p.dir, "keys"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pi) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pi) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(text)
}

func (p *pi) args(more ...string) []string {
	return append([]string{"--config", filepath.Join(p.dir, "conch.toml"), "setup", "--root", p.dir, "--credentials", filepath.Join(p.dir, "keys")}, more...)
}

// sits has a person sit down at conch setup. Sound and log are as the configuration says.
func (p *pi) sits(more ...string) *person {
	p.t.Helper()
	return sitWith(p.t, func(cmd *exec.Cmd) {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return e == "CONCH_AUDIO_BACKEND=null" || e == "CONCH_LOG_LEVEL=info" })
		cmd.Env = append(cmd.Env, p.env...)
	}, p.args(more...)...)
}

// setup is conch setup where nobody sits.
func (p *pi) setup(more ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "conch", p.args(more...)...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// asks answers a question once it is there.
func (p *person) asks(question, answer string) {
	p.t.Helper()
	p.sees(regexp.QuoteMeta(question))
	p.looksPast(question) // before it can be asked again
	p.types(answer + "\r")
}

// looksPast takes for seen what stands up to the last of what was asked.
func (p *person) looksPast(question string) {
	i := strings.LastIndex(p.screen(), question)
	p.from = max(p.from, i+len(question))
}

// The whole of it: a board that needs lines, a reboot that is put off, the rehearsal voice; and once more, after the reboot.
func TestSetup(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n") // somebody has stopped it, and nothing is to be waited for
	s := p.sits()
	s.sees(`open +board +none is configured`)
	s.sees(`done +sound +switched off`)
	s.asks("Which board is it? [19]", "wavshare-wm8960")
	s.sees(`"wavshare-wm8960" is none of these`)
	s.asks("Which board is it? [19]", "waveshare-wm8960")
	s.sees(`^\+dtoverlay=wm8960-soundcard`)
	s.sees(`^\+board = "waveshare-wm8960"`)
	s.asks("write this?", "")
	s.asks("Reboot now?", "n")
	s.asks("Who answers? [3]", "")
	s.sees("no conch runs here that could be tried")
	s.leaves()

	const block = "\n# conch: for waveshare-wm8960; conch setup board writes this block anew\n[all]\ndtoverlay=wm8960-soundcard\ndtparam=i2c_arm=on\n# conch: end\n"
	toml := strings.Replace(ownToml, "\"en\"\n", "\"en\"\nboard = \"waveshare-wm8960\"\n", 1)
	is := func(what string) {
		t.Helper()
		for name, want := range map[string]string{"boot/firmware/config.txt": bootTxt + block, "boot/firmware/config.txt.before-conch": bootTxt, "conch.toml": toml} {
			if got := p.read(name); got != want {
				t.Errorf("%s: %s has\n%s\nwant\n%s", what, name, got, want)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p.dir, "boot/firmware/.*")); len(left) > 0 {
			t.Errorf("%s: left beside it: %v", what, left)
		}
	}
	is("the first time")

	// Before the reboot the board is in place, and the same answer changes nothing.
	s = p.sits("board")
	s.asks("Which board is it? [12]", "")
	s.leaves()
	is("before the reboot")

	// Afterwards its card is up.
	p.write("proc/asound/cards", " 0 [wm8960soundcard]: simple-card - wm8960-soundcard\n                      wm8960-soundcard\n")
	s = p.sits()
	s.sees(`done +board +Waveshare WM8960 Audio HAT; its sound card wm8960soundcard is`)
	s.sees(`done +pin +GPIO17, low when pressed, as the board has it`)
	s.asks("Who answers? [3]", "s")
	s.leaves()
	if strings.Contains(s.screen(), "1 of 5") || strings.Contains(s.screen(), "3 of 5") {
		t.Errorf("it asks again for what is in place:\n%s", s.screen())
	}
	is("after the reboot")

	// None of them takes all of it back.
	s = p.sits("board")
	s.asks("Which board is it?", "none")
	s.asks("write this?", "y")
	s.leaves()
	if got := p.read("boot/firmware/config.txt"); strings.TrimSpace(got) != strings.TrimSpace(bootTxt) {
		t.Errorf("left in config.txt:\n%s", got)
	}

	s = p.sits("language")
	s.asks("What shall conch itself speak? [1]", "de")
	s.asks("write this?", "")
	s.sees("Deutsch")
	s.leaves()
	if got := p.read("conch.toml"); !strings.Contains(got, "language = \"de\"\n") {
		t.Errorf("the language is not written:\n%s", got)
	}
}

// Ctrl-C at every question: what was written before is whole, what was asked is as it was, the terminal is given back, and the
// service runs.
func TestSetupCanBeLeft(t *testing.T) {
	t.Parallel()
	answers := []struct{ question, answer string }{{"Which board is it?", "waveshare-wm8960"}, {"write this?", "y"}, {"Reboot now?", "n"}, {"Who answers?", "1"}, {"Your key", ""}}
	for n := range answers {
		t.Run(answers[n].question, func(t *testing.T) {
			t.Parallel()
			p := newPi(t)
			s := p.sits()
			for _, a := range answers[:n] {
				s.asks(a.question, a.answer)
			}
			s.sees(strings.ReplaceAll(answers[n].question, "?", `\?`))
			if n == 4 && !soon(func() bool { return !s.echoes() }) {
				t.Fatal("a key is shown while it is typed")
			}
			s.types("half\x03")
			err := s.program.Wait()
			if code := s.program.ProcessState.ExitCode(); code != exitFault {
				t.Errorf("%v, status %d; want 1", err, code)
			}
			if !strings.Contains(s.log.String(), "nothing is half done") || s.settings() != s.found {
				t.Errorf("it says %q; the terminal is %+v, was %+v", s.log.String(), s.settings(), s.found)
			}
			boot, toml := p.read("boot/firmware/config.txt") != bootTxt, p.read("conch.toml") != ownToml
			if written := n >= 2; boot != written || toml != written {
				t.Errorf("config.txt changed: %v, conch.toml: %v; want both %v", boot, toml, written)
			}
			if p.read("keys/openai_api_key") != "" {
				t.Error("a key was stored")
			}
			if p.read("state") != "active\n" {
				t.Errorf("the service is %q", p.read("state"))
			}
		})
	}
}

// A boot partition that cannot be written, for real, and one that is not mounted: a sentence, and the rest goes on.
func TestSetupWithoutABootPartition(t *testing.T) {
	for name, spoil := range map[string]func(*pi){
		"read-only": func(p *pi) {
			dir := filepath.Join(p.dir, "boot/firmware")
			if err := errors.Join(unix.Mount("tmpfs", dir, "tmpfs", 0, ""), os.WriteFile(filepath.Join(dir, "config.txt"), []byte(bootTxt), 0o600),
				unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
				p.t.Skipf("no file system can be mounted here: %v", err)
			}
			p.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		},
		"is not mounted": func(p *pi) { _ = os.RemoveAll(filepath.Join(p.dir, "boot/firmware")) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPi(t)
			p.write("state", "inactive\n")
			spoil(p)
			s := p.sits()
			s.asks("Which board is it?", "waveshare-wm8960")
			s.asks("write this?", "y")
			if name == "read-only" {
				s.sees(`is[ \n]+read-only`)
				s.sees(`remount,rw`)
				s.asks("write this?", "y")
			}
			s.sees(`needs[ \n]+there:[ \n]+dtoverlay=wm8960-soundcard|read-only`)
			s.asks("Who answers?", "s")
			_ = s.program.Wait()
			if got := p.read("conch.toml"); !strings.Contains(got, `board = "waveshare-wm8960"`) {
				t.Errorf("the configuration has not the board:\n%s", got)
			}
		})
	}
}

// A configuration that cannot be written: the boot partition, which was written before it, is as it was.
func TestSetupWithAReadOnlyConfiguration(t *testing.T) {
	p := newPi(t)
	p.write("etc/conch.toml", ownToml)
	dir := filepath.Join(p.dir, "etc")
	if err := errors.Join(unix.Mount("tmpfs", dir, "tmpfs", 0, ""), os.WriteFile(filepath.Join(dir, "conch.toml"), []byte(ownToml), 0o600),
		unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	args := p.args("board", "--yes", "--board", "waveshare-wm8960")
	args[1] = filepath.Join(dir, "conch.toml")
	cmd := exec.CommandContext(t.Context(), "conch", args...)
	cmd.Env = append(os.Environ(), p.env...)
	out, _ := cmd.CombinedOutput()
	said := strings.Join(strings.Fields(string(out)), " ")
	if cmd.ProcessState.ExitCode() != exitFault || strings.Count(said, "remount,rw") != 1 || strings.Count(said, "+board = ") != 1 {
		t.Errorf("status %d, and not one sentence:\n%s", cmd.ProcessState.ExitCode(), out)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, "boot/firmware")); len(left) != 2 || p.read("boot/firmware/config.txt") != bootTxt {
		t.Errorf("the boot partition has %v, and in config.txt:\n%s", left, p.read("boot/firmware/config.txt"))
	}
}

// Twenty columns: nothing is wider, and every question can be read.
func TestSetupOnANarrowTerminal(t *testing.T) {
	p := newPi(t)
	p.write("state", "inactive\n")
	s := sitWith(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, p.env...) }, p.args()...)
	if err := unix.IoctlSetWinsize(int(s.terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 20}); err != nil {
		t.Fatal(err)
	}
	s.asks(`[19]`, "s")
	s.asks(`[3]`, "s")
	s.leaves()
	for line := range strings.Lines(s.screen()[strings.Index(s.screen(), "Singing"):]) { // the first lines may be from before
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 20 && strings.Contains(strings.TrimSpace(line), " ") { // a path is one word
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// A key and a server that is there: tried before it is written, unseen, stored as conch key does; the answer to a question that
// the running appliance is asked then is the trial's.
func TestSetupTalksWithAServer(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	server := exec.CommandContext(t.Context(), "conch", "rehearse", "--serve", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line := make([]byte, 512)
	n, _ := out.Read(line)
	address := strings.Fields(string(line[:n])[strings.Index(string(line[:n]), "ws://"):])[0]
	behind, err := url.Parse(strings.Replace(address, "ws://", "http://", 1))
	if err != nil {
		t.Fatal(err)
	}
	door := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: behind.Host})
	door.ModifyResponse = func(r *http.Response) error { // its clock and ours do not agree, and it answers all the same
		r.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		return nil
	}
	front := httptest.NewServer(door)
	t.Cleanup(front.Close)
	address = strings.Replace(address, behind.Host, strings.TrimPrefix(front.URL, "http://"), 1)
	s := p.sits("voice")
	s.asks("Who answers? [3]", "2")
	s.asks("Its address", "no such thing")
	s.sees("an address is a name")
	s.asks("Its address", strings.TrimPrefix(address, "ws://"))
	s.asks("Its model", "")
	if !soon(func() bool { return !s.echoes() }) {
		t.Fatal("the key is shown while it is typed")
	}
	s.types("\r")
	s.sees(`no key`) // and whoever has one after all need not begin again
	s.asks("Another key; Enter for none", storyKey)
	s.sees(`opened in`)
	s.sees(`clock is`)
	s.asks("write this?", "")
	s.leaves()
	if strings.Contains(s.screen()+s.log.String(), storyKey) {
		t.Error("the key is on the screen")
	}
	if p.read("keys/openai_api_key") != storyKey+"\n" || !strings.Contains(p.read("conch.toml"), "url = \"http://127.0.0.1:") {
		t.Errorf("stored %q;\n%s", p.read("keys/openai_api_key"), p.read("conch.toml"))
	}
	if calls := p.read("calls"); strings.Count(calls, "restart conch.service") != 1 {
		t.Errorf("the service was not restarted once:\n%s", calls)
	}
}

// A server that only chats is one stage of a chain: setup finds that out, asks who hears and who speaks, and tries each stage.
func TestSetupMakesAChain(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	server := httptest.NewServer(cascadetest.New(cascadetest.Script{Models: []string{"qwen3:8b"}, Owner: "library"}))
	t.Cleanup(server.Close)
	s := p.sits("voice")
	s.asks("Who answers? [3]", "2")
	s.asks("Its address", strings.TrimPrefix(server.URL, "http://"))
	s.asks("Its model: [auto]", "")
	s.asks("Its key", "")
	s.asks("Who hears what you say? [1]", "")
	s.asks("Who speaks the answer? [1]", "3")
	s.asks("or a program", "kokoro "+server.URL)
	s.sees("chat, found now")
	s.sees("model qwen3:8b")
	s.asks("write this?", "")
	s.leaves()
	if got := p.read("conch.toml"); !strings.Contains(got, "url = \""+server.URL+"\"") || !strings.Contains(got, "speak = \"kokoro "+server.URL+"\"") || strings.Contains(got, "model =") {
		t.Errorf("written:\n%s", got)
	}
}

// A pipe that closes in the middle of a step: the service that stood still for it runs again.
func TestSetupIntoAPipeThatCloses(t *testing.T) {
	p := newPi(t)
	p.write("conch.toml", "[audio]\nbackend = \"alsa\"\n")
	p.write("bin/systemctl", "#!/bin/sh\ncd "+p.dir+"\ncase $1 in show) cat state;; stop) while [ ! -e closed ]; do sleep 0.01; done; echo inactive >state;; "+
		"restart) echo active >state;; esac\n")
	cmd := p.setup("sound", "--yes")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var read []byte
	for one := make([]byte, 1); !strings.Contains(string(read), "stands still"); read = append(read, one...) {
		if _, err := out.Read(one); err != nil {
			t.Fatalf("%v after %q", err, read)
		}
	}
	out.Close()
	p.write("closed", "")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFault || p.read("state") != "active\n" {
		t.Errorf("status %d, and the service is %q", code, p.read("state"))
	}
}

// Nobody is asked: one object a step, which says what would be; what flags say is written.
func TestSetupForScripts(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n")
	run := func(args ...string) (steps map[string]map[string]any, text string, code int) {
		t.Helper()
		cmd := p.setup(args...)
		cmd.Env = append(cmd.Env, "HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "XDG_STATE_HOME="+p.dir, "XDG_RUNTIME_DIR="+p.dir)
		out, _ := cmd.CombinedOutput()
		steps = map[string]map[string]any{}
		for line := range strings.Lines(string(out)) {
			var one map[string]any
			if json.Unmarshal([]byte(line), &one) == nil {
				steps[fmt.Sprint(one["step"])] = one
			}
		}
		return steps, string(out), cmd.ProcessState.ExitCode()
	}
	if _, text, code := run(); code != exitUsage || !strings.Contains(text, "--yes takes what Enter would give") {
		t.Errorf("without a terminal: status %d, %s", code, text)
	}
	steps, text, code := run("--json", "--board", "waveshare-wm8960")
	if b := steps["board"]; code != 0 || b["state"] != "planned" || !strings.Contains(fmt.Sprint(b["change"]), "+dtoverlay=wm8960-soundcard") ||
		steps["voice"]["question"] != "Who answers?" || steps["voice"]["on_enter"] != "rehearsal" || steps["sound"]["state"] != "in_place" {
		t.Errorf("--json: status %d\n%s", code, text)
	}
	if p.read("conch.toml") != ownToml || p.read("boot/firmware/config.txt") != bootTxt || strings.Contains(p.read("calls"), "restart") {
		t.Errorf("--json alone has changed something:\n%s%s", p.read("conch.toml"), p.read("calls"))
	}
	if _, text, code := run("--yes", "--language", "fr", "language"); code != 0 || !strings.Contains(text, "1 of 7: the language") ||
		!strings.Contains(text, "Français") {
		t.Errorf("a language: status %d\n%s", code, text)
	}
	if _, text, code := run("--yes", "quiet"); code != 0 || !strings.Contains(p.read("conch.toml"), "quiet = \"\"\n") {
		t.Errorf("where nobody is asked, there are hours: status %d\n%s", code, text)
	}
	if _, text, code := run("--yes", "--quiet", "13:00-15:00"); code != 0 || !strings.Contains(p.read("conch.toml"), "quiet = \"13:00-15:00\"\n") {
		t.Errorf("the hours are not written: status %d\n%s", code, text)
	}
	if _, text, code := run("--yes", "pin"); code != 0 || !strings.Contains(text, "4 sur 7 : le bouton") {
		t.Errorf("in that language: status %d\n%s", code, text)
	}
	if steps, text, _ := run("--json", "voice"); steps["voice"]["question"] != "Who answers?" {
		t.Errorf("for programs: %s", text)
	}
	p.write("conch.toml", ownToml)
	p.write("calls", "")
	steps, text, code = run("--yes", "--json", "--board", "waveshare-wm8960", "--pin", "6")
	if code != 0 || steps["board"]["state"] != "changed" || steps["board"]["needs_reboot"] != true || steps["pin"]["state"] != "changed" {
		t.Errorf("--yes: status %d\n%s", code, text)
	}
	if got := p.read("conch.toml"); !strings.HasPrefix(got, "# our kitchen\n") || !strings.Contains(got, "pin = 6") {
		t.Errorf("written:\n%s", got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--board", "wavshare-wm8960"}, "did you mean waveshare-wm8960"},
		{[]string{"--pin", "99"}, "must be 0 to 27"},
		{[]string{"bord"}, "did you mean board?"},
		{[]string{"--url", "gopher://x"}, "voice.url"},
		{[]string{"--active", "up"}, "must be low or high"},
	} {
		_, text, code := run(append([]string{"--yes"}, c.args...)...)
		if code != exitUsage || !strings.Contains(text, c.want) {
			t.Errorf("%v: status %d, %s", c.args, code, text)
		}
	}
}

// A configuration that is named and not there is what setup writes, with its folder; who only reads it says that it is not there.
func TestSetupWritesNewConfiguration(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n")
	for _, name := range []string{"new.toml", "folder/new.toml"} {
		file := filepath.Join(p.dir, name)
		run := func(args ...string) (string, int) {
			cmd := exec.CommandContext(t.Context(), "conch", append([]string{"--config", file}, args...)...)
			cmd.Env = append(os.Environ(), p.env...)
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		setup := append([]string{"setup"}, "--root", p.dir, "--credentials", filepath.Join(p.dir, "keys"), "--language", "de", "language", "--yes")
		if out, code := run("check"); code != exitUsage || !strings.Contains(out, file+": no such file") {
			t.Errorf("%s, check: status %d, %s", name, code, out)
		}
		if out, code := run(append(setup, "--json")...); code != 0 || !strings.Contains(out, `"state":"changed"`) {
			t.Errorf("%s: status %d, %s", name, code, out)
		}
		if got := p.read(name); got != "[device]\nlanguage = \"de\"\n" {
			t.Errorf("%s: written is\n%s", name, got)
		}
		if out, code := run("check", "--changed"); code != 0 {
			t.Errorf("%s, check afterwards: status %d, %s", name, code, out)
		}
	}
}

// A server that does not answer, or not as one of these does, is written where nobody can be asked: it may come later. The status says so.
func TestSetupTellsScriptsOfServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	page := func(cascadetest.Request) cascadetest.Reply {
		return cascadetest.Reply{Type: "text/html", Body: "<html>Sign in</html>"}
	}
	server := func(s cascadetest.Script) string {
		x := httptest.NewServer(cascadetest.New(s))
		t.Cleanup(x.Close)
		return x.URL
	}
	for name, row := range map[string]struct {
		url  string
		code int
	}{
		"nobody there":                 {"http://127.0.0.1:1", exitFault},
		"a web page in place of sound": {server(cascadetest.Script{Models: []string{"m"}, Say: page}), exitFault},
		"one that answers":             {server(cascadetest.Script{Models: []string{"m"}}), 0},
	} {
		p := newPi(t)
		p.write("state", "inactive\n")
		cmd := p.setup("--yes", "--json", "--url", row.url, "voice")
		out, _ := cmd.Output()
		var step struct{ State, Text, Do string }
		if err := json.NewDecoder(bytes.NewReader(out)).Decode(&step); err != nil { // the first, of what was asked for and the trial
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		told := step.State == "failed" && strings.HasPrefix(step.Text, "written, but it does not answer: "+row.url) && step.Do != ""
		if code := cmd.ProcessState.ExitCode(); code != row.code || told != (row.code != 0) {
			t.Errorf("%s: status %d, %+v", name, code, step)
		}
		if got := p.read("conch.toml"); !strings.Contains(got, fmt.Sprintf("url = %q\n", row.url)) {
			t.Errorf("%s: written is\n%s", name, got)
		}
	}
}

// What goes wrong is said in the language of the questions: a key that is none, a boot partition that is not there, and leaving.
func TestSetupFailsInTheLanguageOfTheDevice(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n")
	p.write("conch.toml", strings.Replace(ownToml, `"en"`, `"de"`, 1))
	if err := os.RemoveAll(filepath.Join(p.dir, "boot/firmware")); err != nil {
		t.Fatal(err)
	}
	s := p.sits("board", "voice")
	s.asks("Welche Platine ist es?", "waveshare-wm8960")
	s.asks("[Y/n]", "y")
	s.sees(`die[ \n]+Boot-Partition[ \n]+ist[ \n]+nicht[ \n]+eingehängt`)
	s.sees(`dann: sudo conch setup board`)
	s.asks("Wer antwortet?", "1")
	s.asks("Dein Schlüssel", "")
	s.sees(`das ist kein Schlüssel: er ist leer`)
	s.types("\x03")
	_ = s.program.Wait()
	if !strings.Contains(s.log.String(), "nichts ist halb getan") {
		t.Errorf("it says %q", s.log.String())
	}
}

// Where companions vote and there is a key, whether a model may be asked is asked once, with what that costs; nobody else is asked.
func TestSetupOffersVotes(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.env = append(p.env, "XDG_STATE_HOME="+filepath.Join(p.dir, "mine"))
	p.write("state", "inactive\n")
	const several = "[device]\nlanguage = \"en\"\ncompanion = [\"Ada\", \"Ben\"]\nboard = \"\"\n[audio]\nbackend = \"null\"\n[button]\nsource = \"lines\"\n"
	alone := strings.Replace(several, "\"Ada\", \"Ben\"", "\"Ada\"", 1)
	for _, row := range []struct{ toml, key string }{{several, ""}, {alone, storyKey}} {
		p.write("conch.toml", row.toml)
		p.write("keys/openai_api_key", row.key)
		cmd := p.setup("--json")
		if out, err := cmd.Output(); err != nil || strings.Contains(string(out), `"votes"`) || !strings.Contains(string(out), `"language"`) {
			t.Errorf("with %q and the key %q: %v\n%s", row.toml, row.key, err, out)
		}
	}
	p.paired() // the service was; whoever runs setup has another state directory
	p.write("conch.toml", alone)
	p.write("keys/openai_api_key", storyKey)
	if out, err := p.setup("--json").Output(); err != nil || !strings.Contains(string(out), `"votes"`) {
		t.Errorf("in a room that was paired: %v\n%s", err, out)
	}
	p.write("conch.toml", several)
	p.write("keys/openai_api_key", storyKey+"\n")
	before := p.read("conch.toml")
	out, err := p.setup("--json", "--yes").Output()
	if err != nil || !strings.Contains(string(out), `"question":"May it be asked?"`) || !strings.Contains(string(out), `"on_enter":"n"`) || p.read("conch.toml") != before {
		t.Errorf("where nobody is asked: %v\n%s\n%s", err, out, p.read("conch.toml"))
	}

	s := p.sits()
	s.sees(`^conch setup: 9 things`)
	s.sees(`open +votes +the rules alone; a model`)
	s.asks("Which board is it?", "s")
	s.sees("6 of 9: what a day may cost")
	s.sees(`32 US\$[ \n]+sent[ \n]+and[ \n]+64[ \n]+US\$[ \n]+received`)
	s.asks("none for no limit: [2]", "much")
	s.sees("a sum, as in 2")
	s.asks("none for no limit: [2]", "")
	s.sees(`^\+ceiling_cost = 2`)
	s.asks("write this?", "")
	s.sees("at most 2 a day")
	s.sees("7 of 9: who speaks next")
	s.sees(`gpt-6-luna[ \n]+at[ \n]+api\.openai\.com`)
	s.sees(`whispers[ \n]+never[ \n]+do`)
	s.sees(`[ \n]0\.003[ \n]+US\$[ \n]+a[ \n]+day,[ \n]+0\.078[ \n]+a[ \n]+month`)
	s.asks("May it be asked? [y/N]", "")
	s.sees(`^\+votes = "rules"`)
	s.asks("write this?", "")
	s.asks("Shall Home Assistant", "")
	s.asks("none for never: [22:00-07:00]", "at night")
	s.sees("two times of the day")
	s.asks("none for never: [22:00-07:00]", "none")
	s.sees(`^\+quiet = ""`)
	s.asks("write this?", "")
	s.leaves()

	s = p.sits() // it is not asked again
	s.sees(`done +votes +the rules alone\n`)
	s.asks("Which board is it?", "s")
	s.asks("Shall Home Assistant", "")
	s.leaves()

	s = p.sits("votes")
	s.asks("May it be asked? [y/N]", "y")
	s.asks("write this?", "")
	s.sees(`gpt-6-luna at api\.openai\.com, where the rules are not certain`)
	s.leaves()
	s = p.sits("votes") // what is chosen stays on Enter
	s.asks("May it be asked? [Y/n]", "")
	s.leaves()
	if got := p.read("conch.toml"); strings.Count(got, "votes = ") != 1 || !strings.Contains(got, "[room]\nvotes = \"auto\"\n") {
		t.Errorf("written:\n%s", got)
	}
	for _, row := range []struct{ votes, want string }{{"rules", "rules"}, {"model", "model"}, {"sometimes", "model"}} {
		cmd := p.setup("--yes", "--votes", row.votes, "votes")
		out, _ := cmd.CombinedOutput()
		if got := p.read("conch.toml"); !strings.Contains(got, "votes = \""+row.want+"\"\n") ||
			row.votes != row.want && (cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "must be rules, auto or model")) {
			t.Errorf("--votes %s: status %d, %s\n%s", row.votes, cmd.ProcessState.ExitCode(), out, got)
		}
	}
}

// paired has the service of this machine keep a room with another device.
func (p *pi) paired() {
	p.t.Helper()
	dir := filepath.Join(p.dir, "var/lib/conch")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	id, err := mqtt.OpenIdentity(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	other, err := mqtt.NewIdentity()
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := membership.Open(dir, id, membership.Clock{})
	if err != nil {
		p.t.Fatal(err)
	}
	m.ReachableAt(func() []string { return []string{"127.0.0.1:1"} })
	if err := m.Found("home", "kitchen", false); err != nil {
		p.t.Fatal(err)
	}
	if _, err := m.Admit(p.t.Context(), membership.Party{Device: other.ID(), Key: other.PublicKey(), Name: "hall"}); err != nil {
		p.t.Fatal(err)
	}
}

// A server of one's own has no price here, and without any there is nothing to ask.
func TestSetupOffersVotesOfAServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n") // or it is waited for
	p.write("conch.toml", "[device]\nlanguage = \"en\"\n[room]\nvote_url = \"http://box.lan:8000/v1\"\nvote_model = \"small\"\n")
	s := p.sits("votes")
	s.sees(`small[ \n]+at[ \n]+box\.lan:8000`)
	s.sees(`What[ \n]+small[ \n]+asks[ \n]+for[ \n]+them`)
	s.asks("May it be asked?", "n")
	s.asks("write this?", "")
	s.leaves()
	p.write("conch.toml", "[device]\nlanguage = \"en\"\n")
	s = p.sits("votes")
	s.sees(`there[ \n]+is[ \n]+no[ \n]+model[ \n]+to[ \n]+ask`)
	s.leaves()
}

// The broker of Home Assistant is tried before it is written: one that is not there is written only where somebody says so.
func TestSetupOffersTheBrokerOfHomeAssistant(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n")
	p.write("conch.toml", strings.Replace(ownToml, "[homeassistant]\ndiscovery = false\n", "", 1))
	address, password := lockedBroker(t)

	s := p.sits("house")
	s.asks("Shall Home Assistant see this device, by its MQTT broker? [y/N]", "")
	s.sees("not connected with Home Assistant")
	s.leaves()

	s = p.sits("house")
	s.asks("Shall Home Assistant", "y")
	s.asks("Address of that broker: [homeassistant.local:1883]", "gopher://x")
	s.sees(`homeassistant\.broker`)
	s.asks("Address of that broker:", address)
	s.asks("User there; Enter for none:", "conch")
	if !soon(func() bool { return !s.echoes() }) {
		t.Fatal("the password is shown while it is typed")
	}
	s.types("wrong\r")
	s.sees(`refuses[ \n]+this[ \n]+device`)
	s.asks("Write it all the same? [y/N]", "")
	s.sees("nothing was written")
	s.leaves()
	if strings.Contains(p.read("conch.toml"), "homeassistant") {
		t.Errorf("written:\n%s", p.read("conch.toml"))
	}

	s = p.sits("house")
	s.asks("Shall Home Assistant", "y")
	s.asks("Address of that broker:", address)
	s.asks("User there; Enter for none:", "conch")
	if !soon(func() bool { return !s.echoes() }) {
		t.Fatal("the password is shown while it is typed")
	}
	s.types(password + "\r")
	s.sees(`lets[ \n]+this[ \n]+device[ \n]+in`)
	s.sees(`^\+discovery = true`)
	s.asks("write this?", "")
	s.leaves()
	if strings.Contains(s.screen()+s.log.String(), password) {
		t.Error("the password is on the screen")
	}
	toml := p.read("conch.toml")
	for _, want := range []string{"broker = \"mqtt://" + address + "\"\n", "user = \"conch\"\n", "password_file = "} {
		if !strings.Contains(toml, want) {
			t.Errorf("%s is not written:\n%s", want, toml)
		}
	}
	info, err := os.Stat(filepath.Join(p.dir, "homeassistant.password"))
	if err != nil || info.Mode().Perm() != 0o600 || p.read("homeassistant.password") != password+"\n" {
		t.Errorf("the password: %v, %v", info, err)
	}
	cmd := p.setup("--yes", "--broker", "127.0.0.1:1", "house")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitFault || p.read("conch.toml") != toml {
		t.Errorf("one that is not there, where nobody is asked: status %d, %s", cmd.ProcessState.ExitCode(), out)
	}
}

// What a day may cost has no limit only where somebody says so.
func TestSetupOffersALimit(t *testing.T) {
	t.Parallel()
	p := newPi(t)
	p.write("state", "inactive\n")
	if out, _ := p.setup("--yes", "--json").Output(); strings.Contains(string(out), `"limit"`) {
		t.Errorf("it is offered where nobody is paid:\n%s", out)
	}
	p.write("keys/openai_api_key", storyKey+"\n")
	before := p.read("conch.toml")
	if out, err := p.setup("--yes", "--json", "limit").Output(); err != nil || !strings.Contains(string(out), `"on_enter":"2"`) || p.read("conch.toml") != before {
		t.Errorf("where nobody is asked: %v\n%s", err, out)
	}
	for _, row := range []struct{ limit, want, not string }{
		{"none", "ceiling_cost = 0\n", "price_in"}, {"1.50", "ceiling_cost = 1.5\n", "price_"},
		{"much", "ceiling_cost = 1.5\n", "much"},
	} {
		if out, err := p.setup("--yes", "--limit", row.limit, "limit").CombinedOutput(); (err != nil) != (row.limit == "much") {
			t.Errorf("%s: %v\n%s", row.limit, err, out)
		}
		if got := p.read("conch.toml"); !strings.Contains(got, row.want) || strings.Contains(got, row.not) {
			t.Errorf("%s: written is\n%s", row.limit, got)
		}
	}
	p = newPi(t) // of a vendor whose prices nobody knows here they are asked for
	p.write("state", "inactive\n")
	p.write("keys/openai_api_key", storyKey+"\n")
	p.write("conch.toml", ownToml+"\n[voice]\nmodel = \"talks-a-lot\"\n")
	if out, err := p.setup("--yes", "--limit", "3", "limit").CombinedOutput(); err == nil || !strings.Contains(string(out), "voice.price_in") {
		t.Errorf("a limit for a model without a price: %v\n%s", err, out)
	}
	s := p.sits("limit")
	s.asks("none for no limit: [2]", "3")
	s.asks("What do a million tokens cost that are sent?", "10")
	s.asks("And a million that are received?", "20.5")
	s.asks("write this?", "")
	s.sees("at most 3 a day")
	s.leaves()
	if got := p.read("conch.toml"); !strings.Contains(got, "ceiling_cost = 3\n") || !strings.Contains(got, "price_in = 10\nprice_out = 20.5\n") {
		t.Errorf("written:\n%s", got)
	}
	p = newPi(t) // a model that costs nothing needs no limit in money, and a limit without a price would be refused
	p.write("state", "inactive\n")
	p.write("keys/openai_api_key", storyKey+"\n")
	p.write("conch.toml", ownToml+"\n[voice]\nurl = \"ws://box.lan:8000\"\nmodel = \"own\"\n")
	s = p.sits("limit")
	s.asks("none for no limit: [2]", "3")
	s.asks("What do a million tokens cost that are sent?", "none")
	s.asks("And a million that are received?", "none")
	s.asks("write this?", "")
	s.sees("no limit")
	s.leaves()
	if got := p.read("conch.toml"); !strings.Contains(got, "ceiling_cost = 0\n") || strings.Contains(got, "price_") {
		t.Errorf("written:\n%s", got)
	}
	p = newPi(t) // what an older setup has written of sound, for all tokens, gives way to the list
	p.write("state", "inactive\n")
	p.write("keys/openai_api_key", storyKey+"\n")
	p.write("conch.toml", ownToml+"\n[voice]\nceiling_cost = 2\nprice_in = 32\nprice_out = 64\n")
	_ = p.setup("--yes", "--limit", "1.5", "limit").Run()
	if got := p.read("conch.toml"); !strings.Contains(got, "ceiling_cost = 1.5\nprice_in = 0\nprice_out = 0\n") {
		t.Errorf("written:\n%s", got)
	}
}

// lockedBroker lets one user in, and nobody else.
func lockedBroker(t *testing.T) (address, password string) {
	t.Helper()
	password = "open-sesame"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	serve := func(c net.Conn) {
		defer c.Close()
		for {
			in, err := packets.ReadPacket(c)
			if err != nil {
				return
			}
			if hello, ok := in.(*packets.ConnectPacket); ok {
				ack := packets.NewControlPacket(packets.Connack).(*packets.ConnackPacket)
				if hello.Username != "conch" || string(hello.Password) != password {
					ack.ReturnCode = packets.ErrRefusedNotAuthorised
				}
				if ack.Write(c) != nil {
					return
				}
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String(), password
}
