package web

import (
	"errors"
	"fmt"
)

// ReadQR reads a QR code of level M as a camera does that sees it without a fault (ISO/IEC 18004): versions 2 to 6, bytes. dark tells of a
// module by its column and row.
func ReadQR(size int, dark func(x, y int) bool) (string, error) {
	version := (size - 17) / 4
	blocks, each := map[int]int{2: 1, 3: 1, 4: 2, 5: 2, 6: 4}[version], map[int]int{2: 28, 3: 44, 4: 32, 5: 43, 6: 27}[version]
	if blocks == 0 || size != 17+4*version {
		return "", fmt.Errorf("a code of %d modules", size)
	}
	for _, corner := range [][2]int{{0, 0}, {size - 7, 0}, {0, size - 7}} {
		for i := range 7 {
			if !dark(corner[0]+i, corner[1]) || !dark(corner[0], corner[1]+i) || !dark(corner[0]+3, corner[1]+3) {
				return "", errors.New("a corner has no mark")
			}
		}
	}
	format := 0
	for _, at := range [][2]int{{0, 8}, {1, 8}, {2, 8}, {3, 8}, {4, 8}} { // of the format's 15 bits the first five
		format <<= 1
		if dark(at[0], at[1]) {
			format |= 1
		}
	}
	format ^= 0b10101
	if format>>3 != 0 {
		return "", fmt.Errorf("level %d is not M", format>>3)
	}
	mask := map[int]func(x, y int) bool{
		0: func(x, y int) bool { return (x+y)%2 == 0 }, 1: func(_, y int) bool { return y%2 == 0 }, 2: func(x, _ int) bool { return x%3 == 0 },
		3: func(x, y int) bool { return (x+y)%3 == 0 }, 4: func(x, y int) bool { return (y/2+x/3)%2 == 0 },
	}[format&7]
	if mask == nil {
		return "", fmt.Errorf("mask %d", format&7)
	}
	data := func(x, y int) bool {
		near := func(x, y int) bool { return x >= size-9 && x <= size-5 && y >= size-9 && y <= size-5 }
		return !(x < 9 && y < 9 || x >= size-8 && y < 9 || x < 9 && y >= size-8 || x == 6 || y == 6 || near(x, y))
	}
	var bits []bool
	up := true
	for right := size - 1; right > 0; right -= 2 {
		if right == 6 {
			right--
		}
		for i := range size {
			y := i
			if up {
				y = size - 1 - i
			}
			for _, x := range []int{right, right - 1} {
				if data(x, y) {
					bits = append(bits, dark(x, y) != mask(x, y))
				}
			}
		}
		up = !up
	}
	word := func(bits []bool, n int) (v int) {
		for _, b := range bits[:n] {
			v <<= 1
			if b {
				v |= 1
			}
		}
		return v
	}
	var flat []bool // the blocks one after the other
	for b := range blocks {
		for i := range each {
			at := 8 * (i*blocks + b)
			flat = append(flat, bits[at:at+8]...)
		}
	}
	if word(flat, 4) != 4 {
		return "", fmt.Errorf("kind %d is not bytes", word(flat, 4))
	}
	n := word(flat[4:], 8)
	if 12+8*n > len(flat) {
		return "", fmt.Errorf("%d bytes in %d bits", n, len(flat))
	}
	text := make([]byte, n)
	for i := range text {
		text[i] = byte(word(flat[12+8*i:], 8))
	}
	return string(text), nil
}
