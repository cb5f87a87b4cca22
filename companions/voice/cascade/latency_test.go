package cascade

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
	"conch/device/benchtest"
)

// deaf takes facts, and notes the first sound of each turn.
type deaf struct {
	began time.Time
	mu    sync.Mutex
	facts chan turn.Event
	sound map[turn.ID]time.Time
}

func (d *deaf) Now() time.Duration { return time.Since(d.began) }
func (d *deaf) Post(ev turn.Event) {
	select {
	case d.facts <- ev:
	default:
	}
}
func (d *deaf) Audio(_ context.Context, id turn.ID, pcm []int16) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.sound[id]; !ok {
		d.sound[id] = time.Now()
	}
	return len(pcm)
}
func (d *deaf) first(id turn.ID) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sound[id]
}

// until waits for a fact.
func (d *deaf) until(tb testing.TB, is func(turn.Event) bool) {
	tb.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case ev := <-d.facts:
			if is(ev) {
				return
			}
		case <-late:
			tb.Fatal("nothing within a minute")
		}
	}
}

// talk is a client with a server on loopback, ready.
func talk(tb testing.TB, server http.Handler, format string) (*Client, *deaf) {
	tb.Helper()
	s := httptest.NewServer(server)
	set := settings()
	set.URL, set.Own = s.URL, map[string]string{"server": format}
	cfg, err := Configure(set, voice.Companion{Instructions: "You are Ada.", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	c.here, c.heres = nil, nil
	d := &deaf{began: time.Now(), facts: make(chan turn.Event, 4096), sound: map[turn.ID]time.Time{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx, d) }()
	tb.Cleanup(func() { cancel(); <-done; s.Close() })
	d.until(tb, func(ev turn.Event) bool { _, ok := ev.(turn.SessionReady); return ok })
	return c, d
}

// Promises of the chain itself, on two cores that others use as well: some three times what it takes on quiet ones.
const (
	ownHear  = 10.0 // ms
	ownSpeak = 3.0
	ownSound = 3.0
)

// BenchmarkOwnDelay is what the chain itself adds, at a server that takes no time: from the release (3 s were said) to the request for a
// transcript, from the first words to the request for speech, from the first sound to the speaker. Loopback included.
//
//	go test -run '^$' -bench OwnDelay -benchtime 1x ./companions/voice/cascade    100 turns; CONCH_BENCH_PRESSES=500: as many
func BenchmarkOwnDelay(b *testing.B) {
	var mu sync.Mutex
	at := map[string]time.Time{}
	mark := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		at[what] = time.Now()
	}
	var loud bytes.Buffer
	for range kit.Rate / 2 {
		_ = binary.Write(&loud, binary.LittleEndian, int16(5000))
	}
	c, d := talk(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/transcriptions"):
			mark("hear")
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"text":"what time is it"}`)
		case strings.HasSuffix(r.URL.Path, "/completions"):
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			mark("words")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"It is three. Then\"}}]}\n\n")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case strings.HasSuffix(r.URL.Path, "/speech"):
			mu.Lock()
			if _, ok := at["speech"]; !ok {
				at["speech"] = time.Now()
			}
			mu.Unlock()
			w.Header().Set("Content-Type", "audio/pcm")
			mu.Lock()
			if _, ok := at["sound"]; !ok {
				at["sound"] = time.Now()
			}
			mu.Unlock()
			_, _ = w.Write(loud.Bytes())
		default:
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		}
	}), "speaches")
	speech := cascadetest.Sound(3, kit.Rate)
	took := map[string][]float64{}
	note := func(what string, from, to time.Time) {
		took[what] = append(took[what], float64(to.Sub(from))/float64(time.Millisecond))
	}
	one := func(id turn.ID) {
		mu.Lock()
		at = map[string]time.Time{}
		mu.Unlock()
		c.Do(turn.ClearInput{Turn: id})
		c.Append(id, speech)
		release := time.Now()
		c.Do(turn.CommitInput{Turn: id})
		c.Do(turn.CreateResponse{Turn: id})
		d.until(b, func(ev turn.Event) bool { e, ok := ev.(turn.ResponseDone); return ok && e.Turn == id })
		mu.Lock()
		note("release-to-request", release, at["hear"])
		note("words-to-request", at["words"], at["speech"])
		note("sound-to-ring", at["sound"], d.first(id))
		mu.Unlock()
	}
	for n := 0; b.Loop(); {
		for range benchtest.Presses(100) {
			n++
			one(turn.ID(fmt.Sprintf("t-%d", n)))
		}
	}
	for _, p := range []struct {
		of, what string
		most     float64
	}{{"release-to-request", "release to the request for a transcript, p50", ownHear}, {"words-to-request", "first words to the request for speech, p50", ownSpeak},
		{"sound-to-ring", "first sound to the speaker's ring, p50", ownSound}} {
		slices.Sort(took[p.of])
		p50, p99 := benchtest.Quantile(took[p.of], .5), benchtest.Quantile(took[p.of], .99)
		b.ReportMetric(p50, p.of+"-p50-ms")
		b.ReportMetric(p99, p.of+"-p99-ms")
		benchtest.AtMost(b, p.what, p50, p.most, "ms", fmt.Sprintf("p99 %.1f, n = %d", p99, len(took[p.of])))
	}
	b.ReportMetric(0, "ns/op")
}

// told is the answer of the comparison: some 60 words, as a model gives them that was asked for a few sentences.
const saidHere = "Put the eggs into cold water. Bring it to a boil, and then take the pot off the stove. Leave them there for eight minutes if you like " +
	"them soft, or for twelve if you like them hard. Then cool them under running water, so that they are easy to peel. They keep for a week."

// chainOf keeps pace as models do: a fifth of a second to hear, as much to the first word, and to the first sound.
func chainOf(pace, times float64) cascadetest.Script {
	return cascadetest.Script{Models: []string{"m"}, Hear: says(cascadetest.Reply{Text: "how do I boil eggs", Wait: 200 * time.Millisecond}),
		Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["max_tokens"] != nil {
				return cascadetest.Reply{Text: "x"}
			}
			return cascadetest.Reply{Text: saidHere, Pace: pace, Wait: 200 * time.Millisecond}
		}, Say: says(cascadetest.Reply{Times: times, Wait: 200 * time.Millisecond})}
}

// naive is a chain that waits for the whole text: the same requests, by the same clients, one behind the other.
func naive(ctx context.Context, c *Client) (first time.Duration, err error) {
	began := time.Now()
	heard, err := c.ear.hear(ctx, cascadetest.Sound(2, kit.Rate), "")
	if err != nil {
		return 0, err
	}
	var text strings.Builder
	question := []openai.ChatCompletionMessage{{Role: "user", Content: heard}}
	if _, err = c.mind.answer(ctx, question, nil, func() {}, func(s said) bool { text.WriteString(s.text); return true }); err != nil {
		return 0, err
	}
	err = c.mouth.say(ctx, text.String(), english, func([]int16) bool {
		first = time.Since(began)
		return false
	})
	return first, err
}

// BenchmarkFirstSound is from the release to the first sound, and the same of a chain that waits for the whole text, in the same run: the
// promise is the one as a part of the other, at the middle one of three speeds of speech, one answer each.
// One that waits would be at 1.
func BenchmarkFirstSound(b *testing.B) {
	for _, row := range []struct{ pace, most float64 }{{10, 0.35}, {30, 0.5}, {100, 0.85}} {
		b.Run(fmt.Sprintf("tokens=%v", row.pace), func(b *testing.B) {
			var all [][2]time.Duration
			for _, times := range []float64{1, 3, 10} {
				b.Run(fmt.Sprintf("speech=%vx", times), func(b *testing.B) {
					ours, theirs := firstSounds(b, chainOf(row.pace, times))
					all = append(all, [2]time.Duration{ours, theirs})
				})
			}
			if len(all) == 0 { // another one was asked for by its name
				return
			}
			slices.SortFunc(all, func(x, y [2]time.Duration) int { return cmp.Compare(x[0]*1000/x[1], y[0]*1000/y[1]) })
			ours, theirs := all[len(all)/2][0], all[len(all)/2][1]
			benchtest.Times(b, fmt.Sprintf("first sound at %v tokens a second, of a chain that waits for all", row.pace), ours.Seconds(), theirs.Seconds(), row.most)
		})
	}
}

// firstSounds is the mean of both.
func firstSounds(b *testing.B, s cascadetest.Script) (ours, theirs time.Duration) {
	c, d := talk(b, cascadetest.New(s), "speaches")
	n := 0
	for ; b.Loop(); n++ {
		id := turn.ID(fmt.Sprintf("t-%d", n))
		c.Do(turn.ClearInput{Turn: id})
		c.Append(id, cascadetest.Sound(2, kit.Rate))
		release := time.Now()
		c.Do(turn.CommitInput{Turn: id})
		c.Do(turn.CreateResponse{Turn: id})
		d.until(b, func(ev turn.Event) bool { e, ok := ev.(turn.DeltaArrived); return ok && e.Turn == id && e.Samples > 0 })
		ours += d.first(id).Sub(release)
		c.Do(turn.CancelResponse{Turn: id})
		first, err := naive(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		theirs += first
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(n), "first-sound-ms")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(n), "waits-for-all-ms")
	b.ReportMetric(float64(theirs)/float64(ours), "times-as-quick")
	b.ReportMetric(0, "ns/op")
	return ours / time.Duration(n), theirs / time.Duration(n)
}

// The same in virtual time, in which it is exact; and nobody hears a gap where words and speech come faster than they are said.
func TestFirstSoundDoesNotWaitForTheWholeText(t *testing.T) {
	for _, row := range []struct{ pace, times, least float64 }{{10, 1, 4}, {10, 3, 4}, {10, 10, 4}, {30, 1, 2}, {30, 3, 2}, {30, 10, 2}, {100, 1, 1.2}, {100, 3, 1.2}, {100, 10, 1.2}} {
		in(t, chainOf(row.pace, row.times), func(s *voice.Settings, _ *voice.Companion, _ *Config) { s.Own["server"] = "speaches" }, func(w *world) {
			w.pace = true
			release := w.Now()
			w.press("t-1")
			w.done(1)
			first, _ := w.span("t-1")
			ours := first - release
			theirs, err := naive(w.t.Context(), w.c)
			if err != nil {
				t.Fatal(err)
			}
			gap := w.gaps()
			ratio := float64(theirs) / float64(ours)
			t.Logf("%v tokens a second, speech at %v times real time: %v, and %v of a chain that waits: %.1f times as quick; silence between pieces %v",
				row.pace, row.times, ours.Round(time.Millisecond), theirs.Round(time.Millisecond), ratio, gap.Round(time.Millisecond))
			if ratio < row.least {
				t.Errorf("%v tokens a second, speech at %v: %.1f times as quick; want %v", row.pace, row.times, ratio, row.least)
			}
			if row.pace >= 30 && row.times >= 3 && gap > 20*time.Millisecond {
				t.Errorf("%v tokens a second, speech at %v: %v of silence between pieces", row.pace, row.times, gap)
			}
		})
	}
}
