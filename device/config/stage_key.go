package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"conch/device/printable"
	"conch/device/system"
)

// stageKey is where the key of one stage of a chain is, which has a server of its own.
type stageKey struct{ path, from string }

// stageKeys finds the keys of those who hear and speak, where they are another vendor's: in the file that is named, else as systemd's
// credential. One that cannot be read keeps nothing from beginning: it is read again for each request, and its server asked without it.
func (l *loader) stageKeys(env environment) {
	c := l.config
	c.stageKeys = map[string]stageKey{}
	for stage, named := range map[string]string{"hear": c.Voice.HearKeyFile, "speak": c.Voice.SpeakKeyFile} {
		setting := "voice." + stage + "_key_file"
		if strings.HasPrefix(named, "sk-") {
			l.problem("%s: this is a key, not the name of a file; put it into a file of mode 0600 and name that; set by %s", setting, c.Origin(setting))
			continue
		}
		if named == "" {
			if path := credential(env, stage+"_key"); path != "" {
				c.stageKeys[stage] = stageKey{path, "credential " + stage + "_key"}
			}
			continue
		}
		if !filepath.IsAbs(named) && strings.HasPrefix(c.Origin(setting), "file ") {
			named = filepath.Join(filepath.Dir(c.File), named) // beside the file that names it
		}
		c.stageKeys[stage] = stageKey{named, setting}
		if info, err := os.Stat(named); err == nil && system.Rights(info)&^0o600 != 0 {
			c.warn("%s: %s: mode %04o lets others read the key; %s", setting, named, info.Mode().Perm(), printable.Chmod("600", named))
		}
	}
}

// credential is the file of one of systemd's; "": there is none. systemd puts the name of the credential before those of the files of a
// directory (systemd.exec, LoadCredential=).
func credential(env environment, name string) string {
	dir := env.Get("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	for _, name := range []string{"conch_" + name, name} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

// StageKey is the key of who hears or speaks ("hear", "speak"), as it is now, and the setting or credential that it comes from; no from:
// the stage has none of its own.
func (c *Config) StageKey(stage string) (from string, read func() (string, error)) {
	of, ok := c.stageKeys[stage]
	if !ok {
		return "", nil
	}
	return of.from, func() (string, error) { return ReadSecret(of.path) }
}
