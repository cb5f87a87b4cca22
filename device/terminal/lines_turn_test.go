package terminal

import (
	"context"
	"os"
	"slices"
	"testing"

	"conch/gpio"
)

// Questions wait for their turn, and a press does not wait behind them: what it is to silence is being said now.
func TestAPressOvertakesQuestionsThatWait(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	free, got, done := make(chan struct{}, 9), make(chan gpio.Event), make(chan error)
	l := NewLines(in, Options{})
	l.InTurn(func() bool {
		select {
		case <-free:
			return true
		default:
			return false
		}
	})
	go func() { done <- l.Run(t.Context(), func(ev gpio.Event) { got <- ev }) }()
	next := func(n int) (all []string) {
		for range n {
			ev := <-got
			all = append(all, ev.Kind.String()+ev.Text)
		}
		return all
	}
	want := func(what string, got []string, events ...string) {
		t.Helper()
		if !slices.Equal(got, events) {
			t.Errorf("%s: %v; want %v", what, got, events)
		}
	}
	free <- struct{}{}
	if _, err := out.WriteString("ask one\nask two\nask three\npress\nwait 1ms\nrelease\n"); err != nil {
		t.Fatal(err)
	}
	want("the first, and a press while two wait", next(4), "askedone", "touched", "pressed", "released")
	if _, err := out.WriteString("wait 1ms\npress\n"); err != nil { // behind a wait it comes when the questions have been asked
		t.Fatal(err)
	}
	_ = out.Close()
	free <- struct{}{}
	free <- struct{}{}
	want("in turn", next(6), "askedtwo", "askedthree", "touched", "pressed", "released", "eof")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What waits does not outlive its Lines, and is not asked when the end has come.
func TestQuestionsThatWaitEndWithTheirContext(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	waits, done := make(chan struct{}, 1), make(chan error)
	l := NewLines(in, Options{})
	l.InTurn(func() bool {
		select {
		case waits <- struct{}{}:
		default:
		}
		return false
	})
	go func() { done <- l.Run(ctx, func(ev gpio.Event) { t.Errorf("told %v", ev.Kind) }) }()
	_, _ = out.WriteString("ask one\nask two\nwait 1ms\n")
	<-waits
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
