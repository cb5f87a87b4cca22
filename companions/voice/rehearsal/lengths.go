package rehearsal

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

var unitSeconds = map[string]int64{
	"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 7 * 86400,
}

func unitAt(words []string, at int) int64 {
	if at >= len(words) {
		return 0
	}
	return unitSeconds[strings.TrimSuffix(words[at], "s")]
}

// duration reads the first length of time, and what is said besides: "for half an hour", "two and a half minutes", "minus five minutes",
// "an hour and twenty".
func duration(words []string) (length int64, rest []string, ok bool) {
	for i := range words {
		if length, n := lengthAt(words[i:]); n > 0 {
			return length, slices.Concat(words[:i], words[i+n:]), true
		}
	}
	return 0, words, false
}

// lengthAt reads a length at the beginning, and tells of how many words it is; 0: there is none.
func lengthAt(words []string) (length int64, used int) {
	at, last, sign := 0, int64(0), int64(1)
	if len(words) > 0 && words[0] == "minus" {
		at, sign = 1, -1
	}
	for {
		from := at
		if last > 0 && from < len(words) && words[from] == "and" {
			from++
		}
		n, k := howMany(words[from:])
		switch unit := unitAt(words, from+k); {
		case k > 0 && unit > 0:
			length, last, at = length+int64(math.Round(n*float64(unit))), unit, from+k+1
		case k > 0 && last > 0 && n < 1: // "an hour and a half"
			length, at = length+int64(n*float64(last)), from+k
		case k > 0 && last >= 60 && n == math.Trunc(n) && n > 1 && n < 60: // "one hour thirty"
			length, at = length+int64(n)*last/60, from+k
		case last > 0:
			return sign * length, at
		default:
			return 0, 0
		}
	}
}

// howMany reads how many, at the beginning, and of how many words that is: "a", "two and a half", "half an", "three quarters of an",
// "one point five".
func howMany(words []string) (n float64, used int) {
	is := func(at int, alternatives string) bool { return at < len(words) && all(alternatives)(words[at:at+1]) }
	i := 0
	if is(0, "a|an") {
		n, i = 1, 1
	}
	of := func(n float64, at int) (float64, int) { // "of an", behind a share
		if is(at, "of") {
			at++
		}
		if is(at, "a|an") {
			at++
		}
		return n, at
	}
	switch whole, k := numberAt(words[i:]); {
	case is(i, "half"):
		return of(0.5, i+1)
	case is(i, "quarter"):
		return of(0.25, i+1)
	case is(i, "couple"):
		return of(2, i+1)
	case whole == 3 && is(i+k, "quarters"):
		return of(0.75, i+k+1)
	case k > 0:
		n, i = float64(whole), i+k
	case is(0, "to|too|two|for") && unitAt(words, 1) > 0 && strings.HasSuffix(words[1], "s"): // "two minutes", misheard
		return map[bool]float64{true: 4, false: 2}[words[0] == "for"], 1
	}
	if i > 0 && is(i, "point") {
		if share, k := decimals(words[i+1:]); k > 0 {
			n, i = n+share, i+1+k
		}
	}
	if i > 0 && is(i, "and") {
		if share, k := howMany(words[i+1:]); k > 0 && share < 1 {
			return n + share, i + 1 + k
		}
	}
	return n, i
}

// decimals reads what is behind a point: "two five", "twenty five", "5".
func decimals(words []string) (share float64, used int) {
	digits := "0."
	for {
		n, k := belowHundred(words[used:])
		if k == 0 {
			break
		}
		digits, used = digits+strconv.Itoa(n), used+k
	}
	share, _ = strconv.ParseFloat(digits, 64) // of digits
	return share, used
}

// belowHundred reads a number below a hundred at the beginning: of "eight thirty" the eight, of "thirty five" both.
func belowHundred(words []string) (n, used int) {
	if len(words) == 0 || !numeral(words[0]) || large(words[0]) {
		return 0, 0
	}
	n, _ = number1(words[:1])
	if len(words) > 1 && slices.Contains(tens[2:], words[0]) {
		if one := slices.Index(ones[:10], words[1]); one > 0 {
			return n + one, 2
		}
	}
	return n, 1
}

// numberAt reads a whole number at the beginning.
func numberAt(words []string) (n, used int) {
	for used < len(words) && (numeral(words[used]) ||
		used > 0 && large(words[used-1]) && words[used] == "and" && used+1 < len(words) && numeral(words[used+1])) {
		used++
	}
	n, _ = number1(words[:used])
	return n, used
}
