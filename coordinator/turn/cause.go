package turn

// Cause says whose words a model has in front of it when it calls a tool. It is of a turn from its beginning, and changes once: by what a
// tool has returned. The zero value stands for no known words, and allows nothing.
type Cause uint8

// Causes. The table of what each allows is in SKILLS.md 2.5.
const (
	CauseUnknown   Cause = iota
	CauseUtterance       // a person spoke into this device
	CauseLine            // a person typed at this device: terminal, page, control socket
	CauseRoom            // a person spoke or typed at another device of the room
	CauseHouse           // Home Assistant wrote it
	CauseCompanion       // a companion said it, or nobody spoke for a while
	CauseInjected        // words to be said: an announcement, a reminder, the end of a book
	CauseResult          // a person's words began the turn, and a tool has returned words of others since
)

// Causes lists all of them; tables and tests range over it.
var Causes = []Cause{CauseUtterance, CauseLine, CauseRoom, CauseResult, CauseCompanion, CauseHouse, CauseInjected, CauseUnknown}

func (c Cause) String() string {
	return [...]string{"unknown", "utterance", "line", "room", "house", "companion", "injected", "result"}[c]
}

// ByPerson tells that a person's own words began the turn.
func (c Cause) ByPerson() bool { return c == CauseUtterance || c == CauseLine || c == CauseRoom }

// Silent tells that the model is offered no tool at all: it has words to say, and nothing to do.
func (c Cause) Silent() bool { return c == CauseUnknown || c == CauseHouse || c == CauseInjected }

// severalSources stands for the words of more than one skill.
const severalSources = "*"

// quote notes that a tool has returned words that others wrote.
func (s *draft) quote(source string) {
	switch m := &s.m; {
	case source == "" || m.quoted == source:
	case m.quoted == "":
		m.quoted = source
	default:
		m.quoted = severalSources
	}
}

// readOthers: the next response has words of others before it, so that it is no longer the person's words alone that call a tool.
func (s *draft) readOthers() {
	if s.m.quoted != "" && s.m.cause.ByPerson() {
		s.m.cause = CauseResult
	}
}
