package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"conch/device/printable"
)

// maxStations is our choice: a model is told of all of them.
const maxStations = 64

// stations is a table of names and addresses, or a list of both as one text each. What is wrong with an entry is said; the others count.
func stations(name string, field *[]Station, about string) key {
	allowed := fmt.Sprintf(`a list of names, each with its address behind an equals sign, as in ["Jazz = https://HOST/PATH"], or a section [%s] `+
		"with a line for each; at most %d of them", name, maxStations)
	return key{name: name, about: about, allowed: allowed, set: func(v any) error {
		entries, ok := stationEntries(v)
		if !ok {
			return refusedError{}
		}
		good, reason := checkStations(entries)
		*field = good
		if reason != "" {
			return refusedError{reason + "; the others count; must be " + allowed}
		}
		return nil
	}, show: func() string {
		all := make([]string, len(*field))
		for i, s := range *field {
			all[i] = strconv.Quote(s.Name + " = " + s.URL)
		}
		return "[" + strings.Join(all, ", ") + "]"
	}}
}

func stationEntries(v any) (all []Station, ok bool) {
	cut := func(entry string) {
		name, address, _ := strings.Cut(entry, "=")
		all = append(all, Station{strings.TrimSpace(name), strings.TrimSpace(address)})
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			address, _ := v[name].(string)
			all = append(all, Station{strings.TrimSpace(name), strings.TrimSpace(address)})
		}
	case []any:
		for _, entry := range v {
			s, ok := entry.(string)
			if !ok {
				return nil, false
			}
			cut(s)
		}
	case string: // of the environment, and of flags
		for entry := range strings.SplitSeq(v, ",") {
			if strings.TrimSpace(entry) != "" {
				cut(entry)
			}
		}
	default:
		return nil, false
	}
	return all, true
}

// checkStations are the good ones, and what is wrong with the first of the others.
func checkStations(entries []Station) (good []Station, reason string) {
	for _, s := range entries {
		u, err := url.Parse(s.URL)
		wrong := ""
		switch {
		case s.Name == "" || len(s.Name) > maxName || !printable.IsName(s.Name):
			wrong = "is not how a station is called"
		case s.URL == "" && strings.Contains(s.Name, "://"):
			wrong = `is an address, and has no name: NAME = ADDRESS`
		case s.URL == "":
			wrong = `has no address behind an equals sign: NAME = ADDRESS`
		case wrongHost(s.URL) != "":
			wrong = "has no address that can be: " + wrongHost(s.URL)
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(s.URL) > maxLine:
			wrong = "has no address that begins with http:// or https://"
		case slices.ContainsFunc(good, func(o Station) bool { return strings.EqualFold(o.Name, s.Name) }):
			wrong = "is there twice"
		case len(good) == maxStations:
			wrong = "is one too many"
		default:
			good = append(good, s)
		}
		if wrong != "" && reason == "" {
			reason = Quote(clip(s.Name, 40)) + " " + wrong
		}
	}
	return good, reason
}
