package device

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/buttons"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/knob"
	"conch/device/language"
	"conch/device/provider"
	"conch/device/reload"
	"conch/device/service"
	"conch/device/terminal"
	"conch/device/wait"
	"conch/gpio"
)

// Appliance is `conch run`: the device of this machine, with everything the configuration and the machine offer, until
// ctx ends, a person quits, or standard input, where that is the button, comes to its end. With join.ErrRestart whoever called it begins
// anew.
func Appliance(ctx context.Context, cfg config.Config, again reload.Options, log *slog.Logger, in *os.File, screen *terminal.Screen) error {
	spareProcessors()
	spareMemory(os.Getenv("GOGC"))
	hangups, stop := again.Listen(in)
	defer stop()
	alone := terminal.Nobody(in)
	if alone {
		defer surviveReaders()()
	}
	release, err := preflight(ctx, cfg, alone)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ring, now := service.NewRing(), since(time.Now())
	log = ring.Logger(log, again.Level)
	a := &appliance{screen: screen, ctx: ctx, cancel: cancel}
	cfg, misfits := cfg.Fitting()
	volume := knob.New(cfg, log)
	buttons, err := buttons.Choose(cfg, in, terminal.Options{Screen: screen, Clock: now, Help: func() string { return help(cfg.Device.Language) }},
		volume.Volume())
	if err != nil {
		return err
	}
	a.alone = len(buttons) == 1
	for i, b := range buttons {
		if lines, ok := b.(*terminal.Lines); ok {
			buttons[i] = inTurn{lines, a}
		}
	}
	o := Options{Log: log, Buttons: buttons, Now: now, Control: true, Page: true, OnTurn: a.turnEnded, OnWords: a.says, OnEvent: a.event,
		Typing: a.screen.Unfinished, Anyway: alone, Logs: ring}
	if alone {
		o.OnTurn, o.OnWords = nil, nil // a service manager would keep what people say in its journal
	}
	a.device, err = New(cfg, o)
	if err != nil {
		return err
	}
	for _, m := range misfits { // what had to stay away, for as long as this configuration is in force
		a.device.conds.Set(m.Code, m.Text, m.Do)
	}
	reload.Refused(cfg, a.device.conds, log)
	a.device.wireHomeAssistant()
	a.device.actors = append(a.device.actors, a.device.driver(cfg)...)
	a.device.actors = append(a.device.actors, a.device.tended("knob", func(ctx context.Context) error { return volume.Run(ctx, dial{a.device}) }))
	noteBoard(cfg, gpio.Detect(gpio.DetectOptions{}), log)
	if hangups != nil {
		reloads := reloads{a.device}
		reloader := reload.New(again, a.device.cfg, reloads, a.device.conds, log)
		a.device.actors = append(a.device.actors, actor{"reload", func(ctx context.Context) error {
			if reloader.Run(ctx, hangups) {
				return reloads.beginMended(ctx)
			}
			return nil
		}})
	}
	manager, watchdog := service.Systemd(log)
	a.device.manager = manager
	a.device.actors = append(a.device.actors, actor{"service", func(ctx context.Context) error { manager.Run(ctx, status{a.device}, watchdog); return nil }},
		a.device.tended("world", a.device.world.Run), a.device.tended("rest", a.device.rest().run))
	if alone {
		a.device.actors = append(a.device.actors, a.device.tended("aloud", a.device.announcer().run))
		rehearsing(&a.device.cfg, a.device.conds)
	}
	ended := make(chan error, 1)
	go func() { // awaited below
		ended <- a.device.Run(ctx)
		cancel() // it may have ended by itself
	}()
	if err := a.device.WaitReady(ctx, service.ReadyLimit); err != nil && ctx.Err() == nil {
		log.Warn("device.not_ready", "err", err)
	}
	a.screen.Say(status{a.device}.Chosen(cfg.Device.Language))
	if slices.ContainsFunc(buttons, func(b gpio.Events) bool { _, ok := b.(*terminal.Keyboard); return ok }) {
		a.screen.Say(a.device.room.Troubles())
		var names []string
		for _, c := range a.device.room.Cards {
			names = append(names, c.Name)
		}
		a.screen.Meet(names...)
		overheard := a.device.room.Overhear(ctx, a.screen)
		paired := a.device.pairing.Oversee(ctx, a.screen.Say)
		a.watch(ctx)
		<-overheard
		<-paired
	}
	return <-ended
}

// rehearsing says that a rehearsal voice answers because there is no key: where a person is, the prompt says so.
func rehearsing(c *config.Config, conds *condition.Book) {
	if kind, _ := provider.Kind(c); kind.Local && c.Voice.Kind == "auto" {
		conds.Set(condition.KeyMissing, "there is no key: a rehearsal voice answers, on this machine",
			c.GiveKey())
	}
}

// spareProcessors sees to it that a callback of the card finds a Go processor at once, however busy the others are; with
// none to spare it waited for up to 100 ms (audio/FACTS.md 4.6; make bench shows it with a busy goroutine inside).
func spareProcessors() { runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU())) }

// spareMemory has the collector let half as much garbage lie as it would: the heap is a few megabytes, so a round is short, and
// silence after a press comes as soon as before (bench silence); an appliance that has talked keeps five megabytes less. Who sets
// GOGC knows better.
func spareMemory(set string) {
	if set == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

const garbagePercent = 50

type appliance struct {
	screen *terminal.Screen
	device *Device
	ctx    context.Context // of the run
	cancel context.CancelFunc
	alone  bool // standard input is the only button: its end is the end

	questioned atomic.Pointer[turn.ID] // whose question was shown last
	watched    atomic.Bool             // somebody is told of conditions, too
	unheard    atomic.Pointer[unheard]
}

func (a *appliance) event(e gpio.Event) {
	switch e.Kind {
	case gpio.Asked:
		a.missing(e.Text)
	case gpio.Quit:
		a.cancel()
	case gpio.EOF: // what was asked is still answered
		if !a.alone {
			return
		}
		a.device.spawn(func() {
			_ = wait.Until(a.ctx, a.device.Quiet) // turns have deadlines, so that comes
			a.cancel()
		})
	}
}

// inTurn makes questions on standard input wait for each other: one read while an earlier one is being answered would cut it, which
// nobody who pipes two questions in means. A press interrupts, and overtakes the questions that wait.
type inTurn struct {
	*terminal.Lines
	a *appliance
}

func (l inTurn) Run(ctx context.Context, on func(gpio.Event)) error {
	_ = l.a.device.WaitReady(ctx, service.ReadyLimit) // who pipes a question in does not wait for the prompt
	l.InTurn(l.a.device.answered)
	return l.Lines.Run(ctx, on)
}

// WaitReady waits until the buttons, the two halves of the sound card and the voice are up, or their trouble is known.
func (d *Device) WaitReady(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := wait.Until(ctx, d.Ready); err != nil {
		return fmt.Errorf("not ready after %s: %s", limit, strings.TrimSpace(status{d}.Chosen(language.English)))
	}
	return nil
}

// Ready says that buttons, sound and all voices are up, or that their trouble is known.
func (d *Device) Ready() bool {
	for _, b := range d.opts.Buttons {
		if r, ok := b.(*buttons.Reopened); ok && !r.Known() {
			return false
		}
	}
	if !d.sound.Known() || !d.coordinator.Online() && !d.conds.Holds(condition.VoiceLost) {
		return false
	}
	return d.room.Voices.AllUp(func(id round.CompanionID) bool { return d.conds.Holds(d.room.Voices.Lost(id)) })
}

// RecentLine is one fact, order or transition of the flight recorder.
type RecentLine = coordinator.Line

// version is set by the linker.
var version = ""

// Version is what `conch version` prints.
func Version() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); v == "" && ok {
		v = info.Main.Version
	}
	return fmt.Sprintf("conch %s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Log events of boards.
const (
	logBoardSeen  = "board.seen"  // proposed, because, set: the setting to write; nothing is set by itself
	logBoardOther = "board.other" // device.board says one thing, the board's own memory another
)

// noteBoard says in one line which board seems to be here, where nobody has said.
func noteBoard(cfg config.Config, seen gpio.Seen, log *slog.Logger) {
	if len(seen.Proposals) == 0 {
		return
	}
	best := seen.Proposals[0]
	switch {
	case cfg.Device.Board == "":
		var names []string
		for _, p := range seen.Proposals {
			names = append(names, p.Board)
		}
		log.Info(logBoardSeen, "proposed", strings.Join(names, ", "), "because", strings.Join(best.Evidence, "; "), "sure", best.Sure,
			"set", "below [device]: "+best.Setting())
	case best.Sure && !strings.EqualFold(best.Board, cfg.Device.Board):
		log.Warn(logBoardOther, "board", cfg.Device.Board, "seen", best.Board, "because", strings.Join(best.Evidence, "; "),
			"do", "if it is right, set below [device]: "+best.Setting())
	}
}
