package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"conch/device/benchtest"
)

// pressed is what tone says (tone/main.go). Frames are places in its stream.
type pressed struct {
	Granted struct {
		Name                    string
		Period, Periods, Margin int
	} `json:"granted"`
	Rewinds bool    `json:"rewinds"`
	Lates   int     `json:"lates"`
	Xruns   int     `json:"xruns"`
	Marks   []int   `json:"marks"`
	Presses []press `json:"presses"`
	Looks   []look  `json:"looks"`
}

type press struct {
	look
	Glitch bool `json:"glitch"`
	Marks  int  `json:"marks"` // before it
}

type look struct {
	At    time.Duration `json:"at_ns"`
	Taken int           `json:"taken"`
	Ahead int           `json:"ahead"`
}

const (
	marked = 20000        // louder than the tone, and less than a mark
	after  = 110 * rate48 // in which silence must come; tone keeps longer distances
	before = 60 * rate48
	rate48 = 48 // frames a millisecond
)

// cuts is what a recording says of presses.
type cuts struct {
	silence benchtest.Figures
	steps   []int // how much larger the largest around each press is than the tone's own
	never   int
	own     int // largest step of the tone alone
}

func (c *cuts) add(o cuts) {
	c.silence, c.steps = append(c.silence, o.silence...), append(c.steps, o.steps...)
	c.never += o.never
	c.own = max(c.own, o.own)
}

func (c cuts) String() string {
	if len(c.steps) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d presses: %s; largest step %+d beside the tone's own %d", len(c.silence), distribution(c.silence.Sorted()), slices.Max(c.steps), c.own)
}

// marksOf finds the marks in a recording.
func marksOf(sound []int16) (at []int) {
	for i, s := range sound {
		if s > marked {
			at = append(at, i)
		}
	}
	return at
}

var (
	errMarks = errors.New("the recording holds other marks than were played")
	errLost  = errors.New("the recording holds fewer frames than were played")
)

// judge finds what became of each press in a recording; marks are those of this stream in it.
//
// What the card was playing at the press is what the driver had taken less what of that was still ahead of it. The kernel counts the
// latter down by the bus's clock, from its most, by a period until the card has answered; a card that stands still for longer plays
// nothing meanwhile, and what the kernel counted beyond is taken off.
func (p pressed) judge(sound []int16, marks []int) (c cuts, err error) {
	if len(marks) != len(p.Marks) {
		return c, fmt.Errorf("%w: %d, not %d", errMarks, len(marks), len(p.Marks))
	}
	for i, at := range marks[min(1, len(marks)):] {
		if lost := p.Marks[i+1] - p.Marks[i] - (at - marks[i]); lost != 0 {
			return c, fmt.Errorf("%w: %d frames of them after mark %d", errLost, lost, i)
		}
	}
	ahead := 0
	for _, l := range p.Looks {
		ahead = max(ahead, l.Ahead)
	}
	for i, x := range p.Presses {
		if x.Marks == 0 {
			return c, fmt.Errorf("press %d: %w", i, errMarks)
		}
		at := marks[x.Marks-1] - p.Marks[x.Marks-1] + x.Taken - min(max(x.Ahead, ahead-p.Granted.Period), ahead)
		if at < before || at+after > len(sound) {
			return c, fmt.Errorf("press %d is at frame %d of a recording of %d", i, at, len(sound))
		}
		own := step(sound[at-before : at])
		c.own = max(c.own, own)
		c.steps = append(c.steps, step(sound[at-1:at+after])-own)
		if x.Glitch {
			continue
		}
		last := after
		for last > 0 && sound[at+last-1] == 0 {
			last--
		}
		if last == after {
			c.never++
			continue
		}
		c.silence = append(c.silence, benchtest.Sample{At: x.At, MS: float64(last) / rate48})
	}
	return c, nil
}

// step is the largest between two samples.
func step(sound []int16) (most int) {
	for i, s := range sound[1:] {
		d := int(s) - int(sound[i])
		most = max(most, d, -d)
	}
	return most
}

// left is the left half of a stereo recording of 16 bit with a header of 44 bytes.
func left(path string) ([]int16, error) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 44 {
		return nil, fmt.Errorf("%s: %d bytes: %w", path, len(data), err)
	}
	data = data[44:]
	out := make([]int16, len(data)/4)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(data[4*i:]))
	}
	return out, nil
}

// TestJudge: a press is placed by the mark before it, silence is after the last sample that is not zero, and a hard cut is a click.
func TestJudge(t *testing.T) {
	const lead, faded = 777, 96
	for _, hard := range []bool{false, true} {
		sound := make([]int16, 48000)
		for i := range sound[:20000] {
			sound[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/48000))
			if n := 20000 - i; n < faded && !hard {
				sound[i] = int16(int(sound[i]) * n / faded)
			}
		}
		sound[5000] = 32000
		p := pressed{Marks: []int{5000 - lead}, Looks: []look{{Ahead: 720}},
			Presses: []press{{look: look{At: time.Second, Taken: 19000 + 600 - lead, Ahead: 600}, Marks: 1}}}
		p.Granted.Period = 240
		c, err := p.judge(sound, marksOf(sound))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.silence) != 1 || math.Abs(c.silence[0].MS-1000./48) > 0.1 {
			t.Errorf("silences %v; want one after %.1f ms", c.silence, 1000./48)
		}
		if click := c.steps[0] > 8; click != hard {
			t.Errorf("cut hard: %v; the largest step is %d above the tone's own %d", hard, c.steps[0], c.own)
		}
	}
}
