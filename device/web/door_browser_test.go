package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"conch/device/config"
	"conch/device/wait"
	"conch/device/web"
)

// A person taps a link in a chat, on another site: the page with the button comes, its button lets the browser in, and the next link of that chat
// to the page finds it let in, though a strict cookie stays at home at first.
func TestALinkFromAChat(t *testing.T) {
	chromium(t)
	address := ""
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && address == "" {
			address = n.IP.String()
		}
	}
	if address == "" {
		t.Skip("this machine has no address besides loopback: nobody comes over a network")
	}
	for name, c := range map[string]struct {
		web    config.Web
		scheme string
		rights web.Rights
		talk   web.Talk
	}{
		"encrypted":    {config.Web{Listen: "0.0.0.0:0", Talk: true, Authority: true}, "https", web.All, web.TalkYes},
		"in the clear": {config.Web{Listen: "0.0.0.0:0", Talk: true}, "http", web.Look, web.TalkInsecure},
	} {
		t.Run(name, func(t *testing.T) {
			door, err := web.NewDoor(web.DoorOptions{Web: c.web, Device: "kitchen", Names: func() []string { return []string{"kitchen.local"} }, AuthorityDir: t.TempDir(), Group: -1})
			if err != nil {
				t.Fatal(err)
			}
			list, err := door.Listen()
			if err != nil {
				t.Fatal(err)
			}
			serve(t, door.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				v := web.VisitFrom(r.Context())
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<link rel="icon" href="data:,">%s %s %v`, v.Rights, v.Talk, v.Secure)
			})), list[0])
			link, err := door.Link(false)
			if err != nil {
				t.Fatal(err)
			}
			_, port, _ := net.SplitHostPort(list[0].Addr().String())
			page := c.scheme + "://kitchen.local:" + port + "/"
			path := link.URL[strings.Index(link.URL, "/in/")+1:]
			chat, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<link rel="icon" href="data:,"><a id="in" href="%s%s">in</a> <a id="page" href="%[1]s">page</a>`, page, path)
			})}, chat)
			_, chatPort, _ := net.SplitHostPort(chat.Addr().String())
			b := open(t, "http://chat.example:"+chatPort+"/", look{flags: []string{
				"host-resolver-rules=MAP kitchen.local " + address + ", MAP chat.example 127.0.0.1", "ignore-certificate-errors",
			}})
			arrives(b, `document.querySelector("#page") !== null`)
			b.click("#page")
			arrives(b, `location.pathname === "/in" && document.body.innerText.includes("conch web link")`) // not let in, by itself onward
			b.do(chromedp.Navigate("http://chat.example:" + chatPort + "/"))
			arrives(b, `document.querySelector("#in") !== null`)
			b.click("#in")
			arrives(b, `document.querySelector("form button") !== null`)
			if colour := js[string](b, `getComputedStyle(document.querySelector("form button")).backgroundColor`); colour != "rgb(11, 90, 138)" {
				t.Errorf("the button is %s: it has no style", colour)
			}
			want := fmt.Sprintf("%s %s %v", c.rights, c.talk, c.scheme == "https")
			b.click("form button")
			arrives(b, `location.pathname === "/" && document.body.innerText === %s`, want)
			if cookies := js[string](b, "document.cookie"); cookies != "" {
				t.Errorf("a script sees the cookie: %s", cookies)
			}
			b.do(chromedp.Navigate("http://chat.example:" + chatPort + "/"))
			arrives(b, `document.querySelector("#page") !== null`)
			b.click("#page")
			arrives(b, `location.href === %s && document.body.innerText === %s`, page, want)
			b.forgive("403") // the answers without the cookie
		})
	}
}

// arrives waits for an expression to be true, on whatever page the browser is by then.
func arrives(b *tab, expression string, args ...any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	expression = script(expression, args...)
	if wait.Until(ctx, func() bool {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)) // an error: it is just going elsewhere
		return err == nil && ok
	}) != nil {
		b.t.Fatalf("this never came true: %s; the page shows\n%s", expression, b.text())
	}
}

// serve serves until the test ends.
func serve(t *testing.T, srv *http.Server, l net.Listener) {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = srv.Serve(l); close(done) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
}
