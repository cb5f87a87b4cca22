package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The voice is examined as one conversation with its server, because each step stands on the one before: name, connection,
// certificate, key, model, session. The first that fails is named; those after it are not guessed at. One request is made, for
// the list of models, and one session opened, in which nothing is asked: they cost nothing and change nothing.
func checkVoice(ctx context.Context, m *Machine, s *Subject) []Finding {
	v := s.Voice
	switch {
	case v.Rehearsal && v.KeyHidden:
		return unknown("", "whether there is a key", "sudo conch doctor")
	case v.Rehearsal:
		return tip("", "rehearsal ("+v.Why+")", "for a real voice: sudo conch key, or set OPENAI_API_KEY or voice.key_file")
	}
	if v.KeyTrouble != "" {
		return bad("key", strings.TrimPrefix(v.KeyTrouble, "config: "), "the key that is there cannot be used", "sudo conch key stores it anew")
	}
	u, err := url.Parse(v.URL)
	if err != nil || u.Host == "" {
		return bad("", "voice.url cannot be read", "a slip", "write it like wss://HOST/v1/realtime")
	}
	list, cancel := context.WithTimeout(ctx, modelsWait)
	a := m.askModels(list, u, v.Key, v.KeyHeader)
	cancel()
	out := a.findings(m, s, u)
	switch {
	case v.Guessed:
		out = append(out, note("dialect", "told by the server's first words, OpenAI's until then; voice.dialect names it")...)
	case v.Dialect != "":
		out = append(out, ok("dialect", "%s", v.Dialect)...)
	}
	out = append(out, modelFindings(m, s, a)...)
	if a.err == nil {
		out = append(out, sessionFindings(ctx, s, u)...)
	}
	return out
}

// sessionFindings opens a session; not beside the one that the running appliance has, because a server of one's own may have
// room for no second.
func sessionFindings(ctx context.Context, s *Subject, u *url.URL) []Finding {
	v := s.Voice
	r, here, err := s.running(ctx)
	lost := slices.ContainsFunc(r.Conditions, func(c Condition) bool { return c.Code == "voice.lost" })
	switch {
	case v.Session == nil:
		return nil
	case here && err == nil && r.Ready && !lost && v.Called != "" && strings.HasPrefix(r.Voice, v.Called+" "):
		return ok("session", "the running appliance has one")
	case v.KeyHidden:
		return unknown("session", "whether a session can be had", "sudo conch doctor")
	case inClear(u) && !home(u.Hostname()) && v.Key != "":
		return note("session", "not tried: the key would pass the network in the clear")
	}
	ctx, cancel := context.WithTimeout(ctx, sessionLimit)
	defer cancel()
	x := v.Session(ctx)
	switch said := x.Said; {
	case x.Err != nil && errors.Is(x.Err, context.DeadlineExceeded):
		return warn("session", "no session within "+sessionLimit.String(), "the server loads its model first, or it hangs",
			"wait, and look again: conch doctor")
	case x.Err != nil && said != "":
		return bad("session", "no session; the server says: "+said, x.Cause, x.Do)
	case x.Err != nil:
		return bad("session", "no session: "+x.Err.Error(), x.Cause, x.Do)
	case len(x.Without) > 0:
		return warn("session", fmt.Sprintf("opened without %s; the server says: %s", named(x.Without), said), "the server does not have a part of it",
			"look at voice.name, voice.transcription, voice.model and voice.dialect (conch check)")
	}
	return ok("session", "opened in %d ms; nothing was asked", x.Took.Milliseconds())
}

// answer is what the server said to a request for its models.
type answer struct {
	err    error
	took   time.Duration
	status int
	date   time.Time // the server's clock; zero: it did not say
	code   string    // of an error, as the provider names it
	models []model
	listed bool
}

type model struct {
	ID       string `json:"id"`
	Shutdown any    `json:"shutdown_date"` // a day or seconds since 1970; absent: none known
}

const (
	modelsWait  = 5 * time.Second
	modelsLimit = 4 << 20 // bytes; OpenAI's list has some 20 kB
	voiceLimit  = 6 * time.Second

	// A session is ready within a second; some servers load their models first. It is asked for behind the list of models.
	sessionLimit = 5 * time.Second
)

var errRedirect = errors.New("it sends us elsewhere")

// modelsURL is where the list of models is: beside the realtime endpoint.
func modelsURL(u *url.URL) string {
	w := *u
	w.Scheme = map[string]string{"wss": "https", "ws": "http"}[u.Scheme]
	w.Path, w.RawQuery, w.User = path.Join(path.Dir(strings.TrimSuffix(u.Path, "/")), "models"), "", nil
	return w.String()
}

func (m *Machine) client(verify bool) *http.Client {
	t := &http.Transport{
		DialContext: m.Dial, Proxy: m.Proxy, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: m.Roots, Time: m.Now, InsecureSkipVerify: !verify}, //nolint:gosec // only to read a date, without the key
	}
	// A redirect would carry the key to somebody else.
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}
}

func (m *Machine) askModels(ctx context.Context, u *url.URL, key, header string) (a answer) {
	if inClear(u) {
		key = "" // not for a look
	}
	a = m.get(ctx, modelsURL(u), key, header, true)
	var certificate *tls.CertificateVerificationError
	if errors.As(a.err, &certificate) { // whose fault is it, the certificate's or our clock's?
		a.date = m.get(ctx, modelsURL(u), "", "", false).date
	}
	return a
}

func (m *Machine) get(ctx context.Context, address, key, header string, verify bool) (a answer) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{err: err}
	}
	switch {
	case key != "" && header != "":
		req.Header.Set(header, key)
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
	began := time.Now()
	resp, err := m.client(verify).Do(req)
	a.took = time.Since(began)
	if err != nil {
		a.err = err
		return a
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	a.date, _ = http.ParseTime(resp.Header.Get("Date"))
	body, _ := io.ReadAll(io.LimitReader(resp.Body, modelsLimit))
	var said struct {
		Data  []model `json:"data"`
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil {
		a.models, a.listed = said.Data, a.status == http.StatusOK && said.Data != nil
		code, _ := said.Error.Code.(string)
		if codes.MatchString(code) {
			a.code = code
		} else if codes.MatchString(said.Error.Type) {
			a.code = said.Error.Type
		}
	}
	return a
}

// codes: a provider's name for an error. Its sentences are not shown: they repeat the key.
var codes = regexp.MustCompile(`^[a-z_]{1,40}$`)

// clear says whether the key would pass a network unencrypted.
func inClear(u *url.URL) bool { return u.Scheme == "ws" && far(u.Hostname()) }

// home says whether an address is of a private network (RFC 1918, RFC 4193) or a name that only such a one knows.
func home(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	return strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".lan") || !strings.Contains(host, ".")
}

const skewed = 60 * time.Second // our choice: certificates and tokens forgive minutes, a spoken time of day does not

func (a answer) findings(m *Machine, s *Subject, u *url.URL) []Finding {
	if a.err != nil {
		return a.failed(m, u)
	}
	out := ok("server", "%s answers in %d ms", u.Host, a.took.Milliseconds())
	switch {
	case inClear(u) && home(u.Hostname()):
		out = append(out, note("tls", "none: the key and what is said pass the house's network in the clear (voice.url is ws://)")...)
	case inClear(u):
		out = append(out, warn("tls", "voice.url is ws://: the key and what is said pass the network in the clear", "the server is used without encryption",
			"use wss://, or a server on this machine")...)
	}
	if !a.date.IsZero() {
		if skew := m.Now().Sub(a.date).Round(time.Second); skew.Abs() > skewed {
			out = append(out, warn("skew", fmt.Sprintf("this machine's clock is %s off the server's", skew), "nothing keeps the clock right",
				"sudo timedatectl set-ntp true, and see that the network lets NTP through (UDP port 123)")...)
		}
	}
	const newKey = "make a new key at the provider, then: sudo conch key (or put it where voice.key_file says)"
	switch {
	case inClear(u) && s.Voice.Key != "":
		out = append(out, note("key", "not tried: it would pass the network in the clear")...)
	case a.status == http.StatusOK && s.Voice.Key != "":
		out = append(out, ok("key", "accepted")...)
	case a.status == http.StatusOK:
		out = append(out, note("key", "the server wants none for its list of models")...)
	case a.status == http.StatusUnauthorized && s.Voice.Key == "" && s.Voice.KeyHidden:
		out = append(out, unknown("key", "whether the key is accepted", "sudo conch doctor")...)
	case a.status == http.StatusUnauthorized && s.Voice.Key == "":
		out = append(out,
			bad("key", "the server wants a key, and there is none", "no key is configured", "sudo conch key, or set OPENAI_API_KEY or voice.key_file")...)
	case a.status == http.StatusUnauthorized:
		out = append(out, bad("key", "the server does not accept the key", "it was revoked, is for another provider, or is not complete", newKey)...)
	case a.code == "insufficient_quota":
		out = append(out,
			bad("key", "the account has no money left", "the provider refuses until it is paid", "add credit at the provider, or use another key")...)
	case a.status == http.StatusForbidden:
		out = append(out, warn("key", "the key may not list models"+because(a.code), "its rights are restricted, or the provider does not serve this place",
			"if it does not answer: give the key the rights for models and realtime")...)
	case a.status == http.StatusTooManyRequests:
		out = append(out, warn("key", "the server says: too many requests"+because(a.code), "a limit of the account was reached",
			"wait a minute; if it stays, see the account's limits")...)
	case a.status >= 500:
		out = append(out, warn("server", fmt.Sprintf("the server has trouble (HTTP %d)", a.status), "it is the provider's, or the server just starts",
			"wait; see the provider's status page")...)
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed, a.status == http.StatusNotImplemented:
		out = append(out, note("key", "the server has no list of models: key and model show when somebody asks")...)
	default:
		out = append(out, warn("server", fmt.Sprintf("an unexpected answer (HTTP %d%s)", a.status, because(a.code)), "this is not the server it should be",
			"see voice.url")...)
	}
	return out
}

func because(code string) string {
	if code == "" {
		return ""
	}
	return " (" + code + ")"
}

// failed says at which step no answer came.
func (a answer) failed(m *Machine, u *url.URL) []Finding {
	var (
		certificate *tls.CertificateVerificationError
		unknownCA   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		header      tls.RecordHeaderError
		alert       tls.AlertError
	)
	const clock = "sudo timedatectl set-ntp true; see clock"
	skew := m.Now().Sub(a.date)
	switch {
	case errors.Is(a.err, errRedirect):
		return bad("server", u.Host+" sends us elsewhere", "it is not the server, or a login page of the network is in between",
			"see voice.url; open a web page in this network")
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired:
		switch {
		case m.Now().Before(BuiltAfter), !a.date.IsZero() && skew.Abs() > time.Hour:
			return bad("tls", "no encrypted connection: by this machine's clock the certificate is not valid now", "the clock is wrong", clock)
		case m.Now().Before(invalid.Cert.NotBefore):
			return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not valid before "+
				invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04"), "it was made too new, or this clock is behind",
				"see clock; else it is the server's to mend")
		}
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate expired on "+invalid.Cert.NotAfter.UTC().Format("2006-01-02"),
			"nobody renewed it", "it is the server's to mend; if it is yours, renew its certificate")
	case errors.As(a.err, &hostname):
		return bad("tls", "no encrypted connection: the certificate is for another host than "+u.Hostname(),
			"the name in voice.url is not the one in the certificate, or something is in between", "use the name that is in it")
	case errors.As(a.err, &unknownCA):
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not signed by anybody known",
			"it is self-signed, the machine's list of authorities is missing, or something is in between",
			"sudo apt install --reinstall ca-certificates; of a server of your own: set voice.ca_file to its authority's certificate")
	case errors.As(a.err, &certificate):
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not valid", "see the clock and the server", clock)
	case errors.As(a.err, &header), strings.Contains(a.err.Error(), "server gave HTTP response to HTTPS client"):
		return bad("tls", "no encrypted connection: "+u.Host+" does not speak TLS",
			"voice.url has wss:// and the server only ws://, or the port is another one's", "see the scheme and port of voice.url")
	case errors.As(a.err, &alert):
		return bad("tls", "no encrypted connection: "+u.Host+" refuses ours", "the two do not agree on TLS", "see voice.url")
	}
	err := a.err
	if uerr := (*url.Error)(nil); errors.As(err, &uerr) {
		err = uerr.Err
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op != "dial" || errors.Is(err, io.EOF) {
		return bad("server", u.Host+" ends the connection without an answer", "it is not the server, or it is not well", "see voice.url and the server")
	}
	f := m.unreachable(u.Host, "voice.url", err)
	if f.Check == "" {
		f.Check = "server"
	}
	return []Finding{f}
}

// shutdown is when a model ends. Source: the deprecations in OpenAI's own typed SDK (openai-node 7.55.0) and pages, as
// collected in realtime/FACTS.md 0 on 2026-11-21; where the server's list has a date, that one counts.
var shutdown = []struct {
	model   string // or its beginning, before a "*"
	on      string
	instead string
}{
	{"gpt-realtime", "2027-01-20", "gpt-realtime-2.1"},
	{"gpt-realtime-mini", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"gpt-realtime-2025-*", "2027-01-20", "gpt-realtime-2.1"},
	{"gpt-realtime-mini-2025-*", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"gpt-audio-mini", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"tts-1", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"tts-1-hd", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"gpt-4o-mini-tts", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"gpt-4o", "2027-01-14", "gpt-6-luna"},
	{"gpt-4.1", "2027-01-14", "gpt-6-luna"},
	{"whisper-1", "2027-02-26", "gpt-transcribe"},
	{"gpt-4o-transcribe", "2027-02-26", "gpt-transcribe"},
	{"gpt-4o-mini-transcribe", "2027-02-26", "gpt-transcribe"},
}

// soon is how long before its end a model is worth a word.
const soon = 120 * 24 * time.Hour

// ends is when a model is shut down, as far as anybody knows.
func ends(name string, listed []model) (on time.Time, instead string, known bool) {
	for _, s := range shutdown {
		before, wild := strings.CutSuffix(s.model, "*")
		if s.model == name || wild && strings.HasPrefix(name, before) {
			on, _ = time.Parse(time.DateOnly, s.on)
			instead, known = s.instead, true
		}
	}
	for _, l := range listed {
		if l.ID != name {
			continue
		}
		switch d := l.Shutdown.(type) {
		case string:
			for _, layout := range []string{time.RFC3339, time.DateOnly} {
				if t, err := time.Parse(layout, d); err == nil {
					on, known = t, true
				}
			}
		case float64:
			if d > 0 {
				on, known = time.Unix(int64(d), 0), true
			}
		}
	}
	return on, instead, known
}

func modelFindings(m *Machine, s *Subject, a answer) (out []Finding) {
	official := strings.Contains(s.Voice.URL, "api.openai.com")
	for _, w := range []struct{ key, name string }{{"voice.model", s.Voice.Model}, {"voice.transcription", s.Voice.Transcription}} {
		if w.name == "" {
			continue
		}
		if a.listed && !slices.ContainsFunc(a.models, func(l model) bool { return l.ID == w.name }) {
			level, do := Bad, "set "+w.key+" to one that it has"
			if near := realtimes(a.models); w.key == "voice.model" && near != "" {
				do += ": " + near
			}
			if !official || w.key != "voice.model" { // compatible servers have aliases, and lists that are not complete
				level = Warn
			}
			out = append(out, Finding{Check: "model", Level: level, Text: fmt.Sprintf("the server does not list %s (%s)", w.name, w.key),
				Cause: "a slip, a model that was shut down, or a key that may not use it", Do: do})
			continue
		}
		var listed []model
		if a.listed {
			listed = a.models
		}
		on, instead, known := ends(w.name, listed)
		if !official && !slices.ContainsFunc(listed, func(l model) bool { return l.ID == w.name && l.Shutdown != nil }) {
			known = false // somebody else's server keeps what it likes
		}
		do := "set " + w.key + " to a newer one"
		if instead != "" {
			do = fmt.Sprintf("set %s = %q", w.key, instead)
		}
		day := on.UTC().Format(time.DateOnly)
		switch left := on.Sub(m.Now()); {
		case known && left <= 0:
			out = append(out, bad("model", w.name+" was shut down on "+day, "the provider ended it", do)...)
		case known && left < soon:
			out = append(out, warn("model", w.name+" will be shut down on "+day, "the provider ends it", do+" before that")...)
		case a.listed:
			out = append(out, ok("model", "%s is there", w.name)...)
		}
	}
	return out
}

// realtimes are a few names of models that talk.
func realtimes(all []model) string {
	var names []string
	for _, l := range all {
		if strings.Contains(l.ID, "realtime") && len(names) < 4 {
			names = append(names, l.ID)
		}
	}
	return strings.Join(names, ", ")
}
