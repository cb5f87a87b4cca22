package realtime

import (
	"slices"
	"strings"
	"time"

	"conch/coordinator/turn"
)

// asked is what the server of this session was asked for, or told, and has not acknowledged.
type asked struct {
	commits       []turn.ID       // sent, not acknowledged
	untranscribed []untranscribed // acknowledged, not transcribed
	creates       []create        // sent, no response.created yet
}

// untranscribed is an utterance whose transcript has not come.
type untranscribed struct {
	turn turn.ID
	item turn.ItemID
}

// create is a response.create that was sent, or one a commit implies.
type create struct {
	order     turn.CreateResponse
	turn      turn.ID
	tries     int
	implied   bool
	wanted    bool // implied: somebody has asked for it since
	heard     bool // what it answers was transcribed
	cancelled bool
	at        time.Time // when it was sent
}

const maxUntranscribed = 16

func (a *asked) committed(t turn.ID) bool { return slices.Contains(a.commits, t) }

// acknowledged takes off the commit that an acknowledgement is for: they come in the order of the commits.
func (a *asked) acknowledged(item turn.ItemID) (t turn.ID, ok bool) {
	if len(a.commits) == 0 {
		return "", false
	}
	t, a.commits = a.commits[0], a.commits[1:]
	if len(a.untranscribed) == maxUntranscribed { // nothing is transcribed here
		a.untranscribed = a.untranscribed[:copy(a.untranscribed, a.untranscribed[1:])]
	}
	a.untranscribed = append(a.untranscribed, untranscribed{t, item})
	return t, true
}

// transcribed ends the wait for the transcript of a turn, and for those before it.
func (a *asked) transcribed(t turn.ID) {
	if i := slices.IndexFunc(a.untranscribed, func(u untranscribed) bool { return u.turn == t }); i >= 0 {
		a.untranscribed = a.untranscribed[:copy(a.untranscribed, a.untranscribed[i+1:])]
	}
	for i := range a.creates {
		if a.creates[i].turn == t {
			a.creates[i].heard = true
		}
	}
}

// unwritten tells that a turn was said and not yet written down.
func (a *asked) unwritten(t turn.ID) bool {
	return a.committed(t) || slices.ContainsFunc(a.untranscribed, func(u untranscribed) bool { return u.turn == t })
}

func (a *asked) created(t turn.ID) bool {
	return slices.ContainsFunc(a.creates, func(c create) bool { return c.turn == t })
}

// busy tells that an answer is to come before which no other may be asked for.
func (a *asked) busy() bool {
	return slices.ContainsFunc(a.creates, func(c create) bool { return !c.implied || !c.cancelled }) // of these two there may be none at all
}

// expecting tells that an answer is still to come that somebody waits for.
func (a *asked) expecting() bool {
	return slices.ContainsFunc(a.creates, func(c create) bool { return !c.cancelled })
}

// want takes the answer that the commit of a turn already asked for as the one that is wanted; false: there is none.
func (a *asked) want(t turn.ID) bool {
	i := slices.IndexFunc(a.creates, func(c create) bool { return c.turn == t && c.implied })
	if i >= 0 {
		a.creates[i].wanted = true
	}
	return i >= 0
}

// answered finds the request that a new answer is to, and takes it off the list, with those before it that its answer took the
// place of; false: nobody's. A server that returns the metadata says it; one that answers by itself answers the latest
// utterance that it has written down; the others answer in order.
func (a *asked) answered(w *wireResponse) (c create, ok bool) {
	at := min(0, len(a.creates)-1)
	if t, ok := w.Metadata["turn"].(string); ok {
		at = slices.IndexFunc(a.creates, func(c create) bool { return string(c.turn) == t })
	} else {
		for i, c := range a.creates {
			if c.implied && c.heard {
				at = i
			}
		}
	}
	if at < 0 {
		return create{}, false
	}
	c = a.creates[at]
	keep := a.creates[:0]
	for i, o := range a.creates {
		if i > at || i < at && !(c.implied && o.implied) {
			keep = append(keep, o)
		}
	}
	a.creates = keep
	return c, true
}

// cancel marks what was asked for a turn as wanted by nobody, and returns how much of it is under way by itself, without a name.
func (a *asked) cancel(t turn.ID) (implied int) {
	for i := range a.creates {
		if c := &a.creates[i]; c.turn == t && !c.cancelled {
			c.cancelled = true
			if c.implied {
				implied++
			}
		}
	}
	return implied
}

// uncommit takes off the commit of a turn that the server refused.
func (a *asked) uncommit(t turn.ID) {
	if i := slices.Index(a.commits, t); i >= 0 {
		a.commits = slices.Delete(a.commits, i, i+1)
	}
}

// unanswer takes off the answers that a commit implied.
func (a *asked) unanswer(t turn.ID) {
	a.creates = slices.DeleteFunc(a.creates, func(c create) bool { return c.turn == t && c.implied })
}

// refused takes off the request for a turn that the server refused.
func (a *asked) refused(t turn.ID) (c create, ok bool) {
	i := slices.IndexFunc(a.creates, func(c create) bool { return c.turn == t })
	if i < 0 {
		return create{}, false
	}
	c = a.creates[i]
	a.creates = slices.Delete(a.creates, i, i+1)
	return c, true
}

// waiting is the turn whose answer is awaited first.
func (a *asked) waiting() (t turn.ID, ok bool) {
	for _, c := range a.creates {
		if !c.cancelled {
			return c.turn, true
		}
	}
	return "", false
}

// meant finds what an error that names nothing of ours is about: what fits exactly one thing that is open belongs to it.
func (a *asked) meant(e *wireError) sentEvent {
	about := strings.ToLower(e.code() + " " + e.Param)
	switch {
	case e.is(codeCommitEmpty), e.is(codeCommitOld), strings.Contains(about, "input_audio_buffer"):
		if len(a.commits) > 0 {
			return sentEvent{kind: sentCommit, turn: a.commits[0]}
		}
	case e.is(codeExpired), e.is(codeKey), e.is(codeNotActive):
	case slices.ContainsFunc([]string{"session", "item", "audio_end_ms", "truncat", "cancel", "delete", "transcription"},
		func(s string) bool { return strings.Contains(about, s) }):
	default:
		var open []create
		for _, c := range a.creates {
			if !c.implied && !c.cancelled {
				open = append(open, c)
			}
		}
		if len(open) == 1 {
			return sentEvent{kind: sentCreate, turn: open[0].turn}
		}
	}
	return sentEvent{}
}
