package audio_test

import (
	"context"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/audiotest"
)

// rig is a speaker on a twin card whose time a test moves by hand; Watch runs after each period.
type rig struct {
	t   testing.TB
	s   *audio.Speaker
	c   *audiotest.Card
	now func() time.Duration
	str audio.Stream
}

func newRig(t testing.TB) *rig {
	clock := audiotest.NewClock()
	card := audiotest.New(clock)
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: clock.Now, Volume: &full, Cues: &full})
	str, err := card.OpenPlayback(audio.StreamConfig{}, s.Render)
	if err != nil {
		t.Fatal(err)
	}
	s.SetQueued(str.Granted().Queued())
	card.AfterPeriod = func(time.Duration) { s.Watch() }
	return &rig{t: t, s: s, c: card, now: clock.Now, str: str}
}

// noise is never zero, and no two stretches of it are alike.
func noise(n, seed int) []int16 {
	pcm := make([]int16, n)
	x := uint32(seed)*2654435761 + 12345
	for i := range pcm {
		x = x*1664525 + 1013904223
		pcm[i] = int16(x>>18) - 8192 // +-8192
		if pcm[i] == 0 {
			pcm[i] = 1
		}
	}
	return pcm
}

func (r *rig) write(src *audio.Source, pcm []int16) {
	r.t.Helper()
	if n := src.Write(context.Background(), pcm); n != len(pcm) {
		r.t.Fatalf("Write took %d of %d samples", n, len(pcm))
	}
}

// mixed is the tape at 24 kHz: the odd frames are the mix itself, bit for bit.
func (r *rig) mixed() []int16 {
	frames, _ := r.c.Tape()
	var out []int16
	for i := 1; i < len(frames); i += 2 {
		out = append(out, frames[i])
	}
	return out
}

// find is where part begins in all, or -1.
func find(all, part []int16) int {
next:
	for i := 0; i+len(part) <= len(all); i++ {
		for j, x := range part {
			if all[i+j] != x {
				continue next
			}
		}
		return i
	}
	return -1
}

func drained(src *audio.Source) bool {
	select {
	case <-src.Drained():
		return true
	default:
		return false
	}
}

const fadeSamples = 48 // 2 ms of cosine

func TestWhatIsWrittenIsHeardExactly(t *testing.T) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(24000, 1)
	r.write(src, pcm)
	src.Close()
	for range 300 {
		r.c.Advance(5 * time.Millisecond)
		if drained(src) {
			break
		}
		if h := src.Heard(); h > 24000 {
			t.Fatalf("heard %d of 24000", h)
		}
	}
	if !drained(src) || src.Heard() != len(pcm) {
		t.Fatalf("after the end: drained %v, heard %d; want true, %d", drained(src), src.Heard(), len(pcm))
	}
	r.c.Advance(20 * time.Millisecond)
	if i := find(r.mixed(), pcm[fadeSamples:len(pcm)-fadeSamples]); i < 0 {
		t.Fatal("the samples between the two fades are not on the tape as they were written")
	}
}
