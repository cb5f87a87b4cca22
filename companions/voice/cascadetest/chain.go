// Package cascadetest is a server of the chain that a cascade talks to: transcription, chat and speech as OpenAI-compatible servers have
// them, by a script. It keeps pace like models do, and can be wrong in all the ways that real ones are. It is a handler: tests serve it
// on loopback, or in a bubble of virtual time.
package cascadetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Script is what a server does. The zero value hears "hello there", answers with that, and says it.
type Script struct {
	Models []string // nil: there is no list
	Owner  string   // of all of them
	Name   string   // as it calls itself in its answers
	Key    string   // the only one that is taken; "": any
	Single bool     // one request at a time, the others wait
	Busy   bool     // and are refused instead
	Cold   time.Duration
	Prefix string // of all paths; "": /v1
	Speak  string // path of speech; "": /audio/speech
	Listen string // path of transcription; "": /audio/transcriptions

	Before func(w http.ResponseWriter, r *http.Request, stage string) bool // takes a request over
	Hear   func(Request) Reply
	Chat   func(Request) Reply
	Say    func(Request) Reply
}

// Stages of a Request.
const (
	List  = "list"
	Hear  = "hear"
	Chat  = "chat"
	Say   = "say"
	Other = "other"
)

// Request is what a client asked.
type Request struct {
	N       int // of its stage, from 0
	Stage   string
	At      time.Time
	Header  http.Header
	Model   string
	Text    string         // that is to be said, or the last of the messages
	Body    map[string]any // of JSON, or the form's fields
	Rate    int            // of sound that is to be heard
	Samples int
}

// Messages are those of a chat, as "role: text".
func (q Request) Messages() (all []string) {
	list, _ := q.Body["messages"].([]any)
	for _, m := range list {
		o, _ := m.(map[string]any)
		text, _ := o["content"].(string)
		if calls, ok := o["tool_calls"].([]any); ok {
			for _, c := range calls {
				f, _ := c.(map[string]any)["function"].(map[string]any)
				text += fmt.Sprintf("[%v %v]", f["name"], f["arguments"])
			}
		}
		all = append(all, fmt.Sprint(o["role"], ": ", text))
	}
	return all
}

// Call is of a tool.
type Call struct{ ID, Name, Args string }

// Reply is what happens then.
type Reply struct {
	Status int // 0: 200
	Type   string
	Body   string        // instead of all of it, as it stands
	Over   time.Duration // in which Body comes, in hundred parts; 0: at once
	Wait   time.Duration // before the first byte
	Hang   bool          // no byte, until the client goes

	Thinks   string  // before an answer, beside it, a word at a time
	Text     string  // of a transcript, or an answer, which comes a word at a time
	Pace     float64 // tokens a second; 0: at once
	Calls    []Call
	Finish   string // "": stop, or tool_calls
	NoFinish bool
	NoDone   bool
	Lines    []string // of the stream, before all others, as they stand
	Whole    bool     // no stream
	In, Out  int      // usage; 0: none

	Seconds float64 // of sound; 0: as long as the text takes
	Times   float64 // of real time, at which it comes; 0: at once
	Rate    int     // of the sound; 0: 24000
	Claims  int     // what the header says; 0: the truth
	Format  string  // "": as asked
	Endless bool
	Cut     int // the connection ends after so many tokens, milliseconds of sound, or parts of Body
}

// Chain is a server.
type Chain struct {
	mu       sync.Mutex
	script   Script
	requests []Request
	count    map[string]int
	open     int
	loaded   time.Time
	turns    chan struct{}
}

// New is one.
func New(s Script) *Chain {
	return &Chain{script: s, count: map[string]int{}, turns: make(chan struct{}, 1)}
}

// Be has it do something else from now on.
func (c *Chain) Be(s Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script = s
}

// Requests are those of a stage so far.
func (c *Chain) Requests(stage string) (all []Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.requests {
		if q.Stage == stage {
			all = append(all, q)
		}
	}
	return all
}

// Open is how many requests are not over.
func (c *Chain) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *Chain) stage(s *Script, r *http.Request) string {
	prefix := s.Prefix
	if prefix == "" {
		prefix = "/v1"
	}
	or := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	switch r.URL.Path {
	case prefix + "/models", "/health", "/voices":
		return List
	case or(s.Listen, prefix+"/audio/transcriptions"):
		return Hear
	case prefix + "/chat/completions":
		return Chat
	case or(s.Speak, prefix+"/audio/speech"):
		return Say
	}
	return Other
}

func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	s := c.script
	q := Request{Stage: c.stage(&s, r), At: time.Now(), Header: r.Header.Clone()}
	q.N = c.count[q.Stage]
	c.count[q.Stage]++
	c.open++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.open--
		c.mu.Unlock()
	}()
	read(&q, r)
	c.mu.Lock()
	c.requests = append(c.requests, q)
	c.mu.Unlock()
	if s.Name != "" {
		w.Header().Set("Server", s.Name)
	}
	if s.Before != nil && s.Before(w, r, q.Stage) {
		return
	}
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key {
		fail(w, http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+
			`.","type":"invalid_request_error","code":"invalid_api_key"}}`)
		return
	}
	if q.Stage != List && (s.Single || s.Busy) {
		select {
		case c.turns <- struct{}{}:
			defer func() { <-c.turns }()
		default:
			if s.Busy {
				fail(w, http.StatusServiceUnavailable, `{"error":{"message":"no slot available","type":"unavailable_error","code":503}}`)
				return
			}
			select {
			case c.turns <- struct{}{}:
				defer func() { <-c.turns }()
			case <-r.Context().Done():
				return
			}
		}
	}
	if q.Stage != List && !c.load(r.Context(), s.Cold) {
		return
	}
	c.reply(w, r, s, q)
}

// load takes its time when nobody has asked for five minutes; false: the client went.
func (c *Chain) load(ctx context.Context, d time.Duration) bool {
	c.mu.Lock()
	warm := time.Since(c.loaded) < 5*time.Minute
	c.mu.Unlock()
	if d > 0 && !warm && !wait(ctx, d) {
		return false
	}
	c.mu.Lock()
	c.loaded = time.Now()
	c.mu.Unlock()
	return true
}

func (c *Chain) reply(w http.ResponseWriter, r *http.Request, s Script, q Request) {
	p := Reply{Text: "Hello there."}
	switch q.Stage {
	case List:
		if s.Models == nil {
			fail(w, http.StatusNotFound, `{"detail":"Not Found"}`)
			return
		}
		var all []map[string]any
		for _, m := range s.Models {
			all = append(all, map[string]any{"id": m, "object": "model", "owned_by": s.Owner})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": all})
		return
	case Hear:
		if p.Text = "hello there"; s.Hear != nil {
			p = s.Hear(q)
		}
	case Chat:
		if s.Chat != nil {
			p = s.Chat(q)
		}
	case Say:
		if s.Say != nil {
			p = s.Say(q)
		}
	default:
		fail(w, http.StatusNotFound, `{"error":"404 page not found"}`)
		return
	}
	switch {
	case p.Hang:
		<-r.Context().Done()
	case !wait(r.Context(), p.Wait):
	case p.Body != "" || p.Status != 0 && p.Status != http.StatusOK:
		if p.Type != "" {
			w.Header().Set("Content-Type", p.Type)
		}
		if p.Status != 0 {
			w.WriteHeader(p.Status)
		}
		parts(w, r, p)
	case q.Stage == Hear:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"text": p.Text})
	case q.Stage == Chat:
		answer(w, r, p)
	default:
		speak(w, r, p, q)
	}
}

// parts sends a body as slowly as it is to come.
func parts(w http.ResponseWriter, r *http.Request, p Reply) {
	if p.Over == 0 && p.Cut == 0 {
		_, _ = io.WriteString(w, p.Body)
		return
	}
	for i := range 100 {
		if p.Cut > 0 && i == p.Cut {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to end a connection in the middle
		}
		_, _ = io.WriteString(w, p.Body[len(p.Body)*i/100:len(p.Body)*(i+1)/100])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		if !wait(r.Context(), p.Over/100) {
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func fail(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func read(q *Request, r *http.Request) {
	q.Body = map[string]any{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if r.ParseMultipartForm(64<<20) != nil {
			return
		}
		for k, v := range r.MultipartForm.Value {
			q.Body[k] = v[0]
		}
		for k, v := range r.MultipartForm.File {
			q.Body[k] = v[0].Filename
			if f, err := v[0].Open(); err == nil {
				b, _ := io.ReadAll(f)
				if len(b) > 44 {
					q.Rate, q.Samples = int(binary.LittleEndian.Uint32(b[24:])), (len(b)-44)/2
				}
				f.Close()
			}
		}
	} else if b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)); err == nil {
		_ = json.Unmarshal(b, &q.Body)
	}
	q.Model, _ = q.Body["model"].(string)
	q.Text, _ = q.Body["input"].(string)
	if t, ok := q.Body["text"].(string); ok {
		q.Text = t
	}
	if m := q.Messages(); len(m) > 0 {
		_, q.Text, _ = strings.Cut(m[len(m)-1], ": ")
	}
}

// Tokens are what a model writes at once: words with the space before them.
func Tokens(text string) (all []string) {
	for i, w := range strings.SplitAfter(text, " ") {
		if w == "" {
			continue
		}
		if i > 0 {
			w = " " + w
		}
		all = append(all, strings.TrimSuffix(w, " "))
	}
	return all
}

func answer(w http.ResponseWriter, r *http.Request, p Reply) {
	finish := p.Finish
	if finish == "" {
		if finish = "stop"; len(p.Calls) > 0 {
			finish = "tool_calls"
		}
	}
	var calls []any
	for i, c := range p.Calls {
		calls = append(calls, map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}})
	}
	usage := map[string]any{"prompt_tokens": p.In, "completion_tokens": p.Out, "total_tokens": p.In + p.Out}
	if p.Whole {
		message := map[string]any{"role": "assistant", "content": p.Text}
		if calls != nil {
			message["tool_calls"] = calls
		}
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		_ = e.Encode(map[string]any{"object": "chat.completion", "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(line string) {
		_, _ = io.WriteString(w, line)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	data := func(delta map[string]any, finish any) {
		b, _ := json.Marshal(map[string]any{"object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta,
			"finish_reason": finish}}})
		send("data: " + string(b) + "\n\n")
	}
	for _, l := range p.Lines {
		send(l + "\n")
	}
	for _, t := range Tokens(p.Thinks) {
		if p.Pace > 0 && !wait(r.Context(), time.Duration(float64(time.Second)/p.Pace)) {
			return
		}
		data(map[string]any{"reasoning_content": t}, nil)
	}
	for i, t := range Tokens(p.Text) {
		if p.Cut > 0 && i == p.Cut {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to end a connection in the middle
		}
		if p.Pace > 0 && !wait(r.Context(), time.Duration(float64(time.Second)/p.Pace)) {
			return
		}
		data(map[string]any{"content": t}, nil)
	}
	for p.Endless && r.Context().Err() == nil {
		data(map[string]any{"content": " and so on"}, nil)
		wait(r.Context(), time.Millisecond)
	}
	if calls != nil {
		data(map[string]any{"tool_calls": calls}, nil)
	}
	if !p.NoFinish {
		data(map[string]any{}, finish)
	}
	if p.In > 0 {
		b, _ := json.Marshal(map[string]any{"choices": []any{}, "usage": usage})
		send("data: " + string(b) + "\n\n")
	}
	if !p.NoDone {
		send("data: [DONE]\n\n")
	}
}

// Sound is a tone between two silences of 80 ms.
func Sound(seconds float64, rate int) []int16 {
	pcm := make([]int16, int(seconds*float64(rate)))
	quiet := rate * 8 / 100
	for i := quiet; i < len(pcm)-quiet; i++ {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*220*float64(i-quiet)/float64(rate)))
	}
	return pcm
}

// Length is how long a text is spoken.
func Length(text string) float64 { return 0.16 + float64(len([]rune(text)))/15 }

func speak(w http.ResponseWriter, r *http.Request, p Reply, q Request) {
	or := func(a, b int) int {
		if a != 0 {
			return a
		}
		return b
	}
	rate := or(p.Rate, 24000)
	format := p.Format
	if format == "" {
		if format, _ = q.Body["response_format"].(string); format == "" {
			format = "wav"
		}
	}
	seconds := p.Seconds
	if seconds == 0 {
		seconds = Length(q.Text)
	}
	if seconds < 0 {
		seconds = 0
	}
	pcm := Sound(seconds, rate)
	var head bytes.Buffer
	if format == "wav" {
		w.Header().Set("Content-Type", "audio/wav")
		head.WriteString("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
		_ = binary.Write(&head, binary.LittleEndian, []uint32{uint32(or(p.Claims, rate)), uint32(2 * rate)})
		head.WriteString("\x02\x00\x10\x00data\xff\xff\xff\xff")
	} else {
		w.Header().Set("Content-Type", "audio/pcm")
	}
	flush := func() {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	_, _ = w.Write(head.Bytes())
	loud := Sound(1, rate)[rate/4:]
	step := rate / 20
	for at := 0; at < len(pcm) || p.Endless; at += step {
		part := pcm[min(at, len(pcm)):min(at+step, len(pcm))]
		if p.Endless && at >= len(pcm) {
			part = loud[:step]
			wait(r.Context(), time.Millisecond)
		}
		if p.Cut > 0 && at*1000/rate >= p.Cut {
			flush()
			panic(http.ErrAbortHandler) //nolint:forbidigo // as above
		}
		if p.Times > 0 && !wait(r.Context(), time.Duration(float64(len(part))/float64(rate)/p.Times*float64(time.Second))) || r.Context().Err() != nil {
			return
		}
		if binary.Write(w, binary.LittleEndian, part) != nil {
			return
		}
		if p.Times > 0 || p.Endless {
			flush()
		}
	}
}
