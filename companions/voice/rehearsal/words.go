package rehearsal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

var (
	ones = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	// What pocketsphinx makes of "to": it must not be read as a number, and "for" must not as four.
	fillers = []string{"to", "too", "a", "an", "and", "the", "percent", "number"}
)

// spell writes a number below a thousand in words: every synthesizer reads those alike.
func spell(n int) string {
	switch {
	case n < 0 || n > 999:
		return strconv.Itoa(n)
	case n < 20:
		return ones[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + " " + ones[n%10]
	case n%100 == 0:
		return ones[n/100] + " hundred"
	}
	return ones[n/100] + " hundred and " + spell(n%100)
}

// number1 reads the first number in words or digits.
func number1(words []string) (n int, ok bool) {
	for _, w := range words {
		if d, err := strconv.Atoi(w); err == nil && d >= 0 && d < 1e6 {
			return d, true
		}
		if i := slices.Index(ones, w); i >= 0 {
			n, ok = n+i, true
			continue
		}
		if i := slices.Index(tens, w); i >= 2 {
			n, ok = n+10*i, true
			continue
		}
		switch {
		case w == "hundred" && ok:
			n *= 100
		case w == "hundred":
			n, ok = 100, true
		case ok && !slices.Contains(fillers, w):
			return n, true
		}
	}
	return n, ok
}

// plain makes a sentence of a tool's output, which may be JSON.
func plain(output string) string {
	var v any
	if json.Unmarshal([]byte(output), &v) != nil {
		return strings.TrimSpace(output)
	}
	return plainValue(v)
}

func plainValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case m:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+": "+plainValue(v[k]))
		}
		return strings.Join(parts, ", ") + "."
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, plainValue(x))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

// after is what follows the last of a word; nothing when it is not there.
func after(words []string, word string) []string {
	for i, w := range slices.Backward(words) {
		if w == word {
			return words[i+1:]
		}
	}
	return nil
}

// normal makes words of a sentence: lower case, letters and digits only.
func normal(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "'", "")), func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c > 0x7f)
	})
}

// all tells whether one of each group of alternatives is among the words.
func all(groups ...string) func([]string) bool {
	return func(words []string) bool {
		for _, g := range groups {
			if !slices.ContainsFunc(strings.Split(g, "|"), func(w string) bool { return slices.Contains(words, w) }) {
				return false
			}
		}
		return true
	}
}
