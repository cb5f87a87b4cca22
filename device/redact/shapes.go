package redact

import (
	"slices"
	"strings"

	"conch/device/pattern"
)

// What looks like a secret, whether it is known or not. Each expression is tried only where a text has one of the words it needs: most have none.
var (
	vendor = pattern.New(`\b(?:(?:sk|pk|rk|xai|gsk|glpat|hf)[-_][A-Za-z0-9_\-]{8,}|gh[a-z]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|` +
		`xox[a-z]-[\w-]{8,}|AKIA[A-Z0-9]{12,}|` +
		`AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)`)
	vendors = strings.Fields("sk- sk_ pk- pk_ rk- rk_ xai- gsk_ glpat- hf_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xox AKIA AIza eyJ")

	scheme  = pattern.New(`\b((?i:bearer)\s+|Basic\s+)([^\s"'\\,;]{6,})`)
	schemes = strings.Fields("bearer basic")

	header  = pattern.New(`(?i)\b((?:proxy-)?authorization|x-api-key|x-auth-token|(?:set-)?cookie)(\\?["'][:=]\s*\\?["']|[:=]\s*)([^"\\\r\n]+)`)
	headers = strings.Fields("authorization x-api-key x-auth-token cookie")

	// A flag or a variable whose name says so, and its value.
	named = pattern.New(`(?i)(--?[a-z0-9-]*(?:token|secret|passw(?:or)?d|passphrase|api-?key|access-?key|auth|credential)s?(?:=|\s+)(?:\\?["'])?|` +
		`\b[a-z0-9_]*(?:token|secret|passw(?:or)?d|passphrase|api_?key|access_?key)(?:\\?["'])?=(?:\\?["'])?|` +
		`"(?:[a-z0-9_-]*[_-])?(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key)\\?"\s*:\s*\\?")([^\s"'\\,;&|)\]{}]{4,})`)
	names = strings.Fields("token= token\" token\\ -token secret= secret\" secret\\ -secret " +
		"passw passphrase apikey api_key api-key accesskey access_key access-key -auth credential")
)

// shapes replaces what looks like a secret.
func shapes(s string) string {
	s = userinfos(addresses(s))
	if has(s, vendors) {
		s = vendor().ReplaceAllString(s, Mark)
	}
	lower := strings.ToLower(s)
	if has(lower, headers) {
		s = header().ReplaceAllStringFunc(s, func(m string) string {
			p := header().FindStringSubmatch(m)
			if path().MatchString(p[3]) {
				return m // a file that has it
			}
			return p[1] + p[2] + Mark
		})
	}
	if has(lower, schemes) {
		s = scheme().ReplaceAllStringFunc(s, func(m string) string {
			p := scheme().FindStringSubmatch(m)
			if strings.HasPrefix(p[1], "Ba") && !strings.ContainsAny(p[2], "0123456789=") || p[2] == "authentication" {
				return m // words
			}
			return p[1] + Mark
		})
	}
	if !has(lower, names) {
		return s
	}
	return named().ReplaceAllStringFunc(s, func(m string) string {
		p := named().FindStringSubmatch(m)
		v := p[2]
		if p[1] != strings.TrimRight(p[1], " \t") && len(v) < 16 && !strings.ContainsAny(v, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return m // the next word of a sentence
		}
		if path().MatchString(v) || strings.HasPrefix(v, Mark[:1]) || strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
			return m // a file, or a word that stands for a value
		}
		return p[1] + Mark
	})
}

func has(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// ends says that a character ends a URL in a text. A backslash does where it is not the first of \u0026 and its like, as JSON writes & < = >.
func ends(s string) bool {
	if s[0] == '\\' {
		return !strings.HasPrefix(s, `\u0026`) && !strings.HasPrefix(s, `\u003`)
	}
	return s[0] <= ' ' || strings.IndexByte("\"'`<>", s[0]) >= 0
}

// addresses replaces within URLs, also those with too few slashes.
func addresses(s string) string {
	var b strings.Builder
	for {
		colon := strings.Index(s, ":/")
		if colon < 0 {
			b.WriteString(s)
			return b.String()
		}
		start, rest := colon, colon+1
		for start > 0 && (letter(s[start-1]) || strings.IndexByte("+.-", s[start-1]) >= 0) {
			start--
		}
		for rest < len(s) && rest < colon+4 && s[rest] == '/' {
			rest++
		}
		end := rest
		for end < len(s) && !ends(s[end:]) {
			end++
		}
		alone := rest < end && strings.IndexByte("),.;!", s[rest]) >= 0 && !strings.Contains(s[rest:end], "@")
		if start == colon || alone { // no scheme, or a sentence that names one
			end = rest
		}
		b.WriteString(s[:rest])
		b.WriteString(address(s[rest:end]))
		s = s[end:]
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// userinfos replaces what is before a host and is a name and a password, where nothing else makes it a URL: u:p@host.
func userinfos(s string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '@')
		if at < 0 || at+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		start, colon := at, -1
		for start > 0 && !ends(s[start-1:]) && strings.IndexByte("/@,=([{\\", s[start-1]) < 0 {
			if start--; s[start] == ':' {
				colon = start
			}
		}
		if start > 0 && s[start-1] == '\\' && start < at { // of JSON: what it escapes stays
			if start++; s[start-1] == 'u' {
				start = min(start+4, at)
			}
			colon = start + strings.IndexByte(s[start:at], ':')
		}
		if colon > start && colon+1 < at && (letter(s[at+1]) || s[at+1] == '[') {
			b.WriteString(s[:start] + Mark)
		} else {
			b.WriteString(s[:at])
		}
		b.WriteByte('@')
		s = s[at+1:]
	}
}

// harmless are keys of a query whose value says what a server is asked for.
var harmless = map[string]bool{"model": true}

// address is what follows the scheme of a URL, with its host, port and path, and without what may be secret.
func address(rest string) string {
	if at := userinfo(rest); at >= 0 {
		rest = Mark + rest[at:]
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	out := rest
	for i, p := range strings.FieldsFunc(strings.ReplaceAll(query, `\u0026`, "&"), func(r rune) bool { return r == '&' || r == ';' }) {
		sep := "&"
		if i == 0 {
			sep = "?"
		}
		switch k, v, ok := strings.Cut(p, "="); {
		case !ok:
			p = Mark
		case v != "" && !harmless[k]:
			p = k + "=" + Mark
		}
		out += sep + p
	}
	if fragment != "" {
		out += "#" + Mark
	}
	return out
}

// userinfo is where the @ behind it stands in what follows the scheme; -1: there is none. A password may hold what ends the host of other
// URLs (/, ?, #, @): it ends at the last @, unless what stands before can be a host and its port.
func userinfo(rest string) int {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndex(rest[:end], "@"); at >= 0 {
		return at
	}
	_, port, colon := strings.Cut(rest[:end], ":")
	if !colon || strings.HasPrefix(rest, "[") || strings.Trim(port, "0123456789") == "" {
		return -1
	}
	return strings.LastIndex(rest, "@")
}

// secretName says whether what is called so is a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, plain := range []string{"file", "files", "tokens"} { // where a secret is, or how many
		if strings.HasSuffix(strings.ToLower(name), plain) {
			return false
		}
	}
	for _, part := range []string{"key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "jwt", "bearer", "signature"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
