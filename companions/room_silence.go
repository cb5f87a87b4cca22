package companions

import (
	"context"
	"strconv"
	"sync"
	"time"

	"conch/companions/round"
	"conch/companions/talk"
)

// maxSilences bounds the demands for silence that are waited for; one more is sent, and reported as it stands.
const maxSilences = 64

// silences are the demands for silence under way (talk.Silence decides).
type silences struct {
	mu     sync.Mutex
	roster talk.Roster
	n      int
	open   map[string]*silence // by turn
}

type silence struct {
	talk.Silence
	complete chan struct{}
}

// Silence silences the room as a press does of which nothing comes, and waits until each device has confirmed it or ctx ends.
func (r *Room) Silence(ctx context.Context, at time.Duration) talk.Silence {
	s := &r.silences
	w := &silence{complete: make(chan struct{})}
	s.mu.Lock()
	s.n++
	turn, waits := "hush-"+strconv.Itoa(s.n), len(s.open) < maxSilences
	w.Silence = s.roster.Demand(round.Epoch{})
	if waits {
		s.open[turn] = w
	}
	s.mu.Unlock()
	r.inbox.put(round.Pressed{At: at, Turn: turn, Ask: true})
	r.PressEnded(turn, "silence was asked for, and no more")
	if waits {
		select {
		case <-w.complete:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, turn)
	return w.Silence
}

// PressTaken says that the broker has acknowledged a press of this device.
func (r *Room) PressTaken(e round.Epoch) {
	r.silences.edit(func(_ string, s talk.Silence) talk.Silence { return s.Taken(e) })
}

// edit changes the demands that wait, and lets go of whoever waits for one that is complete.
func (s *silences) edit(f func(turn string, s talk.Silence) talk.Silence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for turn, w := range s.open {
		if w.Begun() && w.Complete() {
			continue
		}
		if w.Silence = f(turn, w.Silence); w.Begun() && w.Complete() {
			close(w.complete)
		}
	}
}

func (s *silences) know(f func(talk.Roster) talk.Roster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roster = f(s.roster)
}

// silenced looks at a fact that the machine has taken: a demand that began, a list, a goodbye, a confirmation.
func (r *Room) silenced(ev round.Event) {
	s := &r.silences
	switch e := ev.(type) {
	case round.Pressed:
		if e.Ask {
			s.edit(func(turn string, w talk.Silence) talk.Silence {
				if turn != e.Turn {
					return w
				}
				return s.roster.Demand(r.m.Epoch())
			})
		}
	case round.MembersListed:
		s.know(func(x talk.Roster) talk.Roster { return x.List(e.Members) })
	case round.Received:
		b, ok := e.Packet.(round.Beat)
		switch {
		case ok && b.Left:
			s.know(func(x talk.Roster) talk.Roster { return x.Leave(e.From) })
		case ok && b.Silenced.Device == r.o.Self:
			s.edit(func(_ string, w talk.Silence) talk.Silence { return w.Heard(e.From, b.Silenced) })
		}
	}
}
