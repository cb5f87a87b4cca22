package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
	"conch/mqtt"
	"conch/mqtt/discovery"
	"conch/mqtt/membership"
)

// What doctor looks at of pairing: what is on disk, how long the certificate lasts, whether the device that keeps the room can be
// reached, whether the port is free, and whether devices can be found at all. It changes nothing on disk.

const (
	certificateLow = 60 * 24 * time.Hour           // half of two years have passed long ago: renewing does not work
	lookForDevices = 1500 * time.Millisecond       // as the button does
	fileOfRoom     = "room/room.json, room/ca.key" // in the state directory
)

// checkPairing looks at everything there is of pairing, with the room as the running appliance has it.
func checkPairing(ctx context.Context, cfg config.Config, s control.RoomStatus, running bool) []Finding {
	id, err := mqtt.ReadIdentity(cfg.State.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // told as identity
	}
	var m *membership.Membership
	if err == nil {
		if m, err = membership.Look(cfg.State.Dir, id); err != nil {
			return checkRoomFile(cfg, err)
		}
	}
	var out []Finding
	if m == nil || m.Room() == nil {
		out = tip("paired", "this device is in no paired room",
			"to make one, or join one: hold its button and that of another device for five seconds, or: conch room pair")
		return slices.Concat(out, checkPort(ctx, cfg, false), checkDiscovery(ctx, cfg, nil, id))
	}
	room := m.Room()
	out = ok("paired", "room %s (%s), %s, called %s", room.Name, room.ID, printable.Count(len(room.Members), "device"), room.Called)
	out = append(out, checkCertificate(room, time.Now())...)
	switch {
	case room.Foreign: // the broker is looked at as any other
		return out
	case running && !s.Connected:
		out = append(out, bad("host", "the running conch is not connected to the room", "the condition room.cut says why",
			"do what the condition room.cut says; this device works alone meanwhile")...)
	case running:
		out = append(out, ok("host", "connected")...)
	case m.IsHost():
		out = append(out, ok("host", "this device keeps the room")...)
	default:
		out = append(out, checkHost(ctx, m, id)...)
	}
	if !running {
		out = append(out, checkPort(ctx, cfg, m.IsHost())...)
	}
	return append(out, checkDiscovery(ctx, cfg, m, id)...)
}

// checkRoomFile is about a room that cannot be read.
func checkRoomFile(cfg config.Config, err error) []Finding {
	dir := filepath.Join(cfg.State.Dir, "room")
	text := strings.TrimPrefix(err.Error(), "membership: ")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return warn("paired", text, "another user wrote it: this one may not read what conch has there",
			"run doctor as the user that conch runs as (sudo conch doctor), or give that user "+dir)
	case errors.Is(err, membership.ErrOpen):
		return bad("paired", text, "somebody has changed the rights of the file, or a backup was restored without them: whoever reads it can be this device",
			printable.Chmod("-R go=", dir)+"; if others could have read it, leave the room (conch room leave) and pair again")
	}
	return bad("paired", text, "the disk, or a backup that was restored in part: "+fileOfRoom+" and identity.key belong together",
		"restore all three from one backup, or give the room up (conch room leave) and pair again; until then this device works alone")
}

// checkCertificate: how long can this device still show who it is?
func checkCertificate(room *membership.Room, now time.Time) []Finding {
	until := room.CertificateUntil
	if until.IsZero() {
		return nil
	}
	day := until.Format(time.DateOnly)
	host := string(room.Host)
	if m, ok := room.Member(room.Host); ok {
		host = m.Name
	}
	do := "see that " + host + " runs in the same network: it renews the certificate by itself"
	switch left := until.Sub(now); {
	case now.Before(BuiltAfter):
		return tip("certificate", "good until "+day+"; what day it is this machine does not know", "connect it to the network, so that it gets the time")
	case left <= 0:
		return bad("certificate", "ended on "+day, "it is renewed by "+host+" after half of its time, and that was not reached since; or the clock is wrong",
			do+"; is the date right (timedatectl)? Where it is not let in any more: conch room leave, and pair again")
	case left < certificateLow:
		return warn("certificate", fmt.Sprintf("ends on %s, in %s", day, printable.Count(int(left.Hours()/24), "day")),
			"it is renewed by "+host+" after half of its time, and that was not reached since; or the clock is wrong", do)
	}
	return ok("certificate", "good until %s", day)
}

// checkHost connects as the appliance would, which does not run, and says nothing to the room.
func checkHost(ctx context.Context, m *membership.Membership, id mqtt.Identity) []Finding {
	room := m.Room()
	host := string(room.Host)
	if one, ok := room.Member(room.Host); ok {
		host = one.Name
	}
	began := time.Now()
	err := mqtt.Probe(ctx, mqtt.Config{
		Room: room.Topic(), Identity: id, ConnectTimeout: networkWait, TLS: m.ClientTLS,
		Addresses: func(context.Context) []string { return room.Candidates(nil) },
	})
	switch {
	case err == nil:
		return ok("host", "%s lets this device in, in %d ms", host, time.Since(began).Milliseconds())
	case errors.Is(err, mqtt.ErrNotMember):
		return bad("host", host+" says that this device is no longer in the room",
			"somebody has removed it (conch room remove), or "+host+" was restored from a backup that is older",
			"pair it again: hold the button of both for five seconds")
	}
	return bad("host", fmt.Sprintf("%s, which keeps the room, does not answer at %s: %s", host, strings.Join(room.Addresses, ", "),
		strings.TrimPrefix(err.Error(), "mqtt: ")),
		"it is off, in another network, or has another address, at which it is looked for once conch runs",
		"switch "+host+" on, in the same network; this device works alone meanwhile")
}

// checkPort: could pairing, or the room's broker, listen there?
func checkPort(ctx context.Context, cfg config.Config, host bool) []Finding {
	port := cfg.Room.Port
	if port == 0 || !host && remoteRuns(cfg) { // a window may be open
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err == nil {
		_ = l.Close()
		return ok("port", "%d is free for pairing", port)
	}
	say, what := warn, "this device cannot open a window for another one"
	if host {
		say, what = bad, "the room's devices look for this one at that port, and have to find another"
	}
	return say("port", fmt.Sprintf("room.port = %d: %v", port, err), "another program has the port (sudo ss -ltnp shows which): "+what,
		"end that program, or set room.port to another number")
}

func remoteRuns(cfg config.Config) bool {
	_, err := control.Dial(cfg)
	return err == nil
}

// checkDiscovery looks once for devices, as pairing does.
func checkDiscovery(ctx context.Context, cfg config.Config, m *membership.Membership, id mqtt.Identity) []Finding {
	if cfg.Room.Discovery == discovery.Off {
		return tip("discovery", "room.discovery = off: devices are found only where a person names them",
			"conch room join CODE --host NAME; a device whose address changes has to be paired again")
	}
	var self = id.ID()
	all, err := discovery.New(discovery.Config{How: cfg.Room.Discovery, Device: self}).Find(ctx, lookForDevices, nil)
	if err != nil {
		return warn("discovery", strings.TrimPrefix(err.Error(), "discovery: "),
			"multicast DNS does not work here: another program holds its port for itself alone, avahi is asked for and does not run, or a "+
				"firewall is in the way", "mend that (systemctl status avahi-daemon), or set room.discovery; without it: conch room join CODE --host NAME")
	}
	var rooms []string
	for _, f := range all {
		if m != nil && m.Room() != nil && f.IsRoom(m.Room().ID) && f.IsDevice(m.Room().Host) {
			return ok("discovery", "works: %s, which keeps the room, is to be found at %s", f.Name, strings.Join(f.Addresses, ", "))
		}
		rooms = append(rooms, fmt.Sprintf("%s (room %s)", f.Name, f.Room))
	}
	switch {
	case m != nil && m.Room() != nil && !m.IsHost():
		return tip("discovery", "the device that keeps the room is not to be found by multicast DNS",
			"that matters only when its address changes; is it in the same network, and does the network let multicast through?")
	case len(rooms) > 0:
		return ok("discovery", "works: %s", strings.Join(rooms, ", "))
	}
	return ok("discovery", "works; no other device announces itself right now")
}
