package coordinator

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// Whatever a press silences is in the line: of the turn that it cut, or else of the one that it began.
func TestTheLineCountsWhateverSounded(t *testing.T) {
	tooShort := func(g *rig) turn.ID {
		id := g.press()
		time.Sleep(5 * time.Millisecond)
		g.Release(g.Now(), rate*5/1000, button)
		g.settle()
		return id
	}
	for _, c := range []struct {
		name  string
		sound func(*rig) // up to 20 ms before the press
		line  string     // of the turn that has a figure; none: nothing sounded
	}{
		{"a cue after a turn", func(g *rig) { tooShort(g) }, "t-2"},
		{"a cue that is over", func(g *rig) { tooShort(g); time.Sleep(cueLength) }, ""},
		{"words after a turn that failed", func(g *rig) {
			id := g.utter(time.Second)
			g.Post(turn.InputRefused{At: g.Now(), Turn: id})
			g.settle()
			time.Sleep(2 * cueLength) // the cue before them is over
		}, "t-2"},
		{"the thinking cue of a turn that is cut", func(g *rig) {
			g.utter(time.Second)
			time.Sleep(turn.DefaultConfig().Thinking)
		}, "t-1"},
		{"nothing", func(g *rig) { g.utter(time.Second) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				c.sound(g)
				time.Sleep(20 * time.Millisecond)
				tooShort(g)
				time.Sleep(silenceWait + time.Second)
				g.settle()
				var have []string
				for _, r := range g.records {
					if p := r.PressToSilence; p != nil {
						have = append(have, string(r.Turn))
						if want := ms(g.speaker.latency); *p != want {
							t.Errorf("%s: press_to_silence_ms = %v; want %v", r.Turn, *p, want)
						}
					}
				}
				if got := strings.Join(have, " "); got != c.line {
					t.Errorf("a figure in the line of %q; want it in that of %q (of %q)", got, c.line, g.ends())
				}
			})
		})
	}
}

// The first edge stands in the log beside the steps, each with the turn that it cuts and the time since.
func TestTheLogHasTheEdgeAndTheSixSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := newRig(t, func(g *rig, o *Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			g.tools["sing"] = func(context.Context, string) ToolResult {
				return ToolResult{Output: "la", Effect: turn.EffectAudioStream}
			}
		})
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "sing"})
		time.Sleep(40 * time.Millisecond)
		g.settle()
		log.Reset()
		edge, gen := g.Now(), g.speaker.Drop()
		time.Sleep(25 * time.Millisecond) // a contact is a press when it has been closed for so long
		g.Press(edge, gen, button)
		g.settle()
		var got []string
		for _, l := range strings.Split(log.String(), "\n") {
			if _, rest, ok := strings.Cut(l, "msg=turn.interrupt "); ok && strings.Contains(rest, "turn=t-1 ") {
				got = append(got, regexp.MustCompile(`generation=\d+`).ReplaceAllString(rest, "generation=…"))
			}
		}
		wantEqual(t, "lines", got, []string{
			"turn=t-1 step=edge fact=Pressed at=1.04s",
			"turn=t-1 step=dropped after_ms=25 generation=…",
			"turn=t-1 step=buffer after_ms=25",
			"turn=t-1 step=pending after_ms=25",
			"turn=t-1 step=model after_ms=25",
			"turn=t-1 step=marked after_ms=25 in=IN_RESPONSE",
		})
	})
}
