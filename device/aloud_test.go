package device

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	clips "conch/audio/words"
	"conch/coordinator"
)

// A story is told in lines: at a time, what holds; and what is said in the second after it.
func TestAloudSaysEachOnce(t *testing.T) {
	type at struct {
		after time.Duration
		held  string
		can   bool
		said  string
	}
	for name, story := range map[string][]at{
		"a button that does not work": {
			{0, buttonLost, true, ""}, {4 * time.Second, buttonLost, true, ""}, {5 * time.Second, buttonLost, true, "button_lost"},
			{time.Minute, buttonLost, true, ""}, {24 * time.Hour, buttonLost, true, ""},
		},
		"one that comes and goes is said once in six hours": {
			{0, buttonLost, true, ""}, {6 * time.Second, buttonLost, true, "button_lost"}, {7 * time.Second, "", true, ""},
			{8 * time.Second, buttonLost, true, ""}, {time.Hour, buttonLost, true, ""}, {6*time.Hour + 6*time.Second, buttonLost, true, "button_lost"},
		},
		"a hiccup is not worth a word": {
			{0, voiceLost, true, ""}, {30 * time.Second, voiceLost, true, ""}, {40 * time.Second, "", true, ""}, {50 * time.Second, voiceLost, true, ""},
			{100 * time.Second, voiceLost, true, ""},
		},
		"the cause is said, not what follows from it": {
			{0, voiceLost + " " + networkLost, true, ""}, {30 * time.Second, voiceLost + " " + networkLost, true, "network_lost"},
			{2 * time.Minute, voiceLost + " " + networkLost, true, ""}, {3 * time.Minute, voiceLost, true, "offline"},
		},
		"at night it waits for the morning": {
			{0, keyBroken, false, ""}, {8 * time.Hour, keyBroken, false, ""}, {9 * time.Hour, keyBroken, true, "key_broken"}, {10 * time.Hour, keyBroken, true, ""},
		},
		"and what is mended by then is not said": {
			{0, keyBroken, false, ""}, {8 * time.Hour, "", false, ""}, {9 * time.Hour, "", true, ""},
		},
		"two lights are one sentence": {
			{0, "light.lost light.misfit", true, ""}, {5 * time.Second, "light.lost light.misfit", true, "light_lost"}, {time.Minute, "light.lost light.misfit", true, ""},
		},
		"nobody says that there is no loudspeaker": {
			{0, "sound.speaker", true, ""}, {time.Hour, "sound.speaker", true, ""},
		},
		"many at once: five in an hour, the most important first": {
			{0, "sound.microphone " + buttonLost + " button.misfit " + keyBroken + " " + keyMissing + " state.unwritable light.lost", true, ""},
			{20 * time.Second, "sound.microphone " + buttonLost + " button.misfit " + keyBroken + " " + keyMissing + " state.unwritable light.lost", true,
				"no_microphone button_lost setting_wrong key_broken no_key"},
			{time.Hour + time.Minute, "state.unwritable light.lost", true, "disk_full light_lost"},
		},
	} {
		var c crier
		for _, a := range story {
			var said []string
			for range 10 { // looks of the same moment
				clip, code := c.look(a.after, strings.Fields(a.held), a.can)
				if clip == "" {
					break
				}
				said = append(said, clip)
				c.said(a.after, clip, code, true)
			}
			if got := strings.Join(said, " "); got != a.said {
				t.Errorf("%s: after %s it says %q; want %q", name, a.after, got, a.said)
			}
		}
	}
}

// What could not be said is tried again, a minute later.
func TestAloudTriesAgain(t *testing.T) {
	var c crier
	held := []string{keyBroken}
	c.look(0, held, true)
	clip, code := c.look(2*time.Second, held, true)
	c.said(2*time.Second, clip, code, false)
	if again, _ := c.look(30*time.Second, held, true); again != "" {
		t.Errorf("%q again after half a minute", again)
	}
	if again, _ := c.look(62*time.Second, held, true); again != "key_broken" {
		t.Errorf("%q after a minute; want key_broken", again)
	}
}

// Whatever conditions do for a day: never more than five sentences in any hour, none twice within six hours, none when it
// cannot be, and each only while its condition holds.
func TestAloudIsBounded(t *testing.T) {
	codes := []string{"sound.microphone", buttonLost, "button.misfit", keyBroken, keyMissing, clockWrong, networkLost, voiceLost, "state.unwritable", "light.lost", roomCut, "something.else"}
	rapid.Check(t, func(t *rapid.T) {
		var c crier
		now := time.Duration(0)
		var when []time.Duration
		last := map[string]time.Duration{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second
			held := rapid.SliceOfDistinct(rapid.SampledFrom(codes), rapid.ID[string]).Draw(t, "held")
			can := rapid.Bool().Draw(t, "can")
			clip, code := c.look(now, held, can)
			if clip == "" {
				continue
			}
			if !can || !slices.Contains(held, code) {
				t.Fatalf("says %s of %s; it can: %v, held: %v", clip, code, can, held)
			}
			if was, ok := last[clip]; ok && now-was < aloudAgain {
				t.Fatalf("says %s again after %s", clip, now-was)
			}
			last[clip] = now
			when = append(when, now)
			if n := len(when); n > aloudBurst && now-when[n-1-aloudBurst] < aloudHour {
				t.Fatalf("%d sentences within %s", aloudBurst+1, now-when[n-1-aloudBurst])
			}
			c.said(now, clip, code, true)
		}
	})
}

// Every sentence has its clip, and no sentence is for a condition that nobody sets.
func TestAloudHasItsClips(t *testing.T) {
	for _, n := range notices {
		if clips.Text(n.clip) == "" {
			t.Errorf("%s: there is no clip %q", n.code, n.clip)
		}
		if pcm, err := clips.Samples(n.clip); err != nil || len(pcm) < 24000 {
			t.Errorf("%s: clip %q: %d samples, %v", n.code, n.clip, len(pcm), err)
		}
	}
}

func TestNightIsTenToSevenOrAsTheLightHasIt(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for s, want := range map[string]bool{
		"2026-11-21 21:59": false, "2026-11-21 22:00": true, "2026-11-22 00:00": true, "2026-11-22 06:59": true, "2026-11-22 07:00": false,
		"1970-01-01 03:00": false, // whatever the clock says, it is not known
	} {
		if got := night(at(s), ""); got != want {
			t.Errorf("%s: night: %v", s, got)
		}
	}
	const siesta = "13:00-15:00"
	if !night(at("2026-11-21 14:00"), siesta) || night(at("2026-11-21 23:00"), siesta) {
		t.Error("light.quiet is not heeded")
	}
	b := newBox(t, boxOptions{})
	running, next := b.cfg, b.cfg
	if next.Light.Quiet = siesta; !b.take("light.quiet", &next, &running) || *b.lights.quiet.Load() != siesta {
		t.Errorf("after a reload it goes by %q", *b.lights.quiet.Load())
	}
}

// A sentence waits for its gap, for minutes if need be. What is mended by then is not said.
func TestAloudDoesNotSayWhatIsMended(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	say := func() coordinator.Outcome {
		return <-b.coordinator.InjectLocal(clipped+"network_lost "+networkLost, "test", aloudTTL)
	}
	if how := say(); how != coordinator.OutcomeFailed || b.audible() {
		t.Errorf("a network that is there: %s, audible %v; want failed, and silence", how, b.audible())
	}
	b.conds.set(networkLost, "no network", "wait")
	if how := say(); how != coordinator.OutcomeDelivered {
		t.Errorf("a network that is lost: %s; want delivered", how)
	}
}
