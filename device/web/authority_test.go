package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func withAuthority(o *DoorOptions) { o.Web.Authority = true }

// made is an authority for a host, and its directory.
func made(t *testing.T, names ...string) (*authority, string) {
	t.Helper()
	dir := t.TempDir()
	a, err := openAuthority(dir, names, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a, dir
}

// forged is a certificate that whoever has the key of the authority makes for whatever it likes.
func forged(t *testing.T, a *authority, change func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial(), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(c)
	leaf, err := signed(c, a.middle, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw, a.middle.Raw}, PrivateKey: key, Leaf: leaf}
}

func pemFile(t *testing.T, name string, ders ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var data []byte
	for _, der := range ders {
		data = append(data, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// need skips, aloud, where a program is not there.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("no %s on this machine: apt-get install %s", program, program)
	}
}

// What the authority signs for anything but this house is refused, by Go and by OpenSSL: also where only the intermediate says so.
func TestTheAuthoritySpeaksForTheHouseAlone(t *testing.T) {
	a, _ := made(t, "kitchen", "kitchen.local")
	pool, middles := x509.NewCertPool(), x509.NewCertPool()
	pool.AddCert(a.root)
	middles.AddCert(a.middle)
	root, middle := pemFile(t, "root.pem", a.root.Raw), pemFile(t, "middle.pem", a.middle.Raw)
	// Some programs do not look at what a root says of itself: to them it is a key, and the intermediate has to be enough.
	bare := &x509.Certificate{
		SerialNumber: serial(), Subject: a.root.Subject, NotBefore: rootFrom, NotAfter: a.root.NotAfter, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		SubjectKeyId: a.middle.AuthorityKeyId,
	}
	_, missing := exec.LookPath("openssl")
	for name, c := range map[string]struct {
		host   string
		change func(*x509.Certificate)
		ok     bool
	}{
		"kitchen.local":      {"kitchen.local", func(c *x509.Certificate) { c.DNSNames = []string{"kitchen.local"} }, true},
		"192.168.7.5":        {"192.168.7.5", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 168, 7, 5).To4()} }, true},
		"fd00::5":            {"fd00::5", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP("fd00::5")} }, true},
		"127.0.0.1":          {"127.0.0.1", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1).To4()} }, true},
		"bank.example":       {"bank.example", func(c *x509.Certificate) { c.DNSNames = []string{"bank.example"} }, false},
		"bank, and kitchen":  {"bank.example", func(c *x509.Certificate) { c.DNSNames = []string{"kitchen.local", "bank.example"} }, false},
		"*":                  {"a.bank.example", func(c *x509.Certificate) { c.DNSNames = []string{"*.bank.example"} }, false},
		"hall.local":         {"hall.local", func(c *x509.Certificate) { c.DNSNames = []string{"hall.local"} }, false},
		"xkitchen.local":     {"xkitchen.local", func(c *x509.Certificate) { c.DNSNames = []string{"xkitchen.local"} }, false},
		"kitchen":            {"kitchen", func(c *x509.Certificate) { c.DNSNames = []string{"kitchen"} }, false},
		"a public address":   {"8.8.8.8", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(8, 8, 8, 8).To4()} }, false},
		"a public one of v6": {"2001:db8::1", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP("2001:db8::1")} }, false},
		"an authority below": {"kitchen.local", func(c *x509.Certificate) { c.DNSNames, c.IsCA = []string{"kitchen.local"}, true }, true}, // it signs nothing: pathlen
		"somebody's mail":    {"", func(c *x509.Certificate) { c.EmailAddresses = []string{"ada@bank.example"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			leaf := forged(t, a, c.change)
			_, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: c.host, Roots: pool, Intermediates: middles})
			if (err == nil) != c.ok {
				t.Errorf("Go: %v", err)
			}
			if missing != nil {
				t.Skip("no openssl on this machine: apt-get install openssl")
			}
			args := []string{"verify", "-CAfile", root, "-untrusted", middle, "-purpose", "sslserver"}
			switch ip := net.ParseIP(c.host); {
			case ip != nil:
				args = append(args, "-verify_ip", c.host)
			case c.host != "":
				args = append(args, "-verify_hostname", c.host)
			}
			out, err := exec.Command("openssl", append(args, pemFile(t, "leaf.pem", leaf.Certificate[0]))...).CombinedOutput()
			if (err == nil) != c.ok {
				t.Errorf("openssl: %v %s", err, out)
			}
			if !c.ok && !strings.Contains(string(out), "permitted subtree violation") {
				t.Errorf("it is refused for another reason: %s", out)
			}
		})
	}
	// A root without a constraint over the same key: the real one was thrown away, so one takes its place, and signs the same intermediate.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	free, err := signed(bare, bare, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := signed(a.middle, free, a.middle.PublicKey.(*ecdsa.PublicKey), key)
	if err != nil {
		t.Fatal(err)
	}
	pool, middles = x509.NewCertPool(), x509.NewCertPool()
	pool.AddCert(free)
	middles.AddCert(again)
	bank := forged(t, a, func(c *x509.Certificate) { c.DNSNames = []string{"bank.example"} })
	if _, err := bank.Leaf.Verify(x509.VerifyOptions{DNSName: "bank.example", Roots: pool, Intermediates: middles}); err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("by the intermediate alone: %v", err)
	}
}

// A constraint allows what is below a name, and bare names are domains of the public, too: a host called dev does not sign for all of .dev.
func TestABareNameIsNoDomain(t *testing.T) {
	for _, names := range [][]string{{"dev"}, {"kitchen"}, {"com"}, {"local"}, {".local"}, {"*.local"}, {"a..local"}, {"co.uk"}, {"host.example.com"}, {}} {
		a, _ := made(t, names...)
		if got := a.root.PermittedDNSDomains; !slices.Equal(got, []string{"conch.invalid"}) || !a.root.PermittedDNSDomainsCritical {
			t.Errorf("%q: %q", names, got)
		}
		pool, middles := x509.NewCertPool(), x509.NewCertPool()
		pool.AddCert(a.root)
		middles.AddCert(a.middle)
		leaf := forged(t, a, func(c *x509.Certificate) { c.DNSNames = []string{"bank.dev"} })
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: "bank.dev", Roots: pool, Intermediates: middles}); err == nil {
			t.Errorf("%q signs for bank.dev", names)
		}
	}
	a, _ := made(t, "Dev", "DEV.local")
	if got := a.root.PermittedDNSDomains; !slices.Equal(got, []string{"dev.local"}) {
		t.Errorf("%q", got)
	}
}

// It is made once, and read only by who has made it; what is broken or seen by others is not replaced without a word.
func TestTheAuthorityIsKept(t *testing.T) {
	a, dir := made(t, "kitchen.local")
	path := filepath.Join(dir, authorityFile)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	data, _ := os.ReadFile(path)
	if n := strings.Count(string(data), "PRIVATE KEY-----\n"); n != 2 {
		t.Errorf("%d lines of keys; the root's is to be nowhere", n)
	}
	if again, err := openAuthority(dir, []string{"hall.local"}, time.Now()); err != nil || !again.root.Equal(a.root) || again.key.Equal(&a.root.PublicKey) {
		t.Errorf("again: %v", err)
	}
	if a.root.CheckSignatureFrom(a.root) != nil || a.middle.CheckSignatureFrom(a.root) != nil || a.key.PublicKey.Equal(a.root.PublicKey) {
		t.Error("the key that is kept is the root's")
	}
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"others may read it": {func() { _ = os.Chmod(path, 0o640) }, "others may read it (mode 0640)"},
		"half of it":         {func() { _ = os.WriteFile(path, data[:len(data)/2], 0o600) }, "remove it"},
		"garbage":            {func() { _ = os.WriteFile(path, []byte("x"), 0o600) }, "not whole (remove it"},
		"a folder":           {func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) }, "is a directory"},
	} {
		c.change()
		if _, err := openAuthority(dir, nil, time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = os.RemoveAll(path)
		_ = os.WriteFile(path, data, 0o600)
		_ = os.Chmod(path, 0o600)
	}
	if _, err := openAuthority(dir, nil, time.Now().AddDate(rootYears, 0, 1)); err == nil || !strings.Contains(err.Error(), "it was valid until") {
		t.Errorf("after ten years: %v", err)
	}
	if _, err := openAuthority("", nil, time.Now()); err == nil || !strings.Contains(err.Error(), "state.dir") {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := openAuthority("/dev/null/x", nil, time.Now()); err == nil || !strings.Contains(err.Error(), "state.dir") {
		t.Errorf("where nothing is written: %v", err)
	}
	for _, early := range []time.Time{time.Unix(0, 0), rootFrom} { // a Pi without a clock
		b, err := openAuthority(t.TempDir(), nil, early)
		if err != nil || b.root.NotAfter.Before(written.AddDate(rootYears-1, 0, 0)) {
			t.Errorf("%v: %v %v", early, b, err)
		}
	}
}

// Its certificates are renewed long before they are over, and where the device has another address; a clock that is set is no end.
func TestItsCertificatesAreRenewed(t *testing.T) {
	a, _ := made(t, "kitchen.local")
	now, at := time.Now(), netip.MustParseAddr(here)
	get := func(at netip.Addr, now time.Time, names ...string) *x509.Certificate {
		t.Helper()
		c, err := a.leaf(at, names, now)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf
	}
	first := get(at, now, "kitchen.local", "kitchen", "hall.local")
	if !slices.Equal(first.DNSNames, []string{"kitchen.local"}) || first.VerifyHostname(here) != nil || first.VerifyHostname("127.0.0.1") != nil {
		t.Errorf("%v %v", first.DNSNames, first.IPAddresses)
	}
	for _, ip := range first.IPAddresses {
		if a, _ := netip.AddrFromSlice(ip); !ofAHouse(a) {
			t.Errorf("%v", ip)
		}
	}
	if life := first.NotAfter.Sub(first.NotBefore); life > 397*24*time.Hour || life < 80*24*time.Hour {
		t.Errorf("%v", life)
	}
	for name, c := range map[string]struct {
		at    netip.Addr
		now   time.Time
		other bool
	}{
		"the same":           {at, now.Add(59 * 24 * time.Hour), false},
		"no address":         {netip.Addr{}, now, false},
		"one of the public":  {netip.MustParseAddr("8.8.8.8"), now, false},
		"two months later":   {at, now.Add(61 * 24 * time.Hour), true},
		"a clock set back":   {at, now.Add(-48 * time.Hour), true},
		"another address":    {netip.MustParseAddr("10.9.8.7"), now, true},
		"another one of IP6": {netip.MustParseAddr("fd00::9"), now, true},
	} {
		a.now, a.made = nil, time.Time{}
		before := get(at, now)
		after := get(c.at, c.now)
		if before.Equal(after) == c.other {
			t.Errorf("%s: another one: %v", name, !before.Equal(after))
		}
		if c.now.Before(after.NotBefore) || c.now.After(after.NotAfter) {
			t.Errorf("%s: %v to %v", name, after.NotBefore, after.NotAfter)
		}
	}
	if late := get(at, a.middle.NotAfter.Add(-time.Hour)); late.NotAfter.After(a.middle.NotAfter) {
		t.Error("it outlives its authority")
	}
	if _, err := a.leaf(at, nil, a.middle.NotAfter.Add(time.Hour)); err == nil {
		t.Error("made by an authority that is over")
	}
}

// own writes a certificate of a user's own and its key.
func own(t *testing.T, dir string, change func(*x509.Certificate)) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial(), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), DNSNames: []string{"conch.home.example", "*.wild.example"},
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	change(c)
	leaf, err := signed(c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), 0o644) != nil ||
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600) != nil {
		t.Fatal("cannot write")
	}
	return cert, key
}

func same(*x509.Certificate) {}

// A certificate of the user's own that cannot be used closes the network, and says what to do; the page of this machine stays. Mended, it is
// taken without a restart.
func TestACertificateThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	cert, key := own(t, dir, same)
	s := newScene(t, func(o *DoorOptions) { o.Web.Cert, o.Web.Key = cert, key })
	s.host = "conch.home.example"
	handshakes := func() (*x509.Certificate, error) {
		c, err := tls.Dial("tcp", s.at, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0], nil
	}
	first, err := handshakes()
	if err != nil || s.Check() != nil || len(s.Pages()) != 2 || s.Pages()[1] != "https://conch.home.example:"+s.port+"/" {
		t.Fatalf("%v, %v, %v", err, s.Check(), s.Pages())
	}
	otherDir := t.TempDir()
	otherCert, _ := own(t, otherDir, same)
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"of another key": {func() { data, _ := os.ReadFile(otherCert); _ = os.WriteFile(cert, data, 0o644) }, "do not fit together"},
		"over": {func() {
			own(t, dir, func(c *x509.Certificate) {
				c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour)
			})
		}, "renew it"},
		"not yet":                    {func() { own(t, dir, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }) }, "set the clock"},
		"gone":                       {func() { _ = os.Remove(cert) }, "web.cert: " + cert},
		"no key":                     {func() { _ = os.Remove(key) }, "web.key: " + key},
		"garbage":                    {func() { _ = os.WriteFile(cert, []byte("x"), 0o644) }, "do not fit together"},
		"a key that everybody reads": {func() { _ = os.Chmod(key, 0o644) }, "chmod 600"},
		"huge":                       {func() { _ = os.WriteFile(cert, make([]byte, maxPEM+1), 0o644) }, "more than the"},
	} {
		c.change()
		err := s.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
		if _, err := handshakes(); err == nil {
			t.Errorf("%s: it encrypts", name)
		}
		if len(s.Pages()) != 1 {
			t.Errorf("%s: %v", name, s.Pages())
		}
		if l, err := s.Link(false); err != nil || l.Reach != ReachMachine || !strings.HasPrefix(l.URL, "http://127.0.0.1:") {
			t.Errorf("%s: %+v %v", name, l, err)
		}
		_ = os.Remove(key)
		own(t, dir, same)
		now, err := handshakes()
		if err != nil || s.Check() != nil {
			t.Errorf("%s, mended: %v %v", name, err, s.Check())
		} else if now.Equal(first) {
			t.Errorf("%s: the old one", name)
		}
	}
	own(t, dir, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })
	if s.Check() == nil {
		t.Error("an hour before it is valid")
	}
	if s.pass(2 * time.Hour); s.Check() != nil {
		t.Errorf("once it is: %v", s.Check())
	}
	s.pass(72 * time.Hour)
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "valid until") {
		t.Errorf("three days later: %v", err)
	}
	half := newScene(t, func(o *DoorOptions) { o.Web.Cert = cert })
	if err := half.Check(); err == nil || !strings.Contains(err.Error(), "belong together") {
		t.Errorf("without a key: %v", err)
	}
	plain := half.browser()
	plain.base = "http://" + net.JoinHostPort(here, half.port)
	if a := plain.do("GET", "/", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "on the device itself only") {
		t.Errorf("over the network: %d %s", a.status, a.body)
	}
}

// A certificate's names are names of the page, a wildcard's as well.
func TestNamesOfACertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := own(t, dir, same)
	s := newScene(t, func(o *DoorOptions) { o.Web.Cert, o.Web.Key = cert, key })
	b := s.browser()
	b.c.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	for host, want := range map[string]int{"conch.home.example": 403, "a.wild.example": 403, "wild.example": 421, "home.example": 421, "a.b.wild.example": 421} {
		if a := b.do("GET", "/", "", "Host", host+":"+s.port); a.status != want {
			t.Errorf("%s: %d; want %d", host, a.status, want)
		}
	}
}

// Foreign clients: what curl and OpenSSL see of it, with the root that the page offers.
func TestForeignClients(t *testing.T) {
	need(t, "curl")
	need(t, "openssl")
	s := newScene(t, withAuthority)
	plain := s.browser()
	plain.base = "http://" + net.JoinHostPort(here, s.port)
	page := plain.do("GET", "/authority", "")
	root := s.certs.authority()
	if page.status != http.StatusOK || !strings.Contains(page.body, fingerprint(root)) || !strings.Contains(page.body, "kitchen.local") || !strings.Contains(page.body, "192.168.0.0/16") {
		t.Errorf("%d %s", page.status, page.body)
	}
	if l, err := s.Link(false); err != nil || l.Authority != fingerprint(root) || l.Explained != plain.base+"/authority" || l.Reach != ReachEncrypted {
		t.Errorf("%+v %v", l, err)
	}
	got := plain.do("GET", "/authority.crt", "")
	if got.header.Get("Content-Type") != "application/x-x509-ca-cert" || got.body != string(root.Raw) {
		t.Errorf("%v", got.header)
	}
	ca := pemFile(t, "root.pem", []byte(got.body))
	curl := func(args ...string) string {
		args = append([]string{"--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--cacert", ca, "--connect-to", "::" + s.at, "--write-out", "\n%{http_code} %{ssl_verify_result} %{redirect_url}"}, args...)
		out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
		if err != nil {
			return err.Error() + ": " + string(out)
		}
		return string(out)
	}
	at := "https://" + here + ":" + s.port
	for _, host := range []string{at, "https://kitchen.local:" + s.port} {
		if out := curl(host + "/"); !strings.HasSuffix(out, "\n403 0 ") {
			t.Errorf("%s: %s", host, out)
		}
	}
	if out := curl("https://kitchen:" + s.port + "/"); !strings.Contains(out, "exit status 60") {
		t.Errorf("a bare name: %s", out)
	}
	jar := filepath.Join(t.TempDir(), "jar")
	if out := curl("--cookie-jar", jar, "--data", "", "-H", "Origin: "+at, at+s.path(false)); !strings.HasSuffix(out, "\n303 0 "+at+"/") {
		t.Errorf("login: %s", out)
	}
	if out := curl("--cookie", jar, at+"/"); !strings.Contains(out, `"Rights":"all"`) || !strings.Contains(out, `"Secure":true`) || !strings.Contains(out, `"Talk":"yes"`) {
		t.Errorf("page: %s", out)
	}
	if out := curl("http://" + here + ":" + s.port + "/x?y=1"); !strings.HasSuffix(out, "\n307 0 "+at+"/x?y=1") {
		t.Errorf("not encrypted: %s", out)
	}
	if out := curl("--data", "x", "-H", "Origin: http://"+here+":"+s.port, "http://"+here+":"+s.port+"/api/change"); !strings.HasSuffix(out, "\n426 0 ") {
		t.Errorf("not encrypted: %s", out)
	}
	if c, err := tls.Dial("tcp", s.at, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	for _, args := range [][]string{{"-tls1_2"}, {"-tls1_3"}} {
		args = append([]string{"s_client", "-connect", s.at, "-CAfile", ca, "-verify_ip", here, "-verify_return_error", "-brief", "-ign_eof"}, args...)
		cmd := exec.CommandContext(t.Context(), "openssl", args...)
		cmd.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: " + here + ":" + s.port + "\r\nConnection: close\r\n\r\n")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Verification: OK") || !strings.Contains(string(out), "HTTP/1.1 403 Forbidden") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}
