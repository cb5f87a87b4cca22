package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"conch/companions/skills"
	"conch/device/pattern"
	"conch/device/printable"
)

// Bounds of tools and what they say.
const (
	maxName        = 64       // as the Realtime session has it
	maxDescription = 4 << 10  // bytes
	maxListed      = 512      // tools of one server that are looked at
	maxText        = 17 << 10 // bytes of an output that are kept; the toolbox cuts at 16 KiB and says so
)

var unfit = pattern.New(`[^A-Za-z0-9_-]`)

// nameOf is a tool's name for a model: the server's before its own, so that no server takes the name of another's tool, or of conch's
// own. What no name may have is replaced; one that is too long ends in what tells it from others.
func nameOf(server, tool string) string {
	name := server + "_" + unfit().ReplaceAllString(tool, "_")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return fmt.Sprintf("%s_%x", name[:maxName-9], sum[:4])
}

// toolOf is a tool of a server as a skill has it.
func (s *server) toolOf(t *mcp.Tool) skills.Tool {
	about := t.Description
	if about == "" {
		about = t.Title
	}
	kind := skills.ChangesHouse // what a server promises is believed of reading alone
	if t.Annotations != nil && t.Annotations.ReadOnlyHint {
		kind = skills.Reads
	}
	twice := t.Annotations != nil && (t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
	return skills.Tool{
		Name: nameOf(s.cfg.Name, t.Name), Kind: kind, Description: described(s.cfg.Name, about), Schema: schemaOf(t.InputSchema),
		Handler: func(ctx skills.Context, args json.RawMessage) (skills.Result, error) {
			return s.call(ctx, t.Name, args, twice)
		},
	}
}

// described is what a tool's description is for the model: the words of its server, if there are any.
func described(server, about string) string {
	if about == "" {
		return ""
	}
	return printable.Quotation("the server "+server+" says of its tool", clip(about, maxDescription))
}

// pace is how often a server that says that its tools changed is asked for them: one that says so without end less and less.
type pace struct {
	least, most time.Duration
	now         time.Duration
	last        time.Time
}

// rest is for how long it is not asked again.
func (p *pace) rest(now time.Time) time.Duration {
	if p.now = min(2*p.now, p.most); p.now == 0 || now.Sub(p.last) > 2*p.most {
		p.now = p.least
	}
	p.last = now
	return p.now
}

// allowed says whether the configuration lets a tool in.
func (s *server) allowed(tool string) bool {
	return len(s.cfg.Allow) == 0 || slices.Contains(s.cfg.Allow, tool)
}

// textOf is a result in words: its text, and of everything else what it is.
func textOf(r *mcp.CallToolResult) string {
	var b strings.Builder
	add := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	for _, c := range r.Content {
		if b.Len() > maxText {
			break
		}
		switch c := c.(type) {
		case *mcp.TextContent:
			add("%s", clip(c.Text, maxText))
		case *mcp.ImageContent:
			add("[A picture (%s), which cannot be told in words here.]", clip(c.MIMEType, 100))
		case *mcp.AudioContent:
			add("[A sound (%s), which cannot be played here.]", clip(c.MIMEType, 100))
		case *mcp.ResourceLink:
			add("[A link: %s, %s]", clip(c.Name, 200), clip(c.URI, 500))
		case *mcp.EmbeddedResource:
			switch {
			case c.Resource == nil:
			case c.Resource.Text != "":
				add("%s", clip(c.Resource.Text, maxText))
			default:
				add("[A file (%s): %s]", clip(c.Resource.MIMEType, 100), clip(c.Resource.URI, 500))
			}
		default:
			add("[Something that cannot be told in words.]")
		}
	}
	if b.Len() == 0 && r.StructuredContent != nil {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			return clip(string(raw), maxText)
		}
	}
	return b.String()
}
