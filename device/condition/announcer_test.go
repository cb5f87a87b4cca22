package condition

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	clips "conch/audio/words"
	"conch/device/language"
)

func codesIn(text Code) (codes []Code) {
	for _, f := range strings.Fields(string(text)) {
		codes = append(codes, Code(f))
	}
	return codes
}

// A story is told in lines: at a time, what holds; and what is said in the second after it.
func TestAnnouncerSaysEachOnce(t *testing.T) {
	type at struct {
		after time.Duration
		held  Code // with spaces between several
		can   bool
		said  string
	}
	for name, story := range map[string][]at{
		"a button that does not work": {
			{0, ButtonLost, true, ""}, {4 * time.Second, ButtonLost, true, ""}, {5 * time.Second, ButtonLost, true, "button_lost"},
			{time.Minute, ButtonLost, true, ""}, {24 * time.Hour, ButtonLost, true, ""},
		},
		"one that comes and goes is said once in six hours": {
			{0, ButtonLost, true, ""}, {6 * time.Second, ButtonLost, true, "button_lost"}, {7 * time.Second, "", true, ""},
			{8 * time.Second, ButtonLost, true, ""}, {time.Hour, ButtonLost, true, ""}, {6*time.Hour + 6*time.Second, ButtonLost, true, "button_lost"},
		},
		"a hiccup is not worth a word": {
			{0, VoiceLost, true, ""}, {30 * time.Second, VoiceLost, true, ""}, {40 * time.Second, "", true, ""}, {50 * time.Second, VoiceLost, true, ""},
			{100 * time.Second, VoiceLost, true, ""},
		},
		"the cause is said, not what follows from it": {
			{0, VoiceLost + " " + NetworkLost, true, ""}, {30 * time.Second, VoiceLost + " " + NetworkLost, true, "network_lost"},
			{2 * time.Minute, VoiceLost + " " + NetworkLost, true, ""}, {3 * time.Minute, VoiceLost, true, "offline"},
		},
		"at night it waits for the morning": {
			{0, KeyBroken, false, ""}, {8 * time.Hour, KeyBroken, false, ""}, {9 * time.Hour, KeyBroken, true, "key_broken"}, {10 * time.Hour, KeyBroken, true, ""},
		},
		"and what is mended by then is not said": {
			{0, KeyBroken, false, ""}, {8 * time.Hour, "", false, ""}, {9 * time.Hour, "", true, ""},
		},
		"two lights are one sentence": {
			{0, "light.lost light.misfit", true, ""}, {5 * time.Second, "light.lost light.misfit", true, "light_lost"}, {time.Minute, "light.lost light.misfit", true, ""},
		},
		"nobody says that there is no loudspeaker": {
			{0, "sound.speaker", true, ""}, {time.Hour, "sound.speaker", true, ""},
		},
		"many at once: five in an hour, the most important first": {
			{0, "sound.microphone " + ButtonLost + " button.misfit " + KeyBroken + " " + KeyMissing + " state.unwritable light.lost", true, ""},
			{20 * time.Second, "sound.microphone " + ButtonLost + " button.misfit " + KeyBroken + " " + KeyMissing + " state.unwritable light.lost", true,
				"no_microphone button_lost setting_wrong key_broken no_key"},
			{time.Hour + time.Minute, "state.unwritable light.lost", true, "disk_full light_lost"},
		},
	} {
		var c Announcer
		for _, a := range story {
			var said []string
			for range 10 { // looks of the same moment
				clip, code := c.Look(a.after, codesIn(a.held), a.can)
				if clip == "" {
					break
				}
				said = append(said, clip)
				c.Said(a.after, clip, code, true)
			}
			if got := strings.Join(said, " "); got != a.said {
				t.Errorf("%s: after %s it says %q; want %q", name, a.after, got, a.said)
			}
		}
	}
}

// What could not be said is tried again, a minute later.
func TestAnnouncerTriesAgain(t *testing.T) {
	var c Announcer
	held := []Code{KeyBroken}
	c.Look(0, held, true)
	clip, code := c.Look(2*time.Second, held, true)
	c.Said(2*time.Second, clip, code, false)
	if again, _ := c.Look(30*time.Second, held, true); again != "" {
		t.Errorf("%q again after half a minute", again)
	}
	if again, _ := c.Look(62*time.Second, held, true); again != "key_broken" {
		t.Errorf("%q after a minute; want key_broken", again)
	}
}

// Whatever conditions do for a day: never more than five sentences in any hour, none twice within six hours, none when it
// cannot be, and each only while its condition holds.
func TestAnnouncerIsBounded(t *testing.T) {
	codes := []Code{SoundMicrophone, ButtonLost, ButtonMisfit, KeyBroken, KeyMissing, ClockWrong, NetworkLost, VoiceLost, StateUnwritable, LightLost, RoomCut, "something.else"}
	rapid.Check(t, func(t *rapid.T) {
		var c Announcer
		now := time.Duration(0)
		var when []time.Duration
		last := map[string]time.Duration{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second
			held := rapid.SliceOfDistinct(rapid.SampledFrom(codes), rapid.ID[Code]).Draw(t, "held")
			can := rapid.Bool().Draw(t, "can")
			clip, code := c.Look(now, held, can)
			if clip == "" {
				continue
			}
			if !can || !slices.Contains(held, code) {
				t.Fatalf("says %s of %s; it can: %v, held: %v", clip, code, can, held)
			}
			if was, ok := last[clip]; ok && now-was < Again {
				t.Fatalf("says %s again after %s", clip, now-was)
			}
			last[clip] = now
			when = append(when, now)
			if n := len(when); n > Burst && now-when[n-1-Burst] < time.Hour {
				t.Fatalf("%d sentences within %s", Burst+1, now-when[n-1-Burst])
			}
			c.Said(now, clip, code, true)
		}
	})
}

// Every sentence has its clip, and no sentence is for a condition that nobody sets.
func TestAnnouncerHasItsClips(t *testing.T) {
	for _, n := range table {
		if n.clip == "" {
			continue
		}
		if clips.Text(language.English, n.clip) == "" {
			t.Errorf("%s: there is no clip %q", n.code, n.clip)
		}
		if pcm, err := clips.Samples(language.English, n.clip); err != nil || len(pcm) < 24000 {
			t.Errorf("%s: clip %q: %d samples, %v", n.code, n.clip, len(pcm), err)
		}
	}
}
