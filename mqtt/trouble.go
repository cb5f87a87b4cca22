package mqtt

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// What can be wrong with the way to the broker. OnTrouble's error is one of these with the particulars.
var (
	ErrUnreachable   = errors.New("the broker cannot be reached")
	ErrCredentials   = errors.New("the broker does not accept the user or the password")
	ErrNotAuthorized = errors.New("the broker does not let this device into the room")
	ErrNotMember     = fmt.Errorf("%w", ErrNotAuthorized) // the broker itself says so
	ErrTLS           = errors.New("no encrypted connection")
	ErrNoBroker      = errors.New("this does not answer like an MQTT broker")
	ErrTaken         = errors.New("the broker keeps closing the connection")
	ErrSettings      = errors.New("a setting is wrong")

	errWelcomed = errors.New("it took this device, and then the connection ended")
)

// explain puts a failed attempt into words: what, on what, what to do.
func explain(target string, err error) error {
	say := func(what error, advice string) error {
		return fmt.Errorf("mqtt: %s: %w: %w (%s)", target, what, err, advice)
	}
	var (
		dns      *net.DNSError
		op       *net.OpError
		header   tls.RecordHeaderError
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		netErr   net.Error
	)
	switch {
	case errors.Is(err, ErrSettings), errors.Is(err, ErrNotAuthorized), errors.Is(err, ErrTaken), errors.Is(err, ErrNoBroker):
		return fmt.Errorf("mqtt: %s: %w", target, err)
	case errors.Is(err, errWelcomed):
		return say(ErrUnreachable, "does the broker still run? if so, its log says what it refuses, as max_packet_size and max_qos of Mosquitto do")
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword):
		return say(ErrCredentials, "check the user and the password file")
	case errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return say(ErrNotMember, "it wants a user and a password, a certificate, or this device is not on its list")
	case errors.Is(err, packets.ErrorRefusedIDRejected):
		return say(ErrNotAuthorized, "it does not take the device's id as client id")
	case errors.Is(err, packets.ErrorRefusedServerUnavailable):
		return say(ErrUnreachable, "it is full or shutting down")
	case errors.Is(err, packets.ErrorRefusedBadProtocolVersion):
		return say(ErrNoBroker, "it does not speak MQTT 3.1.1")
	case errors.As(err, &hostname):
		return say(ErrTLS, "the certificate is for another host: use the name that is in it")
	case errors.As(err, &unknown):
		return say(ErrTLS, "the certificate is not signed by a known authority: give the CA file")
	case errors.As(err, &verify):
		return say(ErrTLS, "the broker's certificate is not valid; is the clock right?")
	case errors.As(err, &header):
		return say(ErrTLS, "the other side does not speak TLS: use mqtt:// or the TLS port")
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return say(ErrTLS, "is the client certificate the one that the broker expects?")
	case errors.As(err, &dns):
		return say(ErrUnreachable, "no such host: is the name right, is the network up?")
	case errors.Is(err, syscall.ECONNREFUSED):
		return say(ErrUnreachable, "nothing listens there: is the broker running?")
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return say(ErrUnreachable, "is the network up?")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return say(ErrNoBroker, "the connection was closed without an answer: is it the right port, does it want TLS (mqtts://)?")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return say(ErrUnreachable, "no answer in time")
	}
	return say(ErrUnreachable, "trying again")
}
