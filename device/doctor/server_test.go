package doctor_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"conch/device/doctor"
)

var unreachable = os.NewSyscallError("connect", syscall.ENETUNREACH)

// reply is a server that always says so.
func reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

var voiceBreakages = []breakage{
	{name: "no such name", check: "dns", level: doctor.Bad, text: "api.openai.com: the name cannot be looked up", cause: "no such name", do: "voice.url",
		breaks: func(b *box) { b.resolver(3) }},
	{name: "name server fails", check: "dns", level: doctor.Bad, text: "cannot be looked up", cause: "name server does not answer", do: "resolvectl",
		breaks: func(b *box) { b.resolver(2) }},
	{name: "no name server answers", check: "dns", level: doctor.Bad, text: "cannot be looked up", cause: "name server does not answer", do: "resolvectl",
		breaks: func(b *box) { b.resolver(-1) }},
	{name: "no name server", check: "dns", level: doctor.Bad, text: "cannot be looked up", cause: "names no name server", do: "NetworkManager",
		breaks: func(b *box) {
			b.write("/etc/resolv.conf", "# empty\n")
			b.resolver(-1)
		}},
	{name: "nothing listens", check: "server", level: doctor.Bad, text: "connection refused", cause: "nothing listens", do: "voice.url",
		breaks: func(b *box) { b.server.http.Close() }},
	{name: "packets dropped", check: "server", level: doctor.Bad, text: "does not answer", cause: "firewall", do: "ping",
		breaks: func(b *box) {
			b.m.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}
			}
		}},
	{name: "not TLS", check: "tls", level: doctor.Bad, text: "does not speak TLS", cause: "ws://", do: "voice.url",
		breaks: func(b *box) {
			plain := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.t.Fatal(err)
			}
			go func() { _ = plain.Serve(l) }() // ended by Close
			b.t.Cleanup(func() { _ = plain.Close() })
			b.server.address = l.Addr().String()
		}},
	{name: "certificate expired", check: "tls", level: doctor.Bad, text: "certificate expired on 2026-10-21", cause: "nobody renewed", do: "renew",
		breaks: func(b *box) {
			b.serves(certificate{today.AddDate(0, -3, 0), today.AddDate(0, -1, 0), "api.openai.com"})
		}},
	{name: "certificate of tomorrow", check: "tls", level: doctor.Bad, text: "not valid before 2026-11-22", cause: "too new", do: "clock",
		breaks: func(b *box) {
			b.serves(certificate{today.AddDate(0, 0, 1), today.AddDate(0, 2, 0), "api.openai.com"})
		}},
	{name: "clock a year behind", check: "tls", level: doctor.Bad, text: "by this machine's clock the certificate is not valid now", cause: "the clock is wrong", do: "set-ntp",
		also:   []string{"clock", "silence"},
		breaks: func(b *box) { b.m.Now = func() time.Time { return today.AddDate(-1, 0, 0) } }},
	{name: "certificate for another host", check: "tls", level: doctor.Bad, text: "another host than api.openai.com", cause: "in between", do: "name",
		breaks: func(b *box) {
			b.serves(certificate{today.AddDate(0, -1, 0), today.AddDate(0, 2, 0), "login.hotel.example"})
		}},
	{name: "certificate of nobody known", check: "tls", level: doctor.Bad, text: "not signed by anybody known", cause: "self-signed", do: "ca-certificates",
		breaks: func(b *box) {
			roots := b.server.roots
			b.serves(certificate{today.AddDate(0, -1, 0), today.AddDate(0, 1, 0), "api.openai.com"}) // by another CA
			b.m.Roots = roots
		}},
	{name: "clock five minutes off", check: "skew", level: doctor.Warn, text: "clock is 5m0s off the server's", cause: "nothing keeps", do: "NTP",
		breaks: func(b *box) { b.server.date = today.Add(-5 * time.Minute) }},
	{name: "key refused", check: "key", level: doctor.Bad, text: "does not accept the key", cause: "revoked", do: "sudo conch key",
		breaks: func(b *box) { b.s.Voice.Key = keyed("sk-proj-AnotherKeyThatIsNotTheOne") }},
	{name: "no key where one is wanted", check: "key", level: doctor.Bad, text: "wants a key", cause: "no key", do: "sudo conch key",
		breaks: func(b *box) { b.s.Voice.Key = keyed("") }},
	{name: "key that is none", check: "key", level: doctor.Bad, text: "must be one line", cause: "cannot be used", do: "sudo conch key",
		breaks: func(b *box) {
			b.s.Voice.Key, b.s.Voice.KeyTrouble = keyed(""), "config: voice.key: must be one line of visible characters"
		}},
	{name: "no money", check: "key", level: doctor.Bad, text: "no money left", cause: "paid", do: "credit",
		breaks: func(b *box) {
			b.server.answer = reply(http.StatusTooManyRequests, `{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}`)
		}},
	{name: "too many requests", check: "key", level: doctor.Warn, text: "too many requests (rate_limit_exceeded)", cause: "limit", do: "wait",
		breaks: func(b *box) {
			b.server.answer = reply(http.StatusTooManyRequests, `{"error":{"code":"rate_limit_exceeded"}}`)
		}},
	{name: "key may not list", check: "key", level: doctor.Warn, text: "may not list models", cause: "restricted", do: "rights",
		breaks: func(b *box) { b.server.answer = reply(http.StatusForbidden, `{}`) }},
	{name: "server in trouble", check: "server", level: doctor.Warn, text: "HTTP 503", cause: "provider", do: "status page",
		breaks: func(b *box) { b.server.answer = reply(http.StatusServiceUnavailable, "busy") }},
	{name: "a login page in between", check: "server", level: doctor.Bad, text: "sends us elsewhere", cause: "login page", do: "web page",
		breaks: func(b *box) {
			b.server.answer = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://login.hotel.example/", http.StatusFound)
			}
		}},
	{name: "hangs up", check: "server", level: doctor.Bad, text: "ends the connection without an answer", cause: "not well", do: "voice.url",
		breaks: func(b *box) {
			b.server.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}},
	{name: "in the clear", check: "tls", level: doctor.Warn, text: "in the clear", cause: "without encryption", do: "wss://", also: []string{"key"},
		breaks: func(b *box) {
			b.s.Voice.URL = "ws://voice.example.com:8080/v1/realtime"
			b.server.plain()
		}},
	{name: "model not there", check: "model", level: doctor.Bad, text: "does not list gpt-realtime-9 (voice.model)", cause: "slip", do: "gpt-realtime-2.1, gpt-realtime-2.1-mini",
		breaks: func(b *box) { b.s.Voice.Model = "gpt-realtime-9" }},
	{name: "model about to end, as the table says", check: "model", level: doctor.Warn, text: "gpt-realtime will be shut down on 2027-01-20", cause: "provider", do: `voice.model = "gpt-realtime-2.1" before`,
		breaks: func(b *box) { b.s.Voice.Model = "gpt-realtime" }},
	{name: "transcription about to end", check: "model", level: doctor.Warn, text: "whisper-1 will be shut down on 2027-02-26", cause: "provider", do: `voice.transcription = "gpt-transcribe"`,
		breaks: func(b *box) { b.s.Voice.Transcription = "whisper-1" }},
	{name: "model ended", check: "model", level: doctor.Bad, text: "gpt-realtime was shut down on 2027-01-20", cause: "ended", do: "gpt-realtime-2.1", also: []string{"skew", "silence"},
		breaks: func(b *box) {
			b.serves(certificate{today.AddDate(0, -1, 0), today.AddDate(2, 0, 0), "api.openai.com"})
			b.s.Voice.Model = "gpt-realtime"
			b.m.Now = func() time.Time { return time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC) }
		}},
	{name: "model about to end, as the server says", check: "model", level: doctor.Warn, text: "gpt-realtime-2.1 will be shut down on 2026-12-24", cause: "provider", do: "newer",
		breaks: func(b *box) {
			b.server.answer = reply(http.StatusOK, `{"data":[{"id":"gpt-realtime-2.1","shutdown_date":"2026-12-24"},{"id":"gpt-transcribe","shutdown_date":1924992000}]}`)
		}},
	{name: "url that is none", check: "voice", level: doctor.Bad, text: "voice.url", cause: "slip", do: "wss://HOST",
		breaks: func(b *box) { b.s.Voice.URL = "wss://%zz" }},
	{name: "ceiling reached", check: "usage", level: doctor.Bad, text: "1000000 of 1000000", cause: "voice.ceiling_tokens", do: "raise",
		breaks: func(b *box) { b.run.Used.Tokens = 1_000_000 }},
	{name: "ceiling near", check: "usage", level: doctor.Warn, text: "950000 of", cause: "voice.ceiling_tokens", do: "raise",
		breaks: func(b *box) { b.run.Used.Tokens = 950_000 }},
	{name: "ceiling of money reached", check: "usage", level: doctor.Bad, text: "2.50 spent of 2.50", cause: "voice.ceiling_cost", do: "conch usage reset",
		breaks: func(b *box) { b.s.Voice.CeilingCost, b.run.Used.Cost = 2.5, 2.5 }},
	{name: "ceiling of money near", check: "usage", level: doctor.Warn, text: "2.40 spent of 2.50", cause: "voice.ceiling_cost", do: "raise",
		breaks: func(b *box) { b.s.Voice.CeilingCost, b.run.Used.Cost = 2.5, 2.4 }},
	{name: "tokens that the server does not count", check: "usage", level: doctor.Warn, text: "7 answers today are estimated",
		cause: "does not count", do: "compare",
		breaks: func(b *box) { b.run.Used.Estimated = 7 }},
}

func (b *box) serves(c certificate) {
	b.server.start(c)
	b.m.Roots = b.server.roots
}

// plain goes on without TLS.
func (s *server) plain() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	plain := &http.Server{Handler: s.http.Config.Handler, ReadHeaderTimeout: time.Second}
	go func() { _ = plain.Serve(l) }() // ended by Close
	s.t.Cleanup(func() { _ = plain.Close() })
	s.address = l.Addr().String()
}

// resolver gives the box a name server on a real socket that answers every question with code (RFC 1035 4.1.1: 2 it failed, 3
// there is no such name); with -1 nobody is there.
func (b *box) resolver(code int) {
	b.t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	address := conn.LocalAddr().String()
	if code < 0 {
		_ = conn.Close()
	} else {
		b.t.Cleanup(func() { _ = conn.Close() })
		go func() { // ended by Close
			packet := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFrom(packet)
				if err != nil {
					return
				}
				packet[2], packet[3] = packet[2]|0x80, byte(code)
				_, _ = conn.WriteTo(packet[:n], from)
			}
		}()
	}
	ask := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
	b.m.Dial = (&net.Dialer{Resolver: ask}).DialContext
}

// A dialect with a header of its own gets the key there, and nowhere else.
func TestKeyGoesIntoTheDialectsHeader(t *testing.T) {
	b := healthy(t)
	b.s.Voice.Own = map[string]string{"dialect": "azure"}
	b.findings()
	if got := b.server.asked; len(got) != 1 || got[0].Header.Get("api-key") != key || got[0].Header.Get("Authorization") != "" {
		t.Fatalf("%d requests; want one, with the key in api-key alone", len(got))
	}
}

// The key goes to the configured server over TLS, once, and to nobody else: not in the clear, not to a redirect, not while
// the certificate is doubted.
func TestKeyIsGivenToNobodyElse(t *testing.T) {
	b := healthy(t)
	b.findings()
	if got := b.server.asked; len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+key {
		t.Fatalf("%d requests; want one, with the key", len(got))
	}
	for name, breaks := range map[string]func(b *box){
		"in the clear": func(b *box) {
			b.s.Voice.URL = "ws://192.0.2.7:8080/v1/realtime"
			b.server.plain()
		},
		"doubtful certificate": func(b *box) {
			b.serves(certificate{today.AddDate(0, -3, 0), today.AddDate(0, -1, 0), "api.openai.com"})
		},
	} {
		b := healthy(t)
		breaks(b)
		b.findings()
		if len(b.server.asked) != 1 {
			t.Errorf("%s: %d requests, want 1", name, len(b.server.asked))
		}
		for _, r := range b.server.asked {
			if r.Header.Get("Authorization") != "" {
				t.Errorf("%s: the key was sent", name)
			}
		}
	}
}
