package round

import "slices"

// with is a list and one more, without those that are too old; the list itself is not written to.
func with[T any](list []T, x T, most int) []T {
	list = append(slices.Clip(list), x)
	return list[max(0, len(list)-most):]
}

// each is what f makes of every element.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// without is a list without some; the list itself is not written to.
func without[T any](list []T, is func(T) bool) []T { return slices.DeleteFunc(slices.Clone(list), is) }
