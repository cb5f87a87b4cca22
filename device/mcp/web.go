package mcp

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// web speaks with a server by HTTP: what the configuration has it say goes to that server alone, and what comes is bounded.
type web struct {
	by      *http.Transport
	to      *url.URL
	headers map[string]string
}

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != w.to.Scheme || r.URL.Host != w.to.Host { // a redirection
		return nil, fmt.Errorf("it sends conch on to %s, which is not the server that is configured", r.URL.Host)
	}
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	res, err := w.by.RoundTrip(r)
	if err == nil {
		res.Body = body{&shortener{from: res.Body}, res.Body}
		res.ContentLength = -1
	}
	return res, err
}

type body struct {
	io.Reader
	io.Closer
}
