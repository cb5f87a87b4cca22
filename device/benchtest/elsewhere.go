package benchtest

import "io"

// Elsewhere is what the C program has said on each processor of another machine. Its times are on that machine's clock.
func Elsewhere(cpus ...io.Reader) Stalls {
	all := make([][]span, len(cpus))
	for i, r := range cpus {
		all[i] = read(r)
	}
	return seen(all)
}
