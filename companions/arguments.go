package companions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a schema and of what is said of arguments that it refuses.
const (
	maxSchema   = 64 << 10 // bytes
	maxAt       = 1000     // schemas that one value is held against
	maxHeld     = 40000    // schemas that all values of a call are held against
	maxProblems = 3        // that are named
)

// arguments are what a tool takes, by its JSON Schema: draft 2020-12, and draft 7 where the schema names that or an older one.
type arguments struct {
	rules *jsonschema.Resolved
	at    map[string]*jsonschema.Schema // each schema by its JSON pointer; the whole is ""
}

// newArguments reads the schema of a tool. A tool server may have written it: it loads no file, and it ends.
func newArguments(raw []byte) (a arguments, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be used: %v", p)
		}
	}()
	if len(raw) > maxSchema {
		return a, fmt.Errorf("%d bytes are too many (at most %d)", len(raw), maxSchema)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return a, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if s.Type != "object" {
		return a, fmt.Errorf("type is %q: arguments are an object", cmp.Or(s.Type, strings.Join(s.Types, ", ")))
	}
	switch draft, ours := strings.CutPrefix(s.Schema, "http://json-schema.org/draft-0"); {
	case ours && strings.ContainsAny(draft[:min(1, len(draft))], "3467"):
		s.Schema = "http://json-schema.org/draft-07/schema#"
	case s.Schema == "" || strings.HasPrefix(s.Schema, "https://json-schema.org/draft/20"):
		s.Schema = "" // the newest
	default:
		return a, fmt.Errorf("$schema is %s, which is no draft of JSON Schema", cut(s.Schema, 100))
	}
	a.rules, err = s.Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) {
		return nil, errors.New("a schema must be whole")
	}})
	if err != nil {
		return a, err
	}
	a.at = map[string]*jsonschema.Schema{}
	a.index(&s, "")
	for at, s := range a.at {
		for _, t := range append(slices.Clone(s.Types), s.Type) {
			if t != "" && !slices.Contains(jsonTypes, t) {
				return a, fmt.Errorf("%s: %q is no type of JSON", cut(at, 100), cut(t, 100))
			}
		}
		if s.DynamicRef != "" || s.ID != "" && at != "" {
			return a, fmt.Errorf("%s: $dynamicRef, and $id of a part, are not understood", cut(at, 100))
		}
		if left := maxAt; !a.ends(nil, s, &left) {
			return a, fmt.Errorf("%s: it refers to itself, to no part of it, or to more than %d parts", cut(at, 100), maxAt)
		}
	}
	return a, nil
}

var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// inPlace are the fields whose schemas hold for the same value as the one they stand in.
var inPlace = []string{"AllOf", "AnyOf", "OneOf", "Not", "If", "Then", "Else", "DependentSchemas", "DependencySchemas"}

// unnamed are the fields whose name in JSON is not in their tag.
var unnamed = map[string]string{"Items": "items", "ItemsArray": "items", "DependencySchemas": "dependencies"}

// pointer writes a name as a JSON pointer has it.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// parts calls do for each schema right under s, with the field that it stands in and its JSON pointer from s.
func parts(s *jsonschema.Schema, do func(field, at string, part *jsonschema.Schema)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := "/" + cmp.Or(unnamed[f.Name], name)
		switch under := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			if under != nil {
				do(f.Name, at, under)
			}
		case []*jsonschema.Schema:
			for i, part := range under {
				do(f.Name, at+"/"+strconv.Itoa(i), part)
			}
		case map[string]*jsonschema.Schema:
			for k, part := range under {
				do(f.Name, at+"/"+pointer.Replace(k), part)
			}
		}
	}
}

func (a arguments) index(s *jsonschema.Schema, at string) {
	a.at[at] = s
	parts(s, func(_, under string, part *jsonschema.Schema) { a.index(part, at+under) })
}

// target returns the schema that a reference names, nil for none.
func (a arguments) target(ref string) *jsonschema.Schema {
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	return a.at[u.Fragment]
}

// ends reports whether a value and what is in it are held against at most left schemas at s: a loop of references would end the device.
func (a arguments) ends(v any, s *jsonschema.Schema, left *int) bool {
	if *left--; s == nil || *left < 0 {
		return false
	}
	ok := s.Ref == "" || a.ends(v, a.target(s.Ref), left)
	parts(s, func(field, at string, part *jsonschema.Schema) {
		if slices.Contains(inPlace, field) {
			ok = ok && a.ends(v, part, left)
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				ok = ok && (field == "Properties" && at != "/properties/"+pointer.Replace(k) || a.ends(e, part, left))
			}
		case []any:
			for _, e := range v {
				ok = ok && a.ends(e, part, left)
			}
		}
	})
	return ok
}

// read writes numbers as the schema reads them: without a fraction as integers (600.0 and 6e2 are 600), and where it wants one, out of a text.
func (a arguments) read(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	if len(args) > maxArgs || d.Decode(&v) != nil || d.More() {
		return args
	}
	changed := false
	var walk func(v any, s *jsonschema.Schema) any
	walk = func(v any, s *jsonschema.Schema) any {
		if s == nil {
			s = &jsonschema.Schema{}
		}
		if text, ok := v.(string); ok && (s.Type == "integer" || s.Type == "number") {
			text = strings.TrimSpace(text)
			if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
				v, changed = json.Number(text), true
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k], s.Properties[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], s.Items)
			}
		case json.Number:
			const exact = 1 << 53
			if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") && f == math.Trunc(f) && math.Abs(f) <= exact {
				changed = true
				return json.Number(strconv.FormatInt(int64(f), 10))
			}
		}
		return v
	}
	v = walk(v, a.at[""])
	out, err := json.Marshal(v)
	if err != nil || !changed {
		return args
	}
	return string(out)
}

// check refuses arguments in words that a model can mend them by, and a person understands.
func (a arguments) check(args string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("they cannot be checked: %v", p)
		}
	}()
	if len(args) > maxArgs {
		return fmt.Errorf("%d bytes are too many (at most %d)", len(args), maxArgs)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(args), &v); err != nil || v == nil {
		return errors.New("they are not one JSON object")
	}
	if left := maxHeld; !a.ends(v, a.at[""], &left) {
		return errors.New("they are nested too deep, or too many, for the schema")
	}
	if err = a.rules.Validate(v); err == nil {
		return nil
	}
	all := a.problems(v, a.at[""], "")
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return fmt.Errorf("they do not fit the schema (%s)", cut(last(err).Error(), 200))
	}
	if n := len(all) - maxProblems; n > 0 {
		all = append(all[:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(all, "; "))
}

// last returns the innermost error.
func last(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err
}

// problems says what is wrong with a value at a place, as lamps[2].name: nothing where only the library can say it.
func (a arguments) problems(v any, s *jsonschema.Schema, at string) (all []string) {
	if s == nil {
		return nil
	}
	all = unfit(v, s, at)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range s.Required {
			if _, ok := v[k]; !ok {
				all = append(all, spot(member(at, k))+" is missing")
			}
		}
		for k, e := range v {
			if part, ok := s.Properties[k]; ok {
				all = append(all, a.problems(e, part, member(at, k))...)
			} else if no := s.AdditionalProperties; no != nil && no.Not != nil && reflect.ValueOf(*no.Not).IsZero() && s.PatternProperties == nil {
				all = append(all, spot(member(at, k))+" is unknown")
			}
		}
	case []any:
		for i, e := range v {
			all = append(all, a.problems(e, s.Items, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	if s.Ref != "" {
		all = append(all, a.problems(v, a.target(s.Ref), at)...)
	}
	for _, part := range s.AllOf {
		all = append(all, a.problems(v, part, at)...)
	}
	for _, either := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var each []string
		for _, part := range either {
			wrong := a.problems(v, part, at)
			if len(wrong) == 0 {
				each = nil
				break
			}
			each = append(each, wrong...)
		}
		all = append(all, each...)
	}
	return all
}

// unfit holds a value against each simple rule of a schema, and says the rules that it breaks.
func unfit(v any, s *jsonschema.Schema, at string) (all []string) {
	for _, r := range []struct {
		rule jsonschema.Schema
		must string
		want any
	}{
		{jsonschema.Schema{Type: s.Type, Types: s.Types}, "be of type %v, not " + typeOf(v), cmp.Or(s.Type, strings.Join(s.Types, " or "))},
		{jsonschema.Schema{Enum: s.Enum}, "be one of %v", listOf(s.Enum)},
		{jsonschema.Schema{Const: s.Const}, "be %v", listOf([]any{s.Const})},
		{jsonschema.Schema{Minimum: s.Minimum}, "be at least %v", s.Minimum},
		{jsonschema.Schema{Maximum: s.Maximum}, "be at most %v", s.Maximum},
		{jsonschema.Schema{ExclusiveMinimum: s.ExclusiveMinimum}, "be more than %v", s.ExclusiveMinimum},
		{jsonschema.Schema{ExclusiveMaximum: s.ExclusiveMaximum}, "be less than %v", s.ExclusiveMaximum},
		{jsonschema.Schema{MultipleOf: s.MultipleOf}, "be a multiple of %v", s.MultipleOf},
		{jsonschema.Schema{MinLength: s.MinLength}, "have at least %v characters", s.MinLength},
		{jsonschema.Schema{MaxLength: s.MaxLength}, "have at most %v characters", s.MaxLength},
		{jsonschema.Schema{Pattern: s.Pattern}, "match the pattern %v", s.Pattern},
		{jsonschema.Schema{MinItems: s.MinItems}, "have at least %v entries", s.MinItems},
		{jsonschema.Schema{MaxItems: s.MaxItems}, "have at most %v entries", s.MaxItems},
	} {
		rule, err := r.rule.Resolve(nil)
		if err != nil || rule.Validate(v) == nil {
			continue
		}
		if p := reflect.ValueOf(r.want); p.Kind() == reflect.Pointer {
			r.want = p.Elem().Interface()
		}
		all = append(all, spot(at)+" must "+cut(fmt.Sprintf(r.must, r.want), 200))
	}
	return all
}

// typeOf names the type of a value that was read from JSON.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case bool:
		return "boolean"
	case float64:
		return "number"
	}
	return "string"
}

func spot(at string) string { return strconv.Quote(cut(at, 100)) }

func member(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func listOf(values []any) string {
	var all []string
	for _, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			raw = fmt.Append(nil, v)
		}
		all = append(all, string(raw))
	}
	return strings.Join(all, ", ")
}
