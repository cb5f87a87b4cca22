package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/companions/voice/realtime/models"
	"conch/coordinator/turn"
)

// sessionLimit: a session is ready within a second; some servers load their models first. It is asked for behind the list of models.
const sessionLimit = 5 * time.Second

// check examines the server as one conversation, because each step stands on the one before: name, connection, certificate, key,
// model, session. One request is made, for the list of models, and one session opened, in which nothing is asked.
func check(ctx context.Context, x voice.Examined) (out voice.Findings) {
	dialect, err := SettingDialect(x.Settings)
	spoken, address, transcription := err == nil, x.URL, x.Transcription
	if spoken {
		address = dialect.Address(x.URL)
		if x.TranscriptionAssumed && (dialect.Guess || !dialect.Models) {
			transcription = "" // such a server is not asked for it
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		out.Bad("", "voice.url cannot be read", "a slip", "write it like wss://HOST/v1/realtime")
		return out
	}
	a := models.Server{Examined: x, Endpoint: u, KeyHeader: dialect.KeyHeader}.Ask(ctx)
	out = a.Findings()
	switch {
	case spoken && dialect.Guess:
		out.Note("dialect", "told by the server's first words, OpenAI's until then; voice.dialect names it", "")
	case spoken:
		out.OK("dialect", "%s", dialect.Name)
	}
	out = append(out, a.Models(x.Model, transcription)...)
	if !a.Failed() && x.Companion != nil {
		checkSession(ctx, x, u, &out)
	}
	return out
}

// checkSession opens a session; not beside the one that the running appliance has, because a server of one's own may have room for
// no second.
func checkSession(ctx context.Context, x voice.Examined, u *url.URL, out *voice.Findings) {
	switch {
	case strings.HasPrefix(x.Running(ctx), Called(x.Settings)+" "):
		out.OK("session", "the running appliance has one")
		return
	case x.KeyHidden:
		out.Note("session", "whether a session can be had cannot be seen without root", "sudo conch doctor")
		return
	case models.InClear(u) && !models.Home(u.Hostname()) && x.Key() != "":
		out.Note("session", "not tried: the key would pass the network in the clear", "")
		return
	}
	conf := Config{}
	companion, err := x.Companion()
	if err == nil {
		conf, err = Configure(x.Settings, companion)
	}
	if err == nil {
		err = conf.defaults()
	}
	if err != nil {
		out.Bad("session", "no session: "+err.Error(), "a setting of the voice", "conch check")
		return
	}
	conf.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(ctx, sessionLimit)
	defer cancel()
	t, err := try(ctx, &conf)
	cause, do := x.Told(t.say)
	part := "session"
	if t.say == turn.WordsKeyRefused {
		part = "key"
	}
	switch said := fitToPrint(t.said); {
	case errors.Is(err, context.DeadlineExceeded):
		out.Warn("session", "no session within "+sessionLimit.String(), "the server loads its model first, or it hangs", "wait, and look again: conch doctor")
	case err != nil && said != "":
		out.Bad(part, "no session; the server says: "+said, cause, do)
	case err != nil:
		out.Bad(part, "no session: "+err.Error(), cause, do)
	case len(t.without) > 0:
		out.Warn("session", fmt.Sprintf("opened without %s; the server says: %s", strings.Join(t.without, ", "), said),
			"the server does not have a part of it", "look at voice.name, voice.transcription, voice.model and voice.dialect (conch check)")
	default:
		out.OK("session", "opened in %d ms; nothing was asked", t.took.Milliseconds())
	}
}

// tried is a session that was had for a moment, or why there was none.
type tried struct {
	took    time.Duration
	without []string   // parts of it that the server refused, as Config.Omitted has them
	said    string     // by the server, of them or of why there is none; the key is not in it
	say     turn.Words // as a person is told why there is none
}

// try opens one session as Run does, until it is ready or refused, and closes it. It asks for nothing, so that it costs nothing.
func try(ctx context.Context, cfg *Config) (tried, error) {
	began, without := time.Now(), parts(0)
	for {
		l, err := cfg.open(ctx, cfg.Key(), kit.Wishes{}, without, handshakeTimeout)
		if err == nil {
			t := tried{took: time.Since(began), without: l.omitted.parts.names(), said: l.omitted.why}
			l.close()
			return t, nil
		}
		var no *refused
		if errors.As(err, &no) && no.omit != 0 { // it hung up on what it refused; each time less is left
			without = no.omit
			continue
		}
		t := tried{}
		t.say, _ = kit.WordsOf(err, cfg.Wall())
		if no != nil {
			t.said = no.Text
		}
		return t, err
	}
}

// fitToPrint is what a server says, fit for a terminal and for one line.
func fitToPrint(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
