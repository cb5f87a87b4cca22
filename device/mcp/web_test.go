package mcp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What the configuration has conch say to a server is said to no other, wherever that one sends on to.
func TestATokenIsShownToItsServerAlone(t *testing.T) {
	shown := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown <- r.Header.Get("Authorization") }))
	defer thief.Close()
	srv := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	to, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	by := http.DefaultTransport.(*http.Transport).Clone()
	defer by.CloseIdleConnections()
	c := http.Client{Transport: &web{by: by, to: to, headers: map[string]string{"Authorization": "Bearer let me in"}}}
	res, err := c.Post(srv.URL, "application/json", strings.NewReader("{}"))
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not the server that is configured") || len(shown) != 0 {
		t.Errorf("%v; another server was spoken to: %v", err, len(shown) != 0)
	}
}
