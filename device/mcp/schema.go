package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"conch/device/pattern"
	"conch/device/printable"
)

// A schema is shown to the model, and a server has written it: what the model needs to call the tool stays, the rest goes.
//
//	properties, types, limits    stay
//	description                  quoted
//	names and values with prose  go with what they belong to; the server checks its arguments itself

var (
	schemaWord   = pattern.New(`^[\w.$/#:-]{1,64}$`)
	schemaLimits = strings.Fields("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems " +
		"minProperties maxProperties")
)

// Bounds of a schema.
const (
	maxDepth  = 12
	maxValues = 100
)

// schemaOf is the schema of a tool without the prose of its server. One that says nothing, or is an empty list, as PHP writes an empty
// object, takes no arguments; what cannot be read is null, which the toolbox refuses.
func schemaOf(written any) json.RawMessage {
	raw, err := json.Marshal(written)
	if err != nil {
		return json.RawMessage("null") // refused for what it is
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return json.RawMessage("null")
	}
	list, _ := v.([]any)
	fields, isObject := v.(map[string]any)
	switch {
	case v == nil, v == true, list != nil && len(list) == 0, isObject && len(fields) == 0:
		v = map[string]any{"type": "object", "properties": map[string]any{}}
	case isObject && fields["type"] == nil:
		fields["type"] = "object" // what else arguments are
	}
	if raw, err = json.Marshal(pruned(v, maxDepth)); err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// pruned is a part of a schema.
func pruned(v any, depth int) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v == true // a schema that is no object says yes or no
	}
	kept := map[string]any{}
	for key, v := range o {
		switch key {
		case "properties", "$defs", "definitions":
			of, _ := v.(map[string]any)
			all := map[string]any{}
			for name, s := range of {
				if schemaWord().MatchString(name) && depth > 0 {
					all[name] = pruned(s, depth-1)
				}
			}
			kept[key] = all
		case "items", "additionalProperties", "not":
			if depth > 0 {
				kept[key] = pruned(v, depth-1)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			if of, ok := v.([]any); ok && depth > 0 {
				var all []any
				for _, s := range of {
					all = append(all, pruned(s, depth-1))
				}
				kept[key] = all
			}
		case "description":
			if text, ok := v.(string); ok {
				kept[key] = printable.Quoted(clip(text, maxDescription))
			}
		case "required", "enum":
			if all, ok := v.([]any); ok && isWords(all) {
				kept[key] = v
			}
		case "type", "const", "$ref", "format", "$schema":
			if isWords(v) && (v != nil || key == "const") {
				kept[key] = v
			}
		default:
			if slices.Contains(schemaLimits, key) {
				kept[key] = v
			}
		}
	}
	return kept
}

// isWords says whether values are short and plain: nothing that reads as a sentence.
func isWords(v any) bool {
	switch v := v.(type) {
	case string:
		return schemaWord().MatchString(v) || len(v) < 40 && len(strings.Fields(v)) < 4 && printable.Quoted(v) == `"`+v+`"`
	case []any:
		return len(v) <= maxValues && !slices.ContainsFunc(v, func(x any) bool { return !isWords(x) })
	case map[string]any:
		return false
	}
	return true // numbers, yes and no, nothing
}
