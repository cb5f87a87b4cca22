package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"conch/companions/round"
	"conch/mqtt"
)

// quiet is a membership whose notes are handled at once, by whoever calls.
func quiet(t testing.TB) (host, member *device) {
	t.Helper()
	host, member = fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
	pair(t, host, member, "kitchen")
	host.stop()
	member.stop()
	return host, member
}

func (d *device) listNote(change func(*listBody)) mqtt.Note {
	r := d.rec
	b := listBody{Room: r.ID, Version: r.Version + 1, At: r.At, Members: slices.Clone(r.Members)}
	change(&b)
	return note(noteList, b)
}

func TestAListCountsOnlyFromTheHostAndOnlyWhenItIsNewer(t *testing.T) {
	host, member := quiet(t)
	third, stranger := identity(t).ID(), identity(t).ID()
	with := func(b *listBody) {
		b.Members = append(b.Members, listed{ID: third, Name: "cellar"})
	}
	if err := member.handle(host.id.ID(), host.listNote(with)); err != nil || !member.Member(third) {
		t.Fatalf("%v, %v", err, member.Room())
	}
	version := member.Room().Version
	for _, row := range []struct {
		name string
		from round.DeviceID
		note mqtt.Note
		want error // nil: any
	}{
		{"a recording of the one before", host.id.ID(), host.listNote(func(b *listBody) { b.Version-- }), errOldList},
		{"of a member that is not host", third, host.listNote(func(b *listBody) { b.Version = 99 }), ErrOtherHost},
		{"of a stranger", stranger, host.listNote(func(b *listBody) { b.Version = 99; with(b) }), ErrStranger},
		{"a certificate from a member", third, note(noteRenewed, renewedBody{member.id.ID(), host.rec.Cert}), ErrOtherHost},
		{"another's certificate from the host", host.id.ID(), note(noteRenewed, renewedBody{member.id.ID(), host.rec.Cert}), nil},
		{"without the host", host.id.ID(), host.listNote(func(b *listBody) {
			b.Version = 99
			b.Members = slices.DeleteFunc(b.Members, func(l listed) bool { return l.ID == host.id.ID() })
		}), nil},
		{"one name twice", host.id.ID(), host.listNote(func(b *listBody) {
			b.Version = 99
			b.Members = append(b.Members, listed{ID: third, Name: "Kitchen"})
		}), nil},
		{"more than a room can have", host.id.ID(), host.listNote(func(b *listBody) {
			b.Version = 99
			for i := range maxMembers {
				b.Members = append(b.Members, listed{ID: identity(t).ID(), Name: fmt.Sprint(i)})
			}
		}), nil},
		{"a version beyond all", host.id.ID(), host.listNote(func(b *listBody) { b.Version = maxVersion + 1 }), nil},
		{"no list", host.id.ID(), mqtt.Note{Method: noteList, Body: json.RawMessage(`{"room":5}`)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := member.handle(row.from, row.note)
			if err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%v; want %v", err, row.want)
			}
			if member.Room().Version != version || !member.Member(third) || member.Member(stranger) {
				t.Errorf("it counted: %+v", member.Room())
			}
		})
	}
	// Another room's list is none of ours.
	if err := member.handle(host.id.ID(), host.listNote(func(b *listBody) { b.Room, b.Version = "raaaaaaaaaaaaaaa", 99 })); err != nil || member.Room().Version != version {
		t.Errorf("%v", err)
	}
}

func TestOnlyMembersAskTheHost(t *testing.T) {
	host, member := quiet(t)
	eve, victim := identity(t), member.id.ID()
	for _, row := range []struct {
		name string
		from round.DeviceID
		note mqtt.Note
	}{
		{"a stranger admits itself", eve.ID(), note(noteAdmit, admitBody{"x", eve.ID(), eve.PublicKey(), "eve", ""})},
		{"a stranger removes", eve.ID(), note(noteRemove, removeBody{"x", victim, false})},
		{"a stranger leaves", eve.ID(), note(noteLeft, leftBody{})},
		{"a stranger's certificate", eve.ID(), note(noteRenew, renewBody{eve.PublicKey()})},
		{"a member admits another's id", victim, note(noteAdmit, admitBody{"x", victim, eve.PublicKey(), "eve", ""})},
		{"a member removes the host", victim, note(noteRemove, removeBody{"x", host.id.ID(), false})},
		{"a member wants a certificate for another key", victim, note(noteRenew, renewBody{eve.PublicKey()})},
		{"no request", victim, note(noteAdmit, admitBody{"", eve.ID(), eve.PublicKey(), "eve", ""})},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := host.handle(row.from, row.note); err == nil {
				t.Error("no error")
			}
			if r := host.Room(); len(r.Members) != 2 || r.Version != 2 {
				t.Errorf("it counted: %+v", r)
			}
		})
	}
}

// The host was restored from a backup: the members know a later list than it does. What it says counts again.
func TestAHostFromABackupIsBelievedAgain(t *testing.T) {
	host, member := quiet(t)
	if err := member.handle(host.id.ID(), host.listNote(func(b *listBody) { b.Version = 40 })); err != nil {
		t.Fatal(err)
	}
	if err := host.handle(member.id.ID(), note(noteAsk, askBody{Have: 40})); err != nil {
		t.Fatal(err)
	}
	if err := member.handle(host.id.ID(), host.rec.list()); err != nil || member.Room().Version != 41 {
		t.Errorf("%v, version %d", err, member.Room().Version)
	}
}

func TestARoomIsFullSomeday(t *testing.T) {
	host, _ := quiet(t)
	long := strings.Repeat("ж", maxName/2)
	for i := 2; i < maxMembers; i++ {
		id := identity(t)
		if _, err := host.admit(Party{id.ID(), id.PublicKey(), long}, host.id.ID(), ""); err != nil {
			t.Fatalf("member %d: %v", i, err)
		}
	}
	id := identity(t)
	if _, err := host.admit(Party{id.ID(), id.PublicKey(), "one more"}, host.id.ID(), ""); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if n := host.rec.list(); len(n.Body) > maxBody {
		t.Errorf("the list has %d bytes", len(n.Body))
	}
	again, err := Open(host.dir, host.id, Clock{})
	if err != nil || len(again.Room().Members) != maxMembers {
		t.Errorf("%v", err)
	}
}

func TestAWelcomeThatCannotBeUsed(t *testing.T) {
	host, b, c := fresh(t, Clock{}), fresh(t, Clock{}), fresh(t, Clock{})
	if err := host.Found("kitchen", "host", false); err != nil {
		t.Fatal(err)
	}
	welcome, err := host.Admit(t.Context(), b.party("kitchen"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Accept(host.party(""), welcome); !errors.Is(err, ErrWelcome) {
		t.Errorf("another's welcome: %v", err)
	}
	if err := b.Accept(c.party(""), welcome); !errors.Is(err, ErrWelcome) {
		t.Errorf("from a device that is not in the room: %v", err)
	}
	if err := b.Accept(host.party(""), welcome[:len(welcome)-1]); !errors.Is(err, ErrWelcome) {
		t.Errorf("cut: %v", err)
	}
	if b.Room() != nil || len(files(t, b.dir)) > 0 {
		t.Errorf("it is in: %+v", b.Room())
	}
	if err := b.Accept(host.party(""), welcome); err != nil {
		t.Fatal(err)
	}
	if err := b.Accept(host.party(""), welcome); !errors.Is(err, ErrPaired) {
		t.Errorf("twice: %v", err)
	}
	if err := b.Found("den", "den", false); !errors.Is(err, ErrPaired) {
		t.Errorf("founded in a room: %v", err)
	}
	if _, err := c.Admit(t.Context(), b.party("")); !errors.Is(err, ErrNotPaired) {
		t.Errorf("admitted without a room: %v", err)
	}
	if _, err := host.Admit(t.Context(), Party{b.id.ID(), c.id.PublicKey(), "b"}); err == nil {
		t.Error("admitted under another's key")
	}
}

func TestNamesInARoomAreUnique(t *testing.T) {
	r := &record{Members: []listed{{ID: "a", Name: "kitchen"}, {ID: "b", Name: "Kitchen 2"}}}
	long := strings.Repeat("ж", maxName)
	r.Members = append(r.Members, listed{ID: "c", Name: tidyName(long)})
	for want, name := range map[string]string{"KITCHEN 3": "KITCHEN", "device": " \n\x00", "cellar": "cellar\t ", "olleh": "\u202eolleh", tidyName(long)[:maxName-2] + " 2": long} {
		if got := r.freeName(name, "d"); got != want || !goodName(got) {
			t.Errorf("%q is called %q; want %q", name, got, want)
		}
	}
	if got := r.freeName("kitchen", "a"); got != "kitchen" {
		t.Errorf("the one that has it is called %q", got)
	}
}

func FuzzNote(f *testing.F) {
	host, member := quiet(f)
	for _, n := range []mqtt.Note{
		host.rec.list(), note(noteAsk, askBody{3}), note(noteAdmit, admitBody{"x", member.id.ID(), member.id.PublicKey(), "k", ""}),
		note(noteRemove, removeBody{"x", identityFor(f), false}), note(noteRenew, renewBody{member.id.PublicKey()}), note(noteLeft, leftBody{}),
		note(noteRenewed, renewedBody{member.id.ID(), member.rec.Cert}), note(noteAdmitted, answerBody{Request: "x", To: member.id.ID(), Welcome: json.RawMessage(`{}`)}),
		note(noteRefused, answerBody{Request: "x", To: member.id.ID(), Why: "full"}),
	} {
		f.Add(n.Method, []byte(n.Body))
	}
	f.Fuzz(func(t *testing.T, method string, body []byte) {
		host.store.dir, member.store.dir = "", ""
		n := mqtt.Note{Method: method, Body: body}
		h, m := host.rec, member.rec
		_ = host.handle(member.id.ID(), n)
		_ = member.handle(host.id.ID(), n)
		for _, d := range []*device{host, member} {
			if d.rec != nil {
				if err := d.rec.check(d.id); err != nil {
					t.Errorf("%s %s: %v", method, body, err)
				}
			}
		}
		for d, r := range map[*device]*record{host: h, member: m} { // and as before for the next one
			if err := d.adopt(r); err != nil {
				t.Fatal(err)
			}
			for len(d.changes) > 0 {
				<-d.changes
			}
		}
	})
}

func identityFor(f *testing.F) round.DeviceID { return identity(f).ID() }

func FuzzRoomFile(f *testing.F) {
	host, member := quiet(f)
	for _, d := range []*device{host, member} {
		data, err := mqtt.JSON(d.rec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data, member.id)
		if err != nil {
			return
		}
		again, err := mqtt.JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(again, member.id); err != nil {
			t.Errorf("%s is taken, and written as %s: %v", data, again, err)
		}
		if _, err := decode(data, host.id); err == nil {
			t.Error("it is two devices'")
		}
	})
}

// A welcome comes from whoever knew the code.
func FuzzWelcome(f *testing.F) {
	host, b := fresh(f, Clock{}), identity(f)
	if err := host.Found("kitchen", "host", false); err != nil {
		f.Fatal(err)
	}
	welcome, err := host.Admit(f.Context(), Party{b.ID(), b.PublicKey(), "kitchen"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(welcome)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Open("", b, Clock{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Accept(host.party(""), data); (err == nil) != (m.Room() != nil) || err == nil && m.IsHost() {
			t.Errorf("%v %+v", err, m.Room())
		}
	})
}
