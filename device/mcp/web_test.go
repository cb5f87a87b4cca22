package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"conch/device/config"
	"conch/device/mcp/mcptest"
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

// A server that has forgotten its session, as after a restart, refuses it in its own way: there is a new one, and the call is made once more.
func TestASessionThatIsForgottenIsMadeAnew(t *testing.T) {
	for name, row := range map[string]struct {
		code int
		body string // %s: the id of the request
	}{
		"not found":             {404, "no such session"},
		"gone":                  {410, ""},
		"bad request":           {400, "Bad Request: no valid session"},
		"error of the protocol": {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no valid session"},"id":%s}`},
		"error without its id":  {404, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Session not found"},"id":"server-error"}`},
		"error without any":     {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no valid session"},"id":null}`},
		"unavailable":           {503, "<html>"},
		"internal":              {500, "Internal Server Error"},
		"bad gateway":           {502, ""},
		"who is it":             {401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcptest.New("well")
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
			var forgotten atomic.Pointer[string]
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if id := r.Header.Get("Mcp-Session-Id"); r.Method != http.MethodPost || forgotten.Load() == nil || id != *forgotten.Load() {
					handler.ServeHTTP(w, r)
					return
				}
				var q struct{ ID json.RawMessage }
				_ = json.NewDecoder(r.Body).Decode(&q)
				w.WriteHeader(row.code)
				fmt.Fprint(w, strings.Replace(row.body, "%s", string(q.ID), 1))
			}))
			defer srv.Close()
			defer srv.CloseClientConnections()
			within := quick
			within.retryMin, within.retryMax = time.Hour, time.Hour // it is not waited for
			r := newRigIn(t, within, config.MCP{Name: "web", URL: srv.URL})
			r.there("web_echo")
			for range 2 {
				for session := range s.Sessions() {
					id := session.ID()
					forgotten.Store(&id)
				}
				r.says("web_echo", `{"text":"again"}`, "Echo: again")
			}
			if st := r.servers.States()[0]; st.Is != Ready || r.losses("web") != 0 {
				t.Errorf("%+v; want its tools kept", st)
			}
			r.stop()
			for session := range s.Sessions() {
				_ = session.Close()
			}
		})
	}
}

// A call that a server refuses while it knows the session is not made twice: it may have done a part.
func TestACallThatIsRefusedIsMadeOnce(t *testing.T) {
	cold := `{"jsonrpc":"2.0","error":{"code":-32000,"message":"the oven is cold"},"id":%s}`
	for _, row := range []struct {
		code       int
		body, want string
	}{
		{500, "", "web answers: 500 Internal Server Error"}, {503, cold, "web answers: 503 Service Unavailable"}, {400, cold, "web says: the oven is cold"},
	} {
		s := mcptest.New("well")
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
		var calls atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			var q struct {
				ID     json.RawMessage
				Method string
			}
			if _ = json.Unmarshal(data, &q); q.Method == "tools/call" {
				calls.Add(1)
				w.WriteHeader(row.code)
				fmt.Fprint(w, strings.Replace(row.body, "%s", string(q.ID), 1))
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(data))
			handler.ServeHTTP(w, r)
		}))
		r := newRig(t, config.MCP{Name: "web", URL: srv.URL})
		r.there("web_echo")
		r.refuses("web_echo", 10*time.Second, row.want)
		if st := r.servers.States()[0]; calls.Load() != 1 || st.Is != Ready || st.Lost != 0 {
			t.Errorf("%d calls, %+v; want one", calls.Load(), st)
		}
		r.stop()
		srv.CloseClientConnections()
		srv.Close()
	}
}
