package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"conch/coordinator"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
)

// What was asked and answered, or done, is status 0; what was displaced says by what.
func TestHowAQuestionEnds(t *testing.T) {
	done, newer := []string{"The timer for 3 minutes is set."}, "a newer question came"
	failed := control.Turn{Record: coordinator.Record{Reason: "failed"}}
	part := control.Turn{Record: coordinator.Record{Reason: "interrupted", Said: "It is noon.", HeardText: "It is"}}
	heard := func(ms float64) control.Turn {
		return control.Turn{Record: coordinator.Record{Reason: "failed", SpeechMS: 2479.9, HeardMS: ms}}
	}
	const long = "My answer grew too long."
	for _, c := range []struct {
		a        control.Answer
		out, err string
	}{
		{control.Answer{Outcome: control.OutcomeAnswered, Text: "It is noon."}, "It is noon.\n", ""},
		{control.Answer{Outcome: control.OutcomeAnswered, Summary: control.Turn{Record: coordinator.Record{Tools: 1}}}, "(done, without a word)\n", ""},
		{control.Answer{Outcome: control.OutcomeSuperseded, Why: newer}, "", "ask: not answered: " + newer},
		{control.Answer{Outcome: control.OutcomeSuperseded, Why: newer, Text: "It is noon.", Summary: part}, "It is … (" + newer + ")\n", "ask: not heard to its end: " + newer},
		{control.Answer{Outcome: control.OutcomeAnswered, Why: "it was cut", Text: "It is", Who: "Ben", Place: "bedroom"},
			"Ben (bedroom): It is … (it was cut)\n", "ask: not heard to its end: it was cut"},
		{control.Answer{Outcome: control.OutcomeAnswered, Text: "It is noon.", Who: "Ben", Place: "bedroom"}, "Ben (bedroom): It is noon.\n", ""},
		{control.Answer{Outcome: control.OutcomeSuperseded, Why: newer, Done: done}, done[0] + " (done, but the answer was not heard: " + newer + ")\n", ""},
		{control.Answer{Outcome: control.OutcomeFailed, Done: done, Summary: failed}, done[0] + " (done, but the answer was not heard)\n", "ask: failed: no answer came"},
		{control.Answer{Outcome: control.OutcomeFailed, Text: "It is", Words: long, Summary: heard(2479.9)}, "It is\n",
			"ask: that was heard, and is not the whole answer: " + long},
		{control.Answer{Outcome: control.OutcomeFailed, Text: "It is", Summary: heard(2479.9)}, "It is\n",
			"ask: that was heard, and is not the whole answer: it broke off (failed)"},
		{control.Answer{Outcome: control.OutcomeFailed, Text: "It is", Words: long, Summary: heard(12)}, "It is\n",
			"ask: that is the answer as far as it came, and it was not heard to its end (failed): " + long},
		{control.Answer{Outcome: control.OutcomeFailed, Text: "It is", Words: long, Summary: heard(0)}, "It is\n",
			"ask: that is the answer, but it was not heard (failed): " + long},
	} {
		var out bytes.Buffer
		err := askCmd{}.tell(&env{out: printable.NewWriter(&out)}, c.a)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if out.String() != c.out || said != c.err {
			t.Errorf("%q, %q; want %q, %q", out.String(), said, c.out, c.err)
		}
	}
}

// Ctrl-C on a command that waits is told in words, not in those of the socket.
func TestWhoeverDoesNotWaitIsToldWhatThatMeans(t *testing.T) {
	cfg := config.Default()
	cfg.State.Runtime = filepath.Join(t.TempDir(), "run")
	l, err := control.Listen(cfg.State.Socket())
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not learn that nobody waits
		interrupt()
		<-r.Context().Done()
	}))
	server.Listener = l
	server.Start()
	defer server.Close()
	if err := (&env{ctx: ctx, loaded: &cfg}).request("POST", "/say", control.SayRequest{Text: "hello"}, nil); !errors.Is(err, errInterrupted) {
		t.Errorf("%v", err)
	}
}
