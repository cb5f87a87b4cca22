package round

// Similarity says how much of two texts is the same, 0 to 1: the share of pairs of neighbouring words they have in common
// (Dice's coefficient), of words where one has fewer than two. Case, accents and punctuation do not count.
func Similarity(a, b string) float64 {
	wa, wb := words(a), words(b)
	if len(wa) == 0 || len(wb) == 0 {
		return 0
	}
	n := 2
	if len(wa) < 2 || len(wb) < 2 {
		n = 1
	}
	count := make(map[string]int)
	total := 0
	for i := n - 1; i < len(wa); i++ {
		count[gram(wa, i, n)]++
		total++
	}
	same := 0
	for i := n - 1; i < len(wb); i++ {
		if g := gram(wb, i, n); count[g] > 0 {
			count[g]--
			same++
		}
		total++
	}
	return 2 * float64(same) / float64(total)
}

func gram(ws []word, i, n int) string {
	if n == 1 {
		return ws[i].text
	}
	return ws[i-1].text + " " + ws[i].text
}

// repetitionWindow is how many of the last turns a turn is compared with (ROOM.md 6, loop guard).
const repetitionWindow = 5

// repetitionLeast is the number of words from which a turn can be a repetition: people may say "yes" twice.
const repetitionLeast = 4

// repeats says which earlier message a companion's message repeats, if any (ROOM.md 6).
func repeats(recent []Message, m Message, limit float64) (Message, bool) {
	if m.From.Human() || m.Metadata.Silence || len(words(m.Text)) < repetitionLeast {
		return Message{}, false
	}
	left := repetitionWindow
	for i := len(recent) - 1; i >= 0 && left > 0; i-- {
		if recent[i].Metadata.Silence || recent[i].From.Human() {
			continue
		}
		left--
		if Similarity(recent[i].Text, m.Text) > limit {
			return recent[i], true
		}
	}
	return Message{}, false
}
