package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"conch/device/config"
	"conch/device/language"
)

// DoorOptions is what a door needs of the device.
type DoorOptions struct {
	Web          config.Web
	Talks        func() bool // pages may talk though web.talk does not say so; nil: they may not
	Setting      string      // what says where it listens, for advice; empty: web.listen
	Device       string      // its name, for people
	Language     language.Language
	Names        func() []string        // of this host now, as a browser may call it: kitchen, kitchen.local; its addresses and localhost always do
	Load         func() ([]byte, error) // the sessions, as Save got them last; nothing: there are none. Nil: they are in memory alone
	Save         func([]byte) error     // at each login and revocation, and once a day for a session that is used
	AuthorityDir string                 // where the page's authority is kept, mode 0700; empty: there can be none
	Now          func() time.Time       // nil: time.Now
	Log          *slog.Logger           // nil: none
	Self         int                    // uid of this process
	Sockets      int                    // to talk by, of one session; 0: two
	Group        int                    // gid that may use the control socket (SocketGroup); -1: none
}

// Rights is what whoever has opened the page may do.
type Rights string

// Rights.
const (
	Look Rights = "look" // see everything, change nothing
	All  Rights = "all"  // what the control socket allows its group
)

// Talk says whether a page may be a microphone, a loudspeaker and a button.
type Talk string

// Answers.
const (
	TalkYes      Talk = "yes"
	TalkNo       Talk = "no"       // web.talk is off, or this visitor may only look
	TalkInsecure Talk = "insecure" // it may, but browsers give no microphone to a page that came like this
)

// Visit is who has opened the page, once let in.
type Visit struct {
	Session  string // id; of a user of this machine: local-UID
	Rights   Rights
	Token    string // for X-Conch-Token, and for the first message of a socket
	Secure   bool   // encrypted
	Loopback bool   // from this machine, and by no proxy
	Talk     Talk
}

// TokenIs compares without telling by its time.
func (v Visit) TokenIs(token string) bool {
	return v.Token != "" && subtle.ConstantTimeCompare([]byte(v.Token), []byte(token)) == 1
}

type visitKey struct{}

// VisitFrom is who asks, in a handler behind a door. The context of the request ends with the session.
func VisitFrom(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

// TokenHeader is where a request that changes something has its token.
const TokenHeader = "X-Conch-Token"

// Bounds of a request.
const (
	maxHeader  = 16 << 10
	maxBody    = 64 << 10
	bodyTime   = 10 * time.Second
	headerTime = 5 * time.Second
	idleTime   = time.Minute
)

// Door is who may open the page (WEB.md 3). Make it with NewDoor. Its methods may be called on any goroutine.
type Door struct {
	o        DoorOptions
	sessions *sessions
	links    *links
	certs    *certs // nil: the page is not encrypted
	peer     func(remote, local netip.AddrPort) (uid int, ok bool)

	pages, addresses, guesses, callers *buckets
	guessed                            *buckets // lines of the log
	streams, sockets, greetings        counts
	local, network                     counts // connections

	mu   sync.Mutex
	open opened
}

// NewDoor reads the sessions that there are. An error says that they could not be read: there are none then, and the door is good.
func NewDoor(o DoorOptions) (*Door, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Names == nil {
		o.Names = func() []string { return nil }
	}
	var kept []byte
	var failed error
	if o.Load != nil {
		if kept, failed = o.Load(); failed != nil {
			kept = nil
		}
	}
	s, err := newSessions(kept, o.Now, o.Save, o.Log)
	if failed == nil {
		failed = err
	}
	if failed != nil {
		failed = fmt.Errorf("web: sessions: %w (whoever was let in needs another link: conch web link)", failed)
	}
	d := &Door{
		o: o, sessions: s, links: &links{now: o.Now}, certs: newCerts(o), peer: peerUID,
		pages: newBuckets(pageRate, pageBurst), addresses: newBuckets(addressRate, addressBurst),
		guesses: newBuckets(guessRate, guessBurst), guessed: newBuckets(1.0/60, 1), callers: newBuckets(connectionsRate, connectionsBurst),
	}
	return d, failed
}

// Wrap lets in who may, and answers everybody else. What comes to next has its origin checked, its body read, and where it changes
// something also the right to and a token; VisitFrom says who it is. The server has to be that of Server, or local users are strangers.
func (d *Door) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, refused := d.arrive(r)
		harden(w.Header(), a)
		if refused != "" {
			d.refuse(w, a, refused, http.StatusMisdirectedRequest)
			return
		}
		if wait := d.addresses.take(a.key, d.o.Now()); wait > 0 && !d.opens(r) {
			busy(w, wait)
			return
		}
		if refused := foreign(r, a); refused != "" {
			d.refuse(w, a, refused, http.StatusForbidden)
			return
		}
		if !readBody(w, r) {
			return
		}
		if d.serveOwn(w, r, a) {
			return
		}
		v, ok := d.visit(w, r, a)
		if !ok {
			d.turnAway(w, r)
			return
		}
		if wait := d.pages.take(v.Session, d.o.Now()); wait > 0 {
			busy(w, wait)
			return
		}
		if refused := overstep(r, v); refused != "" {
			d.refuse(w, a, refused, http.StatusForbidden)
			return
		}
		ctx, end := context.WithCancel(context.WithValue(r.Context(), visitKey{}, v.Visit))
		defer end()
		if v.ctx != nil {
			defer context.AfterFunc(v.ctx, end)()
			late, stop := context.WithTimeout(ctx, v.left)
			defer stop()
			ctx = late
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (d *Door) refuse(w http.ResponseWriter, a arrival, why string, status int) {
	d.o.Log.Debug("web.refused", "address", a.address, "why", why)
	http.Error(w, why, status)
}

// overstep says why a visitor may not do that.
func overstep(r *http.Request, v visitor) string {
	switch {
	case !changes(r) && !upgrades(r):
		return ""
	case v.Rights != All:
		return "this page may only look"
	case changes(r) && !v.TokenIs(r.Header.Get(TokenHeader)):
		return "this page is too old: load it again"
	}
	return ""
}

// changes says whether a request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// visitor is a visit, and when it ends.
type visitor struct {
	Visit
	ctx  context.Context // of the session; nil: a local user has none
	left time.Duration
}

// visit says who asks, and renews a session's cookie where that is due.
func (d *Door) visit(w http.ResponseWriter, r *http.Request, a arrival) (visitor, bool) {
	if a.known {
		id := "local-" + strconv.Itoa(a.uid)
		return d.visitor(Visit{Session: id, Rights: All, Token: d.token([]byte(id))}, a), true
	}
	s, renewed, ok := d.sessionOf(r, a)
	if !ok {
		return visitor{}, false
	}
	if c, err := r.Cookie(d.cookieName(a)); err == nil && renewed {
		http.SetCookie(w, d.cookie(c.Value, a))
	}
	v := d.visitor(Visit{Session: s.ID, Rights: Look, Token: d.token(s.Hash)}, a)
	if s.Rights == All {
		v.Talk = v.talk(d.talks(), a)
		if a.way != wayPlain {
			v.Rights = All
		}
	}
	v.ctx, v.left = s.ctx, max(0, s.Seen.Add(sessionLife).Sub(d.o.Now()))
	return v, true
}

func (d *Door) visitor(v Visit, a arrival) visitor {
	v.Secure, v.Loopback, v.Talk = a.encrypted, a.way == wayLocal, TalkNo
	if v.Rights == All {
		v.Talk = v.talk(d.talks(), a)
	}
	return visitor{Visit: v}
}

func (d *Door) talks() bool { return d.o.Web.Talk || d.o.Talks != nil && d.o.Talks() }

// talk is for whoever may do all: browsers give a microphone to an encrypted page, and to one of the machine itself that is called so
// (Secure Contexts, 3.1).
func (Visit) talk(on bool, a arrival) Talk {
	switch {
	case !on:
		return TalkNo
	case !a.encrypted && !a.literal:
		return TalkInsecure
	}
	return TalkYes
}

// token is a session's, made of what only this device knows: there is nothing to keep, and it counts after a restart.
func (d *Door) token(of []byte) string {
	m := hmac.New(sha256.New, d.sessions.key)
	m.Write(of)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:tokenSize])
}

// cookieName is of a port, since cookies are not (RFC 6265, 8.5), and of a way.
func (d *Door) cookieName(a arrival) string {
	name := "conch-" + strconv.Itoa(int(a.port))
	if a.way == wayTLS {
		return "__Host-" + name
	}
	return name
}

func (d *Door) cookie(secret string, a arrival) *http.Cookie {
	return &http.Cookie{
		Name: d.cookieName(a), Value: secret, Path: "/", MaxAge: int(sessionLife / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: a.way == wayTLS,
	}
}

// sessionOf is whose cookie came along. Two of the same name are none: one of them is not ours.
func (d *Door) sessionOf(r *http.Request, a arrival) (s session, renewed, ok bool) {
	if all := r.CookiesNamed(d.cookieName(a)); len(all) == 1 {
		return d.sessions.find(all[0].Value, a.way)
	}
	return session{}, false, false
}

// turnAway answers who is not let in. A browser that comes from elsewhere by a link has left its cookie at home (SameSite=Strict), and
// brings it when a page of ours sends it on.
func (d *Door) turnAway(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/" {
		l := d.o.Language
		d.page(w, http.StatusForbidden, onward, l.Phrase("door.out_title"), l.Phrase("door.out_text", "device", d.o.Device))
		return
	}
	http.Error(w, "not let in: open a link of conch web link", http.StatusForbidden)
}

// readBody reads all of a request within its bounds, so that nobody else waits for a slow one.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Body == nil || r.ContentLength == 0 {
		return true
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // where there is none, Server has not made it
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil { // the deadline stays: the server reads what is left
		w.Header().Set("Connection", "close")
		why := fmt.Sprintf("the request could not be read: at most %d bytes, within %.0f s", maxBody, bodyTime.Seconds())
		http.Error(w, why, http.StatusRequestEntityTooLarge)
		return false
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(data))
	return true
}

func busy(w http.ResponseWriter, wait time.Duration) {
	retryAfter(w, wait)
	http.Error(w, "too many requests: wait a moment", http.StatusTooManyRequests)
}

func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// serveOwn answers what is the door's own.
func (d *Door) serveOwn(w http.ResponseWriter, r *http.Request, a arrival) bool {
	switch path := r.URL.Path; {
	case path == pathAuthority || path == pathRoot:
		d.serveAuthority(w, r)
	case path == pathStyle:
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, style) // the browser went away: its loss
	case a.way == wayPlain && d.certs != nil:
		d.elsewhere(w, r, a)
	case path == pathIn || strings.HasPrefix(path, pathIn+"/"):
		d.serveLink(w, r, a)
	default:
		return false
	}
	return true
}
