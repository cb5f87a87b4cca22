package device

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/companions"
	"conch/companions/round"
	"conch/companions/skills"
	"conch/companions/voice"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/again"
	"conch/device/announce"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/intercom"
	"conch/device/join"
	"conch/device/lights"
	"conch/device/mcp"
	"conch/device/room"
	"conch/device/service"
	"conch/device/sound"
	"conch/device/state"
	"conch/device/store"
	"conch/device/terminal"
	"conch/device/usage"
	"conch/device/web"
	"conch/device/world"
	"conch/gpio"
	"conch/gpio/light"
	"conch/gpio/twin"
	"conch/mqtt"
)

// Options are what New may be given instead of what it would choose by the configuration.
type Options struct {
	Log      *slog.Logger // required
	Card     audio.Card
	Buttons  []gpio.Events
	Voice    voice.Voice
	Voices   []voice.Kind // to use in place of those that ship and are called so
	Tools    coordinator.Tools
	Cues     func(turn.Cue) []int16       // 24 kHz; nil: the shipped earcons
	Alarm    coordinator.Alarm            // nil: a chime, and words
	Light    func() (light.Driver, error) // nil: that of the configuration
	Now      func() time.Duration         // nil: monotonic time since New
	Clock    func() time.Time             // what the companion tells the time by; nil: time.Now
	AnySound bool                         // whatever the microphone brings is taken for speech: sounds of a test are none
	Control  bool                         // serve the control socket
	Page     bool                         // serve the page
	Logs     *service.Ring                // what the log said last, for the control socket; nil: nobody keeps it
	Feed     *control.Feed                // told of what happens; nil: one of its own
	OnTurn   func(control.Turn)           // after each turn, on the coordinator's goroutine: must not block
	OnWords  func(turn.ID, turn.Words)    // what the device says and OnTurn does not tell: must not block
	Anyway   bool                         // start with what works: nobody is there who could mend the rest and start again
	Room     RoomOptions
	Typing   func() bool      // a person is in the middle of a line: the device does not begin anew meanwhile
	OnEvent  func(gpio.Event) // console events the device itself does not act on: Quit, EOF, Stuck, gestures
}

// Device is one appliance: everything wired by New, nothing running until Run.
type Device struct {
	// fixed after New
	cfg         config.Config
	log         *slog.Logger
	now         func() time.Duration
	opts        Options
	memory      *state.Memory
	kept        *store.DB // of skills; nil: there is no state directory
	sleep       skills.Sleep
	snoozed     skills.Snoozed
	desk        *announce.Desk
	missed      *announce.Missed
	conds       *condition.Book
	synthesizer rehearsal.Synthesizer // speaks without the session
	speaker     *audio.Speaker        // the sound card's
	sound       *sound.Card
	coordinator *coordinator.Coordinator
	world       *world.World
	lights      *lights.Lights
	room        *room.Driver
	bus         *mqtt.Client       // nil: no broker
	intercom    *intercom.Exchange // nil: no other device can be called
	self        round.DeviceID
	link        *join.Link
	pairing     *join.Pairing
	actors      []actor        // what Run starts, besides the rest, in this order
	serving     []actor        // the same, and ends once all others have: they talk to it
	key         *twin.Key      // of the control socket
	works       sync.WaitGroup // what actors have left to a goroutine; Run awaits it
	buttons     []gpio.Events
	presses     presses // of the buttons; says itself who owns what
	answers     *answers
	usage       *usage.Counter
	shows       []skills.Shower // of what goes on besides turns
	alerts      alerts
	again       *again.Keeper // nil: nothing is said again
	servers     *mcp.Servers  // of the Model Context Protocol; nil: none is configured
	feed        *control.Feed
	pages       *pages                                   // nil: none can talk
	page        *web.Door                                // nil: there is no page
	whyTool     func() string                            // whose words caused the last call; nil: the tools are not conch's
	leftOut     func(server string) []companions.LeftOut // which of its tools nobody can call

	// atomic
	turns   atomic.Uint64
	floor   atomic.Pointer[round.Participant] // who has it; nil: nobody has had it
	spentAt atomic.Int64                      // when a press last began no turn

	hours quietHours  // of device.quiet
	zone  *world.Wall // of the house

	manager    *service.Notifier // nil: none. Fixed before Run
	restarting atomic.Bool       // Run is about to end with ErrRestart
}

// logEnding: the device was asked to end. What ends behind it is no fault.
const logEnding = "device.ending"

// logRestart: this device has become another one on disk.
const logRestart = "device.restart"

// actor is one of the goroutines of Run. The first that returns an error ends all.
type actor struct {
	name string
	run  func(context.Context) error
}

// Run starts everything, and returns when ctx ends or the first part fails for good; by then all parts have ended.
func (d *Device) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { d.log.Info(logEnding) })()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if d.kept != nil {
		defer d.kept.Close() // after all who may still write
	}
	actors := append([]actor{
		{"speaker", d.speaker.Run},
		{"mic", d.sound.Mic.Run},
		{"playback", d.sound.RunPlayback},
		{"capture", d.sound.RunCapture},
		{"coordinator", d.coordinator.Run},
		{"voice", func(ctx context.Context) error { return d.room.Voices.Run(ctx, heardOf{d.coordinator.Outlet(), d}) }},
		{"state", d.memory.Run},
		{"light", d.lights.Run},
		d.tended("look", d.look),
	}, d.actors...)
	for i, b := range d.buttons {
		c := &contact{Events: b, button: turn.Button(i + 1), latches: d.latches(b)}
		actors = append(actors, actor{"button " + b.String(), func(ctx context.Context) error {
			return d.presses.run(ctx, c)
		}})
	}
	if d.opts.Control {
		actors = append(actors, actor{"control", socket{d}.serve})
	}
	err := d.together(ctx, cancel, actors, d.serving)
	d.works.Wait()
	return err
}

// latches says that a tap of a button begins a recording: the space bar, or a contact in another mode than hold.
func (d *Device) latches(b gpio.Events) bool {
	_, typed := b.(*terminal.Keyboard)
	return typed || b.Touchable() && d.cfg.Button.Mode != gpio.Hold.String()
}

// together runs actors until ctx ends or one of them fails; then it ends the rest, and those who serve once all others have ended.
func (d *Device) together(ctx context.Context, cancel context.CancelFunc, actors, servers []actor) error {
	type end struct {
		name   string
		serves bool
		err    error
	}
	ends := make(chan end, len(actors)+len(servers))
	clients := len(actors)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // a server ends once those who talk to it have
	defer stop()
	for _, a := range servers {
		go func() { ends <- end{a.name, true, a.run(serving)} }() // awaited below
	}
	for _, a := range actors {
		go func() { ends <- end{a.name, false, a.run(ctx)} }() // the same
	}
	var first error
	for range cap(ends) {
		e := <-ends
		if !e.serves {
			clients--
		}
		if clients == 0 {
			stop()
		}
		if errors.Is(e.err, join.ErrRestart) && first == nil {
			d.restarting.Store(true)
			d.log.Info(logRestart)
			first = e.err
			cancel()
		}
		if e.err != nil && first == nil && !errors.Is(e.err, context.Canceled) {
			d.log.Error("device.part_failed", "part", e.name, "err", e.err)
			first = e.err
			cancel()
		}
	}
	cancel()
	return first
}

// spawn runs what would make an actor wait; Run awaits it. It is called by actors alone.
func (d *Device) spawn(f func()) { d.works.Go(f) }

// Quiet says that no turn is live, nothing sounds and no words are to come.
func (d *Device) Quiet() bool { return d.coordinator.Quiet() && !d.audible() }

// answered is Quiet, but for content that plays: what is asked next may be about that.
func (d *Device) answered() bool {
	return d.coordinator.Quiet() && (d.coordinator.Streaming() || !d.audible())
}

// audible says that the card has not yet played the last sample that is not silence.
func (d *Device) audible() bool { return d.now() < d.speaker.LastAudible() }

// Speaking says that the companion's answer is sounding.
func (d *Device) Speaking() bool { return d.coordinator.State() == turn.InResponse && d.audible() }
