package device

import "testing"

// A server that speaks more slowly than a person listens, over a real socket: the first answer has few holes, the second none,
// and its line in the log says how many.
func TestSlowSpeechIsBuffered(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{pace: 0.7})
	first := b.ask("long")
	b.answered(first)
	second := b.ask("long")
	b.answered(second)
	t.Logf("0.7 x real time: %d holes in the first answer, %d in the second, which begins after %.0f ms", first.Holes, second.Holes, second.CommitToFirstAudio)
	if first.Holes == 0 || first.Holes > 4 || second.Holes != 0 {
		t.Errorf("%d and %d holes; want 1 to 4, and none", first.Holes, second.Holes)
	}
}
