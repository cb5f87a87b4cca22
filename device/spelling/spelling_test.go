package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"pin", "", 3}, {"", "pin", 3}, {"pin", "pin", 0}, {"pin", "pln", 1}, {"volme", "volume", 1}, {"volumes", "volume", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 2}, {strings.Repeat("a", Most+1), "a", Most},
	} {
		if got := Distance(row.a, row.b); got != row.want {
			t.Errorf("Distance(%q, %q) = %d; want %d", row.a, row.b, got, row.want)
		}
	}
}
