package web

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The pages of the door: they need no script, and no right to anything.

// style is that of the door's pages.
const style = `body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 10vh auto; padding: 0 1.2rem; color: #1b1b1b; background: #fbfaf7 }
h1 { font-size: 1.5rem } code { overflow-wrap: anywhere }
button, a.button { display: inline-block; font: inherit; padding: .7em 1.6em; border: 0; border-radius: .5em }
button, a.button { background: #0b5a8a; color: #fff; text-decoration: none }
:focus-visible { outline: 3px solid #d08000; outline-offset: 2px }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #161616 } button, a.button { background: #8cc8f0; color: #10202a } }
`

// onward has the browser go on by itself, as from a page of ours.
const onward = `<meta http-equiv="refresh" content="0; url=` + pathIn + `">`

// form is one button.
func form(to, button string) string {
	return fmt.Sprintf(`<form method="post" action="%s"><button type="submit" autofocus>%s</button></form>`, html.EscapeString(to), html.EscapeString(button))
}

// page writes one, of text; more is HTML of ours, for the head where it is onward.
func (d *Door) page(w http.ResponseWriter, status int, more, title string, text ...string) {
	head := ""
	if more == onward {
		head, more = more, ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="%s"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<title>%s</title><link rel="icon" href="data:,"><link rel="stylesheet" href="%s">%s</head><body><main><h1>%[2]s</h1>`,
		html.EscapeString(d.o.Language.Code()), html.EscapeString(title), pathStyle, head)
	for _, line := range text {
		fmt.Fprintf(&b, "<p>%s</p>", html.EscapeString(line))
	}
	b.WriteString(more + "</main></body></html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(b.String())) // the browser went away: its loss
}

// elsewhere answers who does not encrypt where that is possible.
func (d *Door) elsewhere(w http.ResponseWriter, r *http.Request, a arrival) {
	switch {
	case d.Check() != nil:
		l := d.o.Language
		d.page(w, http.StatusServiceUnavailable, "", l.Phrase("door.broken_title"), l.Phrase("door.broken_text", "device", d.o.Device))
	case changes(r) || upgrades(r):
		http.Error(w, "this page is encrypted: https://"+a.host+"/", http.StatusUpgradeRequired)
	default:
		http.Redirect(w, r, "https://"+a.host+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}
}

// serveAuthority offers the root, and says before what it means to trust it.
func (d *Door) serveAuthority(w http.ResponseWriter, r *http.Request) {
	root := d.certs.authority()
	if root == nil {
		http.Error(w, "this page has no authority of its own", http.StatusNotFound)
		return
	}
	if r.URL.Path == pathRoot {
		w.Header().Set("Content-Type", "application/x-x509-ca-cert")
		w.Header().Set("Content-Disposition", `attachment; filename="conch-authority.crt"`)
		_, _ = w.Write(root.Raw)
		return
	}
	l, covers := d.o.Language, strings.Join(append(slices.Clone(root.PermittedDNSDomains), prefixes()...), ", ")
	get := fmt.Sprintf(`<p><a class="button" href="%s">%s</a></p>`, pathRoot, html.EscapeString(l.Phrase("door.trust_get")))
	d.page(w, http.StatusOK, get, l.Phrase("door.trust_title"),
		l.Phrase("door.trust_what", "device", d.o.Device),
		l.Phrase("door.trust_covers", "names", covers),
		l.Phrase("door.trust_compare", "fingerprint", fingerprint(root)),
		l.Phrase("door.trust_remove", "name", root.Subject.CommonName, "until", root.NotAfter.Format(time.DateOnly)))
}

func prefixes() (list []string) {
	for _, r := range ranges {
		list = append(list, r.String())
	}
	return list
}
