package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"unicode"

	encoding "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"conch/companions/voice/kinds"
	"conch/device/language"
	"conch/device/pattern"
	"conch/device/printable"
	"conch/device/redact"
)

// MaxKey is how many bytes a key may have, and a file of one.
const MaxKey = 4096

// key finds the key of the provider. Stronger first: a key file named by flag or environment, OPENAI_API_KEY, a key file
// named in the configuration file, systemd's credential.
func (l *loader) key(env environment) {
	c := l.config
	if kinds.Find(c.Voice.Kind).Local {
		return // needs none, so a missing file must not keep it from starting
	}
	named := c.Voice.KeyFile
	fromFile := strings.HasPrefix(c.Origin("voice.key_file"), "file ")
	if key := env.Get("OPENAI_API_KEY"); key != "" && (named == "" || fromFile) {
		l.secret(key, "environment OPENAI_API_KEY")
		return
	}
	if named != "" {
		if strings.HasPrefix(named, "sk-") {
			l.keyProblem("voice.key_file: this is a key, not the name of a file; put it into a file of mode 0600 and name that; set by %s",
				c.Origin("voice.key_file"))
			return
		}
		if !filepath.IsAbs(named) && fromFile {
			named = filepath.Join(filepath.Dir(c.File), named) // beside the file that names it
		}
		l.secretFile("voice.key_file", named, "file "+named)
		return
	}
	if path := credential(env, "openai_api_key"); path != "" {
		l.secretFile("credential openai_api_key", path, "credential openai_api_key")
	}
}

func (l *loader) secretFile(what, path, origin string) {
	data, info, err := ReadBounded(path, MaxKey)
	l.config.KeyFrom = path // where it will be, once what is wrong with it is mended
	if err != nil {
		l.keyProblem("%s: %s: %v", what, path, err)
		return
	}
	// systemd's credentials are 0400 or 0440 on a file system of their own; a key file is a person's to protect.
	if wide := info.Mode().Perm() &^ 0o600; wide != 0 && what == "voice.key_file" {
		l.config.warn("voice.key_file: %s: mode %04o lets others read the key; %s", path, info.Mode().Perm(), printable.Chmod("600", path))
	}
	l.secret(string(data), origin)
}

// keyProblem refuses a key.
func (l *loader) keyProblem(format string, args ...any) {
	if l.keyless {
		l.config.keyTrouble = "config: " + fmt.Sprintf(format, args...)
		return
	}
	l.problem(format, args...)
}

// KeyRefused says that the key that was there could not be used, whatever became of it since.
func (c *Config) KeyRefused() bool { return c.keyTrouble != "" }

// KeyTrouble says why the key that is there cannot be used; empty: it can, or there is none.
func (c *Config) KeyTrouble() string {
	if c.keyTrouble == "" || c.LiveKey() != "" { // its file was mended since
		return ""
	}
	return c.keyTrouble
}

func (l *loader) secret(text, origin string) {
	text = BareKey(text)
	if text == "" {
		l.keyProblem("voice.key: empty; set by %s", origin)
		return
	}
	if !Sendable(text) {
		l.keyProblem("voice.key: must be one line of visible ASCII characters and nothing else; set by %s", origin)
		return
	}
	l.config.Voice.Key = NewSecret(text)
	l.config.setOrigin("voice.key", origin)
}

// named is a key as files of settings have it, such as export OPENAI_API_KEY="…". No key of a provider begins so.
var named = pattern.New(`^(?:(?i:export|set|setx)\s+|\$env:)?"?[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)"?\s*[=:\s]\s*(\S.*)$`)

// quotes are what editors and shells put around a value.
var quotes = [][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"‘", "’"}, {"«", "»"}, {"<", ">"}}

// BareKey is a key without what an editor or a file of settings puts around it: byte order mark, name, quotes, spaces.
func BareKey(text string) string {
	key := bareText([]byte(text))
	if value := named().FindStringSubmatch(strings.TrimRight(key, ";,")); value != nil {
		key = strings.TrimSpace(value[1])
	}
	for _, q := range quotes {
		if inner, ok := strings.CutPrefix(key, q[0]); ok && strings.HasSuffix(inner, q[1]) {
			return strings.TrimSpace(strings.TrimSuffix(inner, q[1]))
		}
	}
	return key
}

// bareText is a text without its byte order mark and the spaces around it; UTF-16 becomes UTF-8.
func bareText(data []byte) string {
	if text, _, err := transform.Bytes(encoding.BOMOverride(transform.Nop), data); err == nil {
		data = text
	}
	return strings.TrimFunc(string(data), func(r rune) bool { return unicode.IsSpace(r) || r == '\u200b' })
}

// Sendable: a key goes into an HTTP header, where RFC 9110 5.5 allows visible characters.
func Sendable(key string) bool {
	return len(key) <= MaxKey && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// LiveKey is the key as it is now: the file it came from is read again, so that a key that was refused can be mended
// without a restart. A file that is gone or half written leaves the key that was.
func (c *Config) LiveKey() string {
	if c.KeyFrom != "" {
		data, _, err := ReadBounded(c.KeyFrom, MaxKey)
		if key := BareKey(string(data)); err == nil && key != "" && Sendable(key) {
			redact.Add(key)
			return key
		}
	}
	return c.Voice.Key.Reveal()
}

// Secret holds what must not be seen. Whatever prints, logs or marshals it gets "set" or "unset"; only Reveal gives it.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret {
	redact.Add(text)
	return Secret{text}
}

// Reveal is the secret itself. Hand it to the one who needs it and keep it nowhere.
func (s Secret) Reveal() string { return s.text }

// Set says whether there is one.
func (s Secret) Set() bool { return s.text != "" }

func (s Secret) String() string {
	if s.Set() {
		return "set"
	}
	return "unset"
}

// GoString keeps %#v from looking inside.
func (s Secret) GoString() string { return s.String() }

// Format keeps every other verb from looking inside.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText keeps JSON and TOML from looking inside.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue keeps slog from looking inside.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// CheckKey says whether text, as a person gave it, can be a provider's key, and returns it as it is to be stored. The hint is
// not empty when it can be one but does not look like OpenAI's; other servers have other keys. Neither hint nor error repeats
// any of it; both are in the language of whoever gave it.
func CheckKey(text string, l language.Language) (key, hint string, err error) {
	key = BareKey(text)
	switch {
	case key == "":
		return "", "", errors.New(l.Phrase("key.empty"))
	case len(key) > MaxKey:
		return "", "", errors.New(l.Phrase("key.long", "most", MaxKey))
	case strings.ContainsAny(key, "\r\n"):
		return "", "", errors.New(l.Phrase("key.lines"))
	case !Sendable(key):
		return "", "", errors.New(l.Phrase("key.spaces"))
	case strings.HasPrefix(key, "/") || strings.HasPrefix(key, "~/"):
		return "", "", errors.New(l.Phrase("key.file"))
	}
	switch {
	case !strings.HasPrefix(key, "sk-"):
		hint = l.Phrase("key.other")
	case len(key) < 20:
		hint = l.Phrase("key.short")
	}
	return key, hint, nil
}

// ReadSecret reads a file that holds a secret and nothing else.
func ReadSecret(path string) (string, error) {
	data, _, err := ReadBounded(path, MaxKey)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	secret := BareKey(string(data))
	if secret == "" || !Sendable(secret) {
		return "", fmt.Errorf("%s: must hold the key and nothing else, on one line", path)
	}
	redact.Add(secret)
	return secret, nil
}
