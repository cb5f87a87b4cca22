package config

import (
	"fmt"
	"strconv"
	"strings"

	"conch/device/pattern"
)

// maxAllowed is our choice: as many tools as a session takes.
const maxAllowed = 128

// widening is one entry. Words to be said are no cause that can be widened.
var widening = pattern.New(`^(room|result|companion): ?[A-Za-z0-9_-]{1,64}$`)

// widenings is a list of causes, each with the tool that it may call too.
func widenings(name string, field *[]string, about string) key {
	allowed := fmt.Sprintf(`a list of entries "CAUSE: TOOL" with room, result or companion as the cause, as in ["room: set_home"]; at most %d`, maxAllowed)
	return key{name: name, about: about, allowed: allowed, set: func(v any) error {
		var entries []string
		switch v := v.(type) {
		case string: // of the environment, and of flags
			if strings.TrimSpace(v) != "" {
				entries = strings.Split(v, ",")
			}
		case []any:
			for _, e := range v {
				entries = append(entries, fmt.Sprint(e))
			}
		default:
			return refusedError{}
		}
		if len(entries) > maxAllowed {
			return refusedError{}
		}
		var all []string
		for _, e := range entries {
			if e = strings.TrimSpace(e); !widening().MatchString(e) {
				return refusedError{Quote(clip(e, 40)) + " is no such entry; must be " + allowed}
			}
			cause, tool, _ := strings.Cut(e, ":")
			all = append(all, cause+": "+strings.TrimSpace(tool))
		}
		*field = all
		return nil
	}, show: func() string {
		all := make([]string, len(*field))
		for i, e := range *field {
			all[i] = strconv.Quote(e)
		}
		return "[" + strings.Join(all, ", ") + "]"
	}}
}
