package cascade

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// A server at home has a context of a few thousand tokens. A request is made to fit: the oldest turns go first, then the long descriptions of
// tools, then the tools that were used least.

// Our choices. A token is some four letters of English, and some three of JSON.
const (
	bytesAToken  = 3
	homeContext  = 4096 // tokens, of a server that does not say
	leastContext = 256  // tokens: below that, less cannot be asked
	mostAnswer   = 512  // tokens that are left for the answer, at most a quarter of the context
	mostRefits   = 4    // times that a request is made smaller because the server refused it
	aMessage     = 12   // bytes of a message around its words
	aTool        = 60   // bytes of a tool around its parts
)

// size is an estimate of what a request has, in tokens.
func size(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) int {
	n := 0
	for _, m := range messages {
		n += aMessage + len(m.Content)
		for _, c := range m.ToolCalls {
			n += aMessage + len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	for _, t := range tools {
		n += aTool + len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n / bytesAToken
}

// fit is what of a request fits into a context of so many tokens; 0: all of it. forgot: the conversation has lost its beginning. used counts
// the calls of each tool.
func fit(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec, limit int, used map[string]int) (
	m []openai.ChatCompletionMessage, t []turn.ToolSpec, forgot bool,
) {
	m, t = messages, tools
	room := limit - min(mostAnswer, limit/4)
	if limit == 0 || size(m, t) <= room {
		return m, t, false
	}
	short := brief(tools)
	for size(m, short) > room { // the oldest turn, with its calls
		head := 0
		if len(m) > 0 && m[0].Role == openai.ChatMessageRoleSystem {
			head = 1
		}
		next := slices.IndexFunc(m[min(head+1, len(m)):], func(x openai.ChatCompletionMessage) bool { return x.Role == openai.ChatMessageRoleUser })
		if next < 0 {
			break
		}
		m, forgot = slices.Concat(m[:head], m[head+1+next:]), true
	}
	if size(m, t) <= room {
		return m, t, forgot
	}
	t = short
	for len(t) > 0 && size(m, t) > room {
		least := len(t) - 1
		for i := range slices.Backward(t) {
			if used[t[i].Name] < used[t[least].Name] {
				least = i
			}
		}
		t = slices.Delete(slices.Clone(t), least, least+1)
	}
	return m, t, forgot
}

// brief are tools with the first sentence of each description, and schemas without any.
func brief(tools []turn.ToolSpec) []turn.ToolSpec {
	short := slices.Clone(tools)
	for i := range short {
		s := &short[i]
		if at := strings.Index(s.Description, ". "); at > 0 {
			s.Description = s.Description[:at+1]
		}
		var schema any
		if json.Unmarshal(s.Schema, &schema) == nil {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if e.Encode(undescribed(schema)) == nil {
				s.Schema = json.RawMessage(bytes.TrimSpace(b.Bytes()))
			}
		}
	}
	return short
}

// undescribed is a schema without its descriptions.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["description"].(string); ok { // a property of that name has an object
			delete(v, "description")
		}
		for k := range v {
			v[k] = undescribed(v[k])
		}
	case []any:
		for i := range v {
			v[i] = undescribed(v[i])
		}
	}
	return v
}

// overfull says that a server refused a request because its context is too small, and for how many tokens it has room; 0: it does not say.
func overfull(err error) (room int, ok bool) {
	var no *kit.RefusalError
	if !errors.As(err, &no) || no.Status != 0 && no.Status != http.StatusBadRequest && no.Status != http.StatusRequestEntityTooLarge &&
		no.Status != http.StatusUnprocessableEntity && no.Status != http.StatusInternalServerError {
		return 0, false
	}
	text := strings.ToLower(no.Kind + " " + no.Code + " " + no.Text)
	if !tooLong.MatchString(text) && no.Status != http.StatusRequestEntityTooLarge {
		return 0, false
	}
	if m := ofContext.FindStringSubmatch(text); m != nil {
		room, _ = strconv.Atoi(cmp.Or(m[1], m[2]))
	}
	return room, true
}

var (
	tooLong = regexp.MustCompile(`exceed_context|context_length_exceeded|context[ _](size|length|window)|` +
		`exceeds? .*(context|token)|(prompt|input|request) (is )?too (long|large)|too many tokens|maximum .*tokens|tokens.* must be <=|out of context`)
	ofContext = regexp.MustCompile(`context (?:size|length|window)[^0-9]{0,20}([0-9]{3,7})|maximum[^0-9]{0,30}([0-9]{3,7}) tokens`)
)
