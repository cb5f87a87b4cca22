// Package reload reads the configuration again on SIGHUP, as service managers send it for a reload (APPLIANCE.md 4). What can change
// while the device runs changes at once; the rest is named and waits for a restart. A configuration that is refused changes nothing,
// but for a condition that says so.
//
// Whoever mends a file need not know how a service is told: while that condition holds, the file is looked at again, and taken once
// nothing is wrong with it; by a reload, or where the device was started with a refused one, by beginning anew.
package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"conch/device/condition"
	"conch/device/config"
)

// Log events of a reload.
const (
	logReloaded = "config.reloaded" // applied: keys now in force; restart: keys that differ and are not (then a warning)
	logRefused  = "config.refused"  // one line per problem; all stays as it was
	logWarning  = "config.warning"  // accepted, and yet something to tell
	logMended   = "config.mended"   // what the device was started without can be read now
)

const mendedTick = 5 * time.Second // a look is one small file

// Options are what it takes to read the configuration again; without a Load, SIGHUP keeps its usual meaning.
type Options struct {
	Load  func() (*config.Config, error) // as at the start: the same file, environment and flags
	Level *slog.LevelVar                 // the log's
}

// Listen takes SIGHUP from now on, so that none that comes during the start ends the program. At a terminal the signal says
// that the terminal is gone, which is the end; the keyboard then sees to the terminal's modes.
func (o Options) Listen(in *os.File) (hangups <-chan os.Signal, stop func()) {
	if o.Load == nil || term.IsTerminal(int(in.Fd())) {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1) // one that waits is enough: a reload takes the newest file
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// Host is what runs with the configuration.
type Host interface {
	Take(key string, next, running *config.Config) bool // puts one key into force, if that needs no restart
	Reloading() (over func())                           // whoever started it is told
}

// Reloader brings a running device as near to its configuration as it can come. It belongs to one goroutine.
type Reloader struct {
	o       Options
	host    Host
	running config.Config // what is in force
	without bool          // the device was started without what was refused
	conds   *condition.Book
	log     *slog.Logger
}

// New reloads for a host that was started with cfg.
func New(o Options, cfg config.Config, host Host, conds *condition.Book, log *slog.Logger) *Reloader {
	return &Reloader{o: o, host: host, running: cfg, without: len(cfg.Problems) > 0, conds: conds, log: log}
}

// Run reloads until ctx ends, or what the device was started without is mended: then it has to begin anew.
func (r *Reloader) Run(ctx context.Context, hangups <-chan os.Signal) (mended bool) {
	tick := time.NewTicker(mendedTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-hangups:
			r.Reload()
		case <-tick.C:
			if !r.conds.Holds(condition.ConfigRefused) {
				continue
			}
			if _, err := r.o.Load(); err != nil {
				continue
			}
			if r.without {
				r.log.Info(logMended)
				return true
			}
			r.Reload()
		}
	}
}

// Reload reads it once.
func (r *Reloader) Reload() {
	defer r.host.Reloading()()
	next, err := r.o.Load()
	if err != nil {
		problems := []string{err.Error()}
		if all := (*config.Error)(nil); errors.As(err, &all) {
			problems = all.Problems
		}
		logProblems(r.log, problems, "all stays as it was")
		if !r.without { // else that condition stands, and so does what it says
			r.conds.Set(condition.ConfigRefused, problemsText(problems)+". Until that is mended, all stays as it was before the reload", mendIt)
		}
		return
	}
	if !r.without {
		r.conds.Clear(condition.ConfigRefused)
	}
	for _, w := range next.Warnings {
		r.log.Warn(logWarning, "text", w)
	}
	applied, restart := r.apply(next)
	level := slog.LevelInfo
	if len(restart) > 0 {
		level = slog.LevelWarn
	}
	// Said at the more talkative of the two levels: whoever turns the log down has still asked what came of it.
	r.o.Level.Set(min(r.o.Level.Level(), next.Log.Slog()))
	r.log.Log(context.Background(), level, logReloaded, "file", next.File, "applied", applied, "restart", restart)
	r.o.Level.Set(next.Log.Slog())
}

// apply puts into force what needs no restart.
func (r *Reloader) apply(next *config.Config) (applied, restart []string) {
	applied, restart = []string{}, []string{}
	before := r.running.Describe()
	for i, row := range next.Describe() {
		same := row.Value == before[i].Value
		if row.Key == "voice.key" { // shown as set or unset only
			same = next.Voice.Key == r.running.Voice.Key
		}
		switch {
		case same:
		case r.host.Take(row.Key, next, &r.running):
			applied = append(applied, row.Key)
		default:
			restart = append(restart, row.Key)
		}
	}
	return applied, restart
}

// Refused tells of what is refused in the configuration that the device was started with.
func Refused(cfg config.Config, conds *condition.Book, log *slog.Logger) {
	if len(cfg.Problems) == 0 {
		return
	}
	logProblems(log, cfg.Problems, cfg.Meanwhile())
	conds.Set(condition.ConfigRefused, problemsText(cfg.Problems)+". Until that is mended, "+cfg.Meanwhile(), mendIt)
}

func logProblems(log *slog.Logger, problems []string, until string) {
	for _, p := range problems {
		log.Error(logRefused, "err", p, "do", "mend it; until then "+until)
	}
}

// mendIt is what to do about a configuration that is refused.
const mendIt = "mend it (conch check names every mistake); a file that is mended is taken by itself, anything else after a restart"

// problemsText names the first few.
func problemsText(problems []string) string {
	const most = 3
	var all []string
	for i, p := range problems {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		all = append(all, strings.TrimPrefix(p, "config: "))
	}
	return "the configuration is refused: " + strings.Join(all, "; ")
}
