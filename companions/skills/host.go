package skills

// Host is what the device offers to the skills that ship with it, which stand in a list of package device: a name, and a function
//
//	func New(h skills.Host) skills.Skill // nil: there is nothing for it to do here
//
// It may be asked from any goroutine; Mute waits until the microphone is closed, some seconds at most.
type Host struct {
	Mute func() error // closes the microphone
	Room *Room        // nil: one companion that is alone
}

// Room is what there is to know of the room, and to change.
type Room struct {
	Members func() string                             // who is present, in words
	Why     func(companion string) string             // why one spoke last, in words
	Manners func(companion, involvement string) error // how much one joins in; "" is the whole room
}
