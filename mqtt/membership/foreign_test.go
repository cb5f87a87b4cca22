package membership

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// papers are a client's files, for programs that nobody here wrote.
type papers struct{ ca, cert, key string }

func writePEM(t testing.TB, path, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func keyPEM(t testing.TB, dir string, id mqtt.Identity) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(id.PrivateKey())
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, filepath.Join(dir, "client.key"), "PRIVATE KEY", der)
}

// papers are what the device has.
func (d *device) papers() papers {
	d.t.Helper()
	c, dir := d.creds.Load(), d.t.TempDir()
	return papers{
		ca:   writePEM(d.t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", c.ca.Raw),
		cert: writePEM(d.t, filepath.Join(dir, "client.pem"), "CERTIFICATE", c.leaf.Raw),
		key:  keyPEM(d.t, dir, d.id),
	}
}

// program runs a program of others; it ends within the test's patience.
func program(t testing.TB, stdin []byte, name string, args ...string) (string, error) {
	t.Helper()
	path, err := mqtttest.Find(name)
	if err != nil {
		t.Skipf("%s is missing; on Debian: apt-get install mosquitto-clients openssl", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), mqtttest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("%s %s did not end: %s", name, strings.Join(args, " "), out)
	}
	return string(out), err
}

func must(t testing.TB, out string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// expiredFor is a certificate that was valid until the day before its authority was made. openssl makes none since 3.5.
func expiredFor(t testing.TB, id mqtt.Identity, caCert, caKey, name string) papers {
	t.Helper()
	read := func(file string) []byte {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		if block == nil {
			t.Fatalf("%s holds no PEM", file)
		}
		return block.Bytes
	}
	ca, err := x509.ParseCertificate(read(caCert))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(read(caKey))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: ca.NotBefore.Add(-48 * time.Hour), NotAfter: ca.NotBefore.Add(-24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, id.PublicKey(), key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return papers{ca: caCert, key: keyPEM(t, dir, id), cert: writePEM(t, filepath.Join(dir, "expired.pem"), "CERTIFICATE", der)}
}

// signedBy has openssl make a certificate for a device's key, by any authority, valid for some days from now.
func signedBy(t testing.TB, id mqtt.Identity, caCert, caKey, name, days string) papers {
	t.Helper()
	dir := t.TempDir()
	p := papers{ca: caCert, key: keyPEM(t, dir, id), cert: filepath.Join(dir, "made.pem")}
	csr := filepath.Join(dir, "made.csr")
	out, err := program(t, nil, "openssl", "req", "-new", "-key", p.key, "-subj", "/CN="+name, "-out", csr)
	must(t, out, err)
	ext := filepath.Join(dir, "ext")
	if err := os.WriteFile(ext, []byte("extendedKeyUsage=clientAuth,serverAuth\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = program(t, nil, "openssl", "x509", "-req", "-in", csr, "-CA", caCert, "-CAkey", caKey, "-CAcreateserial", "-days", days, "-extfile", ext, "-out", p.cert)
	must(t, out, err)
	return p
}

// foreignCA is an authority that openssl made.
func foreignCA(t testing.TB) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key")
	out, err := program(t, nil, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
		"-keyout", key, "-out", cert, "-days", "30", "-subj", "/CN=conch room")
	must(t, out, err)
	return cert, key
}

func (p papers) args(addr, client string) []string {
	host, port, _ := net.SplitHostPort(addr)
	a := []string{"-h", host, "-p", port, "-V", "311", "-i", client, "--tls-version", "tlsv1.3", "--insecure", "--cafile", p.ca}
	if p.cert != "" {
		a = append(a, "--cert", p.cert, "--key", p.key)
	}
	return a
}

// publish has mosquitto_pub say something.
func (p papers) publish(t testing.TB, addr, client, topic string, payload []byte) error {
	t.Helper()
	out, err := program(t, payload, "mosquitto_pub", append(p.args(addr, client), "-t", topic, "-q", "1", "-s")...)
	if err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(out)))
	}
	return nil
}

// subscribe has mosquitto_sub listen for one message, or two seconds. It is let in if it is not refused.
func (p papers) subscribe(t testing.TB, addr, client, filter string) (heard string, err error) {
	t.Helper()
	out, err := program(t, nil, "mosquitto_sub", append(p.args(addr, client), "-t", filter, "-C", "1", "-W", "2", "-v")...)
	if err != nil || strings.Contains(out, "denied") {
		return out, errors.Join(err, errors.New(strings.TrimSpace(out)))
	}
	return out, nil
}

// listen has mosquitto_sub listen until the test ends.
func (p papers) listen(t testing.TB, addr, client, filter string) <-chan string {
	t.Helper()
	return listenWith(t, append(p.args(addr, client), "-t", filter))
}

func listenWith(t testing.TB, args []string) <-chan string {
	t.Helper()
	path, err := mqtttest.Find("mosquitto_sub")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto-clients", err)
	}
	cmd := exec.Command(path, append(args, "-v")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 4096)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case lines <- s.Text():
			default:
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done; _ = cmd.Wait() })
	return lines
}
