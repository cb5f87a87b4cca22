package cascade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
	"conch/device/pattern"
)

// mind is the chat server.
type mind struct {
	*web
	api         *openai.Client
	model       func() string
	first, idle time.Duration

	early atomic.Bool // its answers begin with thoughts that no mark opens
	marks atomic.Bool // it has marked the end of an answer: one without broke off

	mu      sync.Mutex
	p       Profile         // of the way it asks; what its list of models shows may change it
	without map[string]bool // what the server has refused of a request: usage, kwargs, tools
	why     string
	context int            // tokens, of the server's context; 0: no limit is known
	dense   float64        // tokens that the server counts where fit.go estimates one; 0: it has not counted
	used    map[string]int // calls of each tool
}

func newMind(w *web, model func() string, first, idle time.Duration) *mind {
	m := &mind{web: w, model: model, first: first, idle: idle, p: w.profile, without: map[string]bool{}, used: map[string]int{}}
	if !w.profile.Vendor {
		m.context = homeContext
	}
	m.api = w.api(signed{w})
	return m
}

// notesKey is where a request has room for what its stream shows, and go-openai does not tell.
type notesKey struct{}

// notes are of one stream.
type notes struct {
	done atomic.Bool // it has announced its end
	odd  atomic.Bool // there was a line that is none of a stream's
	some bool        // one line at least was an answer's
	size int         // of what was asked, as fit.go estimates it
}

var errNoAnswer = &unusable{turn.WordsServerError, "an answer that cannot be read: nothing of it is one of chat"}

// read is a line of a stream; ok: it can be understood. An error that stands in it is one.
func (n *notes) read(line []byte, key string) (c chunk, ok bool, err error) {
	if json.Unmarshal(line, &c) != nil {
		n.odd.Store(true)
		return c, false, nil //nolint:nilerr // a line nobody understands is noted, and is no end of an answer
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		kind, code, text := kit.ReadFault(line)
		return c, false, &kit.RefusalError{Kind: kind, Code: code, Text: kit.Redact(text, key)}
	}
	if len(c.Choices) == 0 && c.Usage == nil {
		n.odd.Store(true)
	} else {
		n.some = true
	}
	return c, true, nil
}

// none says that a stream that has ended was something else than an answer.
func (n *notes) none() bool { return !n.some && n.odd.Load() }

// signed gives each request the key of the moment, and reads its answer as lines of a stream.
type signed struct{ *web }

func (s signed) Do(q *http.Request) (*http.Response, error) {
	s.sign(q)
	resp, err := s.web.Do(q)
	if err != nil {
		return nil, err
	}
	n, _ := q.Context().Value(notesKey{}).(*notes)
	if n == nil {
		n = &notes{}
	}
	resp.Body = newLines(resp.Body, n)
	return resp, nil
}

// said is what came of an answer at once.
type said struct {
	text   string // "": a thought that stands beside the text
	call   *call  // a complete one
	forgot bool   // the request went without the beginning of the conversation
}

// call is of a tool.
type call struct {
	id         turn.CallID
	name, args string
}

// ended is how an answer ended.
type ended struct {
	why             string // stop, length, content_filter, tool_calls
	in, out, cached int64  // tokens; in 0: the server does not count
	bytes           int    // of text
}

// chunk is a line of the stream, or a whole answer. go-openai's own type refuses arguments that are an object, and an error that is a
// sentence, and a whole answer has its words elsewhere.
type chunk struct {
	Choices []struct {
		Delta, Message *delta
		Finish         string `json:"finish_reason"`
	} `json:"choices"`
	Usage *used           `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// used is what a server says of an answer so far.
type used struct {
	In     kit.Figure `json:"prompt_tokens"`
	Out    kit.Figure `json:"completion_tokens"`
	Detail struct {
		Cached kit.Figure `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// UnmarshalJSON reads what it can: the words beside it are worth more.
func (u *used) UnmarshalJSON(b []byte) error {
	type plain used
	_ = json.Unmarshal(b, (*plain)(u))
	return nil
}

// uses takes the largest figures of a stream. Some servers write the sum at the end, some so far with each piece, and some
// what was sent at the beginning and what was received at the end.
func (e *ended) uses(u *used) {
	e.in, e.out, e.cached = max(e.in, u.In.Tokens()), max(e.out, u.Out.Tokens()), max(e.cached, u.Detail.Cached.Tokens())
}

type delta struct {
	Content any    `json:"content"`
	Refusal string `json:"refusal"`
	// Thoughts beside the content: llama.cpp, vLLM; Ollama; Ollama's own protocol.
	Reasoned any     `json:"reasoning_content"`
	Reasons  any     `json:"reasoning"`
	Thinks   any     `json:"thinking"`
	Calls    []begun `json:"tool_calls"`
	Call     *named  `json:"function_call"` // of old servers, in place of the list
}

type begun struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function named  `json:"function"`
}

type named struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
}

// Bounds of one answer.
const (
	mostText  = 12 << 10 // bytes that are said
	mostBytes = 64 << 10 // with thoughts and marks
	mostCalls = 32
	mostArgs  = 64 << 10
)

// answer asks, and calls on with what comes, in order, on this goroutine, until on returns false. An answer without a mark of its end is
// cutOffError, where the server has ever marked one.
func (m *mind) answer(ctx context.Context, messages []openai.ChatCompletionMessage, tools []turn.ToolSpec, began func(), on func(said) bool) (
	e ended, err error,
) {
	ctx, p := patient(ctx, "an answer", m.first, m.idle)
	defer p.over()
	var n notes
	stream, forgot, err := m.ask(context.WithValue(ctx, notesKey{}, &n), messages, tools, func(*openai.ChatCompletionRequest) {})
	if err != nil {
		return e, m.failed("chat", reason(ctx, err))
	}
	defer stream.Close()
	began()
	if forgot {
		on(said{forgot: true})
	}
	var calls calls
	var thoughts strings.Builder
	for {
		line, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return e, m.failed("chat", cutOffError{})
		}
		if err != nil {
			return e, m.failed("chat", reason(ctx, err))
		}
		p.progress()
		c, ok, err := n.read(line, m.key())
		if err != nil {
			return e, m.failed("chat", err)
		}
		if !ok {
			continue // a line nobody understands is no answer, and no end of one
		}
		if u := c.Usage; u != nil {
			e.uses(u)
		}
		if len(c.Choices) == 0 {
			continue
		}
		x := c.Choices[0]
		d := cmp.Or(x.Delta, x.Message)
		if d != nil {
			text := cmp.Or(content(d.Content), d.Refusal)
			if e.bytes += len(text); e.bytes > mostBytes {
				e.why = "length"
				break
			}
			beside := cmp.Or(content(d.Reasoned), content(d.Reasons), content(d.Thinks)) // some send it under two names
			if thoughts.Len()+len(beside) <= mostBytes {
				thoughts.WriteString(beside)
			}
			if (text != "" || beside != "") && !on(said{text: text}) {
				e.why = "length"
				break
			}
			if d.Call != nil {
				d.Calls = append(d.Calls, begun{Function: *d.Call})
			}
			for i := range d.Calls {
				if !calls.add(d, i) {
					return e, m.failed("chat", &unusable{turn.WordsServerError, "more calls, or longer ones, than anybody can mean"})
				}
			}
		}
		e.why = cmp.Or(x.Finish, e.why)
	}
	if n.none() {
		return e, m.failed("chat", errNoAnswer)
	}
	if e.bytes == 0 && len(calls.of) == 0 && e.why == "stop" && thoughts.Len() > 0 { // the end of the thoughts was not marked
		e.bytes = thoughts.Len()
		on(said{text: "<think>" + strings.ToValidUTF8(thoughts.String()[max(0, e.bytes-mostText):], "")})
	}
	m.counted(n.size, e.in)
	if e.why != "" || n.done.Load() {
		m.marks.Store(true)
	}
	if e.why == "" && e.bytes > 0 && (n.done.Load() || !m.marks.Load()) { // some announce the end, and no reason for it; some neither
		e.why = "stop"
	}
	if e.why == "" && len(calls.of) == 0 {
		return e, m.failed("chat", cutOffError{})
	}
	for _, c := range calls.whole() {
		c = unbundle(c, tools)
		m.mu.Lock()
		m.used[c.name]++
		m.mu.Unlock()
		on(said{call: &c})
	}
	return e, nil
}

// content is text, or what of a list of parts is text.
func content(c any) (text string) {
	switch c := c.(type) {
	case string:
		return c
	case []any:
		for _, part := range c {
			if o, ok := part.(map[string]any); ok {
				s, _ := o["text"].(string)
				text += s
			}
		}
	}
	return text
}

// calls puts calls together of which a stream brings pieces.
type calls struct{ of []building }

type building struct {
	index int
	call
}

func (c *calls) add(d *delta, i int) bool {
	x := &d.Calls[i]
	index := i
	if x.Index != nil {
		index = *x.Index
	}
	at := -1
	for k := range c.of {
		if b := &c.of[k]; b.index == index && (x.ID == "" || b.id == "" || string(b.id) == x.ID) {
			at = k // some servers count all of them as the first: another id is another call
		}
	}
	if at < 0 {
		if len(c.of) == mostCalls {
			return false
		}
		c.of = append(c.of, building{index: index})
		at = len(c.of) - 1
	}
	b := &c.of[at]
	b.id = cmp.Or(b.id, turn.CallID(x.ID))
	if !strings.HasPrefix(x.Function.Name, b.name) {
		b.name += x.Function.Name
	} else { // the first piece; or it is repeated with each piece of the arguments
		b.name = x.Function.Name
	}
	var args string
	if json.Unmarshal(x.Function.Args, &args) != nil {
		args = string(x.Function.Args) // an object where a text belongs
	}
	if args != "null" {
		b.args += args
	}
	return len(b.args) <= mostArgs
}

func (c *calls) whole() (all []call) {
	for _, b := range c.of {
		if b.name == "" {
			continue
		}
		b.args = cmp.Or(strings.TrimSpace(b.args), "{}")
		all = append(all, b.call)
	}
	return all
}

// request is one, without what the server has refused before.
func (m *mind) request(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{Model: m.model(), Messages: messages}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.without["system"] {
		q.Messages = unsystemed(messages)
	}
	if m.p.Usage && !m.without["usage"] {
		q.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if m.p.Kwargs != nil && !m.without["kwargs"] {
		q.ChatTemplateKwargs = maps.Clone(m.p.Kwargs)
	}
	if !m.without["effort"] {
		q.ReasoningEffort = m.p.Effort
	}
	if m.without["tools"] {
		return q
	}
	for _, t := range tools {
		schema := json.RawMessage(t.Schema)
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		q.Tools = append(q.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema,
		}})
	}
	return q
}

// ask asks with what fits into the server's context, and again with less where the server has less than was known. change is made to each
// request. forgot: the request went without the beginning of the conversation.
func (m *mind) ask(ctx context.Context, messages []openai.ChatCompletionMessage, tools []turn.ToolSpec, change func(*openai.ChatCompletionRequest)) (
	s *openai.ChatCompletionStream, forgot bool, err error,
) {
	for try := 0; ; try++ {
		m.mu.Lock()
		limit, dense, used := m.context, max(1, m.dense), maps.Clone(m.used)
		m.mu.Unlock()
		fitted, some, lost := fit(messages, tools, int(float64(limit)/dense), used)
		if n, ok := ctx.Value(notesKey{}).(*notes); ok {
			n.size = size(fitted, some)
		}
		q := m.request(fitted, some)
		change(&q)
		s, err = m.open(ctx, q)
		room, full := overfull(err)
		if !full || try == mostRefits {
			return s, lost, err
		}
		if room > 0 && room >= limit && m.denser() { // its tokens are shorter than estimated, its context is as known
			continue
		}
		least := int(float64(size(fitted, some)) * dense / 2)
		if room > 0 && room < limit {
			least = room // what was taken for the context is not
		}
		m.fits(max(leastContext, least))
	}
}

// fits notes how many tokens the server's context has; 0: it does not say.
func (m *mind) fits(tokens int) {
	if tokens <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.context = tokens
}

// counted notes how many tokens the server made of a request. A small one says little: the chat's template takes most of it.
func (m *mind) counted(ours int, theirs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ours > 0 && theirs > int64(m.context/4) {
		m.dense = min(max(m.dense, float64(theirs)/float64(ours)), bytesAToken)
	}
}

// denser takes the tokens of the server for half as long as before; false: they are as short as can be.
func (m *mind) denser() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := max(1, m.dense)
	m.dense = min(2*before, bytesAToken)
	return m.dense > before
}

// open asks, and again without what is refused: first what the refusal names, then all that a conversation can do without.
func (m *mind) open(ctx context.Context, q openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error) {
	for {
		s, err := m.api.CreateChatCompletionStream(ctx, q)
		var no *kit.RefusalError
		if err == nil {
			return s, nil
		}
		if !errors.As(err, &no) || no.Status != http.StatusBadRequest && no.Status != http.StatusUnprocessableEntity &&
			no.Status != http.StatusInternalServerError {
			return nil, err
		}
		part := m.leaveOut(&q, strings.ToLower(no.Text), no.Status == http.StatusInternalServerError)
		if part == "" {
			return nil, err
		}
		m.mu.Lock()
		m.without[part], m.why = true, no.Text
		m.mu.Unlock()
	}
}

// systemRole matches the error of a template that knows no system role. An "internal system error" does not match.
var systemRole = pattern.New(`system[a-z' ]*(?:role|message|prompt)|roles? [a-z' ]*system|only user(?:,| and) assistant`)

// thinkingWord matches what a server calls the effort of its model.
var thinkingWord = pattern.New(`reasoning|think`)

// leaveOut takes one part out of a request: one that is named, else, if not only named ones go, any; "": none is left.
func (m *mind) leaveOut(q *openai.ChatCompletionRequest, text string, named bool) string {
	parts := []struct {
		name, word string
		there      bool
		drop       func()
	}{
		{"usage", "stream_options", q.StreamOptions != nil, func() { q.StreamOptions = nil }},
		{"kwargs", "template_kwargs", q.ChatTemplateKwargs != nil, func() { q.ChatTemplateKwargs = nil }},
		{"effort", thinkingWord().FindString(text), q.ReasoningEffort != "", func() { q.ReasoningEffort = "" }},
		{"system", systemRole().FindString(text), hasSystem(q.Messages), func() { q.Messages = unsystemed(q.Messages) }},
		{"tools", "tool", q.Tools != nil, func() { q.Tools = nil }},
	}
	for _, any := range []bool{false, true} {
		if any && (named || strings.Contains(text, "model") && !strings.Contains(text, "support") || strings.Contains(text, "context")) {
			break
		}
		for _, p := range parts {
			if p.there && (any || p.word != "" && strings.Contains(text, p.word)) {
				p.drop()
				return p.name
			}
		}
	}
	return ""
}

// lacks is what a conversation goes without, and what the server said of it.
func (m *mind) lacks() (parts []string, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.without["tools"] {
		return []string{"tools"}, m.why
	}
	return nil, ""
}

// learn takes another profile for the way that it asks.
func (m *mind) learn(p Profile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Name, m.p.Usage, m.p.System, m.p.Kwargs, m.p.Effort = p.Name, p.Usage, p.System, p.Kwargs, p.Effort
}

// traits are those of the profile by now.
func (m *mind) traits() Profile {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.p
}

// chatModel is the first of a list that can converse, by its name.
func chatModel(models []string) string {
	for _, m := range models {
		low := strings.ToLower(m)
		if !slices.ContainsFunc([]string{"embed", "whisper", "tts", "rerank", "kokoro", "piper", "bge-", "stt", "transcribe"},
			func(s string) bool { return strings.Contains(low, s) }) {
			return m
		}
	}
	return models[0]
}

// warmWith has the server load its model and read what every conversation begins with, which many keep in memory.
func (m *mind) warmWith(ctx context.Context, messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) error {
	if m.profile.Vendor {
		return m.ready(ctx)
	}
	var n notes
	s, _, err := m.ask(context.WithValue(ctx, notesKey{}, &n), messages, tools, func(q *openai.ChatCompletionRequest) {
		if q.MaxTokens = 1; needsOther(q.Model) { //nolint:staticcheck // its successor is unknown to many servers
			q.MaxTokens, q.MaxCompletionTokens = 0, 1 //nolint:staticcheck // as above
		}
	})
	if err != nil {
		return m.failed("chat", reason(ctx, err))
	}
	defer s.Close()
	for err == nil {
		var line []byte
		if line, err = s.RecvRaw(); err == nil {
			_, _, err = n.read(line, m.key())
		}
	}
	if errors.Is(err, io.EOF) && n.none() {
		err = errNoAnswer
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return m.failed("chat", reason(ctx, err))
}

// needsOther: go-openai refuses max_tokens for names that begin like those of OpenAI's models that reason, whoever has them.
func needsOther(model string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(p string) bool { return strings.HasPrefix(model, p) })
}

func (m *mind) String() string { return fmt.Sprintf("%s at %s", m.model(), m.target) }
