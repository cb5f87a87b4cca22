package vm

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository is an apt repository of the package under test, as make repo makes it, packed; it is signed by a key of its own that
// is worth nothing, and its address is the guest's own loopback.
func repository(t *testing.T) (archive string) {
	t.Helper()
	for _, program := range []string{"gpg", "apt-ftparchive"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("no repository can be made: %v (make deps-vm installs it)", err)
		}
	}
	dir := t.TempDir()
	archive = filepath.Join(dir, "site.tar")
	here(t, fmt.Sprintf(`set -e; cd %[1]q; mkdir -m 700 keys; gpg() { command gpg --batch --quiet --homedir keys "$@"; }
		gpg --faked-system-time "$(git -C %[2]q log -1 --format=%%ct)" --passphrase '' --quick-generate-key 'guest <guest@conch.invalid>' ed25519 sign 10y
		key=$(gpg --armor --export-secret-keys); gpgconf --homedir keys --kill all
		env -u KEY -u FROM CONCH_SIGNING_KEY="$key" CONCH_ORIGIN=%[3]s %[2]q/systemd/package/repo "$PWD/site" %[4]q
		tar -C site -cf %[5]q .`, dir, checkout(t), origin, shared.deb, archive))
	return archive
}

// origin is where the guest finds it.
const origin = "http://127.0.0.1:8000"

func checkout(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFirstTenMinutes is a person with a fresh system, a button on a pin that they do not know the number of, and a server of their
// own: what the README says, from install.sh to an answer that was heard. It counts what they had to do.
func TestFirstTenMinutes(t *testing.T) {
	need(t)
	site := repository(t)
	b := fresh(t)
	if err := b.SetClock(time.Now()); err != nil { // what is signed today is not from tomorrow
		t.Fatal(err)
	}
	b.put(site, "/run/site.tar", 0o644)
	b.run("mkdir /srv/site && tar -C /srv/site -xf /run/site.tar && rm /run/site.tar && systemd-run -q --unit=site hand serve /srv/site 127.0.0.1:8000")
	question := b.question("what time is it")
	b.eventually(time.Minute, "the repository is served", func() bool { return b.try("ss -ltn | grep -q 127.0.0.1:8000").Code == 0 })

	begun := b.uptime()
	steps := []string{"wget " + origin + "/install.sh && sudo sh install.sh"}
	// There is neither wget nor sudo in the guest: apt has a program that fetches, and the agent is root, for pi.
	r, err := b.RunFor(20*time.Minute, "cd /tmp && /usr/lib/apt/apt-helper download-file "+origin+"/install.sh install.sh && SUDO_USER=pi sh install.sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("install.sh:\n%s", r.Text())
	if r.Code != 0 || !strings.Contains(r.Text(), "next: sudo conch setup") {
		t.Fatalf("install.sh ended with %d, and does not say what is next", r.Code)
	}
	if !strings.Contains(r.Text(), "sudo usermod -aG conch pi") {
		t.Error("install.sh does not say how conch is used without sudo")
	}
	installed := b.uptime()

	steps = append(steps, "sudo conch setup")
	const card = "alsa:CARD=Speaker,DEV=0"
	answers := []reply{
		{"What shall conch itself speak?", "type"},
		{"write this?", "type"},
		{"Which board is it?", "type"},
		{"Try which?", "type " + card},
		{"a beep on", "until sound 60s"},
		{"Did you hear it?", "type y"},
		{"Try which?", "type " + card},
		{"Enter, and then say something", "type"},
		{"recording", "say " + question + "\nsaid"},
		{"playing it back", "until sound 60s"},
		{"Did you hear yourself?", "type"},
		{"write this?", "type"},
		{"Press your button now", "pin 22\nwait 500ms\npress\nwait 300ms\nrelease"},
		{"once more, to be sure", "wait 300ms\npress\nwait 300ms\nrelease"},
		{"your button is GPIO22", ""},
		{"write this?", "type"},
		{"Who answers?", "type 2"},
		{"Its address", "type " + DoorAddress},
		{"Its model", "type"},
		{"Its key", "type guest"},
		{"write this?", "type"},
		{"none for no limit", "type none"},
		{"write this?", "type"},
		{"Shall Home Assistant", "type"},
		{"When do people sleep", "type"},
		{"write this?", "type"},
	}
	_, err = b.handTry(20*time.Minute, script("run conch setup", append(answers, trial(question)...)))
	steps = append(steps, "hold the button and talk")
	for again := 0; err != nil && again < 3; again++ { // whoever is not understood asks again: the recogniser shares a busy machine
		t.Logf("conch setup try, because: %v", err)
		_, err = b.handTry(5*time.Minute, script("run conch setup try", append([]reply{{"Hold the button", "pin 22"}}, trial(question)...)))
	}
	if err != nil {
		t.Fatal(err)
	}
	done := b.uptime()

	screen, err := b.Read("/run/terminal.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("conch setup:\n%s", screen)
	if !strings.Contains(string(screen), "It works") {
		t.Error("the trial does not say that it works")
	}
	b.understood("/run/answer.wav", 2, strings.ToLower(time.Now().UTC().Format("Monday January")+" twenty"))
	toml := b.run("cat /etc/conch/conch.toml")
	for _, want := range []string{"playback = \"" + card + "\"", "capture = \"" + card + "\"", "pin = 22", "active = \"low\"", DoorAddress} {
		if !strings.Contains(toml, want) {
			t.Errorf("the configuration has no %s", want)
		}
	}
	typed := 0
	for _, a := range answers {
		if strings.HasPrefix(a.does, "type") {
			typed++
		}
	}
	t.Logf("%d steps: %s", len(steps), strings.Join(steps, "; "))
	t.Logf("%d answers typed; install.sh took %.1f minutes, setup %.1f, together %.1f minutes of the guest's time", typed,
		(installed - begun).Minutes(), (done - installed).Minutes(), (done - begun).Minutes())
	if len(steps) > 3 {
		t.Errorf("%d steps; three are promised", len(steps))
	}
}

// A reply is what a person does when the screen shows something.
type reply struct{ shown, does string }

// trial is the end of setup: a question aloud, and what came of it.
func trial(question string) []reply {
	return []reply{
		{"Hold the button and say something", "press\nwait 300ms\nsay " + question + "\nsaid\nwait 300ms\nrelease"},
		{"answering", "keep /run/before.wav"}, // and the cues before it, which a recogniser takes for words
		{"It works", "wait 1s\nkeep /run/answer.wav\nfinish 60s"},
	}
}

func script(begins string, replies []reply) string {
	var b strings.Builder
	b.WriteString(begins + "\n")
	for _, a := range replies {
		fmt.Fprintf(&b, "see %s 120s\n%s\n", a.shown, a.does)
	}
	return b.String()
}
