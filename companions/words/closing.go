package words

import "slices"

// Closed counts the turns that brought the conversation nearer to its end (ROOM.md 6, loop guard; seed: aikyo, closing): one for every
// turn that closes, no matter how many heard it; a person who says anything else begins anew. A turn closes when somebody says goodbye,
// when its companion was closing, or when companions repeat themselves and a change of topic did not help. limit is what counts as a
// repetition.
//
// It is each companion's own: a person's goodbye to one, and that one's answer, are nothing to the others.
func (c *Conversation) Closed(who string, limit float64) (turns int) {
	all := append(slices.Clip(c.Past), c.Now)
	from := 0
	for i, l := range all {
		if !l.Companion && l.Intent != Farewell && l.Intent != Approval {
			from = i + 1
		}
	}
	all = all[from:]
	repeated := false
	var parting []string // whom the person's last line said goodbye to, by name
	for i, l := range all {
		if !l.Companion {
			parting = nil
			if l.Intent == Farewell {
				parting = l.Called
			}
		}
		if turns == 0 && len(parting) > 0 && (l.Companion && l.From != who || !l.Companion && !slices.Contains(parting, who)) {
			continue
		}
		again := false
		if repeats(all[:i], l, limit) {
			again, repeated = repeated, true
		}
		if l.Intent == Farewell || again || l.Companion && l.Closing {
			turns++
		}
		repeated = repeated || l.NewTopic
	}
	return turns
}

// TopicWanted says whether the answer should change the topic: companions repeat themselves, and that was not tried yet since a person
// spoke.
func (c *Conversation) TopicWanted(limit float64) (wanted bool) {
	var since []*Line
	for _, l := range append(slices.Clip(c.Past), c.Now) {
		if !l.Companion {
			since = nil
			continue
		}
		since = append(since, l)
	}
	for i, l := range since {
		if l.NewTopic || wanted { // tried, or wanted before
			return false
		}
		wanted = repeats(since[:i], l, limit)
	}
	return wanted
}

const (
	repetitionWindow = 5 // companion lines that one is compared with (ROOM.md 6, loop guard)
	repetitionLeast  = 4 // words from which a line can be a repetition: people may say "yes" twice
)

// repeats says whether a companion's line is more like one before it than the limit.
func repeats(before []*Line, l *Line, limit float64) bool {
	left := repetitionWindow
	if !l.Companion || len(l.words) < repetitionLeast {
		return false
	}
	for _, o := range slices.Backward(before) {
		if !o.Companion {
			continue
		}
		if left == 0 {
			return false
		}
		if Similarity(o.Text, l.Text) > limit {
			return true
		}
		left--
	}
	return false
}
