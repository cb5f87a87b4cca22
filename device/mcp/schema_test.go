package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/skills"
	"conch/device/config"
)

// lists is a server by HTTP that answers a request for its tools with what page gives for a cursor.
func lists(t *testing.T, page func(cursor string) string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		result := map[string]string{
			"initialize": `{"protocolVersion":"` + legacy + `","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
			"tools/list": page(q.Params.Cursor), "ping": "{}",
		}[q.Method]
		if r.Method != http.MethodPost || result == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// TestSchemasOfLooseServers: a tool is there whatever its server says of arguments, where that can be told at all; the server judges them.
func TestSchemasOfLooseServers(t *testing.T) {
	const none, a = `{"properties":{},"type":"object"}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`
	rows := map[string]string{ // what a tool says of its arguments, and what the model is shown; "": it is left out
		``:                                 none,
		`,"inputSchema":null`:              none,
		`,"inputSchema":{}`:                none,
		`,"inputSchema":[]`:                none,
		`,"inputSchema":true`:              none,
		`,"inputSchema":{"type":"object"}`: `{"type":"object"}`,
		`,"inputSchema":{"type":"object","properties":[]}`:                                                         none,
		`,"inputSchema":{"type":"object","properties":null}`:                                                       none,
		`,"inputSchema":{"properties":{},"required":null}`:                                                         none,
		`,"inputSchema":{"type":"object","required":"a"}`:                                                          `{"type":"object"}`,
		`,"inputSchema":{"type":null,"properties":{}}`:                                                             none,
		`,"inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x).*$"}}}`:              a,
		`,"inputSchema":{"type":"object","patternProperties":{"(?<=a)b":{}},"properties":{}}`:                      none,
		`,"inputSchema":{"type":"object","properties":{"a":{"enum":null,"type":"string","pattern":"\\p{Greek}"}}}`: a,
		`,"inputSchema":{"type":"object","properties":{"a":{"type":"wobbly"}}}`:                                    "",
	}
	var all []string
	for schema := range rows {
		all = append(all, fmt.Sprintf(`{"name":"t%d"%s}`, len(all), schema))
	}
	r := newRig(t, config.MCP{Name: "web", URL: lists(t, func(string) string { return `{"tools":[` + strings.Join(all, ",") + `]}` })})
	r.there("web_t0")
	box := companions.NewToolbox(slog.New(slog.DiscardHandler), time.Now)
	for i, listed := range all {
		tool, _ := r.tool(fmt.Sprintf("web_t%d", i))
		box.Replace("web", []skills.Tool{tool})
		schema := strings.TrimSuffix(strings.TrimPrefix(listed, fmt.Sprintf(`{"name":"t%d"`, i)), "}")
		if out := box.LeftOut("web"); (len(out) > 0) != (rows[schema] == "") || rows[schema] != "" && string(tool.Schema) != rows[schema] {
			t.Errorf("%s: %s, left out: %v; want %q", schema, tool.Schema, out, rows[schema])
		}
	}
}

// TestAListThatDoesNotEnd: a cursor that leads on and on costs one line of the log, and the tools until then are there.
func TestAListThatDoesNotEnd(t *testing.T) {
	pages := 0
	for name, row := range map[string]struct {
		page  func(cursor string) string
		tools int
		lines int
	}{
		"the same page": {func(string) string { return `{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"x"}` }, 2, 1},
		"other cursors": {func(c string) string { return `{"tools":[{"name":"a"}],"nextCursor":"` + c + `x"}` }, 1, 1},
		"empty pages": {func(c string) string {
			return `{"tools":[` + map[bool]string{true: `{"name":"a"}`}[c == ""] + `],"nextCursor":"x"}`
		}, 1, 1},
		"more and more": {func(string) string { pages++; return fmt.Sprintf(`{"tools":[{"name":"a%d"}],"nextCursor":"x"}`, pages) }, maxListed, 1},
		"one twice":     {func(string) string { return `{"tools":[{"name":"a"},{"name":"a"}]}` }, 1, 0},
		"two pages, no more": {func(c string) string {
			return map[bool]string{true: `{"tools":[{"name":"a"}],"nextCursor":"x"}`, false: `{"tools":[{"name":"b"}]}`}[c == ""]
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, config.MCP{Name: "web", URL: lists(t, row.page)})
			r.until("it has tools", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.tools) > 0 })
			r.stop()
			if n := strings.Count(r.log.String(), "level=WARN"); n != row.lines || !strings.Contains(r.log.String(), fmt.Sprintf("tools=%d of", row.tools)) {
				t.Errorf("%d lines, %.300s; want %d tools and %d lines", n, r.log.String(), row.tools, row.lines)
			}
		})
	}
}
