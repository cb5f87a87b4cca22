package rehearsal

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestOfficialJavaScriptClientConverses lets the Realtime class of npm openai talk to the server (jstest/converse.mjs).
func TestOfficialJavaScriptClientConverses(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Pace = 4 // so that there is something left to cancel
	runJS(t, o, "converse")
}

// TestOfficialAgentsSDKConverses lets the agents SDK, with its defaults, be heard by the server's own turn detection, under a key of the
// server's own (jstest/agents.mjs).
func TestOfficialAgentsSDKConverses(t *testing.T) {
	o := quick()
	o.Pace, o.Key = 4, "a key of its own"
	runJS(t, o, "agents", o.Key)
}

// runJS has a script of jstest converse with a server.
func runJS(t *testing.T, o Options, script ...string) {
	t.Helper()
	_, url := serve(t, o)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "ws://"), "/v1/realtime")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // npm ci may have to run first
	defer cancel()
	out, err := exec.CommandContext(ctx, "jstest/run.sh", append([]string{address}, script...)...).CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
