package companions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
		o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: row.tool, Args: row.args})
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
		o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: row.tool, Args: row.args})
		if !o.Failed || o.Effect != nil || !strings.Contains(o.Output, row.why) {
			t.Errorf("%s(%.40s) = %+v; want refused: %s", row.tool, row.args, o, row.why)
		}
	}
}

func TestToolThatPanicsApologises(t *testing.T) {
	b := newBox(t, tool("boom", func(skills.Context) (skills.Result, error) { panic("boom") }),
		tool("fails", func(skills.Context) (skills.Result, error) { return skills.Result{}, errors.New("the tap is shut") }),
		tool("spoken", func(skills.Context) (skills.Result, error) {
			return skills.Result{}, fmt.Errorf("radio: %w", &skills.SpokenError{Say: "nobody answers there", Err: errors.New("dial tcp 127.0.0.1:1")})
		}),
		tool("asks", func(skills.Context) (skills.Result, error) {
			return skills.Result{}, errors.New("how long should it be?")
		}),
		tool("loud", func(skills.Context) (skills.Result, error) {
			return skills.Result{Effect: skills.SetVolume{Percent: 900}}, nil
		}))
	for name, want := range map[string]string{"boom": "went wrong", "fails": "the tap is shut", "spoken": `did not work: "nobody answers there".`,
		"loud": "between 0 and 100", "asks": `"how long should it be?"`} {
		o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: name, Args: "{}"})
		if !o.Failed || o.Effect != nil || !strings.Contains(o.Output, want) {
			t.Errorf("%s = %+v; want an apology with %q", name, o, want)
		}
		if name == "asks" && !strings.HasSuffix(o.Output, want) {
			t.Errorf("%q does not end with the question", o.Output)
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
			o := b.Call(ctx, turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: row.tool, Args: "{}"})
			if o.Failed != row.failed || !strings.Contains(o.Output, row.want) {
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
	o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: "talks", Args: "{}"})
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

// Arguments are checked however deep, and what is wrong is said so that a model can mend it and a person understands.
func TestArgumentsAreCheckedInDepth(t *testing.T) {
	deep := tool("scene", func(skills.Context) (skills.Result, error) { return skills.Result{Output: "done"}, nil })
	deep.Schema = json.RawMessage(`{
		"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["lamps"], "additionalProperties": false,
		"definitions": {"lamp": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
			"name": {"type": "string", "minLength": 1, "maxLength": 8, "pattern": "^[a-z]+$"},
			"level": {"type": "integer", "minimum": 0, "maximum": 100},
			"mode": {"enum": ["warm", "cold"]},
			"after": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}}}},
		"properties": {"lamps": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"$ref": "#/definitions/lamp"}}}}`)
	b := newBox(t, deep)
	for args, want := range map[string]string{
		`{"lamps":[{"name":"desk","level":3,"mode":"warm","after":1.5},{"name":"hall","after":null}]}`: "done",
		`{"lamps":[]}`:                                     `"lamps" must have at least 1 entries`,
		`{"lamps":[{"name":"a"},{}]}`:                      `"lamps[1].name" is missing`,
		`{"lamps":[{"name":"a","level":101}]}`:             `"lamps[0].level" must be at most 100`,
		`{"lamps":[{"name":"a","level":"full"}]}`:          `"lamps[0].level" must be of type integer, not string`,
		`{"lamps":[{"name":"a","mode":"red"}]}`:            `"lamps[0].mode" must be one of "warm", "cold"`,
		`{"lamps":[{"name":"A"}]}`:                         `"lamps[0].name" must match the pattern ^[a-z]+$`,
		`{"lamps":[{"name":"a","after":0}]}`:               `"lamps[0].after" must be more than 0`,
		`{"lamps":[{"name":"a","colour":1}],"scene":"x"}`:  `"lamps[0].colour" is unknown; "scene" is unknown`,
		`{"lamps":[{"name":"a"}],"a":1,"b":1,"c":1,"d":1}`: "; and 1 more",
		`{"lamps":` + strings.Repeat("[", 30000):           "not one JSON object",
	} {
		o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: "scene", Args: args})
		if !strings.Contains(o.Output, want) || o.Failed != (want != "done") {
			t.Errorf("%.80s = %+v; want %q", args, o, want)
		}
	}
}

// A schema that is none is refused; one that refers to a file of this device does not get it read.
func TestASchemaThatIsNone(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"wobbly"}}}`: `"wobbly" is no type of JSON`,
		`{"type":"object","$ref":"#"}`:                           "refers to itself",
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"anyOf":[{"not":{"$ref":"#/properties/a"}}]}}}`: "refers to itself",
		`{"type":"object","$dynamicRef":"#"}`:                      "not understood",
		`{"type":"object","properties":{"a":{"$ref":"#nowhere"}}}`: "schema: ",
		doubled(12): "more than 1000 parts",
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}`: "a schema must be whole",
		`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/x"}}}`: "a schema must be whole",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`:            "schema: ",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                 "schema: ",
		`{"type":"object"`:           "schema: ",
		`{"type":["object","null"]}`: "arguments are an object",
		`null`:                       "arguments are an object",
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`: "too many",
		`{"$schema":"https://nobody.example/draft","type":"object"}`:               "schema: ",
	} {
		x := tool("x", func(skills.Context) (skills.Result, error) { return skills.Result{}, nil })
		x.Schema = json.RawMessage(schema)
		err := NewToolbox(slog.New(slog.DiscardHandler), now).Add("bad", list{x})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; want %q", schema, err, want)
		}
	}
}

// doubled is a schema of n parts, of which each refers twice to the next: a value is held against the last one 2^n times.
func doubled(n int) string {
	defs := []string{`"d0":{"type":"object"}`}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]}`, i+1, i))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d%d","$defs":{%s}}`, n, strings.Join(defs, ","))
}

// A tool server's schema that doubles with each level of the arguments costs a bounded time, however deep a model nests them.
func TestNestedArgumentsCostABoundedTime(t *testing.T) {
	a, err := newArguments([]byte(`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]},"b":{"type":"array","items":{"type":"integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "{}" + strings.Repeat("}", n) }
	if err := a.check(deep(5)); err != nil {
		t.Error(err)
	}
	if err := a.check(deep(200)); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Error(err)
	}
	if err := a.check(`{"b":[1` + strings.Repeat(",2", 9000) + "]}"); err != nil {
		t.Errorf("a long list: %v", err)
	}
}

// Another library is the judge of what the schemas that servers write accept.
func TestArgumentsByAnotherJudge(t *testing.T) {
	for _, schema := range []string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"type":["string","null"]}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"integer","minimum":2}},"required":["a"]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"const":null}},"minProperties":1}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"$ref":"#"}}}},"additionalProperties":{"type":"number"}}`,
		`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"patternProperties":{"^b":{"type":"array","uniqueItems":true}}}`,
		`{"type":"object","if":{"required":["a"]},"then":{"properties":{"b":{"type":"boolean"}},"required":["b"]},"propertyNames":{"maxLength":1}}`,
		`{"type":"object","properties":{"a":{"not":{"type":"string"}},"b":false,"default":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"multipleOf":0.5},"b":{"items":{"enum":[1,"x",null]},"contains":{"const":1}}}}`,
		`{"$id":"https://tool.example/x","type":"object","properties":{"a":{"$ref":"#/$defs/n~1m"}},"$defs":{"n/m":{"minLength":2}}}`,
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:///x", doc); err != nil {
			t.Fatal(err)
		}
		judge, err := c.Compile("mem:///x")
		ours, ourErr := newArguments([]byte(schema))
		if (err == nil) != (ourErr == nil) {
			t.Errorf("%s: %v, and the judge %v", schema, ourErr, err)
		}
		if err != nil {
			continue
		}
		for _, v := range []string{"1", "2.5", "3.0", `"x"`, `"xyz"`, "null", "true", "[]", `[1,"x"]`, "[1,1]", "{}", `{"a":{}}`, `{"a":3}`} {
			for _, args := range []string{`{"a":` + v + `}`, `{"b":` + v + `}`, `{"a":2,"b":` + v + `}`, `{"cc":` + v + `}`, `{}`} {
				in, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
				if err != nil {
					t.Fatal(err)
				}
				want, got := judge.Validate(in), ours.check(args)
				if (want == nil) != (got == nil) {
					t.Errorf("%s with %s: %v, and the judge: %v", schema, args, got, want)
				}
			}
		}
	}
}

// Sources come and go while calls run. Skills win over sources, and sources whose names come first over the others, in whatever order
// they came.
func TestToolsComeAndGo(t *testing.T) {
	var log bytes.Buffer
	b := NewToolbox(slog.New(slog.NewTextHandler(&log, nil)), now)
	tools := func(prefix string, n int) (l list) {
		for i := range n {
			l = append(l, tool(fmt.Sprint(prefix, i), func(skills.Context) (skills.Result, error) { return skills.Result{Output: prefix}, nil }))
		}
		return l
	}
	names := func() (counts string) {
		n := map[byte]int{}
		for _, s := range b.Specs() {
			n[s.Name[0]]++
		}
		return fmt.Sprint("a", n['a'], " b", n['b'], " c", n['c'], " s", n['s'])
	}
	b.Replace("c", tools("c", 40))
	if err := b.Add("s", tools("s", 20)); err != nil {
		t.Fatal(err)
	}
	b.Replace("b", tools("b", 60))
	before := b.Specs()
	b.Replace("a", append(tools("a", 40), tool("s0", nil), tool("no good", nil), tools("a", 1)[0], tools("s", 2)[1]))
	if got := names(); got != "a40 b60 c8 s20" {
		t.Errorf("of 164 tools there are %s; want skills and the first sources whole", got)
	}
	if got, want := fmt.Sprint(b.LeftOut("a")), "[{no good a name is 1 to 64 letters, digits, _ and -} {a0 the name is taken} {s0 the name is taken} {s1 the name is taken}]"; got != want {
		t.Errorf("left out\n got %s\nwant %s", got, want)
	}
	if left := b.LeftOut("c"); len(left) != 32 || left[31] != (LeftOut{"c39", "a session takes 128 tools"}) {
		t.Errorf("%d of c are left out: %v", len(left), left)
	}
	if n := strings.Count(log.String(), logToolLeftOut); n != 36 {
		t.Errorf("%d lines of what was left out; want 36:\n%s", n, log.String())
	}
	if !b.Replace("b", nil) || b.Replace("b", nil) {
		t.Error("that b is gone is news, and only once")
	}
	if got := names(); got != "a40 b0 c40 s20" || len(before) != 120 {
		t.Errorf("without b: %s; a list that was taken before has %d", got, len(before))
	}
	if o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Name: "b1"}); !o.Failed || !strings.Contains(o.Output, "not there just now") {
		t.Errorf("a call of one that is gone: %+v", o)
	}
	var wg sync.WaitGroup // who calls while others come and go gets the one or the other
	for i := range 4 {
		wg.Go(func() {
			for range 100 {
				if i == 0 {
					b.Replace("b", tools("b", 3))
					b.Replace("b", nil)
				} else if o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Name: "a1"}); o.Output != "a" {
					t.Errorf("%+v", o)
				}
			}
		})
	}
	wg.Wait()
}

// A companion's session is told only of what its card names; one that calls another all the same is refused.
func TestACompanionCallsWhatItsCardNames(t *testing.T) {
	b := newBox(t, tool("stop", func(skills.Context) (skills.Result, error) { return skills.Result{Output: "stopped"}, nil }))
	b.May = func(companion, tool string) bool { return companion == "ada" }
	for who, failed := range map[turn.Who]bool{"ada": false, "ben": true} {
		if o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Who: who, Name: "stop"}); o.Failed != failed {
			t.Errorf("%s: %+v", who, o)
		}
	}
}

func TestTheLogOfAToolHasItsSkill(t *testing.T) {
	var log bytes.Buffer
	b := NewToolbox(slog.New(slog.NewTextHandler(&log, nil)), now)
	if err := b.Add("kettle", list{tool("boil", func(ctx skills.Context) (skills.Result, error) { ctx.Log.Info("hot"); return skills.Result{}, nil })}); err != nil {
		t.Fatal(err)
	}
	b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: "boil"})
	if want := "msg=hot skill=kettle turn=t-1 tool=boil"; !strings.Contains(log.String(), want) {
		t.Errorf("%s; want %s", log.String(), want)
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
		o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseUtterance, Turn: "t-1", Name: "set_volume", Args: args})
		if v, ok := o.Effect.(skills.SetVolume); ok && (v.Percent < 0 || v.Percent > 100) || o.Output == "" {
			t.Errorf("set_volume(%q) = %+v", args, o)
		}
	})
}

// TestWholeNumbers: a number that the schema takes for an integer is one for the tool, too, and so is a text that is one.
func TestWholeNumbers(t *testing.T) {
	a, err := newArguments([]byte(`{"type":"object","properties":{"seconds":{"type":"integer"},"share":{"type":"number"},"text":{"type":"string"},` +
		`"all":{"type":"array","items":{"type":"integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"seconds":600.0}`:                `{"seconds":600}`,
		`{"a":[6e2,{"b":-1.0E1}],"c":1.5}`: `{"a":[600,{"b":-10}],"c":1.5}`,
		`{"seconds": 600}`:                 `{"seconds": 600}`,
		`{"n":1e300}`:                      `{"n":1e300}`,
		`{"n":1e999}`:                      `{"n":1e999}`,
		`{"text":"1.0"}`:                   `{"text":"1.0"}`,
		`nonsense`:                         `nonsense`,
		`{"seconds":"600"}`:                `{"seconds":600}`,
		`{"seconds":" 6e2 "}`:              `{"seconds":600}`,
		`{"seconds":"600.0"}`:              `{"seconds":600}`,
		`{"seconds":"-5"}`:                 `{"seconds":-5}`,
		`{"seconds":"ten"}`:                `{"seconds":"ten"}`,
		`{"seconds":"0x10"}`:               `{"seconds":"0x10"}`,
		`{"seconds":"NaN"}`:                `{"seconds":"NaN"}`,
		`{"seconds":""}`:                   `{"seconds":""}`,
		`{"share":"0.5","text":"5"}`:       `{"share":0.5,"text":"5"}`,
		`{"all":["1",2.0,"x"]}`:            `{"all":[1,2,"x"]}`,
	} {
		if got := a.read(args); got != want {
			t.Errorf("%s is %s; want %s", args, got, want)
		}
	}
}
