package config

import (
	"fmt"
	"strings"
)

// ReadSecret reads a file that holds a secret and nothing else.
func ReadSecret(path string) (string, error) {
	data, _, err := ReadBounded(path, MaxKey)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || !Sendable(secret) {
		return "", fmt.Errorf("%s: must hold the key and nothing else, on one line", path)
	}
	return secret, nil
}
