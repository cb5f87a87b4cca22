package web_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"conch/device/control"
)

// The page as a device: what it plays is tapped where it leaves the page, and its microphone is Chromium's, which beeps.

// tapped has everything that goes to the loudspeaker come by here, too: how loud each block was, left and right, and the samples of the
// first minute. It also keeps what was asked of the microphone.
const tapped = `(() => {
	const tap = globalThis.tap = { blocks: [], samples: [], tracks: [], wanted: null, keep: false };
	const connect = AudioNode.prototype.connect;
	AudioNode.prototype.connect = function (to, ...rest) {
		if (to instanceof AudioDestinationNode) {
			if (!tap.node) {
				tap.context = this.context;
				tap.node = this.context.createScriptProcessor(256, 2, 2);
				tap.node.onaudioprocess = (e) => {
					const peak = (data) => data.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
					const l = e.inputBuffer.getChannelData(0), r = e.inputBuffer.getChannelData(1);
					tap.blocks.push({ at: e.playbackTime, when: performance.now(), left: peak(l), right: peak(r) });
					if (tap.blocks.length > 4000) tap.blocks.splice(0, 1000);
					if (tap.keep && tap.samples.length < 2.9e6) for (let i = 0; i < l.length; i++) tap.samples.push(Math.round((l[i] + r[i]) * 16000));
				};
				connect.call(tap.node, to);
			}
			connect.call(this, tap.node);
		}
		return connect.call(this, to, ...rest);
	};
	tap.loud = (ms) => tap.blocks.filter((b) => b.when > performance.now() - ms).reduce((n, b) => Math.max(n, b.left, b.right), 0);
	const media = navigator.mediaDevices, ask = media?.getUserMedia;
	if (ask) media.getUserMedia = async (wanted) => {
		tap.wanted = wanted;
		const stream = await ask.call(media, wanted);
		tap.tracks.push(...stream.getTracks());
		return stream;
	};
})()`

// join opens a house's page and joins with sound.
func (h *house) join(l look) (*tab, *chair) {
	h.t.Helper()
	l.before = tapped
	b := h.visit(l)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	return b, h.taken("kitchen")
}

// own are the page's own figures: from a press to its silence, in milliseconds.
func (b *tab) own() []float64 {
	b.t.Helper()
	return js[[]float64](b, `[...document.querySelectorAll('#silences i.own:not([hidden])')].map((d) => parseFloat(d.title))`)
}

// quantiles says how figures are spread.
func quantiles(all []float64) string {
	all = slices.Sorted(slices.Values(all))
	at := func(q float64) float64 { return all[min(len(all)-1, int(q*float64(len(all))))] }
	return fmt.Sprintf("p50 %.1f, p99 %.1f, most %.1f ms (n %d)", at(0.5), at(0.99), all[len(all)-1], len(all))
}

func TestAPressInThePageIsSilence(t *testing.T) {
	h := build(t, houseOptions{})
	b, c := h.join(desk)
	if w := js[map[string]any](b, `tap.wanted.audio`); w["echoCancellation"] != true || w["noiseSuppression"] != true || w["autoGainControl"] != true {
		t.Errorf("the microphone was asked for with %v", w)
	}
	h.soon(func() bool { return c.heard.Load() > 48000 && c.loudest.Load() > 300 }, func() string {
		return fmt.Sprintf("the device hears %d samples, the loudest %d", c.heard.Load(), c.loudest.Load())
	})

	// The kitchen stands at the left.
	b.until(`tap.loud(200) > 0.1`)
	if !js[bool](b, `tap.blocks.at(-1).left > 1.3 * tap.blocks.at(-1).right`) {
		t.Errorf("the kitchen does not stand at the left: %v", js[any](b, `tap.blocks.at(-1)`))
	}

	presses := 0
	for len(b.own()) < 60 {
		if presses++; presses > 90 {
			t.Fatalf("%d presses, and %d figures", presses, len(b.own()))
		}
		b.until(`tap.loud(30) > 0.1`)
		b.hold("#talk")
		h.soon(c.down.Load, func() string { return "the button does not go down" })
		// Silent, and it stays so while the button is down: in what leaves the page.
		b.until(`tap.blocks.slice(-12).every((b) => b.left === 0 && b.right === 0)`)
		if presses <= 10 { // and what was held comes back no later
			at := js[float64](b, `tap.blocks.at(-1).when`)
			b.until(`tap.blocks.at(-1).when > %s`, at+300)
			if n := js[int](b, `tap.blocks.filter((b) => b.when > %s && b.left + b.right > 0).length`, at); n > 0 {
				t.Fatalf("%d blocks sound while the button is down", n)
			}
		}
		b.let()
		h.soon(func() bool { return !c.down.Load() }, func() string { return "the button stays down" })
	}
	if n := c.presses.Load(); n != int64(presses) {
		t.Errorf("%d presses came of %d", n, presses)
	}
	all := b.own()
	output := js[float64](b, `1000 * (tap.context.outputLatency || tap.context.baseLatency)`)
	t.Logf("from a press to silence, on the page's own clock: %s; its sound card adds %.1f ms", quantiles(all), output)
	slices.Sort(all)
	if p50 := all[len(all)/2]; p50 > 30 { // far above what a quiet machine shows
		t.Errorf("half of the presses take more than %.1f ms", p50)
	}
}

// Of a press there is one figure, and it says whose it is: the device's, or the page's where the page itself sounds.
func TestAPressHasOneFigure(t *testing.T) {
	h := build(t, houseOptions{})
	l := desk
	l.before = tapped
	b := h.visit(l)
	h.turn("ada", "t1", "Yes.", "Ye", 4.2)
	b.until(`document.querySelector('#silences span').textContent === 'Press to silence' && document.querySelectorAll('#silences i:not([hidden])').length === 1`)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	c := h.taken("kitchen")
	for range 9 { // one that falls into a pause of the tone has no figure
		b.until(`tap.loud(30) > 0.1`)
		b.hold("#talk")
		h.soon(c.down.Load, func() string { return "the button does not go down" })
		b.let()
		h.soon(func() bool { return !c.down.Load() }, func() string { return "the button stays down" })
		if len(b.own()) > 0 {
			break
		}
	}
	h.turn("ada", "t2", "Yes.", "Ye", 5.5) // the device measures the press too
	b.until(`document.querySelector('.bubble.cut') && document.querySelectorAll('.bubble.cut').length === 2`)
	b.until(`document.querySelectorAll('#silences i.own:not([hidden])').length > 0`)
	if n := js[int](b, `document.querySelectorAll('#silences i:not(.own):not([hidden])').length`); n > 0 {
		t.Errorf("%d figures of devices stand beside the page's own", n)
	}
	label := js[string](b, `document.querySelector('#silences .strip').getAttribute('aria-label')`)
	if !strings.HasPrefix(label, "Press to silence in this page: p50") {
		t.Errorf("it is told as %q", label)
	}
}

// Sound on a bad way has holes at first. The page learns to wait for it, and then each sentence is whole.
func TestJitterIsLearned(t *testing.T) {
	h := build(t, houseOptions{})
	b, c := h.join(desk)
	b.until(`tap.loud(100) > 0.1`)
	c.jerky.Store(true)
	js[bool](b, `(() => {
		globalThis.holes = (ms) => { // within sentences; what is longer stands between two
			let holes = 0, pauses = 0, run = 0;
			for (const b of tap.blocks.filter((b) => b.when > performance.now() - ms)) {
				if (b.left === 0) { run++; continue; }
				if (run > 70) pauses++; else if (run > 1) holes++;
				run = 0;
			}
			return { holes, pauses };
		};
		return true;
	})()`)
	b.until(`holes(5000).holes > 0`)
	b.until(`holes(5000).holes === 0 && holes(5000).pauses >= 3`)
}

func TestWhateverTakesTheFingerAwayLetsGo(t *testing.T) {
	h := build(t, houseOptions{})
	b, c := h.join(desk)
	for _, way := range []struct{ name, script string }{
		{"a gesture of the system", `document.getElementById('talk').dispatchEvent(new PointerEvent('pointercancel'))`},
		{"another window", `dispatchEvent(new Event('blur'))`},
		{"another tab", `(Object.defineProperty(document, 'hidden', { value: true, configurable: true }), document.dispatchEvent(new Event('visibilitychange')), delete document.hidden)`},
		{"a lost capture", `document.getElementById('talk').dispatchEvent(new PointerEvent('lostpointercapture'))`},
	} {
		b.hold("#talk")
		h.soon(c.down.Load, func() string { return way.name + ": the button does not go down" })
		js[any](b, way.script+`, true`)
		h.soon(func() bool { return !c.down.Load() }, func() string { return way.name + " leaves the button down" })
		b.let()
	}
	// A key that is still down, and repeats, is no other press.
	b.space(true)
	h.soon(c.down.Load, func() string { return "the space bar does not press the button" })
	js[any](b, `dispatchEvent(new Event('blur')), true`)
	h.soon(func() bool { return !c.down.Load() }, func() string { return "another window leaves the button down" })
	presses := c.presses.Load()
	again := true
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32, Text: " ", AutoRepeat: &again})
	b.space(false)
	b.hold("#talk")
	h.soon(c.down.Load, func() string { return "the button does not go down" })
	b.let()
	h.soon(func() bool { return !c.down.Load() }, func() string { return "the button stays down" })
	if n := c.presses.Load(); n != presses+1 {
		t.Errorf("a key that repeats pressed the button")
	}
	// A page that is closed is a device without its card.
	b.hold("#talk")
	h.soon(c.down.Load, func() string { return "the button does not go down" })
	js[bool](b, `(location.href = 'about:blank', true)`)
	h.soon(func() bool {
		h.stage.mu.Lock()
		defer h.stage.mu.Unlock()
		return len(h.stage.seats) == 0
	}, func() string { return "the page is closed, and its seat is taken" })
}

// What is muted is not listened to: the page gives the microphone back, and the browser shows nobody that listens.
func TestAMutedPageHasNoMicrophone(t *testing.T) {
	h := build(t, houseOptions{})
	b, c := h.join(desk)
	b.until(`tap.tracks.length === 1 && tap.tracks[0].readyState === 'live'`)
	b.click("#mute")
	b.until(`tap.tracks[0].readyState === 'ended'`) // at once, before the device says that it is so
	h.wasAsked(`kitchen mute {"muted":true}`)
	h.is("kitchen", func(p *control.Picture) { p.Status.Muted = true })
	b.until(`document.getElementById('note').textContent.includes('microphone is off')`)
	heard := c.heard.Load()
	b.until(`new Promise((r) => setTimeout(() => r(true), 300))`)
	if n := c.heard.Load() - heard; n > 4800 {
		t.Errorf("%d samples came from a muted page", n)
	}
	b.click("#mute")
	h.wasAsked(`kitchen mute {"muted":false}`)
	h.is("kitchen", func(p *control.Picture) { p.Status.Muted = false })
	b.until(`tap.tracks.length === 2 && tap.tracks[1].readyState === 'live'`)
	heard = c.heard.Load()
	h.soon(func() bool { return c.heard.Load() > heard+4800 }, func() string { return "nothing is heard after all" })
	// Somebody else mutes the device.
	h.is("kitchen", func(p *control.Picture) { p.Status.Muted = true })
	b.until(`tap.tracks[1].readyState === 'ended'`)
}

// Whoever has no microphone, or a browser that cannot, is told what to do, and all else works.
func TestWithoutAMicrophoneTheRestWorks(t *testing.T) {
	h := build(t, houseOptions{})
	for _, c := range []struct {
		name string
		look
		note  string
		hears bool
	}{
		{"refused", look{deny: true, before: tapped}, "The browser keeps the microphone from this page", true},
		{"none", look{before: tapped + `;navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotFoundError'); }`}, "No microphone was found", true},
		{"no worklet", look{before: `delete globalThis.AudioWorkletNode`}, "cannot play the sound", false},
		{"no secure context", look{before: `Object.defineProperty(globalThis, 'isSecureContext', { value: false })`}, "safe addresses only", false},
	} {
		b := h.visit(c.look)
		b.click("#talk")
		b.until(`document.getElementById('note').textContent.includes(%s)`, c.note)
		if c.hears {
			b.until(`tap.loud(100) > 0.1`)
			b.until(`document.getElementById('talk-text').textContent === 'Type instead'`)
			b.click("#talk")
			b.until(`document.activeElement.id === 'text'`)
			js[bool](b, `(document.activeElement.blur(), true)`)
			b.tap(" ", "Space", 32, " ")
			b.until(`document.activeElement.id === 'text' && !document.body.matches('.held')`)
			if n := h.taken("kitchen").presses.Load(); n != 0 {
				t.Errorf("%s: %d presses without a microphone", c.name, n)
			}
		}
		js[bool](b, `(document.getElementById('text').value = %s, document.querySelector('#line button').click(), true)`, c.name)
		h.wasAsked(`kitchen ask {"text":"` + c.name + `"}`)
		js[bool](b, `(location.href = 'about:blank', true)`) // its seat is the next one's
		h.soon(func() bool {
			h.stage.mu.Lock()
			defer h.stage.mu.Unlock()
			return len(h.stage.seats) == 0
		}, func() string { return "the seat is not given back" })
	}

	h.stage.mu.Lock()
	h.stage.refused = errors.New("each device has a page already: close one, or type")
	h.stage.mu.Unlock()
	b := h.visit(desk)
	b.click("#talk")
	b.until(`document.getElementById('note').textContent === 'each device has a page already: close one, or type'`)
	h.stage.mu.Lock()
	h.stage.refused = nil
	h.stage.mu.Unlock()
	b.click("#talk") // another try
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
}

func TestTwoPagesAtOnce(t *testing.T) {
	h := build(t, houseOptions{})
	b, c := h.join(desk)
	l := telephone
	l.before = tapped
	other := b.beside(h.url, l)
	other.until(`document.querySelectorAll('.disc').length === 3`)
	other.click("#talk")
	d := h.taken("bedroom")
	h.question("kitchen", "m1", "how long do I boil an egg", "ada")
	h.turn("ada", "t1", "Six minutes.", "Six minutes.", 0)
	for _, one := range []*tab{b, other} {
		one.until(bubble("Ada") + `?.querySelector('.heard').textContent === 'Six minutes.'`)
	}
	if got := js[string](other, bubble("Somebody (kitchen)")+`.innerText`); got == "" {
		t.Error("who asked in the kitchen is no stranger in the bedroom")
	}
	b.until(`tap.loud(100) > 0.1`)
	other.until(`tap.loud(100) > 0.1`)
	other.hold("#talk")
	h.soon(d.down.Load, func() string { return "the button of the bedroom does not go down" })
	if c.down.Load() {
		t.Error("a press in the bedroom is one in the kitchen, too")
	}
	other.let()
	h.soon(func() bool { return !d.down.Load() }, func() string { return "the button of the bedroom stays down" })
}

// A device that begins anew is found by the page itself: events, requests and sound come back, and what was said is still there.
func TestAServerThatRestarts(t *testing.T) {
	h := build(t, houseOptions{})
	b, _ := h.join(desk)
	h.conversation()
	b.until(`document.querySelectorAll('.bubble').length >= 5`)
	token := js[string](b, `document.querySelector('meta[name=conch-token]').content`)
	where := h.url
	b.hold("#talk")
	h.end()
	b.until(`document.body.matches('.away') && !document.body.matches('.held')`)
	b.until(`document.getElementById('now').textContent.includes('does not answer')`)
	b.until(`document.getElementById('hush').disabled`)
	b.let()
	began := time.Now()
	h.open(houseOptions{listen: where[len("http://") : len(where)-1]})
	b.until(`!document.body.matches('.away')`)
	t.Logf("the page was back %.1f s after its device", time.Since(began).Seconds())
	h.taken("kitchen")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	b.until(`tap.loud(100) > 0.1`)
	if n := js[int](b, `document.querySelectorAll('.bubble').length`); n < 5 {
		t.Errorf("of what was said, %d bubbles are left", n)
	}
	if js[string](b, `fetch('/').then((r) => r.text()).then((t) => t.match(/conch-token" content="([^"]*)/)[1])`) == token {
		t.Error("the device has the same token; this proves nothing")
	}
	b.click("#hush")
	h.wasAsked("kitchen hush {}")
	b.forgive("ERR_CONNECTION_REFUSED")
	b.forgive("WebSocket")
	b.forgive("ERR_")
	b.forgive("403") // of the token before
}

// waits notes how often the page asks for events, and for how long it ever waits.
const waits = `(() => {
	globalThis.opened = 0;
	globalThis.longest = 0;
	const Events = EventSource, later = setTimeout;
	globalThis.EventSource = class extends Events { constructor(...all) { super(...all); opened++; } };
	globalThis.setTimeout = (f, ms, ...rest) => { if (document.body?.matches('.away')) longest = Math.max(longest, ms ?? 0); return later(f, ms, ...rest); };
})()`

// A device that was away is asked again at the same pace, however long it was. What it was about to say is over, what rang is not
// shown any more, and what was wrong before is forgotten.
func TestWhatWasBegunIsOverAfterARestart(t *testing.T) {
	h := build(t, houseOptions{})
	l := desk
	l.before = tapped + ";" + waits
	b := h.visit(l)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	h.taken("kitchen")
	h.question("kitchen", "m1", "tell me a story", "ada")
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Floor: "ada", Who: "Ada", Turn: "t1", Heard: "Once upon", Rest: " a time."})
	h.question("hall", "m2", "and what about you", "ben")
	h.is("kitchen", func(p *control.Picture) {
		p.Doing = control.Doing{State: "IN_RESPONSE", Floor: "ada", Who: "Ada", Turn: "t1", Heard: "Once upon", Rest: " a time."}
		p.Status.Now = &control.Now{Ringing: []control.RingingRow{{ID: 7, Text: "the pasta"}}}
	})
	b.until(`document.querySelectorAll('.bubble.answer.growing, .bubble.answer.open').length === 2 && document.querySelector('.ring')`)
	where := h.url
	h.end()
	b.until(`document.body.matches('.away')`)
	js[bool](b, `(document.querySelector('#hush').disabled = false, document.querySelector('#hush').click(), true)`)
	b.until(`document.getElementById('note').textContent !== ''`)
	b.until(`opened > 9`)
	if most := js[float64](b, `longest`); most > 3000 {
		t.Errorf("it waits for %.0f ms", most)
	}
	h.mu.Lock()
	p := h.pictures["kitchen"]
	p.Doing, p.Status.Now = control.Doing{State: "IDLE"}, nil
	h.pictures["kitchen"] = p
	h.mu.Unlock()
	for _, p := range places {
		h.feeds[p.device] = control.NewFeed(p.device)
	}
	h.open(houseOptions{listen: where[len("http://") : len(where)-1]})
	b.until(`!document.body.matches('.away') && document.getElementById('note').textContent === ''`)
	b.until(`document.querySelectorAll('.bubble.answer').length === 2 && !document.querySelector('.bubble.answer:is(.growing, .open), .ring')`)
	if got := js[string](b, bubble("Ada")+`.querySelector('del').textContent`); got != " a time." {
		t.Errorf("what was not heard is told as %q", got)
	}
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	h.taken("kitchen")
	b.forgive("ERR_")
	b.forgive("WebSocket")
	b.forgive("403")
}

// reboots is a way to a house, at the same port of another address of this machine, on which a device can be cut from its power.
type reboots struct {
	to  string
	mu  sync.Mutex
	all map[net.Conn]net.Conn // of clients, to the house; nil: of the life before
}

// wire opens a way to a house.
func (h *house) wire() (r *reboots, url string) {
	h.t.Helper()
	r = &reboots{to: h.url[len("http://") : len(h.url)-1], all: map[net.Conn]net.Conn{}}
	_, port, _ := net.SplitHostPort(r.to)
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		h.t.Skipf("there is no second address of this machine: %v", err)
	}
	h.t.Cleanup(func() { l.Close(); r.cut() })
	go func() { // until l is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r, "http://127.0.0.2:" + port + "/"
}

// serve carries a connection. What comes from a client for the life before is answered by a reset, as a host does that has begun anew.
func (r *reboots) serve(c net.Conn) {
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		c.Close()
		return
	}
	r.mu.Lock()
	r.all[c] = to
	r.mu.Unlock()
	alive := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.all[c] != nil
	}
	go func() { // until the house ends it
		_, _ = io.Copy(c, to)
		if alive() {
			c.Close()
		}
	}()
	_, _ = io.Copy(to, c)
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
	to.Close()
}

// cut takes the power away: no client is told.
func (r *reboots) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, to := range r.all {
		r.all[c] = nil
		if to != nil {
			to.Close()
		}
	}
}

// A device that loses its power says no goodbye. The page notices that it is silent, and has another one's word soon after.
func TestADeviceThatGoesWithoutAWord(t *testing.T) {
	h := build(t, houseOptions{})
	way, url := h.wire()
	l := desk
	l.before = tapped
	b := open(t, url, l)
	b.until(`document.querySelectorAll('.disc:not(.gone)').length === 3`)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	where := h.url
	way.cut()
	h.end()
	h.mu.Lock()
	p := h.pictures["kitchen"]
	p.Status.Volume = 33
	h.pictures["kitchen"] = p
	h.mu.Unlock()
	h.open(houseOptions{listen: where[len("http://") : len(where)-1]})
	b.until(`document.getElementById('volume-text').textContent === '33 %'`)
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	h.taken("kitchen")
	b.forgive("ERR_")
	b.forgive("WebSocket")
	b.forgive("403")
}
