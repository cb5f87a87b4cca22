package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"conch/device/config"
	"conch/device/doctor"
	"conch/device/provider"
)

// keyThere says whether the service has a key, or whoever reads the configuration.
func (w *wizard) keyThere() bool {
	if w.cfg.Voice.Key.Set() {
		return true
	}
	text, err := config.ReadSecret(KeyFile(w.Keys))
	return err == nil && text != ""
}

func ownServer(w *wizard) bool { return w.cfg.Voice.URL != config.Default().Voice.URL }

// lookVoice says who answers.
func (w *wizard) lookVoice() (string, bool) {
	switch v := w.cfg.Voice; {
	case v.Kind == "rehearsal":
		return w.lang.Phrase("setup.voice_rehearsal"), true
	case ownServer(w) && v.Model == config.Default().Voice.Model: // OpenAI's: the server has one of its own
		return v.URL, true
	case ownServer(w):
		return w.lang.Phrase("setup.voice_server", "url", v.URL, "model", v.Model), true
	case w.keyThere():
		return w.lang.Phrase("setup.voice_key"), true
	}
	return w.lang.Phrase("setup.voice_no_key"), false
}

// askVoice asks whom to talk with, and tries it before it is written.
func (w *wizard) askVoice(ctx context.Context) error {
	if w.URL != "" || w.Model != "" || w.KeyFrom != "" {
		return w.namedVoice(ctx)
	}
	const openai, own, rehearsal = 0, 1, 2
	enter := rehearsal
	if ownServer(w) {
		enter = own
	} else if w.keyThere() {
		enter = openai
	}
	i, err := w.choose(ctx, w.lang.Phrase("setup.who_answers"), []choice{
		{"openai", w.lang.Phrase("setup.by_openai")},
		{"server", w.lang.Phrase("setup.by_server")},
		{"rehearsal", w.lang.Phrase("setup.by_rehearsal")},
	}, enter)
	if err != nil {
		return err
	}
	switch {
	case w.nobody:
		w.now.Text, _ = w.lookVoice()
		return nil
	case i == openai:
		return w.askKey(ctx)
	case i == own:
		return w.askServer(ctx)
	}
	return w.noVoice(ctx)
}

// noVoice has the rehearsal voice answer; a key that is there stays.
func (w *wizard) noVoice(ctx context.Context) error {
	if !w.keyThere() && !ownServer(w) && w.cfg.Voice.Kind == "auto" {
		w.with(Unchanged, "%s", w.lang.Phrase("setup.voice_later"))
		return nil
	}
	return w.setVoice(ctx, []config.Edit{{Key: "voice.kind", Value: config.Quote("rehearsal")}}, "")
}

// askKey takes OpenAI's key, unseen.
func (w *wizard) askKey(ctx context.Context) error {
	if err := KeyWritable(w.Keys, w.lang); err != nil {
		return err
	}
	question := w.lang.Phrase("setup.your_key")
	if w.keyThere() {
		question = w.lang.Phrase("setup.your_key_kept")
	}
	for {
		text, err := w.hidden(ctx, question)
		if err != nil {
			return err
		}
		if text == "" && w.keyThere() {
			return w.setVoice(ctx, w.openAI(), "")
		}
		key, hint, err := config.CheckKey(text, w.lang)
		if err != nil {
			w.say("  %s", w.lang.Phrase("setup.no_key", "why", err))
			continue
		}
		if hint != "" {
			w.say("  %s", hint)
		}
		return w.setVoice(ctx, w.openAI(), key)
	}
}

// openAI are the settings of another voice taken back.
func (w *wizard) openAI() (edits []config.Edit) {
	if ownServer(w) {
		edits = append(edits, config.Edit{Key: "voice.url", Value: config.Quote(config.Default().Voice.URL)})
		if w.cfg.Voice.Model != config.Default().Voice.Model {
			edits = append(edits, config.Edit{Key: "voice.model", Value: config.Quote(config.Default().Voice.Model)})
		}
	}
	if w.cfg.Voice.Kind == "rehearsal" {
		edits = append(edits, config.Edit{Key: "voice.kind", Value: config.Quote("auto")})
	}
	return edits
}

// askServer takes the address of a server in the house, its model, and its key if it has one.
func (w *wizard) askServer(ctx context.Context) error {
	enter := ""
	if ownServer(w) {
		enter = w.cfg.Voice.URL
	}
	var address string
	for address == "" {
		text, err := w.line(ctx, w.lang.Phrase("setup.address"), enter)
		if err != nil {
			return err
		}
		address = addressOf(text)
		if address == "" {
			w.say("  %s", w.lang.Phrase("setup.no_address"))
		} else if _, err := w.Load(map[string]string{"voice.url": address}); err != nil {
			w.say("  %v", err)
			address = ""
		}
	}
	suggested := w.cfg.Voice.Model
	if strings.HasPrefix(address, "http") && suggested == config.Default().Voice.Model {
		suggested = firstModel // OpenAI's is nobody else's
	}
	model, err := w.line(ctx, w.lang.Phrase("setup.model"), suggested)
	if err != nil {
		return err
	}
	key, err := w.hidden(ctx, w.lang.Phrase("setup.its_key"))
	if err != nil {
		return err
	}
	edits := []config.Edit{{Key: "voice.url", Value: config.Quote(address)}}
	if model != w.cfg.Voice.Model && model != firstModel {
		edits = append(edits, config.Edit{Key: "voice.model", Value: config.Quote(model)})
	}
	if w.cfg.Voice.Kind == "rehearsal" {
		edits = append(edits, config.Edit{Key: "voice.kind", Value: config.Quote("auto")})
	}
	chain, err := w.askChain(ctx, address, key)
	if err != nil {
		return err
	}
	return w.setVoice(ctx, append(edits, chain...), key)
}

// firstModel stands for the first that the server lists.
const firstModel = "auto"

// askChain asks who hears and who speaks, where a server only chats (voice/cascade/CASCADE.md).
func (w *wizard) askChain(ctx context.Context, address, key string) (edits []config.Edit, err error) {
	cfg, err := w.Load(map[string]string{"voice.url": address})
	if err != nil {
		return nil, err
	}
	if key != "" {
		cfg.Voice.Key, cfg.KeyFrom = config.NewSecret(key), ""
	}
	if !provider.Chats(ctx, &cfg) {
		return nil, nil
	}
	for _, stage := range []struct{ key, question, program string }{
		{"hear", w.lang.Phrase("setup.who_hears"), "pocketsphinx"}, {"speak", w.lang.Phrase("setup.who_speaks"), "espeak-ng"},
	} {
		const same, here = 0, 1
		i, err := w.choose(ctx, stage.question, []choice{
			{"same", w.lang.Phrase("setup.by_same", "url", address)},
			{"here", w.lang.Phrase("setup.by_this", "program", stage.program)},
			{"other", w.lang.Phrase("setup.by_other")},
		}, same)
		if err != nil {
			return nil, err
		}
		value := stage.program
		switch i {
		case same:
			continue
		case here:
		default:
			if value, err = w.line(ctx, w.lang.Phrase("setup.other_address"), ""); err != nil {
				return nil, err
			}
		}
		if _, err := w.Load(map[string]string{"voice." + stage.key: value}); err != nil {
			w.say("  %v", err)
			continue
		}
		edits = append(edits, config.Edit{Key: "voice." + stage.key, Value: config.Quote(value)})
	}
	return edits, nil
}

// addressOf makes the URL of a server of what a person types.
func addressOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "http://" + text // it is asked what it speaks
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Host, " \t") {
		return ""
	}
	return u.String()
}

// namedVoice takes what flags say.
func (w *wizard) namedVoice(ctx context.Context) error {
	var edits []config.Edit
	if w.URL != "" {
		edits = append(edits, config.Edit{Key: "voice.url", Value: config.Quote(w.URL)})
	}
	if w.Model != "" {
		edits = append(edits, config.Edit{Key: "voice.model", Value: config.Quote(w.Model)})
	}
	key := ""
	if w.KeyFrom != "" {
		text, err := keyFromFile(w)
		if err != nil {
			return err
		}
		if key, _, err = config.CheckKey(text, w.lang); err != nil {
			return errors.New(w.lang.Phrase("setup.key_in", "file", w.KeyFrom, "why", err))
		}
	}
	return w.setVoice(ctx, edits, key)
}

func keyFromFile(w *wizard) (string, error) {
	if w.KeyFrom == "-" {
		data, err := io.ReadAll(io.LimitReader(w.In, config.MaxKey+2))
		return string(data), err
	}
	data, _, err := config.ReadBounded(w.KeyFrom, config.MaxKey+2)
	if err != nil {
		return "", fmt.Errorf("%s: %w", w.KeyFrom, err)
	}
	return string(data), nil
}

// setVoice tries what was answered, and writes it: the key first, for without it the rest is nothing.
func (w *wizard) setVoice(ctx context.Context, edits []config.Edit, key string) error {
	over := map[string]string{}
	for _, e := range edits {
		over[e.Key] = e.Plain()
	}
	cfg, err := w.Load(over)
	if err != nil {
		return err
	}
	if key != "" {
		cfg.Voice.Key, cfg.KeyFrom = config.NewSecret(key), ""
	}
	cfg = withKey(w, cfg)
	for {
		ok, other, err := w.tryVoice(ctx, cfg)
		if err != nil {
			return err
		}
		if other != "" {
			key, cfg.Voice.Key, cfg.KeyFrom = other, config.NewSecret(other), ""
			continue
		}
		if !ok {
			w.skip("%s", w.lang.Phrase("setup.not_written"))
			return nil
		}
		break
	}
	if key != "" && !w.dry() {
		if err := os.MkdirAll(w.Keys, 0o700); err != nil {
			return err
		}
		if err := StoreKey(KeyFile(w.Keys), key, w.lang); err != nil {
			return err
		}
		w.now.Files, w.changed, w.now.State = append(w.now.Files, KeyFile(w.Keys)), true, Changed
		w.say("  %s", w.lang.Phrase("setup.key_stored", "file", KeyFile(w.Keys)))
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	if w.now.State == Skipped {
		return nil
	}
	text, _ := w.lookVoice()
	if w.doubt != "" && !w.dry() {
		do := w.now.Do
		w.fail(w.lang.Phrase("setup.written_untried", "voice", text, "why", w.doubt), "")
		w.now.Do = do
		return nil
	}
	w.with(w.now.State, "%s", text)
	return nil
}

// tryVoice opens a session as the appliance would; who is refused may try another key, or have it written still. Where nobody can be asked
// it is written, as on Enter: a server may come later. But whoever ran this is told.
func (w *wizard) tryVoice(ctx context.Context, cfg config.Config) (ok bool, other string, err error) {
	w.say("  %s", w.lang.Phrase("setup.trying"))
	var worst doctor.Finding
	opened := false
	for _, f := range doctor.TryVoice(ctx, cfg) {
		if f.Level == doctor.Bad && worst.Level != doctor.Bad || f.Level == doctor.Warn && worst.Level == "" {
			worst = f
		}
		if f.Level == doctor.OK && f.Check == "session" {
			opened = true
			w.say("  %s", f.Text)
		}
		if f.Level == doctor.OK && slices.Contains([]string{"speaks", "hear", "chat", "speak"}, f.Check) {
			w.say("  %s: %s", f.Check, f.Text)
		}
	}
	if ctx.Err() != nil {
		return false, "", errLeft
	}
	if worst.Level == "" {
		return true, "", nil
	}
	w.say("  %s: %s", worst.Check, worst.Text)
	w.say("  %s; %s", worst.Cause, worst.Do)
	w.now.Do = worst.Do
	if opened && worst.Level == doctor.Warn { // it answers, whatever else could be better
		return true, "", nil
	}
	if w.nobody {
		if worst.Level == doctor.Bad && worst.Check == "key" {
			return false, "", errors.New(worst.Text + ": " + worst.Cause)
		}
		if worst.Level == doctor.Bad {
			w.doubt = worst.Check + ": " + worst.Text
		}
		return true, "", nil
	}
	if worst.Check == "key" {
		if other, err = anotherKey(ctx, w); err != nil || other != "" {
			return false, other, err
		}
	}
	ok, err = w.yes(ctx, w.lang.Phrase("setup.write_anyway"), worst.Check != "key")
	return ok, "", err
}

// anotherKey asks for one behind a key that was refused; empty: there is none.
func anotherKey(ctx context.Context, w *wizard) (string, error) {
	for {
		text, err := w.hidden(ctx, w.lang.Phrase("setup.another_key"))
		if err != nil || text == "" {
			return "", err
		}
		key, _, err := config.CheckKey(text, w.lang)
		if err == nil {
			return key, nil
		}
		w.say("  %s", w.lang.Phrase("setup.no_key", "why", err))
	}
}
