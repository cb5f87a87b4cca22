package language

import (
	"maps"
	"slices"
)

// families are the plurals of languages (CLDR, Language Plural Rules, cardinals of whole numbers), by a language that has them: which form
// counts n things.
var families = map[string]func(n int) string{
	"ja": func(int) string { return other }, // and zh, ko, vi, th, id, tr where it has one form behind numbers
	"en": func(n int) string { return oneIf(n == 1) },
	"fr": func(n int) string { return oneIf(n == 0 || n == 1) },
	"pl": func(n int) string { return slavic(n, n == 1) },
	"ru": func(n int) string { return slavic(n, n%10 == 1 && n%100 != 11) },
	"cs": func(n int) string {
		if n >= 2 && n <= 4 {
			return "few"
		}
		return oneIf(n == 1)
	},
}

func oneIf(one bool) string {
	if one {
		return "one"
	}
	return other
}

func slavic(n int, one bool) string {
	switch {
	case one:
		return "one"
	case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
		return "few"
	}
	return "many"
}

func familyNames() []string { return slices.Sorted(maps.Keys(families)) }
