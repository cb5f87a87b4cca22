package rehearsal

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// startStory asks for something long and returns after its first sound.
func startStory(c *wireClient) m {
	c.say("tell me a story")
	c.send(`{"type":"response.create"}`)
	return c.until("response.output_audio.delta")
}

func TestDropCutsInTheMiddle(t *testing.T) {
	o := quick()
	o.Faults.DropAfter = 500 * time.Millisecond
	_, url := serve(t, o)
	c := dial(t, url)
	startStory(c)
	for {
		e, err := c.next()
		if err == nil && e["type"] == "response.done" {
			t.Fatal("the answer came to its end")
		}
		if err != nil {
			if strings.Contains(err.Error(), "StatusNormal") || strings.Contains(err.Error(), "received close frame") {
				t.Errorf("a close frame was sent: %v", err)
			}
			return
		}
	}
}

func TestBlackHoleSwallowsEverything(t *testing.T) {
	o := quick()
	o.Faults.BlackHoleAfter = 500 * time.Millisecond
	_, url := serve(t, o)
	c := dial(t, url)
	startStory(c)
	// A ping needs a reader beside it; whatever was on the way is read, then nothing comes, not even a pong.
	go func() {
		for {
			if _, _, err := c.conn.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for {
		if err := c.conn.Ping(ctx); err != nil {
			if ctx.Err() == nil {
				t.Errorf("the connection ended (%v); want silence", err)
			}
			return
		}
	}
}

func TestLateDeltasAfterCancel(t *testing.T) {
	o := quick()
	o.Pace = 4
	o.Faults.LateAfterCancel = 200 * time.Millisecond
	_, url := serve(t, o)
	c := dial(t, url)
	id := startStory(c)["response_id"]
	c.send(`{"type":"response.cancel"}`)
	c.until("response.done")
	if e := c.until("response.output_audio.delta"); e["response_id"] != id {
		t.Errorf("late delta of %v; want %v", e["response_id"], id)
	}
}

func TestCancelledAnswerIsSilentAtOnce(t *testing.T) {
	o := quick()
	o.Pace = 4
	_, url := serve(t, o)
	c := dial(t, url)
	id := startStory(c)["response_id"].(string)
	c.send(`{"type":"response.cancel","response_id":%q}`, id)
	done := c.until("response.done")["response"].(m)
	if done["status"] != "cancelled" || get[string](done, "status_details", "reason") != "client_cancelled" {
		t.Errorf("response.done = %v", done)
	}
	from := len(c.seen)
	c.ask("what is your name")
	for _, e := range c.seen[from:] {
		if e["response_id"] == id {
			t.Errorf("%v of the cancelled response", e["type"])
		}
	}
}

// TestStepOfAFinishedResponseIsDropped: an answer's goroutine may hand over one more piece while it is being cancelled.
func TestStepOfAFinishedResponseIsDropped(t *testing.T) {
	x := newSession(New(quick()), "test", newRand(1))
	defer x.cancel(nil)
	for _, st := range []step{{text: "late", pcm: make([]int16, piece)}, {call: &Call{"stop", "{}"}}, {end: "completed"}} {
		st.r = &response{over: true, cancel: func() {}}
		x.step(st)
	}
	if n := len(x.out.frames); n != 0 {
		t.Errorf("%d events; want none", n)
	}
}

func TestNoiseOnTheWire(t *testing.T) {
	o := quick()
	o.Faults = Faults{Duplicate: 0.5, Garbage: 0.3, Unknown: 0.3, Huge: 200_000}
	_, url := serve(t, o)
	c := dial(t, url)
	c.say("hello")
	c.send(`{"type":"response.create"}`)
	ids, unknown, garbage, twice, huge := map[any]bool{}, 0, 0, 0, 0
	for done := false; !done; {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, data, err := c.conn.Read(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var e m
		if json.Unmarshal(data, &e) != nil || e["event_id"] == nil {
			garbage++
			continue
		}
		if ids[e["event_id"]] {
			twice++
		}
		ids[e["event_id"]] = true
		switch e["type"] {
		case "response.weather.changed":
			unknown++
		case "response.output_audio.delta":
			if len(e["delta"].(string)) >= 200_000 {
				huge++
			}
		case "response.done":
			done = true
		}
	}
	if unknown == 0 || garbage == 0 || twice == 0 || huge == 0 {
		t.Errorf("unknown %d, garbage %d, twice %d, huge %d; want some of each (seed %d)", unknown, garbage, twice, huge, o.Seed)
	}
}

func TestRefusals(t *testing.T) {
	s, url := serve(t, quick())
	c := dial(t, url)
	s.SetFaults(Faults{RefuseCommit: true})
	c.speak(make([]int16, Rate))
	if e := c.until("error", "input_audio_buffer.committed"); get[string](e, "error", "code") != "commit_failed" {
		t.Error(e)
	}
	s.SetFaults(Faults{RefuseResponse: true})
	c.send(`{"type":"response.create"}`)
	if e := c.until("error", "response.created"); get[string](e, "error", "code") != "rate_limit_exceeded" {
		t.Error(e)
	}
	s.SetFaults(Faults{})
	if got := c.ask("what is your name"); !strings.Contains(got, "conch") {
		t.Errorf("after the faults: %q", got)
	}
}

func TestParseFaults(t *testing.T) {
	got, err := ParseFaults("slow=2s, duplicate=0.1,fail,drop=1500ms,huge=10000000")
	want := Faults{FirstByte: 2 * time.Second, Duplicate: 0.1, FailResponse: true, DropAfter: 1500 * time.Millisecond, Huge: 1e7}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"slow", "slow=-1s", "slow=2", "duplicate=2", "duplicate=NaN", "fail=perhaps", "quake", "huge=-1"} {
		if f, err := ParseFaults(bad); err == nil {
			t.Errorf("%q was taken as %+v", bad, f)
		}
	}
}
