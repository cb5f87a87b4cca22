package reminders

import "time"

// Our choices.
const (
	most    = 200                 // reminders
	prompt  = 5 * time.Minute     // who is later is late
	insist  = 10 * time.Minute    // until it is said again
	often   = 12                  // times that it is said, if nobody says done
	retry   = 5 * time.Minute     // until what could not be said is tried again
	answer  = 12 * time.Hour      // in which one that was told can be answered by "done"
	wrong   = time.Hour           // a clock that goes back by more was wrong
	mended  = 30 * 24 * time.Hour // in which a clock that was wrong is put right
	look    = 30 * time.Second    // how often somebody looks at the clock, which may jump, while there is a reminder
	unknown = 2026                // in an earlier year the clock is wrong

	soon     = 5 * time.Minute // "snooze", where nobody says how long
	lately   = time.Hour       // within which one that was told is meant by it
	furthest = 24 * time.Hour
)

// reminder is one, as it is kept. Of what is told the state is on the disk before the words begin and after they have ended, so that
// nobody is told twice without hearing so: between the two nobody knows whether it was heard, and who starts there says that it may
// have been. Whoever takes medicine by it must be able to rely on that.
type reminder struct {
	ID        int    `json:"id"`
	Text      string `json:"text"`
	Companion string `json:"companion,omitempty"`
	Start     string `json:"start"` // as the clock of the house shows it
	Rule      string `json:"rule,omitempty"`
	Insist    bool   `json:"insist,omitempty"` // until somebody says done

	Due    time.Time `json:"due,omitzero"`     // the next; zero: there is none
	Of     time.Time `json:"of,omitzero"`      // the one that was due last; zero: none yet
	Missed int       `json:"missed,omitempty"` // before it, that were never told
	From   time.Time `json:"from,omitzero"`    // the first that a clock found due which may be ahead
	Seen   time.Time `json:"seen,omitzero"`    // what that clock showed
	Begun  bool      `json:"begun,omitempty"`  // its words may have begun
	Told   time.Time `json:"told,omitzero"`    // when they had ended
	Times  int       `json:"times,omitempty"`
	Done   time.Time `json:"done,omitzero"`  // when somebody said so
	Again  time.Time `json:"again,omitzero"` // when somebody wants to hear it once more

	when  schedule
	busy  bool          // this process has it in its mouth
	later time.Time     // not before
	left  chan struct{} // the skill closes it to take its announcement back; nil: none is under way
}

// words says how something is to be told.
type words uint8

const (
	silent words = iota
	fresh
	late
	perhaps // it may have been heard
	once    // once more
)

// found takes one from the disk.
func (r *reminder) found(house *time.Location) error {
	start, err := time.Parse(floating, r.Start)
	if err == nil {
		r.when, err = newSchedule(start, r.Rule, house)
	}
	return err
}

// pending says that there is something to tell of it, now or later.
func (r *reminder) pending() bool {
	return !r.Due.IsZero() || r.open() || r.repeats() || !r.Again.IsZero()
}

// open says that what was due has not been told.
func (r *reminder) open() bool { return !r.Of.IsZero() && r.Told.IsZero() && r.Done.IsZero() }

// repeats says that it is told once more.
func (r *reminder) repeats() bool {
	return r.Insist && !r.Told.IsZero() && r.Done.IsZero() && r.Times < often
}

// over says that nobody needs it any more.
func (r *reminder) over(now time.Time) bool {
	return !r.pending() && (!r.Done.IsZero() || now.Sub(r.Told) > r.kept())
}

// kept is for how long after it was told. One that was found due long after its time may be due again: the clock may have been ahead.
func (r *reminder) kept() time.Duration { return answer + min(max(r.Seen.Sub(r.Of), 0), mended) }

// step says whether something is to be told now. Then it is changed, and has to be written before that. A clock that goes back was
// wrong: what was found due by it is due anew, and what was told by it may have been heard.
func (r *reminder) step(now time.Time) words {
	heard := false
	if !r.busy && !r.Due.IsZero() {
		r.Due = resolve(fields(r.Due), now.Location()) // the house may have another zone since
	}
	switch {
	case r.busy:
		return silent
	case now.Year() < unknown:
		return silent
	case max(r.Seen.Sub(now), r.Of.Sub(now)) > wrong:
		if heard = !r.Told.IsZero(); heard && r.Rule == "" && !r.Done.IsZero() {
			return silent // it is done
		}
		if r.Due = r.From; r.From.IsZero() || r.Seen.Sub(now) <= wrong {
			r.Due = r.when.next(now)
		}
		r.Of, r.Seen, r.Told, r.Times, r.Missed, r.Begun, r.Done = time.Time{}, time.Time{}, time.Time{}, 0, 0, false, time.Time{}
		r.Again = time.Time{}
	}
	if r.later.Sub(now) > retry {
		r.later = time.Time{}
	}
	var how words
	switch {
	case !r.Due.IsZero() && !r.Due.After(now):
		if !r.open() {
			r.Missed = -1
		}
		if r.Seen.Sub(r.From) <= wrong || now.Sub(r.Seen) > mended { // else that clock may still be ahead
			r.From, r.Seen = r.Due, now
		}
		n, last, next := r.when.due(r.Due, now)
		if n == 0 { // the zone is another than when it was set
			n, last = 1, r.Due
		}
		r.Missed, r.Of, r.Due = r.Missed+n, last, next
		r.Told, r.Times, r.Done, r.Begun, r.Again = time.Time{}, 0, time.Time{}, false, time.Time{}
		switch how = fresh; {
		case heard:
			how = perhaps
		case now.Sub(r.Of) > prompt:
			how = late
		}
	case r.open() && r.Begun:
		how = perhaps
	case r.open() && now.Before(r.later):
		return silent
	case r.open():
		how = late
	case !r.Again.IsZero() && now.Before(r.Again):
		return silent
	case !r.Again.IsZero(), r.repeats() && now.Sub(r.Told).Abs() >= insist:
		r.Told, r.Again, how = time.Time{}, time.Time{}, once
	default:
		return silent
	}
	r.Begun, r.busy = true, true
	return how
}

// leave takes its announcement back, which a press may have cut: it is not said once more by itself.
func (r *reminder) leave() {
	if r.left != nil {
		close(r.left)
		r.left = nil
	}
}

// told is the end of the words.
func (r *reminder) told(now time.Time, heard bool) {
	r.busy, r.Begun = false, false
	if heard {
		r.Told, r.Missed = now.Round(0), 0
		r.Times++
	} else {
		r.later = now.Add(retry)
	}
}

// wake says when to look again; zero: when something has changed.
func (r *reminder) wake(now time.Time) time.Time {
	switch {
	case r.busy:
		return time.Time{}
	case now.Year() < unknown:
		return now.Add(look)
	case r.open():
		return r.later
	case !r.Again.IsZero():
		return first(r.Again, r.Due)
	case r.repeats():
		return first(r.Told.Add(insist), r.Due)
	case !r.Due.IsZero():
		return r.Due
	}
	return r.Told.Add(r.kept() + time.Second)
}

// first is the earlier of two; zero is none.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// when says a time as people do.
func when(t, now time.Time) string {
	t = t.In(now.Location())
	at := " at " + t.Format("15:04")
	switch days := days(t, now); {
	case days == 0:
		return "today" + at
	case days == 1:
		return "tomorrow" + at
	case days == -1:
		return "yesterday" + at
	case days > 0 && days < 7:
		return "on " + t.Format("Monday") + at
	case t.Year() == now.Year():
		return "on " + t.Format("Monday, January 2") + at
	}
	return "on " + t.Format("Monday, January 2, 2006") + at
}

// days is how many days later a time is than now.
func days(t, now time.Time) int {
	day := func(t time.Time) time.Time { return fields(t).Truncate(24 * time.Hour) }
	return int(day(t).Sub(day(now)).Hours() / 24)
}
