package words

import (
	"hash/crc32"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"conch/audio"
	"conch/device/language"
)

// The values of turn.Words. This package may not import them; device checks that none is missing.
var wanted = []string{
	"no_answer", "offline", "lost_midway", "key_refused", "quota", "server_error", "not_heard", "tool_failed",
	"stream_failed", "paused_too_long", "held_too_long", "no_microphone", "cut_short", "filtered",
}

// What pairing says; device chooses among them.
var wantedOfPairing = []string{
	"pair_code", "pair_listening", "pair_paired", "pair_wrong_code", "pair_expired", "pair_closed", "pair_nobody", "pair_window", "pair_stopped",
	"pair_several", "pair_not_heard", "pair_no_host", "pair_full", "pair_disk", "pair_failed", "pair_left", "pair_removed",
	"digit_0", "digit_1", "digit_2", "digit_3", "digit_4", "digit_5", "digit_6", "digit_7", "digit_8", "digit_9",
}

func TestEveryPhraseHasAClipOfItsText(t *testing.T) {
	for _, key := range slices.Concat(wanted, wantedOfPairing) {
		if !slices.Contains(Keys(), key) {
			t.Errorf("%s has no text", key)
		}
	}
	dirs, err := clips.ReadDir("clips")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs { // a language without any is spoken in English
		t.Run(d.Name(), func(t *testing.T) { clipsOf(t, language.Language(d.Name())) })
	}
	if len(dirs) < 4 || dirs[1].Name() != "en" {
		t.Errorf("clips of %v", dirs)
	}
}

// clipsOf looks at all clips of a language.
func clipsOf(t *testing.T, l language.Language) {
	files, err := fs.Glob(clips, "clips/"+string(l)+"/*")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, f := range files {
		if key := strings.TrimSuffix(path.Base(f), Suffix); Text(l, key) == "" {
			t.Errorf("%s is a clip of no phrase", f)
		}
	}
	for _, key := range Keys() {
		b, err := clips.ReadFile("clips/" + string(l) + "/" + key + Suffix)
		if err != nil {
			t.Errorf("%s has no clip: make clips", key)
			continue
		}
		least, most := 0.5, 8.0
		if total += len(b); slices.Contains(wantedOfPairing, key) {
			least = 0.25
		}
		pcm, sum, err := unpack(b)
		if err != nil || sum != crc32.ChecksumIEEE([]byte(Text(l, key))) {
			t.Errorf("%s: the clip says something else than its text (err %v): make clips", key, err)
			continue
		}
		if s := float64(len(pcm)) / audio.Rate; s < least || s > most {
			t.Errorf("%s: %.1f s long; want %.2f to %.0f", key, s, least, most)
		}
		if db := 20 * math.Log10(rms(pcm)/32768); db < -30 || db > -9 {
			t.Errorf("%s: %.0f dB; want -30 to -9", key, db)
		}
		if head := audio.Peak(pcm[:16]); head > 300 {
			t.Errorf("%s: begins at %d: a click", key, head)
		}
	}
	if total > 300_000 { // what a language adds to the program
		t.Errorf("clips of %s are %d bytes; want at most 300000", l, total)
	}
}

// What has no clips of its own is said in English rather than not at all.
func TestALanguageWithoutClipsIsSpokenInEnglish(t *testing.T) {
	en, err := Samples(language.English, "offline")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Samples("xx", "offline"); err != nil || !slices.Equal(en, other) {
		t.Errorf("%d samples, %v", len(other), err)
	}
	if de, err := Samples("de", "offline"); err != nil || slices.Equal(en, de) {
		t.Errorf("German sounds as English does: %v", err)
	}
}

func TestUnknownPhraseIsAnError(t *testing.T) {
	if _, err := Samples(language.English, "nonsense"); err == nil || !strings.Contains(err.Error(), "no_answer") {
		t.Errorf("Samples(nonsense) = %v; want an error that lists what there is", err)
	}
	for _, b := range [][]byte{nil, []byte("CW02"), []byte("RIFFxxxxxxxxxxxx"), []byte("CW02aaaaOggS"), append([]byte("CW02aaaa\xff\xff\xff\xff"), 1)} {
		if _, _, err := unpack(b); err == nil {
			t.Errorf("unpack(%q) gives no error", b)
		}
	}
}

func rms(pcm []int16) float64 {
	sum := 0.0
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return math.Sqrt(sum / float64(len(pcm)))
}
