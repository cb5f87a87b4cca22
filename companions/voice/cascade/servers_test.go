package cascade

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
)

// own are settings of [voice], as name, value.
func own(url string, pairs ...string) func(*voice.Settings, *voice.Companion, *Config) {
	return func(s *voice.Settings, _ *voice.Companion, _ *Config) {
		if url != "" {
			s.URL = url
		}
		for i := 0; i < len(pairs); i += 2 {
			s.Own[pairs[i]] = pairs[i+1]
		}
	}
}

func says(p cascadetest.Reply) func(cascadetest.Request) cascadetest.Reply {
	return func(cascadetest.Request) cascadetest.Reply { return p }
}

// text is what was said in an answer, as people read it.
func (w *world) text(id turn.ID) (all string) {
	for _, ev := range w.all() {
		if e, ok := ev.(turn.Spoken); ok && e.Turn == id {
			all += e.Text
		}
	}
	return strings.TrimSpace(all)
}

// answer asks once and demands that it is answered with these words.
func (w *world) answer(id turn.ID, want string) {
	w.t.Helper()
	w.press(id)
	w.until(func() bool { _, over := w.told(id); return over })
	if say, _ := w.told(id); say != "" || w.text(id) != want {
		w.t.Errorf("told %q, said %q; want %q\n%s", say, w.text(id), want, w.story())
	}
}

func (w *world) asked(stage string) cascadetest.Request {
	w.t.Helper()
	all := w.chain.Requests(stage)
	if len(all) == 0 {
		w.t.Fatalf("nobody asked for %s", stage)
	}
	return all[len(all)-1]
}

// What each server's own source and pages show, and what sloppy ones do: the conversation goes on all the same.
func TestServers(t *testing.T) {
	const three = "It is three."
	calls := func(lines ...string) []string {
		for i, l := range lines {
			lines[i] = "data: " + l + "\n"
		}
		return lines
	}
	for _, row := range []struct {
		name   string
		script cascadetest.Script
		change func(*voice.Settings, *voice.Companion, *Config)
		want   string // said; "": It is three.
		check  func(w *world)
	}{
		{name: "ollama: it wants no key, takes no tool_choice, and its first model is asked for", change: func(s *voice.Settings, _ *voice.Companion, _ *Config) {
			s.URL, s.Key = "http://pc.lan:11434", func() string { return "" }
		}, script: cascadetest.Script{Models: []string{"nomic-embed-text", "qwen3:8b"}, Owner: "library"}, check: func(w *world) {
			q := w.asked(cascadetest.Chat)
			if q.Model != "qwen3:8b" || q.Header.Get("Authorization") != "" || q.Body["tool_choice"] != nil {
				w.t.Errorf("%+v", q)
			}
		}},
		{name: "ollama: all calls of an answer are the first, and have an id each", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.N > 1 {
				return cascadetest.Reply{Text: three}
			}
			return cascadetest.Reply{Finish: "stop", Lines: calls(
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":"{\"x\":1}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]}}]}`)}
		}}, want: "-", check: func(w *world) { wantCalls(w, `one {"x":1}`, `two {}`) }},
		{name: "some: a call in pieces, without a type, with arguments that are an object or nothing", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: calls(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":2}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"two","arguments":{"y":3}}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":2,"function":{"name":"three"}}]}}]}`)})},
			want: "-", check: func(w *world) { wantCalls(w, `one {"x":2}`, `two {"y":3}`, `three {}`) }},
		{name: "some: the name with each piece of the arguments", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: calls(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"2}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"tw","arguments":"{"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"o","arguments":"}"}}]}}]}`)})},
			want: "-", check: func(w *world) { wantCalls(w, `one {"x":2}`, `two {}`) }},
		{name: "old ones: a call that is no list", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: calls(
			`{"choices":[{"index":0,"delta":{"function_call":{"name":"one","arguments":""}}}]}`,
			`{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"x\":2}"}}}]}`)})},
			want: "-", check: func(w *world) { wantCalls(w, `one {"x":2}`) }},
		{name: "some: a call in the text", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.N > 1 {
				return cascadetest.Reply{Text: three}
			}
			return cascadetest.Reply{Text: "<think>A tool.</think>\n<tool_call>\n{\"name\": \"one\", \"arguments\": {\"x\": 1}}\n</tool_call>"}
		}}, want: "-", check: func(w *world) { wantCalls(w, `one {"x":1}`) }},
		{name: "some: a call that nobody can read", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: "<tool_call>one with x</tool_call>"})},
			want: "This model cannot use my tools."},
		{name: "some: a thought without an end", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: "<think>Let me see.\n\n" + three})}},
		{name: "Gemma's template: no role of a system", script: cascadetest.Script{Models: []string{"gemma"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
			if all := strings.Join(q.Messages(), "|"); strings.Contains(all, "system:") {
				return cascadetest.Reply{Status: 500, Type: "application/json", Body: `{"error":{"code":500,"message":"System role not supported","type":"server_error"}}`}
			} else if !strings.HasPrefix(all, "user: You are") {
				return cascadetest.Reply{Text: "What am I?"}
			}
			return cascadetest.Reply{Text: three}
		}}, change: func(_ *voice.Settings, c *voice.Companion, _ *Config) { c.Instructions = "You are Ada." }},
		{name: "llama.cpp: tools without --jinja are refused, and the conversation goes without them", change: func(s *voice.Settings, c *voice.Companion, cfg *Config) {
			s.URL, s.Own["speak"], s.Own["hear"] = "http://pc.lan:8080", "http://pc.lan:8081", "http://pc.lan:8082"
		}, script: cascadetest.Script{Models: []string{"gguf"}, Owner: "llamacpp", Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["tools"] != nil {
				return cascadetest.Reply{Status: 500, Type: "application/json", Body: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`}
			}
			return cascadetest.Reply{Text: three}
		}}, check: func(w *world) {
			if parts, why := w.c.mind.lacks(); !slices.Equal(parts, []string{"tools"}) || !strings.Contains(why, "--jinja") {
				w.t.Errorf("goes without %v (%s)", parts, why)
			}
			if q := w.asked(cascadetest.Chat); !reflect.DeepEqual(q.Body["chat_template_kwargs"], map[string]any{"enable_thinking": false}) {
				w.t.Errorf("a model that thinks before it speaks is not told to do without: %v", q.Body)
			}
		}},
		{name: "llama.cpp: templates take a system's message first, and then user and assistant in turns", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			before := ""
			for i, m := range q.Messages() {
				role, _, _ := strings.Cut(m, ":")
				if role == "system" && i > 0 || role == before {
					return cascadetest.Reply{Status: 500, Type: "application/json", Body: `{"error":{"message":"Conversation roles must alternate"}}`}
				}
				before = role
			}
			return cascadetest.Reply{Text: three}
		}}, change: nil, check: func(w *world) {
			w.c.Do(turn.AddText{Role: "user", Text: "[Ben] one"})
			w.c.Do(turn.AddText{Role: "system", Text: "Say that the tea is ready."})
			w.c.Do(turn.AddText{Role: "user", Text: "[Ben] two"})
			w.c.Do(turn.CreateResponse{Turn: "t-2", Prompt: "In the room: be brief."})
			w.until(func() bool { _, over := w.told("t-2"); return over })
			if say, _ := w.told("t-2"); say != "" {
				w.t.Errorf("told %q; asked %q", say, w.last())
			}
		}},
		{name: "localai: it is asked for the rate that is played, and speaks in one file", change: own("", "server", "localai"), check: func(w *world) {
			if q := w.asked(cascadetest.Say); q.Body["sample_rate"] != 24000.0 || q.Body["response_format"] != "wav" || q.Body["stream"] != nil {
				w.t.Errorf("%v", q.Body)
			}
		}},
		{name: "some: sample_rate is an unknown field", change: own("", "server", "localai"), script: cascadetest.Script{Say: func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["sample_rate"] != nil {
				return cascadetest.Reply{Status: 422, Type: "application/json", Body: `{"detail":[{"type":"extra_forbidden","loc":["body","sample_rate"],"msg":"Extra inputs are not permitted: sample_rate"}]}`}
			}
			return cascadetest.Reply{Rate: 22050}
		}}},
		{name: "speaches: bare samples of 24 kHz, which it is asked for", change: own("", "server", "speaches"), check: func(w *world) {
			if q := w.asked(cascadetest.Say); q.Body["sample_rate"] != 24000.0 || q.Body["response_format"] != "pcm" {
				w.t.Errorf("%v", q.Body)
			}
		}},
		{name: "kokoro: no model but its own, none of OpenAI's voices, bare samples of 24 kHz in a stream", change: own("", "speak", "http://tts.lan:8880"),
			script: cascadetest.Script{Say: func(q cascadetest.Request) cascadetest.Reply {
				if m := q.Model; m != "kokoro" {
					return cascadetest.Reply{Status: 400, Type: "application/json", Body: fmt.Sprintf(`{"detail":{"error":"invalid_model","message":"Unsupported model: %s"}}`, m)}
				}
				if v, _ := q.Body["voice"].(string); !strings.Contains(v, "_") {
					return cascadetest.Reply{Status: 400, Type: "application/json", Body: `{"detail":{"error":"validation_error","message":"Voice not found"}}`}
				}
				return cascadetest.Reply{Format: "pcm"}
			}}, check: func(w *world) {
				if q := w.asked(cascadetest.Say); q.Body["stream"] != true || q.Body["response_format"] != "pcm" {
					w.t.Errorf("%v", q.Body)
				}
			}},
		{name: "kokoro: a press is noticed by it at once", change: own("", "speak", "http://tts.lan:8880"), script: cascadetest.Script{Say: says(cascadetest.Reply{Format: "pcm", Seconds: 8, Times: 1})},
			want: "-", check: func(w *world) {
				w.c.Do(turn.CancelResponse{Turn: "t-1"})
				time.Sleep(10 * time.Millisecond) // virtual
				if n := w.chain.Open(); n > 0 {
					w.t.Errorf("%d requests are open", n)
				}
			}},
		{name: "whisper.cpp: another path, and one at a time", change: own("", "hear", "whisper.cpp http://pc.lan:8080"), script: cascadetest.Script{Listen: "/inference"}, check: func(w *world) {
			if q := w.asked(cascadetest.Hear); q.Rate != 16000 || q.Body["file"] != "speech.wav" || q.Body["response_format"] != "verbose_json" || q.Body["language"] != "auto" {
				w.t.Errorf("%v, %d Hz", q.Body, q.Rate)
			}
			if w.c.ear.(*earAt).turns == nil {
				t.Error("two requests could be there at once")
			}
		}},
		{name: "piper: older releases speak at the root", change: own("", "speak", "piper http://pi.lan:5000"),
			script: cascadetest.Script{Speak: "/", Say: says(cascadetest.Reply{Rate: 22050})}},
		{name: "piper: another protocol, at the voice's own rate", change: own("", "speak", "piper http://pi.lan:5000"), script: cascadetest.Script{Speak: "/synthesize", Say: says(cascadetest.Reply{Rate: 22050})},
			check: func(w *world) {
				if q := w.asked(cascadetest.Say); q.Body["text"] == nil || q.Body["input"] != nil || q.Body["model"] != nil {
					w.t.Errorf("%v", q.Body)
				}
				if got, want := len(w.pcm), samples(time.Duration((cascadetest.Length(three)-0.16)*float64(time.Second))); got < want-500 || got > want+500 {
					w.t.Errorf("%d samples; want %d", got, want)
				}
			}},
		{name: "sound comes in a WAV of 16 kHz, or 48 kHz", change: nil, script: cascadetest.Script{Say: func(q cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Rate: []int{16000, 48000}[q.N%2]}
		}}, check: func(w *world) { w.answer("t-2", three) }},
		{name: "speech is heard while it comes", script: cascadetest.Script{Say: says(cascadetest.Reply{Seconds: 8, Times: 1})}, check: func(w *world) {
			first, last := w.span("t-1")
			if last-first < 5*time.Second || first > 2*time.Second+w.at0("t-1") {
				w.t.Errorf("heard from %v to %v", first, last)
			}
		}},
		{name: "a transcript as plain text", script: cascadetest.Script{Hear: with(200, "text/plain; charset=utf-8", "what time is it\n")}, check: func(w *world) {
			if e := w.first(turn.Transcribed{}).(turn.Transcribed); e.Text != "what time is it" {
				w.t.Errorf("%q", e.Text)
			}
		}},
		{name: "a transcript whose type was forgotten", script: cascadetest.Script{Hear: with(200, "application/octet-stream", `{"text":"what time is it"}`)}, check: func(w *world) {
			if e := w.first(turn.Transcribed{}).(turn.Transcribed); e.Text != "what time is it" {
				w.t.Errorf("%q", e.Text)
			}
		}},
		{name: "comments in the stream, data without a space, no choices", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: three, Lines: []string{
			": OPENROUTER PROCESSING", "", ": keep-alive", "event: message", `data:{"choices":[]}`, "", `data:{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, "",
			`data: {"id":"x","prompt_filter_results":[]}`, ""}})}},
		{name: "the stream ends without [DONE]", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: three, NoDone: true})}},
		{name: "the stream ends with [DONE], and no reason", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: three, NoFinish: true})}},
		{name: "the streams end with neither: each is an answer, and paid once", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: three, NoFinish: true, NoDone: true})}, check: func(w *world) {
			if n := len(w.chain.Requests(cascadetest.Chat)); n != 2 { // one of practice
				w.t.Errorf("%d requests", n)
			}
		}},
		{name: "a stream ends with neither, of a server that has marked an end: that answer broke off", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Text: three, NoFinish: q.N > 1, NoDone: q.N > 1}
		}}, check: func(w *world) {
			w.press("t-2")
			w.until(func() bool { _, over := w.told("t-2"); return over })
			if say, _ := w.told("t-2"); say != turn.WordsLostMidway {
				w.t.Errorf("told %q", say)
			}
		}},
		{name: "JSON in the place of a stream: a list of chunks, each on several lines, behind a byte order mark", script: streamOf("\ufeff[\n {\"choices\": [\n  {\"delta\": {\"content\": \"It is \"}}]},\n {\"choices\":[{\"delta\":{\"content\":\"three.\"},\"finish_reason\":\"stop\"}]}\n]\n")},
		{name: "lines that end with a bare CR", script: streamOf("data: {\"choices\":[{\"delta\":{\"content\":\"It is \"}}]}\r\rdata: {\"choices\":[{\"delta\":{\"content\":\"three.\"},\"finish_reason\":\"stop\"}]}\r\rdata: [DONE]\r\r")},
		{name: "a line of JSON a chunk, without a frame", script: streamOf("{\"choices\":[{\"delta\":{\"content\":\"It is \"}}]}\n{\"choices\":[{\"delta\":{\"content\":\"three.\"},\"finish_reason\":\"stop\"}]}\n")},
		{name: "no stream at all", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: three, Whole: true})}},
		{name: "no stream at all, and a call", script: cascadetest.Script{Chat: says(cascadetest.Reply{Whole: true, Calls: []cascadetest.Call{{ID: "a", Name: "one", Args: "{}"}}})}, want: "-",
			check: func(w *world) { wantCalls(w, "one {}") }},
		{name: "an error in the stream, as an object", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: []string{`data: {"error":{"message":"you exceeded your quota","type":"insufficient_quota"}}`, ""}, NoFinish: true, NoDone: true})},
			want: "-", check: wantWords(turn.WordsNoCredit)},
		{name: "an error in the stream, as a sentence", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: []string{`data: {"error":"llama runner process has terminated"}`, ""}, NoFinish: true, NoDone: true})},
			want: "-", check: wantWords(turn.WordsServerError)},
		{name: "an error in the stream, outside its frame", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: []string{": wait", "", `{"error":{"message":"CUDA out of memory","code":500}}`, ""}, NoFinish: true, NoDone: true})},
			want: "-", check: wantWords(turn.WordsServerError)},
		{name: "an error as a sentence, and its status", script: cascadetest.Script{Chat: with(404, "application/json", `{"error":"model 'x' not found"}`)}, want: "-", check: wantWords(turn.WordsModelRefused)},
		{name: "a page of a proxy, and its status", script: cascadetest.Script{Chat: with(502, "text/html", "<html>Bad Gateway</html>")}, want: "-", check: wantWords(turn.WordsServerError)},
		{name: "a model named like one of OpenAI's, which go-openai would not let have max_tokens", change: func(s *voice.Settings, c *voice.Companion, _ *Config) {
			s.ModelAssumed, c.Model = false, "gpt-5-local"
		}, check: func(w *world) {
			if q := w.chain.Requests(cascadetest.Chat)[0]; q.Body["max_completion_tokens"] != 1.0 || q.Model != "gpt-5-local" {
				w.t.Errorf("warmed with %v", q.Body)
			}
		}},
		{name: "stream_options are an unknown field", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["stream_options"] != nil {
				return cascadetest.Reply{Status: 400, Type: "application/json", Body: `{"message":"stream_options: Extra inputs are not permitted","type":"invalid_request_error"}`}
			}
			return cascadetest.Reply{Text: three}
		}}, check: func(w *world) {
			if u := w.c.usage.Usage().Today; u.TextIn < 4 || u.TextOut < 2 {
				w.t.Errorf("what nobody counted is not estimated: %+v", u)
			}
			if n := len(w.chain.Requests(cascadetest.Chat)); n != 3 { // refused, warm, asked
				w.t.Errorf("%d requests: what was refused is asked again", n)
			}
		}},
		{name: "ollama: a model is asked not to think, and again without where that is refused", change: own("http://pc.lan:11434"),
			script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
				switch q.Body["reasoning_effort"] {
				case "none":
					return cascadetest.Reply{Status: 400, Type: "application/json",
						Body: `{"error":{"message":"invalid reasoning value: 'none' (must be \"high\", \"medium\", or \"low\")","type":"invalid_request_error"}}`}
				case nil:
					return cascadetest.Reply{Text: three}
				}
				return cascadetest.Reply{Text: "What effort?"}
			}}, check: func(w *world) {
				efforts := 0
				for _, q := range w.chain.Requests(cascadetest.Chat) {
					if q.Body["reasoning_effort"] != nil {
						efforts++
					}
				}
				if efforts != 1 {
					w.t.Errorf("%d requests ask a model not to think; want 1, the rest without", efforts)
				}
			}},
		{name: "a model thinks beside its answer for 20 s", script: cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["max_tokens"] != nil {
				return cascadetest.Reply{Text: three}
			}
			return cascadetest.Reply{Thinks: strings.TrimSpace(strings.Repeat("hm ", 40)), Text: three, Pace: 2}
		}}, check: func(w *world) {
			alive := 0
			for _, ev := range w.all() {
				if e, ok := ev.(turn.DeltaArrived); ok && e.Turn == "t-1" && e.Item == "" {
					alive++
				}
			}
			if alive < 18 || alive > 21 {
				w.t.Errorf("a turn heard %d times that its model thinks; want once a second", alive)
			}
		}},
		{name: "a model thinks long in its text", script: cascadetest.Script{Chat: says(cascadetest.Reply{
			Text: "<think>" + strings.Repeat("It may be so, or not. ", 2000) + "</think>\n\n" + three})}},
		{name: "a server takes an answer for thoughts, of which no mark shows the end",
			script: cascadetest.Script{Chat: says(cascadetest.Reply{Thinks: "They ask for the time.\n\n" + three})}},
		{name: "a thought that has two names is one", script: cascadetest.Script{Chat: says(cascadetest.Reply{Lines: calls(
			`{"choices":[{"index":0,"delta":{"reasoning_content":"It is three.","reasoning":"It is three."}}]}`)})}},
		{name: "a model thinks aloud", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: "<think>\nThey ask for the time. Three.\n</think>\n\n" + three})}},
		{name: "a server that has no room says so, and has it a moment later", script: cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			if q.N == 1 || q.N == 2 {
				return cascadetest.Reply{Status: 503, Type: "application/json", Body: `{"error":{"message":"no slot available","type":"unavailable_error","code":503}}`}
			}
			return cascadetest.Reply{Text: three}
		}}},
		{name: "a server hangs up before the first byte, once", script: cascadetest.Script{Before: func() func(w http.ResponseWriter, r *http.Request, stage string) bool {
			n := 0
			return func(w http.ResponseWriter, r *http.Request, stage string) bool {
				if stage == cascadetest.Chat {
					if n++; n == 2 {
						panic(http.ErrAbortHandler)
					}
				}
				return false
			}
		}()}},
		{name: "an empty piece of sound, once", script: cascadetest.Script{Say: func(q cascadetest.Request) cascadetest.Reply {
			if q.N == 1 {
				return cascadetest.Reply{Format: "pcm", Seconds: -1}
			}
			return cascadetest.Reply{}
		}}},
		{name: "OpenAI: bare samples of 24 kHz, words to expect, nothing for practice", change: func(s *voice.Settings, _ *voice.Companion, _ *Config) {
			s.URL = "https://api.openai.com/v1"
			s.URL = "http://api.openai.com/v1" // the pipes have no TLS
		}, check: func(w *world) {
			w.c.Names([]string{"Ada", "Ben"})
			w.answer("t-2", three)
			if q := w.asked(cascadetest.Hear); q.Body["prompt"] != "Names: Ada, Ben." {
				w.t.Errorf("%v", q.Body)
			}
			if n := len(w.chain.Requests(cascadetest.Say)); n != 2 {
				w.t.Errorf("%d pieces were said; want the two of the answers", n)
			}
			if q := w.asked(cascadetest.Say); q.Body["response_format"] != "pcm" || q.Body["voice"] != "marin" {
				w.t.Errorf("%v", q.Body)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := row.script
			if s.Models == nil {
				s.Models = []string{"m"}
			}
			if s.Chat == nil {
				s.Chat = says(cascadetest.Reply{Text: three})
			}
			if s.Say == nil && strings.Contains(row.name, "24 kHz") {
				s.Say = says(cascadetest.Reply{Format: "pcm"})
			}
			well := s // while it is looked at, a server of these is well
			if row.want == "-" {
				well.Chat, well.Hear = nil, nil
			}
			in(t, well, func(set *voice.Settings, c *voice.Companion, cfg *Config) {
				if row.change != nil {
					row.change(set, c, cfg)
				}
			}, func(w *world) {
				w.t = t
				w.c.Tools([]turn.ToolSpec{{Name: "one", Schema: []byte(`{"type":"object"}`)}})
				w.chain.Be(s)
				switch row.want {
				case "":
					w.answer("t-1", three)
				case "-":
					w.press("t-1")
					time.Sleep(time.Second) // virtual
				default:
					w.answer("t-1", row.want)
				}
				if row.check != nil {
					row.check(w)
				}
			})
		})
	}
}

// streamOf answers with a body as it stands.
func streamOf(body string) cascadetest.Script {
	return cascadetest.Script{Chat: with(200, "text/event-stream", body)}
}

func wantWords(want turn.Words) func(w *world) {
	return func(w *world) {
		w.t.Helper()
		w.until(func() bool { _, over := w.told("t-1"); return over })
		if say, _ := w.told("t-1"); say != want {
			w.t.Errorf("told %q; want %q\n%s", say, want, w.story())
		}
	}
}

func wantCalls(w *world, want ...string) {
	w.t.Helper()
	w.done(1)
	var got []string
	seen := map[turn.CallID]bool{}
	for _, ev := range w.all() {
		if e, ok := ev.(turn.ToolCalled); ok {
			if seen[e.Call] || e.Call == "" {
				w.t.Errorf("call %q is told twice, or has no name", e.Call)
			}
			seen[e.Call] = true
			got = append(got, e.Name+" "+e.Args)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("called %q; want %q", got, want)
	}
}

// span is when the first and the last sample of a turn were handed over.
func (w *world) span(id turn.ID) (first, last time.Duration) {
	for _, ev := range w.all() {
		if e, ok := ev.(turn.DeltaArrived); ok && e.Turn == id && e.Samples > 0 {
			if first == 0 {
				first = e.At
			}
			last = e.At
		}
	}
	return first, last
}

// at0 is when a turn was committed.
func (w *world) at0(id turn.ID) time.Duration {
	for _, ev := range w.all() {
		if e, ok := ev.(turn.InputCommitted); ok && e.Turn == id {
			return e.At
		}
	}
	return 0
}

// What a request for a tool's answer looks like to a server, and that the answer follows.
func TestToolsAreCalledAndTheirResultsAreKnown(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}, Chat: func(q cascadetest.Request) cascadetest.Reply {
		m := q.Messages()
		if strings.HasPrefix(m[len(m)-1], "tool: ") {
			return cascadetest.Reply{Text: "It is set to eighty."}
		}
		if q.Body["max_tokens"] != nil {
			return cascadetest.Reply{Text: "x"}
		}
		return cascadetest.Reply{Text: "One moment.", Calls: []cascadetest.Call{{ID: "c-1", Name: "set_volume", Args: `{"percent":80}`}, {ID: "c-2", Name: "get_time", Args: "{}"}}}
	}}, nil, func(w *world) {
		w.c.Tools([]turn.ToolSpec{{Name: "set_volume", Description: "Sets it.", Schema: []byte(`{"type":"object","properties":{"percent":{"type":"number"}}}`)}, {Name: "get_time"}})
		w.press("t-1")
		w.done(1)
		w.c.Do(turn.SendToolOutput{Turn: "t-1", Call: "c-2", Output: "three"})
		w.c.Do(turn.SendToolOutput{Turn: "t-1", Call: "c-1", Output: "done"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.done(2)
		want := []string{"system: You are Ada.", "user: hello there", `assistant: One moment.[set_volume {"percent":80}][get_time {}]`, "tool: done", "tool: three"}
		if got := w.last(); !slices.Equal(got, want) {
			t.Errorf("asked with\n%q\nwant\n%q", got, want)
		}
		q := w.asked(cascadetest.Chat)
		b, _ := json.Marshal(q.Body["tools"])
		if !strings.Contains(string(b), `"percent":{"type":"number"}`) || !strings.Contains(string(b), `"name":"get_time"`) {
			t.Errorf("tools %s", b)
		}
		if w.text("t-1") != "One moment. It is set to eighty." {
			t.Errorf("said %q", w.text("t-1"))
		}
	})
}
