package redact

import (
	"net/url"
	"strings"

	"conch/device/pattern"
)

var (
	begins = pattern.New(`[A-Za-z][A-Za-z0-9+.-]*:?/{1,3}`)
	random = pattern.New(`^[A-Za-z0-9_+=~-]{16,}$`)
	path   = pattern.New(`^(?:~?/|\.{1,2}/)`)
)

// Setting makes known what is secret in a value as a person wrote it, good or bad: passwords of addresses, secrets in their queries and
// fragments; and all of it where name says so and it is no path.
func Setting(name, value string) {
	if secretName(name) && !path().MatchString(value) && !strings.Contains(value, "://") {
		Add(value)
	}
	if user, rest, ok := strings.Cut(value, "@"); ok && strings.Contains(rest, "://") && !strings.ContainsAny(value, " \t\n") && !strings.Contains(user, "/") {
		Add(user) // of an address whose parts are in the wrong order
	}
	for _, key := range vendor().FindAllString(value, -1) {
		Add(key)
	}
	for _, m := range scheme().FindAllStringSubmatch(value, -1) {
		Add(m[2])
	}
	starts := begins().FindAllStringIndex(value, -1)
	if len(starts) == 0 {
		if user, _, ok := cutLast(value, "@"); ok && strings.Contains(user, ":") && !strings.ContainsAny(user, " \t\n") {
			credentials(user)
		}
		return
	}
	for i, s := range starts {
		end := len(value)
		if i+1 < len(starts) && strings.Contains(value[starts[i+1][0]:starts[i+1][1]], ":") {
			end = starts[i+1][0]
		}
		if s[1] <= end && strings.Contains(value[s[0]:s[1]], "/") {
			one(value[s[1]:end])
		}
	}
}

// one is what follows the scheme of an address.
func one(rest string) {
	if user, after, ok := cutLast(rest, "@"); ok && (strings.Contains(user, ":") || !strings.ContainsAny(user, "/?#")) {
		credentials(user)
		rest = after
	}
	if _, query, ok := strings.Cut(rest, "?"); ok {
		query, _, _ = strings.Cut(query, "#")
		for _, p := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' || r == ' ' || r == ',' }) {
			k, v, pair := strings.Cut(p, "=")
			if !pair {
				k, v = "", p
			}
			if secretName(k) || random().MatchString(v) && !harmless[k] {
				both(v)
			}
		}
	}
	if _, fragment, ok := strings.Cut(rest, "#"); ok && random().MatchString(fragment) {
		both(fragment)
	}
}

// credentials are what stands before the @ of an address.
func credentials(user string) {
	name, password, ok := strings.Cut(user, ":")
	if !ok {
		both(name)
		return
	}
	Add(user)
	both(password)
}

// both adds a part of a URL as it stands there and as it is meant.
func both(v string) {
	Add(v)
	if meant, err := url.PathUnescape(v); err == nil {
		Add(meant)
	}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Arguments makes known what is secret in the arguments of a command: values of flags and variables whose names say so, addresses, and long
// words of letters and digits.
func Arguments(args ...string) {
	for i, a := range args {
		name, value, ok := strings.Cut(a, "=")
		switch {
		case ok && !strings.Contains(name, "://") && !strings.Contains(name, "@"):
			Setting(name, value)
		case strings.HasPrefix(a, "-") && secretName(a) && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			Setting(a, args[i+1])
		default:
			Setting("", a)
		}
		if random().MatchString(a) && strings.ContainsAny(a, "0123456789") && !strings.HasPrefix(a, "-") {
			Add(a)
		}
	}
}

// Command is a command as it may be shown: the program, its flags without values, packages and paths; of other arguments, that there is one.
func Command(args []string) string {
	shown := make([]string, len(args))
	for i, a := range args {
		flag, _, valued := strings.Cut(a, "=")
		switch {
		case i == 0 || a == "" || plainArgument().MatchString(a):
			shown[i] = a
		case valued && plainArgument().MatchString(flag):
			shown[i] = flag + "=…"
		default:
			shown[i] = "…"
		}
	}
	return strings.Join(shown, " ")
}

// plainArgument is a flag, a package of npm or a path.
var plainArgument = pattern.New(`^(?:-[A-Za-z]|--[a-z][a-z0-9-]*|@[a-z0-9._-]+/[a-z0-9._-]+(?:@[0-9a-z.]+)?|(?:~|\.{0,2})/[^?#@:]*)$`)
