package tones

import "strconv"

// Digits is how long a code is.
const Digits = 6

const (
	limit   = 1_000_000 // codes there are
	symbols = 3         // of 8 bits, for 20 bits
	slots   = 26        // pairs of tones in a frame
	knowns  = 6         // of them, every fifth from the first to the last
	stride  = (slots - 1) / (knowns - 1)
	datas   = slots - knowns
)

// known says whether slot is one of the pairs that stand in every frame.
func known(slot int) bool { return slot%stride == 0 }

// scramble is added to every slot, so that nothing which repeats itself (a held note, the code 000000) looks like a code. It is
// also what the known slots sound. Any numbers would do; these are the first of the multiplicative sequence 3^k mod 257, taken
// at every seventh k.
var scramble = func() (s [slots]byte) {
	x := 1
	for i := range s {
		for range 7 {
			x = x * 3 % 257
		}
		s[i] = byte(x)
	}
	return s
}()

// stretch multiplies what a slot carries, by something else in every slot: without it, two codes that differ in four bits of c0
// would have one half of their tones in common, in every slot.
var stretch = func() (s [slots]byte) {
	for i := range s {
		s[i] = exps[53*i%255]
	}
	return s
}()

// codeword is what each slot sounds for a code: its polynomial at the number of the data slot, from 1.
//
//	p(x) = c0 + c1 x + c2 x^2, c0 the lowest 8 bits of the code
func codeword(code int, out *[slots]byte) {
	c := [symbols]byte{byte(code), byte(code >> 8), byte(code >> 16)}
	x := byte(0)
	for i := range out {
		out[i] = scramble[i]
		if !known(i) {
			x++
			out[i] ^= mul(stretch[i], c[0]^mul(x, c[1]^mul(x, c[2])))
		}
	}
}

// solve is the code whose polynomial passes through three points; false: none.
func solve(x, y [symbols]byte) (int, bool) {
	// Newton's differences; subtraction is addition in this field.
	d01 := div(y[0]^y[1], x[0]^x[1])
	d12 := div(y[1]^y[2], x[1]^x[2])
	c2 := div(d01^d12, x[0]^x[2])
	if c2 >= 1<<4 { // most triples of noise end here
		return 0, false
	}
	c1 := d01 ^ mul(c2, x[0]^x[1])
	c0 := y[0] ^ mul(x[0], d01^mul(c2, x[1]))
	code := int(c0) | int(c1)<<8 | int(c2)<<16
	return code, code < limit
}

// parse reads a code; -1: that is none.
func parse(code string) int {
	if len(code) != Digits {
		return -1
	}
	n := 0
	for _, c := range []byte(code) {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// format is the reverse. It is the only thing of a decoder that allocates, once a code.
func format(code int) string { return strconv.Itoa(limit + code)[1:] }

// exps and logs are the field: 2 to the power of i, and the reverse.
var exps, logs = func() (e [510]byte, l [256]byte) {
	x := 1
	for i := range 255 {
		e[i], e[i+255] = byte(x), byte(x)
		l[x] = byte(i)
		if x <<= 1; x > 255 {
			x ^= 0x11d
		}
	}
	return e, l
}()

func mul(a, b byte) byte {
	if a == 0 || b == 0 {
		return 0
	}
	return exps[int(logs[a])+int(logs[b])]
}

// div needs b that is not zero: the points are all different.
func div(a, b byte) byte {
	if a == 0 {
		return 0
	}
	return exps[int(logs[a])+255-int(logs[b])]
}
