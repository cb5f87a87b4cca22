// Package discovery lets devices of one network find each other: DNS-SD (RFC 6763) over multicast DNS (RFC 6762), service
// _conch._tcp. What it finds is a hint where to knock; who opens is proven by keys, elsewhere (PAIRING.md).
//
//	Announce ──> Run ──┬── avahi runs: an EntryGroup over D-Bus ───────────┐
//	                   └── else: responder, on UDP 5353 of all interfaces ─┤ 224.0.0.251, ff02::fb
//	Find     ──────────┬── avahi runs: ServiceBrowser, ResolveService ─────┤
//	                   └── else: questions and collector, a port of its own┘
//
// With room.discovery "auto" a look goes over to own answers within the same call when avahi is not there, does not begin
// within 400 ms or ends meanwhile; announcing changes hands whenever avahi comes or goes. An avahi that is installed and was
// stopped is not started. Nothing is open while there is nothing to announce and nobody looks.
//
//	record                       says                                         seconds
//	_conch._tcp.local.           PTR LABEL._conch._tcp.local.                 120
//	LABEL._conch._tcp.local.     SRV conch-<device id>.local., port           120
//	                             TXT v=1 dev=<device id> id=<room id>         120
//	                                 pair=yes|no room=<name> salt=<letters>
//	conch-<device id>.local.     A, AAAA: of the interface it is said on      120
//
// With a salt both ids are keyed hashes (Service.Veiled), so that a stranger cannot tell who is here; the host behind the service is called
// by the hash then, too. LABEL is the device's name, its dots replaced by U+2024. Where two have one name, the one that came later adds four letters of
// its id, then eight, then all; then it no longer gives way. Through avahi the host is the machine's own NAME.local and the
// seconds are avahi's.
//
// # Where
//
// Interfaces that are up, carry multicast and lead to other devices: not loopback, tunnels and VPNs, nor the bridges of
// containers and guests (see interfaces). A word from the kernel (netlink) makes the list be read anew, and so does every half
// minute. Where a network carries no multicast between its members (guest Wi-Fi, a container's own network), nothing is found:
// devices are then joined by their address.
//
// # What the network may do
//
// Everything in a packet is a stranger's word. Looked at are 400 packets a second and family, of each 32 questions and 256
// records in 9,000 bytes; a look keeps 128 services and returns 64, with 8 addresses each that are in a network of that
// interface, or private, or of the link alone; names are printable and at most 64 bytes. We say everything at most once a
// second and link, to one asker alone at most 20 times a second, and to neighbours only.
// A liar can therefore crowd others out of a look, and be found under any name and id; it cannot be believed.
//
// # Who runs
//
// Run is one goroutine and owns responder or group; a reader for each family hands packets to it, a watcher tells of the
// network, and in auto one waits for avahi. A look has readers of its own. All end with the call that started them, except that the
// goroutines of the D-Bus library end a moment after.
//
// # Why not the library
//
// brutella/dnssd, behind the same Announce and Find, takes a name away from the device that has it (TestSameNameWithAvahi): its probe asks
// for answers to itself alone, on a socket that hears only the group, and once two networks have met it does not contend
// (TestSameName). Its look does not read a name with a letter outside ASCII (TestThreeDevicesSeeEachOther, TestAvahiAndOwnAnswersSeeEachOther).
package discovery
