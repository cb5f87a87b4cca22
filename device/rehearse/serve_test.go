package rehearse

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// What is said of who is let in is so: a client without a key is not.
func TestServeSaysWhoIsLetIn(t *testing.T) {
	r, w := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, "127.0.0.1:0", "", "", slog.New(slog.DiscardHandler), w) }()
	first := make([]byte, 1024)
	n, err := r.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	line := string(bytes.TrimSpace(first[:n]))
	if !strings.Contains(line, "; a key has to be sent, and any will do; ") {
		t.Errorf("it says %q", line)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	for key, refused := range map[string]bool{"": true, "any": false} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/realtime?model=m", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if q.Close = true; key != "" {
			q.Header.Set("Authorization", "Bearer "+key)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := answer.StatusCode == http.StatusUnauthorized; got != refused {
			t.Errorf("with the key %q: %s", key, answer.Status)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
