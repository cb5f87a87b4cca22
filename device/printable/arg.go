package printable

import (
	"os"
	"strings"
	"unicode"

	"conch/device/system"
)

// Arg is a name as an argument of a command that a person copies into a shell: as it is where it is plain, else in quotation marks within which
// a shell reads nothing (POSIX, 2.2.2), and behind "--" where it looks like a flag. Whoever chose the name must not choose the command.
func Arg(name string) string {
	name = Text(name)
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+/", r)
	}
	switch quoted := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"; {
	case strings.HasPrefix(name, "-"):
		return "-- " + quoted
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }):
		return quoted
	}
	return name
}

// people have numbers from this one on; below it are root and the users of services (Debian policy, 9.2.2).
const people = 1000

// Chmod is the command that gives a file its mode: only a person whose own file it is needs no sudo.
func Chmod(mode, path string) string {
	command := "chmod " + mode + " " + Arg(path)
	if info, err := os.Stat(path); err == nil {
		if uid, _, ok := system.Owner(info); ok && uid >= people && uid == os.Geteuid() {
			return command
		}
	}
	return "sudo " + command
}
