package cascade

import (
	"strings"
	"testing"
	"unicode/utf8"

	"conch/companions/voice/cascade/aloud"
	"conch/coordinator/turn"
)

var timer = []turn.ToolSpec{
	{Name: "set_timer", Skill: "timers", Brief: "Timers.", Schema: []byte(`{"type":"object","properties":{"seconds":{"type":"integer"},"name":{"type":"string"}}}`)},
	{Name: "list_timers", Skill: "timers", Brief: "Timers."},
}

// apart is what is said of a text that comes in pieces of n bytes, and the calls in it.
func apart(text string, n int, p aloud.Parts) (said string, calls []string) {
	p.Whole = true
	var all []aloud.Part
	for len(text) > n {
		all, text = append(all, p.Write(text[:n], false)...), text[n:]
	}
	all = append(append(all, p.Write(text, false)...), p.Write("", true)...)
	for _, w := range all {
		if w.Call == nil {
			said += w.Text
			continue
		}
		found := spelled(*w.Call, timer)
		for _, c := range found {
			calls = append(calls, c.name+" "+c.args)
		}
		if len(found) == 0 && !w.Hard {
			said += w.Text
		}
	}
	return strings.TrimSpace(said), calls
}

// TestMarks: of what a model writes, thoughts, marks and calls are not said, and nothing that is said is lost, whatever the pieces it comes in.
func TestMarks(t *testing.T) {
	const set = `set_timer {"seconds":600}`
	both := set + "\n" + `set_timer {"name":"tea","seconds":60}`
	for _, row := range []struct{ text, said, calls string }{
		{"It is three.", "It is three.", ""},
		{"If 3 < 4 and a<b then [1] and `x`.", "If 3 < 4 and a<b then [1] and `x`.", ""},
		{"This is <b>bold</b>.<br>", "This is <b>bold</b>.<br>", ""},
		// thoughts
		{"<think>They greet.</think>Hello.", "Hello.", ""},
		{"<think>\nThey greet.\n</think>\n\nHello.", "Hello.", ""},
		{"<thinking>Secret plan.</thinking> Four.", "Four.", ""},
		{"<Thought>a < b</Thought>Four.", "Four.", ""},
		{"<reasoning>One.</reasoning>Four.", "Four.", ""},
		{"<seed:think>One.</seed:think>Four.", "Four.", ""},
		{"[THINK]One.[/THINK]Four.", "Four.", ""},
		{"◁think▷One.◁/think▷Four.", "Four.", ""},
		{"<|begin_of_thought|>One.<|end_of_thought|>Four.", "Four.", ""},
		{"<|START_THINKING|>One.<|END_THINKING|>Four.", "Four.", ""},
		{"<unused94>thought\nOne.<unused95>Four.", "Four.", ""},
		{"Four.<think>Was that right?</think>", "Four.", ""},
		{"<think>It is four.", "It is four.", ""}, // lost otherwise
		{"<think>Two and two.\n\nIt is four.", "It is four.", ""},
		{"Hello.<think>More.", "Hello.", ""},
		{"</think>Four.", "Four.", ""},
		{"<think></think>Four.", "Four.", ""},
		// marks of templates
		{"It is four.<|im_end|>", "It is four.", ""},
		{"It is four.<|im_end|>\n<|im_start|>user\nAnd five?", "It is four.", ""},
		{"It is four.</s>", "It is four.", ""},
		{"It is four.<|eot_id|>", "It is four.", ""},
		{"It is four.<end_of_turn>", "It is four.", ""},
		{"It is four.<|endoftext|>Q: more", "It is four.", ""},
		{"It is four.<｜end▁of▁sentence｜>", "It is four.", ""},
		{"[INST] It is four. [/INST]", "It is four.", ""},
		{"<|im_start|>assistant\nIt is four.", "It is four.", ""},
		{"<|start_header_id|>assistant<|end_header_id|>\n\nIt is four.", "It is four.", ""},
		{"<s>It is four.", "<s>It is four.", ""}, // HTML, which is left out where it is read
		// harmony
		{"<|channel|>analysis<|message|>secret thoughts<|end|><|start|>assistant<|channel|>final<|message|>Visible words.", "Visible words.", ""},
		{"<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Words.<|return|>", "Words.", ""},
		{"<|channel|>commentary to=functions.set_timer <|constrain|>json<|message|>{\"seconds\":600}<|call|>", "", set},
		{"<|start|>assistant<|channel|>commentary to=functions.set_timer<|message|>{\"seconds\":600}", "", set},
		{"<|start|>assistant to=functions.set_timer<|channel|>commentary<|message|>{\"seconds\":600}<|call|>", "", set},
		// calls in the text
		{`{"name": "set_timer", "parameters": {"seconds": 600}}`, "", set},
		{` {"name": "set_timer", "arguments": "{\"seconds\": 600}"}`, "", set},
		{`[{"name": "set_timer", "arguments": {"seconds": 600}}, {"name": "set_timer", "arguments": {"seconds": 60, "name": "tea"}}]`, "", both},
		{`{"type":"function","function":{"name":"set_timer","arguments":{"seconds":600}}}`, "", set},
		{`{"tool":"set_timer","args":{"seconds":600}}`, "", set},
		{"```json\n{\"name\": \"set_timer\", \"arguments\": {\"seconds\": 600}}\n```", "", set},
		{"<tool_call>\n{\"name\": \"set_timer\", \"arguments\": {\"seconds\": 600}}\n</tool_call>", "", set},
		{"I set it.\n<tool_call>{\"name\": \"set_timer\", \"arguments\": {\"seconds\": 600}}</tool_call>\nDone.", "I set it.\n\nDone.", set},
		{"<think>A timer.</think><tool_call>{\"name\":\"set_timer\",\"arguments\":{\"seconds\":600}}</tool_call><|im_end|>", "", set},
		{"<tool_call>{\"name\":\"set_timer\",\"arguments\":{\"seconds\":600}}", "", set},
		{"<function=set_timer>{\"seconds\": 600}</function>", "", set},
		{"<tool_call>\n<function=set_timer>\n<parameter=seconds>\n600\n</parameter>\n</function>\n</tool_call>", "", set},
		{"<function=set_timer><parameter=seconds>60</parameter><parameter=name>7</parameter></function>", "", `set_timer {"name":"7","seconds":60}`},
		{`<invoke name="set_timer"><parameter name="seconds">600</parameter></invoke>`, "", set},
		{"<tool_call>set_timer\n<arg_key>seconds</arg_key>\n<arg_value>600</arg_value>\n</tool_call>", "", set},
		{`[TOOL_CALLS] [{"name": "set_timer", "arguments": {"seconds": 600}}]`, "", set},
		{`[TOOL_CALLS]set_timer[ARGS]{"seconds": 600}</s>`, "", set},
		{`<|python_tag|>{"name": "set_timer", "parameters": {"seconds": 600}}<|eom_id|>`, "", set},
		{`<|python_tag|>set_timer.call(seconds=600)`, "", set},
		{"<tool_code>\nprint(set_timer(seconds=600))\n</tool_code>", "", set},
		{"```tool_code\nprint(default_api.set_timer(seconds=600))\n```", "", set},
		{"```tool_code\nset_timer(seconds=60, name='tea')\nset_timer(seconds=600)\n```", "", `set_timer {"name":"tea","seconds":60}` + "\n" + set},
		{`<|tool_call|>[{"name": "set_timer", "arguments": {"seconds": 600}}]`, "", set},
		{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>set_timer\n```json\n{\"seconds\": 600}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "", set},
		{`<tool_call>{"name":"timers","arguments":{"do":"set_timer","seconds":600}}</tool_call>`, "", set},
		{"[set_timer(seconds=600)]", "", set},
		{`[set_timer(seconds=600), set_timer(seconds=60, name="tea")]`, "", both},
		{"set_timer(seconds=600)\n", "", set},
		{"<|python_start|>[set_timer(seconds=600)]<|python_end|>", "", set},
		{`functools[{"name": "set_timer", "arguments": {"seconds": 600}}]`, "", set},
		{`<|tool_calls_section_begin|><|tool_call_begin|>functions.set_timer:0<|tool_call_argument_begin|>{"seconds":600}<|tool_call_end|><|tool_calls_section_end|>`, "", set},
		{"<function_calls>\n<invoke name=\"set_timer\">\n<parameter name=\"seconds\">600</parameter>\n</invoke>\n</function_calls>", "", set},
		{"Thought: They want a timer.\nAction: set_timer\nAction Input: {\"seconds\": 600}", "", set},
		{"Action: set_timer\nAction Input: {\"seconds\": 600}\nObservation: It is set.\nFinal Answer: It is set.", "", set},
		{"**Thought:** A timer.\n**Action:** `set_timer`\n**Action Input:** {\"seconds\": 600}\n", "", set},
		{"Thought: A timer.\nAction: set_timer\nAction Input:\n```json\n{\"seconds\": 600}\n```", "", set},
		{"Thought: A timer.\nAction: set_timer(seconds=600)", "", set},
		{"Action: list_timers\nAction Input: {}", "", "list_timers {}"},
		{"Action: list_timers", "", "list_timers {}"},
		{"Thought: I know that.\nFinal Answer: It is four.", "It is four.", ""},
		{"Thought: I know that.\nAction: None\nAction Input: None\nFinal Answer: It is four.", "It is four.", ""},
		{"Thought: I know that.\nAction: Final Answer\nAction Input: It is four.", "It is four.", ""},
		{"Final Answer: It is four.", "It is four.", ""},
		{"Thought: It is four.", "It is four.", ""},
		{"Action: set_timer\nAction Input: ten minutes", "", ""},
		{"<tool_call>nonsense</tool_call>", "", ""},
		{"<tool_call>{\"name\":", "", ""},
		// what is none
		{`He wrote <tool_call>{"name":"set_timer","arguments":{"seconds":600}}</tool_call> to me.`, "He wrote  to me.", ""},
		{`The list has {"name": "set_timer", "arguments": {"seconds": 600}} in it.`, `The list has {"name": "set_timer", "arguments": {"seconds": 600}} in it.`, ""},
		{`{"answer": 4}`, `{"answer": 4}`, ""},
		{"```json\n{\"a\":1}\n```", "```json\n{\"a\":1}\n```", ""},
		{"Do this.\n```sh\nls\n```\nThat is all.", "Do this.\n```sh\nls\n```\nThat is all.", ""},
		{"```go\nx := 1\n```", "```go\nx := 1\n```", ""},
		{"[Music] It is four.", "[Music] It is four.", ""},
		{"f(x) is a function.", "f(x) is a function.", ""},
		{"Action: the hero jumps.", "Action: the hero jumps.", ""},
		{"Action films are loud.", "Action films are loud.", ""},
		{"My plan has three lines.\nAction: set_timer\nAction Input: {}", "My plan has three lines.\nAction: set_timer\nAction Input: {}", ""},
		{"print(x)", "print(x)", ""},
		{"functools is a module.", "functools is a module.", ""},
		{"Yes", "Yes", ""},
		{"[1] is a note.", "[1] is a note.", ""},
		{"{ is a brace.", "{ is a brace.", ""},
	} {
		for _, n := range []int{1, 2, 3, 7, 1000} {
			said, calls := apart(row.text, n, aloud.Parts{})
			if said != row.said || strings.Join(calls, "\n") != row.calls {
				t.Errorf("%q, %d bytes at a time: says %q, calls %q; want %q, %q", row.text, n, said, calls, row.said, row.calls)
				break
			}
		}
	}
}

// TestThoughtsThatNoMarkOpens: a template may open them in the prompt, so that an answer has the closing mark alone. From the second answer on
// nothing of them is said, and an answer without that mark is not lost.
func TestThoughtsThatNoMarkOpens(t *testing.T) {
	var p aloud.Parts
	p.Whole = true
	p.Write("They greet me.</think>Hello.", false)
	if p.Write("", true); !p.Early() {
		t.Fatal("it is not known")
	}
	var early aloud.Parts
	early.Begin(true)
	for text, want := range map[string]string{
		"They ask again.\n\nOnce more.</think>It is four.": "It is four.",
		"It is four.":             "It is four.",
		"It is four.\n\nOr five.": "It is four.\n\nOr five.",
	} {
		if said, _ := apart(text, 3, early); said != want {
			t.Errorf("%q: says %q; want %q", text, said, want)
		}
	}
}

// TestNoCallWhereNoToolWasOffered: words that are to be said are words, whatever they look like.
func TestNoCallWhereNoToolWasOffered(t *testing.T) {
	for _, body := range []string{`{"name":"set_timer","arguments":{}}`, "<function=set_timer>{}</function>", "set_timer(seconds=600)"} {
		if all := spelled(body, nil); len(all) > 0 {
			t.Errorf("%s: %v", body, all)
		}
	}
}

func FuzzMarks(f *testing.F) {
	for _, s := range []string{"<think>a</think>b", "<|channel|>final<|message|>x", "[TOOL_CALLS]x[ARGS]{}", "```json\n{}\n```", "{\"a\":[", "◁think▷", "<function=a>{}</function>", "f(a='\\'')"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || len(text) > 2000 {
			t.Skip("longer than what is looked at here, or no piece")
		}
		whole, calls := apart(text, 1<<20, aloud.Parts{})
		pieces, some := apart(text, n, aloud.Parts{})
		if whole != pieces || strings.Join(calls, "|") != strings.Join(some, "|") {
			t.Errorf("whole %q %q, in pieces %q %q", whole, calls, pieces, some)
		}
		if len(whole) > len(text) || utf8.ValidString(text) && !utf8.ValidString(whole) {
			t.Errorf("says %q", whole)
		}
	})
}
