package join

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/mqtt"
	"conch/mqtt/broker"
)

// A flood is told with the command that ends it, and never blames a member for what anybody can have said.
func TestFloodIsTold(t *testing.T) {
	for _, c := range []struct {
		name                          string
		from                          string
		signed, self, foreign, paired bool
		text, do                      string
	}{
		{"a member", "p", true, false, false, true, "pantry floods the room: 12000 envelopes (2930 KiB) beyond what one may say in 2 s were not looked at", "if it does not end: conch room remove pantry"},
		{"unsigned, behind an access list", "p", false, false, false, true, "pantry floods the room: ", "if it does not end: conch room remove pantry"},
		{"signed, at a foreign broker", "p", true, false, true, true, "pantry floods the room: ", "if it does not end: conch room remove pantry"},
		{"unsigned there", "p", false, false, true, true, "somebody floods the room under the name of pantry: ", "give the broker an access list (conch room acl); if it has one: conch room remove pantry"},
		{"not paired", "p", true, false, true, false, "pantry floods the room: ", "if it does not end: take pantry out of room.members on every device"},
		{"under our name", "p", false, true, true, true, "somebody floods the room under this device's name: ", "give the broker an access list (conch room acl)"},
		{"strangers", "", false, false, true, true, "devices that are not of the room flood it: ", "give the broker an access list (conch room acl)"},
	} {
		f := mqtt.Flood{From: round.DeviceID(c.from), Envelopes: 12000, Bytes: 3_000_000, For: 2 * time.Second, Signed: c.signed}
		text, do := floodTrouble(f, "pantry", c.self, c.foreign, c.paired)
		if !strings.HasPrefix(text, c.text) || do != c.do {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, text, do, c.text, c.do)
		}
	}
	l := &Link{o: LinkOptions{Conditions: condition.NewBook(slog.New(slog.DiscardHandler))}}
	l.flooded(mqtt.Flood{From: "pantry", Envelopes: 1})
	if !l.o.Conditions.Holds("room.flooded.pantry") || condition.Code("room.flooded.pantry").Severity() != condition.Note {
		t.Errorf("conditions: %v", l.o.Conditions.List())
	}
	l.flooded(mqtt.Flood{From: "pantry", Over: true})
	if n := len(l.o.Conditions.List()); n != 0 {
		t.Errorf("%d conditions when it is over", n)
	}
}

// A member that the broker has put out is told with the command that ends it, until it has behaved for a while, or is removed.
func TestWhoIsKeptOutIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Link{o: LinkOptions{Conditions: condition.NewBook(slog.New(slog.DiscardHandler))}}
		const code = condition.Code("room.kept_out.pantry")
		l.offended(broker.Offence{Device: "pantry", What: broker.ExcessSlow, Count: 10, Times: 1, Out: 10 * time.Second})
		if l.o.Conditions.Holds(code) {
			t.Error("once asleep is no offence")
		}
		l.offended(broker.Offence{Device: "pantry", What: broker.ExcessPackets, Count: 512, Limit: 50, Times: 2, Out: 20 * time.Second})
		c := l.o.Conditions.List()[0]
		if c.Text != "pantry floods the room: 512 packets and no end; 50 a second are allowed; it is kept out for 20s (time 2 in a row)" ||
			!strings.HasSuffix(c.Do, ": conch room remove pantry") || c.Code != code || c.Code.Severity() != condition.Note {
			t.Errorf("%+v", c)
		}
		time.Sleep(broker.Forgiveness)
		l.offended(broker.Offence{Device: "pantry", What: broker.ExcessPackets, Times: 3, Out: 40 * time.Second})
		time.Sleep(broker.Forgiveness)
		if !l.o.Conditions.Holds(code) {
			t.Error("forgotten too early")
		}
		time.Sleep(41 * time.Second)
		if l.o.Conditions.Holds(code) {
			t.Error("never forgotten")
		}
		l.offended(broker.Offence{Device: "pantry", What: broker.ExcessBytes, Times: 1, Out: 10 * time.Second})
		l.offended(broker.Offence{Device: "cellar", What: broker.ExcessConnects, Twin: true, Times: 1, Out: 10 * time.Second})
		if !l.o.Conditions.Holds("room.kept_out.cellar") {
			t.Error("a copied card is not named")
		}
		for _, c := range l.o.Conditions.List() {
			if c.Code == "room.kept_out.cellar" && (!strings.HasPrefix(c.Text, "cellar is two devices with one identity") || !strings.Contains(c.Do, "identity.key")) {
				t.Errorf("a copied card: %+v", c)
			}
		}
		if _, text, do := pairedTrouble(fmt.Errorf("%w soon", mqtt.ErrTaken), "hall"); !strings.HasPrefix(text, "two devices have the identity") || do != ofACopy {
			t.Errorf("at the copied device: %q, %q", text, do)
		}
		l.drop("pantry")
		if l.o.Conditions.Holds(code) {
			t.Error("removed, and still told")
		}
	})
}
