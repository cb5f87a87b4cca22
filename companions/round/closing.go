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
		if repeats(before, h.Message, s.v.Manners.Repetition) {
			again, repeated = repeated, true
		}
		before = append(before, h.Message)
		if h.Intent == words.Farewell || again || !h.From.Human() && h.Metadata.Closing != "" && h.Metadata.Closing != ClosingNone {
			stage = min(stage+1, len(closings)-1)
		}
		repeated = repeated || h.Metadata.Topic
	}
	return closings[stage]
}

// topicWanted says whether the answer to this message should change the topic: companions repeat themselves, and that was
// not tried yet since a person spoke (ROOM.md 6).
func (s *scene) topicWanted() bool {
	var since []Message
	for _, h := range append(slices.Clip(s.past), s.now) {
		if h.From.Human() {
			since = nil
			continue
		}
		since = append(since, h.Message)
	}
	wanted := false
	for i, m := range since {
		if m.Metadata.Topic || wanted { // tried, or wanted before
			return false
		}
		wanted = repeats(since[:i], m, s.v.Manners.Repetition)
	}
	return wanted
}

// repetitionWindow is how many of the last turns a turn is compared with (ROOM.md 6, loop guard).
const repetitionWindow = 5

// repeats says whether a companion's message repeats an earlier one (ROOM.md 6).
func repeats(recent []Message, m Message, limit float64) bool {
	if m.From.Human() || m.Metadata.Silence {
		return false
	}
	left := repetitionWindow
	for _, o := range slices.Backward(recent) {
		if o.Metadata.Silence || o.From.Human() {
			continue
		}
		if left == 0 {
			return false
		}
		if words.Repeats(m.Text, o.Text, limit) {
			return true
		}
		left--
	}
	return false
}
