package mqtt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"conch/companions/round"
)

// Bounds of an envelope.
const (
	MaxEnvelope = 64 << 10  // bytes, everything but a history
	maxHistory  = 256 << 10 // bytes, a history
	maxDepth    = 16        // objects and lists within each other
	sessionLen  = 22        // 16 random bytes in base64

	envelopeOverhead = 512 // bytes around the parameters, at most
)

// domain keeps a signature made here from meaning anything elsewhere.
const domain = "conch/v1 envelope"

// Envelope is one notification: what was said, by whom, and the number that tells it from a recording.
type Envelope struct {
	From    round.DeviceID
	Method  string
	Session string
	Seq     uint64
	Packet  round.Packet // nil: a hello or a note
	Note    *Note
	Size    int // bytes

	hello     *hello
	votes     []*Refusal // votes of the envelope that were taken out
	raw       []byte     // as it came; nil: not needed
	sealed    string     // what of it is private
	key       []byte     // of a beat: for what is private
	near      []string   // of a beat with cards: where its device hears presses in the house
	age       int64      // of a beat and a press: milliseconds of its session when it was made; 0: unknown
	envelopes []string   // of a history
}

// hello introduces a session and proves it (doc.go, "Recordings").
type hello struct {
	Prove []round.DeviceID `json:"prove,omitempty"` // whose sessions the sender does not believe yet
	Heard []heard          `json:"heard,omitempty"`
}

// heard is the proof towards one device: only who has heard its session lately can name it.
type heard struct {
	Session string `json:"session"`
	Hello   uint64 `json:"hello,omitempty"` // number of the hello that is answered; 0: another envelope made it known
	AgeMS   int64  `json:"ageMs"`           // how old the sender's session was when it heard that
	Since   uint64 `json:"since"`           // whatever the sender numbered from here on was made after that
}

// frame is an envelope's JSON.
type frame struct {
	Version string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	ID      json.RawMessage `json:"id"`
	Key     string          `json:"key"`
	Session string          `json:"session"`
	Seq     uint64          `json:"seq"`
	Sig     string          `json:"sig"`
}

var b64 = base64.RawURLEncoding

// Encode makes the envelope of a packet: the topic it belongs to and the bytes.
func Encode(room string, id Identity, session string, seq uint64, p round.Packet) (string, []byte, error) {
	var x extra
	if h, ok := p.(round.History); ok {
		x.envelopes = prove(room, id, func(round.CompanionID) bool { return true }, h)
	}
	m, params, err := pack(id.id, p, x)
	if err != nil {
		return "", nil, err
	}
	return Topic(room, m.kind, id.id), seal(room, id, m, session, seq, params), nil
}

// seal writes the envelope by hand: encoding/json would rewrite the parameters, and it is their bytes that are signed.
func seal(room string, id Identity, m *method, session string, seq uint64, params []byte) []byte {
	sig := ed25519.Sign(id.key, signed(room, m.kind, m.name, session, seq, params))
	b := make([]byte, 0, len(params)+320)
	b = append(b, methodPrefix...)
	b = append(b, m.name...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	b = append(b, `,"key":"`...)
	b = b64.AppendEncode(b, id.key.Public().(ed25519.PublicKey))
	b = append(b, `","session":"`...)
	b = append(b, session...)
	b = append(b, `","seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"sig":"`...)
	b = b64.AppendEncode(b, sig)
	return append(b, `"}`...)
}

// methodPrefix is how every envelope of ours begins, so that a press can be told without reading on.
const methodPrefix = `{"jsonrpc":"2.0","method":"`

// signed is what the signature is made of: each part with its length, so that no two envelopes have the same bytes. The
// device is not in it because its id follows from the key.
func signed(room string, k Kind, method, session string, seq uint64, params []byte) []byte {
	b := make([]byte, 0, len(domain)+len(room)+len(k)+len(method)+len(session)+len(params)+32)
	b = append(b, domain...)
	for _, s := range []string{room, string(k), method, session} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, seq)
	b = binary.BigEndian.AppendUint32(b, uint32(len(params)))
	return append(b, params...)
}

// unproven is an envelope that has been read but not believed: nothing in it has been checked against the signature.
type unproven struct {
	from   round.DeviceID
	method *method
	size   int
	raw    []byte
	frame
}

// look reads the outside of an envelope.
func look(room, t string, payload []byte) (*unproven, *Refusal) {
	k, from, ok := SplitTopic(room, t)
	if !ok {
		return nil, refuse(ReasonTopic, "%.80q is no topic of room %q", t, room)
	}
	no := func(r *Refusal) (*unproven, *Refusal) {
		r.From = from
		return nil, r
	}
	if len(payload) > maxHistory {
		return no(refuse(ReasonOversized, "%d bytes; an envelope has at most %d, a history %d", len(payload), MaxEnvelope, maxHistory))
	}
	if !utf8.Valid(payload) {
		return no(refuse(ReasonMalformed, "not UTF-8"))
	}
	if d := depth(payload); d > maxDepth {
		return no(refuse(ReasonMalformed, "nested %d deep; at most %d", d, maxDepth))
	}
	l := &unproven{from: from, size: len(payload), raw: payload}
	if !l.sealed(payload) {
		l.frame = frame{}
		if err := json.Unmarshal(payload, &l.frame); err != nil {
			return no(refuse(ReasonMalformed, "not an envelope: %v", err))
		}
	}
	if l.Version != "2.0" {
		return no(refuse(ReasonMalformed, "jsonrpc is %.20q; want \"2.0\"", l.Version))
	}
	if l.ID != nil {
		return no(refuse(ReasonMalformed, "a request; only notifications (without an id) are known here"))
	}
	if l.method = methodNamed(l.Method); l.method == nil {
		return no(refuse(ReasonMethod, "unknown method %.40q", l.Method))
	}
	if l.method.kind != k {
		return no(refuse(ReasonTopic, "%s does not belong under %s", l.Method, k))
	}
	if len(payload) > l.method.max {
		return no(refuse(ReasonOversized, "%d bytes; %s has at most %d", len(payload), l.Method, l.method.max))
	}
	if len(l.Session) != sessionLen {
		return no(refuse(ReasonMalformed, "session %.40q; want %d characters", l.Session, sessionLen))
	}
	return l, nil
}

// open checks the signature and reads the parameters.
func (l *unproven) open(room string) (Envelope, *Refusal) {
	no := func(r *Refusal) (Envelope, *Refusal) {
		r.From, r.Method = l.from, l.Method
		return Envelope{}, r
	}
	key, err := b64.DecodeString(l.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return no(refuse(ReasonForged, "key is not an Ed25519 key"))
	}
	if id := Fingerprint(key); id != l.from {
		return no(refuse(ReasonForged, "signed by %s", id))
	}
	sig, err := b64.DecodeString(l.Sig)
	if err != nil || len(sig) != ed25519.SignatureSize ||
		!ed25519.Verify(key, signed(room, l.method.kind, l.Method, l.Session, l.Seq, l.Params), sig) {
		return no(refuse(ReasonForged, "the signature does not fit"))
	}
	e := Envelope{From: l.from, Method: l.Method, Session: l.Session, Seq: l.Seq, Size: l.size, raw: l.raw}
	if r := l.method.unpack(&e, l.Params); r != nil {
		return no(r)
	}
	return e, nil
}

// sealed reads an envelope that looks exactly as seal writes it, without reading the parameters, which may be large and are
// read once the signature is known to be good. False: it has another form, which may be good all the same.
func (f *frame) sealed(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(methodPrefix))
	if !ok {
		return false
	}
	name, rest, ok := bytes.Cut(rest, []byte(`","params":`))
	m := methodNamed(string(name))
	if !ok || m == nil {
		return false
	}
	// The rest from its end, since nobody knows where the parameters end.
	rest, ok = bytes.CutSuffix(rest, []byte(`"}`))
	field := func(name string, length int) (text []byte) {
		if ok = ok && len(rest) >= length; !ok {
			return nil
		}
		rest, text = rest[:len(rest)-length], rest[len(rest)-length:]
		for _, c := range text {
			ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
		}
		if ok {
			rest, ok = bytes.CutSuffix(rest, []byte(name))
		}
		return text
	}
	sig := field(`,"sig":"`, b64.EncodedLen(ed25519.SignatureSize))
	digits := 0
	for digits < len(rest) && rest[len(rest)-1-digits] >= '0' && rest[len(rest)-1-digits] <= '9' {
		digits++
	}
	number := field(`","seq":`, digits)
	session := field(`","session":"`, sessionLen)
	key := field(`,"key":"`, b64.EncodedLen(ed25519.PublicKeySize))
	seq, err := strconv.ParseUint(string(number), 10, 64)
	if !ok || err != nil || number[0] == '0' {
		return false
	}
	f.Version, f.Method, f.Params = "2.0", m.name, rest
	f.Key, f.Session, f.Seq, f.Sig = string(key), string(session), seq, string(sig)
	return true
}

// depth is how deep objects and lists are nested, at a glance.
func depth(b []byte) int {
	deepest, d, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			d++
			deepest = max(deepest, d)
		case c == '}' || c == ']':
			d--
		}
	}
	return deepest
}

// pressPrefix is how a press of ours begins.
const pressPrefix = methodPrefix + methodPress + `"`

// isPress says, before anything is read, whether an envelope claims to be a press: it overtakes.
func isPress(payload []byte) bool { return bytes.HasPrefix(payload, []byte(pressPrefix)) }
