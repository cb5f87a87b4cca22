package round

import (
	"strings"
	"testing"
	"time"
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

// The page of a device is told beside its cards; what is none is not believed, and costs the member nothing else.
func TestAMemberTellsOfItsPage(t *testing.T) {
	const own, other = "http://kitchen.local:7485/", "http://192.168.7.9:7485/"
	m := New(Config{Self: "a", Name: "kitchen", Cards: []Card{cook()}, Page: own})
	at := time.Duration(0)
	step := func(ev Event) (told []Beat) {
		var out []Effect
		m, out = Step(m, ev)
		for _, e := range out {
			if s, ok := e.(Send); ok {
				if b, ok := s.Packet.(Beat); ok {
					told = append(told, b)
				}
			}
		}
		return told
	}
	told := step(LinkChanged{at, true})
	for range 5 {
		at += time.Second
		told = append(told, step(Tick{At: at})...)
	}
	cards := 0
	for _, b := range told {
		want := ""
		if b.Cards != nil {
			cards++
			want = own
		}
		if b.Page != want {
			t.Errorf("beside %d cards the page is %q", len(b.Cards), b.Page)
		}
	}
	if cards == 0 {
		t.Fatal("its cards are never told")
	}
	list := []Card{astronomer()}
	for _, c := range []struct {
		beat Beat
		want string
	}{
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list, Page: other}, other},
		{Beat{Name: "hall", Digest: digestOf(list)}, other},
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list, Page: "https://bank.example:443/"}, ""},
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list}, ""}, // as of a device that does not know of pages
	} {
		at += time.Second
		step(Received{at, "b", c.beat})
		all := m.Members()
		if len(all) != 2 || all[0].Page != own || all[1].Page != c.want || len(all[1].Cards) != 1 {
			t.Errorf("after %+v: %+v", c.beat, all)
		}
	}
}
