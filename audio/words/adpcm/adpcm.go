// Package adpcm packs 16 bit samples into 4 bits each, as IMA ADPCM does (IMA Digital Audio Focus, "Recommended
// Practices for Enhancing Digital Audio Compatibility", 1992): each code corrects a prediction by a multiple of a step
// that follows the signal. One predictor runs through the whole clip; there are no blocks.
package adpcm

var stepTable = [89]int32{
	7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
	130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
	1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484, 7132,
	7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
}

var indexTable = [8]int32{-1, -1, -1, -1, 2, 4, 6, 8}

// state is what coder and decoder share.
type state struct{ predicted, index int32 }

// step applies a code and returns the sample it stands for.
func (s *state) step(code byte) int16 {
	size := stepTable[s.index]
	diff := size >> 3
	if code&4 != 0 {
		diff += size
	}
	if code&2 != 0 {
		diff += size >> 1
	}
	if code&1 != 0 {
		diff += size >> 2
	}
	if code&8 != 0 {
		diff = -diff
	}
	s.predicted = max(-32768, min(32767, s.predicted+diff))
	s.index = max(0, min(88, s.index+indexTable[code&7]))
	return int16(s.predicted)
}

// Encode packs pcm, two samples a byte, the first in the low half; an odd one out is followed by a zero code.
func Encode(pcm []int16) []byte {
	var s state
	out := make([]byte, (len(pcm)+1)/2)
	for i, x := range pcm {
		diff, size, code := int32(x)-s.predicted, stepTable[s.index], byte(0)
		if diff < 0 {
			code, diff = 8, -diff
		}
		for bit := byte(4); bit > 0; bit >>= 1 {
			if diff >= size {
				code |= bit
				diff -= size
			}
			size >>= 1
		}
		s.step(code)
		out[i/2] |= code << (4 * (i % 2))
	}
	return out
}

// Decode unpacks what Encode made: two samples a byte.
func Decode(b []byte) []int16 {
	var s state
	pcm := make([]int16, 0, 2*len(b))
	for _, c := range b {
		pcm = append(pcm, s.step(c&15), s.step(c>>4))
	}
	return pcm
}
