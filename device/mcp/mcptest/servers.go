// Package mcptest has servers of the Model Context Protocol as nobody wishes them. Each is a process of its own.
package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve is one, on standard input and output, which does what it is called after: it hangs at its start ("nothing"), prints what is no
// message ("noise", "noise without end"), has tools that are none ("odd"), leaves a child behind ("leaves a child"), does one thing after
// another ("in order"), or none of this.
// The tools that all have do what they are called.
func Serve(what string) {
	switch what {
	case "nothing": // hangs at its start
		block()
	case "noise":
		fmt.Fprint(os.Stdout, noise)
	case "noise without end":
		for {
			fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<16))
		}
	}
	s := New(what)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// noise is what servers print where messages belong: words, lines of logs, JSON that is no message, and a line that the next message ends.
const noise = "Server started!\n\n  Listening on stdio.\n[INFO] ready\n[2026-01-02 03:04:05] up\n[{\n{ not JSON\n{\"level\":30,\"msg\":\"up\"}\n" +
	"{\n  \"port\": 80\n}\n{}\n[]\n42\nnull\n\"up\"\n12:00 up\n{\"jsonrpc\":\"1.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\"}\n\ufeff\x1b[32mLoading… "

func block() { select {} }

type none struct{}

// handler is a tool without arguments.
type handler func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error)

type said struct {
	Text string `json:"text" jsonschema:"what to say"`
}

func text(format string, args ...any) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
}

// New is a server by the official SDK, with the tools of somebody who means no good and of somebody who does.
func New(what string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, f handler) {
		t := &mcp.Tool{Name: name, Description: "Does " + name + "."}
		mcp.AddTool(s, t, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return f(ctx, r)
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
		return text("Echo: %s", in.Text)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "reads", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return text("read")
		})
	add("environment", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		return text("%s", strings.Join(os.Environ(), "\n"))
	})
	add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("the oven is cold")
	})
	add("hangs", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		block()
		return nil, nil, nil
	})
	add("freezes", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		block() // it may take a moment to stop
		return nil, nil, nil
	})
	add("dies", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		block()
		return nil, nil, nil
	})
	add("prints", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		fmt.Fprint(os.Stdout, noise)
		return text("printed")
	})
	add("floods", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		for range 320 {
			fmt.Fprintln(os.Stderr, strings.Repeat("a flood without an end ", 1<<12))
		}
		return text("flooded")
	})
	add("sends", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		return text("%s", strings.Repeat("ü\"", 10<<20/4))
	})
	add("sends numbers", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: make([]int, 5<<20)}, nil, nil
	})
	add("shows", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		big := bytes.Repeat([]byte{7}, 1<<20)
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "Look:"}, &mcp.ImageContent{MIMEType: "image/png", Data: big}, &mcp.AudioContent{MIMEType: "audio/wav", Data: big},
			&mcp.ResourceLink{Name: "plan", URI: "file:///plan"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:2", MIMEType: "application/zip", Blob: big}},
		}}, nil, nil
	})
	add("asks", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		_, err1 := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10}) //nolint:staticcheck // what servers still do
		_, err2 := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "your password?", RequestedSchema: map[string]any{"type": "object"}})
		roots, err3 := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // likewise
		n := 0
		if roots != nil {
			n = len(roots.Roots)
		}
		return text("model refused: %v; person refused: %v; %d roots (%v)", err1 != nil, err2 != nil, n, err3)
	})
	add("changes", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		s.RemoveTools("fails")
		add("new one", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) { return text("new") })
		return text("changed")
	})
	if what == "in order" {
		var one sync.Mutex
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				fmt.Fprintln(os.Stderr, "arrived:", method)
				one.Lock()
				defer one.Unlock()
				return next(ctx, method, r)
			}
		})
	}
	if what == "leaves a child" {
		add("spawns", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
			c := exec.Command("sleep", "1000")
			c.Stdout = os.Stdout // it holds the pipe open, too
			if err := c.Start(); err != nil {
				return nil, nil, err
			}
			return text("%d", c.Process.Pid)
		})
	}
	if what == "odd" {
		s.AddTool(&mcp.Tool{Name: "no.schema", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"wobbly"}}}`)}, nil)
		s.AddTool(&mcp.Tool{Name: "reads", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)}, nil)
		for _, end := range []string{"one", "two"} {
			add(strings.Repeat("long", 18)+end, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) { return text("%s", end) })
		}
	}
	return s
}
