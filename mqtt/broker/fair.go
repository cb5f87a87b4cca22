package broker

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"
)

// fair is what waits to be written to one client, by whose topic it is: senders take turns, and who has the most waiting loses what is
// too much. So nobody waits behind a flood, and nobody is put out because of somebody else's.
type fair struct {
	answers [][]byte   // to what the client itself asked: before everything else, and never dropped
	asked   int        // bytes of them
	turns   []*backlog // whoever has something waiting; the first is next
	bytes   int        // of all, answers included
}

// backlog is one sender's.
type backlog struct {
	sender  string
	packets [][]byte
	bytes   int
}

// push takes a packet in, and says what was dropped for it: nothing waits in excess of most bytes but answers.
func (f *fair) push(b []byte, most int) (dropped [][]byte) {
	f.bytes += len(b)
	if b[0]>>4 != packets.Publish {
		f.answers = append(f.answers, b)
		f.asked += len(b)
		return nil
	}
	sender := senderOf(b)
	i := slices.IndexFunc(f.turns, func(l *backlog) bool { return l.sender == sender })
	if i < 0 {
		i = len(f.turns)
		f.turns = append(f.turns, &backlog{sender: sender})
	}
	l := f.turns[i]
	l.packets = append(l.packets, b)
	l.bytes += len(b)
	for f.bytes-f.asked > most {
		longest := slices.MaxFunc(f.turns, func(a, b *backlog) int { return a.bytes - b.bytes })
		last := len(longest.packets) - 1
		dropped = append(dropped, longest.packets[last])
		longest.packets = slices.Delete(longest.packets, last, last+1)
		longest.bytes -= len(dropped[len(dropped)-1])
		f.bytes -= len(dropped[len(dropped)-1])
		f.turns = slices.DeleteFunc(f.turns, func(l *backlog) bool { return len(l.packets) == 0 })
	}
	return dropped
}

// pop gives packets of so many bytes, or one that is larger; nil: nothing waits.
func (f *fair) pop(unit int) []byte {
	var out []byte
	add := func(b []byte) bool {
		if len(out) > 0 && len(out)+len(b) > unit {
			return false
		}
		if out == nil {
			out = b
		} else {
			out = append(out, b...)
		}
		f.bytes -= len(b)
		return true
	}
	for len(f.answers) > 0 && add(f.answers[0]) {
		f.asked -= len(f.answers[0])
		f.answers = slices.Delete(f.answers, 0, 1)
	}
	for len(f.answers) == 0 && len(f.turns) > 0 && add(f.turns[0].packets[0]) {
		l := f.turns[0]
		l.bytes -= len(l.packets[0])
		l.packets = slices.Delete(l.packets, 0, 1)
		f.turns = slices.Delete(f.turns, 0, 1)
		if len(l.packets) > 0 {
			f.turns = append(f.turns, l)
		}
	}
	if f.bytes == 0 {
		*f = fair{}
	}
	return out
}

// publication takes an encoded PUBLISH apart (MQTT 3.1.1, 3.3): where its topic begins and ends.
func publication(b []byte) (from, to int) {
	_, digits := binary.Uvarint(b[1:])
	if from = 1 + digits + 2; digits <= 0 || len(b) < from {
		return 0, 0
	}
	return from, min(from+int(binary.BigEndian.Uint16(b[from-2:])), len(b))
}

// senderOf is the last level of a topic, where its one writer stands.
func senderOf(b []byte) string {
	from, to := publication(b)
	topic := string(b[from:to])
	return topic[strings.LastIndexByte(topic, '/')+1:]
}

// numbered is the number under which a message of QoS 1 is acknowledged.
func numbered(b []byte) (uint16, bool) {
	_, to := publication(b)
	if b[0]>>4 != packets.Publish || b[0]&0x06 == 0 || len(b) < to+2 {
		return 0, false
	}
	return binary.BigEndian.Uint16(b[to:]), true
}
