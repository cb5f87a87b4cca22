// Package words says in plain words what went wrong, with clips that are shipped, so that it works with nothing
// installed and no network.
//
// The text stands in the table below; the clips were spoken from it once by flite (voice slt) and packed to 4 bits a
// sample at 16 kHz. Change a text, then make the clips anew: go generate ./audio/words (needs flite). A clip remembers
// a sum of its text, and a test compares.
package words

import (
	"embed"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"conch/audio"
	"conch/audio/words/adpcm"
)

//go:generate go run ./gen

// ClipRate is the rate of the clips.
const ClipRate = 16000

// texts: what happened, and what to do. Keys are the values of turn.Words; those of the second part are conditions of the
// device, said when nobody has asked; those of the third are steps of pairing.
var texts = map[string]string{
	"no_answer":     "I waited, but no answer came. Please ask me again.",
	"offline":       "I have no connection right now. Please check the network. I will keep trying.",
	"lost_midway":   "The connection broke while I was speaking. Please ask me again.",
	"key_refused":   "My access key was refused. Please put a valid key into the settings.",
	"quota":         "The service says we have used it too much. Please try again in a while.",
	"no_credit":     "The account of the service has no credit left. Please look at it.",
	"denied":        "The service does not allow this to us. Please look at the rights of my access key.",
	"model_refused": "The service does not have the model that I am set to. Please check its name in my settings.",
	"elsewhere":     "Something else answers in place of the service. Perhaps this network wants a login, or the address in my settings is wrong.",
	"not_trusted":   "I cannot trust the certificate of the service, so I do not connect. The doctor knows more.",
	"ceiling":       "We have used as much today as you allow. I will answer again tomorrow, or when you lift the limit.",
	"server_error":  "The service had a problem. Please try again.",
	"cut_short":     "My answer grew too long. Ask me to go on.",
	"filtered":      "The service does not allow this answer. Please ask something else.",
	"not_heard":     "I could not catch that. Please hold the button and say it again.",
	"tool_failed":   "That did not work, I am sorry. Please try again or ask for something else.",
	"stream_failed": "The playback broke off. This is not the end. Ask me to go on.",
	"held_too_long": "The button was down for a long time. Please let it go, then press it to talk.",
	"no_microphone": "I cannot hear the microphone. Please check that it is plugged in and not muted.",
	"muted":         "My microphone is off. To switch it on, hold the button for five seconds.",
	"key_broken":    "I cannot read my access key. Please enter it again.",
	"clock_wrong":   "My clock is wrong, so I cannot connect. It will be set when the network is there.",

	"button_lost":   "My button does not work. Please check its wire and its settings.",
	"light_lost":    "My light does not work. Please check its settings.",
	"no_key":        "I have no access key yet, so I only rehearse. Please give me one.",
	"disk_full":     "I cannot write to my disk. We can talk, but I will forget it at the next start.",
	"network_lost":  "The network is gone. I will be back when it is.",
	"room_cut":      "I cannot reach the other devices. I am on my own for now.",
	"setting_wrong": "Something in my settings does not fit. I start without it. The doctor knows more.",

	// Of pairing (PAIRING.md). The code is said digit by digit.
	"pair_code":       "Pairing.",
	"pair_listening":  "I am listening for the code.",
	"pair_paired":     "Paired.",
	"pair_wrong_code": "The code was wrong. Please pair again.",
	"pair_expired":    "The time for pairing is over.",
	"pair_closed":     "The other device has stopped pairing.",
	"pair_taken":      "Another device was paired just now.",
	"pair_nobody":     "I find no device that is pairing.",
	"pair_two_rooms":  "Two rooms are pairing. Please wait until one has finished.",
	"pair_not_heard":  "I could not hear the code. Please bring us closer together.",
	"pair_no_host":    "I cannot reach the device that keeps the room.",
	"pair_full":       "The room is full.",
	"pair_disk":       "My disk is full, so I cannot pair.",
	"pair_failed":     "I could not pair.",
	"pair_left":       "I have left the room.",
	"pair_removed":    "I was removed from the room.",

	"digit_0": "Zero.",
	"digit_1": "One.",
	"digit_2": "Two.",
	"digit_3": "Three.",
	"digit_4": "Four.",
	"digit_5": "Five.",
	"digit_6": "Six.",
	"digit_7": "Seven.",
	"digit_8": "Eight.",
	"digit_9": "Nine.",
}

//go:embed clips/*.adpcm
var clips embed.FS

// Keys lists the phrases.
func Keys() []string { return slices.Sorted(maps.Keys(texts)) }

// Text is what a phrase says, for a screen, a log or another voice; empty for a key there is not.
func Text(key string) string { return texts[key] }

// Samples decodes a phrase to 24 kHz. It takes some milliseconds and is not kept: failures are rare.
func Samples(key string) ([]int16, error) {
	b, err := clips.ReadFile("clips/" + key + ".adpcm")
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
