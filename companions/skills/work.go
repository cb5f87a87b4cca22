package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// What the skills that keep something have in common.

// Woken is what a skill that works by itself waits for.
type Woken chan struct{}

// NewWoken is one of its own.
func NewWoken() Woken { return make(Woken, 1) }

// Wake has Run look; it never waits.
func (w Woken) Wake() {
	select {
	case w <- struct{}{}:
	default: // one is there already
	}
}

// Run calls look until ctx ends: at once, whenever it is woken, and when so much has passed as look has said; false: only when it is woken.
func (w Woken) Run(ctx context.Context, look func(context.Context) (in time.Duration, any bool)) error {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w:
		case <-wait.C:
		}
		wait.Stop()
		if in, any := look(ctx); any {
			wait.Reset(in)
		}
	}
}

// InWords is the handler of a tool that gives words alone; wrong is what is said where the arguments are none of its.
func InWords[A any](wrong string, f func(Context, A) (string, error)) func(Context, json.RawMessage) (Result, error) {
	return func(ctx Context, args json.RawMessage) (Result, error) {
		var a A
		if json.Unmarshal(args, &a) != nil {
			return Result{}, errors.New(wrong)
		}
		out, err := f(ctx, a)
		return Result{Output: out}, err
	}
}

// Count is so many of something: 1 minute, 2 minutes.
func Count(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return strconv.Itoa(n) + " " + of
}

// Keywords are the words of a text by which it is meant, without the ones that are named and without what makes one of them several.
func Keywords(text, without string) (all []string) {
	small := strings.Fields(without)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !slices.Contains(small, w) {
			all = append(all, cmp.Or(strings.TrimSuffix(w, "s"), w))
		}
	}
	return all
}

// Within tells that each of some words is among others.
func Within(some, others []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool { return !slices.Contains(others, w) })
}
