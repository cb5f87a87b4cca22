package cascade

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
	"conch/device/pattern"
)

// A server at home has a context of a few thousand tokens. A request is made to fit: the tools of a skill become one tool, the oldest turns go,
// then the tools that were used least.

// Our choices. A token is some four letters of English, and some three of JSON.
const (
	bytesAToken  = 3
	homeContext  = 4096 // tokens, of a server that does not say
	leastContext = 256  // tokens: below that, less cannot be asked
	mostAnswer   = 512  // tokens that are left for the answer, at most a quarter of the context
	mostRefits   = 4    // times that a request is made smaller because the server refused it
	aMessage     = 12   // bytes of a message around its words
	aTool        = 60   // bytes of a tool around its parts
	mostOfTools  = 4    // tools that take more than one part in so many of the context are bundled
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

// requestRoom is how much of a context is for the request, in tokens.
func requestRoom(limit int) int { return limit - min(mostAnswer, limit/4) }

// fit is what of a request fits into a context of so many tokens; 0: all of it. forgot: the conversation has lost its beginning. used counts
// the calls of each tool.
func fit(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec, limit int, used map[string]int) (
	m []openai.ChatCompletionMessage, t []turn.ToolSpec, forgot bool,
) {
	m, t = messages, tools
	if limit == 0 {
		return m, t, false
	}
	room, bundled := requestRoom(limit), size(nil, tools) > limit/mostOfTools
	if bundled {
		m, t = bundle(messages, tools)
	}
	for size(m, t) > room { // the oldest turn, with its calls
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
	if !bundled && size(m, t) > room {
		m, t = bundle(m, tools)
	}
	for len(tools) > 0 && size(m, t) > room {
		least := len(tools) - 1
		for i := range slices.Backward(tools) {
			if used[tools[i].Name] < used[tools[least].Name] {
				least = i
			}
		}
		tools = slices.Delete(slices.Clone(tools), least, least+1)
		_, t = bundle(nil, tools)
	}
	return m, t, forgot
}

// overfull says that a server refused a request because its context is too small, and for how many tokens it has room; 0: it does not say.
func overfull(err error) (room int, ok bool) {
	var no *kit.RefusalError
	if !errors.As(err, &no) || no.Status != 0 && no.Status != http.StatusBadRequest && no.Status != http.StatusRequestEntityTooLarge &&
		no.Status != http.StatusUnprocessableEntity && no.Status != http.StatusInternalServerError {
		return 0, false
	}
	text := strings.ToLower(no.Kind + " " + no.Code + " " + no.Text)
	if !tooLong().MatchString(text) && no.Status != http.StatusRequestEntityTooLarge {
		return 0, false
	}
	if m := ofContext().FindStringSubmatch(text); m != nil {
		room, _ = strconv.Atoi(cmp.Or(m[1], m[2]))
	}
	return room, true
}

var (
	tooLong = pattern.New(`exceed_context|context_length_exceeded|context[ _](size|length|window)|` +
		`exceeds? .*(context|token)|(prompt|input|request) (is )?too (long|large)|too many tokens|maximum .*tokens|tokens.* must be <=|out of context`)
	ofContext = pattern.New(`context (?:size|length|window)[^0-9]{0,20}([0-9]{3,7})|maximum[^0-9]{0,30}([0-9]{3,7}) tokens`)
)
