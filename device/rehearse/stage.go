package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions/round"
	"conch/companions/voice"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device"
	"conch/device/control"
	"conch/device/join"
	"conch/device/wait"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
	"conch/mqtt"
)

// stage is the place of one device in a rehearsal, with the hands and ears of its person. The card, the cable, the key and the
// state stay where they are when the device is killed and started again.
type stage struct {
	// fixed after newStage
	run      *run
	name     string
	who      Device
	card     *twin.Card
	cables   []*cable // all that its network traffic goes through
	identity mqtt.Identity
	members  func(round.DeviceID) bool
	dir      string // its state
	ended    chan error
	parts    int // that send to ended
	ledger   *os.File
	line     *audio.Line   // to the pages
	feed     *control.Feed // for them

	// atomic
	mute     atomic.Bool  // the card gets nothing from the device, and gives it nothing: stopped or dead
	frozen   atomic.Int64 // the device's time stands here; 0: it does not
	instance atomic.Pointer[instance]
	toSay    atomic.Int32 // announcements whose outcome is not known

	// owned by the goroutine of perform
	held bool // the button is down

	mu    sync.Mutex
	thaw  chan struct{} // open while it is frozen
	moves int           // presses and releases the device has confirmed
	last  time.Duration // of its person's last press or question: that silence
	said  int           // answers said to their end since somebody in the room last did something
	over  string        // how a turn since then ended that was not cut; empty: none has

	ends []time.Duration // of its last turns, oldest first

	airways []airway              // what its microphone hears of other devices
	lines   []control.PairingLine // what the device has said of pairing since its person last did something about it
}

// instance is a device from its start to its end.
type instance struct {
	device *device.Device
	hand   *gpiotwin.Button
	key    *gpiotwin.Key // of a page
	server *rehearsal.Server
	killed atomic.Bool // what it says does not count any more
	ctx    context.Context
	cancel context.CancelFunc
	done   chan error

	control func() http.Handler // its control socket
}

// newStage sets up the place; nobody lives there yet.
func (p *run) newStage(d Device) (*stage, error) {
	s := &stage{run: p, name: d.Name, who: d, card: twin.NewCard(p.clock), ended: make(chan error, 1+maxRoomDevices), dir: filepath.Join(p.states, d.Name)}
	s.line, s.feed = audio.NewLine(), control.NewFeed(d.Name)
	s.card.Rewinds(cardMargin)
	s.card.Sounded = s.sounded
	var err error
	if s.identity, err = s.makeIdentity(); err != nil {
		return nil, fmt.Errorf("rehearse: %s: %w", d.Name, err)
	}
	if p.Out != "" {
		if err := p.record(s); err != nil {
			return nil, err
		}
	}
	if p.net == nil {
		c, err := newCable(p.broker.addr)
		if err != nil {
			return nil, err
		}
		s.cables = []*cable{c}
		s.parts++
		go func() { s.ended <- c.Run(p.ctx) }() // both are awaited by stop
	}
	s.parts++
	go func() { s.ended <- s.card.Run(p.ctx, 1) }()
	return s, nil
}

// cardMargin is what a stage's card cannot take back: as much as most ALSA cards (audio/FACTS.md 4).
const cardMargin = time.Millisecond

// sounded leads what has sounded here to the pages.
func (s *stage) sounded(frames []int16) {
	if l := s.instance.Load(); l != nil {
		s.line.Play(frames, l.device.Sound().Speaker.Silenced())
	}
}

// makeIdentity makes the device's key: where its state is, if it is to pair, and otherwise one that the others are told of.
func (s *stage) makeIdentity() (mqtt.Identity, error) {
	if s.run.net == nil {
		return mqtt.NewIdentity()
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return mqtt.Identity{}, err
	}
	return mqtt.OpenIdentity(s.dir)
}

// stop waits for what newStage and start began; play.ctx has ended.
func (s *stage) stop() error {
	var all []error
	if l := s.instance.Swap(nil); l != nil { // from here on nobody lives here anew
		all = append(all, l.end())
	}
	for range s.parts {
		all = append(all, <-s.ended)
	}
	return errors.Join(all...)
}

// end ends a life and waits for it.
func (l *instance) end() error {
	l.cancel()
	if l.done == nil {
		return nil
	}
	err := <-l.done
	l.done = nil
	return err
}

// alive says that a device runs here.
func (s *stage) alive() bool { return s.instance.Load() != nil }

// now is the device's clock. While it is frozen it stands, and then jumps: what a stopped process sees of a clock.
func (s *stage) now() time.Duration {
	if at := s.frozen.Load(); at != 0 {
		return time.Duration(at)
	}
	return s.run.clock.Now()
}

// start has a device live here.
func (s *stage) start() error {
	l, err := s.enter()
	if err != nil {
		return err
	}
	s.mute.Store(false)
	s.onCables(func(c *cable) { c.refusing(false) })
	s.instance.Store(l)
	go s.live(l) // awaited by end
	s.shown(l.ctx)
	return nil
}

// live runs the device, and anew for as long as it wants that: as the appliance does, with the same state. A device that was about
// to begin anew when its life was ended has ended well.
func (s *stage) live(l *instance) {
	err := l.device.Run(l.ctx)
	if !errors.Is(err, join.ErrRestart) {
		l.done <- err
		return
	}
	if l.ctx.Err() != nil {
		l.done <- nil
		return
	}
	next, err := s.enter()
	switch {
	case err != nil:
		s.run.report.fault(s.name, "does not begin anew: "+err.Error())
	case s.instance.CompareAndSwap(l, next):
		go s.live(next) // awaited by its end
	default: // ended meanwhile
		next.cancel()
		err = next.device.Run(next.ctx)
	}
	l.done <- err
}

// enter makes a device that nobody knows yet.
func (s *stage) enter() (*instance, error) {
	p := s.run
	l := &instance{hand: gpiotwin.NewButton(gpio.ButtonOptions{Clock: s.now}), done: make(chan error, 1)}
	l.key = gpiotwin.NewKey("page", s.now)
	l.server = rehearsal.New(rehearsal.Options{Log: p.Log.With("device", s.name)})
	cfg := p.Config
	cfg.Device.Name = s.name
	cfg.Voice.Kind = "rehearsal"
	cfg.State.Dir = s.dir
	room := device.RoomOptions{Cards: s.who.Cards, Reachable: nowhere, Calls: loopback, OnEntry: func(e round.Entry) { s.entry(l, e) }}
	if p.net == nil {
		cfg.Room.Broker, cfg.Room.Pairing = "mqtt://"+s.cables[0].address(), false
		room.Identity, room.Member = s.identity, s.members
	} else {
		p.net.settings(s, l, &cfg.Room, &room)
	}
	d, err := device.New(cfg, device.Options{
		Log: p.Log.With("device", s.name), Card: twinCard{s.card, s, l}, Now: s.now, Voices: []voice.Kind{l.server.Kind()},
		Buttons: []gpio.Events{seenButton{l.hand, s, l}, seenButton{l.key, s, l}}, Feed: s.feed,
		OnTurn: func(t control.Turn) { s.turnEnded(l, t) },
		Room:   room,
	})
	if err != nil {
		return nil, fmt.Errorf("rehearse: %s: %w", s.name, err)
	}
	l.device, l.control = d, sync.OnceValue(d.Control)
	l.ctx, l.cancel = context.WithCancel(p.ctx)
	return l, nil
}

// ready waits until the device is up.
func (s *stage) ready(ctx context.Context) error {
	l := s.instance.Load()
	err := l.device.WaitReady(ctx, readyStage)
	if err == nil {
		err = wait.Until(ctx, l.hand.Watched)
	}
	if err != nil {
		return fmt.Errorf("rehearse: %s: %w", s.name, err)
	}
	return nil
}

// knows is how many devices this one sees in the room, itself included.
func (s *stage) knows() int {
	n := 0
	room := s.instance.Load().device.Room()
	if room == nil {
		return 1
	}
	for _, m := range room.Members() {
		if len(m.Cards) > 0 {
			n++
		}
	}
	return n
}

// kill ends the device without a goodbye: its connections are gone before it can say one, and its sound with them. Of what
// it would still have written to its state, the last moment may be there: a process that is killed writes nothing more.
func (s *stage) kill() error {
	l := s.instance.Swap(nil)
	l.killed.Store(true)
	s.mute.Store(true)
	s.onCables(func(c *cable) { c.refusing(true); c.reset() })
	if s.run.net != nil {
		s.run.net.say(s, nil)
	}
	s.run.report.gone(s.name)
	s.unfreeze()
	s.held = false
	s.shown(s.run.ctx)
	s.run.gallery.drop(s)
	_ = l.end() // that it fell over is what was asked for
	return nil
}

// freeze stops the device for a while, as near to SIGSTOP as one process allows: its clock stands, its card plays silence and
// hears nothing for it, its button waits, and its cable holds both directions without closing. Its goroutines do run, and
// what they have in hand they finish; what they send stays in the cable, and nobody's timer comes due, for no time passes.
// Its voice is not held: what comes from there stays unheard meanwhile.
func (s *stage) freeze(d time.Duration) {
	s.mu.Lock()
	s.thaw = make(chan struct{})
	s.mu.Unlock()
	s.frozen.Store(int64(max(1, s.run.clock.Now())))
	s.mute.Store(true)
	s.onCables((*cable).hold)
	s.run.later(d, s.unfreeze)
}

// unfreeze lets it go on. Harmless twice.
func (s *stage) unfreeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thaw == nil {
		return
	}
	s.frozen.Store(0)
	if l := s.instance.Load(); l != nil && !l.killed.Load() {
		s.mute.Store(false)
	}
	s.onCables((*cable).release)
	close(s.thaw)
	s.thaw = nil
}

// running waits until the device is not frozen, or ctx ends.
func (s *stage) running(ctx context.Context) {
	s.mu.Lock()
	thaw := s.thaw
	s.mu.Unlock()
	if thaw != nil {
		select {
		case <-thaw:
		case <-ctx.Done():
		}
	}
}

// isFrozen says that it is stopped.
func (s *stage) isFrozen() bool { return s.frozen.Load() != 0 }

// cut takes the network away for a while: nothing passes, and nobody is told. As with TCP on a real cable, what was sent
// meanwhile arrives afterwards where a connection has outlived it.
func (s *stage) cut(d time.Duration) {
	s.onCables((*cable).hold)
	s.run.later(d, func() { s.onCables((*cable).release) })
}

func (s *stage) onCables(do func(*cable)) {
	for _, c := range s.cables {
		do(c)
	}
}

// cutOff says that nothing passes between this device and any other.
func (s *stage) cutOff() bool {
	return !slices.ContainsFunc(s.cables, func(c *cable) bool { return !c.held() })
}

// later runs f after d, or when the rehearsal ends.
func (p *run) later(d time.Duration, f func()) {
	p.short.Add(1)
	go func() { // awaited by stop
		defer p.short.Done()
		_ = wait.For(p.ctx, d)
		f()
	}()
}

// seenButton is the button's source, with an eye on what it confirms. A frozen device does not see its button.
type seenButton struct {
	gpio.Events
	s *stage
	l *instance
}

func (b seenButton) Run(ctx context.Context, on func(gpio.Event)) error {
	return b.Events.Run(ctx, func(e gpio.Event) {
		b.s.running(ctx)
		if b.l.killed.Load() {
			return
		}
		if e.Kind == gpio.Pressed {
			b.s.run.silenced(b.s, byPress, e.At)
		}
		on(e)
		if e.Kind == gpio.Pressed || e.Kind == gpio.Released || e.Kind == gpio.Vanished {
			b.s.mu.Lock()
			b.s.moves++
			b.s.mu.Unlock()
		}
	})
}

// turnEnded runs on the coordinator's goroutine.
func (s *stage) turnEnded(l *instance, t control.Turn) {
	if l.killed.Load() || s.run.ctx.Err() != nil {
		return
	}
	t.Device = s.name
	s.mu.Lock()
	if t.Reason != turn.InterruptedByPress.String() {
		s.over = t.Reason
		if t.HeardMS > 0 {
			s.said++
		}
	}
	if s.ends = append(s.ends, t.Ended); len(s.ends) > keptEnds {
		s.ends = slices.Delete(s.ends, 0, 1)
	}
	edge := s.last
	s.mu.Unlock()
	s.run.report.turn(t, edge, t.PressToSilence != nil && !t.Elsewhere && t.Ended-edge < ownCut, l.device.Room() != nil)
}

// keptEnds is more turns than can end while a silence is measured.
const keptEnds = 32

// ownCut: a turn that ended so soon after its own person's press was cut by that, and otherwise by what no person did.
const ownCut = time.Second

// entry runs on the room's goroutine.
func (s *stage) entry(l *instance, e round.Entry) {
	if l.killed.Load() || s.run.ctx.Err() != nil {
		return
	}
	if s.ledger != nil {
		_ = json.NewEncoder(s.ledger).Encode(e) // a disk that is full is noticed when the WAVs are closed
	}
	text := ""
	if e.Kind == round.EntrySpoke && e.Place != nil {
		text = words(l.device.Room().Recent(), *e.Place, e.Companion)
	}
	s.run.report.entry(s.name, e, text)
}

// words are what was heard of a companion's answer to a message, as the room remembers it; empty when nobody knows.
func words(recent []round.Message, p round.Place, c round.CompanionID) string {
	for i := len(recent) - 1; i >= 0; i-- {
		m := recent[i]
		if m.From == round.Participant(c) && m.Epoch == p.Epoch && (m.Number == p.Number || m.Number == p.Number+1) {
			return m.Text
		}
	}
	return ""
}
