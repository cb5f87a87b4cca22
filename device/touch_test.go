package device

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/terminal"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
)

// untouched is a way to press a device without a hand.
type untouched struct {
	name string
	lays func(o *boxOptions)                                // what the device needs for it; nil: nothing
	at   func(t *testing.T, b *box) (press, release func()) // when it runs
}

const veryLongEnough = 10*time.Second + 200*time.Millisecond

// byNetwork are all ways.
func byNetwork(t *testing.T) []untouched {
	in, program, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close(); in.Close() })
	page := func(o *boxOptions) { o.page = true }
	return []untouched{
		{"control socket", nil, func(t *testing.T, b *box) (func(), func()) {
			c := control.Local(b.Control())
			return asks(t, c, "/press"), asks(t, c, "/release")
		}},
		{"request of a page", page, func(t *testing.T, b *box) (func(), func()) {
			p := opens(t, b)
			return func() { p.posts("press") }, func() { p.posts("release") }
		}},
		{"socket of a page", page, func(t *testing.T, b *box) (func(), func()) {
			c := opens(t, b).talks()
			return func() { writes(t, c, `{"press":true}`) }, func() { writes(t, c, `{"press":false}`) }
		}},
		{"lines", func(o *boxOptions) {
			o.buttons = func(now func() time.Duration) []gpio.Events {
				return []gpio.Events{terminal.NewLines(in, terminal.Options{Clock: now})}
			}
		}, func(t *testing.T, _ *box) (func(), func()) {
			line := func(text string) func() { return func() { _, _ = program.WriteString(text + "\n") } }
			return line("press"), line("release")
		}},
	}
}

// asks is a request of the control socket.
func asks(t *testing.T, c *control.Remote, path string) func() {
	return func() {
		if err := c.Do(t.Context(), "POST", path, nil, nil); err != nil {
			t.Error(err)
		}
	}
}

func writes(t *testing.T, c *websocket.Conn, text string) {
	if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Error(err)
	}
}

// openPage is the page of a box in a browser of this machine.
type openPage struct {
	t           *testing.T
	base, token string
	device      string
}

var tokenOf = regexp.MustCompile(`name="conch-token" content="([^"]*)"`)

func opens(t *testing.T, b *box) *openPage {
	b.until("the page", func() bool { return len(b.page.Pages()) == 1 })
	p := &openPage{t: t, base: b.page.Pages()[0], device: b.cfg.Device.Name}
	resp, err := http.Get(p.base)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if found := tokenOf.FindSubmatch(text); found != nil {
		p.token = string(found[1])
	}
	return p
}

func (p *openPage) header() http.Header {
	return http.Header{"Origin": {strings.TrimSuffix(p.base, "/")}, "X-Conch-Token": {p.token}}
}

// posts asks for something, and says what came of it.
func (p *openPage) posts(action string) int {
	q, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+"api/"+p.device+"/"+action, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	q.Header = p.header()
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// talks joins with sound.
func (p *openPage) talks() *websocket.Conn {
	at := strings.Replace(p.base, "http", "ws", 1) + "talk"
	c, _, err := websocket.Dial(p.t.Context(), at, &websocket.DialOptions{HTTPHeader: p.header()}) //nolint:bodyclose // it has closed it
	if err != nil {
		p.t.Fatal(err)
	}
	hello, _ := json.Marshal(map[string]string{"token": p.token})
	writes(p.t, c, string(hello))
	if _, said, err := c.Read(p.t.Context()); err != nil || !strings.Contains(string(said), `"seat"`) {
		p.t.Fatalf("joined with sound: %s, %v", said, err)
	}
	go func() { // ends with the connection
		for ctx := context.Background(); ; {
			if _, _, err := c.Read(ctx); err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// A press without a hand is a press, and however long it is held it makes no gesture: it ends no muting and opens no window. A hand does, also
// where a press of the network comes in between.
func TestAHoldWithoutAHandIsNoGesture(t *testing.T) {
	t.Parallel()
	for _, way := range byNetwork(t) {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			o := boxOptions{}
			if way.lays != nil {
				way.lays(&o)
			}
			b := newBox(t, o)
			press, release := way.at(t, b)
			hold := func() {
				b.asked.Add(1)
				press()
				b.state(turn.Listening)
				b.pause(longEnough)
				release()
				b.quiet()
			}
			hold()
			if s := b.pairing.Now().State; s != control.PairingIdle {
				t.Errorf("pairing: %s", s)
			}
			if err := b.sound.SetMuted(true); err != nil {
				t.Fatal(err)
			}
			b.asked.Add(1)
			press()
			b.pause(longEnough)
			release()
			b.pause(300 * time.Millisecond)
			if !b.sound.Muted() {
				t.Error("it has ended muting")
			}
			b.hand.Press()
			b.pause(time.Second)
			b.asked.Add(1)
			press()
			b.pause(longEnough - time.Second)
			b.hand.Release()
			b.until("the hand has ended muting", func() bool { return !b.sound.Muted() })
			release()
			b.quiet()
		})
	}
}

// Ten seconds without a hand dissolve no room; ten seconds of a hand do.
func TestALongHoldWithoutAHandLeavesNoRoom(t *testing.T) {
	h := newHousehold(t)
	ways := byNetwork(t)[1:3]
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", func(o *boxOptions) {
		o.page = true
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Web = config.Web{Listen: "127.0.0.1:0", Talk: true} }
	})
	pairs(a, b)
	meet(a, b)
	for _, way := range ways {
		press, release := way.at(t, b.box)
		press()
		b.state(turn.Listening)
		b.pause(veryLongEnough)
		release()
		b.until("quiet", b.Quiet)
		if b.link.Room() == nil || b.pairing.Now().State == control.PairingLeaving || b.pairing.Now().State == control.PairingLeft {
			t.Fatalf("%s: the room is left: %+v", way.name, b.pairing.Now())
		}
	}
	if code := opens(t, b.box).posts("room/leave"); code != http.StatusNotFound {
		t.Errorf("a page leaves the room: %d", code)
	}
	b.taps(veryLongEnough)
	b.restarts()
	if b.link.Room() != nil {
		t.Error("ten seconds of a hand do not leave the room")
	}
}

// A press that is answered with success has silenced the device, whatever became of the client that pressed before.
func TestEveryPressThatSucceedsSilences(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{page: true})
	socket := httptest.NewServer(b.Control())
	t.Cleanup(socket.Close)
	page, talks := opens(t, b), opens(t, b).talks()
	local := control.Local(b.Control())
	for range 2 {
		for name, press := range map[string]func(){
			"control socket": asks(t, local, "/press"),
			"HTTP": func() {
				resp, err := http.Post(socket.URL+"/press", "", nil)
				if err != nil || resp.StatusCode != http.StatusNoContent {
					t.Errorf("%v, %v", resp, err)
				}
				resp.Body.Close()
			},
			"request of a page": func() { page.posts("press") },
			"socket of a page":  func() { writes(t, talks, `{"press":true}`) },
		} {
			before := b.speaker.Generation()
			b.asked.Add(1)
			press() // and never lets go
			if name == "socket of a page" {
				b.until("the message", func() bool { return b.speaker.Generation() > before })
			}
			if b.speaker.Generation() <= before {
				t.Errorf("%s: success, and nothing is silenced", name)
			}
		}
	}
	if err := local.Do(t.Context(), "POST", "/release", nil, nil); err != nil {
		t.Error(err)
	}
	page.posts("release") // it may have been the last
	writes(t, talks, `{"press":false}`)
	b.quiet()
}

// A press whose client has gone is let go, and what was said is not sent.
func TestAClientThatGoesLetsGo(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{control: true})
	b.asked.Add(2)
	b.until("the socket", func() bool { _, err := os.Stat(b.cfg.State.Socket()); return err == nil })
	dead, err := control.Dial(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := b.nextTurn(func() {
		asks(t, dead, "/press")()
		b.state(turn.Listening)
		dead.Close()
	})
	if r.Asked != "" || r.Said != "" {
		t.Errorf("it was sent: %+v", r)
	}
	b.quiet()
	again, err := control.Dial(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	asks(t, again, "/press")()
	b.state(turn.Listening)
	asks(t, again, "/release")()
	b.quiet()
}

// A key that nobody serves refuses a press: it would silence nothing.
func TestAPressBeforeTheDeviceRunsIsRefused(t *testing.T) {
	k := gpiotwin.NewKey("key", func() time.Duration { return 0 })
	if k.Press(gpiotwin.Client{}) || k.Release(gpiotwin.Client{}) {
		t.Error("a key that nobody serves says that it has silenced")
	}
}

// conch hush shuts a window, as a press does.
func TestAHushShutsTheWindow(t *testing.T) {
	h := newHousehold(t)
	x := h.raise("kitchen", "Ada", nil)
	x.opens()
	asks(t, control.Local(x.Control()), "/hush")()
	x.awaits(control.PairingCancelled)
	x.quiet()
}
