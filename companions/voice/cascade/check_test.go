package cascade

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"conch/companions/voice"
)

// The doctor says of each stage at OpenAI that its model ends: the mouth's has no successor.
func TestDoctorSaysWhichModelOfAChainEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"gpt-5"},{"id":"gpt-transcribe"},{"id":"gpt-4o-mini-tts"},{"id":"gpt-6-luna"}]}`)
	}))
	defer server.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	for _, row := range []struct {
		on, model string
		want      []string
	}{
		{"2026-01-01", "gpt-5", nil},
		{"2026-11-28", "gpt-5", []string{"chat gpt-5 will be shut down on 2026-12-11", "speak gpt-4o-mini-tts will be shut down on 2027-01-06"}},
		{"2027-01-10", "gpt-6-luna", []string{"speak gpt-4o-mini-tts was shut down on 2027-01-06"}},
	} {
		x := voice.Examined{Dial: dial, Now: func() time.Time {
			at, _ := time.Parse(time.DateOnly, row.on)
			return at
		}}
		x.Settings = voice.Settings{URL: "http://api.openai.com/v1", Model: row.model, Key: func() string { return "k" }}
		var got []string
		for _, f := range check(t.Context(), x) {
			if strings.Contains(f.Text, "shut down") {
				got = append(got, f.Part+" "+f.Text)
				if f.Part == "speak" && !strings.Contains(f.Do, "voice.speak") {
					t.Errorf("%s: what to do is %q", f.Text, f.Do)
				}
			} else if f.Level == voice.Bad {
				t.Errorf("%s: %s", f.Part, f.Text)
			}
		}
		if strings.Join(got, "; ") != strings.Join(row.want, "; ") {
			t.Errorf("%s with %s: %q; want %q", row.on, row.model, got, row.want)
		}
	}
}
