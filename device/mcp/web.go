package mcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"sync/atomic"
	"syscall"
)

// web speaks with a server by HTTP: what the configuration has it say goes to that server alone, and what comes is bounded.
type web struct {
	by      *http.Transport
	to      *url.URL
	headers map[string]string
	trouble atomic.Pointer[string] // of the last request, in words
	refused atomic.Bool            // the last request, by a status
}

// RoundTrip is a request and its answer.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != w.to.Scheme || r.URL.Host != w.to.Host { // a redirection
		err := plain("it sends conch on to " + r.URL.Host + ", which is not the server that is configured")
		w.troubled(string(err))
		return nil, err
	}
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	res, err := w.by.RoundTrip(r)
	if err != nil {
		w.troubled(reason(err))
		return nil, err
	}
	if r.Method == http.MethodPost { // others it need not know
		w.trouble.Store(nil)
		w.refused.Store(res.StatusCode >= 400)
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		switch {
		case res.StatusCode >= 400:
			w.troubled("it answers: " + res.Status)
			if code, ok := r.Context().Value(status{}).(*atomic.Int64); ok {
				code.Store(int64(res.StatusCode))
			}
		case kind != "" && kind != "application/json" && kind != "text/event-stream":
			w.troubled("it answers with " + kind + ", as no server of MCP does")
		}
	}
	res.Body = body{&shortener{from: res.Body}, res.Body}
	res.ContentLength = -1
	return res, nil
}

func (w *web) troubled(text string) { w.trouble.Store(&text) }

// why says in words why the server is lost, where err is what the connection says.
func (w *web) why(err error) error {
	known := plain("")
	if text := w.trouble.Load(); text != nil && !errors.As(err, &known) {
		return plain(*text)
	}
	return plain(reason(err))
}

// reason is in words why something cannot be started or reached.
func reason(err error) string {
	var (
		known   plain
		name    *net.DNSError
		errno   syscall.Errno
		program *exec.Error
		not     tls.RecordHeaderError
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &known):
		return string(known)
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s cannot be looked up", name.Name)
	case errors.As(err, &not):
		return "it does not speak TLS: is it http instead of https?"
	case errors.As(err, &cert):
		return "its certificate is not believed: " + cert.Err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens at its address"
	case errors.As(err, &program):
		return program.Err.Error()
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF):
		return "it closed the connection"
	}
	return err.Error()
}

type body struct {
	io.Reader
	io.Closer
}
