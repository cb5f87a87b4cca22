package config

import (
	"errors"
	"io/fs"
	"os"
)

// MissingFiles are the files that the configuration names and that are not there, or are none: nothing that needs one can begin. One that
// this user may not look at may be there all the same.
func (c *Config) MissingFiles() (problems []string) {
	for _, f := range []struct{ key, path string }{
		{"voice.ca_file", c.Voice.CAFile}, {"room.password_file", c.Room.PasswordFile}, {"room.ca_file", c.Room.CAFile},
		{"room.cert_file", c.Room.CertFile}, {"room.key_file", c.Room.KeyFile}, {"room.vote_key_file", c.Room.VoteKeyFile},
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
		if why != "" {
			problems = append(problems, "config: "+f.key+" = "+Quote(f.path)+": "+why+"; set by "+c.Origin(f.key))
		}
	}
	return problems
}
