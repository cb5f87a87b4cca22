package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// What people and programs ask of pairing: each is an event for the machine, and waits for the line that answers it.

// ask hands an event to run and says which attempt it began; lines are from before it.
func (p *Pairing) ask(ctx context.Context, ev event) (run int, err error) {
	began := make(chan int, 1)
	if !p.post(asked{ev, began}) {
		return 0, errors.New("pairing: too much waits")
	}
	select {
	case run = <-began:
		return run, nil
	case <-p.ended:
		return 0, errors.New("the appliance has ended, or begins anew")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// follow gives the first line of an attempt that done wants, or its end.
func (p *Pairing) follow(ctx context.Context, ev event, done func(control.PairingLine) bool) (control.PairingLine, error) {
	if err := ctx.Err(); err != nil { // whoever has gone away asks for nothing
		return control.PairingLine{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := p.Watch(ctx)
	run, err := p.ask(ctx, ev)
	if err != nil {
		return control.PairingLine{}, err
	}
	var l control.PairingLine
	for l = range lines {
		switch {
		case l.Run < run:
		case done(l):
			return l, nil
		case l.State == control.PairingFailed:
			return l, errors.New(l.Text)
		case l.Over():
			return l, fmt.Errorf("pairing has ended: %s", l.Text)
		}
	}
	if ctx.Err() != nil {
		return l, ctx.Err()
	}
	return l, errors.New("the appliance has ended")
}

// Open opens this device's window, and tells its code when it is open.
func (p *Pairing) Open(ctx context.Context) (control.PairOpened, error) {
	if err := p.link.able(); err != nil {
		return control.PairOpened{}, err
	}
	l, err := p.follow(ctx, OpenAsked{p.o.Now()}, func(l control.PairingLine) bool { return l.State == control.PairingOpen && l.Code != "" })
	if err != nil {
		return control.PairOpened{}, err
	}
	return control.PairOpened{Code: l.Code, Seconds: l.Seconds, Device: p.link.Self(), Name: p.link.Name(), Room: p.link.RoomName(),
		Addresses: p.windowAt()}, nil
}

// Join joins the room of a window somewhere else, and returns when that has come to its end.
func (p *Pairing) Join(ctx context.Context, q control.JoinRequest) (control.PairingLine, error) {
	if err := p.link.able(); err != nil {
		return control.PairingLine{}, err
	}
	code, err := plainCode(q.Code)
	switch {
	case err != nil:
		return control.PairingLine{}, err
	case code == "" && !q.Listen:
		return control.PairingLine{}, fmt.Errorf("%w: the code is missing: six digits, as the other device says them", control.ErrRefused)
	case code != "" && q.Listen:
		return control.PairingLine{}, fmt.Errorf("%w: a code to be heard need not be typed", control.ErrRefused)
	case p.link.Room() != nil && !p.link.alone():
		return control.PairingLine{}, p.refused(control.PairingLine{State: control.PairingFailed, Why: control.WhyAlready, Room: p.link.RoomName()})
	case q.Listen && p.host.Muted():
		return control.PairingLine{}, p.refused(control.PairingLine{State: control.PairingFailed, Why: control.WhyMuted})
	}
	to := Window{Name: q.Host}
	switch {
	case q.Host != "" && p.link.foreign():
		return control.PairingLine{}, fmt.Errorf("%w: these devices meet at the broker of room.broker: leave out the host", control.ErrRefused)
	case q.Host != "":
		address, err := hostPort(q.Host, p.link.o.Room.Port)
		if err != nil {
			return control.PairingLine{}, err
		}
		to.Addresses = []string{address}
	}
	return p.follow(ctx, JoinAsked{At: p.o.Now(), Code: code, Target: to}, func(l control.PairingLine) bool { return l.State == control.PairingPaired })
}

// refused is why a request is not taken, in words.
func (p *Pairing) refused(l control.PairingLine) error {
	return fmt.Errorf("%w: %s", control.ErrRefused, pairingText(p.link.o.Language, l))
}

// plainCode takes out what people put between digits.
func plainCode(s string) (string, error) {
	code := strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' {
			return -1
		}
		return r
	}, s)
	if code == "" && s == "" {
		return "", nil
	}
	if len(code) != pairing.CodeLength || strings.ContainsFunc(code, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", fmt.Errorf("%w: a code is %d digits, as the other device says them", control.ErrRefused, pairing.CodeLength)
	}
	return code, nil
}

// hostPort completes what a person wrote: a name or an address, with or without a port.
func hostPort(host string, otherwise int) (string, error) {
	h, port, err := net.SplitHostPort(host)
	if err != nil {
		h, port = strings.Trim(host, "[]"), strconv.Itoa(otherwise)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || h == "" || strings.ContainsAny(h, " /") {
		return "", fmt.Errorf("%w: host %q: must be a name or an address, with or without :PORT", control.ErrRefused, host)
	}
	return net.JoinHostPort(h, port), nil
}

// Cancel ends what is under way, and says what there is now.
func (p *Pairing) Cancel(ctx context.Context) (control.PairingLine, error) {
	if _, err := p.ask(ctx, Cancelled{p.o.Now()}); err != nil {
		return control.PairingLine{}, err
	}
	return p.Now(), nil
}

// Leave leaves the room; the device begins anew when it has said so. A room whose files are damaged is given up.
func (p *Pairing) Leave(ctx context.Context) (control.LeaveAnswer, error) {
	room := p.link.Room()
	if p.conds.Holds(condition.RoomDamaged) {
		if err := p.link.forget(); err != nil {
			return control.LeaveAnswer{}, err
		}
		l, err := p.follow(ctx, Left{At: p.o.Now()}, func(l control.PairingLine) bool { return l.State == control.PairingLeft })
		return control.LeaveAnswer{Text: l.Text}, err
	}
	if room == nil {
		return control.LeaveAnswer{}, fmt.Errorf("%w: this device is in no room that was paired", control.ErrRefused)
	}
	l, err := p.follow(ctx, LeaveAsked{p.o.Now()}, func(l control.PairingLine) bool { return l.State == control.PairingLeft })
	return control.LeaveAnswer{Room: room.Name, Text: l.Text}, err
}

// Remove ends the membership of a device, named by its id or by its name in the room.
func (p *Pairing) Remove(ctx context.Context, q control.RemoveRequest) (control.RemoveAnswer, error) {
	m, err := p.link.member(q.Device)
	if err != nil {
		return control.RemoveAnswer{}, err
	}
	if m.ID == p.link.Self() {
		return control.RemoveAnswer{}, fmt.Errorf("%w: that is this device: conch room leave", control.ErrRefused)
	}
	answer := control.RemoveAnswer{Device: m.ID, Name: m.Name}
	if room := p.link.Room(); room != nil {
		for _, g := range room.Guests(m.ID) {
			if g.ID != p.link.Self() {
				answer.Guests = append(answer.Guests, g.Name)
			}
		}
	}
	guests := strings.Join(answer.Guests, ", ")
	if q.Look {
		answer.Text = m.Name + " would be out"
		if guests != "" {
			answer.Text += "; it has let in: " + guests
		}
		return answer, nil
	}
	if err := p.link.members.Expel(ctx, m.ID, q.Guests); err != nil {
		return control.RemoveAnswer{}, fmt.Errorf("remove %s: %w", m.Name, err)
	}
	answer.Text = m.Name + " is no longer in the room"
	switch {
	case guests == "":
	case q.Guests:
		answer.Text = m.Name + ", " + guests + " are no longer in the room"
	default:
		answer.Text += "; still in it, and let in by " + m.Name + ": " + guests
	}
	return answer, nil
}

// giveUp is leave for a room whose files are damaged.
func (p *Pairing) giveUp(ctx context.Context) {
	why := control.PairingWhy("")
	if err := p.link.forget(); err != nil {
		p.log.Error(logPairErr, "err", err)
		why = control.WhyDisk
	}
	p.tell(ctx, Left{At: p.o.Now(), Why: why})
}

// leave leaves, on disk and in the room.
func (p *Pairing) leave(ctx context.Context) {
	name := p.link.RoomName()
	c, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	why := control.PairingWhy("")
	if err := p.link.members.Leave(c); err != nil {
		p.log.Error(logPairErr, "err", err)
		if p.link.Room() != nil {
			why = control.WhyDisk
		}
	}
	p.tell(ctx, Left{At: p.o.Now(), Room: name, Why: why})
}

// leaveLimit is how long the room is told that this device goes. Our choice.
const leaveLimit = 3 * time.Second

// Rename calls a device, named by its id or by its name in the room, by another name. Nothing begins anew for it, or a member could make the
// others do so without end: what a voice has been told of the place where it speaks is told anew at the next start.
func (p *Pairing) Rename(ctx context.Context, who, name string) (control.RenameAnswer, error) {
	m, err := p.link.member(who)
	if err != nil {
		return control.RenameAnswer{}, err
	}
	err = p.link.members.Rename(ctx, m.ID, name)
	switch {
	case errors.Is(err, membership.ErrName), errors.Is(err, membership.ErrTaken):
		return control.RenameAnswer{}, fmt.Errorf("%w: %q: %w", control.ErrRefused, name, err)
	case err != nil:
		return control.RenameAnswer{}, fmt.Errorf("rename %s: %w", m.Name, err)
	}
	name = strings.TrimSpace(name)
	return control.RenameAnswer{Device: m.ID, Name: name, Text: m.Name + " is called " + name + " now"}, nil
}
