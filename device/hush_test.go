package device

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/cue"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
)

// hiss is the noise of a quiet room.
func hiss(d time.Duration) []int16 {
	r := rand.New(rand.NewPCG(3, 3))
	out := make([]int16, audio.Samples(d))
	for i := range out {
		out[i] = int16(r.IntN(48) - 24)
	}
	return out
}

// A press that cuts something and brings no speech is a hush: nothing is sent, nothing is said. One that cuts nothing has a cue.
// Speech is heard, however short the press.
func TestAPressWithoutSpeechIsAHush(t *testing.T) {
	t.Parallel()
	stop, err := rehearsal.NewSynthesizer().Say(t.Context(), "", "stop that please")
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, boxOptions{listens: true})
	press := func(held time.Duration, said []int16) control.Turn {
		return b.nextTurn(func() {
			b.hand.Press()
			b.card.Feed(slices.Concat(hiss(50*time.Millisecond), said, hiss(held+time.Second)))
			b.pause(held)
			b.hand.Release()
			b.until("released", func() bool { return b.coordinator.State() != turn.Listening })
			b.card.Hush()
		})
	}
	for _, row := range []struct {
		held   time.Duration
		during string // what is asked before
		said   []int16
		want   turn.Reason
	}{
		{120 * time.Millisecond, "long", nil, turn.Silenced},
		{200 * time.Millisecond, "long", nil, turn.Silenced},
		{300 * time.Millisecond, "long", nil, turn.Silenced},
		{450 * time.Millisecond, "long", nil, turn.Silenced},
		{50 * time.Millisecond, "long", nil, turn.Silenced},
		{300 * time.Millisecond, "", nil, turn.Empty},
		{900 * time.Millisecond, "long", stop, turn.Done},
		{900 * time.Millisecond, "", stop, turn.Done},
	} {
		if row.during != "" {
			b.question(row.during)
			b.until("it is heard", b.Speaking)
			b.pause(300 * time.Millisecond)
		}
		sent, turns := len(b.recognizer.lengths()), len(b.turnsEnded())
		r := press(row.held, row.said)
		if row.during != "" {
			b.until("the press has ended", func() bool { return len(b.turnsEnded()) > turns+1 })
			r = b.turnsEnded()[turns+1] // the first was cut
		}
		b.pause(150 * time.Millisecond) // the cue sounds behind the turn
		cues := b.card.Between(r.Ended, r.Ended+audio.CardDuration(len(audio.Upsample(cue.Samples("empty")))))
		switch {
		case r.Reason != row.want.String(), r.Words != "":
			t.Errorf("%+v: it ended as %s, words %q", row.held, r.Reason, r.Words)
		case (row.want == turn.Done) != (len(b.recognizer.lengths()) > sent):
			t.Errorf("%v: %d utterances were sent", row.held, len(b.recognizer.lengths())-sent)
		case (row.want == turn.Empty) != (audio.Peak(cues) > 0) && row.want != turn.Done && row.held > 100*time.Millisecond: // of ready
			t.Errorf("%v: the cue sounds at %d", row.held, audio.Peak(cues))
		}
	}
}

// TestAPressOnAMutedDevice: held for long, the user talks, and has words; a short one that cuts something is a hush, and so is each where
// taps begin and end a recording.
func TestAPressOnAMutedDevice(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode string
		held time.Duration
		want turn.Reason
		says turn.Words
	}{
		{"hold", 300 * time.Millisecond, turn.Silenced, ""},
		{"hold", 2 * time.Second, turn.Failed, turn.WordsMuted},
		{"tap", 2 * time.Second, turn.Silenced, ""},
	} {
		b := newBox(t, boxOptions{config: func(c *config.Config) { c.Button.Mode = row.mode }})
		if err := b.sound.SetMuted(true); err != nil {
			t.Fatal(err)
		}
		b.question("long")
		b.until("it is heard", b.Speaking)
		b.pause(300 * time.Millisecond)
		b.taps(row.held)
		b.until("the press has ended", func() bool { return len(b.turnsEnded()) == 2 })
		b.pause(1500 * time.Millisecond) // a button that is down could have words until then
		if r := b.turnsEnded()[1]; r.Reason != row.want.String() || r.Words != string(row.says) || len(b.turnsEnded()) != 2 {
			t.Errorf("%s, %v: it ended as %s, words %q", row.mode, row.held, r.Reason, r.Words)
		}
	}
}

// Two people press at one instant, and one of them says nothing: both are silent first, and the other is heard.
func TestFlatOneHushesAsAnotherSpeaks(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{listens: true})
	hall := f.raise("hall", "Ben", boxOptions{listens: true})
	f.meet()
	asks, err := rehearsal.NewSynthesizer().Say(t.Context(), "", "please tell me more")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		speaks, hushes := kitchen, hall // the person who speaks, and the one who wants silence
		if i%2 == 1 {
			speaks, hushes = hall, kitchen
		}
		kitchen.types("Ada, say something endless")
		kitchen.until("Ada is heard", kitchen.Speaking)
		kitchen.pause(200 * time.Millisecond)
		spoke, hushed := len(speaks.turnsEnded()), len(hushes.turnsEnded())
		first, second := speaks, hushes
		if i >= 2 {
			first, second = hushes, speaks
		}
		first.hand.Press()
		second.hand.Press()
		first.state(turn.Listening)
		second.state(turn.Listening)
		pressed := kitchen.now()
		speaks.card.Feed(slices.Concat(hiss(50*time.Millisecond), asks))
		hushes.card.Feed(hiss(time.Second))
		hushes.pause(200 * time.Millisecond)
		hushes.hand.Release()
		speaks.until("it is said", func() bool { return speaks.card.Fed() == 0 })
		speaks.pause(50 * time.Millisecond)
		if p := audio.Peak(kitchen.card.Between(pressed+400*time.Millisecond, kitchen.now())); p > 0 { // before that the cue ready sounds
			t.Errorf("%d: behind both presses the kitchen sounds at %d", i, p)
		}
		speaks.hand.Release()
		of := func(x *inFlat, from int, why turn.Reason) bool {
			return slices.ContainsFunc(x.turnsEnded()[from:], func(r control.Turn) bool { return r.Reason == why.String() })
		}
		hushes.until("the hush is one", func() bool { return of(hushes, hushed, turn.Silenced) })
		speaks.until("the utterance is committed", func() bool {
			return slices.ContainsFunc(speaks.turnsEnded()[spoke:], func(r control.Turn) bool { return r.Asked != "" && r.Cause == turn.CauseUtterance.String() })
		})
		f.calm()
		kitchen.until("the floor is free", func() bool { return !kitchen.room.Room.Taken() && !hall.room.Room.Taken() })
	}
}
