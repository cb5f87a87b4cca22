package reminders

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the tests are of Berlin

	"conch/companions/skills"
	"conch/device/condition"
	"conch/device/store"
)

// life is a skill at work, in virtual time, in Berlin, with the real store. What is said goes into heard.
type life struct {
	t     *testing.T
	path  string
	clock func() time.Time
	off   time.Duration // how wrong that is
	house atomic.Pointer[time.Location]
	*Skill
	language string
	heard    []string
	left     chan struct{}         // of the last announcement
	ends     func() skills.Outcome // how the next words end; nil: delivered; empty: not yet
	open     []func(skills.Outcome)
	stop     func()
	db       *store.DB
}

func (l *life) wall() time.Time { return l.clock().Add(l.off) }

// starts has conch start, on the same disk.
func (l *life) starts() {
	l.db = store.New(l.path, condition.NewBook(slog.New(slog.DiscardHandler)), l.wall)
	l.Skill = New(skills.Host{
		Log: slog.New(slog.DiscardHandler), Now: l.wall, Store: l.db.Skill("reminders"), Language: l.language,
		Announce: func(a skills.Announcement) {
			if a.Priority != skills.BlockBehindComms || a.Companion != "ada" || l.language == "" && a.Prompt != a.Text {
				l.t.Errorf("%+v", a)
			}
			how := skills.OutcomeDelivered
			if l.ends != nil {
				how = l.ends()
			}
			if l.language != "" && !english.MatchString(a.Prompt) {
				l.t.Errorf("the model is told %q", a.Prompt)
			}
			l.heard, l.left = append(l.heard, a.Text), a.Left
			if how != "" {
				a.Done(how)
			} else {
				l.open = append(l.open, a.Done)
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
		for _, end := range l.open {
			end(skills.OutcomeFailed) // that is what is told to who waits when conch ends
		}
		l.open = nil
		synctest.Wait()
		if err := l.db.Close(); err != nil {
			l.t.Error(err)
		}
	}
	synctest.Wait()
}

// until lets time pass, to what the clock on the wall shows.
func (l *life) until(at string) {
	l.t.Helper()
	to, err := time.ParseInLocation("2006-01-02 15:04:05", at, l.clock().Location())
	if err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(to.Sub(l.wall()))
	synctest.Wait()
}

func (l *life) says(tool, args, want string) {
	l.t.Helper()
	for _, each := range l.Tools() {
		if each.Name != tool {
			continue
		}
		r, err := each.Handler(skills.Context{Context: l.t.Context(), Companion: "ada"}, json.RawMessage(args))
		synctest.Wait()
		if out := r.Output; err != nil && !strings.Contains(err.Error(), want) || err == nil && !strings.Contains(out, want) {
			l.t.Errorf("%s %s: %q, %v; want %q", tool, args, out, err, want)
		}
		return
	}
	l.t.Fatal("there is no tool", tool)
}

func (l *life) hears(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.heard, want) {
		l.t.Errorf("heard %q; want %q", l.heard, want)
	}
	l.heard = nil
}

func lives(t *testing.T, from string, f func(l *life)) {
	path := filepath.Join(t.TempDir(), store.File)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", from, berlin)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		l := &life{t: t, path: path}
		l.house.Store(berlin)
		l.clock = func() time.Time { return at.Add(time.Since(begun)).In(l.house.Load()) }
		l.starts()
		f(l)
		l.stop()
	})
}

const (
	evening = "2026-11-23 20:00:00" // a Monday
	pills   = `{"text":"take your pills","at":"2026-11-24T08:00"}`
	daily   = `{"text":"take your pills","at":"2026-11-24T08:00","rule":"FREQ=DAILY"}`
	here    = "here is your reminder: take your pills."
)

// A user at the page sees what is to come, the next first, and nothing that was told.
func TestRemindersAreShown(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "is set")
		l.says("add_reminder", `{"text":"lock the door","at":"2026-11-23T22:00"}`, "is set")
		shows := func(want ...string) {
			t.Helper()
			got := []string{}
			for _, s := range l.Shows() {
				got = append(got, s.Name+" "+s.Due.In(l.house.Load()).Format("2 15:04"))
			}
			if !slices.Equal(got, want) {
				t.Errorf("shown: %q; want %q", got, want)
			}
		}
		shows("lock the door 23 22:00", "take your pills 24 08:00")
		l.until("2026-11-24 08:01:00")
		shows("take your pills 25 08:00")
		l.says("cancel_reminder", `{}`, "is cancelled")
		shows()
	})
}

func TestAReminderIsToldAtItsTime(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("list_reminders", `{}`, "There is no reminder.")
		l.says("add_reminder", pills, "The reminder is set: take your pills, tomorrow at 08:00.")
		l.says("add_reminder", pills, "That reminder is there already")
		l.says("list_reminders", `{}`, "take your pills, tomorrow at 08:00.")
		l.until("2026-11-24 07:59:59")
		l.hears()
		l.until("2026-11-24 08:00:00")
		l.hears(here)
		l.says("acknowledge_reminder", `{}`, "Noted, done: take your pills.")
		l.says("acknowledge_reminder", `{}`, "There is nothing to be done.")
		l.until("2026-11-26 08:00:00")
		l.hears()
		if len(l.all) > 0 {
			t.Error("it is kept for ever")
		}
	})
}

func TestARepeatedReminderIsCancelledByItsWords(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "take your pills, tomorrow at 08:00, and again every day.")
		l.says("add_reminder", `{"text":"put out the bin","at":"2026-11-23 21:00","rule":"rrule:freq=weekly;byday=mo,th"}`, "put out the bin, today at 21:00")
		l.until("2026-11-26 21:00:00")
		l.hears("here is your reminder: put out the bin.", here, here, here, "here is your reminder: put out the bin.")
		l.says("cancel_reminder", `{}`, "Which of them: take your pills, tomorrow at 08:00, and again every day; put out the bin, on Monday at 21:00, and again every Monday and Thursday?")
		l.says("cancel_reminder", `{"text":"cat"}`, "There is no reminder about cat.")
		l.says("cancel_reminder", `{"text":"the pill"}`, "The reminder is cancelled: take your pills.")
		l.stop()
		l.starts()
		l.until("2026-11-30 20:59:59")
		l.hears()
		l.says("acknowledge_reminder", `{"text":"bin"}`, "There is nothing to be done about bin.")
		l.until("2026-11-30 21:00:00")
		l.says("acknowledge_reminder", `{"text":"bin"}`, "Noted, done: put out the bin. The next is on Thursday at 21:00.")
	})
}

// At eight it stays at eight, in winter and in summer; in the night in which clocks are turned it comes once.
func TestDaylightSaving(t *testing.T) {
	lives(t, "2026-03-27 20:00:00", func(l *life) {
		l.says("add_reminder", `{"text":"take your pills","at":"2026-03-28T08:00","rule":"FREQ=DAILY"}`, "tomorrow at 08:00")
		for _, day := range []string{"28", "29", "30"} { // 23 hours lie between the first two
			l.until("2026-03-" + day + " 07:59:59")
			l.hears()
			l.until("2026-03-" + day + " 08:00:00")
			l.hears(here)
		}
	})
	lives(t, "2026-03-28 20:00:00", func(l *life) {
		l.says("add_reminder", `{"text":"take your pills","at":"2026-03-29T02:30"}`, "tomorrow at 03:30. There is no 02:30 on that day")
		l.until("2026-03-29 03:30:00")
		l.hears(here)
	})
	lives(t, "2026-10-24 20:00:00", func(l *life) {
		l.says("add_reminder", `{"text":"take your pills","at":"2026-10-25T02:30","rule":"FREQ=DAILY"}`, "twice on that day; the first is meant")
		time.Sleep(6*time.Hour + 30*time.Minute)
		synctest.Wait()
		l.hears(here)
		time.Sleep(time.Hour) // the clock shows the same again
		synctest.Wait()
		l.hears()
		l.until("2026-10-26 02:30:00")
		l.hears(here)
	})
}

// The house is carried into another zone, or its zone is put right, while conch runs or while it does not: at eight it is at eight there.
func TestAtEightInTheZoneThatTheHouseHasNow(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		lives(t, evening, func(l *life) {
			l.says("add_reminder", daily, "take your pills, tomorrow at 08:00, and again every day.")
			l.says("add_reminder", `{"text":"feed the cat","at":"2026-11-24T09:00"}`, "tomorrow at 09:00.")
			carry := func(zone string) {
				house, err := time.LoadLocation(zone)
				if err != nil {
					l.t.Fatal(err)
				}
				if restarts {
					l.stop()
					defer l.starts()
				}
				l.house.Store(house)
			}
			carry("Asia/Tokyo") // there it is four in the morning
			time.Sleep(look)    // the skill looks at the clock meanwhile
			synctest.Wait()
			l.says("list_reminders", `{}`, "take your pills, today at 08:00, and again every day; feed the cat, today at 09:00.")
			l.until("2026-11-24 07:59:59")
			l.hears()
			l.until("2026-11-24 08:00:00")
			l.hears(here)
			carry("Europe/Berlin") // there it is midnight
			time.Sleep(look)
			l.until("2026-11-24 08:59:59")
			l.hears() // of that day it was told
			l.until("2026-11-24 09:00:00")
			l.hears("here is your reminder: feed the cat.")
			l.until("2026-11-25 08:00:00")
			l.hears(here)
		})
	}
}

func TestWhatWasMissedIsToldOnce(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "is set")
		l.stop()
		l.until("2026-11-26 12:00:00")
		l.starts()
		l.hears("this reminder, today at 08:00, was missed, and 2 before it: take your pills.")
		l.stop()
		l.starts()
		l.until("2026-11-27 07:59:59")
		l.hears()
		l.until("2026-11-27 08:00:00")
		l.hears(here)
	})
}

var english = regexp.MustCompile("^(here is your|you may have|once more, your|this) .*take your pills. Say done when it is.$")

// What the device says by itself is in its language, what the model is told in English.
func TestInTheLanguageOfTheDevice(t *testing.T) {
	if lack := phrases.Lack("de", "es", "fr"); len(lack) > 0 {
		t.Errorf("missing: %q", lack)
	}
	for language, want := range map[string][6]string{
		"de": {"Hier ist deine Erinnerung: ", "Noch einmal deine Erinnerung: ", "Das hast du vielleicht schon gehört: ",
			"Diese Erinnerung, heute um 08:00, wurde verpasst, und davor noch 2: ", "Diese Erinnerung, am 28.11. um 08:00, wurde verpasst: ", " Sag Bescheid, wenn es erledigt ist."},
		"es": {"Aquí está tu recordatorio: ", "Otra vez, tu recordatorio: ", "Puede que ya lo hayas oído: ",
			"Este recordatorio, hoy a las 08:00, se perdió, y 2 antes: ", "Este recordatorio, el 28/11 a las 08:00, se perdió: ", " Avísame cuando esté hecho."},
		"fr": {"Voici ton rappel : ", "Encore une fois, ton rappel : ", "Tu l'as peut-être déjà entendu : ",
			"Ce rappel, aujourd'hui à 08:00, a été manqué, et 2 avant lui : ", "Ce rappel, le 28/11 à 08:00, a été manqué : ", " Dis-le-moi quand c'est fait."},
		"nl": {"here is your reminder: ", "once more, your reminder: ", "you may have heard this already: ",
			"this reminder, today at 08:00, was missed, and 2 before it: ", "this reminder, on Saturday, November 28 at 08:00, was missed: ", " Say done when it is."},
	} {
		lives(t, evening, func(l *life) {
			l.stop()
			l.language = language
			l.starts()
			all := func(i int) string { return want[i] + "take your pills." + want[5] }
			l.says("add_reminder", `{"text":"take your pills","at":"2026-11-24T08:00","rule":"FREQ=DAILY;UNTIL=20261128T235959","insist":true}`, "is set")
			l.until("2026-11-24 08:00:00")
			l.hears(all(0))
			l.until("2026-11-24 08:10:00")
			l.hears(all(1))
			l.ends = func() skills.Outcome { return "" }
			l.until("2026-11-24 08:20:00")
			l.hears(all(1))
			l.stop()
			l.ends = nil
			l.starts()
			l.hears(all(2))
			l.stop()
			l.until("2026-11-27 12:00:00")
			l.starts()
			l.hears(all(3))
			l.stop()
			l.until("2026-11-30 12:00:00")
			l.starts()
			l.hears(all(4))
		})
	}
}

// A board without a clock starts in the past, and the network brings the time minutes later; or one starts in the future.
func TestTheClockOnTheWallMayJump(t *testing.T) {
	const years = 5 * 365 * 24 * time.Hour
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "is set")
		l.stop()
		l.off = -years
		l.starts()
		l.says("add_reminder", pills, "my clock is wrong")
		time.Sleep(time.Minute)
		l.off = 0
		l.until("2026-11-24 08:00:00")
		l.hears(here)
		l.off = -5 * time.Minute // a little back: not twice
		l.until("2026-11-24 08:30:00")
		l.hears()
		l.off = years
		time.Sleep(look)
		synctest.Wait()
		if len(l.heard) != 1 || !strings.Contains(l.heard[0], "was missed, and 182") {
			t.Errorf("in the future: %q", l.heard)
		}
		l.heard = nil
		l.off = 0
		l.until("2026-11-25 07:59:59")
		l.hears()
		l.until("2026-11-25 08:00:00")
		l.hears(here)
	})
}

// A clock that is ahead for a while costs no reminder that comes due meanwhile: it is told at its time or late, once more where it may
// have been heard.
func TestAClockThatWasAheadLosesNoReminder(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	const again, missed = "you may have heard this already: take your pills.", "this reminder, today at 08:00, was missed: take your pills."
	const far = `{"text":"take your pills","at":"2026-12-20T08:00"}`
	failed := func() skills.Outcome { return skills.OutcomeExpired }
	for name, row := range map[string]struct {
		set, ahead string
		by         time.Duration
		ends       func() skills.Outcome
		restart    bool
		back       string
		at, want   string
	}{
		"two years, back after it was due":     {pills, "2026-11-24 07:50:00", 2 * year, nil, false, "2026-11-24 08:20:00", "2026-11-24 08:21:00", again},
		"nobody heard it":                      {pills, "2026-11-24 07:50:00", 2 * year, failed, false, "2026-11-24 08:20:00", "2026-11-24 08:21:00", missed},
		"nobody heard it, and it begins anew":  {pills, "2026-11-24 07:50:00", 2 * year, failed, true, "2026-11-24 08:20:00", "2026-11-24 08:21:00", missed},
		"every day":                            {daily, "2026-11-24 07:50:00", 2 * year, nil, false, "2026-11-24 08:20:00", "2026-11-24 08:21:00", again},
		"back before it is due":                {pills, "2026-11-24 07:00:00", 2 * year, nil, false, "2026-11-24 07:30:00", "2026-11-24 08:00:00", here},
		"every day, back before it is due":     {daily, "2026-11-24 07:00:00", 2 * year, nil, false, "2026-11-24 07:30:00", "2026-11-24 08:00:00", here},
		"one day":                              {pills, "2026-11-23 20:30:00", day, nil, true, "2026-11-23 21:00:00", "2026-11-24 08:00:00", here},
		"for days, and longer than it is kept": {pills, "2026-11-23 20:30:00", 2 * year, nil, true, "2026-12-03 21:00:00", "2026-12-03 21:01:00", ""},
		"a reminder of next month":             {far, "2026-11-23 20:30:00", 2 * year, nil, true, "2026-11-27 21:00:00", "2026-12-20 08:00:00", here},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, evening, func(l *life) {
				l.says("add_reminder", row.set, "is set")
				l.until(row.ahead)
				l.off, l.ends = row.by, row.ends
				to, err := time.ParseInLocation(time.DateTime, row.back, l.clock().Location())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(to.Sub(l.clock()))
				synctest.Wait()
				if row.restart {
					l.stop()
					l.starts()
				}
				l.heard = nil
				l.off, l.ends = 0, nil
				l.until(row.at)
				if len(l.heard) == 0 || row.want != "" && (len(l.heard) != 1 || l.heard[0] != row.want) {
					t.Errorf("%q; want %q", l.heard, row.want)
				}
			})
		})
	}
}

// A board without a clock starts in 1970: what was told before that is not told again, and what is due waits for the time.
func TestAClockThatStartsIn1970TellsNothingTwice(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", pills, "is set")
		l.until("2026-11-24 08:00:00")
		l.hears(here)
		l.says("add_reminder", `{"text":"take your pills","at":"2026-11-24T09:00"}`, "is set")
		l.stop()
		l.off = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Sub(l.clock())
		l.starts()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		l.hears()
		l.off = 0
		time.Sleep(look)
		synctest.Wait()
		l.hears("this reminder, today at 09:00, was missed: take your pills.")
	})
}

// If conch ends within the words nobody knows whether they were heard, and that is said; after the words it is not said again.
func TestAReminderIsNeverDoubledWithoutSayingSo(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "is set")
		l.ends = func() skills.Outcome { return "" }
		l.until("2026-11-24 08:00:00")
		l.hears(here)
		l.stop()
		l.starts()
		l.hears("you may have heard this already: take your pills.")
		l.stop()
		l.ends = nil
		l.starts()
		l.hears("you may have heard this already: take your pills.")
		l.stop()
		l.starts()
		l.hears()
		l.until("2026-11-25 08:00:00")
		l.hears(here)
	})
}

func TestWhatCouldNotBeSaidIsSaidLater(t *testing.T) {
	for _, last := range []skills.Outcome{skills.OutcomeInterrupted, skills.OutcomeUnheard} {
		lives(t, evening, func(l *life) {
			l.says("add_reminder", pills, "is set")
			n := 0
			l.ends = func() skills.Outcome {
				n++
				return []skills.Outcome{skills.OutcomeExpired, skills.OutcomeFailed, last}[n-1]
			}
			l.until("2026-11-24 08:00:00")
			l.until("2026-11-24 08:05:00")
			l.until("2026-11-24 09:00:00")
			missed := "this reminder, today at 08:00, was missed: take your pills."
			l.hears(here, missed, missed)
		})
	}
}

func TestUntilSomebodySaysDone(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", `{"text":"take your pills","at":"2026-11-24T08:00","rule":"FREQ=DAILY","insist":true}`, "is set")
		first, again := here+" Say done when it is.", "once more, your reminder: take your pills. Say done when it is."
		l.until("2026-11-24 08:00:00")
		l.hears(first)
		l.until("2026-11-24 08:10:00")
		l.hears(again)
		l.says("list_reminders", `{}`, "take your pills, which is not done yet")
		l.stop()
		l.starts()
		l.until("2026-11-24 08:19:59")
		l.hears()
		l.until("2026-11-24 08:20:00")
		l.hears(again)
		l.says("acknowledge_reminder", `{"text":"I took my pills"}`, "The next is tomorrow at 08:00.")
		l.until("2026-11-25 07:00:00")
		l.hears()
		l.until("2026-11-25 20:00:00") // nobody is there
		if len(l.heard) != often {
			t.Errorf("said %d times; want %d", len(l.heard), often)
		}
	})
}

// A reminder that a press cut within 1.5 s rests, to be said once more. Snoozed, done or cancelled, its announcement is taken back.
func TestASnoozedReminderIsNotSaidOnceMoreByItself(t *testing.T) {
	for tool, args := range map[string]string{"snooze_reminder": `{}`, "acknowledge_reminder": `{}`, "cancel_reminder": `{"text":"pills"}`} {
		lives(t, evening, func(l *life) {
			l.ends = func() skills.Outcome { return "" } // it rests
			l.says("add_reminder", daily, "is set")
			l.until("2026-11-24 08:00:02")
			select {
			case <-l.left:
				t.Errorf("%s: it is taken back before", tool)
			default:
			}
			l.says(tool, args, "")
			select {
			case <-l.left:
			default:
				t.Errorf("%s: its announcement is not taken back", tool)
			}
			l.open[0](skills.OutcomeReplaced)
			l.open = nil
		})
	}
}

// "Snooze" has what was told said once more, over a restart, and leaves its next time as it is.
func TestAReminderIsSnoozed(t *testing.T) {
	const again = "once more, your reminder: take your pills."
	lives(t, evening, func(l *life) {
		l.says("add_reminder", daily, "is set")
		l.says("snooze_reminder", `{}`, "No reminder was told lately.")
		l.until("2026-11-24 08:00:00")
		l.hears(here)
		l.until("2026-11-24 08:00:30")
		l.says("snooze_reminder", `{}`, "I will say it again today at 08:05: take your pills.")
		l.says("list_reminders", `{}`, "take your pills, again today at 08:05, and again every day.")
		if got := l.Shows(); len(got) != 1 || got[0].Due.Minute() != 5 {
			t.Errorf("shown: %+v", got)
		}
		l.stop()
		l.starts()
		l.until("2026-11-24 08:05:29")
		l.hears()
		l.until("2026-11-24 08:05:30")
		l.hears(again)
		l.says("snooze_reminder", `{"name":"pills","seconds":600}`, "today at 08:15")
		l.says("acknowledge_reminder", `{}`, "The next is tomorrow at 08:00.")
		l.until("2026-11-24 09:30:00")
		l.hears()
		l.says("snooze_reminder", `{"name":"bin"}`, "No reminder about bin was told lately.")
		l.says("snooze_reminder", `{"seconds":0}`, "within 24 hours")
		l.says("snooze_reminder", `{"seconds":86401}`, "within 24 hours")
		l.until("2026-11-25 08:00:00")
		l.hears(here)
		l.says("snooze_reminder", `{"seconds":86400}`, "tomorrow at 08:00")
		l.until("2026-11-26 08:00:00") // its own time counts
		l.hears(here)
	})
	lives(t, evening, func(l *life) { // one that comes once, and while it is said
		l.ends = func() skills.Outcome { return "" }
		l.says("add_reminder", pills, "is set")
		l.until("2026-11-24 08:00:02")
		l.says("snooze_reminder", `{}`, "today at 08:05")
		l.ends = nil
		l.open[0](skills.OutcomeInterrupted)
		l.open = nil
		l.until("2026-11-24 08:05:02")
		l.hears(here, again)
		l.until("2026-11-24 23:00:00")
		l.hears()
	})
	lives(t, evening, func(l *life) { // one that is said until it is done
		l.says("add_reminder", `{"text":"take your pills","at":"2026-11-24T08:00","insist":true}`, "is set")
		l.until("2026-11-24 08:09:00")
		l.says("snooze_reminder", `{"seconds":1800}`, "today at 08:39")
		l.until("2026-11-24 08:38:59")
		l.hears(here + " Say done when it is.")
		l.until("2026-11-24 08:49:00")
		l.hears(again+" Say done when it is.", again+" Say done when it is.")
	})
}

func TestBadTimesAndRulesAreToldInWords(t *testing.T) {
	lives(t, evening, func(l *life) {
		for args, want := range map[string]string{
			`{"text":"x","at":"2026-11-23T19:00"}`:                                              "today at 19:00 is over: it is 20:00 now",
			`{"text":"x","at":"2026-11-24"}`:                                                    "at what time of that day?",
			`{"text":"x","at":"tomorrow"}`:                                                      `"tomorrow" is no time`,
			`{"text":"x","at":"2026-11-22T19:00"}`:                                              "yesterday at 19:00 is over: it is 20:00 now",
			`{"text":"x","at":"1999-01-01T08:00"}`:                                              "on Friday, January 1, 1999 at 08:00 is over",
			`{"text":"x","at":"2026-02-31T08:00"}`:                                              "there is no February 31: that month has 28 days in 2026",
			`{"text":"x","at":"2028-02-30"}`:                                                    "there is no February 30: that month has 29 days in 2028",
			`{"text":"x","at":"2026-12-24T25:00"}`:                                              "is no time",
			`{"text":"x","at":"` + strings.Repeat("9", 1<<20) + `"}`:                            "is no time",
			`{"text":"x","at":"2099-01-01T08:00"}`:                                              "too far away",
			`{"text":"x","at":"1999-01-01T08:00","rule":"FREQ=DAILY"}`:                          "too far away",
			`{"text":"  ","at":"2026-11-24T08:00"}`:                                             "of what",
			`{"text":7}`:                                                                        "are texts",
			`{"text":"x","at":"2026-11-24T08:00","rule":"every day"}`:                           "no rule of RFC 5545",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=HOURLY"}`:                         "once an hour at most",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=DAILY;BYMINUTE=1,2"}`:             "once an hour at most",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=DAILY;INTERVAL=99999999"}`:        "1000 at most",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=DAILY;BYHOUR=25"}`:                "byhour must be between 0 and 23",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}`: "never comes",
			`{"text":"x","at":"2026-11-24T08:00","rule":"FREQ=DAILY;UNTIL=20261001T000000Z"}`:   "never comes",
		} {
			l.says("add_reminder", args, want)
		}
		l.says("list_reminders", `{}`, "There is no reminder.")
		l.says("add_reminder", `{"text":"zone","at":"2026-11-24T08:00:00+09:00"}`, "zone, tomorrow at 00:00")
		l.says("add_reminder", `{"text":"three","at":"2026-11-24T08:00","rule":"FREQ=DAILY;COUNT=3"}`, "is set")
		l.says("add_reminder", `{"text":"two","at":"2026-11-24T08:00","rule":"FREQ=DAILY;UNTIL=20261125"}`, "is set")
		l.until("2026-12-24 00:00:00")
		n := func(text string) (n int) {
			for _, h := range l.heard {
				if strings.Contains(h, text) {
					n++
				}
			}
			return n
		}
		if n("zone") != 1 || n("three") != 3 || n("two") != 2 {
			t.Errorf("%q", l.heard)
		}
		for i := range most {
			l.says("add_reminder", fmt.Sprintf(`{"text":"number %d","at":"2027-11-24T08:00"}`, i), "is set")
		}
		l.says("add_reminder", `{"text":"one too many","at":"2027-11-24T08:00"}`, "there are 200 reminders already")
	})
}

// A reminder comes at a full minute, and not before the time that was asked for.
func TestWhatIsRoundedIsSaid(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", `{"text":"take your pills","at":"2026-11-23T20:01:30"}`,
			"The reminder is set: take your pills, today at 20:02. Reminders come at the full minute.")
		l.until("2026-11-23 20:01:59")
		l.hears()
		l.until("2026-11-23 20:02:00")
		l.hears(here)
	})
}

func TestARuleIsSaidInWords(t *testing.T) {
	start := time.Date(2026, 11, 24, 8, 30, 0, 0, time.UTC)
	for rule, want := range map[string]string{
		"": "", "FREQ=DAILY": "every day", "FREQ=DAILY;INTERVAL=2": "every 2 days", "FREQ=WEEKLY": "every week", "freq=yearly": "every year",
		"FREQ=WEEKLY;BYDAY=MO,TU,SU": "every Monday, Tuesday and Sunday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR": "every 2 weeks on Friday",
		"FREQ=MONTHLY;BYMONTHDAY=1,2,3,11,22,-1": "every month on the 1st day, 2nd day, 3rd day, 11th day, 22nd day and last day",
		"FREQ=MONTHLY;BYDAY=1MO,-1FR,-2SA":       "every month on the 1st Monday, the last Friday and the 2nd Saturday from the end",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29":    "every year on the 29th day in February, or the last day of a shorter one",
		"FREQ=MONTHLY;BYMONTHDAY=30":             "every month on the 30th day, or the last day of a shorter one",
		"FREQ=MONTHLY;BYMONTHDAY=15,31":          "every month on the 15th day and 31st day, where there is such a day",
		"FREQ=DAILY;BYHOUR=8,20":                 "every day at 08:30 and 20:30", "FREQ=DAILY;BYHOUR=8;BYMINUTE=5": "every day at 08:05",
		"FREQ=DAILY;COUNT=1": "every day, 1 time in all", "FREQ=DAILY;UNTIL=20261203": "every day, until December 3, 2026",
		"FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1": "every month on Monday and Tuesday, on certain days only",
	} {
		s, err := newSchedule(start, rule, time.UTC)
		if got := s.said(); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", rule, got, err, want)
		}
	}
}

// A day that some months do not have is the last of those; RFC 5545 would skip them.
func TestShortMonthsAreNotSkipped(t *testing.T) {
	for _, row := range []struct{ start, rule, want string }{
		{"2027-01-31T08:00", "FREQ=MONTHLY", "01-31 02-28 03-31 04-30 05-31 06-30"},
		{"2028-01-30T08:00", "FREQ=MONTHLY", "01-30 02-29 03-30 04-30 05-30 06-30"},
		{"2027-01-29T08:00", "FREQ=MONTHLY;INTERVAL=1", "01-29 02-28 03-29 04-29 05-29 06-29"},
		{"2027-01-28T08:00", "FREQ=MONTHLY", "01-28 02-28 03-28 04-28 05-28 06-28"},
		{"2027-01-05T08:00", "FREQ=MONTHLY;BYMONTHDAY=31", "01-31 02-28 03-31 04-30 05-31 06-30"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;INTERVAL=3", "01-31 04-30 07-31 10-31 01-31 04-30"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;BYMONTH=2,3", "02-28 03-31 02-29 03-31 02-28 03-31"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;BYHOUR=8,20", "01-31 01-31 02-28 02-28 03-31 03-31"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;COUNT=3", "01-31 02-28 03-31"},
		{"2028-02-29T08:00", "FREQ=YEARLY", "02-29 02-28 02-28 02-28 02-29 02-28"},
		{"2027-01-01T08:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "02-28 02-29 02-28 02-28 02-28 02-29"},
		{"2027-01-31T08:00", "FREQ=YEARLY", "01-31 01-31 01-31 01-31 01-31 01-31"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;BYMONTHDAY=-1", "01-31 02-28 03-31 04-30 05-31 06-30"},
		{"2027-01-31T08:00", "FREQ=MONTHLY;BYDAY=-1SU", "01-31 02-28 03-28 04-25 05-30 06-27"},
		{"2027-01-31T08:00", "FREQ=DAILY", "01-31 02-01 02-02 02-03 02-04 02-05"},
	} {
		start, err := parseStart(row.start, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSchedule(start, row.rule, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for at := s.next(start.Add(-time.Second)); !at.IsZero() && len(all) < 6; at = s.next(at) {
			all = append(all, at.Format("01-02"))
		}
		if got := strings.Join(all, " "); got != row.want {
			t.Errorf("%s from %s: %s; want %s", row.rule, row.start, got, row.want)
		}
	}
}

func TestAReminderThatCannotBeKeptIsNone(t *testing.T) {
	lives(t, evening, func(l *life) {
		l.says("add_reminder", pills, "is set")
		if err := l.db.Close(); err != nil {
			t.Fatal(err)
		}
		l.says("add_reminder", `{"text":"x","at":"2026-11-24T08:00"}`, "the reminder is not set")
		l.says("cancel_reminder", `{}`, "the reminder is not cancelled")
		l.until("2026-11-24 09:00:00")
		l.hears() // what is not known to the disk is not said
	})
}

// A skill that has nothing to do sleeps.
func TestNothingToDoCostsNothing(t *testing.T) {
	lives(t, evening, func(l *life) {
		looked := 0
		now := l.host.Now
		l.host.Now = func() time.Time { looked++; return now() }
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		if looked > 0 {
			t.Errorf("it woke up %d times in a month", looked)
		}
		l.says("add_reminder", `{"text":"x","at":"2027-06-24T08:00"}`, "is set")
		looked = 0
		time.Sleep(time.Hour)
		synctest.Wait()
		if looked == 0 || looked > 121 {
			t.Errorf("with a reminder it woke up %d times in an hour", looked)
		}
	})
}

// Whatever is written as a time or a rule is refused or comes to an end, soon.
func FuzzSchedule(f *testing.F) {
	f.Add("2026-11-24T08:00", "FREQ=WEEKLY;BYDAY=MO,TH;INTERVAL=2")
	f.Add("2026-11-24 08:00:00+01:00", "FREQ=MONTHLY;BYDAY=-1FR;BYSETPOS=-1;UNTIL=20271231T000000Z")
	f.Add("2026-02-28T08:00", "FREQ=YEARLY;BYWEEKNO=53;BYYEARDAY=366;BYMONTHDAY=-31;WKST=SU")
	f.Fuzz(func(t *testing.T, at, rule string) {
		start, err := parseStart(at, time.UTC)
		if err != nil {
			return
		}
		now := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
		if start.Before(now.AddDate(-1, 0, 0)) || start.After(now.AddDate(ahead, 0, 0)) {
			return
		}
		s, err := newSchedule(start, rule, time.UTC)
		if err != nil {
			return
		}
		if said := s.said(); strings.ContainsAny(said, "=;") {
			t.Fatalf("it is said as %q", said)
		}
		for range 3 {
			next := s.next(now)
			if next.IsZero() {
				return
			}
			if !next.After(now) {
				t.Fatalf("%s is not after %s", next, now)
			}
			now = next
		}
	})
}
