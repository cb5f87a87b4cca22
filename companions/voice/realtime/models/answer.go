package models

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
)

const skewed = 60 * time.Second // our choice: certificates and tokens forgive minutes, a spoken time of day does not

// Failed says whether no answer came.
func (a Answer) Failed() bool { return a.err != nil }

// Findings say how far the request came: each step stands on the one before. The first that fails is named; those after it are
// not guessed at.
func (a Answer) Findings() (out voice.Findings) {
	s, u := a.of, a.of.Endpoint
	if a.err != nil {
		return a.failed()
	}
	out.OK("server", "%s answers in %d ms", u.Host, a.took.Milliseconds())
	switch {
	case InClear(u) && Home(u.Hostname()):
		out.Note("tls", "none: the key and what is said pass the house's network in the clear (voice.url is ws://)", "")
	case InClear(u):
		out.Warn("tls", "voice.url is ws://: the key and what is said pass the network in the clear", "the server is used without encryption",
			"use wss://, or a server on this machine")
	}
	if !a.date.IsZero() {
		if skew := s.Now().Sub(a.date).Round(time.Second); skew.Abs() > skewed {
			out.Warn("skew", fmt.Sprintf("this machine's clock is %s off the server's", skew), "nothing keeps the clock right",
				"sudo timedatectl set-ntp true, and see that the network lets NTP through (UDP port 123)")
		}
	}
	newKey := "make a new key at the provider, then: " + s.GiveKey
	switch {
	case InClear(u) && a.keyed:
		out.Note("key", "not tried: it would pass the network in the clear", "")
	case a.status == http.StatusOK && a.keyed:
		out.OK("key", "accepted")
	case a.status == http.StatusOK:
		out.Note("key", "the server wants none for its list of models", "")
	case a.status == http.StatusUnauthorized && !a.keyed && s.KeyHidden:
		out.Note("key", "whether the key is accepted cannot be seen without root", "sudo conch doctor")
	case a.status == http.StatusUnauthorized && !a.keyed:
		out.Bad("key", "the server wants a key, and there is none", "no key is configured", s.GiveKey)
	case a.status == http.StatusUnauthorized:
		out.Bad("key", "the server does not accept the key", "it was revoked, is for another provider, or is not complete", newKey)
	case a.code == "insufficient_quota":
		out.Bad("key", "the account has no money left", "the provider refuses until it is paid", "add credit at the provider, or use another key")
	case a.status == http.StatusForbidden:
		out.Warn("key", "the key may not list models"+because(a.code), "its rights are restricted, or the provider does not serve this place",
			"if it does not answer: give the key the rights for models and realtime")
	case a.status == http.StatusTooManyRequests:
		out.Warn("key", "the server says: too many requests"+because(a.code), "a limit of the account was reached",
			"wait a minute; if it stays, see the account's limits")
	case a.status >= 500:
		out.Warn("server", fmt.Sprintf("the server has trouble (HTTP %d)", a.status), "it is the provider's, or the server just starts",
			"wait; see the provider's status page")
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed, a.status == http.StatusNotImplemented:
		out.Note("key", "the server has no list of models: key and model show when somebody asks", "")
	default:
		out.Warn("server", fmt.Sprintf("an unexpected answer (HTTP %d%s)", a.status, because(a.code)), "this is not the server it should be",
			"see voice.url")
	}
	return out
}

func because(code string) string {
	if code == "" {
		return ""
	}
	return " (" + code + ")"
}

// failed says at which step no answer came.
func (a Answer) failed() voice.Findings {
	s, u := a.of, a.of.Endpoint
	var (
		certificate *tls.CertificateVerificationError
		unknownCA   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		header      tls.RecordHeaderError
		alert       tls.AlertError
	)
	const clock = "sudo timedatectl set-ntp true; see clock"
	skew := s.Now().Sub(a.date)
	switch {
	case errors.Is(a.err, errRedirect):
		return bad("server", u.Host+" sends us elsewhere", "it is not the server, or a login page of the network is in between",
			"see voice.url; open a web page in this network")
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired:
		switch {
		case s.Now().Before(s.BuiltAfter), !a.date.IsZero() && skew.Abs() > time.Hour:
			return bad("tls", "no encrypted connection: by this machine's clock the certificate is not valid now", "the clock is wrong", clock)
		case kit.ClockWrong(a.err, s.Now()):
			return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not valid before "+
				invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04"), "it was made too new, or this clock is behind",
				"see clock; else it is the server's to mend")
		}
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate expired on "+invalid.Cert.NotAfter.UTC().Format("2006-01-02"),
			"nobody renewed it", "it is the server's to mend; if it is yours, renew its certificate")
	case errors.As(a.err, &hostname):
		return bad("tls", "no encrypted connection: the certificate is for another host than "+u.Hostname(),
			"the name in voice.url is not the one in the certificate, or something is in between", "use the name that is in it")
	case errors.As(a.err, &unknownCA):
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not signed by anybody known",
			"it is self-signed, the machine's list of authorities is missing, or something is in between",
			"sudo apt install --reinstall ca-certificates; of a server of your own: set voice.ca_file to its authority's certificate")
	case errors.As(a.err, &certificate):
		return bad("tls", "no encrypted connection: "+u.Host+"'s certificate is not valid", "see the clock and the server", clock)
	case errors.As(a.err, &header), strings.Contains(a.err.Error(), "server gave HTTP response to HTTPS client"):
		return bad("tls", "no encrypted connection: "+u.Host+" does not speak TLS",
			"voice.url has wss:// and the server only ws://, or the port is another one's", "see the scheme and port of voice.url")
	case errors.As(a.err, &alert):
		return bad("tls", "no encrypted connection: "+u.Host+" refuses ours", "the two do not agree on TLS", "see voice.url")
	}
	err := a.err
	if uerr := (*url.Error)(nil); errors.As(err, &uerr) {
		err = uerr.Err
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op != "dial" || errors.Is(err, io.EOF) {
		return bad("server", u.Host+" ends the connection without an answer", "it is not the server, or it is not well", "see voice.url and the server")
	}
	f := s.Unreachable(u.Host, "voice.url", err)
	f.Part = cmp.Or(f.Part, "server")
	return voice.Findings{f}
}

func bad(part, text, cause, do string) (out voice.Findings) {
	out.Bad(part, text, cause, do)
	return out
}
