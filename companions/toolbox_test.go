package companions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"conch/companions/skills"
	"conch/companions/skills/system"
	"conch/coordinator/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() time.Time { return time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC) }

func newBox(t *testing.T, tools ...skills.Tool) *Toolbox {
	t.Helper()
	b := NewToolbox(slog.New(slog.DiscardHandler), now)
	if err := b.Add("test", list(tools)); err != nil {
		t.Fatal(err)
	}
	return b
}

type list []skills.Tool

func (l list) Tools() []skills.Tool { return l }

func tool(name string, h func(skills.Context) (skills.Result, error)) skills.Tool {
	return skills.Tool{Name: name, Handler: func(ctx skills.Context, _ json.RawMessage) (skills.Result, error) { return h(ctx) }}
}

func TestSystemSkill(t *testing.T) {
	b := NewToolbox(slog.New(slog.DiscardHandler), now)
	if err := b.Add("system", system.Skill{}); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Specs()); n != 3 {
		t.Errorf("%d specs; want 3", n)
	}
	for _, row := range []struct {
		tool, args, output string
		effect             skills.Effect
	}{
		{"get_time", "", "It is 3:04 PM on Saturday, November 21, 2026.", nil},
		{"get_time", "{}", "It is 3:04 PM", nil},
		{"set_volume", `{"percent":30}`, "The volume is 30 percent.", skills.SetVolume{Percent: 30}},
		{"set_volume", `{"percent":150}`, "The volume is 100 percent.", skills.SetVolume{Percent: 100}},
		{"set_volume", `{"percent":-3}`, "The volume is 0 percent.", skills.SetVolume{}},
		{"stop", `{}`, "Stopped.", skills.CancelMedia{}},
	} {
		o := b.Call(t.Context(), turn.CallTool{Turn: "t-1", Name: row.tool, Args: row.args})
		if o.Failed || o.Effect != row.effect || !strings.Contains(o.Output, row.output) {
			t.Errorf("%s(%s) = %+v; want %q, %v", row.tool, row.args, o, row.output, row.effect)
		}
	}
	for _, row := range []struct{ tool, args, why string }{
		{"set_volume", `{"percent":30.5}`, "of type integer"},
		{"set_volume", `{"percent":"loud"}`, "of type integer"},
		{"set_volume", `{}`, `"percent" is missing`},
		{"set_volume", `{"percent":3,"room":"all"}`, `"room" is unknown`},
		{"set_volume", `[30]`, "not one JSON object"},
		{"set_volume", `{"percent":30} {}`, "not one JSON object"},
		{"set_volume", `null`, "not one JSON object"},
		{"set_volume", strings.Repeat(" ", maxArgs) + `{"percent":30}`, "too many"},
		{"stop", `{"now":true}`, `"now" is unknown`},
		{"explode", `{}`, "no tool named"},
	} {
		if o := b.Call(t.Context(), turn.CallTool{Turn: "t-1", Name: row.tool, Args: row.args}); !o.Failed || o.Effect != nil || !strings.Contains(o.Output, row.why) {
			t.Errorf("%s(%.40s) = %+v; want refused: %s", row.tool, row.args, o, row.why)
		}
	}
}

func TestToolThatPanicsApologises(t *testing.T) {
	b := newBox(t, tool("boom", func(skills.Context) (skills.Result, error) { panic("boom") }),
		tool("fails", func(skills.Context) (skills.Result, error) { return skills.Result{}, errors.New("the tap is shut") }),
		tool("loud", func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.SetVolume{Percent: 900}}, nil
		}))
	for name, want := range map[string]string{"boom": "went wrong", "fails": "the tap is shut", "loud": "between 0 and 100"} {
		if o := b.Call(t.Context(), turn.CallTool{Turn: "t-1", Name: name, Args: "{}"}); !o.Failed || o.Effect != nil || !strings.Contains(o.Output, want) {
			t.Errorf("%s = %+v; want an apology with %q", name, o, want)
		}
	}
}

// A tool is told by its context that its time or its turn is over; what it did all the same is what is said.
func TestToolThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t,
			tool("patient", func(ctx skills.Context) (skills.Result, error) { <-ctx.Done(); return skills.Result{}, ctx.Err() }),
			tool("done", func(ctx skills.Context) (skills.Result, error) {
				<-ctx.Done()
				return skills.Result{Output: "sent"}, nil
			}))
		for _, row := range []struct {
			tool, want string
			failed     bool
			end        func(context.Context) (context.Context, context.CancelFunc)
		}{
			{"patient", "took too long", true, func(c context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(c, 10*time.Second)
			}},
			{"patient", "interrupted", true, func(c context.Context) (context.Context, context.CancelFunc) {
				c, cancel := context.WithCancel(c)
				time.AfterFunc(time.Second, cancel)
				return c, cancel
			}},
			{"done", "sent", false, func(c context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(c, 10*time.Second)
			}},
		} {
			ctx, cancel := row.end(t.Context())
			if o := b.Call(ctx, turn.CallTool{Turn: "t-1", Name: row.tool, Args: "{}"}); o.Failed != row.failed || !strings.Contains(o.Output, row.want) {
				t.Errorf("%s: %+v; want %q, failed %v", row.tool, o, row.want, row.failed)
			}
			cancel()
		}
	})
}

func TestHugeOutputIsCut(t *testing.T) {
	b := newBox(t, tool("talks", func(skills.Context) (skills.Result, error) {
		return skills.Result{Output: strings.Repeat("ü", 1<<20)}, nil
	}))
	o := b.Call(t.Context(), turn.CallTool{Turn: "t-1", Name: "talks", Args: "{}"})
	if len(o.Output) > maxOutput || !strings.HasSuffix(o.Output, "[cut off here]") || strings.ToValidUTF8(o.Output, "") != o.Output {
		t.Errorf("%d bytes, ending %q", len(o.Output), o.Output[len(o.Output)-30:])
	}
}

func TestAddRefuses(t *testing.T) {
	fine := func(skills.Context) (skills.Result, error) { return skills.Result{}, nil }
	schema := tool("x", fine)
	schema.Schema = json.RawMessage(`{"type":"array"}`)
	many := make(list, maxTools+1)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i), fine)
	}
	b := newBox(t, tool("taken", fine))
	for want, l := range map[string]list{
		"1 to 64":    {tool("a b", fine)},
		"taken":      {tool("new", fine), tool("taken", fine)},
		"no handler": {{Name: "x"}},
		"object":     {schema},
		"more than":  many,
	} {
		if err := b.Add("bad", l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add = %v; want %q", err, want)
		}
	}
	if n := len(b.Specs()); n != 1 {
		t.Errorf("%d tools after refusals; want 1", n)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"percent":30}`)
	f.Add(`{"percent":1e400}`)
	b := NewToolbox(slog.New(slog.DiscardHandler), now)
	if err := b.Add("system", system.Skill{}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		o := b.Call(t.Context(), turn.CallTool{Turn: "t-1", Name: "set_volume", Args: args})
		if v, ok := o.Effect.(skills.SetVolume); ok && (v.Percent < 0 || v.Percent > 100) || o.Output == "" {
			t.Errorf("set_volume(%q) = %+v", args, o)
		}
	})
}
