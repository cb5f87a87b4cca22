package cascade

import "conch/companions/voice/kit"

// joiner makes one speech of the sounds of its pieces: what a synthesizer leaves silent at the beginning and at the end is taken off, a
// pause as the text has it is put between, and each begins and ends in a fade, so that nothing clicks. It is pure.
//
//	piece    ____~~~~~~~~~__~~~~~~~~______        piece  ___~~~~~~~
//	joined       ~~~~~~~~~__~~~~~~~~     | pause |         ~~~~~~~
//
// Silence inside is held until sound comes behind it, for mostQuiet at most.
type joiner struct {
	sounding bool    // the piece has been heard
	risen    int     // samples of its fade at the beginning
	skipped  int     // samples of silence at its beginning
	held     []int16 // silence that may be its end, and the last that was loud, for the fade
	pause    int     // before the next piece
	any      bool    // some piece was heard
}

// Our choices.
const (
	threshold = 130                 // of 32768: 48 dB below full scale
	fade      = kit.Rate * 4 / 1000 // samples
	mostLead  = kit.Rate            // of silence that is taken off a beginning
	mostQuiet = kit.Rate * 7 / 10
)

var pauses = map[ending]int{endNowhere: kit.Rate * 2 / 100, endClause: kit.Rate * 11 / 100, endSentence: kit.Rate * 26 / 100}

// write takes samples of the piece, and returns what is to be played now.
func (j *joiner) write(pcm []int16) (out []int16) {
	if !j.sounding {
		at := loud(pcm)
		if at < 0 {
			j.skipped += len(pcm)
			if j.skipped < mostLead {
				return nil
			}
			at = 0 // it may be that quiet
		}
		pcm = pcm[at:]
		if j.any && j.pause > 0 {
			out = append(out, make([]int16, j.pause)...)
		}
		j.sounding, j.any, j.risen = true, true, 0
	}
	held := len(j.held)
	j.held = append(j.held, pcm...)
	for ; j.risen < fade && held < len(j.held); j.risen, held = j.risen+1, held+1 {
		j.held[held] = int16(int(j.held[held]) * j.risen / fade)
	}
	quiet := len(j.held) - 1 - lastLoud(j.held)
	if quiet > mostQuiet {
		quiet = 0
	}
	n := max(0, len(j.held)-quiet-fade)
	out = append(out, j.held[:n]...)
	j.held = j.held[:copy(j.held, j.held[n:])]
	return out
}

// end is the end of the piece; the next one begins behind a pause.
func (j *joiner) end(how ending) (out []int16) {
	if j.sounding {
		out = append(out, j.held[:min(len(j.held), lastLoud(j.held)+1)]...)
		n := min(fade, len(out))
		for i := range n {
			at := len(out) - n + i
			out[at] = int16(int(out[at]) * (n - 1 - i) / n)
		}
		j.pause = pauses[how]
	}
	j.sounding, j.skipped, j.held = false, 0, j.held[:0]
	return out
}

func loud(pcm []int16) int {
	for i, s := range pcm {
		if s > threshold || s < -threshold {
			return i
		}
	}
	return -1
}

func lastLoud(pcm []int16) int {
	for i := len(pcm) - 1; i >= 0; i-- {
		if s := pcm[i]; s > threshold || s < -threshold {
			return i
		}
	}
	return -1
}
