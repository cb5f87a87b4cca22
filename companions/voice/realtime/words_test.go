package realtime

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// Each refusal in words of its own, over real sockets: none of them sends anybody to look at the network.
func TestEachRefusalHasItsWords(t *testing.T) {
	says := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	failed := func(status int, code string) http.HandlerFunc {
		return says(status, "application/json", fmt.Sprintf(`{"error":{"message":"No: %s.","type":"invalid_request_error","code":%q}}`, code, code))
	}
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		tls   bool
		want  turn.Words
		fatal bool
		log   string
	}{
		{"no such model", failed(404, "model_not_found"), false, turn.WordsModelRefused, true, "No: model_not_found."},
		{"no such model, by a bad request", failed(400, "model_not_found"), false, turn.WordsModelRefused, true, "No: model_not_found."},
		{"no such model, in a close frame", func(w http.ResponseWriter, r *http.Request) {
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				_ = conn.Close(4000, "invalid_request_error.model_not_found")
			}
		}, false, turn.WordsModelRefused, true, "model_not_found"},
		{"a login page", says(200, "text/html", "<!DOCTYPE html><html>Welcome to the hotel</html>"), false, turn.WordsElsewhere, false, "a web page"},
		{"a login page that refuses", says(403, "text/html; charset=utf-8", "<html>log in</html>"), false, turn.WordsElsewhere, false, "a web page"},
		{"a wrong path", http.NotFound, false, turn.WordsElsewhere, false, "404"},
		{"an unknown authority", failed(500, "x"), true, turn.WordsNotTrusted, true, "unknown authority"},
		{"no TLS", failed(500, "x"), false, turn.WordsElsewhere, false, "HTTP response"},
		{"key", failed(401, "invalid_api_key"), false, turn.WordsKeyRefused, true, "No: invalid_api_key."},
		{"rights", failed(403, "unsupported_country_region_territory"), false, turn.WordsDenied, true, "No: unsupported"},
		{"too many requests", failed(429, "rate_limit_exceeded"), false, turn.WordsQuota, false, "No: rate_limit_exceeded."},
		{"no money", failed(429, "insufficient_quota"), false, turn.WordsNoCredit, false, "No: insufficient_quota."},
		{"trouble", says(503, "text/html", "<html>busy</html>"), false, turn.WordsServerError, false, "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(c.serve)
			if c.tls {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			address := "ws" + strings.TrimPrefix(server.URL, "http")
			if c.name == "no TLS" {
				address = strings.Replace(address, "ws://", "wss://", 1)
			}
			cfg := Config{URL: address}
			if err := cfg.defaults(); err != nil {
				t.Fatal(err)
			}
			_, err := cfg.open(t.Context(), "secret", kit.Wishes{}, 0, handshakeTimeout)
			if err == nil {
				t.Fatal("there is a session")
			}
			if say, fatal := kit.WordsOf(err, time.Now()); say != c.want || fatal != c.fatal {
				t.Errorf("%v is told as %s, fatal %v; want %s, %v", err, say, fatal, c.want, c.fatal)
			}
			if !strings.Contains(err.Error(), c.log) {
				t.Errorf("the log says %q; want %q in it", err, c.log)
			}
		})
	}
}

func TestAnAuthorityOfOnesOwn(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	cfg := Config{URL: "wss" + strings.TrimPrefix(server.URL, "https"), Roots: x509.NewCertPool()}
	cfg.Roots.AddCert(server.Certificate())
	if err := cfg.defaults(); err != nil {
		t.Fatal(err)
	}
	_, err := cfg.open(t.Context(), "", kit.Wishes{}, 0, handshakeTimeout)
	if say, _ := kit.WordsOf(err, time.Now()); say != turn.WordsElsewhere { // it was trusted, and speaks something else
		t.Errorf("%v is told as %s", err, say)
	}
}

// A server that has said why, and then is not even reached: its reason is kept for as long as somebody waits.
func TestTheBetterReasonIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		w := newWorld(t, func(c *Config) {
			dial := c.Dial
			c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if gone.Load() {
					return nil, errors.New("connection refused")
				}
				return dial(ctx, network, addr)
			}
		})
		w.status = http.StatusServiceUnavailable
		w.run()
		defer w.stop()
		w.want("lost server_error")
		gone.Store(true)
		time.Sleep(kit.ReasonKept / 2)
		w.want()
		time.Sleep(time.Minute)
		w.want("lost offline")
	})
}
