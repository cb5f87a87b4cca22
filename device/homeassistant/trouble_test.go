package homeassistant

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"conch/device/condition"
	"conch/device/config"
	"conch/mqtt/mqtttest"
)

// papers writes an authority, and what it has issued for a server, into files.
func papers(t *testing.T, ip net.IP, until time.Time) (ca, cert, key string) {
	t.Helper()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "house"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, caKey.Public(), caKey)
	must(err)
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "broker"}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until, IPAddresses: []net.IP{ip},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, serverKey.Public(), caKey)
	must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(serverKey)
	must(err)
	return write("ca.pem", "CERTIFICATE", rootDER), write("server.pem", "CERTIFICATE", der), write("server.key", "PRIVATE KEY", secret)
}

// What keeps the device from its broker is said, and what to do; mended, it is there without a restart.
func TestTroubleWithTheBroker(t *testing.T) {
	here, soon := net.IPv4(127, 0, 0, 1), time.Now().Add(time.Hour)
	secret := filepath.Join(t.TempDir(), "password")
	password := func(s string) {
		if err := os.WriteFile(secret, []byte(s+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	password("wrong")
	ca, cert, key := papers(t, here, soon)
	other, _, _ := papers(t, here, soon)
	_, elsewhere, elsewhereKey := papers(t, net.IPv4(10, 0, 0, 1), soon)
	oldCA, old, oldKey := papers(t, here, time.Now().Add(-time.Hour))

	locked := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"ha": "right"}})
	closed := mqtttest.Start(t, mqtttest.Options{ACL: "topic readwrite other/#\n"})
	secure := mqtttest.Start(t, mqtttest.Options{CAFile: ca, CertFile: cert, KeyFile: key})
	mutual := mqtttest.Start(t, mqtttest.Options{CAFile: ca, CertFile: cert, KeyFile: key, ClientCert: true})
	wrongHost := mqtttest.Start(t, mqtttest.Options{CAFile: ca, CertFile: elsewhere, KeyFile: elsewhereKey})
	expired := mqtttest.Start(t, mqtttest.Options{CAFile: oldCA, CertFile: old, KeyFile: oldKey})
	nothing, err := mqtttest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = web.Close() })
	go func() {
		for {
			c, err := web.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = c.Close()
		}
	}()
	for name, c := range map[string]struct {
		config   config.HomeAssistant
		text, do string
	}{
		"nothing listens":     {config.HomeAssistant{Broker: "mqtt://127.0.0.1:" + nothing}, "cannot be reached", "does the broker run"},
		"no such host":        {config.HomeAssistant{Broker: "mqtt://nowhere.invalid:1883"}, "cannot be reached", "is the name in homeassistant.broker right"},
		"no login":            {config.HomeAssistant{Broker: locked.URL()}, "refuses this device", "homeassistant.password_file"},
		"a wrong password":    {config.HomeAssistant{Broker: locked.URL(), User: "ha", PasswordFile: secret}, "refuses this device", "homeassistant.password_file"},
		"no password file":    {config.HomeAssistant{Broker: locked.URL(), User: "ha", PasswordFile: "/nowhere"}, "/nowhere", "mend homeassistant.broker"},
		"may not write":       {config.HomeAssistant{Broker: closed.URL()}, "does not come back", "access list"},
		"another authority":   {config.HomeAssistant{Broker: secure.URL(), CAFile: other}, "no certificate that this device trusts", "homeassistant.ca_file"},
		"no authority":        {config.HomeAssistant{Broker: secure.URL()}, "no certificate that this device trusts", "homeassistant.ca_file"},
		"no file of one":      {config.HomeAssistant{Broker: secure.URL(), CAFile: secret}, "no certificate is in", "mend homeassistant.broker"},
		"for another host":    {config.HomeAssistant{Broker: wrongHost.URL()}, "no certificate that this device trusts", ""},
		"expired":             {config.HomeAssistant{Broker: expired.URL(), CAFile: oldCA}, "no certificate that this device trusts", "is the clock right"},
		"wants a certificate": {config.HomeAssistant{Broker: mutual.URL(), CAFile: ca}, "", "wants a certificate of this device"},
		"TLS at a plain port": {config.HomeAssistant{Broker: "mqtts://" + web.Addr().String()}, "does not answer like an MQTT broker", "does not speak TLS"},
		"plain at a TLS port": {config.HomeAssistant{Broker: "mqtt://" + secure.Addr()}, "does not answer like an MQTT broker", "mqtts://"},
		"a web server":        {config.HomeAssistant{Broker: "mqtt://" + web.Addr().String()}, "", ""},
		"no URL":              {config.HomeAssistant{Broker: "house:1883"}, "homeassistant", "mend homeassistant.broker"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFake()
			c.config.Discovery, c.config.Prefix = true, "homeassistant"
			d.o.Config = c.config
			stop := runs(t, d)
			w := &onlooker{t: t}
			w.until("the condition", func() bool { return d.o.Conditions.Holds(condition.HomeUnseen) })
			got := d.o.Conditions.List()[0]
			stop()
			t.Logf("%s / %s", got.Text, got.Do)
			if !strings.Contains(got.Text, c.text) || !strings.Contains(got.Do, c.do) {
				t.Errorf("%q, %q; want %q, %q", got.Text, got.Do, c.text, c.do)
			}
			if strings.Contains(got.Text+got.Do, "wrong") || got.Do == "" || strings.HasSuffix(got.Text, ": ") {
				t.Errorf("%q, %q", got.Text, got.Do)
			}
		})
	}
	t.Run("mended", func(t *testing.T) {
		d := newFake()
		d.o.Config.Broker, d.o.Config.User, d.o.Config.PasswordFile = locked.URL(), "ha", secret
		runs(t, d)
		w := watch(t, locked.Addr(), "-u", "ha", "-P", "right")
		w.until("the condition", func() bool { return d.o.Conditions.Holds(condition.HomeUnseen) })
		password("right")
		w.until("its end", func() bool { return !d.o.Conditions.Holds(condition.HomeUnseen) })
		w.shows(baseTopic+"/avail", "online")
	})
	t.Run("encrypted", func(t *testing.T) {
		d := newFake()
		d.o.Config.Broker, d.o.Config.CAFile = secure.URL(), ca
		runs(t, d)
		w := &onlooker{t: t}
		b := func() bool { return len(d.o.Conditions.List()) == 0 }
		w.until("no condition", b)
	})
	t.Run("by a web socket", func(t *testing.T) { // Debian's Mosquitto has none on an address
		port, err := mqtttest.FreePort("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		server := mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
		if err := errors.Join(server.AddHook(&openHouse{}, nil),
			server.AddListener(listeners.NewWebsocket(listeners.Config{ID: "ws", Address: "127.0.0.1:" + port})), server.Serve()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		there := make(chan string, 8)
		if err := server.Subscribe(baseTopic+"/avail", 1, func(_ *mochi.Client, _ packets.Subscription, p packets.Packet) { there <- string(p.Payload) }); err != nil {
			t.Fatal(err)
		}
		d := newFake()
		d.o.Config.Broker = "ws://127.0.0.1:" + port
		stop := runs(t, d)
		if got := mqtttest.Await(t, there, "the device"); got != "online" {
			t.Error(got)
		}
		stop()
		if got := mqtttest.Await(t, there, "its goodbye"); got != "offline" {
			t.Error(got)
		}
	})
}

// openHouse lets everybody in.
type openHouse struct{ mochi.HookBase }

func (*openHouse) Provides(b byte) bool {
	return b == mochi.OnConnectAuthenticate || b == mochi.OnACLCheck
}
func (*openHouse) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }
func (*openHouse) OnACLCheck(*mochi.Client, string, bool) bool              { return true }

func TestExplain(t *testing.T) {
	text, do := explain("mqtt://house", errors.New("it broke"), true)
	if !strings.Contains(text, "it broke") || !strings.Contains(do, "it was there before") {
		t.Errorf("%q, %q", text, do)
	}
}
