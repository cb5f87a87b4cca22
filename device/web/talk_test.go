package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A page that is there answers, and keeps its place; one that went out of the house says nothing, and does not.
func TestAPageThatAnswersNoMoreHasGone(t *testing.T) {
	for _, there := range []bool{true, false} {
		pings, left := make(chan struct{}, 100), make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = c.CloseNow() }()
			attend(c.CloseRead(r.Context()), c, 500*time.Millisecond)
			close(left)
		}))
		c, _, err := websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { //nolint:bodyclose // it has closed it
			select {
			case pings <- struct{}{}:
			default:
			}
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
		if there {
			c.CloseRead(t.Context())
			for range 3 {
				select {
				case <-pings:
				case <-left:
					t.Fatal("a page that answers has gone")
				}
			}
		} else {
			<-left
		}
		_ = c.CloseNow()
		s.Close()
	}
}
