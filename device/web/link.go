package web

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of links.
const (
	linkLife  = 2 * time.Minute
	maxLinks  = 16
	tokenSize = 16 // bytes, 26 letters: a person can type them
)

// ErrNoPage: there is nothing that a link could open.
var ErrNoPage = errors.New("there is no page on this device: web.listen is empty, or it could not be opened (conch status)")

// Link lets one more browser in, once.
type Link struct {
	URL       string   `json:"url"`
	Others    []string `json:"others"` // the same by other addresses of this device
	Seconds   float64  `json:"seconds"`
	Rights    Rights   `json:"rights"`
	Reach     Reach    `json:"reach"`
	ID        string   `json:"id"`                  // for LinkState; it opens nothing
	Authority string   `json:"authority,omitempty"` // SHA-256 of the certificate of the page's own authority, which a browser may have to be told to trust
	Explained string   `json:"explained,omitempty"` // address of the page that says how
}

// Reach is from where a link can be opened.
type Reach string

// Reaches.
const (
	ReachMachine   Reach = "machine"   // this machine alone
	ReachReadable  Reach = "readable"  // the network, not encrypted: to look at
	ReachEncrypted Reach = "encrypted" // the network
)

// LinkState is what has become of a link.
type LinkState string

// States of links.
const (
	LinkOut  LinkState = "out"  // it counts
	LinkUsed LinkState = "used" // it has let somebody in
	LinkOver LinkState = "over" // its time is over, or newer ones took its place
)

// links are those that are out. Of each only the hash is known.
type links struct {
	now func() time.Time

	mu   sync.Mutex
	all  []pending
	used []string // ids of the last maxLinks that let somebody in, oldest first
}

type pending struct {
	id     string
	hash   []byte
	rights Rights
	until  time.Time
}

// add makes one; the oldest of too many counts no more.
func (l *links) add(rights Rights) (token, id string) {
	token, id = spelled.EncodeToString(random(tokenSize)), spelled.EncodeToString(random(tokenSize))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if len(l.all) >= maxLinks {
		l.all = slices.Delete(l.all, 0, len(l.all)-maxLinks+1)
	}
	l.all = append(l.all, pending{id, hash(token), rights, l.now().Add(linkLife)})
	return token, id
}

// forget drops those that are over. A clock that was set back by hours makes no link live longer than from now. It needs mu.
func (l *links) forget() {
	now := l.now()
	l.all = slices.DeleteFunc(l.all, func(p pending) bool { return !now.Before(p.until) || p.until.Sub(now) > linkLife })
}

// use takes a link away, and says what it opens. However many ask at once, it counts once.
func (l *links) use(token string) (rights Rights, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.find(token)
	if at < 0 {
		return "", false
	}
	rights = l.all[at].rights
	if l.used = append(l.used, l.all[at].id); len(l.used) > maxLinks {
		l.used = slices.Delete(l.used, 0, len(l.used)-maxLinks)
	}
	l.all = slices.Delete(l.all, at, at+1)
	return rights, true
}

// find is the place of a link that counts; -1: it is none. It needs mu.
func (l *links) find(token string) int {
	l.forget()
	at := -1
	if token = strings.ToLower(token); !isToken(token) {
		return at
	}
	h := hash(token)
	for i, p := range l.all { // all of them, whichever it is
		if subtle.ConstantTimeCompare(p.hash, h) == 1 {
			at = i
		}
	}
	return at
}

// opens says that a request has a link that counts: no limit stands before it.
func (d *Door) opens(r *http.Request) bool {
	token, named := strings.CutPrefix(r.URL.Path, pathIn+"/")
	d.links.mu.Lock()
	defer d.links.mu.Unlock()
	return named && d.links.find(token) >= 0
}

// state says what has become of one. An id that was never given is over.
func (l *links) state(id string) LinkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	switch {
	case slices.Contains(l.used, id):
		return LinkUsed
	case slices.ContainsFunc(l.all, func(p pending) bool { return p.id == id }):
		return LinkOut
	}
	return LinkOver
}

// Link makes one. ErrNoPage: the page does not listen.
func (d *Door) Link(look bool) (Link, error) {
	bases := d.linkBases()
	if len(bases) == 0 {
		return Link{}, ErrNoPage
	}
	l := Link{Seconds: linkLife.Seconds(), Rights: All, Reach: d.reach(), Others: []string{}}
	if look {
		l.Rights = Look
	}
	token, id := d.links.add(l.Rights)
	l.ID = id
	for i, base := range bases {
		if url := base + "in/" + token; i == 0 {
			l.URL = url
		} else {
			l.Others = append(l.Others, url)
		}
	}
	if root := d.certs.authority(); root != nil && l.Reach == ReachEncrypted {
		l.Authority, l.Explained = fingerprint(root), strings.Replace(bases[0], "https://", "http://", 1)+strings.TrimPrefix(pathAuthority, "/")
	}
	d.o.Log.Info("web.link", "rights", string(l.Rights))
	return l, nil
}

// Paths of the door's own.
const (
	pathIn        = "/in"
	pathStyle     = "/in.css"
	pathAuthority = "/authority"
	pathRoot      = "/authority.crt"
)

// isToken: what cannot be one is not looked up.
func isToken(s string) bool {
	return len(s) == spelled.EncodedLen(tokenSize) && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// serveLink shows a link's page at GET, which takes nothing: previews of chats and scanners open every link. Its button takes it.
func (d *Door) serveLink(w http.ResponseWriter, r *http.Request, a arrival) {
	l := d.o.Language
	token, named := strings.CutPrefix(r.URL.Path, pathIn+"/")
	switch {
	case !named && (r.Method == http.MethodGet || r.Method == http.MethodHead): // from / without a cookie
		if _, ok := d.visit(w, r, a); ok {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		d.page(w, http.StatusForbidden, "", l.Phrase("door.out_title"), l.Phrase("door.out_text", "device", d.o.Device))
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		// A form that is sent by a page without a referrer has the origin null (Fetch, 3.2).
		w.Header().Set("Referrer-Policy", "same-origin")
		text := []string{l.Phrase("door.in_text", "device", d.o.Device)}
		if a.way == wayPlain {
			text = append(text, l.Phrase("door.in_plain"))
		}
		d.page(w, http.StatusOK, form(r.URL.Path, l.Phrase("door.in_button")), l.Phrase("door.in_title"), text...)
	case r.Method == http.MethodPost && named:
		d.letIn(w, r, a, token)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "this page is opened by a link, and its button", http.StatusMethodNotAllowed)
	}
}

// letIn takes a link, and begins a session. Whatever cookie came along is no part of it.
func (d *Door) letIn(w http.ResponseWriter, r *http.Request, a arrival, token string) {
	l, now := d.o.Language, d.o.Now()
	rights, ok := d.links.use(token)
	if wait := d.guesses.empty(a.key, now); !ok && wait > 0 {
		if d.guessed.take("", now) == 0 {
			d.o.Log.Warn("web.guessed", "address", a.address)
		}
		retryAfter(w, wait)
		d.page(w, http.StatusTooManyRequests, "", l.Phrase("door.many_title"), l.Phrase("door.many_text"))
		return
	}
	if !ok {
		d.guesses.take(a.key, now)
		d.page(w, http.StatusForbidden, "", l.Phrase("door.old_title"), l.Phrase("door.old_text", "device", d.o.Device))
		return
	}
	if old, _, there := d.sessionOf(r, a); there {
		_, _ = d.sessions.revoke(old.ID) // the new one takes its place
	}
	one, secret, _ := d.sessions.begin(rights, a.way, r.UserAgent(), a.address) // what is not written down counts until a restart; it is in the log
	d.o.Log.Info("web.let_in", "session", one.ID, "rights", string(rights), "way", string(a.way), "address", a.address)
	http.SetCookie(w, d.cookie(secret, a))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
