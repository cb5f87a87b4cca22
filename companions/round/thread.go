package round

import (
	"slices"
	"time"
)

// Thread is who talks with whom: a person, and the companion that spoke to them last (ROOM.md 4.4). What that person says next is for it,
// unless it says otherwise.
type Thread struct {
	Person Participant   `json:"person"`
	With   CompanionID   `json:"with"`
	At     time.Duration `json:"-"` // of its last word; of this device's clock
}

// Threads are those of a room, and whose answers the companions' words are now.
type Threads struct {
	Asker Participant `json:"asker,omitempty"`
	List  []Thread    `json:"list,omitempty"` // by person; not to be written to
}

const (
	threadLasts = 60 * time.Second // after the last word in it
	maxThreads  = 64
)

// Next are the threads when msg has been said.
func (t Threads) Next(msg Message, now time.Duration) Threads {
	if msg.Metadata.Silence {
		return t
	}
	if msg.From.Human() {
		t.Asker = msg.From
		return t
	}
	who, ok := msg.From.Companion()
	if !ok || t.Asker == "" {
		return t
	}
	asker := t.Asker
	t.List = with(without(t.List, func(x Thread) bool { return x.Person == asker }), Thread{asker, who, now}, maxThreads)
	return t
}

// With is who has the thread with a person; empty: nobody.
func (t Threads) With(p Participant, now time.Duration) CompanionID {
	i := slices.IndexFunc(t.List, func(x Thread) bool { return x.Person == p })
	if i < 0 || now-t.List[i].At > threadLasts {
		return ""
	}
	return t.List[i].With
}

// ThreadsOf are those that messages have made which came without a time.
func ThreadsOf(said []Message) (t Threads) {
	for _, m := range said {
		t = t.Next(m, 0)
	}
	return t
}
