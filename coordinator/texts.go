package coordinator

import (
	"strings"

	"conch/coordinator/turn"
)

// Bounds of what is kept of a turn's words: the live turn, the one before it and a next one, some pages each.
const (
	keepTurns = 3
	keepWords = 16 << 10
)

// texts collects the words of turns, for their records. What comes beyond the bounds is left out.
type texts struct {
	of [keepTurns]struct {
		turn        turn.ID
		asked, said strings.Builder
	}
	next int
}

// note keeps what ev says in words, if it does.
func (t *texts) note(ev turn.Event) {
	switch e := ev.(type) {
	case turn.Asked:
		keep(&t.of[t.place(e.Turn)].asked, e.Text)
	case turn.Transcribed:
		keep(&t.of[t.place(e.Turn)].asked, e.Text)
	case turn.Spoken:
		keep(&t.of[t.place(e.Turn)].said, e.Text)
	}
}

func keep(b *strings.Builder, s string) {
	if b.Len()+len(s) <= keepWords {
		b.WriteString(s)
	}
}

// place finds a turn, or takes the oldest place for it.
func (t *texts) place(id turn.ID) int {
	for i := range t.of {
		if t.of[i].turn == id {
			return i
		}
	}
	i := t.next
	t.next = (t.next + 1) % keepTurns
	t.of[i].turn = id
	t.of[i].asked.Reset()
	t.of[i].said.Reset()
	return i
}

// take gives the words of a turn.
func (t *texts) take(id turn.ID) (asked, said string) {
	for i := range t.of {
		if t.of[i].turn == id {
			return strings.TrimSpace(t.of[i].asked.String()), strings.TrimSpace(t.of[i].said.String())
		}
	}
	return "", ""
}
