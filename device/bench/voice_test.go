package bench

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"conch/companions/voice/cascadetest"
	"conch/device/config"
)

// Each stage of a chain shows in the line that is its own.
func TestVoiceIsMeasuredStageByStage(t *testing.T) {
	chain := cascadetest.New(cascadetest.Script{Models: []string{"m"},
		Hear: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Text: "what is the capital of France", Wait: 40 * time.Millisecond}
		},
		Chat: func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Text: "It is Paris. It lies on the Seine.", Pace: 50}
		},
		Say: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Wait: 60 * time.Millisecond} }})
	s := httptest.NewServer(chain)
	defer s.Close()
	cfg := config.Default()
	cfg.Voice.Kind, cfg.Voice.URL = "cascade", s.URL
	report, err := MeasureVoice(t.Context(), cfg, 3, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	report.Print(&out)
	t.Logf("%s\n%s\n%s", report.Method, report.Called, &out)
	if len(report.Stages) != 3 {
		t.Fatalf("%d stages; want three: %+v", len(report.Stages), report.Stages)
	}
	least := []float64{40, 60, 120} // what the script waits for
	for i, x := range report.Stages {
		if x.N != 3 || x.Mid < least[i] || i > 0 && x.Mid <= report.Stages[i-1].Mid {
			t.Errorf("%s: %+v; want at least %v ms, and later than the one before", x.Name, x, least[i])
		}
	}
}

// Who cannot answer is told why at once: what no waiting mends is the end, with the stage; of all else one hears while it is waited for.
func TestAVoiceThatIsNotReadySaysWhy(t *testing.T) {
	t.Setenv("PATH", "") // nothing of this machine does it in its place
	always := func(p cascadetest.Reply) func(cascadetest.Request) cascadetest.Reply {
		return func(cascadetest.Request) cascadetest.Reply { return p }
	}
	for _, row := range []struct {
		name   string
		script cascadetest.Script
		err    string // "": it waits
		told   string
	}{
		{"hearing refused", cascadetest.Script{Hear: always(cascadetest.Reply{Status: 401, Body: `{"error":"no"}`})}, "hear: it wants a key", ""},
		{"hearing that is garbage", cascadetest.Script{Hear: always(cascadetest.Reply{Type: "application/json", Body: `{"text": "hel`})}, "hear: a transcript that cannot be read", ""},
		{"speech as AAC", cascadetest.Script{Say: always(cascadetest.Reply{Body: "\xff\xf1\x50\x80 and so on"})}, "speech: sound as AAC", ""},
		{"a web page", cascadetest.Script{Chat: always(cascadetest.Reply{Type: "text/html", Body: "<html>"})}, "chat: a web page", ""},
		{"a server that starts", cascadetest.Script{Chat: always(cascadetest.Reply{Status: 500, Body: `{"error":"starting"}`})}, "", "chat: the server refuses: status 500"},
	} {
		row.script.Models = []string{"m"}
		s := httptest.NewServer(cascadetest.New(row.script))
		cfg := config.Default()
		cfg.Voice.Kind, cfg.Voice.URL = "cascade", s.URL
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out := &told{want: row.told, seen: cancel}
		_, err := MeasureVoice(ctx, cfg, 1, out)
		if row.err != "" && (ctx.Err() != nil || !errors.Is(err, errUnready) || !strings.Contains(err.Error(), row.err) || !strings.Contains(err.Error(), "conch doctor")) {
			t.Errorf("%s: %v (%v); want %q, at once", row.name, err, ctx.Err(), row.err)
		}
		if row.told != "" && !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("%s: while it waits one reads %q; want %q", row.name, out.text, row.told)
		}
		cancel()
		s.Close()
	}
}

// told ends a wait once it has read something.
type told struct {
	want, text string
	seen       func()
}

func (d *told) Write(b []byte) (int, error) {
	if d.text += string(b); d.want != "" && strings.Contains(d.text, d.want) {
		d.seen()
	}
	return len(b), nil
}
