// Package chattest is a chat server for tests: chat completions as OpenAI-compatible servers have them, on loopback, by a
// script. It can be slow, wrong, cut off, huge, out of quota, and can refuse structured output.
//
//	POST <URL>/chat/completions ─> check (what the API would refuse: 400) ─> the script's reply
//
// Every request that passes the check is kept (Requests); what it finds wrong is kept too (Violations): a test that uses
// the server fails when its client sent something that the real one would refuse.
package chattest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TB is what New needs of a test.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Options of a server. The zero value answers everything with an empty object.
type Options struct {
	Reply        func(Request) Reply // called for each request, from its goroutine; nil: Reply{}
	Key          string              // the only one accepted; empty: any, and none
	Path         string              // in front of /chat/completions; empty: /v1
	RefuseSchema bool                // response_format json_schema is answered with 400
	RefuseObject bool                // json_object too
}

// Request is what a client asked.
type Request struct {
	N        int // from 0
	Model    string
	System   string // the messages by role, joined
	User     string
	Format   string // of response_format: json_schema, json_object; empty: none
	MaxToken int
	Header   http.Header
	Body     []byte
}

// Reply is what happens then.
type Reply struct {
	Content  string        // of the assistant's message
	Status   int           // 0: 200; others come with an error object
	Body     string        // instead of all of it, as it stands
	Wait     time.Duration // before the first byte
	Hang     bool          // no first byte until the client goes
	Cut      int           // the connection ends after so many bytes of the body
	Stall    int           // nothing more comes after so many bytes, and the connection stays
	Pad      int           // bytes of blanks in front of the body: a huge answer
	Flood    bool          // bytes that are no JSON, until the client goes
	Finish   string        // finish_reason; empty: stop
	Refusal  string
	Redirect string
	In, Out  int // usage
}

// Server is a running chat server.
type Server struct {
	URL string // with the path, as a client is configured
	o   Options
	s   *httptest.Server

	mu         sync.Mutex
	requests   []Request
	violations []string
	born       int
}

// New starts a server; it ends with the test, which fails when a request was not as the API takes it.
func New(t TB, o Options) *Server {
	t.Helper()
	if o.Path == "" {
		o.Path = "/v1"
	}
	s := &Server{o: o}
	s.s = httptest.NewServer(s)
	s.URL = s.s.URL + o.Path
	t.Cleanup(func() {
		s.s.CloseClientConnections()
		s.s.Close()
		for _, v := range s.Violations() {
			t.Errorf("chattest: the API would refuse this: %s", v)
		}
	})
	return s
}

// Host is the address without the path.
func (s *Server) Host() string { return s.s.URL }

// Requests are those that passed the check, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Violations are what the API would have refused.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(io.LimitReader(q.Body, 1<<20))
	if err != nil {
		return
	}
	if q.URL.Path != s.o.Path+"/chat/completions" {
		fail(w, http.StatusNotFound, "invalid_request_error", "no such address: "+q.URL.Path)
		return
	}
	if s.o.Key != "" && q.Header.Get("Authorization") != "Bearer "+s.o.Key {
		fail(w, http.StatusUnauthorized, "invalid_request_error", "Incorrect API key provided: "+strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "))
		return
	}
	r, wrong := parse(q, body)
	if wrong != "" {
		s.mu.Lock()
		s.violations = append(s.violations, wrong)
		s.mu.Unlock()
		fail(w, http.StatusBadRequest, "invalid_request_error", wrong)
		return
	}
	s.mu.Lock()
	r.N = s.born
	s.born++
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if s.o.RefuseSchema && r.Format == "json_schema" || s.o.RefuseObject && r.Format != "" {
		fail(w, http.StatusBadRequest, "invalid_request_error", "response_format is not supported by this server")
		return
	}
	reply := Reply{Content: "{}"}
	if s.o.Reply != nil {
		reply = s.o.Reply(r)
	}
	answer(w, q, r, reply)
}

func answer(w http.ResponseWriter, q *http.Request, r Request, p Reply) {
	if p.Wait > 0 {
		t := time.NewTimer(p.Wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-q.Context().Done():
			return
		}
	}
	switch {
	case p.Hang:
		<-q.Context().Done()
		return
	case p.Redirect != "":
		http.Redirect(w, q, p.Redirect, http.StatusTemporaryRedirect)
		return
	case p.Status != 0 && p.Status != http.StatusOK && p.Body == "":
		if p.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		fail(w, p.Status, "server_error", "as the script says")
		return
	}
	body := []byte(p.Body)
	if p.Body == "" {
		body = completion(r, p)
	}
	w.Header().Set("Content-Type", "application/json")
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	send := func(b []byte) bool {
		_, err := w.Write(b)
		if f, ok := w.(http.Flusher); ok && err == nil {
			f.Flush()
		}
		return err == nil
	}
	switch {
	case p.Flood:
		for send([]byte("\x00\xff{{[[data: nonsense ")) && q.Context().Err() == nil {
		}
	case p.Cut > 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		send(body[:min(p.Cut, len(body))])
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to end a connection in the middle
	case p.Stall > 0:
		send(body[:min(p.Stall, len(body))])
		<-q.Context().Done()
	default:
		blank := []byte(strings.Repeat(" ", 64<<10))
		for n := p.Pad; n > 0; n -= len(blank) {
			if !send(blank[:min(n, len(blank))]) {
				return
			}
		}
		send(body)
	}
}

func completion(r Request, p Reply) []byte {
	finish := p.Finish
	if finish == "" {
		finish = "stop"
	}
	message := map[string]any{"role": "assistant", "content": p.Content}
	if p.Refusal != "" {
		message["content"], message["refusal"] = nil, p.Refusal
	}
	b, _ := json.Marshal(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion", "created": 1, "model": r.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
		"usage":   map[string]any{"prompt_tokens": p.In, "completion_tokens": p.Out, "total_tokens": p.In + p.Out},
	})
	return b
}

func fail(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": text, "type": kind, "param": nil, "code": nil}})
}
