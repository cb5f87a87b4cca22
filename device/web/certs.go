package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"conch/device/config"
	"conch/device/printable"
	"conch/device/system"
)

// maxPEM is how large a file of certificates, or of a key, may be.
const maxPEM = 64 << 10

// certs is what encrypts the page: the user's own certificate, or one of this device's authority. Its methods take a nil one: none does.
type certs struct {
	web   config.Web
	dir   string // of the authority
	named func() []string
	now   func() time.Time

	mu     sync.Mutex
	stamp  string // of the files that were read
	pair   *tls.Certificate
	failed error // why they cannot be used
	root   *authority
}

// newCerts is nil where nothing is to be encrypted.
func newCerts(o DoorOptions) *certs {
	if o.Web.Cert == "" && o.Web.Key == "" && !o.Web.Authority {
		return nil
	}
	return &certs{web: o.Web, dir: o.AuthorityDir, named: o.Names, now: o.Now}
}

func (c *certs) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true, // what was resumed would see no new certificate
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.get(addrPort(h.Conn.LocalAddr()).Addr())
		},
	}
}

// get is the certificate for whoever calls at an address of this device.
func (c *certs) get(at netip.Addr) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned() {
		c.read()
		return c.pair, c.failed
	}
	if c.root == nil {
		c.root, c.failed = openAuthority(c.dir, c.named(), c.now())
	}
	if c.failed != nil {
		return nil, c.failed
	}
	return c.root.leaf(at, c.named(), c.now())
}

func (c *certs) check() error {
	if c == nil {
		return nil
	}
	_, err := c.get(netip.Addr{})
	return err
}

// owned says that the user has a certificate.
func (c *certs) owned() bool { return c.web.Cert != "" || c.web.Key != "" }

// read reads the user's pair, when its files are others than before. It needs mu.
func (c *certs) read() {
	if stamp := stampOf(c.web.Cert) + stampOf(c.web.Key); stamp != c.stamp || c.failed != nil {
		c.stamp = stamp
		c.pair, c.failed = readPair(c.web.Cert, c.web.Key)
	}
	if c.failed != nil {
		return
	}
	leaf := c.pair.Leaf
	switch now := c.now(); {
	case now.After(leaf.NotAfter):
		c.failed = fmt.Errorf("web.cert: %s: it was valid until %s: renew it", c.web.Cert, leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		c.failed = fmt.Errorf("web.cert: %s: it is valid from %s on: wait, or set the clock of this device", c.web.Cert,
			leaf.NotBefore.UTC().Format(time.DateTime))
	}
	if c.failed != nil {
		c.pair = nil
	}
}

// stampOf is another one when a file is.
func stampOf(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%d %d %v ", st.ModTime().UnixNano(), st.Size(), st.Mode())
}

// readPair reads a certificate, and those that it comes from, and its key.
func readPair(cert, key string) (*tls.Certificate, error) {
	if cert == "" || key == "" {
		return nil, errors.New("web.cert and web.key belong together: set both, or none")
	}
	certPEM, _, err := config.ReadBounded(cert, maxPEM)
	if err != nil {
		return nil, unread("web.cert", cert, err)
	}
	keyPEM, info, err := config.ReadBounded(key, maxPEM)
	if err != nil {
		return nil, unread("web.key", key, err)
	}
	if system.Rights(info)&0o007 != 0 {
		return nil, fmt.Errorf("web.key: %s: everybody may read it (mode %04o): %s", key, info.Mode().Perm(), printable.Chmod("600", key))
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("web.cert: %s and web.key: %s do not fit together: %s (both PEM, the certificate first in its file, the key not encrypted)",
			cert, key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

func unread(key, path string, err error) error {
	do := "set it to a PEM file that this user may read"
	if errors.Is(err, fs.ErrPermission) {
		do = "let the user that conch runs as read it"
	}
	return fmt.Errorf("%s: %s: %w (%s)", key, path, err, do)
}

// names says whether the user's certificate is for a name.
func (c *certs) names(name string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owned() {
		return false
	}
	c.read()
	return c.pair != nil && c.pair.Leaf.VerifyHostname(name) == nil
}

// own are the names and addresses of the user's certificate that stand for one host.
func (c *certs) own() (list []string) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owned() {
		return nil
	}
	if c.read(); c.pair == nil {
		return nil
	}
	for _, name := range c.pair.Leaf.DNSNames {
		if !strings.Contains(name, "*") {
			list = append(list, name)
		}
	}
	for _, ip := range c.pair.Leaf.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}

// authority is the root of the page's own certificates; nil: it has none.
func (c *certs) authority() *x509.Certificate {
	if c == nil || c.owned() || c.check() != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.root.root
}
