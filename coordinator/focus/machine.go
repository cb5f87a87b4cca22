package focus

import "time"

// Channel is what an activity is. The lower number goes before the higher one.
type Channel uint16

// The four channels of TURNS.md 4.
const (
	Dialog  Channel = 100 // a turn: a press, a question, an injected one, a floor that was granted; what the device itself says
	Comms   Channel = 150 // a call
	Alert   Channel = 200 // what rings until a person presses
	Content Channel = 300 // a book, music, a radio
)

var channels = [...]Channel{Dialog, Comms, Alert, Content}

func (c Channel) String() string {
	switch c {
	case Dialog:
		return "dialog"
	case Comms:
		return "comms"
	case Alert:
		return "alert"
	case Content:
		return "content"
	}
	return "channel?"
}

// ID names an activity; no two have the same, and none has 0.
type ID uint64

// Activity is something that wants to be heard.
type Activity struct {
	ID        ID
	Exclusive bool          // nothing sounds beneath it, however softly: somebody speaks into the microphone
	Mixable   bool          // beneath another it sounds on, softly; else it pauses
	Patience  time.Duration // it pauses for so long and then ends; 0: for ever
}

// Level is how an activity is heard.
type Level uint8

// Levels.
const (
	Foreground Level = iota + 1
	Ducked
	Paused
)

func (l Level) String() string { return [...]string{"none", "foreground", "ducked", "paused"}[l] }

// Breath is how long nothing must be in front before what was displaced comes back. Our choice, as long as content stays ducked
// behind speech: an answer and the announcement that waited for its end are one disturbance and not two.
const Breath = 300 * time.Millisecond

// deep is how many activities of Content there are at most: one that is heard, and those that it has displaced. Our choice.
const deep = 3

const newest = len(channels) - 1 // the place of the newest content; the older ones follow

// Machine is who has the focus of a device, whole, as a comparable value. Its zero value is a device at rest.
type Machine struct {
	slots [newest + deep]slot
	back  time.Duration // what was displaced comes back then; 0: nothing is about to
}

type slot struct {
	Activity
	level Level
	heard bool          // it has been in the foreground, or ducked
	until time.Duration // its patience ends; 0: it has none, or does not need it
	held  bool          // content that comes back only when a person asks for it
}

// Level is how an activity is heard now, 0 if there is none of this name.
func (m Machine) Level(id ID) Level {
	for _, s := range m.slots {
		if s.ID == id && id != 0 {
			return s.level
		}
	}
	return 0
}

// Holder is the activity of a channel, of content the newest; 0 if there is none.
func (m Machine) Holder(c Channel) ID { return m.slots[index(c)].ID }

// Held tells that the newest content comes back only when a person asks for it.
func (m Machine) Held() bool { return m.slots[newest].held }

// Wake is when time alone changes something. The runner tells the machine by Passed.
func (m Machine) Wake() (at time.Duration, ok bool) {
	at, ok = m.back, m.back > 0
	for _, s := range m.slots {
		if s.until > 0 && (!ok || s.until < at) {
			at, ok = s.until, true
		}
	}
	return at, ok
}

func index(c Channel) int {
	for i, k := range channels {
		if k == c {
			return i
		}
	}
	return len(channels) - 1
}
