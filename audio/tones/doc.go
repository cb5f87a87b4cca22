// Package tones carries the six digits of a pairing code through the air of a room, from a small loudspeaker to a small
// microphone (PAIRING.md, "What a person does").
//
//	"482915" ─> 20 bits ─> Reed-Solomon code over GF(256), 3 of 20 symbols ─> 20 pairs of tones, and 6 known pairs between them
//
//	slot    0  1  2  3  4  5  6  7 …                              25       each 90 ms, 2.34 s in all
//	        P  d  d  d  d  P  d  d …                               P       P: known pair, d: pair that carries 8 bits
//	set     0  1  2  0  1  2  0  1 …                                       of frequencies
//
//	750 Hz  0 1 2 0 1 2 … (16 of each set) | 0 1 2 0 1 2 … (16 of each set)  2234 Hz
//	        one tone of the set sounds here | and one here
//
// What a room does to tones, and what is done about it:
//
//   - The tail of a tone goes on sounding, for the better part of a second. So a frequency may come again only three slots
//     later: the sets take turns. No pause is needed, and what still sounds of the tone itself is not lost but listened to.
//   - Echoes cancel single frequencies, a few hertz wide. So a frame has 52 tones and half of them are enough: the three
//     symbols are found from any three pairs that were heard, and then as many of all tones must agree as chance does not
//     bring about (see accept).
//   - Loudspeaker, microphone and automatic gain make one frequency louder than the other, and speech and music have tones of
//     their own. So a tone is only compared with the 15 others of its set, half and moment, and is a vote, never a measure.
//
// There is no start mark whose loss would lose the frame: one that is heard from its middle on is understood. Frames are not
// combined, because one is enough: in simulated rooms (TestRooms; make tones) none was missed down to 10 dB below the noise.
//
// The decoder works at 8 kHz: every 30 ms one FFT of 128 ms, the loudest of each of the six groups of 16 is kept (six bytes),
// and if enough known pairs stand where they should, the code is looked for. Whatever is heard, there is a bound to that work
// (BenchmarkFeed, BenchmarkSearch), and Feed allocates nothing but the code it found.
//
// Reed-Solomon: I. S. Reed and G. Solomon, Polynomial codes over certain finite fields, 1960; the field's polynomial is
// x^8+x^4+x^3+x^2+1.
package tones
