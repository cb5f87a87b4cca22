package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a person's terminal is spared, the ring has; and it never has more than its bounds.
func TestRingKeepsTheLastLines(t *testing.T) {
	r := NewRing()
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)
	var terminal bytes.Buffer
	log := r.Logger(slog.New(slog.NewTextHandler(&terminal, &slog.HandlerOptions{Level: level})), level)
	for i := range ringLines + 10 {
		log.Info("thing.happened", "n", i)
	}
	log.Debug("thing.small")
	if terminal.Len() > 0 {
		t.Errorf("the terminal has %s", terminal.String())
	}
	level.Set(slog.LevelDebug)
	log.Debug("thing.debugged")
	last, _, end := r.follow(ringLines * 2)
	end()
	text := string(bytes.Join(last, nil))
	if len(last) != ringLines || strings.Contains(text, "thing.small") || !strings.Contains(text, "event=thing.debugged") || strings.Contains(text, "n=9\n") {
		t.Errorf("%d lines, ending in %s", len(last), last[len(last)-1])
	}
	_, _ = r.Write(bytes.Repeat([]byte("x"), ringBytes))
	if last, _, end = r.follow(10); len(last) != 1 {
		t.Errorf("%d lines beside one of %d bytes", len(last), ringBytes)
	}
	end()
}

// Who follows is told what comes, and holds up nobody by not reading.
func TestRingIsFollowed(t *testing.T) {
	r := NewRing()
	mux := http.NewServeMux()
	r.Serve(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	fmt.Fprintln(r, "before")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/logs?follow=1&lines=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := make([]byte, len("before\nafter\n"))
	if _, err := io.ReadFull(answer.Body, got[:len("before\n")]); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(r, "after")
	if _, err := io.ReadFull(answer.Body, got[len("before\n"):]); err != nil || string(got) != "before\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
	for range 10 * ringWaits { // nobody reads
		fmt.Fprintln(r, "more")
	}
}
