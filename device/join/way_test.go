package join

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"conch/companions/round"
	"conch/device/control"
)

const sec = time.Second

// told is an order in a word or two.
func told(order order) string {
	switch o := order.(type) {
	case Try:
		var at []string
		for _, w := range o.Targets {
			at = append(at, string(w.Device))
		}
		return fmt.Sprintf("try %s at %s", o.Code, strings.Join(at, "+"))
	case Say:
		s := "say " + string(o.Line.State)
		if o.Line.Why != "" {
			s += " " + string(o.Line.Why)
		}
		if o.Line.Peer != "" {
			s += " " + o.Line.Peer
		}
		return s
	}
	name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", order), "join."))
	return name
}

// wayWalk is a device whose person and network are the test.
type wayWalk struct {
	way
	out []string
}

func (w *wayWalk) step(ev event) {
	var orders []order
	w.way, orders = w.way.step(ev)
	for _, o := range orders {
		w.out = append(w.out, told(o))
	}
}

// window is one that can be seen: a capital stands for a room, and its device is of the same letter.
func windowsOf(s string) (all []Window) {
	for _, c := range s {
		w := Window{Device: round.DeviceID(strings.ToLower(string(c)))}
		if c >= 'A' && c <= 'Z' {
			w.RoomID = "r" + string(c)
		}
		all = append(all, w)
	}
	return all
}

func TestWay(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	seen := func(ms, run int, who string) WindowsSeen { return WindowsSeen{at(ms), run, windowsOf(who)} }
	peer := Peer{Device: "b", Name: "bedroom"}
	for _, c := range []struct {
		name   string
		paired bool
		events []event
		want   string
		state  control.PairingState
	}{
		{"nobody pairs: one opens", false, []event{Held{At: 0}, seen(750, 1, ""), Ticked{at(1500)}}, "look, open", control.PairingOpen},
		{"in a room one opens at once", true, []event{Held{At: 0}}, "open", control.PairingOpen},
		{"one window: listen, once there was time for a second one to be seen", false,
			[]event{Held{At: 0}, seen(100, 1, "C"), Ticked{at(750)}}, "look, say listening, listen", control.PairingListening},
		{"two windows: said, and the code is tried at each", false, []event{Held{At: 0}, seen(700, 1, "CD"), Ticked{at(1500)}, CodeHeard{at(9000), 1, "1"}},
			"look, say listening two_windows, listen, try 1 at c+d", control.PairingJoining},
		{"at none of which it was right, so it was heard amiss", false, []event{Held{At: 0}, seen(700, 1, "CD"), Ticked{at(1500)}, CodeHeard{at(9000), 1, "1"},
			JoinFailed{at(9100), 1, control.WhyWrongCode}, CodeHeard{at(19000), 1, "2"}},
			"look, say listening two_windows, listen, try 1 at c+d, listen, try 2 at c+d", control.PairingJoining},
		{"a second window while it listens: the code is tried there, too", false, []event{Held{At: 0}, seen(800, 1, "C"), seen(3000, 1, "DC"), CodeHeard{at(9000), 1, "1"}},
			"look, say listening, listen, try 1 at c+d", control.PairingJoining},
		{"typed, and the first that answers is not the one", false, []event{JoinAsked{At: 0, Code: "1"}, seen(300, 1, "C"), Ticked{at(750)}, JoinFailed{at(850), 1, control.WhyWrongCode},
			seen(900, 1, "C"), seen(1500, 1, "CD"), Joined{at(1600), 1, peer}}, "look, try 1 at c, try 1 at d, stop, say paired bedroom, restart", control.PairingPaired},
		{"typed, and one that stalls does not hide the other", false, []event{JoinAsked{At: 0, Code: "1"}, seen(300, 1, "C"), Ticked{at(750)}, seen(1500, 1, "CD"), Joined{at(1600), 1, peer}},
			"look, try 1 at c, try 1 at d, stop, say paired bedroom, restart", control.PairingPaired},
		{"typed, two at once", false, []event{JoinAsked{At: 0, Code: "1"}, seen(300, 1, "CD"), Ticked{at(750)}}, "look, try 1 at c+d", control.PairingJoining},
		{"typed wrong, at all there are", false, []event{JoinAsked{At: 0, Code: "1"}, seen(300, 1, "CD"), Ticked{at(750)}, JoinFailed{at(900), 1, control.WhyWrongCode}, seen(1500, 1, "CD"),
			Ticked{at(3000)}}, "look, try 1 at c+d, stop, say failed wrong_code", control.PairingFailed},
		{"two of which one gives way in time", false, []event{Held{At: 0}, seen(700, 1, "Cd"), seen(1400, 1, "C")}, "look, say listening, listen", control.PairingListening},
		{"the code comes, and is right", false, []event{Held{At: 0}, seen(800, 1, "C"), CodeHeard{at(9000), 1, "123456"}, Joined{at(9500), 1, peer}},
			"look, say listening, listen, try 123456 at c, stop, say paired bedroom, restart", control.PairingPaired},
		{"heard amiss once and again, then right", false, []event{Held{At: 0}, seen(800, 1, "C"),
			CodeHeard{at(9000), 1, "1"}, JoinFailed{at(9100), 1, control.WhyWrongCode}, CodeHeard{at(19000), 1, "2"}, JoinFailed{at(19100), 1, control.WhyWrongCode},
			CodeHeard{at(29000), 1, "3"}, Joined{at(29100), 1, peer}},
			"look, say listening, listen, try 1 at c, listen, try 2 at c, listen, try 3 at c, stop, say paired bedroom, restart", control.PairingPaired},
		{"three times amiss", false, []event{Held{At: 0}, seen(800, 1, "C"),
			CodeHeard{at(9000), 1, "1"}, JoinFailed{at(9100), 1, control.WhyWrongCode}, CodeHeard{at(19000), 1, "2"}, JoinFailed{at(19100), 1, control.WhyWrongCode},
			CodeHeard{at(29000), 1, "3"}, JoinFailed{at(29100), 1, control.WhyWrongCode}},
			"look, say listening, listen, try 1 at c, listen, try 2 at c, listen, try 3 at c, stop, say failed wrong_code", control.PairingFailed},
		{"a minute without a code", false, []event{Held{At: 0}, seen(800, 1, "C"), Ticked{at(60000)}, Ticked{at(60800)}},
			"look, say listening, listen, stop, say failed not_heard", control.PairingFailed},
		{"no microphone", false, []event{Held{At: 0}, seen(800, 1, "C"), HearingFailed{at(3000), 1, control.WhyDeaf}}, "look, say listening, listen, stop, say failed deaf", control.PairingFailed},
		{"whom it listened to gives way: the code is of the one that is left", false,
			[]event{Held{At: 0}, seen(800, 1, "c"), seen(2000, 1, "cD"), seen(4000, 1, "D"), CodeHeard{at(9000), 1, "1"}},
			"look, say listening, listen, try 1 at d", control.PairingJoining},
		{"typed", false, []event{JoinAsked{0, "123456", Window{Addresses: []string{"x:1"}}}, Joined{at(100), 1, peer}},
			"unlook, try 123456 at , stop, say paired bedroom, restart", control.PairingPaired},
		{"typed wrong is over at once", false, []event{JoinAsked{0, "123456", Window{Addresses: []string{"x:1"}}}, JoinFailed{at(100), 1, control.WhyWrongCode}},
			"unlook, try 123456 at , stop, say failed wrong_code", control.PairingFailed},
		{"typed, and looked for", false, []event{JoinAsked{At: 0, Code: "123456"}, seen(300, 1, "C"), Ticked{at(750)}}, "look, try 123456 at c", control.PairingJoining},
		{"typed, and nobody there: it opens no window", false, []event{JoinAsked{At: 0, Code: "123456"}, seen(700, 1, ""), Ticked{at(1500)}, Ticked{at(6000)}}, "look, stop, say failed nobody", control.PairingFailed},
		{"to be heard, from a host that was named", false, []event{JoinAsked{0, "", Window{Addresses: []string{"x:1"}}}}, "say listening, listen", control.PairingListening},
		{"the first one admitted: both begin anew", false, []event{OpenAsked{0}, Founded{at(500), 1}, Admitted{at(900), 1, peer}}, "open, stop, say paired bedroom, restart", control.PairingPaired},
		{"one more in a room: nobody begins anew", true, []event{OpenAsked{0}, Admitted{at(900), 1, peer}}, "open, stop, say paired bedroom", control.PairingPaired},
		{"the window's time is over", true, []event{OpenAsked{0}, WindowShut{at(120000), 1, control.WhyExpired}}, "open, stop, say failed expired", control.PairingFailed},
		{"asked to open twice: it is the same window", true, []event{OpenAsked{0}, OpenAsked{at(10)}}, "open", control.PairingOpen},
		{"the host is not there", true, []event{Held{At: 0}, WindowShut{at(10), 1, control.WhyHost}}, "open, stop, say failed host", control.PairingFailed},
		{"a press while it looks", false, []event{Held{At: 0}, Pressed{at(500)}, seen(800, 1, "C")}, "look, stop", control.PairingCancelled},
		{"a press while its window is open", true, []event{Held{At: 0}, Pressed{at(500)}, WindowShut{at(510), 1, control.WhyClosed}}, "open, stop", control.PairingCancelled},
		{"a press while it listens", false, []event{Held{At: 0}, seen(800, 1, "C"), Pressed{at(3000)}, CodeHeard{at(3001), 1, "1"}}, "look, say listening, listen, stop", control.PairingCancelled},
		{"a press while the code is tried, and it was in time", false, []event{Held{At: 0}, seen(800, 1, "C"), CodeHeard{at(3000), 1, "1"}, Pressed{at(3100)}, JoinFailed{at(3200), 1, control.WhyClosed}},
			"look, say listening, listen, try 1 at c, stop", control.PairingCancelled},
		{"a press while the code is tried, and it was too late: what is on disk counts", false,
			[]event{Held{At: 0}, seen(800, 1, "C"), CodeHeard{at(3000), 1, "1"}, Pressed{at(3100)}, Joined{at(3200), 1, peer}},
			"look, say listening, listen, try 1 at c, stop, say paired bedroom, restart", control.PairingPaired},
		{"a press after the first one was let in: a host begins anew, whatever came of it", false,
			[]event{OpenAsked{0}, Founded{at(500), 1}, Pressed{at(600)}, WindowShut{at(700), 1, control.WhyClosed}}, "open, stop, restart", control.PairingCancelled},
		{"and where it has come of it, it is said", false,
			[]event{OpenAsked{0}, Founded{at(500), 1}, Pressed{at(600)}, Admitted{at(700), 1, peer}}, "open, stop, say paired bedroom, restart", control.PairingPaired},
		{"let in and not heard of since", false, []event{OpenAsked{0}, Founded{at(500), 1}, WindowShut{at(15000), 1, control.WhyUnsure}},
			"open, stop, say failed unsure, restart", control.PairingFailed},
		{"a press while nothing is paired", true, []event{Pressed{0}}, "", ""},
		{"held for ten seconds: leave", true, []event{HeldLong{0}, Left{At: at(10), Room: "home"}}, "leave, say left, restart", control.PairingLeft},
		{"alone in its room it looks first, as in none", true, []event{Alone{true}, Held{At: 0}, seen(800, 1, "C")}, "look, say listening, listen", control.PairingListening},
		{"and gives way to a lower id", true, []event{Alone{true}, Held{At: 0}, Ticked{at(1500)}, seen(1600, 1, "c")}, "look, open, shut, say listening, listen", control.PairingListening},
		{"and to no higher one", true, []event{Alone{true}, Held{At: 0}, Ticked{at(1500)}, seen(1600, 1, "p")}, "look, open", control.PairingOpen},
		{"alone in its room it joins another one", true, []event{Alone{true}, JoinAsked{0, "123456", Window{Addresses: []string{"x:1"}}}, Joined{at(100), 1, peer}},
			"unlook, try 123456 at , stop, say paired bedroom, restart", control.PairingPaired},
		{"the room's keeper is gone: said, and no window opens", true, []event{Held{At: sec, Missing: true}}, "stop, say failed missing", control.PairingFailed},
		{"and held once more it is kept here", true, []event{Held{At: sec, Missing: true}, Pressed{at(2000)}, Held{At: at(9000), Missing: true}, Kept{At: at(9100)}},
			"stop, say failed missing, keep, say keeper, restart", control.PairingKeeper},
		{"held once more, too late: said again", true, []event{Held{At: sec, Missing: true}, Held{At: at(62000), Missing: true}},
			"stop, say failed missing, stop, say failed missing", control.PairingFailed},
		{"the keeper is back meanwhile: a window, as ever", true, []event{Held{At: sec, Missing: true}, Held{At: at(9000)}}, "stop, say failed missing, open", control.PairingOpen},
		{"asked to leave in between: a hold means what it meant", true, []event{Held{At: sec, Missing: true}, OpenAsked{at(2000)}, Pressed{at(3000)}, Held{At: at(9000), Missing: true}},
			"stop, say failed missing, open, stop, stop, say failed missing", control.PairingFailed},
		{"kept by a command, and a press cannot take it back", true, []event{KeepAsked{0}, Pressed{at(1)}, KeepAsked{at(2)}, Kept{At: at(10)}}, "keep, say keeper, restart", control.PairingKeeper},
		{"kept, and the disk does not take it", true, []event{KeepAsked{0}, Kept{at(10), control.WhyDisk}}, "keep, say failed disk", control.PairingFailed},
		{"kept in no room: nothing", false, []event{KeepAsked{0}}, "", ""},
		{"another one keeps the room now", true, []event{Moved{Peer: peer}}, "say moved bedroom", control.PairingMoved},
		{"in place of this one", true, []event{OpenAsked{0}, Moved{Peer: peer, Anew: true}, WindowShut{at(10), 1, control.WhyClosed}},
			"open, stop, say moved bedroom, restart", control.PairingMoved},
		{"another one keeps it, and a window is open", true, []event{OpenAsked{0}, Moved{Peer: peer}}, "open, say moved bedroom", control.PairingOpen},
		{"held for ten seconds in no room: nothing", false, []event{HeldLong{0}}, "", ""},
		{"leaving that the disk does not take", true, []event{LeaveAsked{0}, Left{At: at(10), Why: control.WhyDisk}}, "leave, say failed disk", control.PairingFailed},
		{"removed while its window is open", true, []event{OpenAsked{0}, Removed{at(100)}, WindowShut{at(110), 1, control.WhyClosed}}, "open, stop, say removed, restart", control.PairingRemoved},
		{"what a room's device joins is refused elsewhere", true, []event{JoinAsked{0, "123456", Window{Addresses: []string{"x:1"}}}}, "", ""},

		// Held at the same moment, and one after the other.
		{"of two held at once, the lower id keeps its window", false, // this device is m
			[]event{Held{At: 0}, seen(700, 1, ""), Ticked{at(1500)}, seen(1600, 1, "p")}, "look, open", control.PairingOpen},
		{"and the higher one gives way", false,
			[]event{Held{At: 0}, seen(700, 1, ""), Ticked{at(1500)}, seen(1600, 1, "c")}, "look, open, shut, say listening, listen", control.PairingListening},
		{"one in no room gives way to a room", false,
			[]event{Held{At: 0}, Ticked{at(1500)}, seen(1600, 1, "P")}, "look, open, shut, say listening, listen", control.PairingListening},
		{"one in a room gives way to nobody", true, []event{Held{At: 0}, seen(1600, 1, "C")}, "open", control.PairingOpen},
		{"nor does a window that was asked for by name", false, []event{OpenAsked{0}, seen(1600, 1, "C")}, "open", control.PairingOpen},
		{"two to give way to: the lower of them will, too", false,
			[]event{Held{At: 0}, Ticked{at(1500)}, seen(1600, 1, "ab"), seen(3000, 1, "a")}, "look, open, shut, say listening, listen", control.PairingListening},
		{"who has let somebody in gives way no more", false, []event{Held{At: 0}, Ticked{at(1500)}, Founded{at(1550), 1}, seen(1600, 1, "c")}, "look, open", control.PairingOpen},
		{"what is told of an earlier attempt is void", true, []event{Held{At: 0}, Pressed{at(10)}, Held{At: at(6000)}, WindowShut{at(6001), 1, control.WhyClosed}, WindowsSeen{at(6002), 1, windowsOf("c")}},
			"open, stop, open", control.PairingOpen},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &wayWalk{way: way{self: "m", paired: c.paired}}
			for _, f := range c.events {
				w.step(f)
			}
			if got := strings.Join(w.out, ", "); got != c.want || w.state != c.state {
				t.Errorf("%s, then %q;\nwant %s, then %q", got, w.state, c.want, c.state)
			}
		})
	}
}

// crowd is a room full of devices that are held at about the same moment, in virtual time: each sees the others' windows a little
// later than they open and close, as multicast has it.
type crowd struct {
	devices []*crowdOne
	now     time.Duration
}

type crowdOne struct {
	wayWalk
	held    time.Duration
	looking bool
	opened  []time.Duration // when each of its windows opened …
	closed  []time.Duration // … and closed
}

func (c *crowd) run(until time.Duration, lag time.Duration) {
	for ; c.now < until; c.now += 10 * time.Millisecond {
		for _, d := range c.devices {
			if d.held == c.now {
				c.step(d, Held{At: c.now})
			}
			c.step(d, Ticked{c.now})
			if d.looking && (c.now-d.held)%(250*time.Millisecond) == 0 {
				c.step(d, WindowsSeen{c.now, d.run, c.visible(d, c.now-lag)})
			}
		}
	}
}

func (c *crowd) step(d *crowdOne, ev event) {
	var orders []order
	d.way, orders = d.way.step(ev)
	for _, o := range orders {
		switch o.(type) {
		case Look:
			d.looking = true
		case Open:
			d.looking = d.looking || d.yields
			d.opened = append(d.opened, c.now)
		case Shut:
			d.closed = append(d.closed, c.now)
		case Stop:
			d.looking = false
			if len(d.closed) < len(d.opened) {
				d.closed = append(d.closed, c.now)
			}
		}
	}
}

func (c *crowd) visible(to *crowdOne, at time.Duration) (all []Window) {
	for _, d := range c.devices {
		n := len(d.opened)
		if d == to || n == 0 || d.opened[n-1] > at || len(d.closed) == n && d.closed[n-1] <= at {
			continue
		}
		w := Window{Device: d.self}
		if d.paired {
			w.RoomID = "room of " + string(d.self)
		}
		all = append(all, w)
	}
	return all
}

// However many are held, and whenever: of those in no room one window at most is left, that of a room if there is one, and all who
// listen listen to that.
func TestWayOfManyAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "devices")
		room := rapid.IntRange(-1, n-1).Draw(t, "in a room") // -1: none
		c := &crowd{}
		names := slices.Collect(func(yield func(string) bool) {
			for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "ids")[:n] {
				if !yield(string(rune('a' + i))) {
					return
				}
			}
		})
		for i := range n {
			d := &crowdOne{held: time.Duration(rapid.IntRange(0, 300).Draw(t, "held")) * 10 * time.Millisecond}
			d.way = way{self: round.DeviceID(names[i]), paired: i == room}
			c.devices = append(c.devices, d)
		}
		c.run(20*sec, time.Duration(rapid.IntRange(0, 40).Draw(t, "lag"))*10*time.Millisecond)
		var open, targets []round.DeviceID
		for _, d := range c.devices {
			switch d.state {
			case control.PairingOpen:
				open = append(open, d.self)
			case control.PairingListening:
				targets = append(targets, d.target.Device)
			case control.PairingFailed: // it came when two could be seen that had not given way yet: it was told so
			default:
				t.Fatalf("%s is %s", d.self, d.state)
			}
		}
		if len(open) != 1 || room >= 0 && open[0] != c.devices[room].self {
			t.Fatalf("open are the windows of %v; in a room is %v", open, room)
		}
		for _, target := range targets {
			if target != open[0] {
				t.Fatalf("somebody listens to %s; open is %s", target, open[0])
			}
		}
	})
}

// The machine wants to be told of the time only where it waits for one: a code that comes in the last moment may be tried for longer.
func TestWayIsDueOnlyWhereItWaits(t *testing.T) {
	w := &wayWalk{way: way{self: "m"}}
	for _, f := range []event{Held{At: 0}, WindowsSeen{sec, 1, windowsOf("C")}} {
		w.step(f)
	}
	if at, ok := w.due(sec); w.state != control.PairingListening || !ok || at != sec+listenLimit {
		t.Errorf("%s: due %s, %v", w.state, at, ok)
	}
	w.step(CodeHeard{sec + listenLimit - 1, 1, "123456"})
	if at, ok := w.due(sec + listenLimit + 1); w.state != control.PairingJoining || ok {
		t.Errorf("%s: due %s", w.state, at)
	}
}
