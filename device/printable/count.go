package printable

import "fmt"

// Count is so many of something, in English: 1 file, 2 files.
func Count[N int | uint64](n N, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}
