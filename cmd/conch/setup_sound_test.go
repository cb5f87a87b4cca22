package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/audio/pulsetest"
	"conch/companions/voice/rehearsal"
)

// A parlour is what a person tries sound in: what is typed for its loudspeaker and its microphone, and what has been played.
type parlour struct {
	speaker, mic string
	played       func() []int16
}

// beepHz and humHz are told apart on a tape.
const beepHz, humHz = 440, 220

// A person hears the beep and themselves: on a real sound server, whose tape says that there was a beep and an echo.
func TestAudioPick(t *testing.T) {
	t.Parallel()
	pulse := pulsetest.ForChild(t)
	p := newPi(t)
	p.env = append(p.env, "PULSE_SERVER="+pulse.Address())
	p.write("conch.toml", "# mine\n[audio]\nbackend = \"pulse\" # here\n")
	tape, err := pulse.Record()
	if err != nil {
		t.Fatal(err)
	}
	stop, talks := make(chan struct{}), make(chan struct{})
	go func() { // somebody hums all the time
		defer close(talks)
		for {
			select {
			case <-stop:
				return
			default:
				_ = pulse.Play(stop, hum(1))
			}
		}
	}()
	defer func() { close(stop); <-talks }()
	s := p.sits("sound")
	s.sees("the service stands still meanwhile")
	s.picksByEar(parlour{pulsetest.Speaker, pulsetest.Mic, tape.Samples})
	s.asks("write this?", "")
	s.sees("no conch runs here")
	s.leaves()
	if got := p.read("conch.toml"); got != "# mine\n[audio]\nbackend = \"pulse\" # here\nplayback = \"pulse:speaker\"\ncapture = \"pulse:mic\"\n" {
		t.Errorf("written:\n%s", got)
	}
	if echo := power(tape.Stop(), humHz); echo < 100 {
		t.Errorf("no echo is on the tape (%.0f)", echo)
	}
	if p.read("state") != "active\n" || !strings.Contains(p.read("calls"), "stop conch.service") {
		t.Errorf("the service is %q after\n%s", p.read("state"), p.read("calls"))
	}
}

// picksByEar answers what setup asks of loudspeaker and microphone, up to what is written: which, where there are several (monitors
// of null sinks are left out); the beep once more; and oneself.
func (p *person) picksByEar(at parlour) {
	p.t.Helper()
	chooses := func(device, next string) {
		p.sees(`Try which\?|` + next)
		if p.shows(`Try which\?`) {
			p.asks("Try which?", device)
		}
	}
	chooses(at.speaker, `Did you hear it\?`)
	p.asks("Did you hear it?", "r")
	p.asks("Did you hear it?", "y")
	if !soon(func() bool { return power(at.played(), beepHz) > 1000 }) {
		p.t.Errorf("no beep is on the tape (%.0f)", power(at.played(), beepHz))
	}
	chooses(at.mic, "Enter, and then say something")
	p.asks("Enter, and then say something", "")
	p.asks("Did you hear yourself?", "")
}

// runs has the service be a real one: systemctl starts and stops conch run with this configuration, whose button is the lines that
// are written here. What else a manager of services does is the guest's to show (systemd/vm).
func (p *pi) runs() (button *os.File) {
	p.t.Helper()
	fifo := filepath.Join(p.dir, "button")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		p.t.Fatal(err)
	}
	button, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends: it is a button while conch is not there, too
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("bin/systemctl", `#!/bin/sh
cd `+p.dir+`
state=$(cat state) # before the call is noted: the test changes it after that
echo "$@" >>calls
gone() { [ ! -e pid ] || { kill "$(cat pid)"; while kill -0 "$(cat pid)"; do sleep 0.02; done; rm pid; } 2>/dev/null; }
case $1 in
show) echo "$state" ;;
stop) gone; echo inactive >state ;;
restart) gone; conch --config conch.toml run <button >>log 2>&1 & echo $! >pid; echo active >state ;;
esac
`)
	p.t.Cleanup(func() {
		if pid, err := strconv.Atoi(strings.TrimSpace(p.read("pid"))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		button.Close()
		if p.t.Failed() {
			p.t.Logf("the service's log:\n%s", p.read("log"))
		}
	})
	return button
}

// The whole of it on a simulated card, with an appliance that is started with what was written: it ends with what was said into
// the microphone and what came out of the loudspeaker, or with what did not work.
func TestSetupEndsWithATrial(t *testing.T) {
	t.Parallel()
	synthesizer := rehearsal.NewSynthesizer()
	if !strings.Contains(synthesizer.String()+rehearsal.NewRecognizer().String(), "pocketsphinx") {
		t.Skip("missing: pocketsphinx (make deps-test installs it)")
	}
	question, err := synthesizer.Say(context.Background(), "slt", "what time is it")
	if err != nil {
		t.Skipf("nobody can speak here: %v (make deps-test installs flite)", err)
	}
	card := alsacard.ForChild(t, alsacard.Options{})
	p := newPi(t)
	p.env = append(p.env, "ALSA_CONFIG_PATH="+card.ConfigPath())
	p.write("proc/device-tree/model", "Some other board\x00")
	p.write("conch.toml", "[audio]\nbackend = \"alsa\"\n[button]\nsource = \"lines\"\n[device]\nlanguage = \"en\"\n[turn]\ncommit_s = 60\n[state]\nruntime = \""+
		filepath.Join(p.dir, "run")+"\"\n") // a busy machine understands slowly; and two setups find one appliance
	button := p.runs()
	does := func(line string) {
		t.Helper()
		if _, err := button.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	s := p.sits()
	s.asks("Which board is it? [19]", "")
	if err := card.Feed(hum(60)); err != nil {
		t.Fatal(err)
	}
	s.picksByEar(parlour{card.Device(), card.Device(), func() []int16 { return card.Log().Samples() }})
	s.sees(`^\+playback = "` + card.Device() + `"`)
	s.sees(`^\+capture = "` + card.Device() + `"`)
	s.asks("write this?", "")
	if echo := power(card.Log().Samples(), humHz); echo < 100 {
		t.Errorf("no echo came out of the loudspeaker (%.0f)", echo)
	}
	s.asks("Who answers? [3]", "")
	s.asks("Shall Home Assistant", "")
	s.asks("none for never: [22:00-07:00]", "s")
	s.sees("The service starts with it")
	s.sees("Hold the button and say something")
	begun := len(card.Log().Samples())
	does("press")
	s.sees("^  listening")
	if err := card.Feed(audio.Upsample(question)); err != nil {
		t.Fatal(err)
	}
	s.waits(time.Duration(len(question)) * time.Second / audio.Rate)
	does("release")
	s.sees(`^you: \w`) // what exactly, a busy machine does not always understand
	s.sees(`^Ada: \w`)
	s.sees("^  It works")
	s.leaves()
	if s.log.Len() > 0 {
		t.Errorf("log lines are between the questions:\n%s", s.log.String())
	}
	if said := audio.Peak(card.Log().Samples()[begun:]); said < 1000 {
		t.Errorf("it works, and nothing came out of the loudspeaker (peak %d)", said)
	}
	if calls := p.read("calls"); strings.Count(calls, "stop") != 1 || strings.Count(calls, "restart") != 1 {
		t.Errorf("asked of the service:\n%s", calls)
	}

	s = p.sits("try")
	s.sees("Hold the button and say something")
	does("press")
	does("release")
	s.sees("I cannot hear the microphone|too short to be a question") // as long as it was held
	s.sees("the button works, and nothing was heard")
	s.sees("hold it while you speak")
	s.fails()

	// Nobody is to be reached, which is not the microphone's fault; and the service is only about to run.
	systemctl := func(does string) {
		cmd := exec.Command(filepath.Join(p.dir, "bin/systemctl"), does)
		cmd.Env = append(os.Environ(), p.env...)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	p.write("conch.toml", strings.Replace(p.read("conch.toml"), "commit_s = 60", "commit_s = 1", 1)+"[voice]\nurl = \"ws://127.0.0.1:9\"\n")
	systemctl("stop")
	p.write("state", "activating\n")
	asked := strings.Count(p.read("calls"), "show")
	s = p.sits("try")
	if !soon(func() bool { return strings.Count(p.read("calls"), "show") > asked }) {
		t.Fatal("nobody asks whether the service comes")
	}
	systemctl("restart")
	s.sees("Hold the button and say something")
	does("press")
	s.sees("^  listening")
	if err := card.Feed(audio.Upsample(question)); err != nil {
		t.Fatal(err)
	}
	s.waits(time.Duration(len(question)) * time.Second / audio.Rate)
	does("release")
	s.sees("the button works, and nobody answered")
	s.sees("sudo conch doctor, from the top")
	s.fails()

	s = p.sits("try")
	s.asks("Enter leaves it at that.", "")
	s.sees("not tried; later: sudo conch setup try")
	s.leaves()
}

// fails waits for an end that says by its status that something did not work.
func (p *person) fails() {
	p.t.Helper()
	_ = p.program.Wait()
	if code := p.program.ProcessState.ExitCode(); code != exitFault {
		p.t.Errorf("status %d; want %d", code, exitFault)
	}
}

// hum is somebody who hums, for so many seconds.
func hum(seconds int) []int16 {
	pcm := make([]int16, seconds*audio.CardRate)
	for i := range pcm {
		pcm[i] = int16(8000 * sine(float64(i)*humHz/audio.CardRate))
	}
	return pcm
}

func sine(turns float64) float64 { return math.Sin(2 * math.Pi * turns) }

// power is how much of a tone is in a recording: its mean amplitude at that frequency, over the loudest half second.
func power(pcm []int16, hz float64) (most float64) {
	const span = audio.CardRate / 2
	for at := 0; at+span <= len(pcm); at += span / 2 {
		var re, im float64
		for i, s := range pcm[at : at+span] {
			re += float64(s) * math.Cos(2*math.Pi*hz*float64(i)/audio.CardRate)
			im += float64(s) * sine(hz*float64(i)/audio.CardRate)
		}
		most = max(most, 2*math.Hypot(re, im)/span)
	}
	return most
}
