package timers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
	"conch/device/condition"
	"conch/device/store"
)

// life is a skill at work, in virtual time, with the real store. What is heard goes into heard.
type life struct {
	t      *testing.T
	path   string
	jumped time.Duration // how wrong the clock on the wall is
	*Skill
	language string
	prompts  []string // of what is announced
	heard    []string
	end      func(how skills.Ended) // of what rings
	later    func() error           // of what rings
	each     func(end func(skills.Ended))
	stop     func()
	db       *store.DB
}

// starts has conch start, on the same disk.
func (l *life) starts() {
	now := func() time.Time { return time.Now().Add(l.jumped) }
	l.db = store.New(l.path, condition.NewBook(slog.New(slog.DiscardHandler)), now)
	l.Skill = New(skills.Host{
		Log: slog.New(slog.DiscardHandler), Now: now, Store: l.db.Skill("timers"), Language: l.language,
		Ring: func(a skills.Alert) func() {
			l.heard, l.end, l.later = append(l.heard, a.Text), a.Ended, a.Later
			if l.each != nil {
				l.each(a.Ended)
			}
			return func() { a.Ended(skills.Stopped) }
		},
		Announce: func(a skills.Announcement) {
			if a.Priority != skills.BlockBehindComms {
				l.t.Errorf("%q has priority %d", a.Text, a.Priority)
			}
			l.heard, l.prompts = append(l.heard, a.Text), append(l.prompts, a.Prompt)
			if a.Done != nil {
				a.Done(skills.OutcomeDelivered)
			}
		},
	}).(*Skill)
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
		if l.end != nil {
			l.end(skills.Stopped) // that is what is told to what rings when conch ends
			l.end = nil
		}
		if err := l.db.Close(); err != nil {
			l.t.Error(err)
		}
	}
	synctest.Wait()
}

// passes lets time pass.
func (l *life) passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// off is for how long conch does not run.
func (l *life) off(d time.Duration) {
	l.stop()
	time.Sleep(d)
	l.starts()
}

func (l *life) press() {
	l.t.Helper()
	if l.end == nil {
		l.t.Fatal("nothing rings")
	}
	l.end(skills.Pressed)
	l.end = nil
	synctest.Wait()
}

func (l *life) call(tool, args string) (string, error) {
	l.t.Helper()
	for _, each := range l.Tools() {
		if each.Name == tool {
			r, err := each.Handler(skills.Context{Context: l.t.Context(), Companion: "ada", Now: time.Now}, json.RawMessage(args))
			synctest.Wait()
			return r.Output, err
		}
	}
	l.t.Fatal("there is no tool", tool)
	return "", nil
}

func (l *life) says(tool, args, want string) {
	l.t.Helper()
	out, err := l.call(tool, args)
	if err != nil {
		out = err.Error()
	}
	if !strings.Contains(out, want) {
		l.t.Errorf("%s %s: %q; want %q", tool, args, out, want)
	}
}

func (l *life) hears(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.heard, want) {
		l.t.Errorf("heard %q; want %q", l.heard, want)
	}
	l.heard = nil
}

func lives(t *testing.T, f func(l *life)) {
	path := filepath.Join(t.TempDir(), store.File)
	synctest.Test(t, func(t *testing.T) {
		l := &life{t: t, path: path}
		l.starts()
		f(l)
		l.stop()
	})
}

const pasta = `{"seconds":600,"name":"the pasta"}`

func TestATimerRingsWhenItsTimeIsOver(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", pasta, "The timer for the pasta is set: 10 minutes.")
		l.says("set_timer", `{"seconds":180}`, "The timer for 3 minutes is set.")
		l.says("list_timers", `{}`, "3 minutes, 3 minutes left; the pasta, 10 minutes left.")
		l.passes(3*time.Minute - time.Millisecond)
		l.hears()
		l.passes(time.Millisecond)
		l.hears("3 minutes")
		l.press()
		l.says("list_timers", `{"name":"pasta"}`, "The pasta, 7 minutes left.")
		l.passes(7 * time.Minute)
		l.hears("the pasta")
		l.says("list_timers", `{}`, "The pasta, over.")
		l.press()
		l.says("list_timers", `{}`, "There is no timer.")
		l.off(time.Second)
		l.passes(time.Hour)
		l.hears()
	})
}

func TestATimerIsCancelledByItsName(t *testing.T) {
	lives(t, func(l *life) {
		l.says("cancel_timer", `{}`, "There is no timer.")
		l.says("set_timer", pasta, "is set")
		l.says("set_timer", `{"seconds":300,"name":"the eggs"}`, "is set")
		l.says("cancel_timer", `{}`, "Which of them: the eggs, 5 minutes left; the pasta, 10 minutes left?")
		l.says("cancel_timer", `{"name":"tea"}`, "There is no timer for tea. There is the eggs, 5 minutes left; the pasta")
		l.says("cancel_timer", `{"name":"egg"}`, "The timer for the eggs is cancelled.")
		l.says("cancel_timer", `{}`, "The timer for the pasta is cancelled.")
		l.passes(time.Hour)
		l.hears()
		l.says("set_timer", pasta, "is set")
		l.passes(10 * time.Minute)
		l.says("cancel_timer", `{}`, "is cancelled")
		l.off(0)
		l.passes(time.Minute)
		l.hears("the pasta")
		l.says("set_timer", pasta, "is set")
		l.says("set_timer", `{"seconds":1}`, "is set")
		l.says("cancel_timer", `{"all":true}`, "2 timers are cancelled.")
		l.off(0)
		l.passes(time.Hour)
		l.hears()
	})
}

func TestFiveMoreMinutes(t *testing.T) {
	lives(t, func(l *life) {
		l.says("snooze_timer", `{}`, "There is no timer.")
		l.says("set_timer", pasta, "is set")
		l.passes(4 * time.Minute)
		l.says("snooze_timer", `{"seconds":120}`, "rings in 8 minutes") // while it runs
		l.passes(8 * time.Minute)
		l.hears("the pasta")
		l.says("snooze_timer", `{}`, "rings again in 5 minutes") // while it rings
		l.says("list_timers", `{}`, "The pasta, 5 minutes left.")
		l.off(time.Minute)
		l.passes(4 * time.Minute)
		l.hears("the pasta")
		l.press()
		l.says("set_timer", `{"seconds":600,"name":"tea"}`, "is set")
		l.says("snooze_timer", `{"seconds":60}`, "The timer for the pasta rings again in 1 minute.") // after it has rung
		l.passes(time.Minute)
		l.hears("the pasta")
		l.press()
		l.passes(9 * time.Minute)
		l.hears("tea")
		l.press()
		l.passes(recent)
		l.says("snooze_timer", `{}`, "There is no timer.")
	})
}

// One press stops all that ring; of those "five more minutes" may mean any.
func TestFiveMoreMinutesOfSeveralThatRangTogether(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", pasta, "is set")
		l.says("set_timer", `{"seconds":600,"name":"the eggs"}`, "is set")
		l.says("set_timer", `{"seconds":540,"name":"tea"}`, "is set")
		l.passes(9 * time.Minute)
		l.press()
		var ends []func(skills.Ended)
		l.each = func(end func(skills.Ended)) { ends = append(ends, end) }
		l.passes(time.Minute)
		for _, end := range ends {
			end(skills.Pressed)
		}
		l.end = nil
		l.hears("tea", "the pasta", "the eggs")
		l.says("snooze_timer", `{}`, "Which of them: the eggs, the pasta?")
		l.says("snooze_timer", `{"name":"eggs"}`, "The timer for the eggs rings again in 5 minutes.")
		l.says("snooze_timer", `{}`, "The timer for the pasta rings again in 5 minutes.")
		l.says("snooze_timer", `{"name":"the tea"}`, "The timer for tea rings again in 5 minutes.")
	})
}

// A user at the page gives one that rings five more minutes without a word; what rings no more stays as it is.
func TestFiveMoreMinutesOfWhatRings(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", pasta, "is set")
		l.passes(10 * time.Minute)
		l.hears("the pasta")
		if shown := l.Shows(); len(shown) != 0 {
			t.Errorf("it rings, and is shown as running: %+v", shown)
		}
		first := l.later
		if err := first(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		l.says("list_timers", `{}`, "The pasta, 5 minutes left.")
		if err := first(); err == nil || !strings.Contains(err.Error(), "does not ring any more") {
			t.Errorf("once more: %v", err)
		}
		l.off(time.Minute) // it is on the disk
		l.passes(4*time.Minute - time.Second)
		l.hears()
		l.passes(time.Second)
		l.hears("the pasta")
		if err := l.db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.later(); err == nil || !strings.Contains(err.Error(), "is not set") {
			t.Errorf("what cannot be kept: %v", err)
		}
	})
}

// People say more around a name than belongs to it, and so do models.
func TestANameIsWithoutWhatIsSaidAroundIt(t *testing.T) {
	for said, want := range map[string]string{
		"the pasta": "the pasta", "for the pasta": "the pasta", "the timer for the pasta": "the pasta", "the for the elephant": "the elephant",
		"pasta timer": "pasta", "my timer": "", "the": "", "for": "", "": "", "  water  for tea": "water for tea", "plan a": "plan a",
	} {
		if got := bare(said); got != want {
			t.Errorf("%q is called %q; want %q", said, got, want)
		}
	}
	lives(t, func(l *life) {
		l.says("set_timer", `{"seconds":600,"name":"the timer for the pasta"}`, "The timer for the pasta is set")
		l.says("cancel_timer", `{"name":"the for the elephant"}`, "There is no timer for the elephant. There is the pasta")
		l.says("cancel_timer", `{"all":true}`, "The timer for the pasta is cancelled.")
		l.says("cancel_timer", `{"all":true}`, "There is no timer.")
	})
}

// Over while conch did not run: for less than fifteen minutes it rings and says so, else it is told.
func TestWhatIsLateAfterARestart(t *testing.T) {
	for _, c := range []struct {
		off  time.Duration
		want string
	}{
		{10*time.Minute + 20*time.Second, "the pasta"},
		{12 * time.Minute, "the pasta, 2 minutes ago"},
		{25 * time.Minute, "the pasta, 15 minutes ago"},
		{26 * time.Minute, "While I was off, a timer was over: the pasta, 16 minutes ago."},
		{30 * time.Hour, "While I was off, a timer was over: the pasta, 29 hours 50 minutes ago."},
	} {
		lives(t, func(l *life) {
			l.says("set_timer", pasta, "is set")
			l.off(c.off)
			l.hears(c.want)
			if strings.HasPrefix(c.want, "the pasta") {
				l.off(0) // it was not heard: it rings on
				if len(l.heard) != 1 || !strings.HasPrefix(l.heard[0], "the pasta") {
					t.Errorf("after another restart: %q", l.heard)
				}
				l.press()
			}
			l.heard = nil
			l.off(time.Minute)
			l.passes(time.Hour)
			l.hears()
		})
	}
}

// What the device says by itself is in its language, what the model is told in English.
func TestInTheLanguageOfTheDevice(t *testing.T) {
	if lack := phrases.Lack("de", "es", "fr"); len(lack) > 0 {
		t.Errorf("missing: %q", lack)
	}
	for language, want := range map[string][4]string{
		"":   {"10 minutes", "10 minutes, 2 minutes ago", "The timer is over: 10 minutes.", "While I was off, a timer was over: 1 minute, 1 hour ago."},
		"de": {"10 Minuten", "10 Minuten, vor 2 Minuten", "Der Timer ist abgelaufen: 10 Minuten.", "Während ich aus war, ist ein Timer abgelaufen: 1 Minute, vor 1 Stunde."},
		"es": {"10 minutos", "10 minutos, hace 2 minutos", "El temporizador ha terminado: 10 minutos.", "Mientras estaba apagado, terminó un temporizador: 1 minuto, hace 1 hora."},
		"fr": {"10 minutes", "10 minutes, il y a 2 minutes", "Le minuteur est terminé : 10 minutes.", "Pendant que j'étais éteint, un minuteur s'est terminé : 1 minute, il y a 1 heure."},
		"nl": {"10 minutes", "10 minutes, 2 minutes ago", "The timer is over: 10 minutes.", "While I was off, a timer was over: 1 minute, 1 hour ago."},
	} {
		lives(t, func(l *life) {
			l.stop()
			l.language = language
			l.starts()
			l.says("set_timer", `{"seconds":600}`, "The timer for 10 minutes is set.")
			l.passes(10 * time.Minute)
			l.hears(want[0])
			l.end(skills.Failed)
			l.end = nil
			l.hears(want[2])
			l.says("set_timer", `{"seconds":600}`, "The timer for 10 minutes is set.")
			l.off(12 * time.Minute)
			l.hears(want[1])
			l.press()
			l.says("set_timer", `{"seconds":60}`, "The timer for 1 minute is set.")
			l.off(time.Hour + time.Minute)
			l.hears(want[3])
			if p := []string{"The timer is over: 10 minutes.", "While I was off, a timer was over: 1 minute, 1 hour ago."}; !slices.Equal(l.prompts, p) {
				t.Errorf("%q: the model is told %q; want %q", language, l.prompts, p)
			}
		})
	}
}

// A board without a clock starts in the past, and the network brings the time minutes later.
func TestTheClockOnTheWallMayJump(t *testing.T) {
	const years = 50 * 365 * 24 * time.Hour
	t.Run("while it runs", func(t *testing.T) {
		for _, by := range []time.Duration{years, -time.Hour, 3 * time.Second} {
			lives(t, func(l *life) {
				l.says("set_timer", pasta, "is set")
				l.passes(time.Minute)
				l.jumped += by
				l.passes(time.Minute)
				l.hears()
				l.off(time.Minute) // it was written anew
				l.passes(7*time.Minute - time.Second)
				l.hears()
				l.passes(time.Second)
				l.hears("the pasta")
			})
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		lives(t, func(l *life) {
			l.says("set_timer", pasta, "is set")
			l.jumped = -years
			l.off(time.Minute)
			l.says("list_timers", `{}`, "10 minutes left") // no clock makes it longer
			l.passes(2 * time.Minute)
			l.jumped = 0
			l.passes(look)
			l.says("list_timers", `{}`, "6 minutes 50 seconds left")
			l.passes(7*time.Minute - look)
			l.hears("the pasta")
		})
	})
	t.Run("over meanwhile", func(t *testing.T) {
		lives(t, func(l *life) {
			l.says("set_timer", pasta, "is set")
			l.jumped = -years
			l.off(3 * time.Hour)
			l.passes(time.Minute)
			l.hears()
			l.jumped = 0
			l.passes(look)
			l.hears("While I was off, a timer was over: the pasta, 2 hours 51 minutes ago.")
		})
	})
}

func TestBoundsAreToldInWords(t *testing.T) {
	lives(t, func(l *life) {
		for args, want := range map[string]string{
			`{"seconds":0}`:     "a second at least",
			`{"seconds":-5}`:    "a second at least",
			`{}`:                "how long should it be",
			`{"seconds":86401}`: "24 hours at most; for what is later there are reminders",
			fmt.Sprintf(`{"seconds":%d}`, math.MaxInt): "24 hours at most",
			`{"seconds":1.5}`:                          "whole number",
			`{"seconds":"ten"}`:                        "whole number",
		} {
			l.says("set_timer", args, want)
		}
		l.says("set_timer", pasta, "is set")
		l.says("set_timer", pasta, "there is a timer for the pasta already, 10 minutes left")
		l.says("snooze_timer", `{"seconds":86400}`, "24 hours at most")
		for range most - 1 {
			l.says("set_timer", `{"seconds":86400}`, "is set")
		}
		l.says("set_timer", `{"seconds":5}`, "there are 64 timers already")
		l.off(0)
		l.says("set_timer", `{"seconds":5}`, "there are 64 timers already")
		l.passes(10 * time.Minute)
		l.hears("the pasta")
	})
}

// What could not be kept is not confirmed.
func TestATimerThatCannotBeKeptIsNone(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", pasta, "is set")
		if err := l.db.Close(); err != nil {
			t.Fatal(err)
		}
		l.says("set_timer", `{"seconds":5}`, "the timer is not set: what skills keep")
		l.says("cancel_timer", `{}`, "the timer is not cancelled")
		l.says("snooze_timer", `{}`, "the timer stays as it was")
		l.says("list_timers", `{}`, "The pasta, 10 minutes left.")
	})
}

// A skill that has nothing to do sleeps: with no timer its goroutine waits for somebody to set one, and for nothing else.
func TestNothingToDoCostsNothing(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", `{"seconds":60}`, "is set")
		l.passes(time.Minute)
		l.press()
		looked := 0
		now := l.host.Now
		l.host.Now = func() time.Time { looked++; return now() }
		l.passes(30 * 24 * time.Hour)
		if looked > 0 {
			t.Errorf("it woke up %d times in a month", looked)
		}
		l.says("set_timer", pasta, "is set")
		looked = 0
		l.passes(5 * time.Minute)
		if looked == 0 || looked > 31 {
			t.Errorf("with a timer it woke up %d times in five minutes", looked)
		}
	})
}

// Whoever looks on sees what runs, the next first, and nothing that is over.
func TestTimersAreShown(t *testing.T) {
	lives(t, func(l *life) {
		l.says("set_timer", pasta, "is set")
		l.says("set_timer", `{"seconds":180}`, "is set")
		shown := l.Shows()
		if len(shown) != 2 || shown[0].Length != 3*time.Minute || shown[1].Name != "the pasta" || !shown[1].Ends.Equal(time.Now().Add(10*time.Minute)) {
			t.Errorf("shown: %+v", shown)
		}
		l.passes(4 * time.Minute)
		l.press()
		if shown = l.Shows(); len(shown) != 1 {
			t.Errorf("afterwards: %+v", shown)
		}
	})
}
