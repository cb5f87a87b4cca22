package audio_test

import (
	"testing"
	"time"

	"conch/audio"
)

// What has sounded before a silence was heard, all of it: nobody knows yet whether more will come, and a press in that
// silence must not be told as a cut. What is replayed when more does come counts once.
func TestWhatSoundedBeforeASilenceWasHeard(t *testing.T) {
	for _, drop := range []bool{false, true} {
		r := newRig(t)
		src := r.s.Open(audio.SourceSpeech, r.s.Generation())
		first, second := noise(24000, 1), noise(24000, 2)
		r.write(src, first)
		before := 0
		for range 3000 {
			r.c.Advance(time.Millisecond)
			h := src.Heard()
			if h < before || h > len(first) {
				t.Fatalf("heard %d after %d, of %d", h, before, len(first))
			}
			if h == len(first) && r.s.LastAudible() > r.now() {
				t.Fatalf("all of it was heard at %v; the last of it sounds until %v", r.now(), r.s.LastAudible())
			}
			before = h
		}
		if before != len(first) {
			t.Errorf("heard %d of %d (%v short), and silence for two seconds since", before, len(first), audio.CardDuration(2*(len(first)-before)))
		}
		if drop {
			r.s.Drop()
			r.c.Advance(20 * time.Millisecond)
			if h := src.Heard(); h != len(first) {
				t.Errorf("after a press in the silence %d of %d were heard", h, len(first))
			}
			continue
		}
		r.write(src, second)
		r.c.Advance(400 * time.Millisecond)
		if h := src.Heard(); h < 24000+9600-1200 || h > 24000+9600 {
			t.Errorf("400 ms into what came after the silence %d were heard; want %d, less the buffer of the card", h, 24000+9600)
		}
		r.s.Drop()
		r.c.Advance(20 * time.Millisecond)
		if h := src.Heard(); h < 24000 || h > 24000+9600+480 {
			t.Errorf("cut 400 ms into what came after the silence, %d were heard", h)
		}
	}
}
