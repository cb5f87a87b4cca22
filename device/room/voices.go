package room

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"

	"conch/companions/round"
	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/condition"
)

// Voices are the sessions of the companions that live here, one each, as one Voice: a turn belongs to one companion, and
// its orders and facts pass through that one's session alone. The first companion has the microphone: it hears what the
// others get to know as text.
type Voices struct {
	// fixed after New
	ids []round.CompanionID // the first has the microphone
	of  map[round.CompanionID]voice.Voice
	may map[round.CompanionID]func(tool string) bool // which tools its card allows; nil: all
	log *slog.Logger

	// Trouble is told that a companion without the microphone has no session; nil: that it has. It is set before Run.
	Trouble func(round.CompanionID, *turn.SessionLost)

	mu    sync.Mutex // guards what follows
	ready map[round.CompanionID]bool
	live  round.CompanionID // whose turn the latest order was about
}

func newVoices(log *slog.Logger) *Voices {
	return &Voices{log: log, of: map[round.CompanionID]voice.Voice{}, may: map[round.CompanionID]func(string) bool{}, ready: map[round.CompanionID]bool{},
		Trouble: func(round.CompanionID, *turn.SessionLost) {}}
}

// Add has a session answer for a companion, and know those tools that may allows; nil: all.
func (v *Voices) Add(id round.CompanionID, one voice.Voice, may func(tool string) bool) {
	v.ids = append(v.ids, id)
	v.may[id] = may
	v.of[id] = one
}

// Whose is the companion that a turn's Who names.
func (v *Voices) Whose(who turn.Who) round.CompanionID {
	if who == "" {
		return v.ids[0]
	}
	return round.CompanionID(who)
}

// All are the sessions, that of the first companion first.
func (v *Voices) All() iter.Seq2[round.CompanionID, voice.Voice] {
	return func(yield func(round.CompanionID, voice.Voice) bool) {
		for _, id := range v.ids {
			if !yield(id, v.of[id]) {
				return
			}
		}
	}
}

// up says whether a companion's session can take a turn.
func (v *Voices) up(id round.CompanionID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ready[id]
}

// Do hands an order to the session of the companion that it is for.
func (v *Voices) Do(o turn.Order) {
	of := v.Whose(turn.WhoOf(o))
	v.mu.Lock()
	v.live = of
	v.mu.Unlock()
	v.of[of].Do(o)
}

// Tools tells every session which of the tools are its companion's.
func (v *Voices) Tools(specs []turn.ToolSpec) {
	for _, id := range v.ids {
		may := v.may[id]
		its := slices.DeleteFunc(slices.Clone(specs), func(s turn.ToolSpec) bool { return may != nil && !may(s.Name) })
		for _, t := range its {
			v.log.Debug(logVoiceTool, "companion", id, "tool", t.Name, "description", t.Description, "schema", string(t.Schema))
		}
		v.of[id].Tools(its)
	}
}

// Names tells the session that hears people whom they may call.
func (v *Voices) Names(names []string) { v.of[v.ids[0]].Names(names) }

// Append gives the microphone to the first companion.
func (v *Voices) Append(id turn.ID, pcm []int16) { v.of[v.ids[0]].Append(id, pcm) }

// Run runs every session until ctx ends. A session's goroutine belongs to its voice.
func (v *Voices) Run(ctx context.Context, out voice.Outlet) error {
	ends := make(chan error, len(v.ids))
	for _, id := range v.ids {
		go func() { ends <- v.of[id].Run(ctx, v.Outlet(id, out)) }() // awaited below
	}
	var first error
	for range v.ids {
		if err := <-ends; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Outlet is where a companion's session reports, on the way to out.
func (v *Voices) Outlet(id round.CompanionID, out voice.Outlet) voice.Outlet {
	return session{out, v, id}
}

// session is the outlet of one companion's voice.
type session struct {
	voice.Outlet
	v  *Voices
	of round.CompanionID
}

// Post passes facts on. That a session is up or lost concerns the machine only when it is that of the first companion, who
// has the microphone, or of the one whose turn it is; such a turn must not wait for an answer that cannot come.
func (s session) Post(ev turn.Event) {
	first := s.of == s.v.ids[0]
	switch e := ev.(type) {
	case turn.SessionReady:
		s.v.note(s.of, true)
		if !first {
			s.v.Trouble(s.of, nil)
			return
		}
	case turn.SessionLost:
		live := s.v.note(s.of, false)
		if !first {
			s.v.Trouble(s.of, &e)
		}
		if !first && live {
			s.Outlet.Post(ev)
			if s.v.up(s.v.ids[0]) { // the microphone's session is well
				s.Outlet.Post(turn.SessionReady{At: e.At})
			}
		}
		if !first {
			return
		}
	}
	s.Outlet.Post(ev)
}

// Lost is the code of the condition that a companion has no session. That of the first, who has the microphone, is the device's.
func (v *Voices) Lost(id round.CompanionID) condition.Code {
	if id == v.ids[0] {
		return condition.VoiceLost
	}
	return condition.VoiceLost.Of(string(id))
}

// AllUp says that every session can take a turn, but those of which known says that their trouble is known.
func (v *Voices) AllUp(known func(round.CompanionID) bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range v.ids {
		if !v.ready[id] && !known(id) {
			return false
		}
	}
	return true
}

func (v *Voices) note(id round.CompanionID, ready bool) (live bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ready[id] = ready
	return v.live == id
}
