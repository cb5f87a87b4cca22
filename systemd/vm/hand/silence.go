package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// silences is what came of `silence N SEED`.
type silences struct {
	Event string    `json:"event"`
	Seed  uint64    `json:"seed"`
	MS    []float64 `json:"ms"`            // from the press to after the last sample that is not zero
	Quiet int       `json:"already_quiet"` // presses that fell into a pause between two words: not counted
	Never int       `json:"never"`         // presses after which it was not silent while the button was held
}

const (
	held = 450 * time.Millisecond // a press, and the time in which it must have become silent
	near = 12 * time.Millisecond  // sound this near to the press shows that it did not fall into a pause
)

// silence asks for a story and presses into it, n times. Times are from before the pin is moved, so that all of what is
// between the finger and the card is in them: the kernel's interrupt, conch, its queue in the card, and the recorder.
func (p *person) silence(args string) error {
	r := silences{Event: "silence"}
	var n int
	if _, err := fmt.Sscan(args, &n, &r.Seed); err != nil {
		return errors.New("silence N SEED")
	}
	defer func() { _ = p.out.Encode(r) }() // what there is, however it ends
	dice := rand.New(rand.NewPCG(r.Seed, 17))
	for tries := 0; len(r.MS)+r.Never < n; tries++ {
		if tries > 3*n {
			return fmt.Errorf("%d tries, and only %d presses met sound", tries, len(r.MS)+r.Never)
		}
		if err := p.ask("tell me a story"); err != nil {
			return err
		}
		if err := p.until("sound 40s"); err != nil {
			continue // the recorder may just have been replaced; the tries are counted
		}
		time.Sleep(200*time.Millisecond + time.Duration(dice.Int64N(int64(1200*time.Millisecond))))
		for range 400 { // a pause between two sentences is no time to be silenced
			if p.now()-p.recorder.lastSound() < near {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := p.press(""); err != nil {
			return err
		}
		time.Sleep(held)
		if err := p.release(""); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond) // what was played while it was held has arrived by then
		p.judge(&r)
		for range 1000 { // the cue that there was nothing to hear
			if p.now()-p.recorder.lastSound() > 250*time.Millisecond {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

// calibrate kills a player n times, while conch is not running: its sound ends with it, so that what is measured is the
// error of the measurement.
func (p *person) calibrate(args string) error {
	r := silences{Event: "calibrate"}
	n, err := strconv.Atoi(args)
	for range n {
		player := exec.Command("aplay", "-q", "-D", strings.Replace(p.card, ",1,", ",0,", 1), "-t", "raw", "-f", "S16_LE", "-r", fmt.Sprint(rate), "-c", "1",
			"/dev/urandom")
		if err := player.Start(); err != nil {
			return err
		}
		err := p.until("sound 20s")
		time.Sleep(300 * time.Millisecond)
		p.pressed = p.now()
		_ = player.Process.Kill()
		_ = player.Wait()
		if err != nil {
			return err
		}
		time.Sleep(held + 50*time.Millisecond)
		p.judge(&r)
	}
	return errors.Join(err, p.out.Encode(r))
}

// judge looks at what was played around the last press.
func (p *person) judge(r *silences) {
	before, _ := p.recorder.between(p.pressed-near, p.pressed+near)
	if peak(before) <= audible {
		r.Quiet++
		return
	}
	sound, from := p.recorder.between(p.pressed-near, p.pressed+held-20*time.Millisecond)
	last := -1
	for i, s := range sound {
		if s != 0 {
			last = i
		}
	}
	if last == len(sound)-1 && last >= 0 {
		r.Never++
		return
	}
	r.MS = append(r.MS, ms(from+length(int64(last+1))-p.pressed))
}

func peak(samples []int16) (most int) {
	for _, s := range samples {
		most = max(most, int(s), -int(s))
	}
	return most
}
