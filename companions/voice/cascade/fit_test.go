package cascade

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"pgregory.net/rapid"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// TestAFullContextIsNoEnd: a server whose context is smaller than the talk answers, at once and the next time, and after a restart, when the
// talk is recalled. That the beginning is forgotten is said once.
func TestAFullContextIsNoEnd(t *testing.T) {
	var recalled []voice.Line
	for i := range 30 {
		recalled = append(recalled, voice.Line{Role: "user", Text: fmt.Sprintf("question %d, %s", i, strings.Repeat("which is long ", 12))},
			voice.Line{Role: "assistant", Text: fmt.Sprintf("answer %d, %s", i, strings.Repeat("which is long too ", 12))})
	}
	full := func(tokens int, refusal string) func(cascadetest.Request) cascadetest.Reply {
		return func(q cascadetest.Request) cascadetest.Reply {
			body, _ := json.Marshal(q.Body)
			if n := len(body) / 4; n > tokens {
				return cascadetest.Reply{Status: 400, Type: "application/json", Body: fmt.Sprintf(refusal, n, tokens)}
			}
			return cascadetest.Reply{Text: "It is a quarter past three."}
		}
	}
	llama := `{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error"}}`
	for _, row := range []struct {
		name    string
		refusal string
		tokens  int
		forgets bool
	}{
		{"llama-server", llama, 1000, true},
		{"llama-server, a very small one", llama, 400, true},
		{"OpenAI's", `{"error":{"message":"This model's maximum context length is %[2]d tokens. However, your messages resulted in %[1]d tokens.",` +
			`"type":"invalid_request_error","code":"context_length_exceeded"}}`, 1000, true},
		{"a sentence without figures", `{"detail":"prompt is too long %.0[1]d%.0[2]d"}`, 700, true},
		{"large enough", llama, 100000, false}, // of what half of it has
	} {
		t.Run(row.name, func(t *testing.T) {
			script := cascadetest.Script{Models: []string{"m"}, Chat: full(row.tokens, row.refusal)}
			recall := func(_ *voice.Settings, c *voice.Companion, _ *Config) {
				if c.Recall = recalled; !row.forgets {
					c.Recall = recalled[:30]
				}
			}
			in(t, script, recall, func(w *world) {
				for n, id := range []turn.ID{"t-1", "t-2"} {
					w.press(id)
					d := w.done(n + 1)
					said := ""
					for _, ev := range w.all() {
						if s, ok := ev.(turn.Spoken); ok && s.Turn == id {
							said += s.Text
						}
					}
					if d.Status != turn.ResponseCompleted {
						t.Errorf("answer %d: %+v", n+1, d)
					}
					if !strings.HasSuffix(strings.TrimSpace(said), "It is a quarter past three.") || strings.Contains(said, "I have forgotten the beginning") != (row.forgets && n == 0) {
						t.Errorf("answer %d: %q", n+1, said)
					}
				}
			})
		})
	}
}

// TestAServerThatCountsMoreTokens: a server whose tokens are shorter than the estimate has room for the whole answer all the same.
func TestAServerThatCountsMoreTokens(t *testing.T) {
	const room, answer = 1024, 100
	script := cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
		n := 0
		for _, m := range q.Messages() {
			n += len(m) * 10 / 18 // letters of German or Japanese
		}
		switch {
		case n > room:
			return cascadetest.Reply{Status: 400, Type: "application/json", Body: fmt.Sprintf(
				`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens)","type":"exceed_context_size_error"}}`, n, room)}
		case n > room-answer:
			return cascadetest.Reply{Text: "It is a quarter", Finish: "length", In: n}
		}
		return cascadetest.Reply{Text: "It is a quarter past three.", In: n}
	}, Before: func(w http.ResponseWriter, _ *http.Request, stage string) bool {
		if stage == cascadetest.List {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":%d}}]}`, room)
		}
		return stage == cascadetest.List
	}}
	in(t, script, nil, func(w *world) {
		forgot := 0
		for n := range 40 {
			id := turn.ID(fmt.Sprintf("t-%d", n+1))
			w.c.Do(turn.AddText{Turn: id, Role: "user", Text: strings.Repeat("Wie lange dauert es denn? ", 4)})
			w.c.Do(turn.CreateResponse{Turn: id})
			if d := w.done(n + 1); d.Status != turn.ResponseCompleted {
				t.Errorf("answer %d: %+v, %q", n+1, d, w.text(id))
			}
			if strings.HasPrefix(w.text(id), "I have forgotten the beginning") {
				forgot++
			}
		}
		if forgot != 1 {
			t.Errorf("told %d times that the beginning is forgotten", forgot)
		}
	})
	in(t, script, nil, func(w *world) { // a first question that is refused says nothing against the context that is known
		for i := range 21 {
			w.c.Do(turn.AddText{Turn: "t-1", Role: []string{"user", "assistant"}[i%2], Text: strings.Repeat("Wie lange dauert es denn? ", 4)})
		}
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		if d := w.done(1); d.Status != turn.ResponseCompleted {
			t.Errorf("%+v", d)
		}
		if w.c.mind.context != room {
			t.Errorf("a context of %d tokens is taken for one of %d", room, w.c.mind.context)
		}
	})
}

// TestTheContextThatAServerLists: what a list of models says of the context is kept to, so that no request is refused.
func TestTheContextThatAServerLists(t *testing.T) {
	for name, row := range map[string]struct {
		list string
		want int
	}{
		"llama-server": {`{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":2048,"n_ctx_train":32768}}]}`, 2048},
		"vLLM":         {`{"data":[{"id":"m","owned_by":"vllm","max_model_len":8192}]}`, 8192},
		"others":       {`{"data":[{"id":"a","context_length":1},{"id":"m","context_length":16384}]}`, 16384},
		"none":         {`{"data":[{"id":"m"}]}`, homeContext},
		"nonsense":     {`{"data":[{"id":"m","meta":7,"max_model_len":"long","context_length":-5}]}`, homeContext},
	} {
		t.Run(name, func(t *testing.T) {
			script := cascadetest.Script{Models: []string{"m"}, Before: func(w http.ResponseWriter, _ *http.Request, stage string) bool {
				if stage == cascadetest.List {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, row.list)
				}
				return stage == cascadetest.List
			}}
			named := func(s *voice.Settings, c *voice.Companion, _ *Config) { c.Model, s.ModelAssumed = "m", false }
			in(t, script, named, func(w *world) {
				if got := w.c.mind.context; got != row.want {
					t.Errorf("context %d; want %d", got, row.want)
				}
			})
		})
	}
}

// TestWhatFits is the property: what is sent is no larger than the context as far as anything can be left out, begins with the instructions,
// ends with the last question and what belongs to it, and a result of a tool has its call.
func TestWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(leastContext, 8000).Draw(t, "limit")
		messages := []openai.ChatCompletionMessage{{Role: "system", Content: strings.Repeat("i", rapid.IntRange(0, 600).Draw(t, "instructions"))}}
		for i := range rapid.IntRange(1, 20).Draw(t, "turns") {
			messages = append(messages, openai.ChatCompletionMessage{Role: "user", Content: fmt.Sprint("q", i, strings.Repeat("x", rapid.IntRange(0, 900).Draw(t, "question")))})
			if rapid.Bool().Draw(t, "calls") {
				id := fmt.Sprint("c", i)
				messages = append(messages, openai.ChatCompletionMessage{Role: "assistant", ToolCalls: []openai.ToolCall{{ID: id, Function: openai.FunctionCall{Name: "f", Arguments: "{}"}}}},
					openai.ChatCompletionMessage{Role: "tool", ToolCallID: id, Content: "done"})
			}
			if rapid.Bool().Draw(t, "answered") {
				messages = append(messages, openai.ChatCompletionMessage{Role: "assistant", Content: strings.Repeat("y", rapid.IntRange(0, 900).Draw(t, "answer"))})
			}
		}
		var tools []turn.ToolSpec
		used := map[string]int{}
		for i := range rapid.IntRange(0, 25).Draw(t, "tools") {
			name := fmt.Sprint("tool_", i)
			tools = append(tools, turn.ToolSpec{Name: name, Description: "Does it. " + strings.Repeat("More. ", 20),
				Schema: []byte(`{"type":"object","properties":{"description":{"type":"string","description":"what it is <b>about</b>"}}}`)})
			used[name] = rapid.IntRange(0, 3).Draw(t, "used")
		}
		m, some, forgot := fit(messages, tools, limit, used)
		last := messages[len(messages)-1]
		if m[0].Role != "system" || m[len(m)-1].Content != last.Content || m[len(m)-1].ToolCallID != last.ToolCallID || forgot != (len(m) < len(messages)) {
			t.Fatalf("%d of %d messages, forgot %v", len(m), len(messages), forgot)
		}
		calls := map[string]bool{}
		questions := 0
		for _, x := range m {
			for _, c := range x.ToolCalls {
				calls[c.ID] = true
			}
			if x.ToolCallID != "" && !calls[x.ToolCallID] {
				t.Fatalf("a result without its call: %+v", m)
			}
			if x.Role == "user" {
				questions++
			}
		}
		if questions == 0 {
			t.Fatal("no question is left")
		}
		if over := size(m, some) > limit-min(mostAnswer, limit/4); over && (questions > 1 || len(some) > 0) {
			t.Fatalf("%d tokens in %d, with %d questions and %d tools", size(m, some), limit, questions, len(some))
		}
		for _, s := range some { // none that was used less is kept instead of one that was used more
			for _, x := range tools {
				if used[x.Name] > used[s.Name] && !slices.ContainsFunc(some, func(k turn.ToolSpec) bool { return k.Name == x.Name }) {
					t.Fatalf("%s is left out, %s is kept", x.Name, s.Name)
				}
			}
			if !json.Valid(s.Schema) || !strings.Contains(string(s.Schema), `"description":{"type":"string"`) {
				t.Fatalf("schema %s", s.Schema)
			}
		}
	})
}

func TestOverfull(t *testing.T) {
	for text, want := range map[string]int{
		"request (514 tokens) exceeds the available context size (256 tokens), try increasing it": 256,
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens":  4096,
		"the request exceeds the available context size":                                          0,
		"prompt is too long":                                                                  0,
		"Input is too large for this model":                                                   0,
		"Requested tokens (2087) exceed context window of 2048":                               2048,
		"the model is loaded with context length of only 4096 tokens":                         4096,
		"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000":                     0,
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length": 0,
		"context deadline exceeded":                                                           -1,
		"context canceled":                                                                    -1,
		"does not support tools":                                                              -1,
		"unknown field context":                                                               -1,
	} {
		room, ok := overfull(&kit.RefusalError{Status: 400, Text: text})
		if !ok {
			room = -1
		}
		if room != want {
			t.Errorf("%q: %d; want %d", text, room, want)
		}
	}
}
