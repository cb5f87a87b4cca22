package vm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStartsWithWhatWorks: what a person can get wrong. It starts all the same, with a condition that says what is wrong and
// what to do, and answers.
func TestStartsWithWhatWorks(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.run("gpioset --mode=signal --background $(gpiofind GPIO22)=1")
	for _, c := range []struct {
		what, config, code, text string
	}{
		{"button on a pin of the sound board", "[button]\npin = 18\n", "button.", "18"},
		{"button on a pin in use", "[button]\npin = 22\n", "button.", "in use"},
		{"button on a chip that is not there", "[button]\nchip = \"pinctrl-rp1\"\n", "button.", "pinctrl-rp1"},
		{"button and light on one pin", "[light]\ndriver = \"gpio\"\npins = \"17\"\n", "light.", "17"},
		{"light on a pin in use", "[light]\ndriver = \"gpio\"\npins = \"22\"\n", "light.", "in use"},
		{"a card that is not there", "[audio]\nplayback = \"alsa:CARD=Nobody,DEV=0\"\n", "sound.speaker", "Nobody"},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := &box{t, b.Guest}
			text := c.config
			for _, section := range strings.SplitAfter(config, "\n\n") {
				name, _, _ := strings.Cut(section[strings.Index(section, "["):], "\n")
				if !strings.Contains(c.config, name) {
					text += section
				}
			}
			if err := b.Write("/etc/conch/conch.toml", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			b.run("systemctl restart conch")
			b.active(2 * time.Minute)
			var s status
			b.eventually(time.Minute, "a condition "+c.code, func() bool {
				s = b.status()
				return slices.ContainsFunc(s.codes(), func(code string) bool { return strings.HasPrefix(code, c.code) })
			})
			for _, held := range s.Conditions {
				t.Logf("%s: %s; to do: %s", held.Code, held.Text, held.Do)
				if strings.HasPrefix(held.Code, c.code) && (!strings.Contains(held.Text, c.text) || held.Do == "") {
					t.Errorf("%s does not say %q, or not what to do: %q, %q", held.Code, c.text, held.Text, held.Do)
				}
			}
			// Who has no loudspeaker still reads the answer, and is told that nobody heard it.
			r := b.try("conch ask what time is it")
			heard := r.Code == 0
			if c.code == "sound.speaker" {
				heard = strings.Contains(r.Text(), "it was not heard")
			}
			if !strings.Contains(r.Out, "It is") || !heard {
				t.Errorf("conch ask: exit status %d\n%s", r.Code, r.Text())
			}
		})
	}
}

// TestKeyBroken: a credential that cannot be used is not taken for none: it says so, and mends itself when the file is.
func TestKeyBroken(t *testing.T) {
	b := readyStopped(t)
	b.run("head -c 9000 /dev/urandom >/etc/conch/credentials/openai_api_key; systemctl start conch")
	b.active(2 * time.Minute)
	b.begins(time.Minute, "key.broken")
	b.run("echo sk-rehearsal >/etc/conch/credentials/openai_api_key; systemctl restart conch")
	b.heals(2*time.Minute, "key.broken")
	b.answers()
}

// TestRefused: a configuration that is refused makes no mute box. It starts with what can be read, the journal and the status line
// say what cannot, conch check refuses it, the command line reaches it, and it takes the file when that is mended.
func TestRefused(t *testing.T) {
	b := readyStopped(t)
	b.run("printf '[audio\\nvolume = 3' >/etc/conch/conch.toml; systemctl start conch")
	b.active(2 * time.Minute)
	b.begins(time.Minute, "config.refused")
	if log := b.run("journalctl -u conch -o cat --no-pager -n 200"); !strings.Contains(log, "/etc/conch/conch.toml:1:") {
		t.Errorf("the journal does not name the line of the file:\n%s", log)
	}
	if r := b.try("conch check"); r.Code != 2 {
		t.Errorf("conch check: exit status %d\n%s", r.Code, r.Text())
	}
	b.run("systemctl show -p StatusText conch | grep -q config.refused; conch mute; conch why --all >/dev/null")
	if err := b.Write("/etc/conch/conch.toml", []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	b.heals(2*time.Minute, "config.refused")
	b.active(2 * time.Minute)
	b.answers()
}

// TestNoKey: a fresh box has neither key nor network, and answers with what it has: a recogniser and a synthesizer of its
// own, which an emulated processor makes slow.
func TestNoKey(t *testing.T) {
	b := fresh(t)
	b.install(shared.deb)
	b.active(2 * time.Minute)
	if err := b.Write("/etc/conch/conch.toml", []byte("[turn]\ncommit_s = 110\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.run("systemctl restart conch")
	b.begins(time.Minute, "key.missing")
	b.hand(5*time.Minute, "wait 6s\nuntil quiet 60s\nkeep /run/nokey.wav\nask what time is it\nuntil sound 110s\nwait 12s\nkeep /run/time.wav")
	b.says("/run/nokey.wav", "no_key")
	b.understood("/run/time.wav", 1, "it is time november saturday monday tuesday wednesday thursday friday sunday p.m. a.m.")
	file := b.question("tell me a story")
	saw, err := b.handTry(5*time.Minute, fmt.Sprintf("until quiet 60s\nkeep /run/x.wav\nwait 1s\npress\nsay %s\nsaid\nwait 300ms\nrelease\nuntil sound 110s\nwait 15s\nkeep /run/spoken.wav", file))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the first sound after the press: %.1f s", saw["sound"].after(t)/1000)
	t.Logf("to a spoken question it said: %s", strings.Join(strings.Fields(b.heard("/run/spoken.wav")), " "))
}
