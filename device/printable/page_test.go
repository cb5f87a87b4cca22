package printable

import (
	"strings"
	"testing"
)

// A member can lead people to a page in the house, and nowhere else.
func TestPageOf(t *testing.T) {
	for _, good := range []string{
		"http://kitchen.local:7485/", "https://kitchen.local:443/", "http://192.168.7.5:7485/", "https://10.0.0.9:80/", "https://[fd00::5]:7485/",
		"http://kitchen.home.arpa:1/", "http://a-1.internal:65535/",
	} {
		if PageOf(good) != good {
			t.Errorf("%s is refused", good)
		}
	}
	for _, bad := range []string{
		"", "x", "kitchen.local:7485", "javascript:alert(1)", "javascript://kitchen.local:7485/", "data:text/html,x", "ftp://kitchen.local:7485/",
		"http://kitchen.local/", "http://kitchen.local:7485", "http://kitchen.local:7485/x", "http://kitchen.local:7485/?x", "http://kitchen.local:7485/#x",
		"http://kitchen.local:7485/?", "http://kitchen.local:7485/in/secret", "http://me@kitchen.local:7485/", "http://bank.example@kitchen.local:7485/",
		"http://bank.example:443/", "http://kitchen.local.bank.example:80/", "http://kitchen:7485/", "http://localhost:631/", "http://127.0.0.1:631/",
		"http://[::1]:631/", "http://8.8.8.8:80/", "http://169.254.169.254:80/", "http://0.0.0.0:80/", "http://[fe80::1%25eth0]:80/", "http://[2001:db8::1]:80/",
		"http://KITCHEN.local:7485/", "HTTP://kitchen.local:7485/", "http://kitchen.local:07485/ ", "http://kitchen.local:0/", "http://kitchen.local:70000/",
		"http://kitchen.local:+80/", "http://.local:80/", "http://a..local:80/", "http://kitch\u0435n.local:80/", "http://k\u202e.local:80/", "http://kitchen.local:80/\n",
		"http:\\\\kitchen.local:80/", "http://0x7f000001.local.:80/", "http://3232237317:80/", "http://" + strings.Repeat("a", 128) + ".local:80/",
	} {
		if got := PageOf(bad); got != "" {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzPageOf(f *testing.F) {
	f.Add("http://kitchen.local:7485/")
	f.Add("https://[fd00::5]:7485/")
	f.Fuzz(func(t *testing.T, text string) {
		if got := PageOf(text); got != "" && (got != text || len(text) > maxPage || strings.ContainsAny(text, " \"'<>@?#\\%\x00")) {
			t.Errorf("%q", text)
		}
	})
}
