package config

import (
	"errors"
	"io/fs"
	"os"
)

// MissingFiles are the files and folders that the configuration names and that are not there, or are none: nothing that needs one can
// begin. One that this user may not look at may be there all the same.
func (c *Config) MissingFiles() (problems []string) {
	for _, f := range []struct{ key, path string }{
		{"voice.hear_key_file", c.stageKeys["hear"].path}, {"voice.speak_key_file", c.stageKeys["speak"].path},
		{"voice.ca_file", c.Voice.CAFile}, {"room.password_file", c.Room.PasswordFile}, {"room.ca_file", c.Room.CAFile},
		{"room.cert_file", c.Room.CertFile}, {"room.key_file", c.Room.KeyFile}, {"room.vote_key_file", c.Room.VoteKeyFile},
		{"web.cert", c.Web.Cert}, {"web.key", c.Web.Key},
		{"homeassistant.password_file", c.HomeAssistant.PasswordFile}, {"homeassistant.ca_file", c.HomeAssistant.CAFile},
	} {
		if f.path == "" {
			continue
		}
		why := ""
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			why = "there is no such file"
		case err == nil && info.IsDir():
			why = "is a directory, not a file"
		}
		problems = c.missing(problems, f.key, f.path, why)
	}
	for _, f := range []struct {
		key, path string
		made      bool // where it is not there yet
	}{{"library.folder", c.Library.Folder, false}, {"room.words", c.Room.Words, false}, {"state.dir", c.State.Dir, true}} {
		if f.path == "" || c.Unset(f.key) {
			continue
		}
		why := ""
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist) && !f.made:
			why = "there is no such folder"
		case err == nil && !info.IsDir():
			why = "is a file, not a folder"
		}
		problems = c.missing(problems, f.key, f.path, why)
	}
	return problems
}

func (c *Config) missing(problems []string, key, path, why string) []string {
	if why == "" {
		return problems
	}
	return append(problems, "config: "+key+" = "+Quote(path)+": "+why+"; set by "+c.Origin(key))
}
