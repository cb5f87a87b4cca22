package rehearse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"conch/device/config"
	"conch/device/control"
	"conch/device/web"
)

// Pages are persons at devices of the rehearsal: what a browser's microphone takes is what the device's card hears, and what the card plays
// sounds there (device/web/WEB.md 2). A page hears its own device; the first of them also those that have no page.

// gallery is who sits where. It implements web.Stage.
type gallery struct {
	run *run

	some atomic.Bool // somebody sits anywhere

	mu    sync.Mutex // guards what follows
	seats []*seat    // in the order in which they came
}

// seat is one page. Its methods are called by that page.
type seat struct {
	of  *gallery
	at  *stage
	ear web.Ear
}

var (
	errTaken   = errors.New("somebody talks there already, from another page")
	errNoPlace = errors.New("each device has a page already: close one, or type")
)

// Sit implements web.Stage.
func (g *gallery) Sit(device string, ear web.Ear) (web.Seat, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.run.stages {
		taken := slices.ContainsFunc(g.seats, func(o *seat) bool { return o.at == s })
		switch {
		case device == s.name && taken:
			return nil, errTaken
		case taken || device != "" && device != s.name:
			continue
		}
		s.card.Replug()
		one := &seat{g, s, ear}
		g.seats = append(g.seats, one)
		g.some.Store(true)
		return one, nil
	}
	if device != "" {
		return nil, fmt.Errorf("there is no %s here", device)
	}
	return nil, errNoPlace
}

// ears are who hears a device.
func (g *gallery) ears(s *stage) (all []web.Ear) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.seats {
		if one.at == s {
			return []web.Ear{one.ear}
		}
	}
	if len(g.seats) > 0 {
		return []web.Ear{g.seats[0].ear}
	}
	return nil
}

// drop tells every page, for who hears a device may be another one by then.
func (g *gallery) drop(s *stage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.seats {
		one.ear.Drop(s.name)
	}
}

// listen leads what a stage plays to the pages, until ctx ends.
func (g *gallery) listen(ctx context.Context, s *stage) {
	s.line.Run(ctx, func(frames []int16) {
		for _, e := range g.ears(s) {
			e.Sound(s.name, frames)
		}
	}, func() { g.drop(s) })
}

// Device implements web.Seat.
func (s *seat) Device() string { return s.at.name }

// Hear implements web.Seat.
func (s *seat) Hear(frames []int16) { s.at.line.Hear(frames) }

// Press implements web.Seat.
func (s *seat) Press(down bool) {
	if l := s.at.instance.Load(); l != nil {
		l.key.Set(down)
	}
}

// spare is how long a device has no card when its page has gone.
const spare = time.Second

// Leave implements web.Seat: the card is unplugged, and after a while the rehearsal's own takes its place.
func (s *seat) Leave() {
	if l := s.at.instance.Load(); l != nil {
		l.key.Vanish()
	}
	g := s.of
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seats = slices.DeleteFunc(g.seats, func(o *seat) bool { return o == s })
	g.some.Store(len(g.seats) > 0)
	s.at.card.Unplug()
	g.run.later(spare, s.at.card.Replug)
}

// box is the stage as a page has it.
func (s *stage) box() web.Box {
	return web.Box{
		Name: s.name, Feed: s.feed,
		Picture: func(ctx context.Context) control.Picture {
			if l := s.instance.Load(); l != nil {
				return l.device.Picture(ctx)
			}
			return control.Picture{}
		},
		Control: func() http.Handler {
			if l := s.instance.Load(); l != nil {
				return l.control()
			}
			return nil
		},
	}
}

// shown tells pages that a device is there, or has gone.
func (s *stage) shown(ctx context.Context) { s.feed.Post(control.EventPicture, s.box().Picture(ctx)) }

// checkPage refuses an address that no page of a rehearsal can have.
func (r Rehearsal) checkPage() error {
	if r.Page == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(r.Page)
	_, bad := strconv.ParseUint(port, 10, 16)
	if ip := net.ParseIP(host); err != nil || bad != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: --page %s: must be HOST:PORT of this machine, as in %s", control.ErrRefused, r.Page, config.DefaultWebListen)
	}
	return nil
}

// servePage serves the page of the whole room until the rehearsal ends, says where, and opens it in a browser if that is wished. An error:
// there is none, and what to do.
func (p *run) servePage(say func(string)) (address string, _ error) {
	if p.Page == "" {
		return "", nil
	}
	door, err := web.NewDoor(web.DoorOptions{
		Web: config.Web{Listen: p.Page, Talk: true}, Setting: "--page", Device: p.Room.String(), Language: p.Config.Device.Language, Log: p.Log,
		Self: os.Getuid(), Group: -1, Sockets: maxRoomDevices,
	})
	if err != nil {
		return "", err
	}
	var trouble error // before it ends, or is open
	o := web.Options{Door: door, Language: p.Config.Device.Language, Log: p.Log, Stage: p.gallery, Trouble: func(err error) { trouble = err }}
	for _, s := range p.stages {
		o.Boxes = append(o.Boxes, s.box())
		p.later(0, func() { p.gallery.listen(p.ctx, s) })
	}
	opened := make(chan struct{})
	o.Opened = func() { close(opened) }
	ended := make(chan error, 1)
	server := web.New(o)
	go func() { ended <- server.Run(p.ctx) }() // awaited by the rehearsal's end
	p.closer = append(p.closer, func() error { return <-ended })
	select {
	case <-opened:
	case err := <-ended:
		ended <- err
		return "", trouble
	}
	if pages := door.Pages(); len(pages) > 0 {
		address = pages[0]
		say("page   " + address + " shows the room, and talks: open it in a browser of this machine\n")
		p.browse(address, say)
	}
	return address, nil
}

// browse opens an address as the desktop does, if that is wished, and says where it cannot.
func (p *run) browse(address string, say func(string)) {
	if !p.Open {
		return
	}
	failed := func(err error) {
		p.Log.Warn("rehearsal.browser", "address", address, "err", err)
		say(fmt.Sprintf("conch: --open: no browser can be started here: %v (open %s by hand)\n", err, address))
	}
	cmd := exec.CommandContext(p.ctx, "xdg-open", address) //nolint:gosec // our own address
	if err := cmd.Start(); err != nil {
		failed(err)
		return
	}
	p.later(0, func() { // ends with ctx at the latest
		if err := cmd.Wait(); err != nil && p.ctx.Err() == nil {
			failed(fmt.Errorf("xdg-open: %w", err))
		}
	})
}
