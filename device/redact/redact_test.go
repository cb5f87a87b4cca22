package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What looks like a secret goes, and what a remedy needs stays: host, port, path.
func TestTextWithoutKnownSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"mqtt://u:hunter2@house:1883 fails":                   "mqtt://[secret]@house:1883 fails",
		"mqtts://u:hun/ter?2#@house:8883/x":                   "mqtts://[secret]@house:8883/x",
		"mqtt:/u:hunter2@house:1883":                          "mqtt:/[secret]@house:1883",
		"u:hunter2@house:1883":                                "[secret]@house:1883",
		"rtsp://hunter2@[::1]:554/a":                          "rtsp://[secret]@[::1]:554/a",
		"http://h/a?token=hunter2&user=x#frag":                "http://h/a?token=[secret]&user=[secret]#[secret]",
		"wss://h:1/v1?model=gpt-realtime&key=a;b=c":           "wss://h:1/v1?model=gpt-realtime&key=[secret]&b=[secret]",
		"http://h/?hunter2":                                   "http://h/?[secret]",
		`{"url":"http://h/?a=x\u0026b=y","x":"\"ws://u@h\""}`: `{"url":"http://h/?a=[secret]&b=[secret]","x":"\"ws://[secret]@h\""}`,
		"Authorization: Basic dTpodW50ZXIy":                   "Authorization: [secret]",
		`map[Authorization:[Bearer abc] X:[y]]`:               "map[Authorization:[secret]",
		"token Bearer abcdef, and on":                         "token Bearer [secret], and on",
		"with --api-key Hunter2 --token=hunter -v":            "with --api-key [secret] --token=[secret] -v",
		"API_KEY=hunter2 and password='hunter2'":              "API_KEY=[secret] and password='[secret]'",
		`{"password":"hunter2","tokens":5}`:                   `{"password":"[secret]","tokens":5}`,
		"invalid key sk-proj-abcdefgh1234":                    "invalid key [secret]",

		// What is none.
		"https://house:7484/in/abcdefgh opens the page": "https://house:7484/in/abcdefgh opens the page",
		"does it want TLS (mqtts://)?; try again":       "does it want TLS (mqtts://)?; try again",
		"ws://, or wss://.? And ws://;#1":               "ws://, or wss://.? And ws://;#1",
		"mqtt://)hunter2:x@house":                       "mqtt://[secret]@house",
		"at 10:30@home":                                 "at [secret]@home", // it has the form of one
		"ada@house.example":                             "ada@house.example",
		"npx -y @scope/server@2026.8.31":                "npx -y @scope/server@2026.8.31",
		"Authorization: /etc/conch/token":               "Authorization: /etc/conch/token",
		"voice.key_file: /etc/conch/key":                "voice.key_file: /etc/conch/key",
		"OPENAI_API_KEY=KEY conch run":                  "OPENAI_API_KEY=KEY conch run",
		"there is no flag --token (see: help)":          "there is no flag --token (see: help)",
		"the token expired; basic authentication":       "the token expired; basic authentication",
		"": "",
	} {
		if got := Text(text); got != want {
			t.Errorf("%s\n  is %s\nwant %s", text, got, want)
		}
		if got := Text(Text(text)); got != Text(text) {
			t.Errorf("twice: %s", got)
		}
	}
}

// A secret that is known goes in each way to write it; a short one as a word, and a word of conch's own not at all.
func TestTextWithKnownSecrets(t *testing.T) {
	const secret = `Pa&ss "wör/d" \42`
	Add(secret, "hun7", "conch", "mqtt", "1883", "abc", "")
	Setting("room.broker", "mqtt://u:pa ss/w%20ord7@house:1883,mqtt://v:other&one@house2:1883")
	Setting("room.broker", "w:wi/thout7@house3")
	Setting("", "http://h/?apikey=query7arg")
	Setting("X_TOKEN", "tokenvalue")
	Setting("homeassistant.broker", "swapped7word@@://")
	Setting("companion.prompt", "jane@example.org wants https://example.org read")
	Setting("X_TOKEN", "/etc/conch/token")
	Arguments("srv", "--key", "afterkey7", "--password=behind7equals", "NAME_KEY=var7iable", "0123456789abcdef01", "--verbose", "plainword")
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	for _, form := range []string{
		secret, string(quoted), string(twice), fmt.Sprintf("%q", secret), url.QueryEscape(secret), url.PathEscape(secret), fmt.Sprintf("%x", secret),
		base64.StdEncoding.EncodeToString([]byte("u:" + secret)), base64.URLEncoding.EncodeToString([]byte("us:" + secret)), strings.ToUpper(secret),
		"pa ss/w%20ord7", "pa ss/w ord7", "other&one", "wi/thout7", "query7arg", "swapped7word", "tokenvalue", "afterkey7", "behind7equals", "var7iable", "0123456789abcdef01",
		secret[:8] + "…",
	} {
		got := Text("<" + form + ">")
		if !strings.Contains(got, Mark) || strings.Contains(got, form) {
			t.Errorf("%s is %s", form, got)
		}
	}
	for text, want := range map[string]string{
		"hun7, hun7ter, hun7":   Mark + ", hun7ter, " + Mark,
		"conch: mqtt 1883 abc":  "conch: mqtt 1883 abc",
		"/etc/conch/token":      "/etc/conch/token",
		"plainword … and so on": "plainword … and so on",
		"jane is at home":       "jane is at home",
	} {
		if got := Text(text); got != want {
			t.Errorf("%s is %s; want %s", text, got, want)
		}
	}
}

// The oldest is forgotten where there are too many, and Text goes on.
func TestKnownIsBounded(t *testing.T) {
	for i := range maxKnown + 10 {
		Add(fmt.Sprintf("bounded-%05d", i))
	}
	if n := len(known.order); n != maxKnown {
		t.Errorf("%d are known; want %d", n, maxKnown)
	}
	if got := Text(fmt.Sprintf("bounded-%05d bounded-00001", maxKnown)); got != Mark+" bounded-00001" {
		t.Error(got)
	}
	known.mu.Lock()
	known.order, known.has = nil, nil
	known.now.Store(nil)
	known.mu.Unlock()
}

func TestCommand(t *testing.T) {
	got := Command([]string{"npx", "-y", "@scope/server@1.2.3", "--stdio", "--token=x", "--key", "hunter2", "-phunter2", "/srv/files", "http://u@h", ""})
	if want := "npx -y @scope/server@1.2.3 --stdio --token=… --key … … /srv/files … "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// An answer has no secret, and one of a fixed length keeps it.
func TestHandler(t *testing.T) {
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			w.Header().Set("Content-Length", "12")
		}
		_, _ = w.Write([]byte("ws://u:p@h:1"))
	}))
	for path, want := range map[string]string{"/": "ws://[secret]@h:1", "/file": "ws://u:p@h:1"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Body.String() != want {
			t.Errorf("%s is %s; want %s", path, w.Body, want)
		}
	}
}

// FuzzText: JSON stays JSON, twice is once, and no password of a URL is left.
func FuzzText(f *testing.F) {
	for _, s := range []string{"mqtt://u:p@h", `"\`, "Bearer abcdefg", "http://h?a=b&c#d", "--token x1", "a:b@c", "Authorization: x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Text(s)
		if twice := Text(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
		data, err := json.Marshal(map[string]string{"text": s, "more": "x"})
		if err != nil {
			t.Skip("no JSON")
		}
		if got := Bytes(data); !json.Valid(got) {
			t.Errorf("%s is no JSON any more: %s", data, got)
		}
	})
}

// BenchmarkText is a status of 4 kB with 20 secrets that are known, of which none is in it.
func BenchmarkText(b *testing.B) {
	for i := range 20 {
		Add(fmt.Sprintf("some-secret-%d", i))
	}
	text := strings.Repeat(`{"key":"room.broker","value":"mqtt://house.example:1883","origin":"file /etc/conch/conch.toml:12"},`, 40)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = Text(text)
	}
}
