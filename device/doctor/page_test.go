package doctor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"conch/device/config"
)

// What would keep the page closed is found while nothing runs: its port, its certificate and key, its authority.
func TestDoctorOfThePage(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	file := func(name string, mode os.FileMode, blocks ...*pem.Block) string {
		path := filepath.Join(dir, name)
		var text []byte
		for _, b := range blocks {
			text = append(text, pem.EncodeToMemory(b)...)
		}
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair := func(name string, until time.Time) (cert, key string) {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0), NotAfter: until, DNSNames: []string{"kitchen.local"}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		return file(name+".pem", 0o600, &pem.Block{Type: "CERTIFICATE", Bytes: der}), file(name+".key", 0o600, &pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	}
	cert, key := pair("good", now.AddDate(0, 1, 0))
	old, oldKey := pair("old", now.AddDate(0, -1, 0))
	wide := filepath.Join(dir, "wide.key")
	if text, err := os.ReadFile(key); err != nil || os.WriteFile(wide, text, 0o600) != nil || os.Chmod(wide, 0o644) != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.MkdirAll(filepath.Join(broken, "web"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "web/authority.pem"), []byte("none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	empty := Real()
	empty.Root, empty.UID = t.TempDir(), 1000 // nothing can be seen of who has a port
	stranger := Real()
	stranger.UID, stranger.Owner = 1000, func(fs.FileInfo) (int, int) { return 0, 0 }
	for name, c := range map[string]struct {
		m               *Machine
		web             config.Web
		state           string
		level           Level
		text, cause, do string
	}{
		"in order":                {nil, config.Web{Listen: "127.0.0.1:0"}, dir, OK, "can be opened at 127.0.0.1:0, not encrypted", "", ""},
		"a good certificate":      {nil, config.Web{Listen: "127.0.0.1:0", Cert: cert, Key: key}, dir, OK, "encrypted", "", ""},
		"an authority to be made": {nil, config.Web{Listen: "127.0.0.1:0", Authority: true}, dir, OK, "encrypted", "", ""},
		"off":                     {nil, config.Web{}, dir, OK, "off", "", ""},
		"taken":                   {nil, config.Web{Listen: taken.Addr().String()}, dir, Bad, taken.Addr().String(), own(t) + " has the port", "another port"},
		"taken, nobody knows by":  {empty, config.Web{Listen: taken.Addr().String()}, dir, Note, "who listens at " + taken.Addr().String(), "", "sudo conch doctor"},
		"an address of nobody":    {nil, config.Web{Listen: "192.0.2.1:7485"}, dir, Bad, "no such address", "without its page", "web.listen"},
		"a key of another": {nil, config.Web{Listen: "127.0.0.1:0", Cert: cert, Key: oldKey}, dir, Bad, "do not fit together",
			"on this machine alone", "mend it"},
		"a certificate that ended": {nil, config.Web{Listen: "127.0.0.1:0", Cert: old, Key: oldKey}, dir, Bad, "it was valid until 2026-10-01", "", "mend it"},
		"a key for everybody":      {nil, config.Web{Listen: "127.0.0.1:0", Cert: cert, Key: wide}, dir, Bad, "chmod 600", "", "mend it"},
		"a key that is not there":  {nil, config.Web{Listen: "127.0.0.1:0", Cert: cert, Key: "/nowhere"}, dir, Bad, "web.key: /nowhere", "", "mend it"},
		"a key of somebody else's": {stranger, config.Web{Listen: "127.0.0.1:0", Cert: cert, Key: key}, dir, Bad, "web.cert: " + cert, "somebody else",
			"web.cert"},
		"a broken authority":  {nil, config.Web{Listen: "127.0.0.1:0", Authority: true}, broken, Bad, "it is not whole", "", "mend it"},
		"nowhere to keep one": {nil, config.Web{Listen: "127.0.0.1:0", Authority: true}, "", Bad, "set state.dir", "", "mend it"},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.m
			if m == nil {
				m = Real()
			}
			m.Now = func() time.Time { return now }
			d := Diagnosis{Findings: checkPage(t.Context(), m, &Subject{Web: c.web, StateDir: c.state})}
			for i := range d.Findings {
				d.Findings[i].Check = "page"
			}
			says(t, d, "page", c.level, c.text, c.cause, c.do)
			troubles(t, d)
			if len(d.Findings) != 1 && c.m != stranger {
				t.Errorf("%+v", d.Findings)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "web")); err == nil {
		t.Error("an authority was made by who only looks")
	}
	s := &Subject{Web: config.Web{Listen: taken.Addr().String()}, Running: func(context.Context) (Running, error) { return Running{}, nil }}
	if f := checkPage(t.Context(), Real(), s); len(f) != 1 || f[0].Level != OK {
		t.Errorf("one that runs has its own port: %s", fmt.Sprint(f))
	}
}
