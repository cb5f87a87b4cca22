package web_test

import (
	"bytes"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"conch/device/web"
)

// camera reads the QR code on the screen, from a picture of the page.
func (b *tab) camera() string {
	b.t.Helper()
	at := js[[]float64](b, `(() => {
		const svg = document.querySelector('#link-picture svg'), r = svg.getBoundingClientRect();
		return [r.left * devicePixelRatio, r.top * devicePixelRatio, r.width * devicePixelRatio, svg.viewBox.baseVal.width];
	})()`)
	img, err := png.Decode(bytes.NewReader(b.shot()))
	if err != nil {
		b.t.Fatal(err)
	}
	const quiet = 4
	dark := func(x, y int) bool {
		module := at[2] / at[3]
		r, _, _, _ := img.At(int(at[0]+(float64(x+quiet)+0.5)*module), int(at[1]+(float64(y+quiet)+0.5)*module)).RGBA()
		return r < 0x8000
	}
	size := int(at[3]) - 2*quiet
	for i := -quiet; i < size+quiet; i++ {
		if dark(i, -quiet) || dark(i, size+quiet-1) || dark(-1, i) || dark(size, i) {
			b.t.Fatal("the code has no quiet around it")
		}
	}
	text, err := web.ReadQR(size, dark)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// opened opens a link as the telephone's browser does, button and all.
func opened(t *testing.T, link string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, link, nil)
	req.Header.Set("Origin", u.Scheme+"://"+u.Host)
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("the link: %d", resp.StatusCode)
	}
}

// By keys alone: a link, its picture as a camera sees it in the light and in the dark, what a screen reader is told, how long it counts, and
// that it is gone once it was opened, and once its time is over.
func TestThePageInvitesATelephone(t *testing.T) {
	h := build(t, houseOptions{listen: "0.0.0.0:0"})
	for name, l := range map[string]look{"telephone": telephone, "desk, dark": {width: 1280, height: 800, dark: true}, "small": {width: 320, height: 568, languages: "fr"}} {
		b := h.visit(l)
		b.to("#share")
		b.enter()
		b.until(`document.getElementById('link').open && document.getElementById('link-made').hidden`)
		b.to("#link-all")
		b.enter()
		b.until(`!document.getElementById('link-made').hidden`)
		link := js[string](b, `document.getElementById('link-url').textContent`)
		if strings.Contains(link, "127.0.0.1") {
			t.Skip("this machine has no address besides loopback: nobody comes over a network")
		}
		if got := b.camera(); got != link {
			t.Errorf("%s: a camera reads %q; the link is %q", name, got, link)
		}
		if got := js[string](b, `(() => { const p = document.querySelector('#link-picture svg'); return p.getAttribute('role') + ' ' + p.getAttribute('aria-label').includes('QR'); })()`); got != "img true" {
			t.Errorf("%s: a screen reader has the picture as %s", name, got)
		}
		if js[bool](b, `document.getElementById('link').scrollWidth > document.getElementById('link').clientWidth`) {
			t.Errorf("%s: the dialog is wider than the screen", name)
		}
		if l.languages != "" {
			continue
		}
		b.until(`/^1:5\d left$/.test(document.getElementById('link-left').textContent)`)
		if got := js[string](b, `document.getElementById('link-note').textContent`); !strings.Contains(got, "may only look") || !strings.Contains(got, "web.authority = true") {
			t.Errorf("%s: of a network that is not encrypted the page says %q", name, got)
		}

		js[bool](b, `(navigator.clipboard.writeText = async (text) => { globalThis.pasted = text; }, true)`)
		b.to("#link-copy")
		b.enter()
		b.until(`document.getElementById('link-copied').textContent === 'Copied.' && pasted === %s`, link)
		js[bool](b, `(navigator.clipboard.writeText = async () => { throw new Error(); }, true)`)
		b.enter()
		b.until(`document.getElementById('link-copied').textContent.includes('by hand') && getSelection().toString().trim() === %s`, link)

		opened(t, link)
		b.until(`document.getElementById('link-made').hidden && document.getElementById('link-text').textContent.startsWith('The link was opened')`)
		if js[int](b, `document.querySelectorAll('#link-picture *, #link-url[href]').length`) > 0 || strings.Contains(js[string](b, `document.body.textContent`), link) {
			t.Errorf("%s: the link is still there", name)
		}
		if !js[bool](b, `document.activeElement.id === 'link-all'`) {
			t.Errorf("%s: the keys are nowhere", name)
		}

		b.to("#link-look")
		b.enter()
		b.until(`!document.getElementById('link-made').hidden`)
		b.until(`document.getElementById('link-note').textContent === ''`)
		js[bool](b, `(() => { const then = performance.now() + 121000; performance.now = () => then; return true; })()`)
		b.until(`document.getElementById('link-made').hidden && document.getElementById('link-text').textContent.startsWith('The link counts no more')`)
		b.escape()
		b.until(`!document.getElementById('link').open`)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) > 0 {
		t.Errorf("the devices were asked for %q", h.asked)
	}
}

// A page on this machine alone has nothing for a camera, and says so, and what to set.
func TestThePageOfThisMachineInvitesNoTelephone(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(telephone)
	js[bool](b, `(document.getElementById('share').click(), document.getElementById('link-all').click(), true)`)
	b.until(`!document.getElementById('link-made').hidden`)
	if got := js[string](b, `document.getElementById('link-text').textContent`); !strings.Contains(got, "A telephone cannot open it") || !strings.Contains(got, `set web.listen = "0.0.0.0:`) {
		t.Errorf("the page says %q", got)
	}
	if js[int](b, `document.querySelectorAll('#link-picture *').length`) > 0 {
		t.Error("there is a picture that nobody can use")
	}
	b.until(`document.getElementById('link-url').textContent.startsWith('http://127.0.0.1:')`)
}
