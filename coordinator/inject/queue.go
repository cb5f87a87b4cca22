package inject

import (
	"cmp"
	"slices"
	"time"
)

// Priority of an injected turn (TURNS.md 5).
type Priority uint8

// Priorities, rising.
const (
	Normal           Priority = iota // waits for a gap in content
	BlockBehindComms                 // pauses content, waits for a call
	Preempt                          // ends a call; spoken by the local voice when offline
)

func (p Priority) String() string {
	return [...]string{"normal", "block_behind_comms", "preempt"}[p]
}

// Outcome is how an injection ended; each has exactly one.
type Outcome uint8

// Outcomes.
const (
	Delivered   Outcome = iota
	Interrupted         // cut, and not offered again
	Expired             // its ttl passed while it waited
	Replaced            // a newer one with the same key took its place
	Failed              // its turn failed, or the queue had no place
	Unheard             // cut, and nobody at this device has shown that they heard it: of one to be heeded
)

func (o Outcome) String() string {
	return [...]string{"delivered", "interrupted", "expired", "replaced", "failed", "unheard"}[o]
}

// By is what cut an injection.
type By uint8

// Causes of a cut.
const (
	Machine By = iota // a call, a lost card, something more urgent, the end of the device
	Button            // a press at this device
	Hush              // a hush, a stop, a typed line, a press at another device
)

// Became is what a gesture that cut an injection turned out to be.
type Became uint8

// What a gesture becomes.
const (
	Silence   Became = iota // a hush, and nothing else
	Utterance               // a person said or typed something
	Announced               // no gesture of a person: an announcement at another device
)

// Cut is how an injection was cut, and how much of it was heard before.
type Cut struct {
	By    By
	Heard time.Duration
}

// ID numbers the injections of one queue, from 1.
type ID uint64

// Injection is something a skill, a timer or a person wants to be said.
type Injection struct {
	Prompt   string
	Key      string // same key: one of them is enough; empty: every one counts
	Priority Priority
	TTL      time.Duration // how long it may wait; 0: Config.TTL
	Local    bool          // the local voice speaks it in any case: what the device itself has to say
	Once     bool          // not offered again when it was interrupted
	Heed     bool          // a press at this device after Told counts as heard; any other cut has it said once more after Rest of quiet
}

// Config are the bounds and the policy of the queue; zero fields mean the defaults.
type Config struct {
	Limit      int           // injections that wait (32); at the bound the last of the least important fails
	Joined     int           // callers that may join one being spoken (8); beyond it they fail
	TTL        time.Duration // 10 min
	GapWait    time.Duration // NORMAL waits this long for a gap in content, or for the room's floor (30 s)
	Again      int           // how often one may be offered again: 0 means once, below 0 never
	Told       time.Duration // heard for this long it was understood (1.5 s)
	Rest       time.Duration // quiet before one to be heeded is said again (60 s)
	LocalVoice bool          // a local voice can speak any prompt: offline, it speaks instead of expiring
}

// Verdict is what Offer did.
type Verdict uint8

// Verdicts.
const (
	Queued    Verdict = iota // it waits; Next says when it begins
	Coalesced                // its key is being spoken: it shares that one's outcome
	Refused                  // no place; its outcome is failed already
)

func (v Verdict) String() string { return [...]string{"queued", "coalesced", "refused"}[v] }

// Ending tells one caller the outcome of one injection.
type Ending struct {
	ID      ID
	Outcome Outcome
}

// Situation is what Next decides by. Take it from the machine and from who plays.
type Situation struct {
	Idle      bool // no turn is live and no local words play
	InCall    bool // a claim has microphone and speaker
	Streaming bool // content plays
	Gap       bool // content is at a paragraph's end
	Online    bool // the voice can answer
	Taken     bool // somebody else in the room has the floor; for the room to say
}

// Delivery is an injection whose time has come. Local: not the model but the local voice must speak it.
type Delivery struct {
	ID     ID
	Prompt string
	Local  bool
}

// Queue is the queue of injected turns: higher priority first, first in first out within one. It is pure data:
// time comes in, endings go out, and nobody is called. It has one owner, the runner.
//
//	             idle   turn live       content playing    call    offline
//	NORMAL       now    when it ended   gap, or 30 s       waits   until its ttl, then local voice or expired
//	BLOCK_…      now    when it ended   now                waits   the same
//	PREEMPT      now    when it ended   now                now     local voice now (without one: until its ttl)
//
// In a room a device that is idle is not all: while a person or a companion elsewhere has the floor, NORMAL and
// BLOCK_… wait for it, 30 s at most. PREEMPT does not wait. Whichever begins takes the floor from everybody (Options.OnInject).
//
// Offer → Queued → Next → Ended is the way of one. Every ID that Offer gave comes back in exactly one Ending. What a person cuts is over
// (Interrupted); where the gesture becomes an utterance, and less than Told was heard, it is offered once more after the answer.
type Queue struct {
	c        Config
	next     ID
	waiting  []waiting // sorted: priority falling, then place rising
	speaking waiting   // zero id: nothing is being spoken
	pressed  waiting   // it was cut, and Settle will say by what; zero id: none was
}

type waiting struct {
	Injection
	id      ID
	place   ID            // of the first with this key
	offered time.Duration // when it began to wait
	expires time.Duration
	again   int           // times it was cut and offered again
	rested  bool          // it was to be heeded, was silenced, and rests or has rested
	after   time.Duration // it rests until then, or longer where it is not quiet; 0: it does not
	cut     Cut           // of the one in Queue.pressed
	joined  []ID
}

// New makes an empty queue.
func New(c Config) Queue {
	c.Limit = cmp.Or(c.Limit, 32)
	c.Joined = cmp.Or(c.Joined, 8)
	c.TTL = cmp.Or(c.TTL, 10*time.Minute)
	c.GapWait = cmp.Or(c.GapWait, 30*time.Second)
	c.Again = cmp.Or(c.Again, 1)
	c.Told = cmp.Or(c.Told, 1500*time.Millisecond)
	c.Rest = cmp.Or(c.Rest, time.Minute)
	return Queue{c: c}
}

// Len counts what waits; what is being spoken does not.
func (q *Queue) Len() int { return len(q.waiting) }

// Busy reports whether one waits for its turn soon: one that rests does not.
func (q *Queue) Busy(now time.Duration) bool {
	return q.Unsettled() || slices.ContainsFunc(q.waiting, func(w waiting) bool { return w.after <= now })
}

// Unsettled reports whether one waits for Settle.
func (q *Queue) Unsettled() bool { return q.pressed.id != 0 }

// Speaking is the injection being spoken, 0 if none.
func (q *Queue) Speaking() ID { return q.speaking.id }

// Offer takes an injection. The endings are of others that it replaced or crowded out, or its own when refused.
func (q *Queue) Offer(now time.Duration, in Injection) (ID, Verdict, []Ending) {
	q.next++
	id := q.next
	if in.TTL <= 0 {
		in.TTL = q.c.TTL
	}
	in.Priority = min(in.Priority, Preempt)
	if s := &q.speaking; s.id != 0 && in.Key != "" && s.Key == in.Key {
		if len(s.joined) == q.c.Joined {
			return id, Refused, []Ending{{id, Failed}}
		}
		s.joined = append(s.joined, id)
		return id, Coalesced, nil
	}
	w := waiting{Injection: in, id: id, place: id, offered: now, expires: now + in.TTL}
	var out []Ending
	if in.Key != "" {
		if q.pressed.id != 0 && q.pressed.Key == in.Key {
			out = q.pressed.end(out, Replaced)
			q.pressed = waiting{}
		}
		for i := range q.waiting {
			if q.waiting[i].Key == in.Key {
				w.place = q.waiting[i].place // it keeps the place in the queue
				out = q.waiting[i].end(out, Replaced)
				q.waiting = slices.Delete(q.waiting, i, i+1)
				break
			}
		}
	}
	if len(q.waiting) >= q.c.Limit {
		last := len(q.waiting) - 1
		if q.waiting[last].Priority >= in.Priority {
			return id, Refused, append(out, Ending{id, Failed})
		}
		out = q.waiting[last].end(out, Failed)
		q.waiting = q.waiting[:last]
	}
	q.insert(w)
	return id, Queued, out
}

func (q *Queue) insert(w waiting) {
	i, _ := slices.BinarySearchFunc(q.waiting, w, func(a, b waiting) int {
		if a.Priority != b.Priority {
			return int(b.Priority) - int(a.Priority)
		}
		if a.place < b.place {
			return -1
		}
		return 1
	})
	q.waiting = slices.Insert(q.waiting, i, w)
}

// Expire ends what has waited too long. A local voice, if there is one, speaks it instead: then it waits for Next.
func (q *Queue) Expire(now time.Duration, s Situation) []Ending {
	var out []Ending
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiting) bool {
		if now < w.expires || q.c.LocalVoice && !w.Local && !s.Online && now < w.expires+q.c.TTL {
			return false
		}
		out = w.end(out, Expired)
		return true
	})
	return out
}

// Next hands over the first injection whose time has come, and holds it as being spoken until Ended or Back. In a call
// it hands over PREEMPT only, and beginning it ends the call.
func (q *Queue) Next(now time.Duration, s Situation) (Delivery, bool) {
	if q.speaking.id != 0 || !s.Idle || s.InCall || s.Taken {
		for i := range q.waiting {
			if w := &q.waiting[i]; w.after > now {
				w.after = now + q.c.Rest
				w.offered = w.after
			}
		}
	}
	if q.speaking.id != 0 || !s.Idle {
		return Delivery{}, false
	}
	for i, w := range q.waiting {
		local, ok := q.may(w, now, s)
		if !ok {
			continue
		}
		q.speaking, q.speaking.after, q.speaking.cut = w, 0, Cut{}
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return Delivery{ID: w.id, Prompt: w.Prompt, Local: local}, true
	}
	return Delivery{}, false
}

// may is the table of TURNS.md 5, a row an if.
func (q *Queue) may(w waiting, now time.Duration, s Situation) (local, ok bool) {
	if s.InCall && w.Priority < Preempt || now < w.after {
		return false, false
	}
	if s.Taken && w.Priority < Preempt && now < w.offered+q.c.GapWait {
		return false, false
	}
	if s.Streaming && w.Priority == Normal && !s.Gap && now < w.offered+q.c.GapWait {
		return false, false
	}
	if w.Local {
		return true, q.c.LocalVoice && now < w.expires
	}
	if s.Online {
		return false, now < w.expires
	}
	return true, q.c.LocalVoice && (w.Priority == Preempt || now >= w.expires)
}

// Back puts what Next handed over where it was: the machine had no room for it after all.
func (q *Queue) Back(id ID) {
	if w := q.speaking; w.id == id && id != 0 {
		q.speaking = waiting{}
		q.insert(w)
	}
}

// Ended ends the one that is being spoken. Interrupted is a Cut by the machine.
func (q *Queue) Ended(now time.Duration, id ID, how Outcome) []Ending {
	if how == Interrupted {
		return q.Cut(now, id, Cut{})
	}
	if id == 0 || q.speaking.id != id {
		return nil // known already
	}
	w := q.speaking
	q.speaking = waiting{}
	return w.end(nil, how)
}

// Cut takes away the one that is being spoken. What the machine cut is offered again; for a gesture Settle decides.
func (q *Queue) Cut(now time.Duration, id ID, c Cut) []Ending {
	if id == 0 || q.speaking.id != id {
		return nil
	}
	out := q.Settle(now, Silence) // of an earlier one
	q.pressed, q.speaking = q.speaking, waiting{}
	q.pressed.cut = c
	switch {
	case c.By == Machine:
		out = append(out, q.Settle(now, Announced)...)
	case !q.live(q.pressed, now), c.By == Button && c.Heard >= q.c.Told: // whatever it becomes
		out = append(out, q.Settle(now, Silence)...)
	}
	return out
}

// Settle says what the gesture became that cut one. It is over, or offered again: once for the machine's sake or an utterance's, and
// once after Rest where it is to be heeded.
func (q *Queue) Settle(now time.Duration, by Became) []Ending {
	w := q.pressed
	q.pressed = waiting{}
	told := w.cut.Heard >= q.c.Told
	live := q.live(w, now)
	switch {
	case w.id == 0:
		return nil
	case by == Announced && live && w.again < q.c.Again:
		w.again++
	case by == Announced, w.Heed && told && w.cut.By == Button:
		return w.end(nil, Interrupted)
	case w.Heed && live && !w.rested:
		w.rested, w.after = true, now+q.c.Rest
	case w.Heed:
		return w.end(nil, Unheard)
	case by == Utterance && !told && live && w.again < q.c.Again:
		w.again++
	default:
		return w.end(nil, Interrupted)
	}
	w.offered = max(now, w.after)
	q.insert(w)
	return nil
}

// live reports whether one may be offered again at all.
func (q *Queue) live(w waiting, now time.Duration) bool {
	return !w.Once && q.c.Again >= 0 && now < w.expires
}

// Withdraw ends one that waits, or waits for Settle.
func (q *Queue) Withdraw(id ID) []Ending {
	if w := q.pressed; id != 0 && w.id == id {
		q.pressed = waiting{}
		return w.end(nil, Expired)
	}
	i := slices.IndexFunc(q.waiting, func(w waiting) bool { return w.id == id })
	if i < 0 {
		return nil
	}
	w := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return w.end(nil, Expired)
}

// Forgo has the one that is being spoken not offered again, unless somebody else asked for it too.
func (q *Queue) Forgo(id ID) {
	if s := &q.speaking; s.id == id && len(s.joined) == 0 {
		s.Once = true
	}
}

// Wake is the next time at which Expire or Next may say something new without anything else having happened.
func (q *Queue) Wake(now time.Duration, s Situation) (at time.Duration, ok bool) {
	for _, w := range q.waiting {
		for _, t := range [...]time.Duration{w.expires, w.expires + q.c.TTL, w.offered + q.c.GapWait, w.after} {
			gap := s.Streaming && w.Priority == Normal || s.Taken && w.Priority < Preempt
			if t <= now || t == w.offered+q.c.GapWait && !gap {
				continue
			}
			if !ok || t < at {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// Close ends everything: what waits and what is spoken.
func (q *Queue) Close() []Ending {
	var out []Ending
	for _, w := range []waiting{q.speaking, q.pressed} {
		if w.id != 0 {
			out = w.end(out, Interrupted)
		}
	}
	for _, w := range q.waiting {
		out = w.end(out, Failed)
	}
	q.speaking, q.pressed, q.waiting = waiting{}, waiting{}, nil
	return out
}

// end tells the caller, and those that joined, the outcome.
func (w waiting) end(out []Ending, o Outcome) []Ending {
	out = append(out, Ending{w.id, o})
	for _, id := range w.joined {
		out = append(out, Ending{id, o})
	}
	return out
}
