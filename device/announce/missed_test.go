package announce

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
	"conch/coordinator/inject"
)

// What was not heard is listed for a day, over a restart; the light is told of it until a person asks.
func TestWhatWasMissedIsListedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{values: map[string][]byte{}}
		var shown []bool
		list := func() *Missed {
			return NewMissed(slog.New(slog.DiscardHandler), time.Now, d, func(fresh bool) { shown = append(shown, fresh) })
		}
		m := list()
		m.read()
		want := func(m *Missed, fresh bool, texts ...string) {
			t.Helper()
			var got []string
			for _, e := range m.List() {
				got = append(got, e.Text)
			}
			if !slices.Equal(got, texts) || m.Fresh() != fresh {
				t.Errorf("listed %q, fresh %v; want %q, %v", got, m.Fresh(), texts, fresh)
			}
		}
		m.Ended("", "delivered", skills.OutcomeDelivered)
		m.Ended("", "replaced", skills.OutcomeReplaced)
		m.Ended("", "kept", skills.OutcomeKept)
		want(m, false)
		m.Ended("", "your pills", skills.OutcomeUnheard)
		time.Sleep(time.Hour)
		m.Ended("", "the post", skills.OutcomeExpired)
		want(m, true, "the post", "your pills")
		m = list()
		m.read()
		want(m, true, "the post", "your pills")
		if got, more := m.Asked("t1", 5); len(got) != 2 || more != 0 || got[0].Text != "the post" || got[1].Why != skills.OutcomeUnheard {
			t.Errorf("told %+v", got)
		}
		want(m, false, "the post", "your pills")
		next := list()
		next.read()
		want(next, false, "the post", "your pills")
		if !slices.Equal(shown, []bool{true, true, false}) {
			t.Errorf("the light was told %v", shown)
		}
		time.Sleep(23*time.Hour + time.Minute)
		want(m, false, "the post")
		time.Sleep(time.Hour)
		want(m, false)
		for range 2 * missedMost {
			m.Ended("", "tea", skills.OutcomeFailed)
		}
		if n := len(m.List()); n != missedMost {
			t.Errorf("%d are kept; want %d", n, missedMost)
		}
		d.values[missedKey] = []byte("{")
		next = list()
		next.read()
		want(next, false)

		// Of one key the newest counts, and what was heard in the end was not missed; yesterday's was.
		next.Ended("pills", "your pills", skills.OutcomeExpired)
		time.Sleep(70 * time.Minute)
		next.Ended("pills", "your pills, late", skills.OutcomeUnheard)
		next.Ended("tea", "tea", skills.OutcomeInterrupted)
		want(next, true, "tea", "your pills, late")
		time.Sleep(10 * time.Minute)
		next.Ended("pills", "your pills", skills.OutcomeDelivered)
		want(next, true, "tea")
		time.Sleep(12 * time.Hour)
		next.Ended("tea", "tea", skills.OutcomeDelivered)
		want(next, true, "tea")

		// What the end of the device cuts, nobody has missed.
		next.end()
		next.Ended("", "too late", skills.OutcomeInterrupted)
		want(next, true, "tea")
	})
}

// What a person has heard of the list is gone from it, on the disk too; what was cut stays, and so does what was not told.
func TestWhatWasHeardOfTheListIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{values: map[string][]byte{}}
		m := NewMissed(slog.New(slog.DiscardHandler), time.Now, d, func(bool) {})
		for _, text := range []string{"the post", "the pills", "the pasta"} {
			m.Ended("", text, skills.OutcomeUnheard)
		}
		asks := func(turn string, whole bool, more int, texts ...string) {
			t.Helper()
			var got []string
			all, n := m.Asked(turn, 2)
			for _, e := range all {
				got = append(got, e.Text)
			}
			if !slices.Equal(got, texts) || n != more {
				t.Errorf("told %q, and %d more; want %q, %d", got, n, texts, more)
			}
			m.Heard("another", true)
			m.Heard("", true)
			m.Heard(turn, whole)
		}
		asks("t1", false, 1, "the pasta", "the pills")
		asks("t2", true, 1, "the pasta", "the pills")
		m.Ended("", "the door", skills.OutcomeUnheard)
		m.Heard("t2", true)
		if next := NewMissed(slog.New(slog.DiscardHandler), time.Now, d, func(bool) {}); true {
			next.read()
			if got := next.List(); len(got) != 2 {
				t.Errorf("after a restart %+v", got)
			}
		}
		asks("t3", true, 0, "the door", "the post")
		asks("t4", true, 0)
	})
}

// A Desk notes what has another end than to be heard, and what an earlier life has left too late; its own list is no announcement.
func TestADeskNotesWhatWasNotHeard(t *testing.T) {
	for how, noted := range map[string]bool{"delivered": false, "interrupted": true, "unheard": true, "expired": true, "failed": true, "replaced": false} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{values: map[string][]byte{}}
			l := idle(t, d)
			l.o.Missed = NewMissed(slog.New(slog.DiscardHandler), time.Now, d, func(bool) {})
			l.run()
			l.announce(pasta)
			for _, c := range l.how {
				c <- outcomes[how]
			}
			l.how = nil
			synctest.Wait()
			if got := len(l.o.Missed.List()) == 1; got != noted {
				t.Errorf("%s is listed: %v; want %v", how, got, noted)
			}
			l.end()
			<-l.gone
			if next := begin(t, d); next.texts() != "" {
				t.Errorf("the next life says %q", next.texts())
			} else {
				next.end()
				<-next.gone
			}
		})
	}
}

var outcomes = map[string]inject.Outcome{
	"delivered": inject.Delivered, "interrupted": inject.Interrupted, "unheard": inject.Unheard, "expired": inject.Expired,
	"failed": inject.Failed, "replaced": inject.Replaced,
}

// A disk that does not answer keeps nobody from the list: conch status goes on.
func TestAListThatCannotBeWrittenIsReadAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := &hungDisk{answers: make(chan struct{})}
		m := NewMissed(slog.New(slog.DiscardHandler), time.Now, hung, func(bool) {})
		go m.Ended("", "your pills", skills.OutcomeUnheard)
		synctest.Wait()
		listed := make(chan int, 1)
		go func() { listed <- len(m.List()) }()
		synctest.Wait()
		select {
		case n := <-listed:
			if n != 1 || !m.Fresh() {
				t.Errorf("%d are listed", n)
			}
		default:
			t.Error("the list waits for the disk")
		}
		close(hung.answers)
	})
}

type hungDisk struct {
	disk
	answers chan struct{}
}

func (d *hungDisk) Get(string, string) ([]byte, error) { <-d.answers; return nil, nil }

func (d *hungDisk) Put(string, map[string][]byte) error { <-d.answers; return nil }
