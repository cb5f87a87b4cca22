package rehearse

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"conch/audio"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// raised is the default room with its page.
func raised(t *testing.T) (*run, string) {
	t.Helper()
	p, stop, err := Rehearsal{Config: config.Default(), Room: DefaultRoom(), Text: io.Discard, Log: slog.New(slog.DiscardHandler), Page: "127.0.0.1:0"}.raise(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	page, err := p.servePage(func(s string) { t.Log(s) })
	if err != nil || page == "" {
		t.Fatalf("no page: %v", err)
	}
	return p, strings.TrimSuffix(page, "/")
}

// listener is a page as a stranger would write one: a socket, without a browser.
type listener struct {
	*testing.T
	c    *websocket.Conn
	seat string

	mu    sync.Mutex
	heard map[string][]int16 // since the last drop, by device
	drops map[string]int
	ended error
}

var tokenIn = regexp.MustCompile(`<meta name="conch-token" content="([^"]+)">`)

// sit opens a page and talks at a device; refused is why it may not.
func sit(t *testing.T, page, device string) (l *listener, refused string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, page+"/", nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	token := tokenIn.FindSubmatch(text)
	if err != nil || token == nil {
		t.Fatalf("%v: no token in\n%s", err, text)
	}
	c, resp, err := websocket.Dial(ctx, strings.Replace(page, "http", "ws", 1)+"/talk", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {page}}})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	hello, _ := json.Marshal(map[string]string{"token": string(token[1]), "device": device})
	if err := c.Write(ctx, websocket.MessageText, hello); err != nil {
		t.Fatal(err)
	}
	var first struct {
		Refused, Seat string
		Devices       []string
		Rate          int
	}
	if _, data, err := c.Read(ctx); err != nil || json.Unmarshal(data, &first) != nil {
		t.Fatal(err)
	}
	if first.Refused != "" {
		_ = c.CloseNow()
		return nil, first.Refused
	}
	if first.Rate != 48000 || !slices.Equal(first.Devices, []string{"kitchen", "bedroom", "hall"}) {
		t.Fatalf("it says %+v", first)
	}
	l = &listener{T: t, c: c, seat: first.Seat, heard: map[string][]int16{}, drops: map[string]int{}}
	done := make(chan struct{})
	go func() { // ends when the socket is closed
		defer close(done)
		l.listen(first.Devices)
	}()
	t.Cleanup(func() { _ = c.CloseNow(); <-done })
	return l, ""
}

func (l *listener) listen(devices []string) {
	l.c.SetReadLimit(1 << 20)
	for {
		kind, data, err := l.c.Read(context.Background())
		l.mu.Lock()
		if err != nil {
			l.ended = err
			l.mu.Unlock()
			return
		}
		if kind == websocket.MessageBinary {
			name := devices[data[0]]
			for at := 2; at+1 < len(data); at += 2 {
				l.heard[name] = append(l.heard[name], int16(binary.LittleEndian.Uint16(data[at:])))
			}
		}
		var m struct{ Drop []int }
		if kind == websocket.MessageText && json.Unmarshal(data, &m) == nil {
			for _, i := range m.Drop {
				l.heard[devices[i]] = nil
				l.drops[devices[i]]++
			}
		}
		l.mu.Unlock()
	}
}

// hears is how many frames of a device have come since it was dropped last, and how often it was.
func (l *listener) hears(device string) (frames, drops int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.heard[device]), l.drops[device]
}

func (l *listener) press(down bool) {
	l.Helper()
	if err := l.c.Write(l.Context(), websocket.MessageText, fmt.Appendf(nil, `{"press":%v}`, down)); err != nil {
		l.Fatal(err)
	}
}

// speak is a microphone: frames at the pace at which they are spoken.
func (l *listener) speak(frames []int16) {
	l.Helper()
	const piece = 480
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began, gone := time.Now(), 0; len(frames) >= piece; frames = frames[piece:] {
		var b []byte
		for _, x := range frames[:piece] {
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		}
		if err := l.c.Write(l.Context(), websocket.MessageBinary, b); err != nil {
			l.Fatal(err)
		}
		for gone += piece; time.Since(began) < time.Duration(gone)*time.Second/audio.CardRate; { // what is late is made up for, as a browser does
			<-tick.C
		}
	}
}

// until waits for a fact.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
		t.Fatalf("waited in vain for %s", what)
	}
}

// A question is spoken into a page, understood, answered, and heard there; a press in the page silences it, and the device whose page has
// gone has no card for a while.
func TestAPageTalks(t *testing.T) {
	for _, program := range []string{"pocketsphinx_continuous", "flite"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("missing: %s (apt install pocketsphinx pocketsphinx-en-us flite)", program)
		}
	}
	p, page := raised(t)
	l, refused := sit(t, page, "")
	if refused != "" || l.seat != "kitchen" {
		t.Fatalf("sits at %q: %s", l.seat, refused)
	}
	kitchen := p.stage("kitchen")
	_, events := kitchen.feed.Watch(t.Context())
	said, err := rehearsal.NewSynthesizer().Say(t.Context(), "flite:slt", "Ada, what time is it?")
	if err != nil {
		t.Fatal(err)
	}
	question := slices.Concat(audio.Upsample(said), make([]int16, audio.CardFrames(300*time.Millisecond)))
	asked := ""
	for try := 0; try < 3 && !strings.Contains(strings.ToLower(asked), "time"); try++ { // a busy machine brings sound with holes
		l.press(true)
		until(t, "listening", func() bool { return kitchen.instance.Load().device.Coordinator().State() == turn.Listening })
		l.speak(question)
		l.press(false)
		l.speak(make([]int16, audio.CardFrames(300*time.Millisecond)))
		until(t, "an answer", kitchen.speaking)
		cues, _ := l.hears("kitchen")
		until(t, "the answer at the page", func() bool { n, _ := l.hears("kitchen"); return n > cues+audio.CardFrames(200*time.Millisecond) })

		_, before := l.hears("kitchen")
		l.press(true) // in the middle of it
		until(t, "the drop", func() bool { _, drops := l.hears("kitchen"); return drops > before })
		l.press(false)
		until(t, "the turn's end", func() bool {
			select {
			case e := <-events:
				var r control.Turn
				if e.Kind == control.EventTurn && json.Unmarshal(e.Data, &r) == nil {
					asked += r.Asked // words that come late are those of a turn that has ended: the answer is another's
					return r.Said != ""
				}
			default:
			}
			return false
		})
		until(t, "rest", p.idle)
	}
	if !strings.Contains(strings.ToLower(asked), "time") {
		t.Errorf("it understood %q", asked)
	}

	if _, refused := sit(t, page, "kitchen"); refused == "" {
		t.Error("two pages sit at one device")
	}
	_ = l.c.CloseNow()
	until(t, "the card to be unplugged", func() bool { return !kitchen.instance.Load().device.Sound().Sounds() })
	until(t, "a card in its place", func() bool { return kitchen.instance.Load().device.Sound().Sounds() })
}

// Several pages are several devices; the first hears those that have none, and a press in one silences what another hears.
func TestPagesAreDevices(t *testing.T) {
	t.Parallel()
	p, page := raised(t)
	first, _ := sit(t, page, "")
	second, _ := sit(t, page, "")
	third, _ := sit(t, page, "hall")
	if got := first.seat + " " + second.seat + " " + third.seat; got != "kitchen bedroom hall" {
		t.Fatalf("they sit at %s", got)
	}
	if _, refused := sit(t, page, ""); refused != errNoPlace.Error() {
		t.Errorf("a fourth: %q", refused)
	}
	_ = third.c.CloseNow()
	hall := p.stage("hall")
	until(t, "the hall to be free", func() bool { return len(p.gallery.ears(hall)) == 1 && hall.instance.Load().device.Sound().Sounds() })
	p.stage("bedroom").instance.Load().device.Put("Cleo, tell me a story")
	until(t, "the hall at the first page", func() bool { n, _ := first.hears("hall"); return n > audio.CardFrames(300*time.Millisecond) })
	if n, _ := second.hears("hall"); n > 0 {
		t.Errorf("the second page hears %d frames of the hall", n)
	}
	second.press(true)
	until(t, "the drop", func() bool { _, drops := first.hears("hall"); return drops > 0 })
	second.press(false)
}

// told is what a rehearsal has said to people and to its log.
type told struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

var pageIn = regexp.MustCompile(`page   (http://127\.0\.0\.1:\d+/) shows the room`)

// A script that asks for a page has one while it plays, and a browser that does not come is told.
func TestAScriptHasAPage(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	script, err := ReadScript(strings.NewReader("wait 60s\n"), "script", ".", DefaultRoom())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	text := &told{}
	r := Rehearsal{Config: config.Default(), Room: DefaultRoom(), Script: script, Text: text, Log: slog.New(slog.DiscardHandler), Page: "127.0.0.1:0", Open: true}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }() // awaited below
	until(t, "the page", func() bool { return pageIn.MatchString(text.String()) })
	until(t, "what became of the browser", func() bool {
		return strings.Contains(text.String(), "--open: no browser can be started here: xdg-open: exit status 3")
	})
	address := pageIn.FindStringSubmatch(text.String())[1]
	l, refused := sit(t, strings.TrimSuffix(address, "/"), "hall")
	if refused != "" || l.seat != "hall" {
		t.Errorf("%q, %q", l.seat, refused)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a script that was cut off has ended well")
	}
}

// A page that there cannot be is told before anything is played, and by the name of its flag.
func TestNoSuchPage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	script, err := ReadScript(strings.NewReader("wait 60s\n"), "script", ".", DefaultRoom())
	if err != nil {
		t.Fatal(err)
	}
	run := func(page string) (string, error) {
		log := &told{}
		r := Rehearsal{Config: config.Default(), Room: DefaultRoom(), Script: script, Text: io.Discard, Log: slog.New(slog.NewTextHandler(log, nil)), Page: page}
		err := r.Run(t.Context())
		return log.String(), err
	}
	for _, page := range []string{"127.0.0.1", ":7485", "0.0.0.0:7485", "127.0.0.1:70000", "127.0.0.1:-1", "[::]:7485", "kitchen.local:7485", "on"} {
		if log, err := run(page); !errors.Is(err, control.ErrRefused) || !strings.Contains(err.Error(), "--page "+page) || log != "" {
			t.Errorf("%s: %v, after\n%s", page, err, log)
		}
	}
	if _, err := run(taken.Addr().String()); err == nil || !strings.Contains(err.Error(), "set --page to another port") {
		t.Errorf("taken: %v", err)
	}
}
