package round

import (
	"slices"

	"conch/companions/words"
)

// closing is the stage of a vote (ROOM.md 6, loop guard; seed: aikyo, closing): every turn that closes moves it by one, no
// matter how many heard it, and a person who says anything else begins anew. A turn closes when somebody says goodbye, when
// its companion had reached a stage, or when companions repeat themselves and a change of topic did not help.
func (s *scene) closing() Closing {
	all := append(slices.Clip(s.past), s.now)
	from := 0
	for i, h := range all {
		if h.From.Human() && h.Intent != words.Farewell && h.Intent != words.Approval {
			from = i + 1
		}
	}
	stage, repeated := 0, false
	var before []Message
	for _, h := range all[from:] {
		again := false
		if _, ok := repeats(before, h.Message, s.v.Manners.Repetition); ok {
			again, repeated = repeated, true
		}
		before = append(before, h.Message)
		switch {
		case h.Intent == words.Farewell, again, !h.From.Human() && h.Metadata.Closing != "" && h.Metadata.Closing != ClosingNone:
			stage = min(stage+1, len(closings)-1)
		}
		repeated = repeated || h.Metadata.Topic
	}
	return closings[stage]
}

// topicWanted says whether the answer to this message should change the topic: companions repeat themselves, and that was
// not tried yet since a person spoke (ROOM.md 6).
func (s *scene) topicWanted() (Message, bool) {
	var since []Message
	for _, h := range s.past {
		if h.From.Human() {
			since = since[:0]
			continue
		}
		since = append(since, h.Message)
	}
	if s.now.From.Human() {
		return Message{}, false
	}
	for i, m := range append(slices.Clip(since), s.now.Message) {
		if m.Metadata.Topic {
			return Message{}, false
		}
		if i < len(since) {
			if _, ok := repeats(since[:i], m, s.v.Manners.Repetition); ok {
				return Message{}, false
			}
		}
	}
	return repeats(since, s.now.Message, s.v.Manners.Repetition)
}

// repetitionWindow is how many of the last turns a turn is compared with (ROOM.md 6, loop guard).
const repetitionWindow = 5

// repeats says which earlier message a companion's message repeats, if any (ROOM.md 6).
func repeats(recent []Message, m Message, limit float64) (Message, bool) {
	if m.From.Human() || m.Metadata.Silence {
		return Message{}, false
	}
	left := repetitionWindow
	for _, o := range slices.Backward(recent) {
		if o.Metadata.Silence || o.From.Human() {
			continue
		}
		if words.Repeats(m.Text, o.Text, limit) {
			return o, true
		}
		if left--; left == 0 {
			break
		}
	}
	return Message{}, false
}
