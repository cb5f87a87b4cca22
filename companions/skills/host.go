package skills

// Host is what the device offers to the skills that ship with it, which stand in a list of package device: a name, and a function
//
//	func New(h skills.Host) skills.Skill // nil: there is nothing for it to do here
//
// It may be asked from any goroutine; Mute waits until the microphone is closed, some seconds at most.
type Host struct {
	Mute    func() error // closes the microphone
	Room    *Room        // nil: one companion that is alone
	Library *Library     // nil: there is no place for one
}

// Rate is samples a second of all sound.
const Rate = 24000

// Library is the sound that people have put into this device.
type Library struct {
	Where  string                     // the folder, for people
	Titles func() ([]string, error)   // in order
	Open   func(string) (Long, error) // by its title
}

// Long is a sound that may be longer than memory.
type Long interface {
	// From gives the samples from one of them on, a second at most; io.EOF at the end.
	From(sample int) ([]int16, error)
	Close() error
}

// Room is what there is to know of the room, and to change.
type Room struct {
	Members func() string                             // who is present, in words
	Why     func(companion string) string             // why one spoke last, in words
	Manners func(companion, involvement string) error // how much one joins in; "" is the whole room
}
