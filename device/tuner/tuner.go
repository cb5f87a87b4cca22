// Package tuner connects to stations: streams of Icecast and the like over HTTP, and lists that name them (M3U, PLS, XSPF, ASX).
//
// Nobody waits for ever: a station has 5 s for its name and connection, 10 s with its certificate, 8 s until it has answered, 10 s between
// two pieces of its sound. Heads are of 64 KiB at most, lists too, ways of five redirections, lists in lists of two. What a stream is, its first bytes
// say. Connecting again after a loss is the business of who plays.
package tuner

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"conch/audio/decode"
	"conch/companions/skills"
	"conch/companions/voice/kit"
	"conch/device/config"
)

// Our choices.
const (
	connectFor = 5 * time.Second
	answerFor  = 8 * time.Second
	stalledFor = 10 * time.Second
	maxHead    = 64 << 10
	maxList    = 64 << 10
	maxWay     = 5 // redirections
	maxDepth   = 2 // lists in lists
	maxTries   = 4 // streams of a list
)

// Tuner opens stations.
type Tuner struct {
	stations []config.Station
	client   *http.Client
}

// New is a tuner; roots are the authorities that may vouch for a server, those of the system if nil.
func New(stations []config.Station, roots *x509.CertPool) *Tuner {
	d := net.Dialer{Timeout: connectFor}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	secure := tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * connectFor}, Config: config}
	return &Tuner{stations: stations, client: &http.Client{
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: loose(d.DialContext), DialTLSContext: loose(secure.DialContext),
			TLSClientConfig: config, TLSHandshakeTimeout: connectFor, // behind a proxy
			ResponseHeaderTimeout: answerFor, MaxResponseHeaderBytes: maxHead,
			DisableKeepAlives: true, DisableCompression: true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxWay {
				return errWay
			}
			return checkScheme(req.URL)
		},
	}}
}

// Radio is what a skill may know of it; nil where there are no stations.
func (t *Tuner) Radio() *skills.Radio {
	if len(t.stations) == 0 {
		return nil
	}
	r := &skills.Radio{Open: func(ctx context.Context, station string) (skills.Live, error) { return t.Open(ctx, station) }}
	for _, s := range t.stations {
		r.Stations = append(r.Stations, s.Name)
	}
	return r
}

// Open connects to a station.
func (t *Tuner) Open(ctx context.Context, station string) (*Stream, error) {
	n := slices.IndexFunc(t.stations, func(s config.Station) bool { return s.Name == station })
	if n < 0 {
		return nil, fmt.Errorf("there is no station %s", station)
	}
	client := *t.client
	client.Jar, _ = cookiejar.New(nil) // it never fails; what a server sets on the way counts on this way alone
	s, err := follow(ctx, &client, t.stations[n].URL, 0)
	if err != nil {
		say, final := words(err)
		return nil, &skills.SpokenError{Say: station + " cannot be played: " + say, Final: final, Err: cause(err)}
	}
	return s, nil
}

var (
	errWay     = ownError("it sends from one address to the next, and never to a sound")
	errStalled = ownError("it is connected and brings nothing")
)

func checkScheme(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ownError("it sends to what is no address of the web")
	}
	return nil
}

// follow connects to an address, and to those that it names.
func follow(ctx context.Context, client *http.Client, address string, depth int) (*Stream, error) {
	if depth > maxDepth {
		return nil, errWay
	}
	b, err := get(ctx, client, address)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(b, maxList)
	head, err := r.Peek(sniffed)
	if len(head) == 0 && err != nil {
		b.Close()
		return nil, err
	}
	if isText(head) {
		head, err = r.Peek(maxList)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			b.Close()
			return nil, err
		}
		addresses, err := entries(head, isListed(b.res))
		if !errors.Is(err, errNoList) { // else a decoder says what it is
			b.Close()
			if errors.Is(err, errPage) && b.res.Request.Response != nil {
				return nil, errAside
			} else if err != nil {
				return nil, err
			}
			return first(ctx, client, b.res.Request.URL, addresses, depth)
		}
	}
	s := &Stream{b: b}
	if s.live, err = decode.NewLive(r); err != nil {
		b.Close()
		return nil, err
	}
	if s.first, err = s.live.Next(); err != nil {
		s.Close()
		return nil, err
	}
	b.kept()
	return s, nil
}

// first connects to the first address of a list that can be played.
func first(ctx context.Context, client *http.Client, base *url.URL, addresses []string, depth int) (*Stream, error) {
	if len(addresses) == 0 {
		return nil, ownError("its list names no stream")
	}
	var why error // of those that may come back, where there are any
	for _, entry := range addresses[:min(len(addresses), maxTries)] {
		u, err := base.Parse(entry)
		if err == nil {
			err = checkScheme(u)
		}
		if err == nil {
			var s *Stream
			if s, err = follow(ctx, client, u.String(), depth+1); err == nil {
				return s, nil
			}
		}
		if _, final := words(err); why == nil || !final {
			why = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, why
}

// get asks for an address. ctx ends that until the stream is kept.
func get(ctx context.Context, client *http.Client, address string) (*body, error) {
	own, cancel := context.WithCancelCause(context.Background())
	b := &body{cancel: cancel, stop: context.AfterFunc(ctx, func() { cancel(ctx.Err()) })}
	b.stalled = time.AfterFunc(connectFor+connectFor+answerFor, func() { cancel(errStalled) })
	fail := func(err error) (*body, error) {
		if cause := context.Cause(own); cause != nil {
			err = cause
		}
		b.Close()
		return nil, err
	}
	req, err := http.NewRequestWithContext(own, http.MethodGet, address, nil)
	if err != nil {
		return fail(err)
	}
	req.Header.Set("User-Agent", "conch")
	req.Header.Set("Icy-MetaData", "1") // some bring it unasked, so it has to be understood all the same
	res, err := client.Do(req)          //nolint:bodyclose // body closes it
	if err != nil {
		return fail(err)
	}
	b.ctx, b.res, b.r = own, res, res.Body
	if res.StatusCode/100 != 2 { // some have a stream be 206, a part
		return fail(statusError(res.StatusCode))
	}
	var every int // some say it twice in one line
	if _, err := fmt.Sscanf(res.Header.Get("Icy-Metaint"), "%d", &every); err == nil && every > 0 {
		b.r = &icyReader{r: bufio.NewReaderSize(res.Body, 4<<10), every: every, left: every}
	}
	return b, nil
}

type statusError int

func (s statusError) Error() string {
	switch int(s) {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Sprintf("its server does not know that stream (%d)", int(s))
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("its server does not let us in (%d)", int(s))
	case http.StatusNetworkAuthenticationRequired:
		return fmt.Sprintf("the network wants a login first (%d)", int(s))
	}
	return fmt.Sprintf("its server answered %d %s", int(s), http.StatusText(int(s)))
}

// final says whether no later request will do: a mount whose source is away is a 404, and a full server a 403.
func (s statusError) final() bool {
	return s == http.StatusGone || s == http.StatusUnavailableForLegalReasons || s == http.StatusNetworkAuthenticationRequired
}

// body is what a server sends. Where nothing comes for too long, it fails.
type body struct {
	ctx     context.Context //nolint:containedctx // of the request, whose end is the stream's
	cancel  context.CancelCauseFunc
	stop    func() bool
	stalled *time.Timer
	res     *http.Response
	r       io.Reader
}

func (b *body) Read(p []byte) (int, error) {
	b.stalled.Reset(stalledFor)
	n, err := b.r.Read(p)
	b.stalled.Stop() // what is not asked for need not come
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// kept says that whoever asked for it may go.
func (b *body) kept() { b.stop() }

// Close ends it, and who reads.
func (b *body) Close() error {
	b.stop()
	b.stalled.Stop()
	b.cancel(net.ErrClosed)
	if b.res != nil {
		return b.res.Body.Close()
	}
	return nil
}

// Stream is a station that plays.
type Stream struct {
	b     *body
	live  *decode.Live
	first []int16 // what came first, not given yet
}

// Next gives the samples that come next.
func (s *Stream) Next() ([]int16, error) {
	if first := s.first; first != nil {
		s.first = nil
		return first, nil
	}
	pcm, err := s.live.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		say, _ := words(err)
		err = &skills.SpokenError{Say: say, Err: cause(err)}
	}
	return pcm, err
}

// Close ends it.
func (s *Stream) Close() error {
	err := s.b.Close() // first: the decoder reads of it
	s.live.Close()
	return err
}

// words says an error as a person wants to hear it; what it was exactly is for the log. final: trying again changes nothing.
func words(err error) (say string, final bool) {
	var (
		foreign  decode.ForeignError
		dns      *net.DNSError
		host     x509.HostnameError
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		status   statusError
		notTLS   tls.RecordHeaderError
		deadline net.Error
		own      ownError
		dial     *net.OpError
	)
	switch {
	case errors.As(err, &foreign):
		return "it sends " + foreign.Is + ", for which ffmpeg has to be installed", true
	case errors.As(err, &status):
		return status.Error(), status.final()
	case kit.ClockWrong(err, time.Now()):
		return "its certificate is not valid yet; is the clock of this device right?", false
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired; its server has to renew it", true
	case errors.As(err, &host), errors.As(err, &unknown), errors.As(err, &invalid):
		return "its certificate does not fit, so that anybody could be its server", true
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return "its server does not speak TLS; its address may have to begin with http", true
	case errors.As(err, &dns):
		return "nobody knows its server " + skills.Short(dns.Name), false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "its server breaks off", false
	case errors.As(err, &own):
		return own.Error(), own != errStalled && own != errHead
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &deadline) && deadline.Timeout():
		return "its server does not answer", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody answers at its server", false
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no way to its server; is the network there?", false
	case errors.As(err, &dial):
		return "its server cannot be reached", false
	case strings.Contains(err.Error(), "server response headers exceeded"), strings.Contains(err.Error(), "malformed"):
		return "its server does not speak HTTP as others do", false
	}
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		return "its server is not to be understood", false
	}
	return decode.Words(err), true
}

// ownError is what is said as it is.
type ownError string

func (e ownError) Error() string { return string(e) }

// cause leaves out what net/http puts before an error: the address may have a password in it.
func cause(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
