package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"conch/device/condition"
	"conch/device/control"
)

// For people who do not see the page, or use no mouse.

const axeVersion = "4.14.1"

// axe is the source of axe-core, installed from npm where it is not yet.
func axe(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("axe", "node_modules", "axe-core")
	var have struct {
		Version string `json:"version"`
	}
	if text, err := os.ReadFile(filepath.Join(dir, "package.json")); err != nil || json.Unmarshal(text, &have) != nil || have.Version != axeVersion {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("no npm: nobody audits the page (apt install npm)")
		}
		cmd := exec.CommandContext(t.Context(), "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-progress", "--loglevel=error")
		cmd.Dir = "axe"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("npm ci failed, and nobody audits the page: %v\n%s", err, out)
		}
	}
	source, err := os.ReadFile(filepath.Join(dir, "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// finding is something that keeps people away.
type finding struct {
	ID, Help, Impact string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// audit fails the test for whatever axe finds.
func (b *tab) audit(source, when string) (rules int) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](source+"\n;undefined"))
		return err
	}))
	type result struct {
		Violations []finding
		Passes     int
	}
	r := js[result](b, `axe.run(document, { resultTypes: ['violations'] }).then((r) => ({ violations: r.violations, passes: r.passes.length }))`)
	for _, f := range r.Violations {
		for _, n := range f.Nodes {
			b.t.Errorf("%s: %s (%s, %s)\n\t%s\n\t%s", when, f.Help, f.ID, f.Impact, n.HTML, n.FailureSummary)
		}
	}
	return r.Passes
}

func TestNoFindingOfAnAudit(t *testing.T) {
	t.Parallel()
	source := axe(t)
	h := build(t, houseOptions{listen: "0.0.0.0:0"}) // a telephone may be invited
	h.is("kitchen", func(p *control.Picture) {
		p.Status.Conditions = []condition.Condition{{Code: "no_key", Text: "There is no key.", Do: "Run conch setup."}}
	})
	h.conversation()
	for _, l := range []struct {
		name string
		look
	}{
		{"desk", desk}, {"desk, dark", look{width: 1280, height: 800, dark: true}}, {"telephone", telephone},
		{"telephone, dark", look{width: 390, height: 844, phone: true, dark: true}}, {"small", look{width: 320, height: 480}},
	} {
		l.still = true // colours on their way to others are no finding
		b := h.visit(l.look)
		b.until(`document.querySelectorAll('.bubble').length >= 5`)
		rules := b.audit(source, l.name)
		if rules < 20 {
			t.Errorf("%s: %d rules were looked at; this proves nothing", l.name, rules)
		}
		js[bool](b, `(document.querySelectorAll('summary').forEach((s) => s.click()), true)`)
		b.until(`document.querySelectorAll('.vote').length >= 9`)
		h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 70, Floor: "ada", Who: "Ada", Turn: "t9", Heard: "Six", Rest: " minutes."})
		b.until(disc("Ada") + `.matches('.speaks')`)
		b.audit(source, l.name+", all unfolded, while Ada speaks")
		h.is("hall", func(p *control.Picture) { p.Alive = false })
		h.is("kitchen", func(p *control.Picture) { p.Status.Muted = true })
		b.until(disc("Cleo") + `.matches('.gone') && document.getElementById('mute').getAttribute('aria-pressed') === 'true'`)
		b.audit(source, l.name+", muted, one gone")
		js[bool](b, `(document.getElementById('share').click(), true)`)
		b.until(`document.getElementById('link').open`)
		b.audit(source, l.name+", inviting")
		js[bool](b, `(document.getElementById('link-all').click(), true)`)
		b.until(`document.getElementById('link-url').href.startsWith('http')`)
		b.audit(source, l.name+", with a link")
		h.is("hall", func(p *control.Picture) { p.Alive = true })
		h.is("kitchen", func(p *control.Picture) { p.Status.Muted = false })
		t.Logf("%s: %d rules passed, nothing found", l.name, rules)
	}
}

// key presses or releases one.
func (b *tab) key(down bool, key, code string, number int64, text string) {
	b.t.Helper()
	p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key, Code: code, WindowsVirtualKeyCode: number, NativeVirtualKeyCode: number}
	if down {
		p.Type, p.Text = input.DispatchKeyEventTypeKeyDown, text
	}
	call(b, input.DispatchKeyEvent, p)
}

func (b *tab) tap(key, code string, number int64, text string) {
	b.t.Helper()
	b.key(true, key, code, number, text)
	b.key(false, key, code, number, text)
}

func (b *tab) space(down bool) { b.t.Helper(); b.key(down, " ", "Space", 32, " ") }
func (b *tab) tabulator()      { b.t.Helper(); b.tap("Tab", "Tab", 9, "") }
func (b *tab) enter()          { b.t.Helper(); b.tap("Enter", "Enter", 13, "\r") }
func (b *tab) escape()         { b.t.Helper(); b.tap("Escape", "Escape", 27, "") }
func (b *tab) arrow(way string) {
	b.t.Helper()
	b.tap(way, way, map[string]int64{"ArrowRight": 39, "ArrowDown": 40}[way], "")
}

// to goes to an element by the tabulator alone.
func (b *tab) to(selector string) {
	b.t.Helper()
	for range 60 {
		if js[bool](b, `document.activeElement.matches(%s)`, selector) {
			if !js[bool](b, `document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
				b.t.Errorf("nobody sees that %s has the keys", selector)
			}
			return
		}
		b.tabulator()
	}
	b.t.Fatalf("the tabulator does not lead to %s", selector)
}

func TestTheKeyboardIsEnough(t *testing.T) {
	h := build(t, houseOptions{})
	h.conversation()
	b := h.visit(desk)
	b.until(`document.querySelectorAll('.bubble').length >= 5`)

	// Join, and hold to talk.
	b.to("#talk")
	b.enter()
	c := h.taken("kitchen")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	b.space(true)
	h.soon(c.down.Load, func() string { return "the space bar is down, and the button is not" })
	b.space(false)
	h.soon(func() bool { return !c.down.Load() }, func() string { return "the space bar is up, and the button is not" })
	js[bool](b, `(document.activeElement.blur(), true)`)
	b.space(true)
	h.soon(c.down.Load, func() string { return "the space bar is down on nothing, and the button is not" })
	b.space(false)
	h.soon(func() bool { return !c.down.Load() }, func() string { return "the button stays down" })

	// Silence.
	b.escape()
	h.wasAsked("kitchen hush {}")

	// A line, in which a space is a space.
	b.to("#text")
	presses := c.presses.Load()
	for _, r := range "hi you" {
		if r == ' ' {
			b.tap(" ", "Space", 32, " ")
			continue
		}
		b.tap(string(r), "Key"+strings.ToUpper(string(r)), int64(r-32), string(r))
	}
	b.enter()
	h.wasAsked(`kitchen ask {"text":"hi you"}`)
	if n := c.presses.Load(); n != presses {
		t.Errorf("a space in a line pressed the button")
	}

	// Knobs.
	b.to("#volume")
	b.arrow("ArrowRight")
	h.wasAsked(`kitchen volume {"percent":71}`)
	b.to("#mute")
	b.space(true)
	b.space(false)
	h.wasAsked(`kitchen mute {"muted":true}`)
	if n := c.presses.Load(); n != presses {
		t.Errorf("the space bar on another button pressed this one too")
	}
	b.to(".disc select")
	b.tap("o", "KeyO", 79, "o")
	h.soon(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return strings.Contains(strings.Join(h.asked, "\n"), `kitchen room/control {"companion":"ada","involvement":`)
	}, func() string { return fmt.Sprintf("nobody turned Ada; asked was %q", h.asked) })

	// Why.
	b.to(".bubble.answer summary")
	b.enter()
	b.until(`document.querySelectorAll('.vote').length === 3`)
	b.to("#scroll")
}
