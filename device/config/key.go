package config

import (
	"errors"
	"fmt"
	"strings"
)

// CheckKey says whether text, as a person gave it, can be a provider's key, and returns it as it is to be stored. The hint is
// not empty when it can be one but does not look like OpenAI's; other servers have other keys. Neither hint nor error repeats
// any of it.
func CheckKey(text string) (key, hint string, err error) {
	key = strings.TrimSpace(text)
	switch {
	case key == "":
		return "", "", errors.New("it is empty")
	case len(key) > MaxKey:
		return "", "", fmt.Errorf("it is longer than the %d bytes a key may have", MaxKey)
	case strings.ContainsAny(key, "\r\n"):
		return "", "", errors.New("it is more than one line; a key is one")
	case !Sendable(key):
		return "", "", errors.New("it has spaces, or characters that are not visible ASCII; a key has none (was something else pasted?)")
	case strings.HasPrefix(key, "/") || strings.HasPrefix(key, "~/"):
		return "", "", errors.New("this is the name of a file, not a key; give its content: sudo conch key < FILE")
	}
	switch {
	case !strings.HasPrefix(key, "sk-"):
		hint = "it does not begin with sk- as OpenAI's keys do; it is stored all the same, since other servers have other keys"
	case len(key) < 20:
		hint = "it is shorter than OpenAI's keys are; it is stored all the same (was it cut while pasting?)"
	}
	return key, hint, nil
}
