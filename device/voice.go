package device

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/voice"
	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/provider"
)

// wireVoice makes the voices, one for each companion that lives here: realtime clients, and without a key the rehearsal
// server on loopback behind them.
func (d *Device) wireVoice() error {
	voices := d.room.Voices
	voices.Trouble = d.voiceTrouble
	if d.opts.Voice != nil {
		voices.Add(d.room.Cards[0].ID, d.opts.Voice, d.room.Cards[0].Uses)
		d.voiceWords = "given"
		return nil
	}
	kind, why := provider.Kind(&d.cfg)
	url := d.cfg.Voice.URL
	if kind == "rehearsal" {
		var err error
		if url, err = d.startRehearsal(); err != nil {
			return err
		}
		d.voiceWords = "rehearsal, on this machine (" + why + "); set OPENAI_API_KEY for a real one"
	} else {
		d.voiceWords = provider.Called(&d.cfg) + " (" + why + ")"
	}
	for i, card := range d.room.Cards {
		client, err := d.newVoice(card, i == 0, kind, url)
		if err != nil {
			return err
		}
		voices.Add(card.ID, client, card.Uses)
		d.usage.Add(client)
	}
	return nil
}

// newVoice is the session of one companion. The first one's usage is the device's, as it was before there were others.
func (d *Device) newVoice(card companions.Card, first bool, kind, address string) (*realtime.Client, error) {
	v := d.cfg.Voice
	conf, err := provider.Session(&d.cfg, card, kind, address)
	if err != nil {
		return nil, err
	}
	conf.Instructions = card.Instructions(companions.RoomContext{Place: d.cfg.Device.Name, Common: v.Instructions, Room: d.room.InRoom(),
		Others: d.others(card.ID)})
	conf.Log = d.log.With("companion", card.ID)
	d.usage.Prepare(&conf, card.ID, first)
	conf.Bent = func(parts []string, why string) { d.bentVoice(card, parts, why) }
	if kind != "rehearsal" {
		conf.Hold = d.world.Hold
	}
	d.room.Remembers(&conf, kind, card.ID)
	client, err := realtime.New(conf)
	if err != nil {
		return nil, fmt.Errorf("%w: config: voice: %w", control.ErrRefused, err)
	}
	return client, nil
}

// others are the companions beside one on this device; who else is in the room comes with each answer's prompt.
func (d *Device) others(self round.CompanionID) []companions.Other {
	var all []companions.Other
	for _, c := range d.room.Cards {
		if c.ID != self {
			all = append(all, companions.Other{Name: c.Name, Role: c.Role, Place: d.cfg.Device.Name})
		}
	}
	return all
}

// heardOf makes conditions of what the voice reports, on its way to the coordinator.
type heardOf struct {
	voice.Outlet
	d *Device
}

func (h heardOf) Post(ev turn.Event) {
	switch e := ev.(type) {
	case turn.ResponseRefused:
		h.d.usage.Refused(e)
	case turn.ResponseStarted:
		h.d.conds.Clear(condition.VoiceCeiling)
	case turn.SessionReady:
		h.d.world.Early(false)
		h.d.lostVoice(condition.VoiceLost, "", nil)
	case turn.SessionLost:
		h.d.world.Early(e.Say == turn.WordsClockWrong)
		h.d.lights.Session(e)
		h.d.lostVoice(condition.VoiceLost, "", &e)
	}
	h.d.room.Heard(ev)
	h.Outlet.Post(ev)
}

// voiceTrouble makes a condition of a companion's lost session, where another one has the microphone.
func (d *Device) voiceTrouble(id round.CompanionID, e *turn.SessionLost) {
	d.lostVoice(d.room.Voices.Lost(id), " for "+d.room.NameOf(id), e)
}

// lostVoice sets or clears the condition that there is no session.
func (d *Device) lostVoice(code condition.Code, whose string, e *turn.SessionLost) {
	if e == nil {
		d.conds.Clear(code)
		return
	}
	d.conds.Set(code, "no session with "+d.voiceWords+whose+": "+wordsText(e.Say), provider.Remedy(e.Say))
}

// Codes of the conditions that a server refused a part of the session: the words of the person, or something else.
const ()

// bentVoice sets or clears the conditions that a companion's session had to do without something.
func (d *Device) bentVoice(card companions.Card, parts []string, why string) {
	unheard, bent := condition.VoiceUnheard, condition.VoiceBent
	if card.ID != d.room.Cards[0].ID {
		unheard, bent = unheard.Of(string(card.ID)), bent.Of(string(card.ID))
	}
	deaf := slices.Contains(parts, "transcription")
	rest := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p == "transcription" })
	if deaf {
		d.conds.Set(unheard, fmt.Sprintf("the server refuses to write down what %s hears (%s): others in a room do not get to know it, and "+
			"nothing of it is remembered", card.Name, why),
			fmt.Sprintf("set voice.transcription to a model that the server knows, or to \"\" to ask for none (now: %q)", d.cfg.Voice.Transcription))
	} else {
		d.conds.Clear(unheard)
	}
	if len(rest) > 0 {
		d.conds.Set(bent, fmt.Sprintf("the server refuses a part of %s's session, which does without: %s (%s)", card.Name, strings.Join(rest, ", "), why),
			"look at voice.name, voice.model and voice.dialect (conch check)")
	} else {
		d.conds.Clear(bent)
	}
}

// startRehearsal opens the rehearsal server on a loopback port of its own; Run serves it.
func (d *Device) startRehearsal() (address string, err error) {
	server := d.opts.Server
	if server == nil {
		server = rehearsal.New(rehearsal.Options{Log: d.log, Discreet: true})
	}
	if address, err = server.Listen("127.0.0.1:0"); err != nil {
		return "", err
	}
	d.actors = append(d.actors, actor{"rehearsal", server.Run})
	d.voiceAbout = server.About()
	return address, nil
}

// ServeRehearsal offers the rehearsal voice to other clients until ctx ends.
// keyFile holds the only key that is let in; empty: any is.
func ServeRehearsal(ctx context.Context, addr, faults, keyFile string, log *slog.Logger, out io.Writer) error {
	f, err := rehearsal.ParseFaults(faults)
	if err != nil {
		return fmt.Errorf("%w: --faults: %w", control.ErrRefused, err)
	}
	o, who := rehearsal.Options{Log: log, Faults: f}, "any key will do"
	if keyFile != "" {
		if o.Key, err = readKey(keyFile); err != nil {
			return fmt.Errorf("%w: --key-file: %w", control.ErrRefused, err)
		}
		who = "with the key in " + keyFile
	}
	server := rehearsal.New(o)
	address, err := server.Listen(addr)
	if err != nil {
		return fmt.Errorf("%w: --serve: %w", control.ErrRefused, err)
	}
	fmt.Fprintf(out, "rehearsal voice at %s (%s); %s; Ctrl-C ends it\n", address, server.About(), who)
	return server.Run(ctx)
}

// readKey reads a file with a key and nothing else, which is for its owner's eyes only.
func readKey(path string) (string, error) {
	data, info, err := config.ReadBounded(path, config.MaxKey)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	key := strings.TrimSpace(string(data))
	switch wide := info.Mode().Perm() &^ 0o600; {
	case wide != 0:
		return "", fmt.Errorf("%s: mode %04o lets others read the key: chmod 600 it", path, info.Mode().Perm())
	case key == "" || !config.Sendable(key):
		return "", fmt.Errorf("%s: must hold one line of visible ASCII characters and nothing else", path)
	}
	return key, nil
}
