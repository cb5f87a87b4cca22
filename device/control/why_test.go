package control

import (
	"testing"

	clips "conch/audio/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/language"
)

// A companion that is alone tells in a sentence why it spoke, or why nothing was heard.
func TestWhyAlone(t *testing.T) {
	button, inject := turn.SourceButton.String(), turn.SourceInject.String()
	for want, r := range map[string]coordinator.Record{
		"Ada spoke after a person said “hello”: it is the only companion here.":                                                          {Source: button, Asked: "hello", Said: "hi", HeardMS: 300, Reason: turn.Done.String()},
		"Ada spoke after somebody pressed the button: it is the only companion here.":                                                    {Source: button, Said: "hi", HeardMS: 300, Reason: turn.Done.String()},
		"Ada spoke after a person said “hello”: it is the only companion here. A press cut it after 1.2 s.":                              {Source: button, Asked: "hello", Said: "hi", HeardMS: 1200, Reason: turn.InterruptedByPress.String()},
		"Ada spoke: it was told to say something.":                                                                                       {Source: inject, Said: "dinner", HeardMS: 300, Reason: turn.Done.String()},
		"Nobody spoke after somebody pressed the button: that was too short to be a question.":                                           {Source: button, Reason: turn.TooShort.String()},
		"Nobody spoke after a person said “hello”: " + clips.Text(language.English, string(turn.WordsOffline)):                           {Source: button, Asked: "hello", Reason: turn.Expired.String(), Words: string(turn.WordsOffline)},
		"Nobody spoke after a person said “hello”: it was cut by a press before a sound.":                                                {Source: button, Asked: "hello", Reason: "interrupted"},
		"Ada spoke after a person said “a”: it is the only companion here. It broke off: " + clips.Text(language.English, "lost_midway"): {Source: button, Asked: "a", Said: "b", HeardMS: 9, Reason: turn.Failed.String(), Words: "lost_midway"},
	} {
		if got := (Turn{Who: "Ada", Record: r}).Why(language.English); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", r, got, want)
		}
	}
}
