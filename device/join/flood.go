package join

import (
	"fmt"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/printable"
	"conch/mqtt"
	"conch/mqtt/broker"
)

// flooded makes a condition of a member that says more than one may, and ends it.
func (l *Link) flooded(f mqtt.Flood) {
	code := condition.RoomFlooded
	if f.From != "" {
		code = code.Of(string(f.From))
	}
	if f.Over {
		l.o.Conditions.Clear(code)
		return
	}
	text, do := floodTrouble(f, l.called(f.From), f.From == l.Self(), l.foreign(), l.Room() != nil)
	l.o.Conditions.Set(code, text, do)
}

// called is what the list of members calls a device, else its id.
func (l *Link) called(id round.DeviceID) string {
	if room := l.Room(); room != nil {
		if m, ok := room.Member(id); ok && m.Name != "" {
			return m.Name
		}
	}
	return string(id)
}

// floodTrouble is a flood in words. At a foreign broker, a name on what nobody has signed proves nothing.
func floodTrouble(f mqtt.Flood, name string, self, foreign, paired bool) (text, do string) {
	much := fmt.Sprintf("%d envelopes (%d KiB) beyond what one may say in %d s were not looked at",
		f.Envelopes, (f.Bytes+1023)/1024, max(1, int(f.For.Seconds())))
	const list = "give the broker an access list (conch room acl)"
	remove := removal(name)
	if !paired {
		remove = "take " + name + " out of room.members on every device"
	}
	switch {
	case f.From == "":
		return "devices that are not of the room flood it: " + much, list
	case self:
		return "somebody floods the room under this device's name: " + much, list
	case foreign && !f.Signed:
		return "somebody floods the room under the name of " + name + ": " + much, list + "; if it has one: " + remove
	}
	return name + " floods the room: " + much, "if it does not end: " + remove
}

// removal is the command that puts a member out for good.
func removal(name string) string {
	return "conch room remove " + printable.Arg(name)
}

// ofACopy is what to do with two devices that have one key.
const ofACopy = "one card is a copy of the other: on one of the two devices delete identity.key in the state directory (on an appliance " +
	"/var/lib/conch), restart it, and let it into the room again"

// offended makes a condition of a member that the broker of this device has put out, until that is forgotten. One that does not read may have
// been switched off in a hurry: the first time is none.
func (l *Link) offended(o broker.Offence) {
	if o.What == broker.ExcessSlow && o.Times < 2 {
		return
	}
	code, name := condition.RoomKeptOut.Of(string(o.Device)), l.called(o.Device)
	text := fmt.Sprintf("%s %s", name, o)
	if o.Out > 0 {
		text += fmt.Sprintf("; it is kept out for %v (time %d in a row)", o.Out, o.Times)
	}
	do := "switch " + name + " off and on again; if it does not end: " + removal(name)
	if o.Twin {
		do = ofACopy
	}
	l.o.Conditions.Set(code, text, do)
	last := time.AfterFunc(o.Out+broker.Forgiveness, func() { l.o.Conditions.Clear(code) })
	if before, ok := l.offences.Swap(o.Device, last); ok {
		before.(*time.Timer).Stop() //nolint:forcetypeassert // nothing else is in it
	}
}

// pardon ends that, for a device that is no longer of the room.
func (l *Link) pardon(id round.DeviceID) {
	if last, ok := l.offences.LoadAndDelete(id); ok {
		last.(*time.Timer).Stop() //nolint:forcetypeassert // as above
		l.o.Conditions.Clear(condition.RoomKeptOut.Of(string(id)))
	}
}
