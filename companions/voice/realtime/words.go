package realtime

import (
	"strings"

	"conch/coordinator/turn"
)

// wordsFor finds what a person is told about an error of the server.
func wordsFor(code, typ string) turn.Words {
	for _, s := range []string{code, typ} {
		switch {
		case strings.Contains(s, "quota"), strings.Contains(s, "rate_limit"), strings.Contains(s, "billing"):
			return turn.WordsQuota
		case s == "invalid_api_key", s == "authentication_error":
			return turn.WordsKeyRefused
		}
	}
	return turn.WordsServerError
}
