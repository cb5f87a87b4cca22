package mqtt

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"conch/companions/round"
)

// What is private (round.Message.For) travels sealed: HPKE (RFC 9180), mode base, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
// ChaCha20-Poly1305. That it is the sender's says the envelope's signature, which covers what is sealed.
const (
	whisperKeyInfo = "conch/v1 whisper key"
	whisperInfo    = "conch/v1 whisper"
	padTo          = 256      // bytes: how long it is tells a little less
	maxSealed      = 12 << 10 // bytes of what is sealed, in base64: a text of 8 KiB
)

var (
	whisperKEM  = hpke.DHKEM(ecdh.X25519())
	whisperKDF  = hpke.HKDFSHA256()
	whisperAEAD = hpke.ChaCha20Poly1305()

	errNoKey  = errors.New("that device has announced no key for what is private")
	errSealed = errors.New("what is private cannot be opened")
)

// whisperKey opens what is sealed for this device. It follows from the device's key (HKDF-SHA256 of its seed), so that nothing more has
// to be kept, and is used for nothing else.
func (i Identity) whisperKey() (hpke.PrivateKey, error) {
	ikm, err := hkdf.Key(sha256.New, i.key.Seed(), nil, whisperKeyInfo, 32)
	if err != nil {
		return nil, err
	}
	return whisperKEM.DeriveKeyPair(ikm)
}

// sealing is what binds something sealed to where it belongs: nobody can put it into another room, message or envelope.
type sealing struct {
	room     string
	what     string // "message", "release"
	id       round.MessageID
	from, to round.DeviceID
}

func (s sealing) info() []byte { return []byte(whisperInfo + "\x00" + s.room) }

func (s sealing) aad() []byte {
	var b []byte
	for _, part := range []string{s.what, string(s.id), string(s.from), string(s.to)} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// seal gives the encapsulated key and the ciphertext, in base64.
func (s sealing) seal(key []byte, text string) (string, error) {
	if len(key) == 0 {
		return "", errNoKey
	}
	pub, err := whisperKEM.NewPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoKey, err)
	}
	enc, sender, err := hpke.NewSender(pub, whisperKDF, whisperAEAD, s.info())
	if err != nil {
		return "", err
	}
	padded := append([]byte(text), 0x80) // and zeros (ISO/IEC 7816-4)
	padded = append(padded, make([]byte, (padTo-len(padded)%padTo)%padTo)...)
	sealed, err := sender.Seal(s.aad(), padded)
	if err != nil {
		return "", err
	}
	return b64.EncodeToString(append(enc, sealed...)), nil
}

func (s sealing) open(key hpke.PrivateKey, sealed string) (string, error) {
	data, err := b64.DecodeString(sealed)
	if n := whisperKeyLen; err != nil || len(data) < n {
		return "", errSealed
	}
	to, err := hpke.NewRecipient(data[:whisperKeyLen], key, whisperKDF, whisperAEAD, s.info())
	if err != nil {
		return "", errSealed
	}
	padded, err := to.Open(s.aad(), data[whisperKeyLen:])
	if err != nil {
		return "", errSealed
	}
	padded = bytes.TrimRight(padded, "\x00")
	if n := len(padded); n == 0 || padded[n-1] != 0x80 || n-1 > maxText || !utf8.Valid(padded[:n-1]) {
		return "", errSealed
	}
	return string(padded[:len(padded)-1]), nil
}

const whisperKeyLen = 32 // X25519, both the key and what is encapsulated

// private is what of a packet travels sealed, and for whom; false: nothing does.
func private(room string, from round.DeviceID, p round.Packet) (s sealing, text string, ok bool) {
	switch p := p.(type) {
	case round.Message:
		return sealing{room, "message", p.ID, from, p.For}, p.Text, p.Private()
	case round.Release:
		if p.For != "" && p.Heard != nil {
			return sealing{room, "release", p.Said, from, p.For}, *p.Heard, true
		}
	}
	return sealing{}, "", false
}

// extra is what goes along with a packet and is no part of it for the machine.
type extra struct {
	sealed    string   // what is private
	near      []string // of a beat with cards: where this device hears presses in the house
	key       string   // of a beat with cards: what is private is to be sealed for it
	age       int64    // of a beat and a press: milliseconds of the session
	envelopes []string // of a history: those of others, as they were signed
}

// extras are what goes along with a packet of this client.
func (c *Client) extras(p round.Packet) (x extra, err error) {
	switch p := p.(type) {
	case round.Beat:
		if p.Cards != nil {
			x.near = c.nearHere()
			x.key = b64.EncodeToString(c.whisper.PublicKey().Bytes())
		}
		return x, nil
	case round.History:
		c.mu.Lock()
		defer c.mu.Unlock()
		x.envelopes = prove(c.cfg.Room, c.cfg.Identity, c.livesHere, p)
		return x, nil
	}
	s, text, ok := private(c.cfg.Room, c.cfg.Identity.id, p)
	if !ok || s.to == c.cfg.Identity.id { // who it is for is here: the others need not even carry it
		return extra{}, nil
	}
	c.mu.Lock()
	key := c.known[s.to].key
	c.mu.Unlock()
	x.sealed, err = s.seal(key, cut(text, maxText))
	return x, err
}

// reveal opens what is private, if it is for this device.
func (c *Client) reveal(e *Envelope) *Refusal {
	s, _, ok := private(c.cfg.Room, e.From, e.Packet)
	rel, released := e.Packet.(round.Release)
	if released && rel.For == c.cfg.Identity.id && e.sealed != "" {
		s, ok = sealing{c.cfg.Room, "release", rel.Said, e.From, rel.For}, true
	}
	if !ok || s.to != c.cfg.Identity.id {
		return nil
	}
	text, err := s.open(c.whisper, e.sealed)
	if err != nil {
		return refuse(ReasonSealed, "%v", err)
	}
	switch p := e.Packet.(type) {
	case round.Message:
		p.Text = text
		e.Packet = p
	case round.Release:
		p.Heard = &text
		e.Packet = p
	}
	return nil
}
