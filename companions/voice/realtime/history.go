package realtime

import (
	"slices"
	"strings"

	"conch/coordinator/turn"
)

// history is the conversation as text: what is carried into the next session. Assistant audio cannot be put into a
// conversation, assistant text can.
type history struct {
	entries []entry
	changes uint64 // of what was said, so far
}

type entry struct {
	turn turn.ID
	item turn.ItemID // of the present session, "" for older ones
	role string      // user, assistant, system
	text string
}

// A model that carries all it ever heard pays for it at every answer.
const (
	maxHistory     = 64
	maxHistoryText = 16 << 10
)

func (h *history) add(e entry) {
	h.entries = append(h.entries, e)
	h.changes++
	h.trim()
}

func (h *history) trim() {
	size := 0
	for _, e := range h.entries {
		size += len(e.text)
	}
	for len(h.entries) > maxHistory || (size > maxHistoryText && len(h.entries) > 1) {
		size -= len(h.entries[0].text)
		h.entries = h.entries[:copy(h.entries, h.entries[1:])]
	}
}

// at finds the entry of an item, or begins it.
func (h *history) at(id turn.ItemID, t turn.ID, role string) *entry {
	for i := range h.entries {
		if id != "" && h.entries[i].item == id {
			return &h.entries[i]
		}
	}
	h.add(entry{turn: t, item: id, role: role})
	return &h.entries[len(h.entries)-1]
}

// write appends to the text of an item, up to a bound.
func (h *history) write(id turn.ItemID, t turn.ID, role, text string) {
	e := h.at(id, t, role)
	if len(e.text)+len(text) <= maxHistoryText {
		e.text += text
		h.changes++
	}
	h.trim()
}

// hasWords says that what the person said in a turn is known in words.
func (h *history) hasWords(t turn.ID) bool {
	return slices.ContainsFunc(h.entries, func(e entry) bool { return e.turn == t && e.role == "user" && e.text != "" })
}

// cut keeps of the words of an item what was heard of it; false: there are no words, or all of them were.
func (h *history) cut(id turn.ItemID, heard, received int) bool {
	for i := range h.entries {
		if e := &h.entries[i]; id != "" && e.item == id {
			was := len(e.text)
			e.text = turn.HeardText(e.text, heard, received)
			h.changes++
			return len(e.text) < was
		}
	}
	return false
}

// bound keeps of the words of an item what can have been said in so many samples.
func (h *history) bound(id turn.ItemID, received int) {
	for i := range h.entries {
		if e := &h.entries[i]; id != "" && e.item == id {
			e.text = turn.SpokenIn(e.text, received)
			h.changes++
		}
	}
}

func (h *history) rename(id, to turn.ItemID) {
	for i := range h.entries {
		if id != "" && h.entries[i].item == id {
			h.entries[i].item = to
		}
	}
}

// text is what an item says, "" where there is none.
func (h *history) text(id turn.ItemID) string {
	for _, e := range h.entries {
		if id != "" && e.item == id {
			return e.text
		}
	}
	return ""
}

func (h *history) remove(id turn.ItemID) {
	for i := range h.entries {
		if id != "" && h.entries[i].item == id {
			h.entries = append(h.entries[:i], h.entries[i+1:]...)
			h.changes++
			return
		}
	}
}

// carry makes the history that of a new session: the item ids of the old one mean nothing there (but those that lost knows),
// what never got words has none to carry, and the turns that are asked for again bring their own.
func (h *history) carry(again map[turn.ID]bool) {
	keep := h.entries[:0]
	for _, e := range h.entries {
		if e.text != "" && !again[e.turn] {
			if !strings.HasPrefix(string(e.item), string(lostItem(""))) {
				e.item = ""
			}
			keep = append(keep, e)
		}
	}
	h.entries = keep
}

// lostItem names the history's entry of an item of a session that is gone: some servers count their items anew.
func lostItem(id turn.ItemID) turn.ItemID { return "lost " + id }
