package device

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions/skills"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/benchtest"
	"conch/device/config"
)

// BenchmarkFocus measures how content makes room and comes back, on a whole device with the virtual card in time with the wall, by
// what the card has played: content is one pitch, speech another one, and the level of each is taken over 5 ms every 1 ms.
//
//	start    from the last sample of speech to the first one of the stream that the same turn asked for
//	duck     how long mixable content takes from its level to 0.3 of it, when an announcement begins
//	beneath  the loudest it is, of its level, behind the first 120 ms of the announcement
//	back     from the last sample of the announcement until it has its level again; 0.3 s of that are the breath
//	pause    from an announcement's beginning to the last sample of content that pauses
//	resume   from the last sample of that announcement to the first one of content; with the breath
func BenchmarkFocus(b *testing.B) {
	spareProcessors()
	for range b.N {
		figures := map[string][]float64{}
		for range benchtest.Presses(5) {
			for _, pauses := range []bool{false, true} {
				measureFocus(b, pauses, func(name string, d time.Duration) { figures[name] = append(figures[name], float64(d)/1e6) },
					func(name string, x float64) { figures[name] = append(figures[name], x) })
			}
		}
		b.ReportMetric(0, "ns/op")
		for _, p := range []struct {
			name, unit string
			most       float64
			what       string
		}{
			{"start", "ms", 50, "stream start after the last sample of speech"},
			{"duck", "ms", 100 + benchtest.Slack, "content ducks to 0.3 of its level"},
			{"beneath", "x", 0.36, "content beneath speech, of its own level"},
			{"back", "ms", 300 + 100 + 100, "content has its level again after speech (a breath of 300 ms, a slope of 100)"},
			{"pause", "ms", 100, "content pauses for an announcement"},
			{"resume", "ms", 300 + 100, "content comes back after an announcement (a breath of 300 ms)"},
		} {
			all := figures[p.name]
			b.ReportMetric(quantile(all, .5), p.name+"-p50-"+p.unit)
			b.ReportMetric(quantile(all, 1), p.name+"-max-"+p.unit)
			benchtest.AtMost(b, p.what, quantile(all, .5), p.most, p.unit, fmt.Sprintf("p50 of %d on the virtual card, most %.3g", len(all), quantile(all, 1)))
		}
	}
}

// measureFocus plays a stream, has something announced over it, and looks at the tape.
func measureFocus(tb testing.TB, pauses bool, note func(string, time.Duration), level func(string, float64)) {
	content := whistle(oldHz, audio.Samples(30*time.Second))
	b := newBox(tb, boxOptions{
		mind: teller{}, config: func(c *config.Config) { c.Audio.CueVolume = 0 },
		tools: skill{"play": func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.AudioStream{Pauses: pauses, Run: func(_ context.Context, write func([]int16) error) error { return write(content) }}}, nil
		}},
		card: func(c audio.Card) audio.Card { c.(*twin.Card).KeepTape(time.Minute); return c },
	})
	b.question("here it is:play")
	b.until("playing", func() bool { return b.coordinator.State() == turn.Idle && len(b.turnsEnded()) == 1 && b.audible() })
	b.pause(time.Second)
	spoke := b.track(newHz, 0)
	plays := b.track(oldHz, 0)
	full := plays.loudest()
	note("start", plays.first(0, full/10)-spoke.last(b.now(), full/10))

	b.asked.Add(1) // a turn that nobody pressed for
	began := b.now()
	select {
	case how := <-b.coordinator.Inject("the bell", inject.BlockBehindComms, "", time.Minute):
		if how != inject.Delivered {
			tb.Fatalf("the announcement was %v", how)
		}
	case <-time.After(patience):
		tb.Fatal("the announcement has no outcome")
	}
	b.pause(1500 * time.Millisecond)
	spoke, plays = b.track(newHz, began), b.track(oldHz, began)
	first, last := spoke.first(began, full/10), spoke.last(b.now(), full/10)
	if pauses {
		silent := plays.below(began, full/20)
		note("pause", silent-began)
		note("resume", plays.first(max(silent, last), full/20)-last)
		return
	}
	note("duck", plays.below(began, .34*full)-plays.below(began, .95*full))
	loudest := 0.0
	for at := first + 120*time.Millisecond; at < last-20*time.Millisecond; at += hop {
		loudest = max(loudest, plays.at(at))
	}
	level("beneath", loudest/full)
	note("back", plays.first(last, .95*full)-last)
}

// teller is a caller that says what it is told to.
type teller struct{ caller }

func (c teller) Think(t rehearsal.Thought) rehearsal.Reply {
	if t.Prompt != "" {
		return rehearsal.Reply{Text: t.Prompt}
	}
	return c.caller.Think(t)
}

// hop is how often a level is taken.
const hop = time.Millisecond

// levels are how loud one pitch was on the tape, every hop from a time on.
type levels struct {
	from time.Duration
	of   []float64
}

// track takes the levels of a pitch since a time.
func (b *box) track(hz float64, since time.Duration) levels {
	const window, step = audio.CardRate / 200, audio.CardRate / 1000
	tape, from := b.card.Tape()
	l := levels{from: from + audio.CardDuration(window/2)}
	if skip := int((since - from) / hop); since > from {
		tape, l.from = tape[min(len(tape), skip*step):], l.from+time.Duration(skip)*hop
	}
	c := 2 * math.Cos(2*math.Pi*hz/audio.CardRate)
	for i := 0; i+window <= len(tape); i += step {
		var s1, s2 float64
		for k, x := range tape[i : i+window] {
			hann := 1 - math.Cos(2*math.Pi*float64(k)/window)
			s1, s2 = float64(x)*hann+c*s1-s2, s1
		}
		l.of = append(l.of, 2*math.Sqrt(max(0, s1*s1+s2*s2-c*s1*s2))/window)
	}
	return l
}

func (l levels) at(t time.Duration) float64 {
	if i := int((t - l.from) / hop); i >= 0 && i < len(l.of) {
		return l.of[i]
	}
	return 0
}

func (l levels) loudest() (most float64) {
	for _, x := range l.of {
		most = max(most, x)
	}
	return most
}

// first is when it is first so loud after a time, and below when no more; never is an hour.
func (l levels) first(after time.Duration, level float64) time.Duration {
	return l.when(after, func(x float64) bool { return x >= level })
}

func (l levels) below(after time.Duration, level float64) time.Duration {
	return l.when(after, func(x float64) bool { return x < level })
}

func (l levels) when(after time.Duration, is func(float64) bool) time.Duration {
	for i, x := range l.of {
		if at := l.from + time.Duration(i)*hop; at >= after && is(x) {
			return at
		}
	}
	return time.Hour
}

// last is when it was so loud for the last time before a time.
func (l levels) last(before time.Duration, level float64) (at time.Duration) {
	for i, x := range l.of {
		if t := l.from + time.Duration(i)*hop; t < before && x >= level {
			at = t
		}
	}
	return at
}
