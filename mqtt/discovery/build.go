package discovery

import (
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// zone is what this device has to say on one interface.
type zone struct {
	service Service
	label   string
	addrs   []netip.Addr
}

func (z zone) instance() string { return z.label + "." + serviceName }

// host is the name behind the service. It is made of the device id, so it needs no contest and does not get in the way of the
// machine's own NAME.local.
func (z zone) host() string { return hostOf(z.service) }

func hostOf(s Service) string { return "conch-" + string(s.Device) + ".local." }

func (z zone) srv() (dnsmessage.SRVResource, error) {
	host, err := dnsmessage.NewName(z.host())
	return dnsmessage.SRVResource{Port: uint16(z.service.Port), Target: host}, err
}

// writer builds one message and remembers its first error.
type writer struct {
	b   dnsmessage.Builder
	err error
}

func newWriter(h dnsmessage.Header) *writer {
	w := &writer{b: dnsmessage.NewBuilder(make([]byte, 0, 512), h)}
	w.b.EnableCompression()
	return w
}

func (w *writer) do(f func() error) {
	if w.err == nil {
		w.err = f()
	}
}

func (w *writer) name(s string) (n dnsmessage.Name) {
	w.do(func() (err error) { n, err = dnsmessage.NewName(s); return err })
	return n
}

func (w *writer) ask(name string, kind dnsmessage.Type, alone bool) {
	n, class := w.name(name), dnsmessage.ClassINET
	if alone {
		class |= topBit
	}
	w.do(func() error { return w.b.Question(dnsmessage.Question{Name: n, Type: kind, Class: class}) })
}

// header of a record: unique ones carry the bit that makes others forget what they knew of the name.
func (w *writer) header(name string, ttl uint32, unique bool) dnsmessage.ResourceHeader {
	h := dnsmessage.ResourceHeader{Name: w.name(name), Class: dnsmessage.ClassINET, TTL: ttl}
	if unique {
		h.Class |= topBit
	}
	return h
}

func (w *writer) finish() ([]byte, error) {
	var msg []byte
	w.do(func() (err error) { msg, err = w.b.Finish(); return err })
	return msg, w.err
}

// reply is how an answer differs from the usual one, which goes to everybody.
type reply struct {
	ttl    uint32
	meta   bool                  // say that there is such a kind of service
	legacy *message              // answer to one that asked from a port of its own, as an ordinary resolver does (RFC 6762 6.7)
	echo   []dnsmessage.Question // with its questions
}

// answer says everything about the service; it fits into one packet, so that who asked for one record needs not ask for the rest.
func (z zone) answer(how reply) ([]byte, error) {
	h := dnsmessage.Header{Response: true, Authoritative: true}
	unique := how.legacy == nil
	if !unique {
		h.ID = how.legacy.id
	}
	w := newWriter(h)
	w.do(w.b.StartQuestions)
	for _, q := range how.echo {
		w.do(func() error { return w.b.Question(q) })
	}
	w.do(w.b.StartAnswers)
	if how.meta {
		head, kind := w.header(metaName, how.ttl, false), w.name(serviceName)
		w.do(func() error { return w.b.PTRResource(head, dnsmessage.PTRResource{PTR: kind}) })
	}
	head, name := w.header(serviceName, how.ttl, false), w.name(z.instance())
	w.do(func() error { return w.b.PTRResource(head, dnsmessage.PTRResource{PTR: name}) })
	head = w.header(z.instance(), how.ttl, unique)
	w.do(func() error {
		srv, err := z.srv()
		if err != nil {
			return err
		}
		return w.b.SRVResource(head, srv)
	})
	w.do(func() error { return w.b.TXTResource(head, dnsmessage.TXTResource{TXT: z.service.text()}) })
	head = w.header(z.host(), how.ttl, unique)
	for _, a := range z.addrs {
		w.do(func() error {
			if a.Is4() {
				return w.b.AResource(head, dnsmessage.AResource{A: a.As4()})
			}
			return w.b.AAAAResource(head, dnsmessage.AAAAResource{AAAA: a.As16()})
		})
	}
	return w.finish()
}

// probe asks whether somebody has the name already, and says what we would put there (RFC 6762 8.1).
func (z zone) probe() ([]byte, error) {
	w := newWriter(dnsmessage.Header{})
	w.do(w.b.StartQuestions)
	w.ask(z.instance(), dnsmessage.TypeALL, false)
	w.do(w.b.StartAuthorities)
	head := w.header(z.instance(), ttl, false)
	w.do(func() error {
		srv, err := z.srv()
		if err != nil {
			return err
		}
		return w.b.SRVResource(head, srv)
	})
	return w.finish()
}

// query asks for all services but those that are known already (RFC 6762 7.1), and for what is missing of others. The first
// question of a look asks to be answered alone: what everybody was told a moment ago can then be said again at once.
func query(known []string, missing []question, first bool) ([]byte, error) {
	w := newWriter(dnsmessage.Header{})
	w.do(w.b.StartQuestions)
	w.ask(serviceName, dnsmessage.TypePTR, first)
	for _, q := range missing {
		w.ask(q.name, q.kind, false)
	}
	w.do(w.b.StartAnswers)
	for _, label := range known {
		head, name := w.header(serviceName, ttl, false), w.name(label+"."+serviceName)
		w.do(func() error { return w.b.PTRResource(head, dnsmessage.PTRResource{PTR: name}) })
	}
	return w.finish()
}
