package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"conch/audio"
	"conch/device/config"
	"conch/device/sound"
	"conch/gpio"
)

// lookSound says which card was chosen.
func lookSound(w *wizard) (string, bool) {
	a := w.cfg.Audio
	if a.Backend == "null" {
		return w.lang.Phrase("setup.sound_off"), true
	}
	chosen := func(key string) bool { return strings.HasPrefix(w.cfg.Origin(key), "file ") }
	if !chosen("audio.playback") && !chosen("audio.capture") {
		return w.lang.Phrase("setup.sound_open"), false
	}
	text := w.lang.Phrase("setup.sound_chosen", "out", cmp.Or(a.Playback, w.lang.Phrase("setup.any")), "in", cmp.Or(a.Capture, w.lang.Phrase("setup.any")))
	return text, chosen("audio.playback") && chosen("audio.capture")
}

// askSound has a person hear a beep and their own voice, and writes the card on which they did.
func (w *wizard) askSound(ctx context.Context) error {
	if err := w.pause(ctx); err != nil {
		return err
	}
	t, err := sound.NewTrial(w.cfg, w.Log)
	if err != nil {
		return err
	}
	defer t.Close()
	devices, err := t.Devices()
	if err != nil {
		return err
	}
	speakers := ranked(devices, audio.PlaybackDevice, w.preferred(w.cfg.Audio.Playback))
	mics := ranked(devices, audio.CaptureDevice, w.preferred(w.cfg.Audio.Capture))
	if len(speakers)+len(mics) == 0 {
		w.fail(w.lang.Phrase("setup.no_card"), w.lang.Phrase("setup.plug_card"))
		return nil
	}
	var edits []config.Edit
	var said []string
	unheard := false
	for _, half := range []struct {
		key, none, flag string
		from            []audio.Device
		try             func(context.Context, *sound.Trial, audio.Device) (bool, error)
	}{
		{"audio.playback", w.lang.Phrase("setup.no_speaker"), w.Playback, speakers, w.beep},
		{"audio.capture", w.lang.Phrase("setup.no_mic"), w.Capture, mics, w.echo},
	} {
		if len(half.from) == 0 {
			said = append(said, half.none)
			w.say("  %s", w.lang.Phrase("setup.none_here", "what", half.none))
			continue
		}
		d, heard, err := w.pick(ctx, t, half.from, half.flag, half.try)
		if err != nil {
			return err
		}
		if !heard {
			said, unheard = append(said, w.lang.Phrase("setup.none_heard", "what", half.none)), true
			continue
		}
		said = append(said, d.Name)
		if half.key == "audio.playback" {
			t = t.On(d.ID, "")
		}
		if w.nobody && half.flag == "" { // nobody has heard it: what is taken by itself stays so
			continue
		}
		edits = append(edits, config.Edit{Key: half.key, Value: config.Quote(d.ID)})
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	if unheard {
		w.fail(strings.Join(said, "; "), w.lang.Phrase("setup.see_plugged"))
		return nil
	}
	if w.now.State != Skipped {
		w.with(w.now.State, "%s", strings.Join(said, "; "))
	}
	return nil
}

// preferred are words of the devices to propose first: what is configured, and the board's own card.
func (w *wizard) preferred(configured string) (words []string) {
	if configured != "" {
		words = append(words, configured)
	}
	if b, ok := gpio.FindBoard(w.cfg.Device.Board); ok {
		for _, c := range b.Cards {
			words = append(words, "CARD="+c+",")
		}
	}
	return words
}

// ranked are the devices of one kind, the likeliest first: what is preferred, what is on USB, the rest, the Pi's own jack, HDMI.
// Plug-ins in front of a card are left out where there is a card.
func ranked(all []audio.Device, kind audio.Kind, preferred []string) (list []audio.Device) {
	plain := func(d audio.Device) bool {
		return strings.HasPrefix(d.ID, "alsa:CARD=") || strings.HasPrefix(d.ID, "pulse:")
	}
	for _, d := range all {
		if d.Kind == kind && d.Backend != audio.BackendNull && !strings.HasSuffix(d.ID, ".monitor") {
			list = append(list, d)
		}
	}
	if slices.ContainsFunc(list, plain) {
		list = slices.DeleteFunc(list, func(d audio.Device) bool { return !plain(d) })
	}
	rank := func(d audio.Device) int {
		text := strings.ToLower(d.ID + " " + d.Name)
		switch i := slices.IndexFunc(preferred, func(p string) bool { return strings.Contains(d.ID, p) }); {
		case i >= 0:
			return i
		case strings.Contains(text, "hdmi"):
			return 104
		case strings.Contains(text, "card=headphones"), strings.Contains(text, "bcm2835"):
			return 103
		case d.Default:
			return 100
		case d.USB != "":
			return 101
		}
		return 102
	}
	slices.SortStableFunc(list, func(a, b audio.Device) int { return rank(a) - rank(b) })
	return list
}

// pick tries one device after the other until a person has heard it.
func (w *wizard) pick(ctx context.Context, t *sound.Trial, from []audio.Device, named string,
	try func(context.Context, *sound.Trial, audio.Device) (bool, error)) (d audio.Device, heard bool, err error) {
	if named != "" {
		if d, err = audio.Match(from, named); err != nil {
			return d, false, err
		}
		from = []audio.Device{d}
	}
	if w.nobody { // it is opened, in silence, by the appliance; here it is only named
		return from[0], true, nil
	}
	left := slices.Clone(from)
	for len(left) > 0 {
		i := 0
		if len(left) > 1 {
			var choices []choice
			for _, d := range left {
				choices = append(choices, choice{d.ID, d.Name + " (" + d.ID + ")"})
			}
			if i, err = w.choose(ctx, w.lang.Phrase("setup.try_which"), choices, 0); err != nil {
				return d, false, err
			}
		}
		d = left[i]
		heard, err := try(ctx, t, d)
		switch {
		case errors.Is(err, errLeft), errors.Is(err, errSkip), ctx.Err() != nil:
			return d, false, err
		case err != nil:
			w.say("  %s: %v", d.Name, err)
		case heard:
			return d, true, nil
		}
		left = slices.Delete(left, i, i+1)
	}
	return d, false, nil
}

const (
	beepLength = time.Second
	echoLength = 3 * time.Second
	quiet      = 0.01 // of full scale; a voice at arm's length is ten times as loud
)

// beep plays a tone, as often as somebody wants.
func (w *wizard) beep(ctx context.Context, t *sound.Trial, d audio.Device) (bool, error) {
	for {
		w.say("  %s", w.lang.Phrase("setup.beep", "card", d.Name))
		if err := t.On(d.ID, "").Tone(ctx, beepLength, io.Discard); err != nil {
			return false, err
		}
		if heard, again, err := w.heard(ctx, w.lang.Phrase("setup.heard_it"), true); err != nil || !again {
			return heard, err
		}
	}
}

// echo plays back what the microphone has heard.
func (w *wizard) echo(ctx context.Context, t *sound.Trial, d audio.Device) (bool, error) {
	for {
		if _, err := w.line(ctx, w.lang.Phrase("setup.say_something", "card", d.Name, "time", echoLength), ""); err != nil {
			return false, err
		}
		w.say("  %s", w.lang.Phrase("setup.recording"))
		sounds, peak, err := t.On("", d.ID).Record(ctx, echoLength)
		if err != nil {
			return false, err
		}
		switch {
		case peak == 0:
			w.say("  %s", w.lang.Phrase("setup.nothing_came"))
		case peak < quiet:
			w.say("  %s", w.lang.Phrase("setup.very_quiet", "percent", fmt.Sprintf("%.1f", 100*peak)))
		}
		if peak > 0 {
			w.say("  %s", w.lang.Phrase("setup.playing_back"))
			if err := t.Play(ctx, sounds, io.Discard); err != nil {
				w.say("  %s", w.lang.Phrase("setup.no_playback", "why", err))
			}
		}
		if heard, again, err := w.heard(ctx, w.lang.Phrase("setup.heard_self"), peak > 0); err != nil || !again {
			return heard, err
		}
	}
}

// heard asks a person, who may want it once more.
func (w *wizard) heard(ctx context.Context, question string, enter bool) (heard, again bool, err error) {
	words := map[bool]string{true: "Y/n/", false: "y/N/"}[enter] + w.lang.Phrase("setup.again")
	for {
		text, err := w.line(ctx, question, words)
		if err != nil {
			return false, false, err
		}
		switch text = strings.ToLower(text); {
		case slices.Contains(yesWords, text):
			return true, false, nil
		case slices.Contains(noWords, text):
			return false, false, nil
		case text == "r", text == "again":
			return false, true, nil
		case text == strings.ToLower(words):
			return enter, false, nil
		}
		w.say("%s", w.lang.Phrase("setup.y_n_r"))
	}
}
