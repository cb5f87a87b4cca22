package cascade

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"conch/coordinator/turn"
)

func tool(name, skill, properties string) turn.ToolSpec {
	return turn.ToolSpec{Name: name, Skill: skill, Brief: skill + " in short", Description: "Does " + name + ". And more.",
		Schema: []byte(`{"type":"object","properties":{` + properties + `},"required":["x"],"additionalProperties":false}`)}
}

// TestBundle: the tools of a skill are one tool, and a call of it is one of theirs; tools that one cannot stand for are left as they are.
func TestBundle(t *testing.T) {
	number, text := `{"type":"integer","minimum":1,"description":"how much"}`, `{"type":"string","maxLength":60}`
	timers := []turn.ToolSpec{tool("set", "timers", `"seconds":`+number+`,"name":`+text), tool("cancel", "timers", `"name":`+text)}
	foreign := turn.ToolSpec{Name: "search", Skill: "wiki", Description: "Searches. In all of it.", Schema: []byte(`{"type":"object"}`)}
	for _, row := range []struct {
		name  string
		tools []turn.ToolSpec
		want  string
	}{
		{"a skill", timers, `timers: timers in short {"type":"object","properties":{"do":{"enum":["set","cancel"]},"name":{"type":"string"},"seconds":{"type":"integer"}},"required":["do"]}`},
		{"a tool of a server beside it", append([]turn.ToolSpec{foreign}, timers...), `search: Searches {"type":"object"} | timers: `},
		{"one tool alone", timers[:1], `set: Does set {`},
		{"two meanings of one argument", []turn.ToolSpec{tool("a", "s", `"x":`+number), tool("b", "s", `"x":`+text)}, `a: Does a {`},
		{"the name of a tool", []turn.ToolSpec{tool("stop", "stop", ""), tool("go", "stop", "")}, `stop: Does stop {`},
		{"an argument of the name", []turn.ToolSpec{tool("a", "s", `"do":`+text), tool("b", "s", "")}, `a: Does a {`},
		{"a schema that is none", []turn.ToolSpec{tool("a", "s", `"`), tool("b", "s", "")}, `a: Does a  | b: `},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, some := bundle(nil, row.tools)
			var got []string
			for _, s := range some {
				got = append(got, s.Name+": "+s.Description+" "+string(s.Schema))
			}
			if all := strings.Join(got, " | "); !strings.HasPrefix(all, row.want) {
				t.Errorf("%s\nwant %s", all, row.want)
			}
		})
	}
	for _, row := range []struct{ call, want string }{
		{`timers {"do":"set","seconds":60,"name":"pasta"}`, `set {"name":"pasta","seconds":60}`},
		{`timers {"do":"cancel","seconds":0,"name":null}`, `cancel {}`}, // a small model fills in all there is
		{`set {"seconds":60}`, `set {"seconds":60}`},                    // by its own name
		{`timers {"seconds":60}`, `timers {"seconds":60}`},
		{`timers {"do":"fly"}`, `timers {"do":"fly"}`},
		{`timers {"do":7}`, `timers {"do":7}`},
		{`timers nonsense`, `timers nonsense`},
		{`other {"do":"set"}`, `other {"do":"set"}`},
	} {
		name, args, _ := strings.Cut(row.call, " ")
		c := unbundle(call{id: "c", name: name, args: args}, timers)
		if got := c.name + " " + c.args; got != row.want || c.id != "c" {
			t.Errorf("%s is %s; want %s", row.call, got, row.want)
		}
	}
}

// TestBundledCallsOfTheTalk: what the model reads of its earlier calls is of the tools that it is offered.
func TestBundledCallsOfTheTalk(t *testing.T) {
	calls := []openai.ToolCall{
		{ID: "1", Function: openai.FunctionCall{Name: "set", Arguments: `{"x":1}`}}, {ID: "2", Function: openai.FunctionCall{Name: "gone", Arguments: `{}`}},
	}
	m, _ := bundle([]openai.ChatCompletionMessage{{Role: "assistant", ToolCalls: calls}}, []turn.ToolSpec{tool("set", "timers", ""), tool("list", "timers", "")})
	if got := m[0].ToolCalls; got[0].Function.Name != "timers" || got[0].Function.Arguments != `{"do":"set","x":1}` || got[1] != calls[1] {
		t.Errorf("%+v", got)
	}
	if calls[0].Function.Name != "set" {
		t.Error("the talk itself was changed")
	}
}
