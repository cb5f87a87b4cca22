package main

import (
	"encoding/json"
	"testing"

	"conch/device/control"
	"conch/device/state"
)

func TestKeysOfJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"budgetMs":1}`:                      `{"budget_ms":1,"budgetMs":1}`,
		`{"Backend":"x","Kept":null}`:         `{"backend":"x","Backend":"x","kept":null,"Kept":null}`,
		`{"budget_ms":1,"budgetMs":2}`:        `{"budget_ms":1,"budgetMs":2}`,
		`[{"keptSince":[{"aB":1.50}]}]`:       `[{"kept_since":[{"a_b":1.50,"aB":1.50}],"keptSince":[{"a_b":1.50,"aB":1.50}]}]`,
		`{"HTTPPort":1}`:                      `{"http_port":1,"HTTPPort":1}`,
		`{"a sentence, Not a Key":1,"p99":2}`: `{"a sentence, Not a Key":1,"p99":2}`,
		`{"event":"x","at_ms":1}`:             `{"event":"x","at_ms":1}`,
		`"text"`:                              `"text"`,
		`{"broken`:                            `{"broken`,
	} {
		if got := string(snakeBeside([]byte(in))); got != want {
			t.Errorf("%s is %s; want %s", in, got, want)
		}
	}
}

// No list that is empty is null, and every key has its name in snake_case, whatever is printed.
func TestJSONOfNothing(t *testing.T) {
	for _, v := range []any{control.Status{}, control.RoomStatus{}, state.Silence{}, []string(nil), control.Answer{}, control.UsageReport{}} {
		text, err := asJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if list, ok := v.([]string); ok && list == nil && string(text) != "[]" {
			t.Errorf("nothing is %s", text)
		}
		object, _ := got.(map[string]any)
		for _, name := range []string{"conditions", "members", "rows"} {
			if value, there := object[name]; there && value == nil {
				t.Errorf("%T: %s is null", v, name)
			}
		}
		missingNames(t, got)
	}
}

// missingNames looks for keys whose other name is not there.
func missingNames(t *testing.T, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if _, there := v[snake(key)]; !there {
				t.Errorf("%s is not there as %s", key, snake(key))
			}
			missingNames(t, value)
		}
	case []any:
		for _, value := range v {
			missingNames(t, value)
		}
	}
}
