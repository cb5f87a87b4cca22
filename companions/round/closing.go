package round

import "slices"

// closing is the stage of a vote (ROOM.md 6, loop guard; seed: aikyo, closing): every turn that closes moves it by one, no
// matter how many heard it, and a person who says anything else begins anew. A turn closes when somebody says goodbye, when
// its companion had reached a stage, or when companions repeat themselves and a change of topic did not help.
func (s *scene) closing() Closing {
	all := append(slices.Clip(s.past), s.now)
	from := 0
	for i, h := range all {
		if h.From.Human() && h.intent != Farewell && h.intent != Approval {
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
		case h.intent == Farewell, again, !h.From.Human() && h.Metadata.Closing != "" && h.Metadata.Closing != ClosingNone:
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
