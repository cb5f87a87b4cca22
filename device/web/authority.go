package web

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"conch/device/config"
	"conch/device/system"
)

// The page's own authority (WEB.md 3.4). Whoever trusts it trusts whatever holds its key, so it may speak for as little as possible: names of
// this host that end in .local or the like, and addresses that a house has. That stands in the root, which some programs do not look at, and
// in an intermediate, which all do; the key of the root has signed that one, and was never written down.

// Bounds of certificates.
const (
	rootYears     = 10
	leafLife      = 90 * 24 * time.Hour // browsers take up to 398 days
	leafRenew     = 60 * 24 * time.Hour
	leafBefore    = 24 * time.Hour // clocks differ
	authorityFile = "authority.pem"
	maxNames      = 8
)

// Certificates are valid from a day that every clock has passed which was ever set.
var (
	rootFrom = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	written  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ranges are those that a house has: private, of a link, of this machine.
var ranges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("::1/128"),
}

// houseOnly are ends of names that lead nowhere in public (RFC 6762, RFC 8375, RFC 6761, and .internal by ICANN's resolution of 2024). A
// constraint on a name allows everything below it, so a bare one is left out: a host called dev would sign for all of .dev.
var houseOnly = []string{".local", ".home.arpa", ".internal", ".test"}

// authority makes certificates for the page. Made by openAuthority; not for several goroutines.
type authority struct {
	root, middle *x509.Certificate
	key          *ecdsa.PrivateKey // of middle

	now  *tls.Certificate
	made time.Time
}

// openAuthority reads that of a directory, or makes it.
func openAuthority(dir string, names []string, now time.Time) (*authority, error) {
	if dir == "" {
		return nil, errors.New("web.authority: this device has no directory to keep one in: set state.dir, or web.cert and web.key")
	}
	path := filepath.Join(dir, authorityFile)
	data, info, err := config.ReadBounded(path, maxPEM)
	if errors.Is(err, fs.ErrNotExist) {
		return makeAuthority(path, names, now)
	}
	if err == nil && system.Rights(info)&0o077 != 0 {
		return nil, fmt.Errorf("web.authority: %s: others may read it (mode %04o): whoever has read it can pretend to be this device. Remove it, "+
			"and have browsers trust the new one", path, info.Mode().Perm())
	}
	if err != nil {
		return nil, fmt.Errorf("web.authority: %s: %w (it is to be a file of the user that conch runs as; or set state.dir)", path, err)
	}
	a, err := parseAuthority(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("web.authority: %s: %w (remove it, and have browsers trust the new one)", path, err)
	case now.After(a.root.NotAfter) || now.After(a.middle.NotAfter):
		return nil, a.over(path)
	}
	return a, nil
}

func parseAuthority(data []byte) (*authority, error) {
	a := &authority{}
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		case "EC PRIVATE KEY":
			k, err := x509.ParseECPrivateKey(block.Bytes)
			if err != nil {
				return nil, err
			}
			a.key = k
		}
	}
	if len(all) != 2 || a.key == nil {
		return nil, errors.New("it is not whole")
	}
	a.middle, a.root = all[0], all[1]
	if !a.key.PublicKey.Equal(a.middle.PublicKey) || a.middle.CheckSignatureFrom(a.root) != nil || a.root.CheckSignatureFrom(a.root) != nil {
		return nil, errors.New("its parts do not belong together")
	}
	return a, nil
}

// makeAuthority makes one, for these names for good.
func makeAuthority(path string, names []string, now time.Time) (*authority, error) {
	if now.Before(written) {
		now = written // the clock was not set yet
	}
	names = houseNames(names)
	label := "conch"
	if len(names) > 0 {
		label += " page of " + names[0]
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("web.authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("web.authority: %w", err)
	}
	until := now.AddDate(rootYears, 0, 0)
	rootOf, middleOf := constrained(label, names, until), constrained(label+", for its certificates", names, until)
	rootOf.MaxPathLen = 1
	middleOf.MaxPathLenZero = true
	root, err := signed(rootOf, rootOf, &rootKey.PublicKey, rootKey)
	if err != nil {
		return nil, err
	}
	middle, err := signed(middleOf, root, &key.PublicKey, rootKey)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("web.authority: %w", err)
	}
	var b bytes.Buffer
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: middle.Raw}, {Type: "CERTIFICATE", Bytes: root.Raw}, {Type: "EC PRIVATE KEY", Bytes: der}} {
		_ = pem.Encode(&b, block) // into memory
	}
	if err := keepSecret(path, b.Bytes()); err != nil {
		return nil, fmt.Errorf("web.authority: %w (it needs a directory that this user may write: state.dir)", err)
	}
	return &authority{root: root, middle: middle, key: key}, nil
}

// constrained is an authority that may speak for a house, and for nothing else: no mail, no code, no address of the public.
func constrained(name string, names []string, until time.Time) *x509.Certificate {
	if len(names) == 0 {
		names = []string{"conch.invalid"} // no constraint at all would allow every name
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: rootFrom, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: names, PermittedEmailAddresses: names, PermittedURIDomains: names,
	}
	for _, r := range ranges {
		t.PermittedIPRanges = append(t.PermittedIPRanges, &net.IPNet{IP: r.Addr().AsSlice(), Mask: net.CIDRMask(r.Bits(), r.Addr().BitLen())})
	}
	return t
}

func serial() *big.Int { return new(big.Int).SetBytes(random(16)) }

func signed(t, by *x509.Certificate, key *ecdsa.PublicKey, with *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, by, key, with)
	if err != nil {
		return nil, fmt.Errorf("web.authority: make a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// houseNames are those of a host that an authority may speak for.
func houseNames(names []string) (list []string) {
	for _, n := range names {
		n = strings.ToLower(n)
		ends := slices.ContainsFunc(houseOnly, func(end string) bool { return strings.HasSuffix(n, end) && len(n) > len(end) })
		plain := strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" && !strings.HasPrefix(n, ".") && !strings.Contains(n, "..")
		if ends && plain && len(n) < 254 && len(list) < maxNames {
			list = append(list, n)
		}
	}
	return list
}

// ofAHouse says that an authority may speak for an address.
func ofAHouse(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(a.Unmap()) })
}

// leaf is the certificate of now: for the names and the addresses that this device has, and for at, where somebody has reached it.
func (a *authority) leaf(at netip.Addr, names []string, now time.Time) (*tls.Certificate, error) {
	if now.After(a.middle.NotAfter) {
		return nil, a.over(authorityFile)
	}
	missing := ofAHouse(at) && a.now != nil && !slices.ContainsFunc(a.now.Leaf.IPAddresses, func(ip net.IP) bool { return ip.Equal(at.Unmap().AsSlice()) })
	if a.now != nil && !missing && now.Sub(a.made) < leafRenew && a.made.Sub(now) < leafBefore { // the clock may have been set since
		return a.now, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("web.authority: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial(), NotBefore: later(now.Add(-leafBefore), rootFrom), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if t.NotAfter.After(a.middle.NotAfter) {
		t.NotAfter = a.middle.NotAfter
	}
	for _, n := range houseNames(names) { // those that it was made for
		if slices.ContainsFunc(a.middle.PermittedDNSDomains, func(p string) bool { return n == p || strings.HasSuffix(n, "."+p) }) {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	all := append(ownAddresses(), netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback(), at.Unmap())
	for _, ip := range all {
		if ofAHouse(ip) && !slices.ContainsFunc(t.IPAddresses, func(o net.IP) bool { return o.Equal(ip.AsSlice()) }) {
			t.IPAddresses = append(t.IPAddresses, ip.AsSlice())
		}
	}
	t.Subject = pkix.Name{CommonName: "conch page"}
	c, err := signed(t, a.middle, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.now, a.made = &tls.Certificate{Certificate: [][]byte{c.Raw, a.middle.Raw}, PrivateKey: key, Leaf: c}, now
	return a.now, nil
}

func (a *authority) over(path string) error {
	until := a.middle.NotAfter.Format(time.DateOnly)
	return fmt.Errorf("web.authority: %s: it was valid until %s (remove it, and have browsers trust the new one)", path, until)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fingerprint is how people compare certificates.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	text := strings.ToUpper(hex.EncodeToString(sum[:]))
	var parts []string
	for i := 0; i < len(text); i += 2 {
		parts = append(parts, text[i:i+2])
	}
	return strings.Join(parts, ":")
}

// keepSecret writes a file that only this user reads, whole or not at all.
func keepSecret(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // nothing, once it has its name
	_, err = tmp.Write(data)
	if e := tmp.Sync(); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return system.SyncDirectory(filepath.Dir(path))
}
