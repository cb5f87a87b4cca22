package vm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/device/benchtest"
)

// runs and each are how often a card is opened, and pressed at each time.
const (
	runs = 5
	each = 20
)

// within is what 19 of 20 presses keep, in the card's own time, unless the guest itself stood still. On USB the driver has copied up
// to 15 ms into transfers of its own, which nobody gets back (18 ms of them at most, in whole periods: sound/usb/endpoint.c).
const within = 18.0

// withTone is a guest with nothing of conch on it but tone, a program that plays and presses with conch's own parts. It has two
// processors, as every Pi that is not the very first: on one alone the sound has no priority (audio/realtime_linux.go).
func withTone(t *testing.T, sound string) *box {
	t.Helper()
	if shared.tone == "" || shared.stall == "" {
		t.Skip("no program to press with: make vm builds it (CONCH_VM_TONE, CONCH_VM_STALL)")
	}
	b := start(t, Options{From: shared.freshDir(t), Sound: sound, CPUs: 2})
	b.settled()
	b.put(shared.tone, "/usr/local/bin/tone", 0o755)
	b.put(shared.stall, "/usr/local/bin/stall", 0o755)
	return b
}

// tone plays and presses on a card; wrap is the shell around it. A run in which the card ran dry has no places: not good, and here
// only a sign that the machine stood still for longer than the card holds.
func (b *box) tone(wrap, args string, wakes *watched) (p pressed, good bool) {
	b.t.Helper()
	begun := time.Now()
	r, err := b.RunFor(8*time.Minute, fmt.Sprintf(wrap, "tone -stall stall -out /run/tone.json "+args))
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := b.Read("/run/tone.json")
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err = errors.Join(err, r.Failed()); err != nil && p.Xruns == 0 {
		b.t.Fatal(err)
	}
	for cpu := range wakes {
		text, err := b.Read(fmt.Sprintf("/run/tone.json.%d", cpu))
		if err != nil {
			b.t.Fatal(err)
		}
		wakes[cpu].Write(text)
	}
	b.t.Logf("%s: %.0f s; granted %d x %d, %d of them stay; %d rewinds came late, %d xruns",
		args, time.Since(begun).Seconds(), p.Granted.Period, p.Granted.Periods, p.Granted.Margin, p.Lates, p.Xruns)
	return p, p.Xruns == 0
}

// watched is what the bare timers of the guest's processors said.
type watched [2]bytes.Buffer

func (w *watched) stalls() benchtest.Stalls { return benchtest.Elsewhere(&w[0], &w[1]) }

// verdict is over all presses on a card.
type verdict struct{ rewound, flagged cuts }

func (v *verdict) add(t *testing.T, c cuts, rewound bool) {
	t.Helper()
	t.Logf("taken back: %v; %s", rewound, c)
	if rewound {
		v.rewound.add(c)
	} else {
		v.flagged.add(c)
	}
}

// judge prints the figures, and fails where a promise is broken.
func (v *verdict) judge(t *testing.T, s benchtest.Stalls) {
	t.Helper()
	t.Logf("what waits is taken back: %s", v.rewound)
	t.Logf("played to its end:        %s", v.flagged)
	t.Logf("in the guest, %s", s)
	result, err := benchtest.Promise{What: "press to silence, in the card's time", Bound: within, Share: 0.05, Wakes: 2}.Kept(v.rewound.silence, s)
	if err != nil {
		t.Error(err)
	} else {
		t.Logf("%s: p95 %.1f ms, at most %.1f; %d longer ones while the guest stood still", result.What, result.Figure, within, result.Excused)
		back, end := benchtest.Quantile(v.rewound.silence.Sorted(), 0.5), benchtest.Quantile(v.flagged.silence.Sorted(), 0.5)
		t.Logf("the one is %.2f of the other", back/end)
		if back > end/2 {
			t.Errorf("a press takes %.1f ms where what waits is taken back, and %.1f ms where it is not", back, end)
		}
	}
	for _, c := range []cuts{v.rewound, v.flagged} {
		if c.never > 0 {
			t.Errorf("after %d presses it never became silent", c.never)
		}
		for i, step := range c.steps {
			if step > rounding {
				t.Errorf("cut %d clicks: a step %d larger than the tone's own %d", i+1, step, c.own)
			}
		}
	}
}

// rounding is what a volume on the way to the recording may add to a step.
const rounding = 4

// series opens a card some times and presses into each, taking back what waits, and once more without. judge is
// called after each run, and says whether it is to be taken; a run in which the card ran dry is not.
func (b *box) series(wrap, card string, wakes *watched, judge func(p pressed, rewound, good bool) bool) {
	b.t.Helper()
	dice := seed(b.t)
	for run, tries := 0, 0; run <= runs; tries++ {
		if tries > 2*runs {
			b.t.Fatal("the card runs dry, or its recording is not whole, all the time")
		}
		args := fmt.Sprintf("-card %s -n %d -seed %d", card, each, dice+uint64(tries))
		if run == runs {
			args += " -stiff"
		}
		p, good := b.tone(wrap, args, wakes)
		if run < runs && !p.Rewinds {
			b.t.Error("the card is not rewound")
		}
		if judge(p, run < runs, good) {
			run++
		}
	}
}

// TestUSBSilence presses into a tone on a card on USB, with the kernel's own driver, and judges what the card's side has written.
func TestUSBSilence(t *testing.T) {
	wav := filepath.Join(shared.out, "usb.wav")
	b := withTone(t, wav)
	card := strings.TrimSpace(b.run(`sed -n 's/^ *[0-9]* \[\([^ ]*\).*USB-Audio.*/\1/p' /proc/asound/cards`))
	if card == "" {
		t.Fatalf("no card on USB:\n%s", b.run("cat /proc/asound/cards; dmesg | tail -n 20"))
	}
	var wakes watched
	var v verdict
	before := 0 // marks of the streams before
	b.series("%s", card, &wakes, func(p pressed, rewound, good bool) bool {
		sound, err := left(wav) // but for the last of it, which QEMU still has: tone ends in silence
		if err != nil {
			t.Fatal(err)
		}
		marks := marksOf(sound)[before:]
		before += len(marks)
		if !good {
			return false
		}
		c, err := p.judge(sound, marks)
		if err != nil {
			t.Fatalf("%v (the recording: %s)", err, wav)
		}
		v.add(t, c, rewound)
		return true
	})
	v.judge(t, wakes.stalls())
	if !t.Failed() {
		_ = os.Remove(wav)
	}
}

// TestLoopbackSilence does the same on the kernel's loopback, judged at its other end. It moves once a jiffy, of 4 ms.
func TestLoopbackSilence(t *testing.T) {
	b := withTone(t, "")
	const record = `arecord -q -D hw:Speaker,1,0 -t wav -f S16_LE -r 48000 -c 2 --buffer-size 48000 /run/loop.wav & recorder=$!
		sleep 1; %s; code=$?; sleep 1; kill -INT $recorder; wait $recorder; exit $code`
	var wakes watched
	var v verdict
	b.series(record, "Speaker", &wakes, func(p pressed, rewound, good bool) bool {
		if !good {
			return false
		}
		kept := b.get("/run/loop.wav")
		sound, err := left(kept)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.judge(sound, marksOf(sound))
		switch {
		case errors.Is(err, errMarks) || errors.Is(err, errLost): // the recorder was not served in time, in a guest that is slow
			t.Log(err)
			return false
		case err != nil:
			t.Fatalf("%v (the recording: %s)", err, kept)
		}
		v.add(t, c, rewound)
		return true
	})
	v.judge(t, wakes.stalls())
}
