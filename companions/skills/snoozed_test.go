package skills

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// "Snooze" is about what was heard last, whichever skill it is of, for two minutes; with a name it is the skill's own.
func TestWhatWasHeardLastIsSnoozed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Snoozed
		tool := func(of string) func(Context, json.RawMessage) (Result, error) {
			return func(Context, json.RawMessage) (Result, error) { return Result{Output: of}, nil }
		}
		is := func(of, args, want string) {
			t.Helper()
			if r, err := last.Tool(of, tool(of))(Context{}, json.RawMessage(args)); err != nil || r.Output != want {
				t.Errorf("%s of %s: %q, %v; want %q", args, of, r.Output, err, want)
			}
		}
		is("timers", `{}`, "timers")
		last.Heard("reminders", tool("reminders"))
		is("timers", `{"seconds":300}`, "reminders")
		is("timers", ``, "timers")
		is("timers", `{"name":"the pasta"}`, "timers")
		is("reminders", `{}`, "reminders")
		last.Heard("timers", tool("timers"))
		is("timers", `{}`, "timers")
		is("reminders", `{}`, "timers")
		<-time.After(meant + 1)
		is("reminders", `{}`, "reminders")

		var none *Snoozed
		none.Heard("timers", tool("timers"))
		if r, err := none.Tool("timers", tool("timers"))(Context{}, json.RawMessage(`{}`)); err != nil || r.Output != "timers" {
			t.Error(r, err)
		}
	})
}
