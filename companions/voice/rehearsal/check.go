package rehearsal

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// m is a JSON object on its way out, or one whose shape has been checked.
type m = map[string]any

// violation is an error event in the making; nil is none. Codes are those of the service.
type violation struct {
	kind    string // "" is invalid_request_error
	code    string
	param   string // path of the offender; empty becomes null
	message string
}

func (v *violation) Error() string { return v.code + ": " + v.message }

func wrong(code, param, format string, args ...any) *violation {
	return &violation{code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// A rule checks one value found at path. Rules are built once from the tables in events.go.
type rule func(path string, v any) *violation

// optional marks a field that may be absent; or null, which then means absent. cleared marks one for which null means
// "take it away", so that null is kept.
type field struct {
	rule    rule
	must    bool
	cleared bool
}

func must(r rule) field   { return field{rule: r, must: true} }
func may(r rule) field    { return field{rule: r} }
func clears(r rule) field { return field{rule: r, cleared: true} }
func join(p, k string) string {
	if p == "" {
		return k
	}
	return p + "." + k
}

// object allows exactly the given fields. It deletes nulls that mean absent.
func object(fields map[string]field) rule {
	required := make([]string, 0, len(fields))
	for k, f := range fields {
		if f.must {
			required = append(required, k)
		}
	}
	slices.Sort(required)
	return func(path string, v any) *violation {
		o, ok := v.(m)
		if !ok {
			return wrongType(path, "an object", v)
		}
		for _, k := range slices.Sorted(maps.Keys(o)) {
			f, known := fields[k]
			switch {
			case !known:
				return wrong("unknown_parameter", join(path, k), "Unknown parameter: '%s'.", clip(join(path, k), 200))
			case o[k] == nil && f.cleared:
			case o[k] == nil && !f.must:
				delete(o, k)
			default:
				if bad := f.rule(join(path, k), o[k]); bad != nil {
					return bad
				}
			}
		}
		for _, k := range required {
			if _, ok := o[k]; !ok {
				return wrong("missing_required_parameter", join(path, k), "Missing required parameter: '%s'.", join(path, k))
			}
		}
		return nil
	}
}

// variant picks the rule by the value of the field "type".
func variant(kinds map[string]rule) rule {
	names := slices.Sorted(maps.Keys(kinds))
	return func(path string, v any) *violation {
		o, ok := v.(m)
		if !ok {
			return wrongType(path, "an object", v)
		}
		kind, ok := o["type"]
		if !ok || kind == nil {
			return wrong("missing_required_parameter", join(path, "type"), "Missing required parameter: '%s'.", join(path, "type"))
		}
		name, ok := kind.(string)
		if !ok {
			return wrongType(join(path, "type"), "a string", kind)
		}
		r, ok := kinds[name]
		if !ok {
			return wrongValue(join(path, "type"), name, names)
		}
		return r(path, v)
	}
}

func str(most int) rule {
	return func(path string, v any) *violation {
		s, ok := v.(string)
		switch {
		case !ok:
			return wrongType(path, "a string", v)
		case len(s) > most:
			return wrong("string_above_max_length", path, "'%s' is too long: %d bytes, at most %d.", path, len(s), most)
		}
		return nil
	}
}

func oneOf(names ...string) rule {
	return func(path string, v any) *violation {
		s, ok := v.(string)
		switch {
		case !ok:
			return wrongType(path, "a string", v)
		case !slices.Contains(names, s):
			return wrongValue(path, s, names)
		}
		return nil
	}
}

func number(low, high float64, whole bool) rule {
	kind := "decimal"
	if whole {
		kind = "integer"
	}
	return func(path string, v any) *violation {
		n, ok := v.(float64)
		switch {
		case !ok:
			return wrongType(path, "a number", v)
		case whole && n != math.Trunc(n):
			return wrongType(path, "an integer", v)
		case n < low:
			return wrong(kind+"_below_min_value", path, "'%s' is %v: at least %v.", path, n, low)
		case n > high:
			return wrong(kind+"_above_max_value", path, "'%s' is %v: at most %v.", path, n, high)
		}
		return nil
	}
}

func boolean(path string, v any) *violation {
	if _, ok := v.(bool); !ok {
		return wrongType(path, "a boolean", v)
	}
	return nil
}

func anything(string, any) *violation { return nil }

// anyObject is an object whose inside is not ours to judge (a JSON Schema).
func anyObject(path string, v any) *violation {
	if _, ok := v.(m); !ok {
		return wrongType(path, "an object", v)
	}
	return nil
}

func list(most int, each rule) rule {
	return func(path string, v any) *violation {
		l, ok := v.([]any)
		switch {
		case !ok:
			return wrongType(path, "an array", v)
		case len(l) > most:
			return wrong("array_above_max_length", path, "'%s' has %d entries: at most %d.", path, len(l), most)
		}
		for i, x := range l {
			if bad := each(fmt.Sprintf("%s[%d]", path, i), x); bad != nil {
				return bad
			}
		}
		return nil
	}
}

// either takes the first rule for the kind of value that is there: words may be a string or an object.
func either(ofString, ofOther rule) rule {
	return func(path string, v any) *violation {
		if _, ok := v.(string); ok {
			return ofString(path, v)
		}
		return ofOther(path, v)
	}
}

func metadata(path string, v any) *violation {
	o, ok := v.(m)
	switch {
	case !ok:
		return wrongType(path, "an object", v)
	case len(o) > maxMetadata:
		return wrong("object_above_max_properties", path, "'%s' has %d pairs: at most %d.", path, len(o), maxMetadata)
	}
	for k, x := range o {
		if len(k) > 64 {
			return wrong("string_above_max_length", path, "A key of '%s' has %d bytes: at most 64.", path, len(k))
		}
		if bad := str(512)(join(path, k), x); bad != nil {
			return bad
		}
	}
	return nil
}

func wrongType(path, want string, v any) *violation {
	return wrong("invalid_type", path, "Invalid type for '%s': expected %s, but got %s instead.", path, want, kindOf(v))
}

func wrongValue(path, got string, names []string) *violation {
	return wrong("invalid_value", path, "Invalid value: '%s'. Supported values are: '%s'.", clip(got, 100), strings.Join(names, "', '"))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case float64:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	}
	return "an object"
}

// clip shortens what came from outside before it is repeated.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
