package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"syscall"

	"conch/companions/voice"
)

// out says whether this machine has a way to other networks (proc_net_route: destination and mask 0; flag 1 is up).
func (m *Machine) out() bool {
	for line := range strings.Lines(m.say("/proc/net/route")) {
		f := strings.Fields(line)
		if len(f) >= 8 && f[1] == "00000000" && f[7] == "00000000" {
			if flags, err := strconv.ParseUint(f[3], 16, 16); err == nil && flags&1 == 1 {
				return true
			}
		}
	}
	for line := range strings.Lines(m.say("/proc/net/ipv6_route")) {
		f := strings.Fields(line)
		if len(f) >= 10 && strings.Trim(f[0], "0") == "" && f[1] == "00" && f[9] != "lo" {
			return true
		}
	}
	return false
}

func checkNetwork(ctx context.Context, m *Machine, s *Subject) []Finding {
	if m.out() {
		return ok("", "there is a way out (default route)")
	}
	u, err := url.Parse(s.Voice.URL)
	if err != nil || s.Voice.Kind.Local && !s.Voice.KeyHidden || !voice.Far(u.Hostname()) {
		return note("", "no way out of this machine (no default route); what is configured does not need one")
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil && m.route(ctx, u.Hostname()) {
		return ok("", "there is a way to %s, and none to other networks", u.Hostname())
	}
	var up, down []string
	for _, p := range m.glob("/sys/class/net/*/operstate") {
		name := path.Base(path.Dir(p))
		switch {
		case name == "lo":
		case m.say(p) == "up":
			up = append(up, name)
		default:
			down = append(down, name)
		}
	}
	cause, do := "no network interface is connected (there is "+orNone(down)+")", "plug in the cable, or join the Wi-Fi: sudo nmtui"
	if len(up) > 0 {
		cause, do = named(up)+" is up and got no address or no router", "see the router (DHCP), then: sudo systemctl restart NetworkManager; ip address"
	}
	return bad("", "no way out of this machine (no default route)", cause, do)
}

// route says whether the kernel knows a way to an address: connecting a datagram socket sends nothing.
func (m *Machine) route(ctx context.Context, address string) bool {
	c, err := m.Dial(ctx, "udp", net.JoinHostPort(address, "9"))
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// weakSignal: below this, packets are lost; rule of thumb of Wi-Fi planning.
const weakSignal = -75

func checkWiFi(ctx context.Context, m *Machine, _ *Subject) []Finding {
	var out []Finding
	for _, p := range m.glob("/sys/class/net/*/phy80211") {
		name := path.Base(path.Dir(p))
		if m.say("/sys/class/net/"+name+"/operstate") != "up" {
			continue
		}
		save, err := m.Run(ctx, "iw", "dev", name, "get", "power_save")
		switch {
		case err != nil:
			out = append(out, Finding{Level: Note, Text: name + ": whether it saves power cannot be asked (no iw)", Do: "sudo apt install iw"})
		case strings.Contains(save, "Power save: on"):
			out = append(out, warn("", name+" saves power: answers stutter, and the room reacts late",
				"the driver sleeps between packets, for up to a few tenths of a second",
				"sudo iw dev "+name+" set power_save off; for good: printf '[connection]\\nwifi.powersave = 2\\n' | sudo tee "+
					"/etc/NetworkManager/conf.d/powersave.conf && sudo systemctl restart NetworkManager")...)
		default:
			out = append(out, ok("", "%s does not save power", name)...)
		}
		if dbm, have := m.signal(name); have && dbm < weakSignal {
			out = append(out, warn("", fmt.Sprintf("%s: weak signal, %d dBm", name, dbm), "the access point is far, or something metal is between",
				"move the box or the access point, or use a cable")...)
		}
	}
	return out
}

// signal is the level column of /proc/net/wireless, in dBm.
func (m *Machine) signal(name string) (dbm int, have bool) {
	for line := range strings.Lines(m.say("/proc/net/wireless")) {
		f := strings.Fields(line)
		if len(f) >= 4 && f[0] == name+":" {
			v, err := strconv.ParseFloat(f[3], 64)
			return int(v), err == nil && v < 0
		}
	}
	return 0, false
}

// unreachable puts a failed connection into words: what, why, what to do.
func (m *Machine) unreachable(host, key string, err error) voice.Finding {
	var dns *net.DNSError
	f := voice.Finding{Level: voice.Bad, Text: host + " cannot be reached: " + errnoOf(err)}
	switch {
	case errors.As(err, &dns):
		return m.unresolved(dns, key)
	case !m.out() && voice.Far(hostOnly(host)):
		f.Cause, f.Do = "this machine has no way out", "see network"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Cause, f.Do = "nothing listens there, or a firewall refuses", "see that the server runs, and that "+key+" has the right host and port"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT), isTimeout(err):
		f.Text = host + " does not answer"
		f.Cause, f.Do = "a firewall drops the packets, or the network is down beyond this machine", "ping -c 3 1.1.1.1; see the router and "+key
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		f.Cause, f.Do = "there is no route to it", "see network, the router and "+key
	default:
		f.Cause, f.Do = "the network failed", "see network and "+key
	}
	return f
}

// unresolved tells apart a name that is not there, a resolver that is missing, and one that does not answer.
func (m *Machine) unresolved(dns *net.DNSError, key string) voice.Finding {
	f := voice.Finding{Part: "dns", Level: voice.Bad, Text: dns.Name + ": the name cannot be looked up"}
	var nameservers int
	for line := range strings.Lines(m.say("/etc/resolv.conf")) {
		if strings.HasPrefix(line, "nameserver") {
			nameservers++
		}
	}
	switch {
	case !m.out():
		f.Cause, f.Do = "this machine has no way out", "see network"
	case nameservers == 0:
		f.Cause, f.Do = "/etc/resolv.conf names no name server", "sudo systemctl restart NetworkManager; resolvectl status"
	case dns.IsNotFound:
		f.Cause, f.Do = "the name server answers that there is no such name", "see "+key+" for a slip"
	default:
		f.Cause, f.Do = "the name server does not answer", "resolvectl status; see the router"
	}
	return f
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func hostOnly(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return hostport
}

// errnoOf is the last word of a network error: addresses belong to nobody else.
func errnoOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}
