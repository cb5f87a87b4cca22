package printable

import (
	"strings"
	"unicode"
)

// Arg is a name as an argument of a command that a person copies into a shell: as it is where it is plain, else in quotation marks within which
// a shell reads nothing (POSIX, 2.2.2), and behind "--" where it looks like a flag. Whoever chose the name must not choose the command.
func Arg(name string) string {
	name = Text(name)
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+", r) }
	switch quoted := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"; {
	case strings.HasPrefix(name, "-"):
		return "-- " + quoted
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }):
		return quoted
	}
	return name
}
