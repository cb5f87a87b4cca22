package cascade

import (
	"math"
	"slices"
	"testing"

	"conch/companions/voice/kit"
)

// tone is a steady one, between two silences.
func tone(before, loud, after int) []int16 {
	pcm := make([]int16, before+loud+after)
	for i := range loud {
		pcm[before+i] = int16(9000 * math.Cos(2*math.Pi*200*float64(i)/kit.Rate))
	}
	return pcm
}

// Pieces are joined without the silences that they come with, with the pause of the text, and without a step, however they come.
func TestPiecesAreJoinedWithoutGapsAndClicks(t *testing.T) {
	var want []int16
	for _, step := range []int{kit.Rate, 480, 37, 1} {
		var j joiner
		var got []int16
		for i, end := range []ending{endClause, endSentence, endSentence} {
			pcm := tone(3000*i+500, kit.Rate/2, 4000*i)
			for at := 0; at < len(pcm); at += step {
				got = append(got, j.write(pcm[at:min(len(pcm), at+step)])...)
			}
			got = append(got, j.end(end)...)
		}
		// A clause's pause and a sentence's, of the three tones nothing but the fades: 4 ms before and behind each.
		if want, slack := 3*kit.Rate/2+pauses[endClause]+pauses[endSentence], 6*fade; len(got) < want-slack || len(got) > want+slack {
			t.Errorf("in pieces of %d: %d samples; want %d", step, len(got), want)
		}
		if loud(got) > 2*fade {
			t.Errorf("in pieces of %d: the first sound after %d samples", step, loud(got))
		}
		most := 0
		for i := 1; i < len(got); i++ {
			most = max(most, int(math.Abs(float64(got[i])-float64(got[i-1]))))
		}
		if most > 600 { // the tone itself moves by 471 a sample
			t.Errorf("in pieces of %d: a step of %d", step, most)
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("in pieces of %d it is another sound", step)
		}
	}
}

// A pause inside a piece stays, also a long one, and a piece that is quiet all through is played all the same.
func TestSilenceInsideAPieceStays(t *testing.T) {
	var j joiner
	pcm := slices.Concat(tone(0, 4800, 2*kit.Rate), tone(0, 4800, 0))
	got := append(j.write(pcm), j.end(endSentence)...)
	if n := len(got); n < len(pcm)-2*fade {
		t.Errorf("%d samples of %d", n, len(pcm))
	}
	j = joiner{}
	if got := append(j.write(make([]int16, 2*kit.Rate)), j.end(endSentence)...); len(got) == 0 {
		t.Error("a quiet piece is lost")
	}
}
