package realtime

import (
	"slices"
	"strings"

	"conch/coordinator/turn"
)

// What others said in the room enters the conversation as text of no turn (ROOM.md 7). It is known at any time: between
// turns, during an answer, while there is no session. So it does not stand in the plan, which belongs to the turn, but is
// sent as it comes and kept in the history, which begins every session:
//
//	Do ──> orders ──> remember ─┬─> history ──> the next session
//	                            └─> this session, if there is one
//
// Bounds: what Run has not looked at is at most maxHistory texts, then the oldest goes, which the history could not have
// kept either; a text is cut at maxMemoryText; the history is bounded by itself.

// maxMemoryText is bytes of one text: a quarter of what a session is told of the past.
const maxMemoryText = maxHistoryText / 4

// isMemory tells that an order is no business of any turn.
func isMemory(o turn.Order) bool {
	t, ok := o.(turn.AddText)
	return ok && t.Turn == ""
}

// rememberLater queues memory in its place among the orders. The caller holds mu.
func (c *Client) rememberLater(o turn.Order) {
	if c.remembered == maxHistory {
		i := slices.IndexFunc(c.orders, isMemory)
		c.orders = slices.Delete(c.orders, i, i+1)
		c.remembered--
	}
	c.orders = append(c.orders, o)
	c.remembered++
}

// remember puts a text of the room into the conversation. It is no sign of a turn: it does not keep an idle session from
// being renewed, nor ask for one.
func (r *conversation) remember(o turn.AddText) {
	if o.Text == "" {
		return
	}
	if o.Role == "" {
		o.Role = "user"
	}
	if len(o.Text) > maxMemoryText {
		o.Text = strings.ToValidUTF8(o.Text[:maxMemoryText], "") + " …"
	}
	r.history.add(entry{role: o.Role, text: o.Text})
	r.send(sentEvent{kind: sentText}, func(id string) any { return r.d.text(id, o.Role, o.Text) })
}
