package provider

import (
	"strings"
	"testing"

	"conch/device/config"
)

// A kind that somebody has named speaks with addresses of its own, and what refuses one is known before anything begins.
func TestKindAndAddress(t *testing.T) {
	for _, c := range []struct{ kind, url, want string }{
		{"auto", "http://pc.lan:11434", ""},
		{"auto", "ws://pc.lan:8000", ""},
		{"cascade", "http://pc.lan:11434", ""},
		{"realtime", "ws://pc.lan:8000", ""},
		{"realtime", "", ""},
		{"rehearsal", "http://pc.lan", ""},
		{"cascade", "", "voice.url is not set"},
		{"cascade", "wss://pc.lan", "must be http://"},
		{"realtime", "https://pc.lan", "must be ws://"},
	} {
		cfg := config.Default()
		cfg.Voice.Kind = c.kind
		if c.url != "" {
			cfg.Voice.URL = c.url
		}
		kind, _ := Kind(&cfg)
		_, settled := Settings(&cfg, kind)
		_, planned := Planned(&cfg)
		for _, err := range []error{settled, planned} {
			if got := err == nil; got != (c.want == "") || !got && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s at %q: %v; want %q", c.kind, c.url, err, c.want)
			}
		}
	}
}
