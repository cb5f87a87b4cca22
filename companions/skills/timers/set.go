package timers

import (
	"cmp"
	"slices"
	"time"

	"conch/companions/skills"
)

// Our choices.
const (
	most    = 64             // timers at once
	longest = 24 * time.Hour // for what is later there are reminders
	late    = 15 * time.Minute
	jump    = 2 * time.Second  // by which the clocks disagree more than they would by themselves
	look    = 10 * time.Second // how often somebody looks whether they do, while a timer runs
)

// moment is what both clocks say: the one of this process, which nobody sets, and the one on the wall, which outlives it.
type moment struct {
	mono time.Duration
	wall time.Time
}

// timer is one that runs, or rings. What is exported is kept.
type timer struct {
	ID        int           `json:"id"`
	Name      string        `json:"name,omitempty"` // as a person said it: "the pasta"
	Companion string        `json:"companion,omitempty"`
	Length    time.Duration `json:"length"`
	Due       time.Time     `json:"due"` // by the clock on the wall

	at      time.Duration // when it is over, by the clock of this process
	read    bool          // from the disk: for when it is over there is only the wall's word
	ringing bool
	stop    func()        // of the ringing; nil: it has not begun
	ended   time.Duration // when that was, by the clock of this process
}

// set is the timers of a device. It is pure: whoever has it says what the clocks say.
//
// A timer goes by the clock of the process that set it, which nobody turns. Another process, after a restart, has only the wall's
// word: what was over meanwhile for less than 15 minutes still rings, and says how late it is; what is later is told as missed.
// The clock on the wall may jump, by years where a board has none and the network brings the time. Then the timers of this process
// keep their time and are written anew, and those of another are judged again; no clock makes one longer than it was set for.
type set struct {
	all  []*timer
	last int       // id
	zero time.Time // what the wall said when the process' clock was 0; zero: not known yet
}

// add has a timer run.
func (s *set) add(now moment, name, companion string, length time.Duration) *timer {
	s.last++
	t := &timer{ID: s.last, Name: name, Companion: companion, Length: length}
	t.runs(now, length)
	s.all = append(s.all, t)
	return t
}

// runs has it be over when so much has passed.
func (t *timer) runs(now moment, left time.Duration) {
	t.at, t.Due, t.read = now.mono+left, now.wall.Add(left).Round(0), false
}

// found takes one from the disk.
func (s *set) found(now moment, t *timer) {
	t.read = true
	t.judge(now)
	s.all, s.last = append(s.all, t), max(s.last, t.ID)
}

// judge sets by the wall when it is over.
func (t *timer) judge(now moment) { t.at = now.mono + min(t.Due.Sub(now.wall), t.Length) }

func (s *set) remove(t *timer) {
	s.all = slices.DeleteFunc(s.all, func(o *timer) bool { return o == t })
}

func (s *set) has(t *timer) bool { return slices.Contains(s.all, t) }

// look tells which have to be written anew because the clock on the wall has jumped.
func (s *set) look(now moment) (anew []*timer) {
	zero := now.wall.Add(-now.mono).Round(0)
	off := zero.Sub(s.zero).Abs()
	switch {
	case s.zero.IsZero():
		s.zero = zero
		return nil
	case off <= jump:
		return nil
	}
	s.zero = zero
	for _, t := range s.all {
		switch {
		case t.ringing:
		case t.read:
			t.judge(now)
		default:
			t.Due = now.wall.Add(t.at - now.mono).Round(0)
			anew = append(anew, t)
		}
	}
	return anew
}

// over are those whose time is over and which do not ring yet, in their order.
func (s *set) over(now moment) (all []*timer) {
	for _, t := range s.sorted() {
		if !t.ringing && t.at <= now.mono {
			all = append(all, t)
		}
	}
	return all
}

// missed says that nobody wants to hear it ring any more.
func (t *timer) missed(now moment) bool { return t.read && now.mono-t.at > late }

// wake says in how long somebody has to look again; false: nothing runs.
func (s *set) wake(now moment) (time.Duration, bool) {
	in, any := look, false
	for _, t := range s.all {
		if !t.ringing {
			in, any = min(in, t.at-now.mono), true
		}
	}
	return max(in, 0), any
}

// sorted is by when they are over.
func (s *set) sorted() []*timer {
	all := slices.Clone(s.all)
	slices.SortStableFunc(all, func(a, b *timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ID, b.ID)) })
	return all
}

// called are those that a name may mean; all of them if it is empty.
func (s *set) called(name string) (found []*timer) {
	said := words(name)
	for _, t := range s.sorted() {
		own := words(t.label())
		if skills.Within(said, own) || len(own) > 0 && t.Name != "" && skills.Within(own, said) {
			found = append(found, t)
		}
	}
	return found
}

// words are those that carry a name: "for the pasta", "my pasta" and "pasta" are one.
func words(s string) []string { return skills.Keywords(s, "the my a an for timer alarm") }
