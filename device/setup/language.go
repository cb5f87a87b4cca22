package setup

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"conch/device/config"
)

// languageKey is what conch itself says and prints.
const languageKey = "device.language"

// languages are those that the key allows, by their own names.
var languages = []choice{{"en", "English"}, {"de", "Deutsch"}, {"es", "Español"}, {"fr", "Français"}}

// language is what the configuration says, and where.
func (w *wizard) language() (value, origin string) {
	for _, r := range w.cfg.Describe() {
		if r.Key == languageKey {
			return strings.Trim(r.Value, `"`), r.Origin
		}
	}
	return "", ""
}

// lookLanguage says what conch speaks.
func (w *wizard) lookLanguage() (string, bool) {
	value, origin := w.language()
	name := value
	for _, l := range languages {
		if l.word == value {
			name = l.text
		}
	}
	if name == "" {
		name = w.lang.Phrase("setup.not_chosen")
	}
	return name, strings.HasPrefix(origin, "file ")
}

// askLanguage: what the companions speak is the model's business, and theirs who talk to them.
func (w *wizard) askLanguage(ctx context.Context) error {
	value, _ := w.language()
	word := w.Language
	if word == "" {
		enter := max(0, slices.IndexFunc(languages, func(c choice) bool { return c.word == cmp.Or(value, localeOf(os.Environ())) }))
		i, err := w.choose(ctx, w.lang.Phrase("setup.speak_which"), languages, enter)
		if err != nil {
			return err
		}
		word = languages[i].word
	}
	if word == value && w.Language == "" && w.nobody {
		w.now.Text, _ = w.lookLanguage()
		return nil
	}
	if _, err := w.set(ctx, []config.Edit{{Key: languageKey, Value: config.Quote(word)}}); err != nil {
		return err
	}
	if w.now.State != Skipped {
		w.now.Text, _ = w.lookLanguage()
		w.with(w.now.State, "%s", w.now.Text)
	}
	return nil
}

// localeOf is the language of whoever typed the command (locale(7): LC_ALL is stronger than LANG).
func localeOf(environ []string) string {
	env := config.ReadEnvironment(environ)
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env.Get(name); len(v) >= 2 {
			return v[:2]
		}
	}
	return "en"
}
