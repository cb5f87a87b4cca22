package device

import (
	"fmt"
	"testing"

	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/mqtt/mqtttest"
)

// hush is what POST /hush answers at this device.
func (x *inFlat) hush() (h control.Hushed) {
	x.t.Helper()
	x.Hush()
	return x.room.Hushed(x.t.Context(), x.now())
}

// A hush names the devices that have confirmed it, and those that have not: while the link is cut, when that is known, and when it is whole again.
func TestHushSaysWhoHasConfirmed(t *testing.T) {
	f := newFlat(t)
	cable, err := mqtttest.NewProxy(f.url[len("mqtt://"):])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cable.Close)
	f.near = func(int) []string { return nil } // the broker is the only way
	hall := f.raise("hall", "Ada", boxOptions{config: func(c *config.Config) { c.Room.Broker = cable.URL() }})
	bed := f.raise("bed", "Ben", boxOptions{})
	f.meet()
	want := func(when string, x *inFlat, want string) {
		t.Helper()
		if h := x.hush(); fmt.Sprint(h.Silent, h.Unconfirmed, h.Unreached, h.Away, h.Room) != want {
			t.Errorf("%s: %q, %+v; want %s", when, h.Words(language.English), h, want)
		}
	}
	want("whole", hall, "[bed] [] [] [] true")
	want("whole, from the other side", bed, "[hall] [] [] [] true")
	cable.Freeze() // everything is accepted, and nothing arrives
	want("frozen", hall, "[] [] [bed] [] false")
	want("the other side is frozen", bed, "[] [hall] [] [] false")
	hall.until("alone", func() bool { return len(hall.room.Room.Members()) == 1 })
	bed.until("alone", func() bool { return len(bed.room.Room.Members()) == 1 })
	want("cut", hall, "[] [] [bed] [] false")
	want("the other side is cut, or switched off", bed, "[] [] [] [hall] false")
	if !(control.Hushed{Away: []string{"hall"}}).Whole() {
		t.Error("a device that is switched off is a failure of each hush")
	}
	cable.Heal()
	f.meet()
	want("whole again", hall, "[bed] [] [] [] true")
	bed.room.Room.Deliver(hall.self, round.Beat{Name: "hall", Left: true})
	bed.until("that it has left", func() bool { return len(bed.room.Room.Members()) == 1 })
	if h := bed.hush(); len(h.Unreached)+len(h.Unconfirmed) > 0 {
		t.Errorf("a device that said goodbye is asked for: %+v", h)
	}
}

// While TCP stands still and when the broker is given up, a press goes by the second way: the other device is silent, and says so.
func TestAPressGoesByASecondWay(t *testing.T) {
	f := newFlat(t)
	cable, err := mqtttest.NewProxy(f.url[len("mqtt://"):])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cable.Close)
	hall := f.raise("hall", "Ada", boxOptions{config: func(c *config.Config) { c.Room.Broker = cable.URL() }})
	bed := f.raise("bed", "Ben", boxOptions{})
	f.meet()
	cable.Freeze()
	for _, when := range []string{"frozen", "alone"} {
		before := bed.speaker.Silenced()
		if h := hall.hush(); fmt.Sprint(h.Silent) != "[bed]" || bed.speaker.Silenced() == before {
			t.Errorf("%s: %+v", when, h)
		}
		before = hall.speaker.Silenced()
		if h := bed.hush(); fmt.Sprint(h.Silent) != "[hall]" || hall.speaker.Silenced() == before {
			t.Errorf("%s, from the other side: %+v", when, h)
		}
		hall.until("alone", func() bool { return len(hall.room.Room.Members()) == 1 })
		bed.until("alone", func() bool { return len(bed.room.Room.Members()) == 1 })
	}
	hall.calmAlone()
}

// calmAlone: nobody's press by the second way keeps the floor from who is alone.
func (x *inFlat) calmAlone() {
	x.t.Helper()
	x.until("a free floor", func() bool { return !x.room.Room.Taken() })
}
