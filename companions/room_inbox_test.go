package companions

import (
	"fmt"
	"testing"

	"conch/companions/round"
)

func TestInboxNeverLosesAPress(t *testing.T) {
	b := newRoomInbox()
	for n := range inboxOutside + 10 {
		b.put(round.Received{From: round.DeviceID(fmt.Sprint("d", n%40)), Packet: round.Beat{}})
	}
	for n := range inboxFinger + 10 {
		b.put(round.Received{From: "d-hall", Packet: round.Press{Epoch: round.Epoch{N: uint64(n), Device: "d-hall"}}})
	}
	for n := range inboxPresses - inboxFinger + 10 {
		d := round.DeviceID(fmt.Sprint("d", n%200))
		b.put(round.Received{From: d, Packet: round.Press{Epoch: round.Epoch{N: uint64(n), Device: d}}})
	}
	for n := range inboxLocal + 10 {
		b.put(round.Pressed{Turn: fmt.Sprint(n)})
	}
	refused, waiting := b.counts()
	if want := (inboxRefused{local: 10, presses: 20, outside: 10}); refused != want || waiting != inboxOutside+inboxPresses+inboxLocal {
		t.Errorf("refused %+v and %d wait, want %+v and the sum of the bounds", refused, waiting, want)
	}
	var press round.Press
	var own round.Pressed
	for _, ev := range b.take() {
		switch e := ev.(type) {
		case round.Received:
			if p, ok := e.Packet.(round.Press); ok && e.From == "d-hall" {
				press = p
			}
		case round.Pressed:
			own = e
		}
	}
	if press.Epoch.N != inboxFinger+9 || own.Turn != fmt.Sprint(inboxLocal+9) {
		t.Errorf("the newest presses are %+v and %+v, want the last that came", press, own)
	}
	for range inboxSender + 5 {
		b.put(round.Received{From: "d-hall", Packet: round.Beat{}})
	}
	if refused, waiting := b.counts(); refused.outside != 15 || waiting != inboxSender {
		t.Errorf("of a flood %d wait and %d were refused, want %d and 15", waiting, refused.outside, inboxSender)
	}
	b.close()
	b.put(round.Pressed{})
	if got := len(b.take()); got != inboxSender {
		t.Errorf("%d facts after the inbox closed, want %d", got, inboxSender)
	}
}
