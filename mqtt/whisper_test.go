package mqtt

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// What is sealed opens for one device, in one room, as one message of one sender.
func TestSealedWordsBelongToOneMessage(t *testing.T) {
	alice, bob, mallory := fixed(1), fixed(2), fixed(3)
	key, err := bob.whisperKey()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := bob.whisperKey()
	if other, _ := mallory.whisperKey(); !bytes.Equal(key.PublicKey().Bytes(), again.PublicKey().Bytes()) || bytes.Equal(key.PublicKey().Bytes(), other.PublicKey().Bytes()) {
		t.Error("a device's key for what is private is not its own, and always the same")
	}
	s := sealing{"kitchen", "message", "m1", alice.id, bob.id}
	for _, text := range []string{"", "the cake is for Zoë", strings.Repeat("x", maxText)} {
		sealed, err := s.seal(key.PublicKey().Bytes(), text)
		if err != nil || len(sealed) > maxSealed {
			t.Fatal(len(sealed), err)
		}
		if got, err := s.open(key, sealed); err != nil || got != text {
			t.Errorf("%d bytes come back as %d, %v", len(text), len(got), err)
		}
		for name, wrong := range map[string]sealing{
			"another room": {"parlour", "message", "m1", alice.id, bob.id}, "something else": {"kitchen", "release", "m1", alice.id, bob.id},
			"another message": {"kitchen", "message", "m2", alice.id, bob.id}, "another sender": {"kitchen", "message", "m1", mallory.id, bob.id},
			"another receiver": {"kitchen", "message", "m1", alice.id, mallory.id},
		} {
			if got, err := wrong.open(key, sealed); !errors.Is(err, errSealed) {
				t.Errorf("%s: opened as %q, %v", name, got, err)
			}
		}
		theirs, _ := mallory.whisperKey()
		for name, bad := range map[string]string{"cut": sealed[:40], "none": "", "no base64": "%%%", "changed": "AAAA" + sealed[4:]} {
			if _, err := s.open(key, bad); !errors.Is(err, errSealed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.open(theirs, sealed); !errors.Is(err, errSealed) {
			t.Errorf("another device opens it: %v", err)
		}
	}
	short, _ := s.seal(key.PublicKey().Bytes(), "yes")
	longer, _ := s.seal(key.PublicKey().Bytes(), "no, and I do not want to")
	if len(short) != len(longer) {
		t.Errorf("%d and %d: its length tells yes from no", len(short), len(longer))
	}
	if _, err := s.seal(nil, "words"); !errors.Is(err, errNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

// A whisper and its answer, cut in the middle, between two of three devices: the third knows of it, and whoever reads everything at the
// broker finds no word. An older conch is told nothing.
func TestWordsInPrivateAreNotOnTheWire(t *testing.T) {
	const question, answer, heard = "where is the marzipan hidden", "behind the saffron tin", "behind the saffron"
	brokers(t, func(t *testing.T, url, _ string) {
		var mu sync.Mutex
		var wire []string
		end := make(chan bool, 64)
		raw, err := OpenRaw(t.Context(), Config{URL: url, Room: "kitchen", Identity: identity(t)}, string(identity(t).ID()), "conch/v1/kitchen/+/+", func(_ string, payload []byte) {
			mu.Lock()
			defer mu.Unlock()
			if wire = append(wire, string(payload)); bytes.Contains(payload, []byte("the end")) {
				end <- true
			}
		})
		if err != nil {
			t.Skip("the embedded broker lets nobody read everything: ", err)
		}
		defer raw.Close()
		a, b := pair(t, url)
		c := start(t, Config{URL: url}).up()
		meet(t, map[*device]round.Beat{a: cards("ada"), b: cards("ben"), c: cards("cleo")})
		whisper := person(a.cfg.Identity, "m1", question)
		whisper.To, whisper.For, whisper.Metadata = []round.Participant{"ben"}, b.ID(), round.PersonMetadata(question, nil)
		a.Send(whisper)
		reply := round.Message{ID: "m2", From: "ben", To: []round.Participant{round.Human(a.ID())}, For: a.ID(), Text: answer, Epoch: whisper.Epoch, Number: 2}
		_, m := next[round.Message](b)
		if m.Text != question || len(m.Envelope) > 0 {
			t.Errorf("for whom it is: %+v", m)
		}
		b.Send(reply)
		cut := heard
		b.Send(round.Release{Place: whisper.Place(), Companion: "ben", OK: true, Said: "m2", Heard: &cut, For: a.ID()})
		if _, m := next[round.Message](a); m.Text != answer {
			t.Errorf("the answer: %+v", m)
		}
		if _, r := next[round.Release](a); r.Heard == nil || *r.Heard != heard {
			t.Errorf("what was heard of it: %+v", r)
		}
		for range 2 {
			if _, m := next[round.Message](c); m.Text != "" || !m.Private() || m.Metadata.Intent != "" {
				t.Errorf("the third device: %+v", m)
			}
		}
		if _, r := next[round.Release](c); r.Heard != nil {
			t.Errorf("the third device: %+v", r)
		}
		// Said to one that lives here: the others know that, and nothing travels.
		whisper.ID, whisper.To, whisper.For = "m3", []round.Participant{"ada"}, a.ID()
		a.Send(whisper)
		next[round.Message](c)
		// To one that has announced no key, nothing goes at all.
		whisper.ID, whisper.To, whisper.For = "m4", []round.Participant{"zoe"}, fixed(9).id
		a.Send(whisper)
		whisper.ID, whisper.To, whisper.For, whisper.Text, whisper.Metadata = "m5", nil, "", "the end", round.Metadata{}
		a.Send(whisper)
		if _, m := next[round.Message](c); m.ID != "m5" || a.Stats().Unsent[unsentInvalid] != 1 {
			t.Errorf("%+v; not sent: %v", m, a.Stats().Unsent)
		}
		mqtttest.Await(t, end, "all that went over the wire")
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(wire, "\n")
		for _, word := range []string{"marzipan", "hidden", "saffron", "behind", "question"} {
			if strings.Contains(all, word) {
				t.Errorf("%q is on the wire", word)
			}
		}
		if !strings.Contains(all, "the end") || strings.Count(all, `"sealed":`) != 3 {
			t.Errorf("%d envelopes, %d of them with something sealed; this proves nothing", len(wire), strings.Count(all, `"sealed":`))
		}
	})
}

// Nobody sends private words in the clear, and from nobody are they taken so.
func TestPrivateWordsInTheClearAreRefused(t *testing.T) {
	id := fixed(1)
	m := person(id, "m1", "words")
	m.To, m.For = []round.Participant{"ben"}, fixed(2).id
	if _, b, err := Encode("kitchen", id, testSession, 7, m); err != nil || bytes.Contains(b, []byte("words")) {
		t.Errorf("%s, %v", b, err)
	}
	top := Topic("kitchen", KindMessages, id.id)
	for name, params := range map[string]string{
		"its words":     `{"id":"m1","from":"human:` + string(id.id) + `","to":["ben"],"for":"` + string(m.For) + `","text":"words","number":1,"metadata":{}}`,
		"to nobody":     `{"id":"m1","from":"human:` + string(id.id) + `","for":"` + string(m.For) + `","text":"","number":1,"metadata":{}}`,
		"to a person":   `{"id":"m1","from":"human:` + string(id.id) + `","to":["human:x"],"for":"` + string(m.For) + `","number":1,"metadata":{}}`,
		"for no device": `{"id":"m1","from":"human:` + string(id.id) + `","to":["ben"],"for":"ben","text":"","number":1,"metadata":{}}`,
	} {
		if _, r := openWhole("kitchen", top, sign(id, methodMessage, 7, params)); r == nil || r.Reason != ReasonFields {
			t.Errorf("%s: %v", name, r)
		}
	}
}
