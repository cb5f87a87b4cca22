package cascade

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"conch/coordinator/turn"
)

// The tools of a skill are offered as one to a model with little room: its argument "do" names the tool, the others are the arguments of all.

const do = "do"

// shape is what of a schema of arguments is bundled; other schemas are left as they are.
type shape struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required,omitempty"`
}

// bundle returns a request with one tool a skill, and without descriptions of arguments. Its calls are of these tools, too.
func bundle(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) (m []openai.ChatCompletionMessage, t []turn.ToolSpec) {
	of := map[string]string{} // the skill of a bundled tool
	for _, x := range tools {
		if of[x.Name] != "" {
			continue
		}
		if one, ok := bundled(tools, x); ok {
			for _, o := range tools {
				if bundles(o, x) {
					of[o.Name] = x.Skill
				}
			}
			t = append(t, one)
			continue
		}
		x.Description, _, _ = strings.Cut(x.Description, ". ")
		x.Schema = compact(undescribed(x.Schema))
		t = append(t, x)
	}
	m = slices.Clone(messages)
	for i := range m {
		m[i].ToolCalls = slices.Clone(m[i].ToolCalls)
		for k := range m[i].ToolCalls {
			f := &m[i].ToolCalls[k].Function
			args := map[string]json.RawMessage{}
			if of[f.Name] == "" || json.Unmarshal([]byte(f.Arguments), &args) != nil {
				continue
			}
			args[do] = encoded(f.Name)
			f.Name, f.Arguments = of[f.Name], string(encoded(args))
		}
	}
	return m, t
}

// bundles says that two tools are offered as one.
func bundles(a, b turn.ToolSpec) bool { return a.Brief != "" && a.Skill == b.Skill }

// bundled is the tool that stands for those of a skill; false: they cannot be told from each other in one.
func bundled(tools []turn.ToolSpec, x turn.ToolSpec) (one turn.ToolSpec, ok bool) {
	all := shape{Type: "object", Properties: map[string]json.RawMessage{}, Required: []string{do}}
	var names []string
	for _, t := range tools {
		if t.Name == x.Skill {
			return one, false // its name would mean two
		}
		if !bundles(t, x) {
			continue
		}
		s, ok := shapeOf(t)
		if !ok {
			return one, false
		}
		names = append(names, t.Name)
		for k, v := range s.Properties {
			v = compact(unbounded(v))
			if was, there := all.Properties[k]; k == do || there && !bytes.Equal(was, v) {
				return one, false
			}
			all.Properties[k] = v
		}
	}
	if len(names) < 2 {
		return one, false
	}
	all.Properties[do] = encoded(map[string]any{"enum": names})
	return turn.ToolSpec{Name: x.Skill, Description: x.Brief, Schema: encoded(all)}, true
}

func shapeOf(t turn.ToolSpec) (s shape, ok bool) {
	if len(t.Schema) == 0 {
		return s, true
	}
	return s, json.Unmarshal(t.Schema, &s) == nil
}

// unbundle is a call of a tool as the device knows it, without arguments that it does not have; a small model fills in all there are.
func unbundle(c call, tools []turn.ToolSpec) call {
	args := map[string]json.RawMessage{}
	var name string
	if slices.ContainsFunc(tools, func(t turn.ToolSpec) bool { return t.Name == c.name }) || json.Unmarshal([]byte(c.args), &args) != nil ||
		json.Unmarshal(args[do], &name) != nil {
		return c
	}
	i := slices.IndexFunc(tools, func(t turn.ToolSpec) bool { return t.Name == name && t.Skill == c.name })
	if i < 0 {
		return c
	}
	s, _ := shapeOf(tools[i])
	maps.DeleteFunc(args, func(k string, v json.RawMessage) bool { return s.Properties[k] == nil || string(v) == "null" })
	c.name, c.args = name, string(encoded(args))
	return c
}

// undescribed is a schema without descriptions; unbounded is one without bounds, too: the device checks them.
func undescribed(schema []byte) any { return without(schema, "description") }

func unbounded(schema []byte) any {
	return without(schema, "description", "maxLength", "minLength", "minimum", "maximum", "pattern")
}

func without(schema []byte, keys ...string) any {
	var v any
	_ = json.Unmarshal(schema, &v) // what is none stays away
	return pruned(v, keys)
}

func pruned(v any, keys []string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keys {
			if _, isObject := v[k].(map[string]any); !isObject { // a property of that name has an object
				delete(v, k)
			}
		}
		for k := range v {
			v[k] = pruned(v[k], keys)
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i], keys)
		}
	}
	return v
}

func compact(v any) []byte {
	if v == nil {
		return nil
	}
	return encoded(v)
}

// encoded is JSON; what is encoded here came from JSON.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
