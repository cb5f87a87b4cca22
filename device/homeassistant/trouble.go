package homeassistant

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

const wantsCertificate = "it wants a certificate of this device, or another TLS: name a listener in homeassistant.broker that takes a password"

// explain puts a failed attempt into words: what is wrong, and what a person does about it. reached: it was connected before.
func explain(broker string, err error, reached bool) (text, do string) {
	var (
		dns      *net.DNSError
		op       *net.OpError
		header   tls.RecordHeaderError
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
	)
	say := func(what error, advice string) (string, string) {
		return fmt.Sprintf("Home Assistant's broker %s %s: %s", broker, what, err), advice
	}
	switch {
	case errors.Is(err, errSettings):
		return "Home Assistant does not see this device: " + err.Error(), "mend homeassistant.broker, .password_file or .ca_file"
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword), errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return say(errRefused, "check homeassistant.user and homeassistant.password_file; is that user known to the broker?")
	case errors.Is(err, errRefused), errors.Is(err, packets.ErrorRefusedIDRejected):
		return fmt.Sprintf("Home Assistant's broker %s: %s", broker, err),
			"let this user read and write conch-ha/# and write below homeassistant.prefix (the broker's access list)"
	case errors.Is(err, errCut):
		return fmt.Sprintf("Home Assistant's broker %s %s", broker, err), "the broker's own log says why; conch tries again by itself"
	case errors.As(err, &hostname):
		return say(errNotTrusted, "use the host name that is in the certificate in homeassistant.broker")
	case errors.As(err, &unknown):
		return say(errNotTrusted, "name the file of its authority in homeassistant.ca_file")
	case errors.As(err, &verify):
		return say(errNotTrusted, "is the clock right, and the broker's certificate still valid?")
	case errors.As(err, &header):
		return say(errNoBroker, "it does not speak TLS there: use mqtt://, or its TLS port")
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return say(errNotTrusted, wantsCertificate)
	case errors.As(err, &dns):
		return say(errUnreachable, "is the name in homeassistant.broker right, and the network up?")
	case errors.Is(err, syscall.ECONNREFUSED):
		return say(errUnreachable, "nothing listens there: does the broker run, is the port right?")
	case reached:
		return say(errUnreachable, "it was there before: does the broker still run? conch tries again by itself")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, errFraming):
		if t, err := parseBroker(broker); err == nil && t.tls { // such a refusal can be lost on its way
			return say(errNoBroker, "is it the right port? Or "+wantsCertificate)
		}
		return say(errNoBroker, "is it the right port, does it want TLS (mqtts://)?")
	}
	return say(errUnreachable, "does the broker run, and is the network up? conch tries again by itself")
}
