package cascade

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// A press at any instant of an answer: all requests are closed at once, nothing more is handed over, and the conversation holds the
// words that were heard, up to a word, and no more. The instants are of the whole turn: while it is heard, thought about, and said.
func TestAPressAtAnyInstant(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	const sentence = "Here is sentence number %d of a story."
	var story []string
	for i := range 12 {
		story = append(story, fmt.Sprintf(sentence, i))
	}
	worst, empty, cut := time.Duration(0), 0, 0
	for i := range 200 {
		at := time.Duration(chance.Int64N(int64(14 * time.Second)))
		pace, times := []float64{10, 30, 100}[i%3], []float64{1.2, 3, 10}[i/3%3]
		in(t, cascadetest.Script{Models: []string{"m"}, Hear: says(cascadetest.Reply{Text: "tell me a story", Wait: 300 * time.Millisecond}),
			Chat: func(q cascadetest.Request) cascadetest.Reply {
				if q.Body["max_tokens"] != nil {
					return cascadetest.Reply{Text: "x"}
				}
				return cascadetest.Reply{Text: strings.Join(story, " "), Pace: pace, Wait: 200 * time.Millisecond}
			}, Say: says(cascadetest.Reply{Times: times, Wait: 100 * time.Millisecond})}, nil, func(w *world) {
			w.pace = true
			w.press("t-1")
			time.Sleep(at) // virtual
			if _, over := w.answered("t-1"); over && w.unplayed() == 0 {
				return // it was over
			}
			// What the coordinator does: it tells how much was played.
			w.mu.Lock()
			w.cut["t-1"] = true
			handed := len(w.pcm)
			w.mu.Unlock()
			heard := max(0, handed-w.unplayed())
			var item turn.ItemID
			var response turn.ResponseID
			for _, ev := range w.all() {
				if e, ok := ev.(turn.DeltaArrived); ok {
					item, response = e.Item, e.Response
				}
			}
			pressed := time.Now()
			w.c.Do(turn.CancelResponse{Turn: "t-1", Response: response})
			if i%2 == 0 { // the order behind it comes a moment later, when the answer has ended already
				synctest.Wait()
			}
			if item != "" && heard == 0 {
				w.c.Do(turn.DeleteItem{Turn: "t-1", Item: item})
			} else if item != "" {
				w.c.Do(turn.TruncateItem{Turn: "t-1", Item: item, Heard: heard})
			}
			for w.chain.Open() > 0 {
				synctest.Wait()
				if time.Since(pressed) > time.Second {
					t.Errorf("press after %v: %d requests are open a second later", at, w.chain.Open())
					return
				}
				time.Sleep(time.Millisecond) // virtual
			}
			worst = max(worst, time.Since(pressed))
			synctest.Wait()
			if n := len(w.pcm); n != handed {
				t.Errorf("press after %v: %d more samples were handed over", at, n-handed)
			}
			w.c.Do(turn.AddText{Turn: "t-2", Role: "user", Text: "go on"})
			w.mu.Lock()
			w.cut["t-2"] = true
			w.mu.Unlock()
			n := len(w.chain.Requests(cascadetest.Chat))
			w.c.Do(turn.CreateResponse{Turn: "t-2"})
			w.until(func() bool { return len(w.chain.Requests(cascadetest.Chat)) > n })
			said := ""
			for _, m := range w.last() {
				if text, ok := strings.CutPrefix(m, "assistant: "); ok {
					said = text
				}
			}
			// 15 letters a second are said, and 0.16 s of each sentence are silence that is put in or left out.
			seconds := float64(heard) / kit.Rate
			most, least := int(seconds*15)+12, int(seconds*15*0.75)-50
			if len(said) > most || len(said) < least {
				t.Errorf("press after %v (%v tokens a second, speech at %v): %.2f s were heard, and %d letters are known; want %d to %d: %q", at, pace, times, seconds, len(said), least, most, said)
			}
			if !strings.HasPrefix(strings.Join(story, " "), said) {
				t.Errorf("known is %q", said)
			}
			if said == "" {
				empty++
			} else {
				cut++
			}
			w.c.Do(turn.CancelResponse{Turn: "t-2"})
		})
	}
	t.Logf("200 presses: the requests were closed within %v (virtual); %d before anything was heard, %d in the middle", worst, empty, cut)
	if empty < 5 || cut < 50 {
		t.Errorf("%d presses before anything was heard, %d in the middle: this shows little", empty, cut)
	}
}

// unplayed is how many samples were handed over and not played yet.
func (w *world) unplayed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, int(time.Until(w.played)*kit.Rate/time.Second))
}
