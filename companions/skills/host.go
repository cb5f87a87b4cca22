package skills

import (
	"context"
	"log/slog"
	"time"
)

// Host is what the device offers to the skills that ship with it, which stand in a list of package device: a name, and a function
//
//	func New(h skills.Host) skills.Skill // nil: there is nothing for it to do here
//
// It may be asked from any goroutine; Mute waits until the microphone is closed, some seconds at most. What is nil is not there on
// this device, and a skill that cannot be without it is none: its New returns nil.
type Host struct {
	Log      *slog.Logger              // with the skill's name
	Now      func() time.Time          // the clock on the wall
	Language string                    // of the device, as in "de": what it says by itself is in that; empty: English
	Mute     func() error              // closes the microphone
	Store    Store                     // of this skill; nil: nothing can be kept
	Announce func(Announcement)        // asks for a turn that nobody pressed for; it waits for the disk where that is durable, and for nothing else
	Ring     func(Alert) (stop func()) // sounds until a person has heard it; it never waits
	Missed   MissedFunc                // nil: nothing is noted
	Room     *Room                     // nil: one companion that is alone
	Intercom *Intercom                 // nil: no other device can be called
	Library  *Library                  // nil: there is no place for one
	Radio    *Radio                    // nil: there are no stations
	Home     *Home                     // nil: nothing of a house is configured
	Sleep    *Sleep                    // when what plays is to stop; one for all skills
	Snoozed  *Snoozed                  // what rang or was told last; one for all skills
	// GoOn has what plays come back that a person has left silent beneath something that was stopped, and tells whether anything plays then.
	GoOn func(context.Context) bool
}

// Store keeps what a skill must not forget, for each companion apart; "" is the device itself. What a method has written is on the
// disk when it returns, whole, and survives a power cut.
type Store interface {
	// Get is the value of a key; nil: there is none.
	Get(companion, key string) ([]byte, error)
	// Put writes all of these or none; a nil value deletes its key.
	Put(companion string, values map[string][]byte) error
	// All calls f with each key and value, in the order of the keys, until it returns false.
	All(companion string, f func(key string, value []byte) bool) error
	// Companions are those for whom something is kept.
	Companions() ([]string, error)
}

// Announcement is a turn that a skill asks for by itself (TURNS.md 5).
type Announcement struct {
	Prompt    string        // what the person is to hear, in the words of the model; empty: the text, word for word
	Text      string        // what the local voice says where there is no session; empty: the prompt
	Companion string        // who says it, by the id of its card; empty: who has the microphone
	Priority  Priority      // when it may begin
	Key       string        // one of this skill that waits is replaced by a newer one of its key; empty: each counts
	TTL       time.Duration // how long it may wait; 0: ten minutes
	Heed      bool          // a press at this device counts as heard after 1.5 s; any other cut has it said once more after 60 s of quiet
	Left      chan struct{} // closed: it is not to be said, nor said once more, and where it was not heard its outcome is replaced; nil: never
	Durable   bool          // on the disk when Announce returns, and until its outcome: a crash does not lose it (SKILLS.md 2.4)
	Done      func(Outcome) // called once with the outcome, on a goroutine of its own, unless nil; after a crash nobody is called
}

// MissedFunc gives what people silenced or did not hear, the newest first and so many at most, and how many more there are, to a turn that
// tells them: what was heard of it to its end is forgotten.
type MissedFunc func(turn string, most int) (newest []Missed, more int)

// Missed is an announcement or an alert that a person silenced or did not hear.
type Missed struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	Why  Outcome   `json:"why"`
}

// Priority is when an announcement may begin.
type Priority uint8

// Priorities, rising.
const (
	Normal           Priority = iota // at the end of a turn or call, and at a gap of what plays
	BlockBehindComms                 // the same, but what plays gives way at once
	Preempt                          // it ends a call
)

// Alert is a sound that is repeated until a person presses, which begins no turn, or until it was heard for as long as it may be. It
// waits for the end of a turn and of a call; several ring as one, and one press ends them all (TURNS.md 4).
type Alert struct {
	Text    string        // what rings, in the words of a person: "the pasta"; spoken between the sounds where this device can
	Longest time.Duration // 0: five minutes
	// Later has it ring again in five minutes instead, and ends this one; nil: it cannot. An error is for people.
	Later func() error
	// Ended is called once, unless nil: pressed, stopped (by a person's word or hush, or by stop), expired (nobody pressed in its time), failed
	// (nobody can have heard it, or the device has ended).
	Ended func(how Ended)
}

// Rate is samples a second of all sound.
const Rate = 24000

// Library is the sound that people have put into this device.
type Library struct {
	Titles func() ([]Title, error)         // the same slice as long as nothing has changed
	Open   func(file string) (Long, error) // by the File of a title; an error is for people
	// Learn reads the heads of files that it does not know yet, slowly, and waits for more; changed is told when Titles are others than
	// before. It returns when ctx ends. Nil: nothing is read.
	Learn func(ctx context.Context, changed func()) error
	// Stretch is for one sound that is heard at so many percent of its speed, 75 to 200, and at its own pitch.
	Stretch func(percent int) Stretch
}

// Stretch makes a sound longer or shorter.
type Stretch interface {
	// Step takes the samples that come next, and gives those that can be heard by then.
	Step(pcm []int16) []int16
	// End gives what is left.
	End() []int16
}

// Title is a file of sound.
type Title struct {
	File  string // its path in the library, with slashes
	Name  string // of the file, as somebody would say it
	Tags  Tags
	Unfit bool // it cannot be played, as far as is known
}

// Tags are what a file says of itself; what it does not say, or what was not read yet, is empty.
type Tags struct {
	Title, Artist, Album string
	Disc, Track          int
	Marks                []Mark // chapters within the file, by their place
}

// Mark is where a chapter begins, in samples.
type Mark struct {
	At   int
	Name string
}

// Long is a sound that may be longer than memory.
type Long interface {
	// From gives the samples from one of them on, a second at most; io.EOF at the end.
	From(sample int) ([]int16, error)
	// Samples is how many there are, about; 0: nobody knows.
	Samples() int
	Close() error
}

// Radio is the stations that this device knows.
type Radio struct {
	Stations []string // by name
	// Open connects to one of them, and waits for its first sound, or until ctx ends; what comes afterwards, ctx does not end. An
	// error is for people.
	Open func(ctx context.Context, station string) (Live, error)
}

// Live is sound that goes on whether it is heard or not.
type Live interface {
	// Next gives the samples that come next, at least one; it waits for them, some seconds at most.
	Next() ([]int16, error)
	// Close ends it, and a Next that waits.
	Close() error
}

// Room is what there is to know of the room, and to change.
type Room struct {
	Members func() string                             // who is present, in words; nil: nobody else ever is, and no manners are needed
	Why     func(companion string) string             // why one spoke last, in words
	Manners func(companion, involvement string) error // how much one joins in; "" is the whole room
}

// Intercom is the way to people at other devices.
type Intercom struct {
	Names  func() []string                       // of the devices that can be called now
	Call   func(name string) (InputClaim, error) // the call, from the ringing there on; an error says in words why there is none
	Answer func() (InputClaim, error)            // the call that rings here
	HangUp func() bool                           // ends the call, or what rings; false: there is neither
}

// UnsentError is an error of Home.Publish that came before anything was sent.
type UnsentError struct{ Why error }

func (u UnsentError) Error() string { return u.Why.Error() }

// Home is what there is in a house to switch and to read, over MQTT.
type Home struct {
	Things  []Thing
	Publish func(ctx context.Context, topic, payload string) error  // returns when the broker has acknowledged it; UnsentError: it was not even sent
	Read    func(ctx context.Context, topic string) (string, error) // what the broker keeps there
}

// Thing is something in a house, by the name that people have for it.
type Thing struct {
	Name      string
	Topic     string            // where it is told what to be; empty: it is only read
	Payloads  map[string]string // what it may be, in words, and what is said for that
	Numbers   bool              // it may be a number, from Low to High
	Low, High float64
	Read      string // where what it is stands; empty: nowhere
	Field     string // of JSON that stands there; empty: what tells most
}
