package mqtt

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

func TestNotesReachTheOthers(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	notes := make(chan Note, 4)
	x := start(t, Config{URL: b.URL()}).up()
	y := start(t, Config{URL: b.URL(), OnNote: func(from round.DeviceID, n Note) {
		if from == x.ID() {
			notes <- n
		}
	}}).up()
	large := Note{"members.list", json.RawMessage(`{"a":"` + strings.Repeat("x", maxNote-8) + `"}`)}
	x.SendNote(large)
	x.SendNote(Note{"members.ask", json.RawMessage(`{ "have": 3 }`)})
	if n := mqtttest.Await(t, notes, "a large note"); n.Method != large.Method || !bytes.Equal(n.Body, large.Body) {
		t.Errorf("%s, %d bytes", n.Method, len(n.Body))
	}
	if n := mqtttest.Await(t, notes, "a note"); n.Method != "members.ask" || string(n.Body) != `{ "have": 3 }` {
		t.Errorf("%s %s", n.Method, n.Body)
	}
	for _, bad := range []Note{
		{"floor.press", json.RawMessage(`{}`)}, {"members.", json.RawMessage(`{}`)}, {"members.A", json.RawMessage(`{}`)},
		{"members.ask", nil}, {"members.ask", json.RawMessage(`[]`)}, {"members.ask", json.RawMessage(`{`)},
		{"members.ask", json.RawMessage(`{"a":"` + strings.Repeat("x", maxNote) + `"}`)},
	} {
		was := x.Stats().Unsent[unsentInvalid]
		x.SendNote(bad)
		if x.Stats().Unsent[unsentInvalid] != was+1 {
			t.Errorf("%s %.20s is sent", bad.Method, bad.Body)
		}
	}
	_ = y
}

func TestANoteThatAnotherSigned(t *testing.T) {
	a := fixed(1)
	m := noteMethod("members.list")
	b := seal("kitchen", a, m, testSession, 2, []byte(`{"version":1}`))
	if e, r := openWhole("kitchen", Topic("kitchen", KindMembers, a.id), b); r != nil || e.Note == nil || string(e.Note.Body) != `{"version":1}` {
		t.Fatalf("%v", r)
	}
	for name, row := range map[string]struct {
		topic string
		b     []byte
		want  Reason
	}{
		"under another's name":  {Topic("kitchen", KindMembers, fixed(2).id), b, ReasonForged},
		"with another method":   {Topic("kitchen", KindMembers, a.id), bytes.Replace(b, []byte("members.list"), []byte("members.left"), 1), ReasonForged},
		"with another version":  {Topic("kitchen", KindMembers, a.id), bytes.Replace(b, []byte(`n":1`), []byte(`n":2`), 1), ReasonForged},
		"under another kind":    {Topic("kitchen", KindFloor, a.id), b, ReasonTopic},
		"from another room":     {Topic("cellar", KindMembers, a.id), b, ReasonForged},
		"a packet as a note":    {Topic("kitchen", KindMembers, a.id), bytes.Replace(b, []byte("members.list"), []byte("floor.press"), 1), ReasonTopic},
		"a method nobody knows": {Topic("kitchen", KindMembers, a.id), bytes.Replace(b, []byte("members.list"), []byte("members.LIST"), 1), ReasonMethod},
	} {
		room := "kitchen"
		if strings.Contains(row.topic, "cellar") {
			room = "cellar"
		}
		if _, r := openWhole(room, row.topic, row.b); r == nil || r.Reason != row.want {
			t.Errorf("%s: %v; want %s", name, r, row.want)
		}
	}
}

func FuzzNote(f *testing.F) {
	id := fixed(1)
	f.Add("members.list", []byte(`{"version":1}`))
	f.Add("members.", []byte(`{}`))
	f.Fuzz(func(t *testing.T, method string, body []byte) {
		m := noteMethod(method)
		if ok := (Note{method, body}).check() == nil; ok && m == nil {
			t.Fatalf("%q can be sent and not be read", method)
		}
		if m == nil {
			return
		}
		e, r := openWhole("kitchen", Topic("kitchen", KindMembers, id.id), seal("kitchen", id, m, testSession, 2, body))
		if r != nil {
			return
		}
		if e.Note == nil || e.Note.Method != method {
			t.Fatalf("%q became %+v", method, e.Note)
		}
		if err := e.Note.check(); err != nil && len(e.Note.Body) <= maxNote {
			t.Fatalf("it was taken and cannot be sent: %v", err)
		}
	})
}
