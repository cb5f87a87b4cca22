package kit

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Figure is a number of a server's usage. Servers write it as a number, with a fraction or not, or as text.
// What is negative or no number is 0.
type Figure float64

// UnmarshalJSON never fails: an answer is worth more than its figures.
func (f *Figure) UnmarshalJSON(b []byte) error {
	*f = 0
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(b), `"`)), 64)
	if err == nil && math.IsInf(n, 0) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil // a word, also that for what is infinite
	}
	if n > 0 {
		*f = Figure(min(n, math.MaxFloat64))
	}
	return nil
}

// Tokens is the figure as a whole number, at most the largest.
func (f Figure) Tokens() int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}
