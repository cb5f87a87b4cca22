// Package words says in plain words what went wrong, with clips that are shipped, so that it works with nothing
// installed and no network.
//
// The texts are the section clip of each language's file (device/language); the clips were spoken from them once, English by flite
// (voice slt), the others by espeak-ng, and packed as Opus, 9 kbit/s: they are a thirtieth of the program. Change a text, then make the
// clips anew: make clips. A clip remembers a sum of its text, and a test compares. A language without clips is spoken in English.
package words

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"conch/audio/decode"
	"conch/device/language"
)

//go:generate go run ./gen

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

// Samples decodes a phrase to 24 kHz. It takes a fiftieth of its length on a server's core, and is not kept: failures are rare.
func Samples(l language.Language, key string) ([]int16, error) {
	b, err := clips.ReadFile("clips/" + l.Code() + "/" + key + Suffix)
	if err != nil {
		b, err = clips.ReadFile("clips/" + language.English.Code() + "/" + key + Suffix)
	}
	if err != nil {
		return nil, fmt.Errorf("words: %q: there is no such clip (have %v)", key, Keys())
	}
	pcm, _, err := unpack(b)
	if err != nil {
		return nil, fmt.Errorf("words: %q: %w", key, err)
	}
	return pcm, nil
}

// A clip is Magic, the text's sum (little endian, 32 bit), and Ogg Opus.
const (
	Magic  = "CW02"
	Suffix = ".clip"
)

func unpack(b []byte) (pcm []int16, sum uint32, err error) {
	if len(b) < 8 || string(b[:4]) != Magic {
		return nil, 0, fmt.Errorf("not a clip (no %s at the beginning)", Magic)
	}
	sound, err := decode.NewSpeech(bytes.NewReader(b[8:]))
	for err == nil {
		var more []int16
		more, err = sound.Next()
		pcm = append(pcm, more...)
	}
	if !errors.Is(err, io.EOF) || len(pcm) == 0 {
		return nil, 0, fmt.Errorf("a clip without sound: %w", err)
	}
	return pcm, binary.LittleEndian.Uint32(b[4:]), nil
}
