package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadedWith is a configuration of this text and environment.
func loadedWith(t *testing.T, text string, environ ...string) *Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(LoadOptions{File: file, Environ: append(environ, "HOME="+t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A service has no environment that a person could set, and a person has no service to whom conch key gives one.
func TestGiveKeyFitsTheReader(t *testing.T) {
	service, person := loadedWith(t, "", "STATE_DIRECTORY="+t.TempDir()), loadedWith(t, "")
	for _, x := range []struct{ text, has, hasNot string }{
		{service.GiveKey(), "sudo conch setup voice", "OPENAI_API_KEY"}, {service.NoKey(), "no key", "OPENAI_API_KEY"},
		{person.GiveKey(), "OPENAI_API_KEY", "sudo"}, {person.NoKey(), "OPENAI_API_KEY", "sudo"},
	} {
		if !strings.Contains(x.text, x.has) || strings.Contains(x.text, x.hasNot) {
			t.Errorf("%q; want %q and not %q", x.text, x.has, x.hasNot)
		}
	}
}

// Discovery by Home Assistant takes a broker that both can be at.
func TestDiscoveryWithoutABrokerIsTold(t *testing.T) {
	const on = "[homeassistant]\ndiscovery = true\n"
	for text, told := range map[string]bool{
		on: true, on + "[room]\nbroker = \"embedded\"\n": true, "": false, on + "broker = \"mqtt://ha.lan:1883\"\n": false,
		on + "[room]\nbroker = \"mqtt://ha.lan:1883\"\n": false,
	} {
		if got := strings.Contains(strings.Join(loadedWith(t, text).Warnings, "\n"), "set homeassistant.broker"); got != told {
			t.Errorf("%q: told %v; want %v", text, got, told)
		}
	}
}

// A list of servers is answered with a section as it is to be written.
func TestAListOfServersIsToldByAnExample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(file, []byte("[[mcp]]\ncommand = [\"x\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(LoadOptions{File: file, Environ: []string{"HOME=/"}}); err == nil || !strings.Contains(err.Error(), "as in [mcp.files]") {
		t.Errorf("%v; want the example [mcp.files]", err)
	}
}
