package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"conch/audio"
	"conch/device/condition"
	"conch/device/wait"
	"conch/device/web"
	"conch/gpio"
	"conch/gpio/twin"
)

// The page of this device, and pages that are another microphone, loudspeaker and button of it (device/web/WEB.md 2).

const (
	webSessions = "web-sessions"
)

// wirePage makes the page.
func (d *Device) wirePage() {
	if d.cfg.Web.Listen == "" {
		return
	}
	o := web.DoorOptions{
		Web: d.cfg.Web, Device: d.cfg.Device.Name, Language: d.cfg.Device.Language, Names: hostNames, Log: d.log,
		Self: os.Getuid(), Group: web.SocketGroup(d.cfg.State.Runtime),
	}
	if d.cfg.TalkWithoutCard() {
		o.Talks = d.sound.Absent
	}
	if dir := d.memory.Dir(); dir != "" {
		o.AuthorityDir = filepath.Join(dir, web.AuthorityDir)
		o.Load = func() (kept []byte, _ error) {
			var raw json.RawMessage
			d.memory.Load(webSessions, &raw, "whoever was let in at the page needs another link")
			return raw, nil
		}
		o.Save = func(data []byte) error { return d.memory.Save(webSessions, json.RawMessage(data)) }
	}
	trouble := func(err error) {
		if err == nil {
			d.conds.Clear(condition.WebClosed)
			return
		}
		d.conds.Set(condition.WebClosed, err.Error(),
			"everything else works; once that is mended the page opens by itself, and what is changed in [web] counts from the next start")
	}
	door, err := web.NewDoor(o)
	if err != nil {
		d.log.Warn("web.sessions", "err", err)
	}
	d.page = door
	s := web.Options{
		Door: door, Language: d.cfg.Device.Language, Log: d.log, Patient: true, Trouble: trouble,
		Boxes: []web.Box{{Name: d.cfg.Device.Name, Feed: d.feed, Picture: d.Picture, Control: sync.OnceValue(d.Control)}},
	}
	if d.pages != nil {
		s.Stage = d.pages
		d.actors = append(d.actors, actor{"pages", d.pages.run})
	}
	d.actors = append(d.actors, actor{"page", web.New(s).Run})
}

// hostNames are what this host is called in its network.
func hostNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	return []string{name, name + ".local"}
}

// maxPages is how many talk to one device. Our choice: a household at one box.
const maxPages = 4

// pages are those that talk. Whoever pressed last has the sound, until it is quiet again: what nobody asked for by a page sounds at the card.
type pages struct {
	d    *Device
	card *audio.Elsewhere
	keys [maxPages]*twin.Key // fixed

	taken chan struct{} // one token: a page has the sound

	mu      sync.Mutex      // guards what follows, and who the card's sound is led to
	seats   [maxPages]*seat // nil: nobody sits there
	presses int             // of all buttons
}

// seat is one page. Its methods are called by that page.
type seat struct {
	of   *pages
	key  *twin.Key
	line *audio.Line
	stop func() // its goroutine
}

func newPages(d *Device) *pages {
	p := &pages{d: d, card: &audio.Elsewhere{}, taken: make(chan struct{}, 1)}
	for i := range p.keys {
		p.keys[i] = twin.NewKey(fmt.Sprintf("page %d", i+1), d.now)
	}
	return p
}

// all are their buttons. A nil one has none, and no sound, and is at nobody's press.
func (p *pages) all() []*twin.Key {
	if p == nil {
		return nil
	}
	return p.keys[:]
}

func (p *pages) elsewhere() *audio.Elsewhere {
	if p == nil {
		return nil
	}
	return p.card
}

// errFull refuses a page.
var errFull = errors.New("as many pages talk to this device as can: close one, or type")

// Sit implements web.Stage.
func (p *pages) Sit(_ string, ear web.Ear) (web.Seat, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, taken := range p.seats {
		if taken != nil {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		s, name, done := &seat{of: p, key: p.keys[i], line: audio.NewLine()}, p.d.cfg.Device.Name, make(chan struct{})
		s.stop = func() { cancel(); <-done }
		go func() { // ended and awaited by Leave
			defer close(done)
			s.line.Run(ctx, func(frames []int16) { ear.Sound(name, frames) }, func() { ear.Drop(name) })
		}()
		p.seats[i] = s
		return s, nil
	}
	return nil, errFull
}

// Device implements web.Seat.
func (s *seat) Device() string { return s.of.d.cfg.Device.Name }

// Hear implements web.Seat. What is said while another has the microphone is nobody's.
func (s *seat) Hear(frames []int16) {
	if s.of.card.At() == s.line {
		s.line.Hear(frames)
	}
}

// Press implements web.Seat.
func (s *seat) Press(down bool) { s.key.Set(down) }

// Leave implements web.Seat.
func (s *seat) Leave() {
	s.key.Vanish()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.card.At() == s.line {
		s.of.card.Lead(nil)
	}
	s.stop() // it waits for no lock
	for i, o := range s.of.seats {
		if o == s {
			s.of.seats[i] = nil
		}
	}
}

// pressed is told of each press, of whatever button.
func (p *pages) pressed(by gpio.Events) {
	if p == nil {
		return
	}
	var line *audio.Line
	p.mu.Lock()
	for _, s := range p.seats {
		if s != nil && gpio.Events(s.key) == by {
			line = s.line
		}
	}
	p.presses++
	p.card.Lead(line)
	p.mu.Unlock()
	if line != nil {
		select {
		case p.taken <- struct{}{}:
		default:
		}
	}
}

// settled is how long the device has been quiet when a page has no more sound to come.
const settled = 300 * time.Millisecond

// run brings the sound back to the card when a page's turn is over.
func (p *pages) run(ctx context.Context) error {
	for {
		select {
		case <-p.taken:
		case <-ctx.Done():
			p.card.Lead(nil)
			return nil
		}
		for quiet, presses := time.Duration(0), -1; !p.back(quiet >= settled, presses); {
			p.mu.Lock()
			presses = p.presses
			p.mu.Unlock()
			if quiet += lookEvery; !p.d.Quiet() {
				quiet = 0
			}
			if wait.For(ctx, lookEvery) != nil {
				break
			}
		}
	}
}

// back leads the sound back to the card where it has been quiet for long enough, and nobody has pressed since. It says whether it is there.
func (p *pages) back(settled bool, presses int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if settled && p.presses == presses {
		p.card.Lead(nil)
	}
	return p.card.At() == nil
}
