//go:build cgo

package audio_test

import (
	"testing"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/audio/audiotest"
	"conch/audio/pulsetest"
)

// named is a card of which one device is meant, by whoever can go back or by nobody.
type named struct {
	audio.Card
	out, in string
	back    audio.Rewinder
}

func (n named) OpenPlayback(c audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	c.Device, c.Back = n.out, n.back
	return n.Card.OpenPlayback(c, render)
}

func (n named) OpenCapture(c audio.StreamConfig, take func([]int16)) (audio.Stream, error) {
	c.Device = n.in
	return n.Card.OpenCapture(c, take)
}

// What is tried on the twin is worth something as long as real cards keep the same contract.
func TestRealCardsKeepTheContract(t *testing.T) {
	t.Run("ALSA", func(t *testing.T) {
		device := alsacard.Start(t, alsacard.Options{}).Device()
		audiotest.TestCard(t, named{Card: newCard(t, audio.BackendALSA), out: device, in: device}, nil)
	})
	t.Run("ALSA that gives back what it has", func(t *testing.T) {
		device := alsacard.Start(t, alsacard.Options{}).Device()
		audiotest.TestCard(t, named{newCard(t, audio.BackendALSA), device, device, audio.NewSpeaker(audio.SpeakerConfig{})}, nil)
	})
	t.Run("PulseAudio", func(t *testing.T) {
		pulsetest.Start(t)
		audiotest.TestCard(t, named{Card: newCard(t, audio.BackendPulse), out: pulsetest.Speaker, in: pulsetest.Mic}, nil)
	})
	t.Run("null", func(t *testing.T) {
		audiotest.TestCard(t, newCard(t, audio.BackendNull), nil)
	})
}
