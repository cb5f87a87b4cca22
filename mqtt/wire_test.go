package mqtt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/companions/words"
)

const testSession = "AAAAAAAAAAAAAAAAAAAAAA"

// fixed is an identity that is the same in every run.
func fixed(n byte) Identity {
	return identityOf(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
}

// samples has one packet of each kind, as sent by id, whose companion is ada.
func samples(id round.DeviceID) []round.Packet {
	place := round.Place{Epoch: round.Epoch{N: 3, Device: id}, Number: 1, Message: "01J9Z3"}
	vote := round.Vote{From: "ada", MessageID: "01J9Z3", State: round.StateSpeak, Importance: 7.5, Closing: round.ClosingNone,
		Reason: "a question about <bread> & more", Terms: []round.Term{{Name: "expertise", Value: 5, Why: "bread"}}, Spoke: 4}
	message := round.Message{ID: "01J9Z3", From: round.Human(id), To: []round.Participant{"ada"}, Text: "Zoë, 你好: how long does bread rise?",
		Turn: "t-1", Epoch: place.Epoch, Number: 1, Metadata: round.Metadata{Intent: words.Question, Tone: words.Neutral, Queue: []round.CompanionID{"ada"}}}
	heard, mute, inv := "two ho", true, round.InvolvementLow
	return []round.Packet{
		round.Beat{Name: "kitchen", Digest: "d1", Budget: 300, Epoch: place.Epoch, Turns: 12, Ask: true,
			Cards: []round.Card{{ID: "ada", Name: "Ada", Aliases: []string{"Adá"}, Expertise: []string{"bread"}, Talkativeness: -1}}},
		round.Beat{Name: "kitchen", Digest: "d0", Cards: []round.Card{}},
		round.Beat{Name: "kitchen", Digest: "d0", Left: true},
		round.Gone{},
		round.HistoryAsk{},
		message,
		round.History{To: fixed(9).id, Messages: []round.Message{}}, // its messages: TestHistoryIsProved
		round.Control{Companion: "ada", Involvement: &inv, Mute: &mute},
		round.Votes{Place: place, Votes: []round.Vote{vote}},
		round.Press{Epoch: place.Epoch, After: round.Epoch{N: 2, Device: fixed(9).id}},
		round.PressOver{Epoch: place.Epoch},
		round.Claim{Place: place, Companion: "ada", Votes: []round.Vote{vote}, Extras: []round.CompanionID{"ben"}, Instead: []round.CompanionID{"cy"}},
		round.Withdraw{Place: place, Companion: "ada", Why: "ben is more to the point"},
		round.Speaking{Place: place, Companion: "ada", LeftMS: 1200},
		round.Release{Place: place, Companion: "ada", OK: true, HeardMS: 900, Said: "01J9Z4", Heard: &heard},
		round.Ended{Place: place},
		round.Seen{Entry: round.Entry{Kind: round.EntryRound, Device: id, AtMS: 1.5, Place: &place, Message: &message,
			Decision: &round.Decision{Roster: []round.CompanionID{"ada"}, Votes: []round.Vote{vote}, Winner: "ada", Reason: "asked"}}},
	}
}

func TestEveryPacketRoundTrips(t *testing.T) {
	id := fixed(1)
	for i, p := range samples(id.id) {
		top, b, err := Encode("Küche 2", id, testSession, uint64(i+2), p)
		if err != nil {
			t.Fatalf("%T: %v", p, err)
		}
		e, r := openWhole("Küche 2", top, b)
		if r != nil {
			t.Fatalf("%T: %v", p, r)
		}
		if !reflect.DeepEqual(e.Packet, p) || e.From != id.id || e.Seq != uint64(i+2) || e.Session != testSession {
			t.Errorf("sent     %#v\nreceived %#v from %s, %d", p, e.Packet, e.From, e.Seq)
		}
		if !json.Valid(b) || isPress(b) != (methodOf[reflect.TypeOf(p)].name == methodPress) {
			t.Errorf("%T: valid JSON: %v, told as a press: %v", p, json.Valid(b), isPress(b))
		}
	}
}

// sign makes an envelope with parameters that Encode would not make.
func sign(id Identity, name string, seq uint64, params string) []byte {
	m := methodNamed(name)
	if m == nil {
		m = &method{name: name, kind: KindMessages}
	}
	return seal("kitchen", id, m, testSession, seq, []byte(params))
}

func TestWhatIsNotAnEnvelopeIsRefused(t *testing.T) {
	id, other := fixed(1), fixed(2)
	message := func(id Identity) (string, []byte) {
		top, b, err := Encode("kitchen", id, testSession, 2, round.Message{ID: "m1", From: round.Human(id.id), Text: "hello", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		return top, b
	}
	top, good := message(id)
	replace := func(old, new string) []byte {
		out := strings.Replace(string(good), old, new, 1)
		if out == string(good) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return []byte(out)
	}
	_, press, _ := Encode("kitchen", id, testSession, 3, round.Press{Epoch: round.Epoch{N: 1, Device: id.id}})
	for _, row := range []struct {
		name  string
		topic string
		b     []byte
		want  Reason
	}{
		{"as it should be", top, good, ""},
		{"an unknown field is ignored", top, replace(`{"jsonrpc"`, `{"later":[1],"jsonrpc"`), ""},
		{"empty", top, nil, ReasonMalformed},
		{"no JSON", top, []byte("turn it up"), ReasonMalformed},
		{"half of it", top, good[:len(good)/2], ReasonMalformed},
		{"a list", top, append(append([]byte("["), good...), ']'), ReasonMalformed},
		{"not UTF-8", top, replace("hello", "h\xffllo"), ReasonMalformed},
		{"too deep", top, replace(`{"jsonrpc"`, `{"later":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`,"jsonrpc"`), ReasonMalformed},
		{"too deep and unfinished", top, bytes.Repeat([]byte("["), 60000), ReasonMalformed},
		{"another version of JSON-RPC", top, replace(`"2.0"`, `"1.0"`), ReasonMalformed},
		{"a request", top, replace(`{"jsonrpc"`, `{"id":1,"jsonrpc"`), ReasonMalformed},
		{"no session", top, replace(testSession, ""), ReasonMalformed},
		{"too large", top, replace(`{"jsonrpc"`, `{"later":"`+strings.Repeat("x", MaxEnvelope)+`","jsonrpc"`), ReasonOversized},
		{"far too large", top, bytes.Repeat([]byte(" "), maxHistory+1), ReasonOversized},
		{"an unknown method", top, sign(id, "message.sing", 2, `{}`), ReasonMethod},
		{"in another room's topic", strings.Replace(top, "kitchen", "cellar", 1), good, ReasonTopic},
		{"under another kind", strings.Replace(top, "messages", "floor", 1), good, ReasonTopic},
		{"under an unknown kind", strings.Replace(top, "messages", "secrets", 1), good, ReasonTopic},
		{"a level deeper", top + "/more", good, ReasonTopic},
		{"under another device's name", Topic("kitchen", KindMessages, other.id), good, ReasonForged},
		{"another text", top, replace("hello", "adieu"), ReasonForged},
		{"one blank more in the parameters", top, replace(`"text":`, `"text": `), ReasonForged},
		{"another number", top, replace(`"seq":2`, `"seq":3`), ReasonForged},
		{"another session", top, replace(testSession, "BBBBBBBBBBBBBBBBBBBBBB"), ReasonForged},
		{"another method", Topic("kitchen", KindMessages, id.id), replace("message.send", "room.control"), ReasonForged},
		{"another's key", top, replace(b64.EncodeToString(id.key.Public().(ed25519.PublicKey)), b64.EncodeToString(other.key.Public().(ed25519.PublicKey))), ReasonForged},
		{"no signature", top, replace(`"sig":"`, `"sig":"!`), ReasonForged},
		{"signed for another room", strings.Replace(top, "kitchen", "kitchen", 1), seal("cellar", id, methodNamed(methodMessage), testSession, 2, []byte(`{}`)), ReasonForged},
		{"parameters that are a list", top, sign(id, methodMessage, 2, `[]`), ReasonFields},
		{"parameters of another type", top, sign(id, methodMessage, 2, `{"text":7}`), ReasonFields},
		{"no id", top, sign(id, methodMessage, 2, `{"from":"ada","text":"x"}`), ReasonFields},
		{"a text too long", top, sign(id, methodMessage, 2, `{"id":"m","from":"ada","text":"`+strings.Repeat("x", maxText+1)+`"}`), ReasonFields},
		{"too many to", top, sign(id, methodMessage, 2, `{"id":"m","from":"ada","to":["b"`+strings.Repeat(`,"b"`, maxTo)+`]}`), ReasonFields},
		{"another's press", Topic("kitchen", KindFloor, other.id), seal("kitchen", other, methodNamed(methodPress), testSession, 2, []byte(`{"epoch":{"n":1,"device":"`+string(id.id)+`"}}`)), ReasonFrom},
		{"a press", Topic("kitchen", KindFloor, id.id), press, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, r := openWhole("kitchen", row.topic, row.b)
			got := Reason("")
			if r != nil {
				got = r.Reason
			}
			if got != row.want || (got == "") != (e.Packet != nil) {
				t.Errorf("refused for %q (%v); want %q", got, r, row.want)
			}
		})
	}
}

// ROOM.md 2, seed (aikyo, StateBody): out-of-range, missing or unknown-enum fields reject the vote.
func TestAVotesFieldsAreChecked(t *testing.T) {
	id := fixed(1)
	place := `"place":{"epoch":{"n":1,"device":"` + string(id.id) + `"},"number":1,"messageId":"m1"}`
	const good = `{"from":"ada","messageId":"m1","state":"speak","importance":5,"selected":false,"closing":"none","reason":"r"}`
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, row := range []struct{ name, vote string }{
		{"no from", swap(`"from":"ada",`, "")},
		{"no messageId", swap(`"messageId":"m1",`, "")},
		{"no state", swap(`"state":"speak",`, "")},
		{"no importance", swap(`"importance":5,`, "")},
		{"no selected", swap(`"selected":false,`, "")},
		{"no closing", swap(`"closing":"none",`, "")},
		{"importance above", swap(`:5,`, ":10.01,")},
		{"importance below", swap(`:5,`, ":-1,")},
		{"an unknown state", swap("speak", "shout")},
		{"an unknown closing", swap("none", "nearly")},
		{"another message", swap(`"m1"`, `"m2"`)},
		{"a person's", swap(`"ada"`, `"human:ada"`)},
		{"null", "null"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := sign(id, methodState, 2, `{`+place+`,"states":[`+row.vote+`,`+strings.Replace(good, "ada", "ben", 1)+`]}`)
			e, r := openWhole("kitchen", Topic("kitchen", KindStates, id.id), b)
			if r != nil {
				t.Fatalf("refused whole: %v", r)
			}
			v := e.Packet.(round.Votes).Votes
			if len(v) != 1 || v[0].From != "ben" || len(e.votes) != 1 || e.votes[0].Reason != ReasonVote {
				t.Errorf("votes %v, refused %v; want ben's alone, and one refusal", v, e.votes)
			}
			claim := sign(id, methodClaim, 2, `{`+place+`,"companion":"ada","states":[`+row.vote+`]}`)
			if _, r := openWhole("kitchen", Topic("kitchen", KindFloor, id.id), claim); r == nil {
				t.Error("a claim with this vote is taken")
			}
		})
	}
	many := sign(id, methodState, 2, `{`+place+`,"states":[`+strings.TrimSuffix(strings.Repeat(good+",", maxVotes+1), ",")+`]}`)
	if _, r := openWhole("kitchen", Topic("kitchen", KindStates, id.id), many); r == nil || r.Reason != ReasonFields {
		t.Errorf("%d votes: %v", maxVotes+1, r)
	}
}

// What does not fit loses first what no choice depends on.
func TestTooLargePacketsAreMadeToFit(t *testing.T) {
	id := fixed(1)
	place := round.Place{Epoch: round.Epoch{N: 1, Device: id.id}, Number: 1, Message: "m1"}
	claim := round.Claim{Place: place, Companion: "c0"}
	for i := range maxVotes {
		v := round.Vote{From: round.CompanionID(fmt.Sprint("c", i)), MessageID: "m1", State: round.StateSpeak, Importance: 3, Closing: round.ClosingNone, Reason: strings.Repeat("y", 300)}
		for range 10 {
			v.Terms = append(v.Terms, round.Term{Name: "novelty", Value: 1, Why: strings.Repeat("z", 60)})
		}
		claim.Votes = append(claim.Votes, v)
	}
	text := strings.Repeat("é", maxText)
	history := round.History{To: id.id}
	for i := range 2 * maxMessages {
		history.Messages = append(history.Messages, round.Message{ID: round.MessageID(fmt.Sprint("m", i)), From: "ada", Text: text, Number: 1})
	}
	for _, p := range []round.Packet{
		claim, round.Votes{Place: place, Votes: claim.Votes}, history,
		round.Message{ID: "m1", From: "ada", Text: text, Number: 1},
		round.Seen{Entry: round.Entry{Kind: round.EntryRound, Device: id.id, Decision: &round.Decision{Votes: claim.Votes}}},
	} {
		top, b, err := Encode("kitchen", id, testSession, 2, p)
		if err != nil {
			t.Fatalf("%T: %v", p, err)
		}
		e, r := openWhole("kitchen", top, b)
		if r != nil {
			t.Fatalf("%T of %d bytes: %v", p, len(b), r)
		}
		switch got := e.Packet.(type) {
		case round.Claim:
			if len(got.Votes) != maxVotes || got.Votes[5].Importance != 3 {
				t.Errorf("of %d votes %d are left", maxVotes, len(got.Votes))
			}
		case round.History:
			last := e.envelopes[len(e.envelopes)-1]
			if want := history.Messages[len(history.Messages)-1].ID; len(got.Messages) > 0 || len(e.envelopes) < 20 || !strings.Contains(last, `"`+string(want)+`"`) {
				t.Errorf("%d envelopes, the newest message is %.80s; want %s", len(e.envelopes), last, want)
			}
		}
	}
	if claim.Votes[0].Terms == nil || len(history.Messages) != 2*maxMessages {
		t.Error("the caller's packet was changed")
	}
	if _, _, err := Encode("kitchen", id, testSession, 2, round.Press{Epoch: round.Epoch{N: 1, Device: "another"}}); err == nil {
		t.Error("a press under another's name is sent")
	}
}

func TestWhoLivesWhere(t *testing.T) {
	d := directory{}
	a, b := fixed(1).id, fixed(2).id
	place := round.Place{Message: "m"}
	check := func(from round.DeviceID, p round.Packet, want Reason) {
		t.Helper()
		got := Reason("")
		if r := d.lives(from, p); r != nil {
			got = r.Reason
		}
		if got != want {
			t.Errorf("%#v from %s: %q; want %q", p, from, got, want)
		}
	}
	check(a, round.Message{From: round.Human(a)}, "")
	check(a, round.Message{From: round.Human(b)}, ReasonFrom)
	check(a, round.Message{From: "ada"}, ReasonCards)
	check(a, round.Press{}, "")
	d.learn(a, cards("ada", "amy"), nil)
	d.learn(b, cards(), nil)
	d.learn(a, round.Beat{Digest: "cards as before"}, nil)
	check(a, round.Message{From: "ada"}, "")
	check(b, round.Message{From: "ada"}, ReasonFrom)
	for _, p := range []round.Packet{
		round.Claim{Place: place, Companion: "ada"}, round.Withdraw{Companion: "ada"}, round.Speaking{Companion: "ada"},
		round.Release{Companion: "ada"}, round.Votes{Votes: []round.Vote{{From: "ada"}}},
	} {
		check(a, p, "")
		check(b, p, ReasonFrom)
	}
	check(a, round.Votes{Votes: []round.Vote{{From: "ada"}, {From: "ben"}}}, ReasonFrom)
	d.learn(a, cards("amy"), nil)
	check(a, round.Message{From: "ada"}, ReasonFrom)
	check(a, round.Speaking{Companion: "ada"}, "") // an answer keeps the name that it began with
	check(a, round.Votes{Votes: []round.Vote{{From: "ada"}}}, "")
	check(a, round.Speaking{Companion: "ben"}, ReasonFrom)
	for i := range 3 * maxFormer {
		d.learn(a, cards(round.CompanionID(fmt.Sprint("ada-", i))), nil)
	}
	check(a, round.Speaking{Companion: "ada"}, ReasonFrom)
	if n := len(d[a].former); n > maxFormer {
		t.Errorf("%d former names are kept", n)
	}
}

// The short way of reading an envelope is a short way only: what it takes reads the same the long way.
func checkSealed(t *testing.T, b []byte) (short bool) {
	t.Helper()
	var quick, slow frame
	if !quick.sealed(b) {
		return false
	}
	if !json.Valid(quick.Params) {
		return true // refused when they are read, long after which way was taken
	}
	if err := json.Unmarshal(b, &slow); err != nil || !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%s\nread as %+v\nthe long way %+v, %v", b, quick, slow, err)
	}
	return true
}

func TestOwnFormIsReadTheShortWay(t *testing.T) {
	id := fixed(1)
	for i, p := range samples(id.id) {
		_, b, err := Encode("kitchen", id, testSession, uint64(i)*12345678901, p)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 != checkSealed(t, b) {
			t.Errorf("%T, number %d: read the short way: %v", p, i, i == 0) // the number 0 is nobody's
		}
	}
}

func FuzzDecode(f *testing.F) {
	id := fixed(1)
	for i, p := range samples(id.id) {
		top, b, err := Encode("kitchen", id, testSession, uint64(i+2), p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(top, b, []byte("{}"))
		_, params, _ := pack(id.id, p, extra{})
		f.Add(top, b, params)
	}
	f.Fuzz(func(t *testing.T, top string, b, params []byte) {
		checkSealed(t, b)
		checkSealed(t, sign(id, methodMessage, 2, string(params)))
		// Bytes that nobody signed never become a packet other than the ones above.
		if e, r := openWhole("kitchen", top, b); r == nil && e.From != id.id {
			t.Fatalf("%s was believed", b)
		}
		// A member may say anything: it is refused, or it is within bounds and can be said again.
		for i := range methods {
			m := &methods[i]
			e, r := openWhole("kitchen", Topic("kitchen", m.kind, id.id), seal("kitchen", id, m, testSession, 2, params))
			if r != nil || e.Packet == nil {
				continue
			}
			_ = directory{}.lives(e.From, e.Packet)
			top, again, err := Encode("kitchen", id, testSession, 3, e.Packet)
			if err != nil {
				t.Fatalf("%s: %#v was taken and cannot be sent: %v", m.name, e.Packet, err)
			}
			if _, r := openWhole("kitchen", top, again); r != nil {
				t.Fatalf("%s: %#v was taken, sent and refused: %v", m.name, e.Packet, r)
			}
		}
	})
}

func FuzzGuard(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Fuzz(func(t *testing.T, b []byte) {
		g := newGuard("self", "mine", 0)
		for i := 0; i+3 < len(b); i += 4 {
			e := &Envelope{From: round.DeviceID(fmt.Sprint(b[i] % 5)), Session: fmt.Sprint(b[i]%5, "/", b[i+1]%5), Seq: uint64(b[i+2]), Size: 1 + int(b[i+3])*600, Packet: round.Beat{}}
			switch b[i+3] % 5 {
			case 0:
				e.Packet, e.hello = nil, &hello{Prove: []round.DeviceID{"self"}, Heard: []heard{{Session: "mine", AgeMS: int64(b[i+1]) * 10, Hello: uint64(b[i+1] % 8), Since: uint64(b[i+3])}}}
			case 1:
				e.Packet, e.hello = nil, &hello{}
			case 2:
				e.Packet = round.Gone{}
			}
			now := g.born + time.Duration(i*3)*time.Millisecond
			out, _ := g.admit(now, e)
			for _, d := range out {
				if d.hello != nil {
					t.Fatal("a hello was delivered")
				}
			}
			g.hello(now)
			g.expire(now)
			if len(g.peers) > maxPeers {
				t.Fatal("too many peers")
			}
			for _, p := range g.peers {
				if len(p.candidates) > maxCandidates || len(p.owed) > maxCandidates+1 {
					t.Fatalf("%d candidates, %d owed", len(p.candidates), len(p.owed))
				}
			}
		}
	})
}
