// Package spelling finds what somebody meant who wrote something else.
package spelling

// Most is how long a word may be, in bytes: the work grows with the product of two.
const Most = 256

// Distance is Levenshtein's: how many bytes must be changed, added or taken away to make b of a. With a word of more than
// Most bytes it is Most: that is no slip of the finger.
func Distance(a, b string) int {
	if len(a) > Most || len(b) > Most {
		return Most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				diagonal++
			}
			diagonal, row[j+1] = row[j+1], min(diagonal, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
