package turn

// HeardText trims what a model says to what was heard of it: heard of received samples, in proportion, back to a word's
// end. Chinese, Japanese, Korean and Thai have no spaces between words: there any character is an end.
func HeardText(text string, heard, received int) string {
	if received <= 0 || heard >= received {
		return text
	}
	cut := int(int64(len(text)) * int64(max(0, heard)) / int64(received))
	end, open := 0, false // open: the rune before may be an end, once it is known to be whole
	for i, r := range text {
		if open && i <= cut {
			end = i
		}
		if i > cut {
			break
		}
		if open = unspaced(r); r == ' ' || r == '\n' {
			end = i
		}
	}
	return text[:end]
}

// unspaced tells of scripts that are written without spaces.
func unspaced(r rune) bool {
	return r >= 0x0e00 && r <= 0x0e7f || r >= 0x2e80 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7af || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xff00 && r <= 0xffef || r >= 0x20000 && r <= 0x3ffff
}

// fastest is how many characters a second nobody speaks. While an answer still comes its words run ahead of its samples,
// so that the proportion of the two says too much. Our choice; fast English has 18.
const fastest = 20

// SpokenIn is what of text anybody can have said in so many samples, back to a word's end.
func SpokenIn(text string, samples int) string {
	most, chars := samples*fastest/sampleRate, 0
	for i := range text {
		if chars == most {
			return HeardText(text, i, len(text))
		}
		chars++
	}
	return text
}
