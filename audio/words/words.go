// Package words says in plain words what went wrong, with clips that are shipped, so that it works with nothing
// installed and no network.
//
// The texts are the section clip of each language's file (device/language); the clips were spoken from them once, English by flite
// (voice slt), the others by espeak-ng, and packed to 4 bits a sample at 16 kHz. Change a text, then make the clips anew: make clips. A
// clip remembers a sum of its text, and a test compares. A language without clips is spoken in English.
package words

import (
	"embed"
	"encoding/binary"
	"fmt"

	"conch/audio"
	"conch/audio/words/adpcm"
	"conch/device/language"
)

//go:generate go run ./gen

// ClipRate is the rate of the clips.
const ClipRate = 16000

//go:embed clips
var clips embed.FS

// Keys lists the phrases: the values of turn.Words, conditions of the device, and steps of pairing.
func Keys() []string { return language.Keys("clip") }

// Text is what a phrase says, for a screen, a log or another voice; empty for a key there is not.
func Text(l language.Language, key string) string {
	if !language.Has("clip." + key) {
		return ""
	}
	return l.Phrase("clip." + key)
}

// Samples decodes a phrase to 24 kHz. It takes some milliseconds and is not kept: failures are rare.
func Samples(l language.Language, key string) ([]int16, error) {
	b, err := clips.ReadFile("clips/" + l.Code() + "/" + key + ".adpcm")
	if err != nil {
		b, err = clips.ReadFile("clips/" + language.English.Code() + "/" + key + ".adpcm")
	}
	if err != nil {
		return nil, fmt.Errorf("words: %q: there is no such clip (have %v)", key, Keys())
	}
	pcm, _, err := unpack(b)
	if err != nil {
		return nil, fmt.Errorf("words: %q: %w", key, err)
	}
	return audio.Resample(pcm, ClipRate, audio.Rate)
}

// Magic begins a clip; then come the text's sum, the number of samples, the codes. Numbers are little endian, 32 bit.
const Magic = "CW01"

func unpack(b []byte) (pcm []int16, sum uint32, err error) {
	if len(b) < 12 || string(b[:4]) != Magic {
		return nil, 0, fmt.Errorf("not a clip (no %s at the beginning)", Magic)
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	pcm = adpcm.Decode(b[12:])
	if n > len(pcm) || n < len(pcm)-1 {
		return nil, 0, fmt.Errorf("clip says %d samples and has %d", n, len(pcm))
	}
	return pcm[:n], binary.LittleEndian.Uint32(b[4:]), nil
}
