package companions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of a schema and of what is said of arguments that it refuses.
const (
	maxSchema   = 64 << 10 // bytes
	maxProblems = 3        // that are named
)

// arguments are what a tool takes, by its JSON Schema: the drafts that the schema may name, 2020-12 where it names none.
type arguments struct{ schema *jsonschema.Schema }

// nowhere loads nothing: a schema that a server wrote is not to read files of this machine, nor to reach into its network.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and a schema must be whole", cut(url, 100))
}

func newArguments(raw []byte) (a arguments, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be used: %v", p)
		}
	}()
	if len(raw) > maxSchema {
		return a, fmt.Errorf("%d bytes are too many (at most %d)", len(raw), maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return a, err
	}
	o, _ := doc.(map[string]any)
	if o["type"] != "object" {
		return a, fmt.Errorf("type is %v: arguments are an object", o["type"])
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	const here = "tool:arguments"
	if err := c.AddResource(here, doc); err != nil {
		return a, err
	}
	if a.schema, err = c.Compile(here); err != nil {
		if bad := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &bad) {
			if wrong := (*jsonschema.ValidationError)(nil); errors.As(bad.Err, &wrong) {
				return a, fmt.Errorf("it is none: %s", problems(wrong))
			}
		}
		return a, err
	}
	return a, nil
}

// whole writes numbers without a fraction as integers, as the schema reads them: 600.0 and 6e2 are 600.
func whole(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return args
	}
	changed := false
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
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
	v = walk(v)
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
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	if _, object := v.(map[string]any); err != nil || !object {
		return errors.New("they are not one JSON object")
	}
	err = a.schema.Validate(v)
	if wrong := (*jsonschema.ValidationError)(nil); errors.As(err, &wrong) {
		return errors.New(problems(wrong))
	}
	return err
}

// problems names the first of what is wrong.
func problems(e *jsonschema.ValidationError) string {
	var all []string
	leaves(e, &all)
	slices.Sort(all)
	all = slices.Compact(all)
	if n := len(all) - maxProblems; n > 0 {
		all = append(all[:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(all, "; ")
}

func leaves(e *jsonschema.ValidationError, all *[]string) {
	if len(e.Causes) == 0 {
		*all = append(*all, problem(e)...)
	}
	for _, c := range e.Causes {
		leaves(c, all)
	}
}

// problem says what is wrong with one value.
func problem(e *jsonschema.ValidationError) []string {
	at := func(more ...string) string {
		return strconv.Quote(place(append(slices.Clone(e.InstanceLocation), more...)))
	}
	each := func(names []string, what string) (all []string) {
		for _, n := range names {
			all = append(all, at(n)+what)
		}
		return all
	}
	must := func(format string, args ...any) []string {
		return []string{at() + " must " + cut(fmt.Sprintf(format, args...), 200)}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, " is missing")
	case *kind.AdditionalProperties:
		return each(k.Properties, " is unknown")
	case *kind.Type:
		return must("be of type %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return must("be one of %s", listOf(k.Want))
	case *kind.Const:
		return must("be %s", listOf([]any{k.Want}))
	case *kind.Minimum:
		return must("be at least %s", decimal(k.Want))
	case *kind.Maximum:
		return must("be at most %s", decimal(k.Want))
	case *kind.ExclusiveMinimum:
		return must("be more than %s", decimal(k.Want))
	case *kind.ExclusiveMaximum:
		return must("be less than %s", decimal(k.Want))
	case *kind.MultipleOf:
		return must("be a multiple of %s", decimal(k.Want))
	case *kind.MinLength:
		return must("have at least %d characters", k.Want)
	case *kind.MaxLength:
		return must("have at most %d characters", k.Want)
	case *kind.Pattern:
		return must("match the pattern %s", k.Want)
	case *kind.MinItems:
		return must("have at least %d entries", k.Want)
	case *kind.MaxItems:
		return must("have at most %d entries", k.Want)
	case *kind.FalseSchema:
		return []string{at() + " is not allowed"}
	}
	return must("be as the schema has it (%s)", strings.Join(e.ErrorKind.KeywordPath(), "/"))
}

// place is where a value stands, as one writes it: lamps[2].name.
func place(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[" + p + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return cut(b.String(), 100)
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

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
