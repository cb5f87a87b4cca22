package rehearsal

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// servers is how the tools of servers that nobody knew when this was written are called: "use echo with hello", "echo hello with the
// test server", where there is a tool test_echo.
var servers = []aRule{
	{begins("use|using|used|call"), useNamed},
	{all("server|servers"), useNamed},
}

// useNamed calls the tool most of whose name was said, with what was said besides.
func useNamed(t Thought, words []string) (Reply, bool) {
	best, most, rest := "", 0, []string(nil)
	for _, tool := range t.Tools {
		server, name, ok := strings.Cut(tool, "_")
		parts := wordsOfName(name)
		if !ok || len(parts) == 0 || !all(parts...)(words) {
			continue
		}
		n := len(parts)
		if all(wordsOfName(server)...)(words) {
			n++
		}
		if n > most {
			best, most, rest = tool, n, spare(words, append(parts, wordsOfName(server)...))
		}
	}
	if best == "" {
		return Reply{}, false
	}
	args, _ := json.Marshal(argsBySchema(t.Takes[best], rest, behindWith(t.Words, rest)))
	return Reply{Calls: []Call{{best, string(args)}}}, true
}

// wordsOfName are the words of a name: get-sum, get_sum and getSum are the same two.
func wordsOfName(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return normal(strings.NewReplacer("_", " ", "-", " ").Replace(b.String()))
}

// spare are the words that name neither the tool nor its server, and are no glue at the beginning or end.
func spare(words, named []string) []string {
	glue := append(strings.Fields("use using used call server servers the with to on by of please tool"), named...)
	is := func(w string) bool { return slices.Contains(glue, w) }
	for len(words) > 0 && is(words[0]) {
		words = words[1:]
	}
	for len(words) > 0 && is(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}

// behindWith is what stands behind "with" as it was typed, with what is no letter: a path, an address.
func behindWith(said string, rest []string) string {
	if _, text, ok := strings.Cut(said, " with "); ok && slices.Equal(normal(text), rest) {
		return strings.Trim(text, " .?!\"")
	}
	return strings.Join(rest, " ")
}

// argsBySchema fills what a tool requires, else the first of what it takes: texts with the text, numbers with the numbers in it.
func argsBySchema(schema any, words []string, text string) map[string]any {
	args := map[string]any{}
	s, _ := schema.(m)
	properties, _ := s["properties"].(m)
	var names []string
	for _, v := range get[[]any](s, "required") {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(properties))
		names = names[:min(1, len(names))]
	}
	for _, name := range names {
		p, _ := properties[name].(m)
		switch get[string](p, "type") {
		case "number", "integer":
			for i := range words {
				if n, ok := number1(words[i : i+1]); ok {
					args[name], words = n, words[i+1:]
					break
				}
			}
		case "boolean":
			args[name] = true
		case "string":
			args[name] = text
		}
	}
	return args
}
