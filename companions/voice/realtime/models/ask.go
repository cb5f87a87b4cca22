// Package models asks a Realtime server for its list of models, and says what that shows: name, connection, certificate, clock,
// key, and whether the models that are configured are there and stay. One request is made; it costs nothing and changes nothing.
package models

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"conch/companions/voice"
)

// Server is one, and how it is spoken to.
type Server struct {
	voice.Examined
	Endpoint  *url.URL
	KeyHeader string // where the key goes; "": Authorization
}

// Answer is what the server said to a request for its models.
type Answer struct {
	of     Server
	keyed  bool // a key is configured
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
	wait = 5 * time.Second
	most = 4 << 20 // bytes; OpenAI's list has some 20 kB
)

var errRedirect = errors.New("it sends us elsewhere")

// address is where the list of models is: beside the realtime endpoint.
func address(u *url.URL) string {
	w := *u
	w.Scheme = map[string]string{"wss": "https", "ws": "http"}[u.Scheme]
	w.Path, w.RawQuery, w.User = path.Join(path.Dir(strings.TrimSuffix(u.Path, "/")), "models"), "", nil
	return w.String()
}

func (s Server) client(verify bool) *http.Client {
	t := &http.Transport{
		DialContext: s.Dial, Proxy: s.Proxy, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: s.Roots, Time: s.Now, InsecureSkipVerify: !verify}, //nolint:gosec // only to read a date, without the key
	}
	// A redirect would carry the key to somebody else.
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}
}

// Ask asks for the list. The key goes to the server alone, over TLS or within this machine.
func (s Server) Ask(ctx context.Context) Answer {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	key := s.Key()
	keyed := key != ""
	if InClear(s.Endpoint) {
		key = "" // not for a look
	}
	a := s.get(ctx, key, true)
	var certificate *tls.CertificateVerificationError
	if errors.As(a.err, &certificate) { // whose fault is it, the certificate's or our clock's?
		a.date = s.get(ctx, "", false).date
	}
	a.of, a.keyed = s, keyed
	return a
}

func (s Server) get(ctx context.Context, key string, verify bool) (a Answer) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address(s.Endpoint), nil)
	if err != nil {
		return Answer{err: err}
	}
	switch {
	case key != "" && s.KeyHeader != "":
		req.Header.Set(s.KeyHeader, key)
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
	began := time.Now()
	resp, err := s.client(verify).Do(req)
	a.took = time.Since(began)
	if err != nil {
		a.err = err
		return a
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	a.date, _ = http.ParseTime(resp.Header.Get("Date"))
	body, _ := io.ReadAll(io.LimitReader(resp.Body, most))
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

// InClear says whether the key would pass a network unencrypted.
func InClear(u *url.URL) bool { return u.Scheme == "ws" && voice.Far(u.Hostname()) }

// Home says whether an address is of a private network (RFC 1918, RFC 4193) or a name that only such a one knows.
func Home(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	return strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".lan") || !strings.Contains(host, ".")
}
