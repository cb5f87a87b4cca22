package device

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
)

// voiceKind says which voice the configuration comes to, and why.
func (c *Config) voiceKind() (kind, why string) {
	switch {
	case c.Voice.Kind == "auto" && c.Voice.Key.Set():
		return "realtime", "there is a key"
	case c.Voice.Kind == "auto":
		return "rehearsal", "no OPENAI_API_KEY and no voice.key_file"
	default:
		return c.Voice.Kind, "voice.kind"
	}
}

// speaks makes the realtime client a Voice: the same methods, with the coordinator's name for the outlet.
type speaks struct{ *realtime.Client }

func (s speaks) Run(ctx context.Context, out coordinator.Outlet) error { return s.Client.Run(ctx, out) }

// wireVoice makes the voice: the realtime client, and without a key the rehearsal server on loopback behind it.
func (d *Device) wireVoice() error {
	if d.opts.Voice != nil {
		d.voice, d.voiceWords = d.opts.Voice, "given"
		return nil
	}
	v := d.cfg.Voice
	conf := realtime.Config{
		URL: v.URL, Model: v.Model, Voice: v.Name, Instructions: d.instructions(), TranscriptionModel: v.Transcription,
		Key: d.cfg.liveKey, Log: d.log,
		Prices:  realtime.Prices{TextIn: v.PriceIn, AudioIn: v.PriceIn, TextOut: v.PriceOut, AudioOut: v.PriceOut},
		Ceiling: realtime.Ceiling{Tokens: int64(v.Ceiling)},
		Load:    d.loadUsage, Save: d.saveUsage,
	}
	kind, why := d.cfg.voiceKind()
	dialect := v.Dialect
	switch {
	case kind == "rehearsal":
		url, err := d.startRehearsal()
		if err != nil {
			return err
		}
		conf.URL, conf.Key, conf.Model, conf.Voice = url, func() string { return "rehearsal" }, "rehearsal", ""
		dialect = "ga"
		d.voiceWords = "rehearsal, on this machine (" + why + "); set OPENAI_API_KEY for a real one"
	default:
		d.voiceWords = fmt.Sprintf("realtime, %s at %s (%s)", v.Model, hostOf(v.URL), why)
	}
	if dialect == "auto" {
		dialect = dialectFor(v.URL)
	}
	var err error
	if conf.Dialect, err = realtime.DialectByName(dialect); err != nil {
		return fmt.Errorf("%w: config: voice.dialect: %w", ErrRefused, err)
	}
	client, err := realtime.New(conf)
	if err != nil {
		return fmt.Errorf("%w: config: voice: %w", ErrRefused, err)
	}
	d.voice = speaks{client}
	d.usage = func() any { return client.Usage() }
	return nil
}

// heardOf makes conditions of what the voice reports, on its way to the coordinator.
type heardOf struct {
	*coordinator.Coordinator
	d *Device
}

// voiceLost is the code of the condition that there is no session with the voice.
const voiceLost = "voice.lost"

func (h heardOf) Post(ev turn.Event) {
	switch e := ev.(type) {
	case turn.SessionReady:
		h.d.conds.clear(voiceLost)
	case turn.SessionLost:
		do := "check the network (see: conch doctor); it connects again by itself"
		switch e.Say {
		case turn.WordsKeyRefused:
			do = "put a valid key where this one came from (see: conch check); a key file is read again by itself, anything else after a restart"
		case turn.WordsQuota:
			do = "look at the account's limits and balance; it is tried again by itself"
		}
		h.d.conds.set(voiceLost, "no session with "+h.d.voiceWords+": "+wordsText(e.Say), do)
	}
	h.Coordinator.Post(ev)
}

// startRehearsal opens the rehearsal server on a loopback port of its own; Run serves it.
func (d *Device) startRehearsal() (address string, err error) {
	server := d.opts.Server
	if server == nil {
		server = rehearsal.New(rehearsal.Options{Log: d.log})
	}
	if address, err = server.Listen("127.0.0.1:0"); err != nil {
		return "", err
	}
	d.actors = append(d.actors, actor{"rehearsal", server.Run})
	d.voiceAbout = server.About()
	return address, nil
}

// instructions are who the companion is, with its name in front.
func (d *Device) instructions() string {
	return "Your name is " + d.cfg.Device.Companion + ". " + d.cfg.Voice.Instructions
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// dialectFor guesses a server's dialect by its address; what it does not know speaks GA.
func dialectFor(address string) string {
	switch host := hostOf(address); {
	case strings.HasSuffix(host, "x.ai"):
		return "xai"
	case strings.Contains(host, "dashscope"):
		return "qwen"
	default:
		return "ga"
	}
}

// loadUsage and saveUsage keep the day's usage, so that a restart does not reset a ceiling.
func (d *Device) loadUsage() ([]byte, error) {
	if d.store == nil {
		return nil, nil
	}
	var raw json.RawMessage
	if _, err := d.store.load("usage", &raw); err != nil {
		// Nobody is kept from talking by a file that cannot be read; the count begins anew, and that is said.
		d.conds.set("state.unreadable", err.Error(), "a ceiling counts from zero today; look at the disk if this comes again")
		return nil, nil
	}
	return raw, nil
}

func (d *Device) saveUsage(data []byte) error {
	if d.store == nil {
		return nil
	}
	return d.kept(d.store.save("usage", json.RawMessage(data)))
}

// ServeRehearsal offers the rehearsal voice to other clients until ctx ends.
func ServeRehearsal(ctx context.Context, addr, faults string, log *slog.Logger, out io.Writer) error {
	f, err := rehearsal.ParseFaults(faults)
	if err != nil {
		return fmt.Errorf("%w: --faults: %w", ErrRefused, err)
	}
	server := rehearsal.New(rehearsal.Options{Log: log, Faults: f})
	address, err := server.Listen(addr)
	if err != nil {
		return fmt.Errorf("%w: --serve: %w", ErrRefused, err)
	}
	fmt.Fprintf(out, "rehearsal voice at %s (%s); any key will do; Ctrl-C ends it\n", address, server.About())
	return server.Run(ctx)
}
