package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/skills"
	"conch/companions/skills/home"
	intercomskill "conch/companions/skills/intercom"
	"conch/companions/skills/library"
	"conch/companions/skills/notes"
	"conch/companions/skills/radio"
	"conch/companions/skills/reminders"
	roomskill "conch/companions/skills/room"
	"conch/companions/skills/system"
	"conch/companions/skills/timers"
	"conch/coordinator"
	"conch/coordinator/focus"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/announce"
	"conch/device/config"
	"conch/device/control"
	soundfolder "conch/device/library"
	"conch/device/mcp"
	"conch/device/store"
	"conch/device/tuner"
)

// toolbox is the coordinator's Tools, made of the companion's toolbox.
type toolbox struct {
	*companions.Toolbox
	first turn.Who // whose a turn is that names nobody
	done  func(of turn.ID, output string)
}

// bundled are the skills that ship with conch.
var bundled = []struct {
	name string
	make func(skills.Host) skills.Skill
}{
	{"system", system.New},
	{"room", roomskill.New},
	{"library", library.New},
	{"home", home.New},
	{"timers", timers.New},
	{"reminders", reminders.New},
	{store.NotesOf, notes.New},
	{"intercom", intercomskill.New},
	{"radio", radio.New},
}

// Tools are those that a device with this configuration offers to a voice, but for those of tool servers.
func Tools(cfg *config.Config) []turn.ToolSpec {
	log := slog.New(slog.DiscardHandler)
	box := companions.NewToolbox(log, time.Now)
	h := skills.Host{
		Log: log, Now: time.Now, Mute: func() error { return nil }, Missed: func(string, int) ([]skills.Missed, int) { return nil, 0 }, Home: things(cfg.Home),
		Radio: tuner.New(cfg.Radio.Stations, nil).Radio(), Library: soundfolder.New(cfg.LibraryFolder(), "").Library(), Sleep: &skills.Sleep{},
		Ring: func(skills.Alert) func() { return func() {} }, Announce: func(skills.Announcement) {}, Room: &skills.Room{},
	}
	if cfg.Room.Broker != "" {
		h.Intercom, h.Room.Members = &skills.Intercom{}, func() string { return "" }
	}
	for _, b := range bundled {
		if h.Store = nil; cfg.State.Dir != "" { // which is not opened here
			h.Store = store.New(filepath.Join(cfg.State.Dir, store.File), nil, time.Now).Skill(b.name)
		}
		if s := b.make(h); s != nil {
			_ = box.Add(b.name, s) // what newTools refuses is an error there
		}
	}
	return box.Specs()
}

// newTools fills the toolbox with the bundled skills.
func (d *Device) newTools() (coordinator.Tools, error) {
	box := companions.NewToolbox(d.log, d.wall())
	if dir := d.memory.Dir(); dir != "" {
		d.kept = store.New(filepath.Join(dir, store.File), d.conds, d.wall())
		d.actors = append(d.actors, actor{"store", d.kept.Run})
	}
	box.May, d.whyTool = d.mayUse, box.Why
	box.Widened = func(cause, tool string) bool { return slices.Contains(d.cfg.Tools.Allow, cause+": "+tool) }
	for _, b := range bundled {
		s := b.make(d.skillHost(b.name))
		if s == nil {
			continue
		}
		tools := s
		if r, ok := s.(skills.Runner); ok {
			w := d.skillWorker(b.name, r.Run)
			tools = supervised{s, w}
			d.actors = append(d.actors, w.actor("skill "+b.name))
		}
		if err := box.Add(b.name, tools); err != nil {
			return nil, fmt.Errorf("device: skill %s: %w", b.name, err)
		}
		if r, ok := s.(skills.Shower); ok {
			d.shows = append(d.shows, r)
		}
	}
	if len(d.cfg.MCP) > 0 {
		d.leftOut = box.LeftOut
		d.servers = mcp.New(mcp.Options{Servers: d.cfg.MCP, Log: d.log, Tools: func(server string, tools []skills.Tool) {
			if box.Replace(server, tools) { // one that is tried again and again tells the voices nothing
				d.coordinator.ToolsChanged()
			}
		}})
		d.actors = append(d.actors, actor{"mcp", d.servers.Run})
	}
	return toolbox{box, turn.Who(d.room.Cards[0].ID), d.room.Waiters.ToolDone}, nil
}

// serverStates are the servers whose tools it has, as they are now.
func (d *Device) serverStates() []mcp.State {
	if d.servers == nil {
		return nil
	}
	all := d.servers.States()
	for i := range all {
		for _, out := range d.leftOut(all[i].Name) {
			all[i].LeftOut = append(all[i].LeftOut, out.Tool+": "+out.Why)
		}
	}
	return all
}

// mayUse says whether a companion's card lets it use a tool.
func (d *Device) mayUse(companion, tool string) bool {
	for _, c := range d.room.Cards {
		if string(c.ID) == companion {
			return c.Uses(tool)
		}
	}
	return true
}

// wall is the clock on the wall.
func (d *Device) wall() func() time.Time {
	if d.opts.Clock != nil {
		return d.opts.Clock
	}
	return d.zone.Now
}

// skillHost is what a skill may ask of this device, and know of it.
func (d *Device) skillHost(name string) skills.Host {
	h := skills.Host{
		Log: d.log.With("skill", name), Now: d.wall(), Language: string(d.cfg.Device.Language),
		Announce: func(a skills.Announcement) { d.desk.Announce(name, a) },
		Mute:     func() error { return d.sound.SetMuted(true) },
		Missed:   func(turn string, most int) ([]skills.Missed, int) { return d.missed.Asked(turn, most) },
		Ring:     d.ring,
		Library:  d.shelf(),
		Intercom: d.intercomSkill(),
		Radio:    tuner.New(d.cfg.Radio.Stations, nil).Radio(),
		Home:     d.home(),
		Sleep:    &d.sleep,
		Snoozed:  &d.snoozed,
		GoOn:     func(ctx context.Context) bool { return d.coordinator.GoOn(ctx) },
	}
	if d.kept != nil {
		h.Store = d.kept.Skill(name)
	}
	h.Room = &skills.Room{Why: func(companion string) string { return d.room.WhyOf(round.CompanionID(companion)) }}
	if d.room.InRoom() {
		h.Room.Members = func() string { return d.room.Room.MembersText() }
		h.Room.Manners = func(companion, involvement string) error {
			i := round.Involvement(involvement)
			if _, err := d.room.TurnManners(round.Control{Companion: round.CompanionID(companion), Involvement: &i}); err != nil {
				return errors.New(control.Refusal(err))
			}
			return nil
		}
	}
	return h
}

// shelf is the household's own sound.
func (d *Device) shelf() *skills.Library {
	kept := ""
	if dir := d.memory.Dir(); dir != "" {
		kept = filepath.Join(dir, soundfolder.Kept)
	}
	return soundfolder.New(d.cfg.LibraryFolder(), kept).Library()
}

// newDesk makes the place where skills announce things.
func (d *Device) newDesk() {
	o := announce.Options{
		Log: d.log, Now: d.wall(), Language: d.cfg.Device.Language,
		Knows: func(id string) bool {
			return slices.ContainsFunc(d.room.Cards, func(c companions.Card) bool { return string(c.ID) == id })
		},
		Say: func(ctx context.Context, a coordinator.Announcement) <-chan inject.Outcome {
			return d.coordinator.Announce(ctx, a)
		},
	}
	if d.kept != nil {
		o.Store = d.kept.Skill("announcements")
	}
	d.missed = announce.NewMissed(d.log, d.wall(), o.Store, d.lights.Missed)
	o.Missed = d.missed
	d.desk = announce.New(o)
	d.actors = append(d.actors, actor{"announcements", d.desk.Run})
}

// Call runs a tool and puts its effect into the coordinator's words.
func (t toolbox) Call(ctx context.Context, c turn.CallTool) coordinator.ToolResult {
	c.Who = cmp.Or(c.Who, t.first)
	out := t.Toolbox.Call(ctx, c)
	if out.Failed || out.Effect != nil {
		t.done(c.Turn, "")
	} else {
		t.done(c.Turn, out.Output)
	}
	r := coordinator.ToolResult{Output: out.Prompt(), Quotes: out.Quotes}
	switch e := out.Effect.(type) {
	case skills.AudioStream:
		r.Effect = turn.EffectAudioStream
		r.Stream = coordinator.StreamFunc{Live: e.Live, Pauses: e.Pauses, Patience: e.Patience, Done: e.Done, Heard: e.Heard,
			Run: func(ctx context.Context, write func([]int16) error) error {
				err := e.Run(ctx, write)
				if errors.Is(err, skills.ErrAsleep) {
					return coordinator.ErrStopped
				}
				return err
			},
			Key: keyOf(out.Skill, e.Key), Focus: tellFocus(e.Focus), Ended: func(how turn.EndedHow, heard int) {
				if e.Ended != nil {
					e.Ended(ended(how), heard)
				}
			}}
	case skills.InputClaim:
		r.Effect = turn.EffectInputClaim
		r.Claim = coordinator.ClaimFunc{Run: e.Run, Ended: func(how turn.EndedHow) {
			if e.Ended != nil {
				e.Ended(ended(how))
			}
		}}
	case skills.PlaySound:
		r.Effect, r.Sound = turn.EffectPlaySound, e.PCM
	case skills.CancelMedia:
		r.Effect = turn.EffectCancelMedia
	case skills.SetVolume:
		r.Effect, r.Volume = turn.EffectSetVolume, e.Percent
	}
	return r
}

func ended(how turn.EndedHow) skills.Ended {
	return [...]skills.Ended{
		turn.EndedFinished: skills.Finished, turn.EndedStopped: skills.Stopped, turn.EndedFailed: skills.Failed,
		turn.EndedExpired: skills.Expired, turn.EndedPreempted: skills.Preempted, turn.EndedHungUp: skills.HungUp,
	}[how]
}

// keyOf is the key of a stream, among those of all skills.
func keyOf(skill, key string) string {
	if key == "" {
		return ""
	}
	return skill + "/" + key
}

// tellFocus puts how a stream is heard into the words of skills.
func tellFocus(tell func(skills.Focus)) func(focus.Level) {
	if tell == nil {
		return nil
	}
	return func(l focus.Level) {
		switch l {
		case focus.Foreground:
			tell(skills.Foreground)
		case 0:
			tell(skills.NoFocus)
		default:
			tell(skills.Background)
		}
	}
}
