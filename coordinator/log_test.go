package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// line is one of the log.
type line struct {
	Msg    string
	Turn   string
	Reason string
}

// whole checks that a log tells each turn, each injection and each call from its beginning to its one end, and that no line of one lacks
// its name. A gesture that began no turn has the name that it would have had, as has a grant that was lost before it began.
func whole(t *testing.T, log string) (turns map[string][]string) {
	t.Helper()
	nobodys := map[string]bool{logInboxRefused: true, logGenerationLost: true, logShutdownLeft: true, logAlertBegin: true, logAlertEnd: true}
	turns = map[string][]string{}
	for text := range strings.Lines(log) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if l.Turn == "" {
			if !nobodys[l.Msg] {
				t.Errorf("the line belongs to no turn: %s", text)
			}
			continue
		}
		if l.Msg == logFactStale || l.Msg == logAudioStale {
			continue // what the world says of a turn at any time, whether there is one or not
		}
		turns[l.Turn] = append(turns[l.Turn], strings.TrimSpace(l.Msg+" "+l.Reason))
	}
	for id, lines := range turns {
		n := map[string]int{}
		for _, l := range lines {
			msg, _, _ := strings.Cut(l, " ")
			n[msg]++
		}
		first, ends := logTurnBegin, n[logTurnEnd]
		switch {
		case n[logInjectQueued] > 0:
			first = logInjectQueued
			if n[logTurnBegin] == 0 {
				ends = n[logInjectOutcome] // said by the local voice, or not at all
			}
		case n[logCallRings] > 0:
			first, ends = logCallRings, n[logEffectEnd]+n[logHandleDropped]
		case n[logInterrupt] == len(lines), len(lines) == 1 && lines[0] == logTurnEnd+" lost_vote":
			continue
		case lines[0] == logInterrupt:
			first = logInterrupt
		}
		if lines[0] != first || ends != 1 || n[logTurnBegin] != n[logTurnEnd] {
			t.Errorf("%s is not whole: %q", id, lines)
		}
	}
	return turns
}

// A night: an announcement, an answer that is cut, a stream that breaks long after its turn, an announcement that nobody can say, a silence.
func TestTheLogOfANightIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var told []string
		g := newRig(t, func(g *rig, o *Options) {
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			o.OnWords = func(id turn.ID, w turn.Words) { told = append(told, string(id)+" "+string(w)) }
			g.tools["sing"] = func(context.Context, string) ToolResult {
				return ToolResult{Output: "la", Effect: turn.EffectAudioStream, Stream: StreamFunc{
					Run: func(ctx context.Context, write func([]int16) error) error {
						_ = write(tone(time.Second, 3))
						time.Sleep(time.Minute)
						return errors.New("the disk is gone")
					},
				}}
			}
		})
		log.Reset() // the rig's own start
		done := g.Inject("tea is ready", inject.Normal, "", time.Hour)
		g.settle()
		id := turn.ID("t-1")
		g.respond(id, "r0")
		g.speak(id, "r0", 300*time.Millisecond, 1)
		g.finish(id, "r0")
		time.Sleep(time.Second)
		wantOutcome(t, "the tea", done, inject.Delivered)

		id = g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		time.Sleep(40 * time.Millisecond)

		sings := g.utter(time.Second)
		g.respond(sings, "r2")
		g.Post(turn.ToolCalled{At: g.Now(), Turn: sings, Response: "r2", Call: "c1", Name: "sing"})
		g.settle()
		g.finish(sings, "r2")
		time.Sleep(10 * time.Second)
		other := g.utter(time.Second) // the stream breaks in the turn that follows
		g.respond(other, "r3")
		g.speak(other, "r3", 300*time.Millisecond, 1)
		g.finish(other, "r3")
		time.Sleep(2 * time.Minute)

		g.Post(turn.SessionLost{At: g.Now()})
		late := g.Inject("the door", inject.Normal, "", 10*time.Second)
		time.Sleep(time.Minute)
		wantOutcome(t, "the door", late, inject.Expired)
		g.quiet()
		if err := g.stop(); err != nil {
			t.Error(err)
		}
		turns := whole(t, log.String())
		if len(turns) < 5 {
			t.Errorf("%d turns: %q", len(turns), turns)
		}
		want := []string{string(sings) + " " + string(turn.WordsStreamFailed)}
		wantEqual(t, "words of a turn that was over", told, want)
		if said := turns[string(sings)]; said[len(said)-1] != logWordsSaid && !strings.Contains(strings.Join(said, " "), logWordsSaid) {
			t.Errorf("the log of %s has no words of its stream: %q", sings, said)
		}
	})
}

type silentAt struct {
	nullSource
	at time.Duration
}

func (s silentAt) Silenced() (time.Duration, bool) { return s.at, true }

// The figure is of what sounded at the edge; where nothing did, there is none.
func TestWhatWasSilentBeforeTheEdgeIsNoFigure(t *testing.T) {
	const edge = time.Second
	for _, c := range []struct {
		name string
		at   []time.Duration
		want float64
	}{
		{"nothing", nil, math.NaN()},
		{"a book that was pausing", []time.Duration{edge - time.Minute}, math.NaN()},
		{"one that was over at the edge", []time.Duration{edge}, math.NaN()},
		{"speech", []time.Duration{edge + 9*time.Millisecond}, 9},
		{"speech, and a book that was pausing", []time.Duration{edge - time.Minute, edge + 9*time.Millisecond}, 9},
	} {
		h := hushed{edge: edge}
		for _, at := range c.at {
			h.sources = append(h.sources, silentAt{at: at})
		}
		if got, known := h.silence(); !known || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, known, c.want)
		}
	}
}
