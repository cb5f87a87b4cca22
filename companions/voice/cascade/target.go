package cascade

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is where one stage of the chain is done: at a server, or by a program of this machine.
type target struct {
	profile Profile
	guessed bool     // nobody named the profile
	url     *url.URL // nil: a program
	program string   // its name; "": a server
	model   string   // file, of a program that needs one
}

func (t target) String() string {
	if t.url == nil {
		return t.program
	}
	return t.url.Host
}

// programs of this machine, by what they do.
var (
	hearing  = []string{"pocketsphinx", "whisper-cli"}
	speaking = []string{"flite", "espeak-ng", "piper"}
)

var errTarget = errors.New("must be an address (http:// or https://), with the name of a profile in front or not, or a program of this machine")

// parseTarget reads "http://host:port/path", "profile http://host", "program" and "program model". Nothing at all is the address of the
// voice itself.
func parseTarget(key, text, address string, known []string) (t target, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		words = strings.Fields(address)
	}
	refuse := func(why error) (target, error) {
		return target{}, fmt.Errorf("cascade: voice.%s = %q: %w (programs: %s; profiles: %s)", key, text, why, strings.Join(known, ", "),
			strings.Join(ProfileNames(), ", "))
	}
	if len(words) == 0 || len(words) > 2 {
		return refuse(errTarget)
	}
	name, last := words[0], words[len(words)-1]
	if name = filepath.Base(name); slices.Contains(known, name) && !strings.Contains(last, "://") {
		t.program = words[0]
		if len(words) == 2 {
			t.model = last
		}
		if needsModel(name) && t.model == "" {
			return refuse(fmt.Errorf("%s needs the file of a model behind it", name))
		}
		return t, nil
	}
	u, err := url.Parse(last)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return refuse(errTarget)
	}
	if u.User != nil {
		return refuse(errors.New("an address with a user name: the key has a place of its own"))
	}
	t.guessed = len(words) == 1
	t.profile = guess(u)
	if !t.guessed {
		p, ok := profileByName(words[0])
		if !ok {
			return refuse(errTarget)
		}
		p.Vendor = p.Vendor || away(u)
		t.profile = p
	}
	t.at(u)
	return t, nil
}

// at takes an address, with the path of the profile where it has none.
func (t *target) at(u *url.URL) {
	w := *u
	w.RawQuery, w.Fragment = "", ""
	if w.Path = strings.TrimRight(w.Path, "/"); w.Path == "" {
		w.Path = t.profile.Path
	}
	t.url = &w
}

func needsModel(program string) bool { return program == "piper" || program == "whisper-cli" }

// find is the program's file.
func (t target) find() (string, error) {
	names := []string{t.program}
	if t.program == "pocketsphinx" { // the name of Debian 12's
		names = append(names, "pocketsphinx_continuous")
	}
	var err error
	for _, n := range slices.Backward(names) {
		var path string
		if path, err = exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cascade: %s: %w", t.program, err)
}
