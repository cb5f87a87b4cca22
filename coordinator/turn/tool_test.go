package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What tools do, told by what is left of it: the volume at the end, what was started, what was stopped, what sounded.
type toolWorld struct {
	volume                      int
	sounds, started, discarded  []Handle
	bookStopped, narrated, over bool
}

const book Handle = 99 // plays when the turn begins

// returnsIn lets the calls of one response return in the given order, and carries the turn to its end. The effect of call
// i has handle or volume i+1.
func returnsIn(t *testing.T, kinds []EffectKind, order []int) toolWorld {
	t.Helper()
	b := newBench(t, Config{}).run("ready", "ask t-0 play", "started t-0 r0", "tool-called t-0 r0 c play",
		fmt.Sprintf("tool-returned t-0 c ok audio_stream %d", book), "done t-0 r0", "drained t-0",
		"inject t-1 go", "started t-1 r1").forget()
	for i := range kinds {
		b.feed(ToolCalled{At: b.now, Turn: "t-1", Response: "r1", Call: CallID(fmt.Sprint("c", i)), Name: "x"})
	}
	b.feed(ResponseDone{At: b.now, Turn: "t-1", Response: "r1"})
	for _, i := range order {
		e := ToolReturned{At: b.now, Turn: "t-1", Call: CallID(fmt.Sprint("c", i)), Output: "ok", Effect: kinds[i]}
		switch kinds[i] {
		case EffectAudioStream, EffectPlaySound, EffectInputClaim:
			e.Handle = Handle(i + 1)
		case EffectSetVolume:
			e.Volume = i + 1
		}
		b.feed(e)
	}
	b.run("started t-1 r2", "delta t-1 r2 b 100", "done t-1 r2", "drained t-1")
	return leftBy(b.out)
}

// leftBy is what orders have left of it.
func leftBy(out []Effect) toolWorld {
	var w toolWorld
	for _, e := range out {
		switch e := e.(type) {
		case SetVolume:
			w.volume = e.Volume
		case PlaySound:
			w.sounds = append(w.sounds, e.Handle)
		case StartStream:
			w.started = append(w.started, e.Handle)
		case StartClaim:
			w.started = append(w.started, e.Handle)
		case DiscardHandle:
			w.discarded = append(w.discarded, e.Handle)
		case StopStream:
			w.bookStopped = w.bookStopped || e.Handle == book
		case CreateResponse:
			w.narrated = true
		case EndTurn:
			w.over = e.Summary.Reason == Done
		}
	}
	slices.Sort(w.discarded)
	return w
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

// TURNS.md 3: a later call beats an earlier one, whichever tool returns first. Every four effects, in every order.
func TestTheOrderOfReturnDecidesNothing(t *testing.T) {
	const n = 4
	orders, broken := permutations(n), 0
	for code := range 6 * 6 * 6 * 6 {
		kinds := make([]EffectKind, n)
		for i := range kinds {
			kinds[i] = EffectKind(code % 6)
			code /= 6
		}
		want := returnsIn(t, kinds, []int{0, 1, 2, 3})
		if !want.over {
			t.Fatalf("the turn of %v did not end: %+v", kinds, want)
		}
		for _, order := range orders {
			if got := returnsIn(t, kinds, order); fmt.Sprint(got) != fmt.Sprint(want) {
				if broken++; broken <= 5 {
					t.Errorf("%v returning in the order %v leads to\n\t%+v; as called to\n\t%+v", kinds, order, got, want)
				}
			}
		}
	}
	if broken > 0 {
		t.Errorf("%d of %d orders of return led elsewhere", broken, 6*6*6*6*len(orders))
	}
}

// The same, each pair in words, so that what is wanted does not rest on the machine's own opinion of the order as called.
func TestALaterCallBeatsAnEarlierOne(t *testing.T) {
	for _, row := range []struct {
		name  string
		calls []EffectKind
		want  toolWorld
	}{
		{"play, stop", []EffectKind{EffectAudioStream, EffectCancelMedia}, toolWorld{discarded: []Handle{1}, bookStopped: true}},
		{"stop, play", []EffectKind{EffectCancelMedia, EffectAudioStream}, toolWorld{started: []Handle{2}, bookStopped: true}},
		{"play, play", []EffectKind{EffectAudioStream, EffectAudioStream}, toolWorld{started: []Handle{2}, discarded: []Handle{1}}},
		{"volume 1, volume 2", []EffectKind{EffectSetVolume, EffectSetVolume}, toolWorld{volume: 2, narrated: true}},
		{"call, call", []EffectKind{EffectInputClaim, EffectInputClaim}, toolWorld{started: []Handle{2}, discarded: []Handle{1}}},
		{"sound, sound", []EffectKind{EffectPlaySound, EffectPlaySound}, toolWorld{sounds: []Handle{2}, discarded: []Handle{1}, narrated: true}},
		{"call, stop: a call is no media", []EffectKind{EffectInputClaim, EffectCancelMedia}, toolWorld{started: []Handle{1}, bookStopped: true}},
		{"play, call: whoever calls hears no book", []EffectKind{EffectAudioStream, EffectInputClaim}, toolWorld{started: []Handle{2}, discarded: []Handle{1}}},
	} {
		row.want.over = true
		if slices.Contains(row.calls, EffectCancelMedia) {
			row.want.narrated = true // nothing had been said
		}
		for _, order := range permutations(2) {
			if got := returnsIn(t, row.calls, order); fmt.Sprint(got) != fmt.Sprint(row.want) {
				t.Errorf("%s, returning in the order %v: %+v; want %+v", row.name, order, got, row.want)
			}
		}
	}
}

// An instant effect waits for nobody: it is there while an earlier call still works.
func TestAnInstantEffectWaitsForNoOtherCall(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).run("tool-called t-1 r1 c1 slow", "tool-called t-1 r1 c2 set_volume").forget()
	b.run("tool-returned t-1 c2 ok set_volume - 90")
	b.want("SendToolOutput turn=t-1 call=c2 output=ok", "SetVolume turn=t-1 volume=90")
	b.forget().run("tool-returned t-1 c1 ok set_volume - 10")
	b.want("SendToolOutput turn=t-1 call=c1 output=ok", `DropStale turn=t-1 event=ToolReturned why="a later call has set the volume"`)
}

// Whatever a tool says, the volume is one that there is.
func TestTheVolumeIsBounded(t *testing.T) {
	for said, want := range map[string]int{"-5": 0, "0": 0, "100": 100, "300": 100} {
		b := newBench(t, Config{}).run(toWorking...).forget().run("tool-returned t-1 c1 ok set_volume - " + said)
		if v, ok := b.out[1].(SetVolume); !ok || v.Volume != want {
			t.Errorf("asked for %s: %s; want %d", said, show(b.out[1]), want)
		}
	}
}

// The calls of a turn are in one order, also those of different responses: what was latched before is earlier.
func TestALaterResponseBeatsAnEarlierOne(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).run(
		"tool-called t-1 r1 c1 play", "tool-called t-1 r1 c2 clock", "tool-returned t-1 c2 noon", "tool-returned t-1 c1 ok audio_stream 1", "done t-1 r1",
		"started t-1 r2", "tool-called t-1 r2 c3 stop", "tool-returned t-1 c3 ok cancel_media", "done t-1 r2",
		"started t-1 r3", "delta t-1 r3 c 100", "done t-1 r3", "drained t-1")
	b.wantHas("DiscardHandle turn=t-1 handle=1 kind=audio_stream why=cancelled")
	b.wantNot("StartStream")
	if !b.has("EndTurn") {
		t.Errorf("the turn did not end:\n\t%s", strings.Join(b.orders(), "\n\t"))
	}
}

// Calls of a held turn begin together when the floor opens, and keep their order.
func TestCallsOfAHeldTurnKeepTheirOrder(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toHeldSpeaking...).run("tool-called t-1 r1 c1 set_volume", "tool-called t-1 r1 c2 set_volume",
		"floor-opened t-1").forget().run("tool-returned t-1 c2 ok set_volume - 90", "tool-returned t-1 c1 ok set_volume - 10")
	b.wantHas("SetVolume turn=t-1 volume=90")
	b.wantNot("SetVolume turn=t-1 volume=10")
}
