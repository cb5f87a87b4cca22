package discovery

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// iface is an interface that leads to other devices.
type iface struct {
	index  int
	name   string
	flags  net.Flags
	prefix []netip.Prefix // its addresses, each with its network
}

// maxInterfaces stays below what Linux lets one socket join (igmp_max_memberships, 20).
const maxInterfaces = 16

// sysNet says of which kind an interface is.
const sysNet = "/sys/class/net"

// interfaces lists those on which devices of this room can be: they are up, carry multicast and have an address. Left out are
// loopback; lines between two points (VPN, modem); virtual Ethernet of a VPN or a guest (tun, tap); members of a bridge, which
// speak through the bridge; and bridges that lead to containers and guests only (docker0, virbr0).
func interfaces() ([]iface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []iface
	for _, i := range all {
		const want, bad = net.FlagUp | net.FlagRunning | net.FlagMulticast, net.FlagLoopback | net.FlagPointToPoint
		if i.Flags&want != want || i.Flags&bad != 0 || inward(sysNet, i.Name) {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue // it has just gone
		}
		f := iface{index: i.Index, name: i.Name, flags: i.Flags}
		for _, a := range addrs {
			if p, ok := prefixOf(a); ok && len(f.prefix) < maxAddresses {
				f.prefix = append(f.prefix, p)
			}
		}
		if len(f.prefix) > 0 {
			out = append(out, f)
		}
		if len(out) == maxInterfaces {
			break
		}
	}
	return out, nil
}

func prefixOf(a net.Addr) (netip.Prefix, bool) {
	n, ok := a.(*net.IPNet)
	if !ok {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	if !ok {
		return netip.Prefix{}, false
	}
	addr = addr.Unmap()
	ones, _ := n.Mask.Size()
	p := netip.PrefixFrom(addr, ones)
	return p, p.IsValid() && !addr.IsLoopback() && !addr.IsMulticast() && !addr.IsUnspecified()
}

// inward says that nothing but this machine's own containers, guests and tunnels is behind an interface. Where the kernel
// does not say (no /sys, another system), an interface is taken for one that leads outside.
func inward(sys, name string) bool {
	dir := filepath.Join(sys, name)
	there := func(file string) bool { _, err := os.Lstat(filepath.Join(dir, file)); return err == nil }
	if there("tun_flags") || there("master") {
		return true
	}
	if !there("bridge") {
		return false
	}
	ports, err := os.ReadDir(filepath.Join(dir, "brif"))
	if err != nil {
		return false
	}
	for _, p := range ports {
		if outward(filepath.Join(sys, p.Name())) {
			return false
		}
	}
	return true
}

// outward says of a bridge's member that it is a device, or lies on top of one (VLAN, bond); a veth is neither.
func outward(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() == "device" || strings.HasPrefix(e.Name(), "lower_") {
			return true
		}
	}
	return false
}

// near says that an address can be meant for a device on this interface: in one of its networks, or in a range that is for
// private use. The rest of the internet is nobody's business here, however often it is announced.
func (i iface) near(a netip.Addr) (onLink, ok bool) {
	if a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || !a.IsValid() {
		return false, false
	}
	for _, p := range i.prefix {
		if p.Contains(a) {
			return true, true
		}
	}
	return false, a.IsPrivate() || a.IsLinkLocalUnicast()
}

// link is one interface in one family of addresses: what a socket sends on.
type link struct {
	index int
	v6    bool
}

// links lists those that an interface has.
func (i iface) links() []link {
	var out []link
	for _, v6 := range []bool{false, true} {
		for _, p := range i.prefix {
			if p.Addr().Is6() == v6 {
				out = append(out, link{i.index, v6})
				break
			}
		}
	}
	return out
}

func (i iface) addrs() []netip.Addr {
	out := make([]netip.Addr, 0, len(i.prefix))
	for _, p := range i.prefix {
		out = append(out, p.Addr())
	}
	return out
}
