package rehearsal

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// conversation is what was said, in order. Owned by the loop.
type conversation struct {
	id    string
	items []*item
}

// item is one entry: a message, a call of a tool, or the output of one.
type item struct {
	id, kind, status string

	role    string   // message
	text    string   // what it says; of sound, its transcript
	typed   bool     // text of a message that never was sound
	sound   []int16  // of the user; forgotten when maxKept newer samples have come
	samples int      // of sound, the user's or ours
	hearing *hearing // the recognizer at work on sound

	callID, name, args, output string // function_call, function_call_output
}

// hearing is what the recognizer makes of an item: heard and err are set before done is closed.
type hearing struct {
	done  chan struct{}
	heard Heard
	err   error
}

func (c *conversation) find(id string) *item {
	for _, it := range c.items {
		if it.id == id {
			return it
		}
	}
	return nil
}

// add inserts behind the item with id *after ("root" is the beginning), or at the end, and returns the id before it.
func (c *conversation) add(it *item, after *string) (prev string) {
	at := len(c.items)
	if after != nil {
		at = 0
		for i, o := range c.items {
			if o.id == *after {
				at = i + 1
			}
		}
	}
	if at > 0 {
		prev = c.items[at-1].id
	}
	c.items = slices.Insert(c.items, at, it)
	if len(c.items) > maxItems {
		c.items = slices.Delete(c.items, 0, 1)
	}
	kept := 0
	for _, o := range slices.Backward(c.items) {
		if kept += len(o.sound); kept > maxKept && o != it {
			o.sound = nil
		}
	}
	return prev
}

func (c *conversation) remove(id string) *item {
	for i, it := range c.items {
		if it.id == id {
			c.items = slices.Delete(c.items, i, i+1)
			return it
		}
	}
	return nil
}

// wire is the item as an object of the protocol.
func (it *item) wire(withSound bool) m {
	o := m{"id": it.id, "object": "realtime.item", "type": it.kind, "status": it.status}
	switch it.kind {
	case "function_call":
		o["call_id"], o["name"], o["arguments"] = it.callID, it.name, it.args
	case "function_call_output":
		o["call_id"], o["output"] = it.callID, it.output
	default:
		o["role"] = it.role
		part := m{}
		switch {
		case it.role == "assistant" && it.typed:
			part["type"], part["text"] = "output_text", it.text
		case it.role == "assistant":
			part["type"], part["transcript"] = "output_audio", it.text
		case it.typed:
			part["type"], part["text"] = "input_text", it.text
		default:
			part["type"], part["transcript"] = "input_audio", orNull(it.text)
			if withSound && it.sound != nil {
				part["audio"] = soundBase64(it.sound)
			}
		}
		o["content"] = []any{part}
		if it.role == "assistant" && it.status == "in_progress" {
			o["content"] = []any{} // nothing has been said yet
		}
	}
	return o
}

func soundBase64(pcm []int16) string {
	b := make([]byte, 0, 2*len(pcm))
	for _, s := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// fromWire makes an item of a checked object.
func fromWire(o m) (it *item, sound string) {
	it = &item{id: get[string](o, "id"), kind: get[string](o, "type"), role: get[string](o, "role"), status: "completed"}
	it.callID, it.name = get[string](o, "call_id"), get[string](o, "name")
	it.args, it.output = get[string](o, "arguments"), get[string](o, "output")
	if it.kind != "message" {
		return it, ""
	}
	var words []string
	it.typed = true
	for _, p := range get[[]any](o, "content") {
		part := p.(m)
		if a := get[string](part, "audio"); a != "" {
			sound, it.typed = a, false
		}
		words = append(words, get[string](part, "text"))
	}
	it.text = strings.TrimSpace(strings.Join(words, "\n"))
	return it, sound
}

func noItem(verb, id string) *violation {
	return wrong("item_"+verb+"_invalid_item_id", "item_id", "There is no item '%s' in the conversation.", clip(id, 100))
}

// added announces an item that is whole from the start.
func (x *session) added(it *item, prev string) {
	x.emit("conversation.item.added", m{"item": it.wire(false), "previous_item_id": orNull(prev)})
	x.emit("conversation.item.done", m{"item": it.wire(false), "previous_item_id": orNull(prev)})
}

func (x *session) createItem(ev m) *violation {
	it, sound := fromWire(ev["item"].(m))
	if it.id == "" {
		it.id = x.newID("item")
	} else if x.talk.find(it.id) != nil {
		return wrong("item_create_duplicate_item_id", "item.id", "There is an item '%s' already.", clip(it.id, 100))
	}
	if it.kind == "function_call_output" && !slices.ContainsFunc(x.talk.items, func(o *item) bool {
		return o.kind == "function_call" && o.callID == it.callID
	}) {
		return wrong("invalid_tool_call_id", "item.call_id", "No call '%s' is in the conversation.", clip(it.callID, 100))
	}
	var after *string
	if p, ok := ev["previous_item_id"].(string); ok {
		if p != "root" && x.talk.find(p) == nil {
			return wrong("item_create_invalid_previous_item_id", "previous_item_id", "There is no item '%s' in the conversation.", clip(p, 100))
		}
		after = &p
	}
	if sound != "" {
		pcm, bad := x.samples(sound, 0)
		if bad != nil {
			return bad
		}
		it.sound, it.samples = pcm, len(pcm)
	}
	x.added(it, x.talk.add(it, after))
	if it.sound != nil {
		x.hear(it)
	}
	return nil
}

// truncate cuts an answer to what was heard of it. Its words go too: nobody knows which of them were heard.
func (x *session) truncate(id string, ms int) *violation {
	it := x.talk.find(id)
	switch {
	case it == nil:
		return noItem("truncate", id)
	case it.kind != "message" || it.role != "assistant" || it.typed:
		return wrong("invalid_value", "item_id", "Only spoken answers can be truncated; '%s' is none.", clip(id, 100))
	case ms > it.samples*1000/Rate:
		return wrong("invalid_value", "audio_end_ms", "The sound of '%s' is %d ms long: it cannot be cut at %d ms.", clip(id, 100), it.samples*1000/Rate, ms)
	}
	it.samples = ms * Rate / 1000
	it.text = ""
	x.emit("conversation.item.truncated", m{"item_id": it.id, "content_index": 0, "audio_end_ms": ms})
	return nil
}
