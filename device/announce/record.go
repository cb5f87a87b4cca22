package announce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"conch/companions/skills"
	"conch/device/language"
	"conch/device/printable"
)

// ttl is that of an announcement that has none.
const ttl = 10 * time.Minute

// record is an announcement on the disk.
type record struct {
	Skill     string          `json:"skill"`
	Prompt    string          `json:"prompt,omitempty"`
	Text      string          `json:"text"`
	Companion string          `json:"companion,omitempty"`
	Priority  skills.Priority `json:"priority,omitempty"`
	Key       string          `json:"key,omitempty"`
	TTL       time.Duration   `json:"ttl"`
	Heed      bool            `json:"heed,omitempty"`
	Until     time.Time       `json:"until"`           // it may begin until then
	Begun     int             `json:"begun,omitempty"` // in so many lives of the device it has begun
}

func recordOf(skill string, a skills.Announcement, now time.Time) record {
	r := record{
		Skill: skill, Prompt: a.Prompt, Text: cmp.Or(a.Text, a.Prompt), Companion: a.Companion,
		Priority: a.Priority, Key: a.Key, Heed: a.Heed, TTL: cmp.Or(max(a.TTL, 0), ttl),
	}
	r.Until = now.Add(r.TTL)
	return r
}

// fullKey is its key among those of all skills; empty: it has none.
func (r record) fullKey() string {
	if r.Key == "" {
		return ""
	}
	return r.Skill + "." + r.Key
}

// begins is the record once it begins in this life of the device: from now it counts as heard, by some at least.
func (r record) begins(now time.Time) record {
	r.Begun++
	r.Until = now.Add(r.TTL)
	return r
}

// What is left of an announcement that a life of the device has not brought to its outcome.
type left uint8

const (
	waits left = iota // it is to be said
	late              // its time is over
	heard             // it was begun, said again and begun: a third time is once too often
)

func (r record) left(now time.Time) left {
	switch {
	case r.Begun > 1:
		return heard
	case !now.Before(r.Until):
		return late
	}
	return waits
}

// wait is for how long it may wait; a clock that was set back does not make it longer.
func (r record) wait(now time.Time) time.Duration { return min(r.Until.Sub(now), r.TTL) }

// WordForWord has a model say something as it was written.
func WordForWord(text string) string {
	return "Say this to the room, word for word: " + printable.Quoted(text)
}

// words are what the model is told and what the local voice says. What has begun in an earlier life says so itself.
func (r record) words(l language.Language) (prompt, text string) {
	again := ""
	prompt, text = r.Prompt, r.Text
	if r.Begun > 0 {
		text = l.Phrase("announce.again", "text", text)
		if prompt != "" {
			again = "The people may have heard the following already, because the device was restarted while it was said. Begin by telling them so. "
		}
	}
	if prompt == "" {
		return WordForWord(text), text
	}
	return again + "Tell the person this, in your own words: " + printable.Quoted(prompt), text
}

func (r record) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("announce: %v", err)) //nolint:forbidigo // impossible: strings, numbers and times
	}
	return b
}
