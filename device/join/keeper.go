package join

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/device/wait"
	"conch/mqtt/discovery"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// Who keeps the room when its keeper is gone: a person says so at one device (Keep), and the others find that one as they find a host, by what it
// announces. What they say to each other, and who gives way, is package membership's.

// Looks for another keeper, as parts of the time that a keeper is waited for. Our choices: every ten seconds while the own one is away; a keeper
// looks three times a minute in its first ten minutes, for it may be one that is back, and then once.
const (
	seekParts   = 18
	seekKeeper  = 2 // times as long
	seekLater   = 6
	seekFresh   = 30 // looks
	maxRivals   = 4  // of a look
	maxSettles  = 8  // connections of others at a time
	rivalTold   = 10 * time.Minute
	seekAtLeast = 50 * time.Millisecond
)

// logKeepers is the log event of settling who keeps the room.
const logKeepers = "room.keepers"

// keepers are the devices that keep this room, or say so, besides the one that this device knows.
type keepers struct {
	link     *Link
	now      func() time.Duration
	gaveBack atomic.Int64 // when another device gave the room back, on the clock of now; 0: none has
}

// run looks for another device that keeps this room, while this one's keeper is away, and now and then as the keeper.
func (k *keepers) run(ctx context.Context) error {
	part := max(seekAtLeast, k.link.members.Patience()/seekParts)
	for n := 0; ctx.Err() == nil; n++ {
		pause := part
		if seeks, keeper := k.link.members.Seeking(); seeks {
			if k.seek(ctx); keeper {
				pause *= seekKeeper
				if n > seekFresh {
					pause = part * seekLater
				}
			}
		}
		_ = wait.For(ctx, pause/2+rand.N(pause)) // two that call each other at the same moment both find the other one engaged
	}
	return nil
}

// seek is one look.
func (k *keepers) seek(ctx context.Context) {
	room, _ := k.link.Way()
	if room == nil {
		return
	}
	all, err := k.link.Finder.Find(ctx, lookEvery, nil)
	if err != nil && ctx.Err() == nil {
		k.link.o.Log.Warn(logKeepers, "err", err)
	}
	var rival *membership.RivalError
	asked := 0
	for _, f := range all {
		if !f.IsRoom(room.ID) || f.IsDevice(k.link.Self()) || asked == maxRivals {
			continue
		}
		asked++
		err := k.settle(ctx, f)
		if errors.As(err, &rival) {
			k.rival(room, rival)
		} else if err != nil && ctx.Err() == nil {
			k.link.o.Log.Info(logKeepers, "device", string(f.Device), "err", err)
		}
	}
	if back := time.Duration(k.gaveBack.Load()); rival == nil && (back == 0 || k.now()-back > rivalTold) {
		k.link.o.Conditions.Clear(condition.RoomKeepers)
	}
}

// settle calls a device that is announced for this room.
func (k *keepers) settle(ctx context.Context, f discovery.Found) error {
	all := errUnreachable
	for _, address := range f.Addresses {
		c, cancel := context.WithTimeout(ctx, dialLimit)
		ch, err := pairing.DialKeeper(c, address, k.link.members.KeeperKnock(), k.link.id)
		cancel()
		if err == nil {
			return k.link.members.Meet(ctx, ch, true)
		}
		all = errors.Join(all, err)
	}
	return all
}

// keeperTLS is shown to who has knocked as a member does: the certificate names this device.
func (l *Link) keeperTLS() *tls.Config {
	conf := pairing.KeepTLS(l.id)
	own := conf.GetCertificate
	conf.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !l.members.KeeperKnocked(hello.ServerName) {
			return nil, membership.ErrStranger
		}
		return own(hello)
	}
	return conf
}

// keeperConn is a member that comes about who keeps the room.
func (l *Link) keeperConn(c net.Conn) {
	conn, ok := c.(*tls.Conn)
	defer l.settles.Add(-1)
	if n := l.settles.Add(1); !ok || n > maxSettles {
		return // whoever has made it closes it
	}
	ch, err := pairing.Accept(conn)
	if err != nil {
		return
	}
	if err := l.members.Meet(context.Background(), ch, false); err != nil { // it bounds itself
		l.o.Log.Info(logKeepers, "from", c.RemoteAddr().String(), "err", err)
	}
}

// rival tells people of a device that says it keeps the room.
func (k *keepers) rival(room *membership.Room, r *membership.RivalError) {
	k.link.o.Log.Warn(logKeepers, "device", string(r.Device), "name", r.Name, "err", r.Why)
	if k.link.members.IsHost() {
		k.link.o.Conditions.Set(condition.RoomKeepers, r.Name+" says that it keeps the room, and so does this device",
			fmt.Sprintf("if nobody has asked that of %s: %s", r.Name, removal(r.Name)))
		return
	}
	k.link.o.Conditions.Set(condition.RoomKeepers, fmt.Sprintf("%s says that it keeps the room, in place of %s; %v", r.Name, HostName(room), r.Why),
		fmt.Sprintf("if %s is gone for good, wait some minutes; if nobody has asked that of %s: %s, once %[1]s is back",
			HostName(room), r.Name, removal(r.Name)))
}

// Keep makes this device the keeper of its room, in place of one that is gone; it begins anew when it has said so. at: the device there keeps
// it already, and is not found by itself.
func (p *Pairing) Keep(ctx context.Context, at string) (control.PairingLine, error) {
	room, host := p.link.Way()
	switch {
	case p.link.Room() == nil:
		return control.PairingLine{}, fmt.Errorf("%w: this device is in no room that was paired", control.ErrRefused)
	case room == nil, room.Foreign:
		return control.PairingLine{}, fmt.Errorf("%w: %w", control.ErrRefused, membership.ErrBroker)
	case at != "":
		return p.keepers.goOver(ctx, at)
	case host:
		return control.PairingLine{}, fmt.Errorf("%w: %w", control.ErrRefused, membership.ErrKeeps)
	}
	switch gone, left := p.link.members.Missing(); {
	case gone == 0:
		return control.PairingLine{}, fmt.Errorf("%w: %s keeps the room, and is there", control.ErrRefused, HostName(room))
	case left > 0:
		return control.PairingLine{}, fmt.Errorf("%w: %s, which keeps the room, was there %s ago; if it is gone for good, try again in %s", control.ErrRefused,
			HostName(room), gone.Round(time.Second), max(time.Second, left.Round(time.Second)))
	}
	return p.follow(ctx, KeepAsked{p.o.Now()}, func(l control.PairingLine) bool { return l.State == control.PairingKeeper })
}

// goOver settles with the device at an address.
func (k *keepers) goOver(ctx context.Context, at string) (control.PairingLine, error) {
	address, err := hostPort(at, k.link.o.Room.Port)
	if err != nil {
		return control.PairingLine{}, err
	}
	before := k.link.Room()
	if err := k.settle(ctx, discovery.Found{Addresses: []string{address}}); err != nil {
		return control.PairingLine{}, fmt.Errorf("%s: %w", at, err)
	}
	room := k.link.Room()
	if room == nil || before == nil || room.Host == before.Host {
		return control.PairingLine{}, fmt.Errorf("%s: that device does not keep the room either", at)
	}
	l := control.PairingLine{At: time.Now(), State: control.PairingMoved, Peer: HostName(room), Device: room.Host, Room: room.Name}
	l.Text = pairingText(k.link.o.Language, l)
	return l, nil
}

// keep takes over, on disk.
func (p *Pairing) keep(ctx context.Context) {
	p.step(StepKeeping)
	why := control.PairingWhy("")
	if err := p.link.members.Keep(); err != nil {
		p.log.Error(logKeepers, "err", err)
		why = whyOf(err)
	}
	p.step(StepKept)
	p.tell(ctx, Kept{At: p.o.Now(), Why: why})
}
