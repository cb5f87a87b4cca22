package kit

import (
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// ReasonKept is how long a server's refusal is not overruled by attempts that only fail: longer than a turn waits and the
// longest back-off. Our choice.
const ReasonKept = 12 * time.Second

// Told is what the coordinator knows of the session: each change is told once.
type Told struct {
	Out   voice.Outlet
	ready bool // SessionReady was the last thing told
	last  *turn.SessionLost
	at    time.Time
	Owed  *turn.SessionLost // told when what came of the answer has been handed over, unless mended before
}

// Ready posts SessionReady, unless that is known.
func (t *Told) Ready() {
	t.Owed = nil
	if !t.ready {
		t.ready, t.last = true, nil
		t.Out.Post(turn.SessionReady{At: t.Out.Now()})
	}
}

// Lost posts SessionLost, once until something changes.
func (t *Told) Lost(lost turn.SessionLost) {
	if l := t.last; l != nil {
		if l.Say == lost.Say {
			t.at = time.Now()
			return
		}
		if lost.Say == turn.WordsOffline && time.Since(t.at) < ReasonKept {
			return // what the server said is the better reason
		}
	}
	t.at = time.Now()
	t.Owed = nil
	t.ready, t.last = false, &lost
	t.Out.Post(lost)
}

// TellOwed is for when somebody needs the truth now.
func (t *Told) TellOwed() {
	if t.Owed != nil {
		t.Lost(*t.Owed)
	}
}
