package tuner

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"conch/companions/skills"
	"conch/device/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// song is a tone of so many seconds, as sox and an encoder make it.
func song(t *testing.T, kind string, seconds int) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.wav"), filepath.Join(dir, "out")
	run := func(args ...string) {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skipf("%s is not installed", args[0])
		}
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
	run("sox", "-n", "-r", "44100", "-c", "2", "-b", "16", in, "synth", fmt.Sprint(seconds), "sine", "1000", "vol", "0.3")
	switch kind {
	case "mp3":
		run("lame", "--quiet", "-b", "128", in, out)
	case "vorbis":
		run("oggenc", "-Q", "-o", out, in)
	case "opus":
		run("opusenc", "--quiet", in, out)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pure says how much of some samples is a tone of 1 kHz, from 0 to 1.
func pure(pcm []int16) float64 {
	var a, b, all float64
	for i, x := range pcm {
		s, c := math.Sincos(2 * math.Pi * 1000 * float64(i) / 24000)
		a, b, all = a+s*float64(x), b+c*float64(x), all+float64(x)*float64(x)
	}
	return 2 * (a*a + b*b) / (all*float64(len(pcm)) + 1)
}

func open(t *testing.T, address string, roots *x509.CertPool) (*Stream, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return New([]config.Station{{Name: "One", URL: address}}, roots).Open(ctx, "One")
}

// hear reads so many samples, and says how pure they are behind the first tenth of a second.
func hear(t *testing.T, s *Stream, samples int) float64 {
	t.Helper()
	var pcm []int16
	for len(pcm) < samples {
		more, err := s.Next()
		if err != nil {
			t.Fatalf("after %d samples: %v", len(pcm), err)
		}
		pcm = append(pcm, more...)
	}
	return pure(pcm[2400:])
}

func TestAStationSounds(t *testing.T) {
	for _, kind := range []string{"mp3", "vorbis", "opus"} {
		b := song(t, kind, 5)
		for name, serve := range map[string]http.HandlerFunc{
			"plainly": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) },
			"with words in between": func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Icy-MetaData") != "1" {
					t.Error("no words were asked for")
				}
				w.Header().Set("Icy-Metaint", "777")
				for i := 0; i < len(b); i += 777 {
					_, _ = w.Write(b[i:min(i+777, len(b))])
					words := "StreamTitle='A song';"
					if i%2 == 0 {
						words = ""
					}
					n := (len(words) + 15) / 16
					_, _ = w.Write(append([]byte{byte(n)}, append([]byte(words), make([]byte, 16*n-len(words))...)...))
				}
			},
			"under another name": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write(b)
			},
			"behind a cookie": func(w http.ResponseWriter, r *http.Request) {
				if c, err := r.Cookie("listener"); r.URL.Path == "/" {
					http.SetCookie(w, &http.Cookie{Name: "listener", Value: "7"})
					http.Redirect(w, r, "/song", http.StatusFound)
				} else if err != nil || c.Value != "7" {
					w.WriteHeader(http.StatusForbidden)
				} else {
					_, _ = w.Write(b)
				}
			},
			"behind lists and redirections": func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					fmt.Fprint(w, "[playlist]\r\nNumberOfEntries=2\r\nFile1=http://", r.Host, "/nothing\r\nTitle1=x=y\r\nFile2=http://", r.Host, "/m3u\r\n")
				case "/m3u":
					http.Redirect(w, r, "/lists/m3u", http.StatusFound)
				case "/lists/m3u":
					fmt.Fprint(w, "#EXTM3U\n#EXTINF:-1,One\nmoved\n")
				case "/lists/moved":
					http.Redirect(w, r, "/song", http.StatusFound)
				case "/song":
					_, _ = w.Write(b)
				default:
					http.NotFound(w, r)
				}
			},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				server := httptest.NewServer(serve)
				defer server.Close()
				s, err := open(t, server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if p := hear(t, s, 4*24000); p < 0.99 {
					t.Errorf("of what is heard %.3f is the tone", p)
				}
				for err == nil {
					_, err = s.Next()
				}
				if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "breaks off") {
					t.Errorf("at its end: %v", err)
				}
			})
		}
	}
}

// Each list names the address /dir/song beside it, which sounds.
func TestAListIsAList(t *testing.T) {
	b := song(t, "mp3", 1)
	for _, row := range []struct{ name, address, kind, list string }{
		{"M3U of relative addresses", "/dir/list.m3u", "", "song\n"},
		{"M3U by its type alone", "/dir/x", "audio/x-mpegurl; charset=utf-8", "song\r\n"},
		{"M3U by another type", "/dir/x", "application/vnd.apple.mpegurl", "/dir/song"},
		{"M3U of a title", "/dir/x", "text/plain", "#EXTINF:-1,One\nsong\n"},
		{"M3U of a remark", "/dir/x", "application/octet-stream", "# One\nHTTP://HOST/dir/song\n"},
		{"M3U of a long remark", "/dir/x", "", "; " + strings.Repeat("one, ", 300) + "\nhttp://HOST/dir/song\n"},
		{"M3U behind blank lines", "/dir/x", "", "\ufeff\r\n \r\n\t#extm3u\r\n  song  \r\n"},
		{"M3U in UTF-16", "/dir/x", "", "\xff\xfe#\x00\n\x00s\x00o\x00n\x00g\x00\n\x00"},
		{"M3U in Latin-1", "/dir/x", "", "#EXTINF:-1,Caf\xe9\nsong\n"},
		{"PLS of relative addresses", "/dir/x", "", "[playlist]\nFile1=song\n"},
		{"PLS as some write it", "/dir/x", "", "; One\n\n[PLAYLIST]\nTITLE1=http://HOST/no\nfile1 = \"song\"\nLENGTH1=-1\n"},
		{"PLS without a head", "/dir/x", "audio/x-scpls", "numberofentries=1\nFile1=http://HOST/dir/song\n"},
		{"PLS in place of M3U", "/dir/list.m3u", "audio/x-mpegurl", "[playlist]\nFile1=song\nTitle1=One\n"},
		{"PLS of a remark", "/dir/x", "application/pls+xml", "# One\n[playlist]\nFile1=song\n"},
		{"XSPF", "/dir/x", "application/xspf+xml", "<?xml version='1.0' encoding='ISO-8859-1'?><playlist xmlns='http://xspf.org/ns/0/'><location>x</location>" +
			"<trackList><track><title>\xe9 &amp; <b>x</b></title><location>\n song?a=1&amp;b=2 </location></track></trackList></playlist>"},
		{"ASX", "/dir/x", "video/x-ms-asf", "<!-- One -->\n<ASX version = 3.0><Title>a & b</title><Entry>\n<REF HREF = \"song?a=1&b=2\" / ></Entry>"},
		{"ASX of the old kind", "/dir/x", "video/x-ms-asf", "[Reference]\r\nRef1=http://HOST/dir/song?x=y\r\n"},
		{"WPL", "/dir/x", "application/vnd.ms-wpl", "<?wpl version='1.0'?><smil><body><seq><media src='song'/></seq></body></smil>"},
		{"a list that the server cuts off", "/dir/cut", "", "#EXTM3U\nsong\n"},
		{"sound that is called a list", "/dir/list.m3u", "audio/x-mpegurl", string(b)},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/dir/song":
					_, _ = w.Write(b)
				case row.address:
					w.Header()["Content-Type"] = []string{row.kind}
					if row.address == "/dir/cut" {
						w.Header().Set("Content-Length", "1000")
					}
					fmt.Fprint(w, strings.ReplaceAll(row.list, "HOST", r.Host))
				default:
					http.NotFound(w, r)
				}
			}))
			defer server.Close()
			s, err := open(t, server.URL+row.address, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
	}
}

// raw answers as it likes, on each connection.
func raw(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rawOn(t, l, answer)
	return "http://" + l.Addr().String()
}

func rawOn(t *testing.T, l net.Listener, answer func(net.Conn)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			answer(c)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

// certified is a certificate of 127.0.0.1 that is valid so long, and the authorities that vouch for it.
func certified(t *testing.T, from, until time.Time) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}, &x509.Certificate{}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(b)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{b}, PrivateKey: key}}}, roots
}

func TestAServerOfAnOddKindSounds(t *testing.T) {
	b := song(t, "mp3", 2)
	var titled, chunked []byte
	for at := 0; at < len(b); at += 16000 {
		piece := b[at:min(at+16000, len(b))]
		titled = append(append(titled, piece...), append([]byte{1}, "StreamTitle='x';"...)...)
		chunked = append(fmt.Appendf(chunked, "%x\r\n", len(piece)), append(piece[:len(piece):len(piece)], "\r\n"...)...)
	}
	config, roots := certified(t, time.Unix(0, 0), time.Now().Add(time.Hour))
	for _, row := range []struct {
		name, head string
		body       []byte
	}{
		{"ICY", "ICY 200 OK\r\nicy-name: One\r\ncontent-type: audio/mpeg\r\n", b[1000:]}, // in the middle of a frame
		{"ICY behind a blank line", "\r\nicy 200 OK\r\n", b},
		{"newlines alone", "HTTP/1.0 200 OK\nicy-name: One\n", b},
		{"another version", "HTTP/2 200\r\nicy-name: One\r\n", b},
		{"small letters", "http/1.1 200 OK\r\nicy-name: One\r\n", b},
		{"no colon", "HTTP/1.0 200 OK\r\nContent-Disposition = inline; filename=one.asc\r\nicy-name: One\r\n", b},
		{"a colon too many", "HTTP/1.1 200 OK\r\n: One\r\nicy genre=: x\r\nHTTP/1.1 200 OK: x\r\nicy-name: \x00\xff\r\n", b},
		{"lines that go on", "HTTP/1.1 200 OK\r\n one\r\nicy-name: One\r\n\tand Two: x\r\n", b},
		{"a length below nothing", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", b},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\nContent-Length: 0\r\n", b},
		{"a length beyond all", "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\nContent-Length: unknown\r\n", b},
		{"a coding that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n", b},
		{"a coding twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: Chunked\r\n", chunked},
		{"titles said twice", "HTTP/1.0 200 OK\r\nicy-metaint: 16000,16000\r\n", titled},
		{"titles said in two lines", "HTTP/1.0 200 OK\r\nicy-metaint : 16000\r\nIcy-MetaInt: 16000\r\n", titled},
		{"a part", "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-/*\r\n", b},
		{"no titles", "HTTP/1.0 200 OK\r\nicy-metaint: 0\r\n", b},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", row.name, secure), func(t *testing.T) {
				answer := func(c net.Conn) {
					fmt.Fprint(c, row.head+"\r\n")
					_, _ = c.Write(row.body)
				}
				var address string
				if secure {
					l, err := tls.Listen("tcp", "127.0.0.1:0", config)
					if err != nil {
						t.Fatal(err)
					}
					rawOn(t, l, answer)
					address = "https://" + l.Addr().String()
				} else {
					address = raw(t, answer)
				}
				s, err := open(t, address, roots)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if p := hear(t, s, 3*24000/2); p < 0.99 {
					t.Errorf("of what is heard %.3f is the tone", p)
				}
			})
		}
	}
}

func TestEachThingThatIsWrongIsASentence(t *testing.T) {
	t.Setenv("PATH", "") // without ffmpeg
	serve := func(f http.HandlerFunc) string {
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		return server.URL
	}
	sends := func(kind, text string) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	closed := raw(t, func(net.Conn) {})
	valid := func(from, until time.Duration) (address string, roots *x509.CertPool) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS, roots = certified(t, time.Now().Add(from), time.Now().Add(until))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL, roots
	}
	past, ofPast := valid(-48*time.Hour, -24*time.Hour)
	future, ofFuture := valid(24*time.Hour, 48*time.Hour)
	noEntries, err := os.ReadFile("../../audio/decode/testdata/no-entries.ogg") // for it a decoder allocated 17 GB, which no recover catches
	if err != nil {
		t.Fatal(err)
	}
	comesBack := []string{ // perhaps; of the others no later request makes a station
		"nobody there", "404", "403", "503", "nothing", "a list of which one may come back", "a certificate of tomorrow",
		"a certificate that fits", "no TLS", "heads without an end", "no HTTP",
		"a server that says nothing", "a stream that brings nothing",
	}
	for _, row := range []struct {
		name, address string
		roots         *x509.CertPool
		says          string
	}{
		{"a stream that asks for too much memory", sends("audio/ogg", string(noEntries)), nil, "its Vorbis head is damaged, or of a kind that conch does not decode"},
		{"nobody there", "http://127.0.0.1:1", nil, "nobody answers at its server"},
		{"404", serve(http.NotFound), nil, "its server does not know that stream (404)"},
		{"403", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), nil, "its server does not let us in (403)"},
		{"511", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNetworkAuthenticationRequired) }), nil,
			"the network wants a login first (511)"},
		{"a login", serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
			fmt.Fprint(w, "\n<!-- x --><form>http://x</form>")
		}), nil, "its address leads to a page of the web, and to no sound; does the network want a login?"},
		{"503", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), nil, "its server answered 503 Service Unavailable"},
		{"a page", sends("audio/mpeg", "<!DOCTYPE html><title>x</title>"), nil, "it is a page of the web, and no sound"},
		{"AAC", sends("audio/mpeg", "\xff\xf1\x50\x80"+strings.Repeat("x", 600)), nil, "it sends AAC, for which ffmpeg has to be installed"},
		{"noise", sends("audio/mpeg", strings.Repeat("noise", 40000)), nil, "it is no sound that conch knows"},
		{"nothing", sends("audio/mpeg", ""), nil, "its server breaks off"},
		{"a page in XML", sends("audio/mpeg",
			"\ufeff<?xml version='1.0'?>\n<!DOCTYPE html><html><a href='http://x'>x</a></html>"), nil, "it is a page of the web, and no sound"},
		{"a page of links", sends("audio/x-mpegurl", "<!-- x -->\n<script>\nhttp://x/y\n</script>"), nil, "it is a page of the web, and no sound"},
		{"words", sends("text/plain", "The station is closed.\nFarewell.\n"), nil, "it is no sound that conch knows"},
		{"HLS", sends("x", "#EXTM3U\n#EXT-X-VERSION:3\na.ts\n"), nil, "it sends HLS, which conch does not play"},
		{"HLS of another shape", sends("application/vnd.apple.mpegurl",
			"\ufeff\n#EXTM3U\n# "+strings.Repeat("x", 600)+"\nhttp://x\n#EXT-X-ENDLIST\n"), nil,
			"it sends HLS, which conch does not play"},
		{"DASH", sends("application/dash+xml", "<?xml version='1.0'?><MPD xmlns='urn:mpeg:dash:schema:mpd:2011'/>"), nil,
			"it sends DASH, which conch does not play"},
		{"a list of nothing", sends("x", "[playlist]\nNumberOfEntries=0\n"), nil, "its list names no stream"},
		{"a list of a file", sends("x", "#EXTM3U\nfile:///etc/passwd\n"), nil, "it sends to what is no address of the web"},
		{"a list of which one may come back", sends("x", "#EXTM3U\nhttp://127.0.0.1:1/\nfile:///etc/passwd\n"), nil, "nobody answers at its server"},
		{"a list of itself", serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "#EXTM3U\nhttp://%s/\n", r.Host) }), nil,
			"it sends from one address to the next"},
		{"a way without an end", serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x"+r.URL.Path, http.StatusFound) }), nil,
			"it sends from one address to the next"},
		{"a certificate that nobody knows", secure.URL, nil, "its certificate does not fit"},
		{"a certificate for another name", strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), roots, "its certificate does not fit"},
		{"a certificate that has expired", past, ofPast, "its certificate has expired; its server has to renew it"},
		{"a certificate of tomorrow", future, ofFuture, "its certificate is not valid yet; is the clock of this device right?"},
		{"an expired one that nobody knows", past, nil, "its certificate has expired"},
		{"a certificate that fits", secure.URL, roots, "its server does not know that stream (404)"},
		{"HTTP in place of TLS", strings.Replace(serve(http.NotFound), "http:", "https:", 1), nil, "its server does not speak TLS"},
		{"no TLS", strings.Replace(closed, "http:", "https:", 1), nil, ""},
		{"heads without an end", raw(t, func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}), nil, "its server does not speak HTTP as others do"},
		{"no HTTP", raw(t, func(c net.Conn) { fmt.Fprint(c, "220 mail.example ESMTP\r\n") }), nil, "its server does not speak HTTP as others do"},
		{"a server that says nothing", raw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }), nil, "its server does not answer"},
		{"a stream that brings nothing", raw(t, func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
			_, _ = c.Read(make([]byte, 1))
		}), nil, "its server does not answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := open(t, row.address, row.roots)
			if err == nil {
				s.Close()
				t.Fatal("it plays")
			}
			t.Log(err)
			if said := skills.Words(err); !strings.HasPrefix(said, "One cannot be played: "+row.says) || strings.ContainsAny(said, `/":`+"\n") &&
				strings.Count(said, ":") != 1 || len(said) > 120 || strings.Contains(err.Error(), "http://") {
				t.Errorf("said is %q, of %v; want %q", said, err, row.says)
			}
			if spoken := (*skills.SpokenError)(nil); !errors.As(err, &spoken) || spoken.Final == slices.Contains(comesBack, row.name) {
				t.Errorf("%v is final: %t", err, spoken.Final)
			}
		})
	}
}

// Close ends a Next that waits, and a station that brings nothing more fails by itself.
func TestAStreamThatStallsEnds(t *testing.T) {
	b := song(t, "mp3", 2)
	s, err := open(t, raw(t, func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = c.Write(b)
		_, _ = c.Read(make([]byte, 1))
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Next(); err != nil {
				failed <- err
				return
			}
		}
	}()
	s.b.stalled.Reset(0) // as ten seconds later
	if err := <-failed; !errors.Is(err, errStalled) {
		t.Error(err)
	}
	s.Close()
}

func FuzzEntries(f *testing.F) {
	f.Add("#EXTM3U\nhttp://a/b\n")
	f.Add("[playlist]\nFile1=http://a\n")
	f.Add("<asx><entry><ref href=http://a?b&c></asx>")
	f.Fuzz(func(t *testing.T, list string) {
		for _, listed := range []bool{false, true} {
			all, err := entries([]byte(list), listed)
			for _, e := range all {
				if strings.TrimSpace(e) == "" || err != nil {
					t.Errorf("%q, %v of %q", e, err, list)
				}
			}
		}
	})
}

func FuzzIcy(f *testing.F) {
	f.Add([]byte("abc\x01................def"), 3)
	f.Fuzz(func(t *testing.T, b []byte, every int) {
		r := &icyReader{r: bufio.NewReader(bytes.NewReader(b)), every: max(1, every), left: max(1, every)}
		n, _ := io.Copy(io.Discard, r)
		if n > int64(len(b)) {
			t.Errorf("%d of %d", n, len(b))
		}
	})
}
