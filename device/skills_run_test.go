package device

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"conch/companions/skills"
)

type worker func(context.Context) error

func (worker) Tools() []skills.Tool            { return nil }
func (w worker) Run(ctx context.Context) error { return w(ctx) }

// What a skill does beside its tools ends with a line in the log, whatever becomes of it.
func TestASkillThatFailsCostsNobodyElse(t *testing.T) {
	for _, c := range []struct {
		name string
		run  worker
		said int
	}{
		{"ends", func(context.Context) error { return nil }, 0},
		{"error", func(context.Context) error { return errors.New("no station") }, 1},
		{"panic", func(context.Context) error { panic("a bug") }, 1},
	} {
		var said bytes.Buffer
		runSkill(t.Context(), slog.New(slog.NewTextHandler(&said, nil)), c.run)
		if n := strings.Count(said.String(), logSkillEnded); n != c.said {
			t.Errorf("%s: %d lines; want %d", c.name, n, c.said)
		}
	}
}
