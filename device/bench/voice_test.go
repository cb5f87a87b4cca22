package bench

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"conch/companions/voice/cascadetest"
	"conch/device/config"
)

// Each stage of a chain shows in the line that is its own, and who cannot answer is told why.
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
	chain.Be(cascadetest.Script{Models: []string{"m"}, Hear: func(cascadetest.Request) cascadetest.Reply {
		return cascadetest.Reply{Status: 401, Body: `{"error":"no"}`}
	}})
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := MeasureVoice(short, cfg, 1, io.Discard); err == nil {
		t.Error("a voice that cannot hear was measured")
	}
}
