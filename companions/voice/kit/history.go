package kit

import (
	"slices"
	"strings"

	"conch/coordinator/turn"
)

// History is the conversation as text: what is carried into the next session. Assistant audio cannot be put into a
// conversation, assistant text can.
type History struct {
	Entries []Entry
	Changes uint64 // of what was said, so far
}

// An Entry is one utterance, or words of one item.
type Entry struct {
	Turn turn.ID
	Item turn.ItemID // of the present session, "" for older ones
	Role string      // user, assistant, system
	Text string
}

// Bounds. A model that carries all it ever heard pays for it at every answer.
const (
	MaxHistory     = 64
	MaxHistoryText = 16 << 10
)

// Add puts an entry last.
func (h *History) Add(e Entry) {
	h.Entries = append(h.Entries, e)
	h.Changes++
	h.Trim()
}

// Trim forgets the oldest beyond the bounds.
func (h *History) Trim() {
	size := 0
	for _, e := range h.Entries {
		size += len(e.Text)
	}
	for len(h.Entries) > MaxHistory || (size > MaxHistoryText && len(h.Entries) > 1) {
		size -= len(h.Entries[0].Text)
		h.Entries = h.Entries[:copy(h.Entries, h.Entries[1:])]
	}
}

// At finds the entry of an item, or begins it.
func (h *History) At(id turn.ItemID, t turn.ID, role string) *Entry {
	for i := range h.Entries {
		if id != "" && h.Entries[i].Item == id {
			return &h.Entries[i]
		}
	}
	h.Add(Entry{Turn: t, Item: id, Role: role})
	return &h.Entries[len(h.Entries)-1]
}

// Write appends to the text of an item, up to a bound.
func (h *History) Write(id turn.ItemID, t turn.ID, role, text string) {
	e := h.At(id, t, role)
	if len(e.Text)+len(text) <= MaxHistoryText {
		e.Text += text
		h.Changes++
	}
	h.Trim()
}

// HasWords says that what the person said in a turn is known in words.
func (h *History) HasWords(t turn.ID) bool {
	return slices.ContainsFunc(h.Entries, func(e Entry) bool { return e.Turn == t && e.Role == "user" && e.Text != "" })
}

// Cut keeps of the words of an item what was heard of it; false: there are no words, or all of them were.
func (h *History) Cut(id turn.ItemID, heard, received int) bool {
	for i := range h.Entries {
		if e := &h.Entries[i]; id != "" && e.Item == id {
			was := len(e.Text)
			e.Text = turn.HeardText(e.Text, heard, received)
			h.Changes++
			return len(e.Text) < was
		}
	}
	return false
}

// Bound keeps of the words of an item what can have been said in so many samples.
func (h *History) Bound(id turn.ItemID, received int) {
	for i := range h.Entries {
		if e := &h.Entries[i]; id != "" && e.Item == id {
			e.Text = turn.SpokenIn(e.Text, received)
			h.Changes++
		}
	}
}

// Rename gives what is of one item to another.
func (h *History) Rename(id, to turn.ItemID) {
	for i := range h.Entries {
		if id != "" && h.Entries[i].Item == id {
			h.Entries[i].Item = to
		}
	}
}

// Words is what an item says, "" where there is none.
func (h *History) Words(id turn.ItemID) string {
	for _, e := range h.Entries {
		if id != "" && e.Item == id {
			return e.Text
		}
	}
	return ""
}

// Remove forgets an item.
func (h *History) Remove(id turn.ItemID) {
	for i := range h.Entries {
		if id != "" && h.Entries[i].Item == id {
			h.Entries = append(h.Entries[:i], h.Entries[i+1:]...)
			h.Changes++
			return
		}
	}
}

// Carry makes the history that of a new session: the item ids of the old one mean nothing there (but those that lost knows),
// what never got words has none to carry, and the turns that are asked for again bring their own.
func (h *History) Carry(again map[turn.ID]bool) {
	keep := h.Entries[:0]
	for _, e := range h.Entries {
		if e.Text != "" && !again[e.Turn] {
			if !strings.HasPrefix(string(e.Item), string(LostItem(""))) {
				e.Item = ""
			}
			keep = append(keep, e)
		}
	}
	h.Entries = keep
}

// LostItem names the history's entry of an item of a session that is gone: some servers count their items anew.
func LostItem(id turn.ItemID) turn.ItemID { return "lost " + id }

// Replace gives an item other words; false: there is no such item.
func (h *History) Replace(id turn.ItemID, text string) bool {
	for i := range h.Entries {
		if e := &h.Entries[i]; id != "" && e.Item == id {
			if e.Text != text {
				e.Text = text
				h.Changes++
			}
			return true
		}
	}
	return false
}
