package skills

import (
	"errors"
	"strings"
	"unicode"
)

// SpokenError is an error of which a person hears Say alone, the end of a short plain sentence; the log has what Err says as well.
type SpokenError struct {
	Say   string
	Err   error
	Final bool // trying again changes nothing
}

func (s *SpokenError) Error() string { return s.Say + " (" + s.Err.Error() + ")" }

// Unwrap is what it comes from.
func (s *SpokenError) Unwrap() error { return s.Err }

const longestName = 60 // letters of a name that are said, some five seconds; our choice

// Short is a name in one line, no longer than it can be listened to: cut behind a word, where there is one.
func Short(name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	letters := []rune(name)
	if len(letters) <= longestName {
		return name
	}
	cut := string(letters[:longestName+1])
	if i := strings.LastIndex(cut, " "); i > len(cut)/2 {
		return strings.TrimRight(cut[:i], " ,;:-")
	}
	return string(letters[:longestName])
}

// Words are what a person hears of an error.
func Words(err error) string {
	if s := (*SpokenError)(nil); errors.As(err, &s) {
		return s.Say
	}
	return err.Error()
}
