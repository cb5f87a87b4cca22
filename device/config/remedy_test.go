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

// An address of IPv6 without brackets has no port that anybody could tell from it.
func TestAddressesOfIPv6StandInBrackets(t *testing.T) {
	for key, forms := range map[string]string{
		"voice.url": "%s ws wss http https", "voice.hear": "whisper.cpp %s http", "voice.speak": "%s http", "room.broker": "%s mqtt mqtts ws",
		"room.vote_url": "%s http", "homeassistant.broker": "%s mqtt tcp ws",
	} {
		all := strings.Fields(strings.ReplaceAll(forms, "whisper.cpp %s", "whisper.cpp+%s"))
		for _, scheme := range all[1:] {
			for host, good := range map[string]bool{
				"::1:18041": false, "fe80::1": false, "2001:db8::7:80/x": false, "[::1]:18041": true, "pi.lan:18041": true, "192.0.2.1": true,
			} {
				value := strings.ReplaceAll(strings.Replace(all[0], "%s", scheme+"://"+host, 1), "+", " ")
				flags := map[string]string{key: value}
				if strings.HasPrefix(key, "voice.") && key != "voice.url" {
					flags["voice.kind"] = "cascade"
				}
				_, err := Load(LoadOptions{Environ: []string{"HOME=/"}, Flags: flags})
				if told := err != nil && strings.Contains(err.Error(), key+" = ") && strings.Contains(err.Error(), "stands in brackets"); told == good {
					t.Errorf("%s = %s: %v", key, value, err)
				}
			}
		}
	}
}
