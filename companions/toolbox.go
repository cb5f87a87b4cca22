package companions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"conch/companions/skills"
	"conch/coordinator/turn"
)

// Log events.
const (
	logToolDone     = "tool.done"
	logToolFailed   = "tool.failed"
	logToolPanicked = "tool.panicked"
)

// Bounds of a tool.
const (
	maxOutput = 16 << 10 // bytes of output for the model; more is cut, and says so
	maxArgs   = 64 << 10 // bytes of arguments
	maxTools  = 128      // the Realtime session takes as many
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Toolbox makes tools of skills. It is filled before the first turn and only read after; Call may come from any
// goroutine.
type Toolbox struct {
	log    *slog.Logger
	now    func() time.Time
	inject skills.Inject
	tools  map[string]boxed
	specs  []turn.ToolSpec
}

type boxed struct {
	skills.Tool
	schema argSchema
}

// Outcome is what a call came to: Output is always fit to be given to the model. Effect is nil for none.
type Outcome struct {
	Output string
	Effect skills.Effect
	Failed bool // Output is an apology
}

// NewToolbox makes an empty one. inject may be nil; now is the clock on the wall.
func NewToolbox(log *slog.Logger, now func() time.Time, inject skills.Inject) *Toolbox {
	return &Toolbox{log: log, now: now, inject: inject, tools: map[string]boxed{}}
}

// Add registers the tools of a skill, all or none.
func (b *Toolbox) Add(name string, s skills.Skill) error {
	tools := s.Tools()
	if len(b.tools)+len(tools) > maxTools {
		return fmt.Errorf("skill %s: %d tools more than the %d a session takes", name, len(b.tools)+len(tools)-maxTools, maxTools)
	}
	ready := make([]boxed, 0, len(tools))
	for _, t := range tools {
		if !toolName.MatchString(t.Name) {
			return fmt.Errorf("skill %s: tool %q: a name is 1 to 64 letters, digits, _ and -", name, t.Name)
		}
		_, taken := b.tools[t.Name]
		if taken || slices.ContainsFunc(ready, func(o boxed) bool { return o.Name == t.Name }) {
			return fmt.Errorf("skill %s: tool %q: the name is taken", name, t.Name)
		}
		if t.Handler == nil {
			return fmt.Errorf("skill %s: tool %q: no handler", name, t.Name)
		}
		if t.Schema == nil {
			t.Schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		schema, err := parseArgSchema(t.Schema)
		if err != nil {
			return fmt.Errorf("skill %s: tool %q: schema: %w", name, t.Name, err)
		}
		ready = append(ready, boxed{t, schema})
	}
	for _, t := range ready {
		b.tools[t.Name] = t
		b.specs = append(b.specs, turn.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return nil
}

// Specs describes the tools to a voice, in the order they were added.
func (b *Toolbox) Specs() []turn.ToolSpec { return slices.Clone(b.specs) }

// Call runs a tool on the caller's goroutine until it returns. That ctx ends is for the tool to heed, and for the caller to
// bound where it does not.
func (b *Toolbox) Call(ctx context.Context, c turn.CallTool) Outcome {
	log := b.log.With("turn", c.Turn, "tool", c.Name)
	t, ok := b.tools[c.Name]
	if !ok {
		log.Warn(logToolFailed, "err", "no such tool")
		return sorry("There is no tool named %q.", cut(c.Name, 100))
	}
	args := c.Args
	if strings.TrimSpace(args) == "" {
		args = "{}" // what some models send for none
	}
	if err := t.schema.check(args); err != nil {
		log.Warn(logToolFailed, "err", err)
		return sorry("The arguments were refused: %v. Correct them and try again, or ask.", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	o := b.run(skills.Context{Context: ctx, Turn: string(c.Turn), Companion: string(c.Who), Log: log, Now: b.now, Inject: b.inject}, t, args)
	log.Info(logToolDone, "ms", time.Since(began).Milliseconds(), "failed", o.Failed)
	return o
}

// run calls the handler and turns whatever happens into an outcome.
func (b *Toolbox) run(ctx skills.Context, t boxed, args string) (o Outcome) {
	defer recoverTo(ctx.Log, func() { o = sorry("Sorry, that went wrong on my side.") })
	r, err := t.Handler(ctx, json.RawMessage(args))
	switch over := ctx.Err(); {
	case err == nil:
	case errors.Is(over, context.DeadlineExceeded):
		ctx.Log.Warn(logToolFailed, "err", err)
		return sorry("Sorry, that took too long and was given up.")
	case over != nil:
		ctx.Log.Info(logToolFailed, "err", err)
		return sorry("It was interrupted before it was finished.")
	default:
		ctx.Log.Warn(logToolFailed, "err", err)
		return sorry("Sorry, that did not work: %v.", err)
	}
	if v, ok := r.Effect.(skills.SetVolume); ok && (v.Percent < 0 || v.Percent > 100) {
		ctx.Log.Error(logToolFailed, "err", fmt.Sprintf("volume %d", v.Percent))
		return sorry("Sorry, the volume must be between 0 and 100.")
	}
	return Outcome{Output: cut(r.Output, maxOutput), Effect: r.Effect}
}

// recoverTo ends a panic of somebody else's code in a line of the log. To be deferred.
func recoverTo(log *slog.Logger, then func()) {
	if p := recover(); p != nil {
		log.Error(logToolPanicked, "panic", p, "stack", string(debug.Stack()))
		then()
	}
}

func sorry(format string, args ...any) Outcome {
	return Outcome{Output: cut(fmt.Sprintf(format, args...), 1000), Failed: true}
}

// cut shortens to at most so many bytes, at a character, and says so.
func cut(s string, most int) string {
	const more = " [cut off here]"
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	at := most - len(more)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + more
}

// argSchema is the part of a JSON Schema that is checked before a call: the top level of an object. The rest is the
// handler's.
type argSchema struct {
	Type       any                  `json:"type"`
	Properties map[string]argSchema `json:"properties"`
	Required   []string             `json:"required"`
	Additional any                  `json:"additionalProperties"`
	Enum       []any                `json:"enum"`
	Minimum    *float64             `json:"minimum"`
	Maximum    *float64             `json:"maximum"`
	MaxLength  *int                 `json:"maxLength"`
}

func parseArgSchema(raw []byte) (s argSchema, err error) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, err
	}
	if s.Type != "object" {
		return s, fmt.Errorf("type is %v: arguments are an object", s.Type)
	}
	return s, nil
}

func (s argSchema) check(args string) error {
	if len(args) > maxArgs {
		return fmt.Errorf("%d bytes are too many (at most %d)", len(args), maxArgs)
	}
	var o map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	if err := d.Decode(&o); err != nil || o == nil || d.More() {
		return errors.New("they are not one JSON object")
	}
	for _, k := range s.Required {
		if _, ok := o[k]; !ok {
			return fmt.Errorf("%q is missing", k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		p, known := s.Properties[k]
		if !known {
			if s.Additional == false {
				return fmt.Errorf("%q is unknown", cut(k, 100))
			}
			continue
		}
		if err := p.value(o[k]); err != nil {
			return fmt.Errorf("%q %w", k, err)
		}
	}
	return nil
}

func (s argSchema) value(v any) error {
	if want, ok := s.Type.(string); ok && !isA(v, want) {
		return fmt.Errorf("must be of type %s", want)
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		return fmt.Errorf("must be one of %v", s.Enum)
	}
	switch v := v.(type) {
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			return fmt.Errorf("must be at least %v", *s.Minimum)
		}
		if s.Maximum != nil && v > *s.Maximum {
			return fmt.Errorf("must be at most %v", *s.Maximum)
		}
	case string:
		if s.MaxLength != nil && utf8.RuneCountInString(v) > *s.MaxLength {
			return fmt.Errorf("must have at most %d characters", *s.MaxLength)
		}
	}
	return nil
}

func isA(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}
