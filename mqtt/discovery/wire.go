package discovery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	serviceName = ServiceType + ".local."
	metaName    = "_services._dns-sd._udp.local." // what kinds of services there are (RFC 6763 9)

	maxQuestions = 32  // of a message that are looked at
	maxRecords   = 256 // likewise
	maxMessage   = 9000

	topBit = 1 << 15 // of the class: "answer me alone" in a question, "forget what you knew" in a record (RFC 6762 18.12, 18.13)

	ttl       = 120 // seconds; short for records that name a service, but a device that lost its power should be forgotten
	legacyTTL = 10  // RFC 6762 6.7
)

// question and record are those of a message that can mean something to us, names in lower case and with the dot at the end.
type question struct {
	name  string
	kind  dnsmessage.Type
	alone bool                // an answer to the asker alone will do (RFC 6762 5.4)
	as    dnsmessage.Question // as it was asked
}

type record struct {
	name   string
	kind   dnsmessage.Type
	ttl    uint32
	label  string // of an instance: the first part of name, or of target for a PTR, in the sender's capitals
	target string
	port   uint16
	rdata  []byte // of an SRV, uncompressed: what a contest of names compares
	text   []string
	addr   netip.Addr
}

type message struct {
	id        uint16
	response  bool
	questions []question
	records   []record // answers and additional ones
	proposed  []record // of a probe: what its sender wants to be (RFC 6762 8.2)
}

var errNotOurs = errors.New("not a message of multicast DNS")

// parse reads a packet. What is malformed as a whole is an error; a single record that cannot be read (a name with a dot in a
// label, an odd length) is skipped, since one answer often carries the records of several services.
func parse(b []byte) (message, error) {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil {
		return message{}, fmt.Errorf("discovery: read a packet: %w", err)
	}
	// RFC 6762 18.3, 18.11: other codes are silently ignored.
	if h.OpCode != 0 || h.RCode != dnsmessage.RCodeSuccess {
		return message{}, errNotOurs
	}
	m := message{id: h.ID, response: h.Response}
	for range maxQuestions {
		q, err := p.Question()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			break
		} else if err != nil {
			return message{}, fmt.Errorf("discovery: read a question: %w", err)
		}
		m.questions = append(m.questions, question{name: fold(q.Name.String()), kind: q.Type, alone: q.Class&topBit != 0, as: q})
	}
	if err := p.SkipAllQuestions(); err != nil {
		return message{}, fmt.Errorf("discovery: read the questions: %w", err)
	}
	if m.records, err = section(&p, m.records, p.AnswerHeader, p.SkipAnswer); err != nil {
		return message{}, err
	}
	if m.proposed, err = section(&p, m.proposed, p.AuthorityHeader, p.SkipAuthority); err != nil {
		return message{}, err
	}
	m.records, err = section(&p, m.records, p.AdditionalHeader, p.SkipAdditional)
	return m, err
}

func section(p *dnsmessage.Parser, to []record, header func() (dnsmessage.ResourceHeader, error), skip func() error) ([]record, error) {
	for n := 0; ; n++ {
		h, err := header()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return to, nil
		}
		if n == maxRecords {
			return nil, fmt.Errorf("discovery: a packet of more than %d records", maxRecords)
		}
		if err == nil && len(to) < maxRecords {
			if r, ok := readRecord(p, h); ok {
				to = append(to, r)
				continue // a record that was read has been stepped over
			}
		}
		if err := skip(); err != nil {
			return nil, fmt.Errorf("discovery: read a record: %w", err)
		}
	}
}

func readRecord(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) (record, bool) {
	r := record{name: fold(h.Name.String()), kind: h.Type, ttl: h.TTL}
	if h.Class&^topBit != dnsmessage.ClassINET {
		return r, false
	}
	switch h.Type {
	case dnsmessage.TypePTR:
		b, err := p.PTRResource()
		if err != nil {
			return r, false
		}
		r.label, r.target = instance(b.PTR.String()), fold(b.PTR.String())
	case dnsmessage.TypeSRV:
		b, err := p.SRVResource()
		if err != nil {
			return r, false
		}
		r.label, r.target, r.port, r.rdata = instance(h.Name.String()), fold(b.Target.String()), b.Port, srvData(b)
	case dnsmessage.TypeTXT:
		b, err := p.TXTResource()
		if err != nil {
			return r, false
		}
		r.label, r.text = instance(h.Name.String()), b.TXT[:min(len(b.TXT), maxText)]
	case dnsmessage.TypeA:
		b, err := p.AResource()
		if err != nil {
			return r, false
		}
		r.addr = netip.AddrFrom4(b.A)
	case dnsmessage.TypeAAAA:
		b, err := p.AAAAResource()
		if err != nil {
			return r, false
		}
		r.addr = netip.AddrFrom16(b.AAAA)
	default:
		return r, false
	}
	return r, true
}

// fold makes two spellings of a domain name equal: ASCII letters only (RFC 6762 16).
func fold(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// instance is the label of LABEL._conch._tcp.local., or empty.
func instance(name string) string {
	if cut := len(name) - len(serviceName) - 1; cut > 0 && name[cut] == '.' && fold(name[cut+1:]) == serviceName {
		return name[:cut]
	}
	return ""
}

// srvData is an SRV record's data as bytes.
func srvData(b dnsmessage.SRVResource) []byte {
	d := binary.BigEndian.AppendUint16(nil, b.Priority)
	d = binary.BigEndian.AppendUint16(d, b.Weight)
	d = binary.BigEndian.AppendUint16(d, b.Port)
	for part := range strings.SplitSeq(strings.TrimSuffix(b.Target.String(), "."), ".") {
		d = append(append(d, byte(len(part))), part...)
	}
	return append(d, 0)
}
