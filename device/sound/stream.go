// Package sound is the sound card of a device: what it is asked for by configuration, whoever opens it (the appliance, its doctor,
// a benchmark), and the Card that an appliance keeps open, or closed.
//
//	New ─> RunPlayback: open, watch, open again      up, down, slow ─> conditions
//	       RunCapture:  the same, but while muted    SetMuted: returns when the device is closed
package sound

import (
	"fmt"
	"time"

	"conch/audio"
	"conch/device/config"
)

// Playback is what the loudspeaker is asked for.
func Playback(a config.Audio) audio.StreamConfig {
	return audio.StreamConfig{Device: a.Playback, Period: a.Period, Periods: a.Periods}
}

// capturePeriod is longer than playback's: nothing about silence depends on it, and it wakes the processor a quarter as often. A
// frame of what is sent is as long.
const capturePeriod = 20 * time.Millisecond

// Capture is what the microphone is asked for.
func Capture(a config.Audio) audio.StreamConfig {
	return audio.StreamConfig{Device: a.Capture, Period: capturePeriod, Periods: 3}
}

// OpenLoudspeaker opens it as the appliance would, and closes it.
func OpenLoudspeaker(cfg config.Config, card audio.Card) (audio.Granted, error) {
	stream, err := audio.NewSpeaker(audio.SpeakerConfig{Fade: cfg.Audio.Fade}).OpenOn(card, Playback(cfg.Audio))
	if err != nil {
		return audio.Granted{}, err
	}
	return stream.Granted(), stream.Close()
}

// Words say what a loudspeaker gave, and what that means.
func Words(cfg config.Config, g audio.Granted) string {
	return fmt.Sprintf("%s; silent within %.1f ms of a press", g.Buffer(Playback(cfg.Audio)), ms(g.Bound(cfg.Audio.Fade)))
}
