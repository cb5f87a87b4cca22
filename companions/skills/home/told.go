package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// telling are the fields of which one alone says what a thing is, as Zigbee2MQTT, Tasmota and others name them.
var telling = []string{"state", "power", "value"}

// asides are fields of a device's own upkeep.
var asides = []string{"linkquality", "last_seen", "lastseen", "time", "timestamp", "id", "update_available", "device"}

const mostTold = 8 // values that are told of one thing

// told is a value as it is spoken. JSON is not: of an object it is the field that is named, by its path, or else what tells most.
func told(text, field string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			return "", errors.New("what it tells is neither a value nor JSON")
		}
		return text, nil
	}
	top, _ := v.(map[string]any)
	for name := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == '.' }) {
		of, isObject := v.(map[string]any)
		switch {
		case !isObject && top == nil: // a value alone
		case of[name] == nil:
			return "", fmt.Errorf("it tells no %s, but %s", field, strings.Join(slices.Sorted(maps.Keys(top)), ", "))
		default:
			v = of[name]
		}
	}
	return spoken(v)
}

func spoken(v any) (string, error) {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for _, best := range telling {
			i := slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, best) })
			if i >= 0 && plain(v[keys[i]]) != "" {
				return plain(v[keys[i]]), nil
			}
		}
		for _, k := range keys {
			if p := plain(v[k]); p != "" && !slices.Contains(asides, strings.ToLower(k)) {
				all = append(all, strings.ReplaceAll(k, "_", " ")+" "+p)
			}
		}
	case []any:
		for _, e := range v {
			if p := plain(e); p != "" {
				all = append(all, p)
			}
		}
	default:
		all = append(all, plain(v))
	}
	if text := strings.Join(all[:min(len(all), mostTold)], ", "); text != "" {
		return text, nil
	}
	return "", errors.New("what it tells has no value that can be said")
}

// plain is a value that is neither a list nor an object; empty: it is one, or nothing.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	}
	return ""
}
