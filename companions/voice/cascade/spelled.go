package cascade

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"conch/coordinator/turn"
	"conch/device/pattern"
)

// A model that cannot call tools in the way of its server spells its calls out in its text. There are some ten ways.

// spelled are the calls that the body of a call has; none: it has none that can be read, or no tool was offered.
func spelled(body string, tools []turn.ToolSpec) (all []call) {
	if len(tools) == 0 {
		return nil
	}
	for _, read := range []func(string, []turn.ToolSpec) []call{asTags, asJSON, asCode} {
		if all = read(body, tools); len(all) > 0 {
			break
		}
	}
	for i := range all {
		all[i] = unbundle(all[i], tools)
	}
	return all
}

var (
	tagged    = pattern.New(`(?s)<(?:function=|function name=|invoke name=)"?([A-Za-z0-9_.-]+)"?>(.*?)(?:</function>|</invoke>|$)`)
	parameter = pattern.New(`(?s)<parameter(?:=| name=)"?([A-Za-z0-9_-]+)"?>(.*?)</parameter>`)
	keyed     = pattern.New(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	first     = pattern.New(`^\s*(?:<tool_call>)?\s*([A-Za-z0-9_.-]+)`)
)

// asTags reads <function=NAME>, with JSON or with <parameter=KEY> in it, and a name before <arg_key>.
func asTags(body string, tools []turn.ToolSpec) (all []call) {
	for _, m := range tagged().FindAllStringSubmatch(body, -1) {
		inner := strings.TrimSpace(m[2])
		if pairs := parameter().FindAllStringSubmatch(inner, -1); len(pairs) > 0 {
			all = append(all, callOfPairs(m[1], pairs, tools))
			continue
		}
		args := map[string]json.RawMessage{}
		if inner == "" || json.Unmarshal([]byte(inner), &args) == nil {
			all = append(all, call{name: bareName(m[1]), args: string(encoded(args))})
		}
	}
	if pairs := keyed().FindAllStringSubmatch(body, -1); len(all) == 0 && len(pairs) > 0 {
		if m := first().FindStringSubmatch(body); m != nil {
			all = append(all, callOfPairs(m[1], pairs, tools))
		}
	}
	return all
}

// callOfPairs is a call whose arguments have no types.
func callOfPairs(name string, pairs [][]string, tools []turn.ToolSpec) call {
	args := map[string]json.RawMessage{}
	for _, m := range pairs {
		k, v := strings.TrimSpace(m[1]), strings.TrimSpace(m[2])
		if args[k] = json.RawMessage(v); !json.Valid(args[k]) || isText(bareName(name), k, tools) && v[0] != '"' {
			args[k] = encoded(v)
		}
	}
	return call{name: bareName(name), args: string(encoded(args))}
}

// isText says that an argument of a tool, or of the tools of a skill, is text.
func isText(name, argument string, tools []turn.ToolSpec) bool {
	return slices.ContainsFunc(tools, func(t turn.ToolSpec) bool {
		s, _ := shapeOf(t)
		return (t.Name == name || t.Skill == name) && bytes.Contains(s.Properties[argument], []byte(`"type":"string"`))
	})
}

// bareName is the name of a tool without the space that a model puts it into.
func bareName(name string) string {
	name, _, _ = strings.Cut(strings.TrimSuffix(name, ".call"), ":")
	return name[strings.LastIndexByte(name, '.')+1:]
}

var nameBefore = pattern.New(`([A-Za-z_][A-Za-z0-9_.-]*)(?::\d+)?(?:\[ARGS\]|<｜tool▁sep｜>|<\|[a-z_]+\|>|\s|` + "```(?:json)?" + `)*$`)

// asJSON reads objects that have a name and arguments, alone or in a list, and objects of arguments behind a name.
func asJSON(body string, tools []turn.ToolSpec) (all []call) {
	for at := 0; at < len(body) && len(all) < mostCalls; {
		i := strings.IndexByte(body[at:], '{')
		if i < 0 {
			break
		}
		d := json.NewDecoder(strings.NewReader(body[at+i:]))
		object := map[string]json.RawMessage{}
		if d.Decode(&object) != nil {
			at += i + 1
			continue
		}
		if c, ok := callOfObject(object); ok {
			all = append(all, c)
		} else if m := nameBefore().FindStringSubmatch(body[at : at+i]); m != nil && isTool(bareName(m[1]), tools) {
			all = append(all, call{name: bareName(m[1]), args: string(encoded(object))})
		}
		at += i + int(d.InputOffset())
	}
	return all
}

func isTool(name string, tools []turn.ToolSpec) bool {
	return slices.ContainsFunc(tools, func(t turn.ToolSpec) bool { return t.Name == name || t.Brief != "" && t.Skill == name })
}

// callOfObject is the call that an object stands for.
func callOfObject(object map[string]json.RawMessage) (c call, ok bool) {
	inner := map[string]json.RawMessage{}
	if json.Unmarshal(object["function"], &inner) == nil && inner["name"] != nil {
		object = inner
	}
	for _, k := range []string{"name", "tool", "tool_name", "function", "action"} {
		if json.Unmarshal(object[k], &c.name) == nil && c.name != "" {
			break
		}
	}
	for _, k := range []string{"arguments", "parameters", "args", "input", "action_input", "tool_input", "params"} {
		args, text := map[string]json.RawMessage{}, ""
		if json.Unmarshal(object[k], &text) == nil && text != "" { // as the protocol has it
			object[k] = json.RawMessage(text)
		}
		if json.Unmarshal(object[k], &args) == nil && args != nil {
			c.name, c.args = bareName(c.name), string(encoded(args))
			return c, c.name != ""
		}
	}
	return c, false
}

var (
	opened = pattern.New(`([A-Za-z_][A-Za-z0-9_.]*)\(`)
	option = pattern.New(`^\s*,?\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^,()\n"']+)`)
)

// asCode reads calls as Python has them: print(default_api.set_timer(seconds=600)).
func asCode(body string, tools []turn.ToolSpec) (all []call) {
	for _, m := range opened().FindAllStringSubmatchIndex(body, mostCalls) {
		name := bareName(body[m[2]:m[3]])
		if !isTool(name, tools) {
			continue
		}
		args, rest := map[string]json.RawMessage{}, body[m[1]:]
		for {
			o := option().FindStringSubmatch(rest)
			if o == nil {
				break
			}
			args[o[1]] = fromPython(strings.TrimSpace(o[2]))
			rest = rest[len(o[0]):]
		}
		all = append(all, call{name: name, args: string(encoded(args))})
	}
	return all
}

// fromPython is a literal as JSON.
func fromPython(v string) json.RawMessage {
	switch v {
	case "True":
		return json.RawMessage("true")
	case "False":
		return json.RawMessage("false")
	case "None":
		return json.RawMessage("null")
	}
	if v[0] == '\'' {
		return encoded(strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(v[1 : len(v)-1]))
	}
	if json.Valid([]byte(v)) {
		return json.RawMessage(v)
	}
	return encoded(strings.Trim(v, `"`))
}
