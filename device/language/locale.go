package language

import (
	"slices"
	"strings"
)

// FromEnvironment returns the language of the user who types (setlocale(3), and LANGUAGE of gettext before it): the first that there is a
// file of, else English; and the code of the first that is known at all. get reads the environment.
func FromEnvironment(get func(name string) string) (words Language, code string) {
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale = get(name); locale != "" {
			break
		}
	}
	wanted := []string{locale}
	if l, ok := ofLocale(locale); ok || l != "" { // LANGUAGE does not count where the locale is C
		wanted = append(strings.Split(get("LANGUAGE"), ":"), locale)
	}
	code = string(English)
	for _, w := range slices.Backward(wanted) {
		if l, _ := ofLocale(w); InEnglish(string(l)) != "" {
			code = string(l)
		}
	}
	for _, w := range wanted {
		if l, ok := ofLocale(w); ok {
			return l, code
		}
	}
	return English, code
}

// ofLocale is the language of a locale, as in de_AT.UTF-8@euro; empty for C, and false where there is no file of it.
func ofLocale(locale string) (Language, bool) {
	code, _, _ := strings.Cut(locale, ".")
	code, _, _ = strings.Cut(code, "@")
	code, _, _ = strings.Cut(code, "_")
	if code == "" || code == "C" || code == "POSIX" {
		return "", false
	}
	l := Language(strings.ToLower(code))
	return l, l.Known()
}
