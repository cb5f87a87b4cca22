package announce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/device/language"
)

// disk is a Store whose power may be cut behind any write.
type disk struct {
	mu     sync.Mutex
	values map[string][]byte
	writes int
	cut    int // behind so many writes nothing is written any more; 0: never
	full   bool
}

var errFull = errors.New("no space left on device")

func (d *disk) Put(_ string, values map[string][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errFull
	}
	if d.writes++; d.cut > 0 && d.writes > d.cut {
		return nil
	}
	for k, v := range values {
		if v == nil {
			delete(d.values, k)
		} else {
			d.values[k] = slices.Clone(v)
		}
	}
	return nil
}

func (d *disk) All(_ string, f func(string, []byte) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(d.values)) {
		if !f(k, d.values[k]) {
			return nil
		}
	}
	return nil
}

func (d *disk) Get(_, key string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[key], nil
}
func (d *disk) Companions() ([]string, error) { return nil, nil }
func (d *disk) left() int                     { return len(d.values) }
func (d *disk) set(f func())                  { d.mu.Lock(); defer d.mu.Unlock(); f() }

// life is one life of a device: a Desk, and what it says.
type life struct {
	*Desk
	t    *testing.T
	end  context.CancelFunc
	gone chan struct{}

	mu    sync.Mutex
	asked []coordinator.Announcement
	how   []chan inject.Outcome
	told  []skills.Outcome
}

func begin(t *testing.T, store skills.Store) *life {
	l := idle(t, store)
	l.run()
	return l
}

// idle is one whose Run has not begun.
func idle(t *testing.T, store skills.Store) *life {
	l := &life{t: t, gone: make(chan struct{})}
	l.Desk = New(Options{
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Language: language.English, Store: store,
		Knows: func(id string) bool { return id == "ben" },
		Say: func(ctx context.Context, a coordinator.Announcement) <-chan inject.Outcome {
			l.mu.Lock()
			defer l.mu.Unlock()
			how := make(chan inject.Outcome, 1)
			context.AfterFunc(ctx, func() {
				select {
				case how <- inject.Expired: // it waits there no more
				default:
				}
			})
			l.asked, l.how = append(l.asked, a), append(l.how, how)
			return how
		},
	})
	return l
}

func (l *life) run() {
	var ctx context.Context
	ctx, l.end = context.WithCancel(l.t.Context())
	go func() {
		_ = l.Run(ctx)
		close(l.gone)
	}()
	synctest.Wait()
}

func (l *life) announce(a skills.Announcement) {
	a.Done = func(o skills.Outcome) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, o)
	}
	l.Announce("timers", a)
}

// outcomes has everything that was asked for end so.
func (l *life) outcomes(how inject.Outcome) {
	for _, c := range l.how {
		c <- how
	}
	l.how = nil
	synctest.Wait()
}

// stop ends it as a service is ended: its coordinator gives everything that is open an outcome.
func (l *life) stop(how inject.Outcome) {
	l.end()
	synctest.Wait()
	l.outcomes(how)
	<-l.gone
}

func (l *life) texts() string {
	var all []string
	for _, a := range l.asked {
		all = append(all, a.Text)
	}
	return strings.Join(all, " | ")
}

var pasta = skills.Announcement{Text: "The pasta is ready.", Companion: "ben", Key: "pasta", Priority: skills.BlockBehindComms, TTL: 5 * time.Minute, Durable: true}

const again = "You may have heard this already: The pasta is ready."

// A crash behind each write of an announcement: what had not begun is said, what had begun is said once more with words that say so, and
// nothing is said a third time. What has its outcome is gone.
func TestACrashAtEachStepOfAnAnnouncement(t *testing.T) {
	for _, row := range []struct {
		cut    int // writes of the first life that reach the disk
		second string
		cut2   int
		third  string
	}{
		{1, "The pasta is ready.", 0, ""},    // before it began
		{1, "The pasta is ready.", 1, again}, // and within its words in the second life
		{2, again, 0, ""},                    // within its words
		{2, again, 1, ""},                    // and again within them
		{3, "", 0, ""},                       // behind its outcome
	} {
		t.Run(fmt.Sprint(row.cut, " ", row.cut2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{values: map[string][]byte{}, cut: row.cut}
				l := begin(t, d)
				l.announce(pasta)
				if got := len(d.values); got != 1 {
					t.Fatalf("Announce returned with %d records on the disk", got)
				}
				live := func(l *life) { // it is said to its end, whatever of that reaches the disk
					for _, a := range l.asked {
						a.Begins()
					}
					l.outcomes(inject.Delivered)
					l.end()
					<-l.gone
				}
				live(l)
				for i, want := range []string{row.second, row.third} {
					d.writes, d.cut = 0, 0
					if i == 0 {
						d.cut = row.cut2
					}
					l := begin(t, d)
					if got := l.texts(); got != want {
						t.Errorf("life %d says %q; want %q", i+2, got, want)
					}
					live(l)
				}
				if l := begin(t, d); l.texts() != "" || d.left() != 0 {
					t.Errorf("the last life says %q; %d records are left", l.texts(), d.left())
				} else {
					l.end()
					<-l.gone
				}
			})
		})
	}
}

// Whoever announces anew what an earlier life has left replaces it. If it says something else it is new; if it says the same people may have
// heard it, and are told so, whether it comes before Run or behind.
func TestWhatReplacesOneOfAnEarlierLife(t *testing.T) {
	burnt := pasta
	burnt.Text = "The pasta is burnt."
	for _, row := range []struct {
		begun bool
		a     skills.Announcement
		want  string // the last that is asked for
	}{
		{true, pasta, again},
		{true, burnt, "The pasta is burnt."},
		{false, pasta, "The pasta is ready."},
		{false, burnt, "The pasta is burnt."},
	} {
		for _, first := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{values: map[string][]byte{}}
				l := begin(t, d)
				l.announce(pasta)
				if row.begun {
					l.asked[0].Begins()
				}
				l.stop(inject.Failed)
				old := l.asked[0].Text
				if row.begun {
					old = again
				}
				want := old + " | " + row.want
				if first {
					want = row.want
					l = idle(t, d)
					l.announce(row.a)
					l.run()
				} else {
					l = begin(t, d)
					l.announce(row.a)
				}
				if got := l.texts(); got != want || l.asked[len(l.asked)-1].Key != "timers.pasta" {
					t.Errorf("begun %t, before Run %t: it says %q; want %q", row.begun, first, got, want)
				}
				l.outcomes(inject.Delivered)
				if d.left() != 0 {
					t.Errorf("%d records are left", d.left())
				}
				l.stop(inject.Failed)
			})
		}
	}
}

// What the end of the device keeps from being said is kept, and whoever asked is told so; what has its outcome by then is not.
func TestTheEndOfTheDeviceKeepsWhatIsDurable(t *testing.T) {
	for _, how := range []inject.Outcome{inject.Delivered, inject.Interrupted, inject.Expired, inject.Replaced, inject.Failed} {
		for _, durable := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{values: map[string][]byte{}}
				a := pasta
				a.Durable = durable
				l := begin(t, d)
				l.announce(a)
				l.outcomes(how)
				l.announce(a)
				l.stop(how)
				want, left := skills.Outcome(how.String()), 0
				if durable && (how == inject.Interrupted || how == inject.Failed) {
					want, left = skills.OutcomeKept, 1
				}
				if got := []skills.Outcome{skills.Outcome(how.String()), want}; !slices.Equal(l.told, got) || d.left() != left {
					t.Errorf("%v, durable %v: told %v, %d records left; want %v, %d", how, durable, l.told, d.left(), got, left)
				}
			})
		}
	}
}

// What waited for longer than it may is not said, and time in which the device was off counts.
func TestWhatIsLateIsNotSaid(t *testing.T) {
	for off, want := range map[time.Duration]string{4 * time.Minute: "The pasta is ready.", 5 * time.Minute: ""} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{values: map[string][]byte{}}
			l := begin(t, d)
			l.announce(pasta)
			l.stop(inject.Failed)
			time.Sleep(off)
			l = begin(t, d)
			if got := l.texts(); got != want {
				t.Errorf("after %v it says %q; want %q", off, got, want)
			}
			if want != "" && (l.asked[0].TTL != time.Minute || l.asked[0].Who != "ben" || l.asked[0].Key != "timers.pasta" ||
				l.asked[0].Priority != inject.BlockBehindComms) {
				t.Errorf("it is asked for as %+v", l.asked[0])
			}
			l.stop(inject.Delivered)
			if d.left() != 0 {
				t.Errorf("%d records left", d.left())
			}
		})
	}
}

// A disk that takes nothing costs the durability and not the words, and one that is slow writes nothing behind the outcome.
func TestABadDiskCostsNoWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{values: map[string][]byte{}, full: true}
		l := begin(t, d)
		l.announce(pasta)
		if len(l.asked) != 1 || l.asked[0].Begins != nil {
			t.Fatalf("asked for %+v", l.asked)
		}
		l.outcomes(inject.Delivered)
		d.set(func() { d.full = false })
		l.announce(pasta)
		a := l.asked[1]
		l.outcomes(inject.Delivered)
		a.Begins() // its write comes late
		if d.left() != 0 || !slices.Equal(l.told, []skills.Outcome{skills.OutcomeDelivered, skills.OutcomeDelivered}) {
			t.Errorf("%d records left, told %v", d.left(), l.told)
		}
		l.stop(inject.Failed)
	})
}

// Of two that were kept the older is said first; one whose record nobody can read costs the others nothing; nobody's companion is anybody's.
func TestWhatWasKeptIsSaidInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{values: map[string][]byte{"0000000000000003": []byte("not a record")}}
		l := begin(t, d)
		for i := range 20 {
			l.announce(skills.Announcement{Prompt: fmt.Sprint("Tell them ", i), Text: fmt.Sprint(i), Companion: "nobody", Durable: true})
		}
		l.stop(inject.Failed)
		l = begin(t, d)
		l.announce(pasta)
		if got, want := l.texts(), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | The pasta is ready."; got != want {
			t.Errorf("it says %q; want %q", got, want)
		}
		if a := l.asked[0]; a.Who != "" || a.Prompt != `Tell the person this, in your own words: "Tell them 0"` || a.TTL != ttl {
			t.Errorf("the first is %+v", a)
		}
		if got := l.asked[20].Prompt; got != WordForWord("The pasta is ready.") {
			t.Errorf("a model is told %q", got)
		}
		l.stop(inject.Delivered)
		if d.left() != 1 {
			t.Errorf("%d records left; want the one that nobody can read", d.left())
		}
	})
}

// A skill whose callback panics or hangs costs itself.
func TestABadCallbackCostsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, nil)
		l.Announce("timers", skills.Announcement{Text: "a", Done: func(skills.Outcome) { panic("no") }})
		l.Announce("timers", skills.Announcement{Text: "b", Done: func(skills.Outcome) { time.Sleep(time.Hour) }})
		l.Announce("timers", skills.Announcement{Text: "c", Durable: true})
		from := time.Now()
		l.stop(inject.Delivered)
		if d := time.Since(from); d != patience {
			t.Errorf("the end took %v; want %v", d, patience)
		}
		l.Announce("timers", skills.Announcement{Text: "late", Done: func(skills.Outcome) {}})
		l.outcomes(inject.Failed)
		time.Sleep(time.Hour)
	})
}

// What its skill takes back ends with the coordinator at once, and was not missed.
func TestWhatIsTakenBackWasNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle(t, nil)
		l.o.Missed = NewMissed(slog.New(slog.DiscardHandler), time.Now, &disk{values: map[string][]byte{}}, func(bool) {})
		l.run()
		left := make(chan struct{})
		l.announce(skills.Announcement{Text: "your pills", Heed: true, Left: left})
		l.announce(skills.Announcement{Text: "the post", Heed: true})
		synctest.Wait()
		if len(l.told) != 0 {
			t.Fatalf("told %v", l.told)
		}
		close(left)
		synctest.Wait()
		if !slices.Equal(l.told, []skills.Outcome{skills.OutcomeReplaced}) || len(l.o.Missed.List()) != 0 {
			t.Errorf("told %v, missed %v", l.told, l.o.Missed.List())
		}
		l.how[1] <- inject.Unheard
		synctest.Wait()
		if got := l.o.Missed.List(); len(got) != 1 || got[0].Text != "the post" {
			t.Errorf("missed %v", got)
		}
		l.how = nil
		l.stop(inject.Failed)
	})
}
