package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/inject"
)

// A sound that is made already waits like what the local voice says, and a press ends it for good.
func TestAnInjectedSoundIsCutByAPressAndNotOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", time.Second, 1)
		g.finish(id, "r1")
		done := g.InjectSound(t.Context(), tone(8*time.Second, 5), "code", time.Minute)
		g.settle()
		if g.journal.has("open words") {
			t.Fatal("it sounds over the answer")
		}
		time.Sleep(3 * time.Second) // it sounds
		g.settle()
		if !g.journal.has("open words") {
			t.Fatal("it does not sound after the answer")
		}
		g.journal.take()
		g.press()
		time.Sleep(settle)
		wantOutcome(t, "the sound", done, inject.Interrupted)
		g.Release(g.Now(), 0, button)
		time.Sleep(time.Minute)
		if g.journal.has("open words") {
			t.Error("it was offered again")
		}
		g.quiet()
	})
}

// Whoever asked for it takes it back: it is cut, and nothing but it.
func TestAnInjectedSoundIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
		ctx, cancel := context.WithCancel(t.Context())
		sounds := g.InjectSound(ctx, tone(8*time.Second, 5), "code", time.Minute)
		waits := g.InjectSound(ctx, tone(8*time.Second, 5), "another", time.Minute)
		stays := g.InjectSound(t.Context(), tone(time.Second, 5), "third", time.Minute)
		time.Sleep(3 * time.Second)
		cancel()
		time.Sleep(settle)
		wantOutcome(t, "the one that sounded", sounds, inject.Interrupted)
		wantOutcome(t, "the one that waited", waits, inject.Expired)
		if !g.journal.has("cut") {
			t.Error("nothing was cut")
		}
		time.Sleep(3 * time.Second)
		wantOutcome(t, "the one that nobody took back", stays, inject.Delivered)
		g.quiet()
	})
}
