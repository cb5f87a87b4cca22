package companions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/device/pattern"
	"conch/device/printable"
)

// Log events.
const (
	logToolDone     = "tool.done"
	logToolFailed   = "tool.failed"
	logToolPanicked = "tool.panicked"
	logToolLeftOut  = "tool.left_out" // source, tool, why: nobody can call it
	logToolRefused  = "tool.refused"  // cause, kind: the words that called it may not
)

// Bounds of a tool.
const (
	maxOutput = 16 << 10 // bytes of output for the model; more is cut, and says so
	maxArgs   = 64 << 10 // bytes of arguments
	maxTools  = 128      // the Realtime session takes as many
)

var toolName = pattern.New(`^[A-Za-z0-9_-]{1,64}$`)

// Toolbox makes tools of skills, and of sources whose tools come and go. Its methods may be called from any goroutine: whoever
// changes it puts a whole new shelf into its place, and who reads never waits.
type Toolbox struct {
	log *slog.Logger
	now func() time.Time

	// May says whether a companion, by the id of its card, may use a tool; nil: all of them all. It is set before the first call.
	May func(companion, tool string) bool
	// Widened says whether the household lets words of a cause call a tool beyond the table; nil: none.
	Widened func(cause, tool string) bool

	shelf  atomic.Pointer[shelf]
	latest atomic.Pointer[string] // why the last call was run or not
	mu     sync.Mutex             // held by whoever changes the shelf; guards groups
	// Those of skills in the order they were added, then those of sources in the order of their names.
	groups []group
}

// group are the tools of a skill, or of a source.
type group struct {
	name  string
	brief string // of the skill, for a model with little room
	moves bool   // of a source
	tools []boxed
	left  []LeftOut // those that were no tools
}

// shelf is what there is at a moment; it never changes.
type shelf struct {
	tools map[string]boxed
	specs []turn.ToolSpec
	left  map[string][]LeftOut // by source
}

// LeftOut is a tool of a source that nobody can call, and why.
type LeftOut struct{ Tool, Why string }

type boxed struct {
	skills.Tool
	skill string
	args  arguments
}

// Outcome is what a call came to. Effect is nil for none.
type Outcome struct {
	Output string
	Effect skills.Effect
	Failed bool   // Output is an apology
	Skill  string // whose tool it was, if it was run
	Quotes string // the skill, where Output has words that others wrote
	source string
}

// Prompt is the output as the model reads it: quoted, but for apologies, which are conch's own words.
func (o Outcome) Prompt() string {
	if o.Failed || o.Output == "" {
		return o.Output
	}
	return printable.Quotation(o.source, o.Output)
}

// NewToolbox makes an empty one. now is the clock on the wall.
func NewToolbox(log *slog.Logger, now func() time.Time) *Toolbox {
	b := &Toolbox{log: log, now: now}
	b.shelf.Store(&shelf{})
	return b
}

// Add registers the tools of a skill, all or none.
func (b *Toolbox) Add(name string, s skills.Skill) error {
	tools := s.Tools()
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.shelf.Load()
	if n := len(old.tools) + len(tools); n > maxTools {
		return fmt.Errorf("skill %s: %d tools more than the %d a session takes", name, n-maxTools, maxTools)
	}
	g := group{name: name}
	if x, ok := s.(skills.Brief); ok {
		g.brief = x.Brief()
	}
	for _, t := range tools {
		x, err := box(name, t)
		if _, taken := old.tools[t.Name]; err == nil && (taken || g.has(t.Name)) {
			err = errTaken
		}
		if err != nil {
			return fmt.Errorf("skill %s: tool %q: %w", name, t.Name, err)
		}
		g.tools = append(g.tools, x)
	}
	at := slices.IndexFunc(b.groups, func(g group) bool { return g.moves })
	if at < 0 {
		at = len(b.groups)
	}
	b.arrange(slices.Insert(slices.Clone(b.groups), at, g))
	return nil
}

// Replace makes these the tools of a source, in the place of those it had; none: it is gone. A tool that cannot be one is left out
// alone, and so are those beyond what a session takes: those of skills win, then sources in the order of their names. It says whether
// there are others than there were.
func (b *Toolbox) Replace(source string, tools []skills.Tool) (others bool) {
	g := group{name: source, moves: true}
	for _, t := range tools {
		x, err := box(source, t)
		if err == nil && g.has(t.Name) {
			err = errTaken
		}
		if err != nil {
			b.log.Warn(logToolLeftOut, "source", source, "tool", cut(t.Name, 100), "why", err)
			g.left = append(g.left, LeftOut{cut(t.Name, 100), err.Error()})
			continue
		}
		g.tools = append(g.tools, x)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(b.groups), func(o group) bool { return o.moves && o.name == source })
	if len(tools) == 0 && len(all) == len(b.groups) {
		return false
	}
	at := slices.IndexFunc(all, func(o group) bool { return o.moves && o.name > source })
	if at < 0 {
		at = len(all)
	}
	if len(tools) > 0 {
		all = slices.Insert(all, at, g)
	}
	b.arrange(all)
	return true
}

// LeftOut are the tools of a source that nobody can call.
func (b *Toolbox) LeftOut(source string) []LeftOut { return b.shelf.Load().left[source] }

// arrange puts a new shelf into the place of the old one. The caller holds mu.
func (b *Toolbox) arrange(groups []group) {
	b.groups = groups
	s := &shelf{tools: map[string]boxed{}, left: map[string][]LeftOut{}}
	old := b.shelf.Load()
	for _, g := range groups {
		s.left[g.name] = slices.Clone(g.left)
		for _, t := range g.tools {
			why := ""
			if _, taken := s.tools[t.Name]; taken {
				why = errTaken.Error()
			} else if len(s.tools) == maxTools {
				why = fmt.Sprintf("a session takes %d tools", maxTools)
			}
			if why != "" {
				out := LeftOut{t.Name, why}
				s.left[g.name] = append(s.left[g.name], out)
				if !slices.Contains(old.left[g.name], out) {
					b.log.Warn(logToolLeftOut, "source", g.name, "tool", t.Name, "why", why)
				}
				continue
			}
			s.tools[t.Name] = t
			s.specs = append(s.specs, turn.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema, Skill: g.name, Brief: g.brief})
		}
	}
	b.shelf.Store(s)
}

var errTaken = errors.New("the name is taken")

func (g group) has(tool string) bool {
	return slices.ContainsFunc(g.tools, func(o boxed) bool { return o.Name == tool })
}

// box checks what a tool is made of.
func box(skill string, t skills.Tool) (boxed, error) {
	if !toolName().MatchString(t.Name) {
		return boxed{}, errors.New("a name is 1 to 64 letters, digits, _ and -")
	}
	if t.Handler == nil {
		return boxed{}, errors.New("no handler")
	}
	if t.Schema == nil {
		t.Schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	args, err := newArguments(t.Schema)
	if err != nil {
		return boxed{}, fmt.Errorf("schema: %w", err)
	}
	return boxed{t, skill, args}, nil
}

// Specs describes the tools to a voice: those of skills in the order they were added, then those of sources.
func (b *Toolbox) Specs() []turn.ToolSpec { return slices.Clone(b.shelf.Load().specs) }

// Call runs a tool on the caller's goroutine until it returns. That ctx ends is for the tool to heed, and for the caller to
// bound where it does not.
func (b *Toolbox) Call(ctx context.Context, c turn.CallTool) Outcome {
	t, ok := b.shelf.Load().tools[c.Name]
	log := b.log.With("skill", t.skill, "turn", c.Turn, "tool", cut(c.Name, 100))
	if !ok {
		log.Warn(logToolFailed, "err", "no such tool")
		return sorry("There is no tool named %s, or it is not there just now.", printable.Named(c.Name))
	}
	may := allows(c, t) || b.Widened != nil && b.Widened(c.Cause.String(), c.Name)
	b.latest.Store(verdict(c, t, may))
	if !may {
		log.Warn(logToolRefused, "cause", c.Cause, "quoted", c.Quoted, "kind", t.Kind)
		return sorry("%s", refusal(c))
	}
	if b.May != nil && !b.May(string(c.Who), c.Name) {
		log.Warn(logToolFailed, "err", "its card does not name this tool", "companion", c.Who)
		return sorry("You may not use %q. Say that you cannot do that.", c.Name)
	}
	args := c.Args
	if strings.TrimSpace(args) == "" {
		args = "{}" // what some models send for none
	}
	args = t.args.read(args)
	if err := t.args.check(args); err != nil {
		log.Warn(logToolFailed, "err", err)
		return sorry("The arguments were refused: %v. Correct them and try again, or ask.", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	o := b.run(skills.Context{Context: ctx, Turn: string(c.Turn), Companion: string(c.Who), Log: log, Now: b.now}, t, args)
	o.Skill = t.skill
	if !t.Own && o.Output != "" {
		o.Quotes = t.skill
	}
	log.Info(logToolDone, "ms", time.Since(began).Milliseconds(), "failed", o.Failed, "cause", c.Cause)
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
		why, end := cut(skills.Words(err), 900), "."
		if strings.HasSuffix(why, "?") || strings.HasSuffix(why, "!") || strings.HasSuffix(why, ".") {
			end = ""
		}
		return sorry("Sorry, that did not work: %s%s", printable.Quoted(why), end)
	}
	if v, ok := r.Effect.(skills.SetVolume); ok && (v.Percent < 0 || v.Percent > 100) {
		ctx.Log.Error(logToolFailed, "err", fmt.Sprintf("volume %d", v.Percent))
		return sorry("Sorry, the volume must be between 0 and 100.")
	}
	return Outcome{Output: cut(r.Output, maxOutput), Effect: r.Effect, source: "result of " + t.Name + " (" + t.skill + ")"}
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
