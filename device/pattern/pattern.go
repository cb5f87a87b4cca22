// Package pattern holds regular expressions that are compiled at their first use. Compiled at the start of the program, those
// that an idle device never needs took half a megabyte.
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr once; it panics where expr is none. TestPatterns compiles each one of the program.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
