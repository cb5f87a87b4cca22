package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"conch/mqtt"
	"conch/mqtt/membership"
)

// checkIntercom looks at the port that a caller opens for as long as a call lasts. While nobody calls nothing may listen there, so that it
// can be opened just now.
func checkIntercom(ctx context.Context, m *Machine, s *Subject) []Finding {
	if s.Config == nil || s.Refused != nil {
		return nil // nobody knows what it would be
	}
	c := s.Config.Intercom
	switch {
	case !s.inRoom():
		return ok("", "off: this device is in no room with others")
	case !c.Enabled:
		return ok("", "off: intercom.enabled = false")
	}
	for _, network := range []string{"tcp", "udp"} {
		err := opens(ctx, network, c.Port)
		if err == nil {
			continue
		}
		port := fmt.Sprintf("intercom.port = %d: %s", c.Port, strings.ToUpper(network))
		const why = "it is not free: a call takes any other port, which a firewall may not let in"
		const do = "set intercom.port to a free one, and let it through the firewall"
		if !errors.Is(err, syscall.EADDRINUSE) {
			return warn("", fmt.Sprintf("%s cannot be opened: %s", port, errnoOf(err)), "the system does not allow it, and a call takes any other port", do)
		}
		switch who := m.holds(network, c.Port); who {
		case "conch":
			return ok("", "on; somebody calls from here: conch has port %d for as long as that lasts", c.Port)
		case "":
			return warn("", port+" is in use by a program that cannot be seen without root", why, "sudo conch doctor names it; end it, or "+do)
		default:
			return warn("", fmt.Sprintf("%s is in use by %q", port, who), why, "end it, or "+do)
		}
	}
	return ok("", "on; port %d is free, TCP and UDP: nothing listens there while nobody calls", c.Port)
}

// inRoom says whether there can be other devices to be called.
func (s *Subject) inRoom() bool {
	if s.Config.Room.Broker != "" {
		return true
	}
	id, err := mqtt.ReadIdentity(s.Config.State.Dir)
	if err != nil {
		return false
	}
	m, err := membership.Look(s.Config.State.Dir, id)
	return err == nil && m != nil && m.Room() != nil
}

// opens opens a port of all of this machine's addresses, as a caller does, and closes it.
func opens(ctx context.Context, network string, port int) error {
	at := net.JoinHostPort("", strconv.Itoa(port))
	if network == "tcp" {
		l, err := (&net.ListenConfig{}).Listen(ctx, network, at)
		if err == nil {
			_ = l.Close()
		}
		return err
	}
	l, err := (&net.ListenConfig{}).ListenPacket(ctx, network, at)
	if err == nil {
		_ = l.Close()
	}
	return err
}

// holds is the program that has a port (proc(5), /proc/net/tcp); empty: nobody that the caller may see.
func (m *Machine) holds(network string, port int) string {
	var sockets []string
	for _, file := range []string{network, network + "6"} {
		for line := range strings.Lines(m.say("/proc/net/" + file)) {
			f := strings.Fields(line)
			if len(f) < 10 || network == "tcp" && f[3] != "0A" { // it listens
				continue
			}
			if _, at, _ := strings.Cut(f[1], ":"); strings.EqualFold(at, fmt.Sprintf("%04X", port)) {
				sockets = append(sockets, "socket:["+f[9]+"]")
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	for _, fd := range m.glob("/proc/[0-9]*/fd/*") {
		if target, err := os.Readlink(m.Path(fd)); err == nil && slices.Contains(sockets, target) {
			return m.say(path.Join(path.Dir(path.Dir(fd)), "comm"))
		}
	}
	return ""
}
