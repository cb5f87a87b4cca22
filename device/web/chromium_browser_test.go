package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A browser that looks at the page: Debian's chromium, without a window.

// patience bounds every wait for the page; what it waits for normally takes well under a second.
const patience = 60 * time.Second

// look is how a page is looked at.
type look struct {
	width, height int64
	phone, dark   bool
	still         bool     // reduced motion is wanted
	languages     string   // "de,en"; empty: English
	flags         []string // of the browser, name or name=value
	before        string   // script that runs before the page's
	deny          bool     // the microphone
}

// desk and telephone are the two sizes that everything has to fit.
var (
	desk      = look{width: 1280, height: 800}
	telephone = look{width: 390, height: 844, phone: true}
)

// tab is a page in a browser. Whatever it complains of fails the test that opened it.
type tab struct {
	t   testing.TB
	ctx context.Context

	x, y float64 // of the mouse, while it is down

	mu         sync.Mutex
	complaints []string
}

// chromium is where the browser is. A test without one says so, and so does one that is not asked for: what is heard and measured in a browser
// wants the machine for itself (make test-web). A benchmark has been asked for.
func chromium(t testing.TB) string {
	t.Helper()
	if _, asked := t.(*testing.B); !asked && os.Getenv("CONCH_TEST_WEB") == "" && os.Getenv("CONCH_TEST_SOAK") == "" {
		t.Skip("a browser looks at the page in make test-web")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip(noChromium)
	return ""
}

const noChromium = "no chromium: nobody looks at the page (apt install chromium)"

// silently keeps what the library says of messages that it does not know from the test's output.
func silently(string, ...any) {}

// open has a browser of its own open an address.
func open(t testing.TB, url string, l look) *tab {
	t.Helper()
	path := chromium(t)
	if l.width == 0 {
		l.width, l.height = desk.width, desk.height
	}
	if l.languages == "" {
		l.languages = "en"
	}
	flags := append([]string{
		"headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "no-default-browser-check", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars", "use-fake-device-for-media-stream",
		"autoplay-policy=no-user-gesture-required", "accept-lang=" + l.languages, "lang=" + strings.Split(l.languages, ",")[0],
		"disable-features=TranslateUI", "js-flags=--expose-gc", "enable-precise-memory-info",
	}, l.flags...)
	if !l.deny {
		flags = append(flags, "use-fake-ui-for-media-stream")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(int(l.width), int(l.height)), chromedp.WSURLReadTimeout(patience),
		chromedp.Env("LANGUAGE=" + strings.ReplaceAll(l.languages, ",", ":")),
	}
	for _, f := range flags {
		name, value, has := strings.Cut(f, "=")
		if has {
			options = append(options, chromedp.Flag(name, value))
		} else {
			options = append(options, chromedp.Flag(name, true))
		}
	}
	alloc, done := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(silently), chromedp.WithLogf(silently))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		done()
	})
	return show(ctx, t, url, l)
}

// beside is another page of the same browser.
func (b *tab) beside(url string, l look) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	return show(ctx, b.t, url, l)
}

// show makes a page of a context and opens an address in it.
func show(ctx context.Context, t testing.TB, url string, l look) *tab {
	t.Helper()
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	b.listen()
	t.Cleanup(b.content)
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}
	if l.dark {
		features[0].Value = "dark"
	}
	if l.still {
		features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	scale := 1.0
	if l.phone {
		scale = 2
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: scale, Mobile: l.phone})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: l.phone})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // of two pages each is looked at
	if l.before != "" {
		call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: l.before})
	}
	if l.deny {
		_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "microphone"}, Setting: browser.PermissionSettingDenied,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.Navigate(url))
	return b
}

// listen notes what the page complains of.
func (b *tab) listen() {
	messages := chromedp.Console(b.ctx)
	go func() { // ends with the page
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.IsException() || strings.Contains(m.Text, "Content Security Policy") {
				b.mu.Lock()
				if len(b.complaints) < 20 {
					b.complaints = append(b.complaints, m.Text+" "+m.URL)
				}
				b.mu.Unlock()
			}
		}
	}()
}

// content fails the test where the page has complained.
func (b *tab) content() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Errorf("the page complains: %s", c)
	}
}

// forgive forgets complaints that have to be, by a part of each; it says how many there were.
func (b *tab) forgive(part string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []string
	for _, c := range b.complaints {
		if strings.Contains(c, part) {
			n++
			continue
		}
		kept = append(kept, c)
	}
	b.complaints = kept
	return n
}

// call sends the browser a command for the page.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("the browser: %s: %v", command.Method, err)
	}
	return r
}

// do carries actions out.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("the browser: %v; the page shows\n%s", err, b.text())
	}
}

// text is what the page shows.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

// script fills an expression's %s with values, as JSON.
func script(expression string, args ...any) string {
	if len(args) == 0 {
		return expression
	}
	var all []any
	for _, a := range args {
		text, _ := json.Marshal(a) // of our own types
		all = append(all, string(text))
	}
	return fmt.Sprintf(expression, all...)
}

// js is what an expression comes to, a promise's end included.
func js[T any](b *tab, expression string, args ...any) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script(expression, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("the page: %s: %v", expression, err)
	}
	return v
}

// hold puts the mouse on an element and presses it; let lets go.
func (b *tab) hold(selector string) {
	b.t.Helper()
	at := js[[]float64](b, `(() => { const r = document.querySelector(%s).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`, selector)
	b.x, b.y = at[0], at[1]
	b.do(chromedp.MouseEvent(chromedp.MousePressed, b.x, b.y, chromedp.ButtonLeft, clicks))
}

func (b *tab) let() {
	b.t.Helper()
	b.do(chromedp.MouseEvent(chromedp.MouseReleased, b.x, b.y, chromedp.ButtonLeft, clicks))
}

func clicks(p *input.DispatchMouseEventParams) { p.ClickCount = 1 }

// click is a press and a release.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.hold(selector)
	b.let()
}

// until waits for an expression to be true.
func (b *tab) until(expression string, args ...any) {
	b.t.Helper()
	b.within(patience, expression, args...)
}

// within is until with its own patience.
func (b *tab) within(limit time.Duration, expression string, args ...any) {
	b.t.Helper()
	expression = script(expression, args...)
	end := time.Now().Add(limit)
	for time.Now().Before(end) {
		// The page waits by itself for a while, so that few messages go to and fro.
		if js[bool](b, `(async () => { for (let i = 0; i < 20; i++) { try { if (`+expression+`) return true; } catch {} await new Promise((r) => setTimeout(r, 10)); } return false; })()`) {
			return
		}
	}
	b.t.Fatalf("this never came true: %s; the page shows\n%s", expression, b.text())
}
