package coordinator

import (
	"strings"

	"conch/coordinator/turn"
)

// Bounds of what is kept of a turn's words: the live turn, the one before it and a next one, some pages each.
const (
	keepTurns    = 3
	keepWords    = 16 << 10
	keepPassages = 32 // items and sounds of one turn; what comes beyond is taken for more of the last one
)

// texts collects the words of turns, for their records. What comes beyond the bounds is left out.
type texts struct {
	of   [keepTurns]words
	next int
}

// words are those of one turn, and the samples that speak them.
type words struct {
	turn        turn.ID
	asked, said strings.Builder
	passages    []passage // in the order in which they are played
	done        bool      // no response is live: the last passage has all its samples, unless it is cut
}

// passage is an item of the model, or a tool's sound (no item, no text).
type passage struct {
	item    turn.ItemID
	samples int
	text    string
	cut     bool // its answer broke off: samples of some of its words never came
}

// note keeps what ev says in words, if it does, and how many samples speak them. live is the live turn: samples of another
// one went nowhere.
func (t *texts) note(ev turn.Event, live turn.ID) {
	switch e := ev.(type) {
	case turn.Asked:
		keep(&t.of[t.place(e.Turn)].asked, e.Text)
	case turn.Transcribed:
		keep(&t.of[t.place(e.Turn)].asked, e.Text)
	case turn.Spoken:
		w := &t.of[t.place(e.Turn)]
		if keep(&w.said, e.Text) {
			w.passage(e.Item).text += e.Text
		}
		w.done = false
	case turn.DeltaArrived:
		if e.Turn == live && live != "" && (e.Item != "" || e.Samples > 0) {
			w := &t.of[t.place(e.Turn)]
			w.passage(e.Item).samples += e.Samples
			w.done = false
		}
	case turn.SoundQueued:
		if e.Turn == live && live != "" {
			t.of[t.place(e.Turn)].passage("").samples += e.Samples
		}
	case turn.ResponseDone:
		if e.Turn == live && live != "" {
			w := &t.of[t.place(e.Turn)]
			w.done = true
			if n := len(w.passages); n > 0 && e.Status != turn.ResponseCompleted {
				w.passages[n-1].cut = true
			}
		}
	}
}

// cut tells that no more of a turn is heard, though its words go on.
func (t *texts) cut(id turn.ID) {
	if w := &t.of[t.place(id)]; len(w.passages) > 0 {
		w.passages[len(w.passages)-1].cut = true
	}
}

func keep(b *strings.Builder, s string) bool {
	if b.Len()+len(s) > keepWords {
		return false
	}
	b.WriteString(s)
	return true
}

// passage finds the passage of an item, or begins one; a sound is always one of its own.
func (w *words) passage(item turn.ItemID) *passage {
	for i := range w.passages {
		if p := &w.passages[i]; item != "" && p.item == item {
			return p
		}
	}
	if len(w.passages) < keepPassages {
		w.passages = append(w.passages, passage{item: item})
	}
	return &w.passages[len(w.passages)-1]
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
	t.of[i] = words{turn: id, passages: t.of[i].passages[:0]}
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

// heard gives what of a turn's answer was heard when n samples of its speech were: each item in proportion, to the last
// whole word.
func (t *texts) heard(id turn.ID, n int) string {
	for i := range t.of {
		w := &t.of[i]
		if w.turn != id {
			continue
		}
		var b strings.Builder
		for k, p := range w.passages {
			played := min(n, p.samples)
			n -= played
			text := p.text
			switch last := k == len(w.passages)-1; {
			case p.samples > 0:
				text = turn.HeardText(text, played, p.samples)
				if p.cut || last && !w.done {
					text = turn.SpokenIn(text, played)
				}
			case n == 0: // text without a sound, after what was heard
				text = ""
			}
			b.WriteString(text)
		}
		return strings.TrimSpace(b.String())
	}
	return ""
}
