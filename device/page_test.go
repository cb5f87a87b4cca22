package device

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/printable"
	"conch/device/wait"
	"conch/device/web"
)

// pageEar is what a page hears.
type pageEar struct {
	mu     sync.Mutex
	frames int // since it was dropped last
	drops  int
}

func (e *pageEar) Sound(_ string, frames []int16) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames += len(frames)
}

func (e *pageEar) Drop(string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames, e.drops = 0, e.drops+1
}

func (e *pageEar) heard() (frames, drops int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frames, e.drops
}

// sits has a page talk to a box.
func (b *box) sits() (web.Seat, *pageEar) {
	b.t.Helper()
	ear := &pageEar{}
	s, err := b.pages.Sit("", ear)
	if err != nil {
		b.t.Fatal(err)
	}
	return s, ear
}

// asks holds a page's button and speaks into its microphone.
func (b *box) asks(s web.Seat) {
	s.Press(true)
	b.until("listening", func() bool { return b.coordinator.State() == turn.Listening })
	tone := slices.Repeat([]int16{3000, 3000, 3000, 3000, 3000, -3000, -3000, -3000, -3000, -3000}, 48)
	for range 60 { // 600 ms
		s.Hear(tone)
		b.pause(10 * time.Millisecond)
	}
	s.Press(false)
}

// A page has the sound for its own turn, and the card for all others.
func TestAPageIsAnotherButton(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{page: true})
	s, ear := b.sits()
	b.until("the page's part", func() bool { return len(b.page.Pages()) == 1 })
	from := b.now()
	b.asked.Add(1)
	b.asks(s)
	b.until("the answer at the page", func() bool { n, _ := ear.heard(); return b.Speaking() && n > audio.CardFrames(50*time.Millisecond) })
	if p := audio.Peak(b.card.Between(from+50*time.Millisecond, b.now())); p > 0 {
		t.Errorf("the card sounds too, peak %d", p)
	}
	b.hand.Press() // somebody at the box
	b.until("the drop at the page", func() bool { n, drops := ear.heard(); return drops > 0 && n == 0 })
	b.until("the sound at the card", func() bool { return b.pages.card.At() == nil })
	b.hand.Release()
	b.quiet()
	if n, _ := ear.heard(); n > 0 {
		t.Errorf("the page hears %d frames of a turn of the box", n)
	}
	b.fine()
	s.Leave()
}

// Who closes the page in the middle of a word has not meant to send it, and leaves the box as it was.
func TestAPageThatGoesWhileItIsHeld(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{page: true})
	s, _ := b.sits()
	b.asked.Add(1)
	s.Press(true)
	b.state(turn.Listening)
	s.Leave()
	b.until("the turn's end", func() bool { return len(b.turnsEnded()) == 1 })
	if r := b.turnsEnded()[0]; r.Asked != "" || r.Said != "" {
		t.Errorf("it was sent: %+v", r)
	}
	if b.pages.card.At() != nil {
		t.Error("the sound is at a page that has gone")
	}
	b.fine()
	var all []web.Seat
	for range maxPages {
		one, _ := b.sits()
		all = append(all, one)
	}
	if _, err := b.pages.Sit("", &pageEar{}); err == nil || !strings.Contains(err.Error(), "close one") {
		t.Errorf("one too many: %v", err)
	}
	for _, s := range all {
		s.Leave()
	}
}

// page is what a browser of this machine sees of a page, and by whom it is encrypted, or why there is none.
func (s *seam) page(scheme, path string) string {
	s.Helper()
	d := s.new(Options{Page: true})
	if d.page == nil {
		return "no page"
	}
	_, stop := s.run(runs(d.actors)...)
	defer stop()
	for deadline := time.Now().Add(patience); len(d.page.Pages()) == 0 && time.Now().Before(deadline); {
		<-time.After(5 * time.Millisecond)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	at, _ := url.Parse(d.page.Pages()[0])
	resp, err := client.Get(scheme + "://" + at.Host + "/" + path)
	if err != nil {
		return "no page: " + err.Error() + fmt.Sprint(d.conds.List())
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	by := ""
	if resp.TLS != nil {
		by = "by " + resp.TLS.PeerCertificates[0].Issuer.CommonName
	}
	return fmt.Sprint(string(text), by, err)
}

// Where there is no sound card a page on this machine alone talks, unless the household has said otherwise.
func TestThePageTalksWhereThereIsNoCard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, set  string
		card, want bool
	}{
		{"no card", "[web]\nlisten = \"127.0.0.1:0\"\n", false, true},
		{"no card, localhost", "[web]\nlisten = \"localhost:0\"\n", false, true},
		{"a card", "[web]\nlisten = \"127.0.0.1:0\"\n", true, false},
		{"a card, and it is wished", "[web]\nlisten = \"127.0.0.1:0\"\ntalk = true\n", true, true},
		{"no card, and it is not wished", "[web]\nlisten = \"127.0.0.1:0\"\ntalk = false\n", false, false},
		{"no card, in the network", "[web]\nlisten = \"0.0.0.0:0\"\n", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Load(config.LoadOptions{File: fileOf(t, c.set), Environ: []string{}})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Device.Name, cfg.State.Dir, cfg.State.Runtime, cfg.Room.Discovery = "kitchen", t.TempDir(), t.TempDir(), "off"
			s := &seam{T: t, cfg: cfg}
			virtual := twin.NewCard(twin.WallClock())
			var card audio.Card = virtual
			if !c.card {
				if card, err = audio.NewCard(audio.BackendNull, slog.New(slog.DiscardHandler)); err != nil {
					t.Fatal(err)
				}
			}
			d := s.new(Options{Page: true, Card: card})
			play := func(ctx context.Context) error { return virtual.Run(ctx, 1) } // else it is lost
			_, stop := s.run(append(runs(d.actors), d.sound.RunPlayback, d.sound.RunCapture, play)...)
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if wait.Until(ctx, func() bool { return d.sound.Known() && len(d.page.Pages()) > 0 }) != nil {
				t.Fatal("no card, or no page")
			}
			if _, ok := d.sound.Audible(); ok != c.card {
				t.Fatalf("a card sounds: %v; want %v: %s", ok, c.card, d.sound.Words())
			}
			at, _ := url.Parse(d.page.Pages()[0])
			resp, err := http.Get("http://127.0.0.1:" + at.Port() + "/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if got := strings.Contains(string(text), `name="conch-talk" content="yes"`); err != nil || got != c.want {
				t.Errorf("the page may talk: %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// The room is told of a page that the house can open, and of no other.
func TestTheRoomIsToldOfThePage(t *testing.T) {
	names := hostNames()
	if len(names) == 0 {
		t.Skip("this host has no name")
	}
	there := printable.PageOf("http://" + strings.ToLower(names[1]) + ":7485/")
	for _, c := range []struct {
		listen string
		page   bool
		want   string
	}{
		{"0.0.0.0:7485", true, there}, {"0.0.0.0:7485", false, ""}, {"127.0.0.1:7485", true, ""}, {"", true, ""},
	} {
		cfg := config.Default()
		cfg.Device.Name, cfg.State.Dir, cfg.Room.Discovery, cfg.Web.Listen = "kitchen", t.TempDir(), "off", c.listen
		s := &seam{T: t, cfg: &cfg}
		d := s.new(Options{Page: c.page, Room: RoomOptions{Cards: companions.DefaultCards()[:2]}})
		if got := d.Picture(t.Context()).Room.Members[0].Page; got != c.want {
			t.Errorf("%q, page %v: the room is told of %q", c.listen, c.page, got)
		}
	}
}
