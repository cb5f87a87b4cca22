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
		m.Ended("delivered", skills.OutcomeDelivered)
		m.Ended("replaced", skills.OutcomeReplaced)
		m.Ended("kept", skills.OutcomeKept)
		want(m, false)
		m.Ended("your pills", skills.OutcomeUnheard)
		time.Sleep(time.Hour)
		m.Ended("the post", skills.OutcomeExpired)
		want(m, true, "the post", "your pills")
		m = list()
		want(m, true, "the post", "your pills")
		if got := m.Asked(); len(got) != 2 || got[0].Text != "the post" || got[1].Why != skills.OutcomeUnheard {
			t.Errorf("told %+v", got)
		}
		want(m, false, "the post", "your pills")
		want(list(), false, "the post", "your pills")
		if !slices.Equal(shown, []bool{true, true, false}) {
			t.Errorf("the light was told %v", shown)
		}
		time.Sleep(23*time.Hour + time.Minute)
		want(m, false, "the post")
		time.Sleep(time.Hour)
		want(m, false)
		for range 2 * missedMost {
			m.Add("tea", skills.OutcomeFailed)
		}
		if n := len(m.List()); n != missedMost {
			t.Errorf("%d are kept; want %d", n, missedMost)
		}
		d.values[missedKey] = []byte("{")
		want(list(), false)
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
